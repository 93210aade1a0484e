import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { annotations, defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { managedEntry } from '../testing/managed-entry.ts';
import { diffObjects } from '../comparison/diff.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { recordAtVersion } from './hidden-fields.ts';

const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };
const ours = 'argocd-controller';
const thing = (version: string, spec: JsonObject, metadata: object = {}): KubeObject => ({
  apiVersion: `x.io/${version}`,
  kind: 'Thing',
  metadata: { name: 'a', namespace: 'n', ...metadata },
  spec,
});
const by = (manager: string, operation: 'Apply' | 'Update', spec: JsonObject, version = 'v2'): JsonObject =>
  managedEntry(manager, operation, { 'f:spec': spec }, { apiVersion: `x.io/${version}` });
const hidden = (target: KubeObject, live: KubeObject, how: Partial<DiffRules> = {}): readonly string[] | undefined =>
  diffObjects(target, live, { ...rules, ...how }).hiddenFields;

const target = thing('v1', { kept: '1' });
const both = { 'f:kept': {}, 'f:later': { '.': {}, 'f:a': {} } };
const ways = [
  ['Replace', { replace: true }, 'Update'],
  ['server-side', { serverSideApply: true }, 'Apply'],
  ['client-side', {}, 'Apply'],
] as const;

describe('fields that only another API version shows', () => {
  it.each(ways)('are a difference if we alone have applied them, sent by %s', (_how, how, operation) => {
    const live = thing('v1', { kept: '1' }, { managedFields: [by(ours, operation, both)] });
    expect(diffObjects(target, live, { ...rules, ...how })).toMatchObject({ modified: true, paths: ['/spec/later'] });
    const theirs = by('operator', 'Update', { 'f:later': { 'f:a': {} } });
    const shared = thing('v1', { kept: '1' }, { managedFields: [by(ours, operation, both), theirs] });
    expect(hidden(target, shared, how)).toBeUndefined();
    const another = thing('v1', { kept: '1' }, { managedFields: [by('operator', operation, both)] });
    expect(hidden(target, another, how)).toBeUndefined();
  });

  it.each([
    ['the entry is of the present version', [by(ours, 'Apply', both, 'v1')]],
    ['the entry has what both versions show', [by(ours, 'Apply', { 'f:kept': {} })]],
    ['the entry is of another group', [{ ...by(ours, 'Apply', both), apiVersion: 'y.io/v2' }]],
    ['the entry cannot be read', [{ manager: ours, operation: 'Apply' }, {}]],
  ])('are none if %s', (_why, managedFields) => {
    expect(hidden(target, thing('v1', { kept: '1' }, { managedFields }))).toBeUndefined();
  });

  it('are found in the items of lists', () => {
    const item = { '.': {}, 'f:name': {}, 'f:later': {} };
    const live = thing(
      'v1',
      { list: [{ name: 'a' }] },
      { managedFields: [by(ours, 'Apply', { 'f:list': { 'k:{"name":"a"}': item } })] },
    );
    const listed = thing('v1', { list: [{ name: 'a' }] });
    expect(hidden(listed, live)).toEqual(['/spec/list/{"name":"a"}/later']);
    const whole = thing('v1', { list: [{ name: 'a' }] }, { managedFields: [by(ours, 'Apply', { 'f:list': {} })] });
    expect(hidden(listed, whole)).toEqual(['/spec/list']);
  });

  it('are named by last-applied, without the managed fields', () => {
    const noted = (spec: JsonObject, version = 'v2'): KubeObject => {
      const note = JSON.stringify(thing(version, spec));
      return thing('v1', { kept: '1', list: [{ name: 'a' }] }, { annotations: { [annotations.lastApplied]: note } });
    };
    const same = thing('v1', { kept: '1', list: [{ name: 'a' }] });
    expect(hidden(same, noted({ kept: '1', list: [{ name: 'a', later: 'x' }] }))).toEqual(['/spec/list/0/later']);
    expect(hidden(same, noted({ kept: '1', list: [{ name: 'a' }], none: null }))).toBeUndefined();
    expect(hidden(same, noted({ kept: '1', later: 'x' }, 'v1'))).toBeUndefined();
  });

  it('are no difference if a rule ignores them', () => {
    const live = thing('v1', { kept: '1' }, { managedFields: [by(ours, 'Apply', both)] });
    const rule = { group: 'x.io', kind: 'Thing', jsonPointers: ['/spec/later'] };
    expect(hidden(target, live, { ignoreDifferences: [rule] })).toBeUndefined();
  });

  it('leave our record with a replacement, and those of others stay', () => {
    const theirs = by('operator', 'Update', { 'f:theirs': {} });
    const live = thing('v1', { kept: '1' }, { managedFields: [by(ours, 'Update', both), theirs] });
    const record = recordAtVersion(target, live, {}) ?? [];
    expect(record).toEqual([theirs, by(ours, 'Update', both, 'v1')]);
    expect(hidden(target, thing('v1', { kept: '1' }, { managedFields: record }), { replace: true })).toBeUndefined();
    expect(recordAtVersion(target, thing('v1', { kept: '1' }, { managedFields: record }), {})).toBeUndefined();
  });
});
