import { applyMergePatch, cloneJson } from '#base';
import type { Json, MutableJsonObject } from '#base';
import type { KubeObject } from '#model';
import type { SchemaBook } from '../types.ts';
import { applyJsonPatch } from './json-patch.ts';
import { builtinKindTable } from './kinds.ts';

/** Makes the book of schemas. It keeps no state: one may serve many simulated clusters. */
export function createSchemaBook(): SchemaBook {
  return {
    builtinKinds: () => builtinKindTable.map((kind) => ({ ...kind, custom: false })),
    decode: (_kind, object) => ({ object, unknownFields: [] }),
    applyDefaults: (_kind, object) => object,
    validate: () => [],
    jsonPatch: (document, patch) => applyJsonPatch(document as Json, patch) as KubeObject,
    mergePatch: (document, patch) => applyMergePatch(document as Json, patch) as KubeObject,
    strategicMergePatch: (_kind, document, patch) => applyMergePatch(document as Json, patch) as KubeObject,
    serverSideApply: (_kind, live, applied) => ({
      object: (live === undefined ? cloneJson(applied) : applyMergePatch(live as Json, applied as Json)) as KubeObject,
    }),
    trackUpdate: (_kind, _before, after) => after,
    openApiV3: () => ({ openapi: '3.0.0' }) satisfies MutableJsonObject,
    openApiV2: () => ({ swagger: '2.0' }) satisfies MutableJsonObject,
    validateCrd: () => [],
  };
}
