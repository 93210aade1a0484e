import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import { managedEntry } from '../testing/managed-entry.ts';
import { readOpenApi } from './open-api.ts';

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const gvk = [{ group: 'e.io', version: 'v1', kind: 'Widget' }];
const text = { type: 'string' };

/** The published document of a CRD and the types that it references. */
const document: JsonObject = {
  openapi: '3.0.0',
  components: {
    schemas: {
      'io.e.v1.Widget': {
        type: 'object',
        'x-kubernetes-group-version-kind': gvk,
        properties: {
          metadata: { allOf: [ref('ObjectMeta')], default: {} },
          spec: {
            type: 'object',
            properties: {
              color: { type: 'string', default: 'red' },
              ports: {
                type: 'array',
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['port', 'protocol'],
                items: {
                  type: 'object',
                  properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' }, name: text },
                },
              },
              tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
              all: { type: 'array', items: text },
              selector: { allOf: [ref('Selector')] },
              whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: text },
              old: {
                type: 'array',
                items: ref('Old'),
                'x-kubernetes-patch-strategy': 'merge,retainKeys',
                'x-kubernetes-patch-merge-key': 'name',
              },
              free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              next: ref('io.e.v1.Widget'),
              __proto__x: text,
            },
          },
        },
      },
      ObjectMeta: {
        type: 'object',
        properties: { name: { type: 'string', default: '' }, labels: { type: 'object', additionalProperties: text } },
      },
      Selector: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { app: text, tier: text } },
      Old: { type: 'object', properties: { name: { type: 'string', default: '' }, value: text } },
    },
  },
};
const kinds = readOpenApi(document);
const rules = { settings: defaultSettings, ignoreDifferences: [], serverSideApply: true, schemas: kinds };

const widget = (spec: JsonObject, ...managedFields: readonly JsonObject[]): KubeObject => ({
  apiVersion: 'e.io/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'n', ...(managedFields.length === 0 ? {} : { managedFields }) },
  spec,
});
const entry = (spec: JsonObject, manager = 'argocd-controller', operation = 'Apply'): JsonObject =>
  managedEntry(manager, operation, { 'f:spec': spec }, { apiVersion: 'e.io/v1' });
const specOf = (target: KubeObject, live: KubeObject, given = rules): unknown =>
  diffObjects(target, live, given).predictedLive?.['spec'];

describe('published list and map types', () => {
  const shape = kinds.get('e.io/v1 Widget')!.shape.member('spec');

  it('include keyed, set and atomic lists, and atomic maps, also on references', () => {
    const keys = Object.fromEntries(['ports', 'tags', 'all', 'old', 'free'].map((n) => [n, shape.member(n).listKeys]));
    expect(keys).toEqual({ ports: ['port', 'protocol'], tags: [], all: undefined, old: ['name'], free: undefined });
    const atomic = ['whole', 'selector', 'free', 'ports'].filter((name) => shape.member(name).atomicMap);
    expect(atomic).toEqual(['whole', 'selector']);
    expect(shape.member('ports').items().keyDefault('protocol')).toBe('TCP');
    expect([
      shape.isStructField('color'),
      shape.isStructField('nothing'),
      shape.member('whole').isStructField('color'),
    ]).toEqual([true, false, false]);
    expect(shape.member('next').member('spec').member('tags').listKeys).toEqual([]);
  });

  it('are empty for a malformed document', () => {
    for (const odd of [null, [], 'x', {}, { components: { schemas: { A: 1, B: { properties: [] } } } }])
      expect(readOpenApi(odd as JsonObject).size).toBe(0);
  });

  it('give a key its default', () => {
    const owned = { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:name': {} } };
    const live = widget(
      { color: 'red', ports: [{ port: 80, protocol: 'TCP', name: 'web' }] },
      entry({ 'f:ports': owned }),
    );
    const target = widget({ ports: [{ port: 80, name: 'web' }] });
    expect(diffObjects(target, live, rules)).toMatchObject({ modified: false, paths: [] });
    // Without the schema the default is unknown.
    const unknown = { ...rules, schemas: new Map() };
    expect(diffObjects(target, live, unknown).modified).toBe(true);
  });

  it('keep list items that others have added', () => {
    const theirs = { 'k:{"port":81,"protocol":"UDP"}': { '.': {}, 'f:port': {}, 'f:protocol': {} } };
    const live = widget(
      { color: 'red', ports: [{ port: 81, protocol: 'UDP' }], tags: ['x'] },
      entry({ 'f:ports': theirs, 'f:tags': { 'v:"x"': {} } }, 'other', 'Update'),
    );
    expect(specOf(widget({ ports: [{ port: 80 }], tags: ['a'], all: ['a'] }), live)).toEqual({
      color: 'red',
      ports: [
        { port: 81, protocol: 'UDP' },
        { port: 80, protocol: 'TCP' },
      ],
      tags: ['x', 'a'],
      all: ['a'],
    });
  });

  it('remove a dropped field unless the CRD defaults it to the same value', () => {
    const ours = entry({ 'f:color': {}, 'f:old': { 'k:{"name":"a"}': { '.': {}, 'f:name': {}, 'f:value': {} } } });
    const live = (color: string): KubeObject => widget({ color, old: [{ name: 'a', value: '1' }] }, ours);
    const kept = widget({ old: [{ name: 'a', value: '1' }] });
    expect(diffObjects(kept, live('red'), rules).modified).toBe(false);
    expect(specOf(kept, live('blue'))).toEqual({ color: 'red', old: [{ name: 'a', value: '1' }] });
    expect(specOf(widget({ color: 'blue' }), live('blue'))).toEqual({ color: 'blue' });
  });

  it('replace an atomic struct as a whole', () => {
    const live = widget({ color: 'red', selector: { app: 'a', tier: 'b' } }, entry({ 'f:selector': {} }));
    expect(specOf(widget({ selector: { app: 'a' } }), live)).toEqual({ color: 'red', selector: { app: 'a' } });
  });
});
