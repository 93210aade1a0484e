import { applyMergePatch } from '#base';
import type { Json, JsonObject, MutableJsonObject } from '#base';
import type { KubeObject } from '#model';
import type { DecodeResult, KindDefinition, OpenApiSchema, SchemaBook } from '../types.ts';
import { SchemaBuilder, typeNameOf } from './build.ts';
import type { NamedSchema } from './build.ts';
import { decodeStruct, encodeStruct, TypeMismatch } from './decode-builtin.ts';
import { decodeCustom } from './decode-custom.ts';
import { validateCrd } from './crd.ts';
import { withKindDefaults } from './defaults/index.ts';
import { applyRfc6902Patch } from './json-patch.ts';
import { builtinKindTable } from './kinds.ts';
import { openApiV2, openApiV3 } from './openapi.ts';
import { FieldOwnership } from './ownership.ts';
import { applyStrategicMerge } from './strategic-merge.ts';
import { typeTable } from './tables/index.ts';
import { validateObject } from './validate/index.ts';

/** Creates the schema book. It is stateless: one may serve many simulated clusters. */
export function createSchemaBook(): SchemaBook {
  const builder = new SchemaBuilder(typeTable);
  const builtin = builtinKindTable.map(({ typeName, ...kind }): KindDefinition => ({
    ...kind,
    custom: false,
    schema: builder.schemaOf(typeName),
  }));
  const schemaOf = wholeSchemas(builder);
  const ownership = new FieldOwnership({ schemaOf, blank: blankObject });
  return {
    builtinKinds: () => builtin,
    decode: decodeObject,
    applyDefaults: (kind, object) => encodeObject(kind, withKindDefaults(kind, object)),
    validate: validateObject,
    jsonPatch: (document, patch) => applyRfc6902Patch(document as Json, patch) as KubeObject,
    mergePatch: (document, patch) => applyMergePatch(document as Json, patch) as KubeObject,
    strategicMergePatch: (kind, document, patch) =>
      applyStrategicMerge(kind.schema, document as JsonObject, patch) as unknown as KubeObject,
    serverSideApply: (kind, live, applied, how) => ownership.apply(kind, live, applied, how),
    trackUpdate: (kind, before, after, how) => ownership.track(kind, before, after, how),
    openApiV3: (kinds) => openApiV3(builder, kinds),
    openApiV2: (kinds) => openApiV2(builder, kinds),
    validateCrd,
  };
}

/** Schemas with typed metadata, whatever a CRD declares for it. */
function wholeSchemas(builder: SchemaBuilder): (kind: KindDefinition) => OpenApiSchema {
  const metadata = builder.schemaOf('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta');
  const text: OpenApiSchema = { type: 'string' };
  return ({ schema }) => {
    if (typeNameIn(schema) !== undefined) return schema ?? {};
    return {
      type: 'object',
      ...(schema ?? { 'x-kubernetes-preserve-unknown-fields': true }),
      properties: { ...schema?.properties, apiVersion: text, kind: text, metadata },
    };
  };
}

function typeNameIn(schema: OpenApiSchema | undefined): string | undefined {
  return (schema as NamedSchema | undefined)?.[typeNameOf];
}

function blankObject(kind: KindDefinition): MutableJsonObject {
  const typeName = typeNameIn(kind.schema);
  return typeName === undefined ? {} : encodeStruct(typeTable, typeName, {});
}

function decodeObject(kind: KindDefinition, object: KubeObject): DecodeResult {
  const typeName = typeNameIn(kind.schema);
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

/**
 * A built-in object in Go's encoding; one that does not decode is left to the caller's own check.
 */
function encodeObject(kind: KindDefinition, object: KubeObject): KubeObject {
  const typeName = typeNameIn(kind.schema);
  if (typeName === undefined) return object;
  try {
    return encodeStruct(typeTable, typeName, object as JsonObject) as unknown as KubeObject;
  } catch (error) {
    if (error instanceof TypeMismatch) return object;
    throw error;
  }
}
