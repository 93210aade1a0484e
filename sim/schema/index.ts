/**
 * sim/schema: schemas of the built-in kinds, decoding with field validation, defaulting,
 * validation, the four patch types, server-side apply with field ownership, OpenAPI documents.
 *
 * Pure: values in, values out; no clock, no store, no network. Arguments are never changed.
 */
export { createSchemaBook } from './book.ts';
