import { applyMergePatch, cloneJson } from '#base';
import type { Json, JsonObject, MutableJsonObject } from '#base';
import type { KubeObject } from '#model';
import type { DecodeResult, KindDefinition, SchemaBook } from '../types.ts';
import { SchemaBuilder, typeNameOf } from './build.ts';
import type { NamedSchema } from './build.ts';
import { decodeStruct, TypeMismatch } from './decode-builtin.ts';
import { decodeCustom } from './decode-custom.ts';
import { withDefaults } from './defaults/index.ts';
import { applyJsonPatch } from './json-patch.ts';
import { builtinKindTable } from './kinds.ts';
import { typeTable } from './tables/index.ts';

/** Makes the book of schemas. It keeps no state: one may serve many simulated clusters. */
export function createSchemaBook(): SchemaBook {
  const builder = new SchemaBuilder(typeTable);
  const kinds = builtinKindTable.map(({ typeName, ...kind }): KindDefinition => ({
    ...kind,
    custom: false,
    schema: builder.schemaOf(typeName),
  }));
  return {
    builtinKinds: () => kinds,
    decode,
    applyDefaults: withDefaults,
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

function decode(kind: KindDefinition, object: KubeObject): DecodeResult {
  const typeName = (kind.schema as NamedSchema | undefined)?.[typeNameOf];
  try {
    const decoded =
      typeName === undefined
        ? decodeCustom(typeTable, kind.schema, object as JsonObject)
        : decodeStruct(typeTable, typeName, object as JsonObject);
    return { object: decoded.object as unknown as KubeObject, unknownFields: decoded.unknownFields };
  } catch (error) {
    if (error instanceof TypeMismatch) return { object, unknownFields: [], typeError: error.message };
    throw error;
  }
}
