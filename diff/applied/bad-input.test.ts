import { describe, expect, it } from '@jest/globals';
import { annotations, defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import { diffDryRun } from '../comparison/dry-run.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { managedEntry } from '../testing/managed-entry.ts';

const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };
const ways: readonly (readonly [string, DiffRules])[] = [
  ['client-side', rules],
  ['server-side', { ...rules, serverSideApply: true, adoptFrom: 'kubectl-client-side-apply' }],
  ['Replace', { ...rules, replace: true }],
];

function config(data: object, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'x', ...metadata },
    data,
  };
}
function widget(spec: object, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'x.io/v1',
    kind: 'Widget',
    metadata: { name: 'a', namespace: 'x', ...metadata },
    spec,
  };
}
const dataFields = (...names: string[]): object => ({
  'f:data': Object.fromEntries(names.map((name) => [`f:${name}`, {}])),
});

describe('nothing is removed that nobody applied', () => {
  it.each(ways)('from an object whose managed fields were trimmed to nothing, applied by %s', (_how, how) => {
    for (const managedFields of [undefined, [], [{}]]) {
      const live = config({ a: '1', b: '2' }, managedFields === undefined ? {} : { managedFields });
      expect(diffObjects(config({ a: '1' }), live, how).modified).toBe(false);
    }
  });

  it.each(ways)('from an object with 2,000 entries of managed fields, applied by %s', (_how, how) => {
    const names = Array.from({ length: 2000 }, (_, i) => `k${i}`);
    const theirs = names.map((name, i) => managedEntry(`writer-${i}`, 'Update', dataFields(name)));
    const mine = managedEntry('argocd-controller', 'Apply', dataFields('a', 'gone', 'k0'));
    const data = Object.fromEntries(names.map((name) => [name, '1']));
    const live = config({ ...data, a: '1', gone: '2' }, { managedFields: [mine, ...theirs] });
    expect(diffObjects(config({ a: '1' }), live, how).paths).toEqual(['/data/gone']);
  });

  it('by a last-applied annotation of 300 KB, except for what it names', () => {
    const big = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, 'x'.repeat(90)]));
    const note = JSON.stringify(config({ ...big, gone: '1' }));
    expect(note.length).toBeGreaterThan(300_000);
    const live = config({ ...big, gone: '1', theirs: '1' }, { annotations: { [annotations.lastApplied]: note } });
    expect(diffObjects(config(big), live, rules).paths).toEqual(['/data/gone']);
    const cut = config({ ...big, theirs: '1' }, { annotations: { [annotations.lastApplied]: note.slice(0, 262_144) } });
    expect(diffObjects(config(big), cut, rules)).toMatchObject({
      modified: false,
      lastAppliedFault: 'is not a JSON object',
    });
  });

  it('after the list of a custom kind became a map list: items of others stay', () => {
    const mine = managedEntry('argocd-controller', 'Apply', { 'f:spec': { 'f:items': {} } }, { apiVersion: 'x.io/v1' });
    const byKey = { 'f:spec': { 'f:items': { 'k:{"name":"theirs"}': { '.': {}, 'f:name': {} } } } };
    const theirs = managedEntry('other', 'Update', byKey, { apiVersion: 'x.io/v1' });
    const live = widget({ items: [{ name: 'a' }, { name: 'theirs' }] }, { managedFields: [mine, theirs] });
    const target = widget({ items: [{ name: 'a' }] });
    const after = diffObjects(target, live, { ...rules, serverSideApply: true }).predictedLive;
    expect(JSON.stringify(after?.['spec'])).toContain('theirs');
  });

  it('after a field of a custom kind moved: the entry names a field that is not there', () => {
    const mine = managedEntry('argocd-controller', 'Apply', { 'f:spec': { 'f:old': {} } }, { apiVersion: 'x.io/v1' });
    const live = widget({ renamed: 1, theirs: 2 }, { managedFields: [mine] });
    for (const [, how] of ways) expect(diffObjects(widget({ renamed: 1 }), live, how).modified).toBe(false);
  });
});

describe('a dry run whose change is one field of an item that another manager created', () => {
  it('predicts the item with its key, and no second one', () => {
    const volumes = (partition: number): object => ({
      template: { spec: { volumes: [{ name: 'aws', awsElasticBlockStore: { volumeID: 'v', partition } }] } },
    });
    const path = (fields: object): object => ({
      'f:spec': { 'f:template': { 'f:spec': { 'f:volumes': { 'k:{"name":"aws"}': fields } } } },
    });
    const entry = (manager: string, fields: object): object =>
      managedEntry(manager, 'Update', path(fields), { apiVersion: 'apps/v1' });
    const helm = entry('helm', { '.': {}, 'f:name': {}, 'f:awsElasticBlockStore': { '.': {}, 'f:volumeID': {} } });
    const ours = entry('argocd-controller', { 'f:awsElasticBlockStore': { 'f:partition': {} } });
    const object = (spec: object, ...managedFields: object[]): KubeObject =>
      ({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'a', namespace: 'x', ...(managedFields.length > 0 ? { managedFields } : {}) },
        spec,
      }) as KubeObject;
    const live = object(volumes(2), helm, ours);
    const result = diffDryRun({ target: object(volumes(2)), live, predicted: live }, rules, 'excluded');
    expect(result.paths).toEqual([]);
  });
});

describe("another writer's last-applied annotation, which does not name what we created", () => {
  const note = (text: string): object => ({ annotations: { [annotations.lastApplied]: text } });
  const noted = { 'f:metadata': { 'f:annotations': { [`f:${annotations.lastApplied}`]: {} } } };
  const less = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: '1' } });
  const created = managedEntry('argocd-application-controller', 'Update', dataFields('a', 'b'));

  it.each(['{}', less])('keeps nothing that Git drops: %s', (text) => {
    const live = config(
      { a: '1', b: '2' },
      { ...note(text), managedFields: [created, managedEntry('x', 'Update', noted)] },
    );
    expect(diffObjects(config({ a: '1' }), live, rules).paths).toEqual(['/data/b']);
    const both = managedEntry('x', 'Update', dataFields('b'));
    const shared = config({ a: '1', b: '2' }, { ...note(text), managedFields: [created, both] });
    expect(diffObjects(config({ a: '1' }), shared, rules).modified).toBe(false);
  });

  it('is not asked about when the annotation is ours', () => {
    const ours = managedEntry('argocd-controller', 'Update', { ...dataFields('a', 'b'), ...noted });
    const live = config({ a: '1', b: '2' }, { ...note(less), managedFields: [ours] });
    expect(diffObjects(config({ a: '1' }), live, rules).modified).toBe(false);
  });
});
