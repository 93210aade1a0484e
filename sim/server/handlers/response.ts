import type { SchemaBook, SimOptions } from '../../types.ts';
import type { ObjectDeleter } from '../storage/deletion.ts';
import type { ObjectStore } from '../storage/objects.ts';
import type { RevisionedStorage } from '../storage/storage.ts';

/** A complete response; watches are streamed by watch/watch.ts. */
export interface SimResponse {
  readonly code: number;
  readonly body: string;
  readonly warnings?: readonly string[];
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HandlerDeps {
  readonly storage: RevisionedStorage;
  readonly objects: ObjectStore;
  readonly deletion: ObjectDeleter;
  readonly book: SchemaBook;
  readonly review?: SimOptions['review'];
}
