import type { SchemaBook } from '../types.ts';
import type { Deletion } from './deletion.ts';
import type { Objects } from './objects.ts';
import type { Storage } from './storage.ts';

/** An answer that is complete; watches are written by watch.ts. */
export interface Answer {
  readonly code: number;
  readonly body: string;
  readonly warnings?: readonly string[];
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HandlerDeps {
  readonly storage: Storage;
  readonly objects: Objects;
  readonly deletion: Deletion;
  readonly book: SchemaBook;
}
