import type { Json } from '#base';
import type { TypeSchema } from './schema.ts';

/**
 * Caches results for parts of an object, by the type that they were read as. Two states of one
 * object share most parts.
 */
export class TypedMemo {
  readonly #results = new Map<Json, { readonly type: TypeSchema; readonly result: Json }>();

  get(value: Json, type: TypeSchema): Json | undefined {
    const known = this.#results.get(value);
    return known?.type === type ? known.result : undefined;
  }

  set(value: Json, type: TypeSchema, result: Json): void {
    this.#results.set(value, { type, result });
  }
}
