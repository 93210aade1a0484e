import { describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import { readOpenApi } from '../field-ownership/open-api.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { managedEntry } from '../testing/managed-entry.ts';
import { adoptFields, isMigrated, mayReshape, shownShape } from './adopt.ts';

const [ours, text] = ['argocd-controller', { type: 'string' }];
const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
const granular = { type: 'object', properties: { a: text, b: text } };
const whole = { ...granular, 'x-kubernetes-map-type': 'atomic' };
const list = { type: 'array', items: { type: 'object', properties: { name: text } }, ...byName };

function rulesOf(part: object, more: object = {}): DiffRules {
  const kind = { group: 'e.io', version: 'v1', kind: 'Thing' };
  const spec = { type: 'object', properties: { part } };
  const thing = { type: 'object', 'x-kubernetes-group-version-kind': [kind], properties: { spec } };
  const schemas = readOpenApi({ components: { schemas: { thing } } } as unknown as Json);
  return { settings: defaultSettings, ignoreDifferences: [], schemas, ...more };
}

const thing = (part: Json, ...managedFields: object[]): KubeObject => {
  const owned = managedFields.length === 0 ? {} : { resourceVersion: '7', managedFields };
  const metadata = { name: 'a', namespace: 'n', ...owned };
  return { apiVersion: 'e.io/v1', kind: 'Thing', metadata, spec: { part } } as unknown as KubeObject;
};
const applied = (part: JsonObject, apiVersion = 'e.io/v1'): object =>
  managedEntry(ours, 'Apply', { 'f:spec': { 'f:part': part } }, { apiVersion });
const items = (...names: readonly string[]): Json => names.map((name) => ({ name }));
const item = { '.': {}, 'f:name': {} };

describe('what Git drops after the type of a list or map has changed', () => {
  it.each([{}, { replace: true }, { serverSideApply: true }])('is a difference when it is sent with %j', (how) => {
    const [atomicMap, members] = [applied({}), applied({ 'f:a': {}, 'f:b': {} })];
    const paths = (part: object, live: KubeObject): readonly string[] =>
      diffObjects(thing({ a: '1' }), live, rulesOf(part, how)).paths;
    expect(paths(granular, thing({ a: '1', b: '2' }, atomicMap))).toEqual(['/spec/part/b']);
    expect(paths(whole, thing({ a: '1', b: '2' }, members)).length).toBeGreaterThan(0);
    const live = thing(items('a', 'b'), applied({}));
    expect(diffObjects(thing(items('a')), live, rulesOf(list, how)).modified).toBe(true);
  });

  it.each([{}, { replace: true }])('is removed beside members of others when it is sent with %j', (how) => {
    const theirs = managedEntry(
      'operator',
      'Update',
      { 'f:spec': { 'f:part': { 'f:c': {} } } },
      { apiVersion: 'e.io/v1' },
    );
    const live = thing({ a: '1', b: '2', c: '3' }, applied({}), theirs);
    expect(diffObjects(thing({ a: '1' }), live, rulesOf(granular, how)).paths).toEqual(['/spec/part/b']);
  });

  it('is predicted by the migration, not by a dry run', () => {
    const live = thing(items('a', 'b'), applied({}));
    expect(isMigrated(thing(items('a')), live, rulesOf(list))).toBe(true);
    expect(isMigrated(thing(items('a')), live, rulesOf({ ...list, 'x-kubernetes-list-type': 'atomic' }))).toBe(false);
    expect(mayReshape(live, thing(items('a')), [])).toBe(true);
    expect(mayReshape(live, thing(items('a', 'b')), [])).toBe(false);
  });

  it('belongs to our entry, at the version of the object, without what others own', () => {
    const keyed = { 'k:{"name":"a"}': item };
    const theirs = managedEntry(
      'operator',
      'Apply',
      { 'f:spec': { 'f:part': { 'k:{"name":"b"}': item } } },
      {
        apiVersion: 'e.io/v1',
      },
    );
    const live = thing(items('a', 'b'), applied({}, 'e.io/v0'), theirs);
    const known = { target: thing(items('a')), shape: shownShape(thing([], applied(keyed))) };
    expect((adoptFields(live, [], known) as { value: Json }[])[0]?.value).toEqual([applied(keyed), theirs]);
  });

  it('is a key of a map where the response to an apply shows one', () => {
    const [key, field] = [{ '.': {}, 'f:x': {} }, { 'f:x': {} }];
    const isKey = (part: JsonObject, name: string): boolean =>
      shownShape(thing({}, applied(part)))
        .member('spec')
        .member('part')
        .isMapKey(name);
    expect(['a', 'b', 'c'].map((name) => isKey({ 'f:a': key, 'f:b': field }, name))).toEqual([true, false, true]);
    expect(isKey({ 'f:a': field }, 'c')).toBe(false);
  });
});
