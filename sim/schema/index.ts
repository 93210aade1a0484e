/**
 * sim/schema: what kinds look like and what may be written into them. Schemas of the built-in kinds, decoding with field validation,
 * defaulting, validation, the four patch types, server-side apply with field ownership, OpenAPI documents.
 *
 * Pure: values in, values out; no clock, no store, no network. Nothing that is passed in is ever changed.
 */
export { createSchemaBook } from './book.ts';
