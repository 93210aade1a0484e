import { describe, expect, it } from '@jest/globals';
import { valueAt, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { createSchemaBook } from './book.ts';
import { widgetKind } from './samples.ts';

const book = createSchemaBook();
const groupVersions = [...new Set(book.builtinKinds().map(({ group, version }) => `${group}/${version}`))];
const of = (groupVersion: string) =>
  book.builtinKinds().filter(({ group, version }) => `${group}/${version}` === groupVersion);

function references(value: Json | undefined, into = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const item of value as readonly Json[]) references(item, into);
  else if (isObject(value))
    for (const [key, member] of Object.entries(value))
      if (key === '$ref' && typeof member === 'string') into.add(member);
      else references(member, into);
  return into;
}

describe('OpenAPI v3', () => {
  it.each(groupVersions)('%s resolves every reference, and is plain JSON', (groupVersion) => {
    const document = book.openApiV3(of(groupVersion));
    const schemas = Object.keys(valueAt(document, 'components', 'schemas') as JsonObject);
    const missing = [...references(document)].filter(
      (ref) => !schemas.includes(ref.replace('#/components/schemas/', '')),
    );
    expect(missing).toEqual([]);
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });

  const apps = book.openApiV3(of('apps/v1'));
  it('has the paths that kubectl needs', () => {
    const one = valueAt(apps, 'paths', '/apis/apps/v1/namespaces/{namespace}/deployments/{name}', 'patch');
    const names = (valueAt(one ?? null, 'parameters') as readonly JsonObject[]).map((parameter) => parameter['name']);
    expect(names).toEqual(expect.arrayContaining(['dryRun', 'fieldValidation', 'fieldManager', 'force']));
    expect(valueAt(one ?? null, 'x-kubernetes-group-version-kind')).toEqual({
      group: 'apps',
      kind: 'Deployment',
      version: 'v1',
    });
    expect(Object.keys(valueAt(one ?? null, 'requestBody', 'content') as object)).toContain(
      'application/strategic-merge-patch+json',
    );
    expect(valueAt(apps, 'paths', '/apis/apps/v1/deployments', 'get', 'x-kubernetes-action')).toBe('list');
    const core = book.openApiV3(of('/v1'));
    expect(valueAt(core, 'paths', '/api/v1/nodes', 'get', 'x-kubernetes-group-version-kind', 'kind')).toBe('Node');
    expect(valueAt(core, 'paths', '/api/v1/namespaces/{namespace}/pods', 'post', 'x-kubernetes-action')).toBe('post');
  });

  it('describes custom kinds with typed metadata and without strategic merge', () => {
    const document = book.openApiV3([widgetKind]);
    const widget = valueAt(document, 'components', 'schemas', 'com.example.v1.Widget');
    expect(valueAt(widget ?? null, 'properties', 'spec', 'properties', 'size')).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 5,
    });
    expect(valueAt(widget ?? null, 'properties', 'metadata', 'allOf', 0, '$ref')).toBe(
      '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
    );
    const content = valueAt(
      document,
      'paths',
      '/apis/example.com/v1/namespaces/{namespace}/widgets/{name}',
      'patch',
      'requestBody',
      'content',
    );
    expect(Object.keys(content as object)).toEqual([
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/apply-patch+yaml',
    ]);
  });
});

describe('OpenAPI v2', () => {
  it('covers all kinds and resolves every reference', () => {
    const document = book.openApiV2([...book.builtinKinds(), widgetKind]);
    const definitions = Object.keys(valueAt(document, 'definitions') as JsonObject);
    expect([...references(document)].filter((ref) => !definitions.includes(ref.replace('#/definitions/', '')))).toEqual(
      [],
    );
    expect(definitions).toEqual(expect.arrayContaining(['com.example.v1.Widget', 'io.k8s.api.batch.v1.CronJob']));
  });
});
