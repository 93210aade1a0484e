import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import { readOpenApi } from '../field-ownership/open-api.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { withLastApplied } from '../patch/last-applied.ts';
import { managedEntry } from '../testing/managed-entry.ts';
import { clientSideApplyPatch, predictApply } from './client-side-apply.ts';
import { lacksAppliedRecord } from './read-last-applied.ts';
import { serverSideTarget } from './server-side-target.ts';

const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };
const replacing: DiffRules = { ...rules, replace: true };
const ours = (fields: object, operation = 'Apply'): object => managedEntry('argocd-controller', operation, fields);
const helm = (fields: object): object => managedEntry('helm', 'Update', fields);

function object(kind: string, content: object, managedFields: readonly object[] = []): KubeObject {
  const apiVersion = { Deployment: 'apps/v1', Gadget: 'e.io/v1' }[kind] ?? 'v1';
  const metadata = { name: 'a', namespace: 'x', ...(managedFields.length === 0 ? {} : { managedFields }) };
  return { apiVersion, kind, metadata, ...content } as KubeObject;
}

const labels = { app: 'a' };
function pods(spec: object, ...managedFields: object[]): KubeObject {
  const template = { metadata: { labels }, spec };
  return object('Deployment', { spec: { selector: { matchLabels: labels }, template } }, managedFields);
}
const podFields = (fields: object): object => ({ 'f:spec': { 'f:template': { 'f:spec': fields } } });
const item = (name: string, fields: object = {}, isMember = true): object => ({
  [`k:{"name":"${name}"}`]: { ...(isMember ? { '.': {}, 'f:name': {} } : {}), ...fields },
});
const container = (more: object = {}): object => ({ name: 'app', image: 'a:1', ...more });

function predictedPods(target: KubeObject, live: KubeObject): unknown {
  const spec = diffObjects(target, live, rules).predictedLive?.['spec'];
  return (spec as { readonly template: { readonly spec: unknown } }).template.spec;
}

describe('an item of ours that Git drops', () => {
  const side = { name: 'side', image: 's:1' };
  const own = ours(
    podFields({ 'f:containers': { ...item('app', { 'f:image': {} }), ...item('side', { 'f:image': {} }) } }),
  );

  it('stays where another manager has it too', () => {
    const theirs = helm(podFields({ 'f:containers': item('side', { 'f:image': {} }) }));
    const live = pods({ containers: [container(), side] }, own, theirs);
    expect(diffObjects(pods({ containers: [container()] }), live, rules).modified).toBe(false);
    const alone = pods({ containers: [container(), side] }, own);
    expect(diffObjects(pods({ containers: [container()] }), alone, rules).modified).toBe(true);
  });

  it('loses our part only where another manager has the item, with or without the list in Git', () => {
    const env = { env: [{ name: 'A', value: '1' }] };
    const fields = (inner: object, isMember: boolean): object =>
      podFields({ 'f:containers': item('app', { 'f:env': { ...item('A', inner, isMember) } }, true) });
    const live = pods({ containers: [container(env)] }, ours(fields({ 'f:value': {} }, false)), helm(fields({}, true)));
    expect(predictedPods(pods({ containers: [container()] }), live)).toMatchObject({
      containers: [{ env: [{ name: 'A' }] }],
    });
    expect(JSON.stringify(predictedPods(pods({ containers: [container()] }), live))).not.toContain('"1"');
  });

  it('loses a part of a struct in it, and keeps that of another manager', () => {
    const limits = (...names: string[]): object => ({
      'f:resources': { 'f:limits': Object.fromEntries(names.map((name) => [`f:${name}`, {}])) },
    });
    const live = pods(
      { containers: [container({ resources: { limits: { cpu: '1', memory: '1Gi' } } })] },
      ours(podFields({ 'f:containers': item('app', { 'f:image': {}, ...limits('cpu') }) })),
      helm(podFields({ 'f:containers': item('app', limits('memory'), false) })),
    );
    expect(predictedPods(pods({ containers: [container()] }), live)).toMatchObject({
      containers: [{ name: 'app', image: 'a:1', resources: { limits: { memory: '1Gi' } } }],
    });
    expect(JSON.stringify(predictedPods(pods({ containers: [container()] }), live))).not.toContain('cpu');
  });
});

describe('a value of ours that is one for server-side apply', () => {
  it('loses the keys of an atomic map that Git drops', () => {
    const service = (selector: object, ...managedFields: object[]): KubeObject =>
      object('Service', { spec: { selector, ports: [{ port: 80 }] } }, managedFields);
    const live = service({ a: '1', b: '2' }, ours({ 'f:spec': { 'f:selector': {} } }));
    expect(diffObjects(service({ a: '1' }), live, rules).paths).toEqual(['/spec/selector/b']);
    const shared = service(
      { a: '1', b: '2' },
      ours({ 'f:spec': { 'f:selector': {} } }),
      helm({ 'f:spec': { 'f:selector': {} } }),
    );
    expect(diffObjects(service({ a: '1' }), shared, rules).modified).toBe(false);
  });
});

const text = { type: 'string' };
const named = { type: 'object', properties: { name: text, note: text } };
const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
const schemas = readOpenApi({
  openapi: '3.0.0',
  components: {
    schemas: {
      'io.e.v1.Gadget': {
        type: 'object',
        'x-kubernetes-group-version-kind': [{ group: 'e.io', version: 'v1', kind: 'Gadget' }],
        properties: {
          spec: {
            type: 'object',
            properties: {
              items: { type: 'array', items: named, ...byName },
              filled: { type: 'array', items: named, ...byName, default: [{ name: 'default' }] },
              whole: { type: 'object', additionalProperties: text, 'x-kubernetes-map-type': 'atomic' },
              kept: text,
            },
          },
        },
      },
    },
  },
});
const gadget = (spec: object, ...managedFields: object[]): KubeObject => object('Gadget', { spec }, managedFields);
const published = (how: DiffRules): DiffRules => ({ ...how, schemas });

describe('a custom resource whose schema has changed since we applied it', () => {
  it('loses a list that was atomic then, and is a map list now', () => {
    const live = gadget({ kept: 'x', items: [{ name: 'a' }] }, ours({ 'f:spec': { 'f:items': {}, 'f:kept': {} } }));
    expect(diffObjects(gadget({ kept: 'x' }), live, published(rules)).paths).toEqual(['/spec/items']);
  });

  it('loses a map that had an owner for each key then, and is atomic now', () => {
    const own = ours({ 'f:spec': { 'f:whole': { '.': {}, 'f:a': {} }, 'f:kept': {} } });
    const live = gadget({ kept: 'x', whole: { a: '1' } }, own);
    expect(diffObjects(gadget({ kept: 'x' }), live, published(rules)).paths).toEqual(['/spec/whole']);
  });
});

describe('a member of one item in a keyed list of a custom resource', () => {
  it.each([0, 1])('is removed where Git drops it, and not in another item: item %i', (at) => {
    const own = ours({ 'f:spec': { 'f:items': { ...item('a', { 'f:note': {} }), ...item('b', { 'f:note': {} }) } } });
    const items = ['a', 'b'].map((name) => ({ name, note: name }));
    const wanted = items.map(({ name, note }, i) => (i === at ? { name } : { name, note }));
    const { paths, predictedLive } = diffObjects(gadget({ items: wanted }), gadget({ items }, own), published(rules));
    expect([paths, predictedLive?.['spec']]).toEqual([[`/spec/items/${at}/note`], { items: wanted }]);
  });
});

describe('what the server filled in', () => {
  it('is no removal: an item of a default list', () => {
    const own = ours({ 'f:spec': { 'f:kept': {}, 'f:filled': { '.': {}, ...item('default') } } }, 'Update');
    const live = gadget({ kept: 'x', filled: [{ name: 'default' }] }, own);
    expect(diffObjects(gadget({ kept: 'x' }), live, published(replacing)).paths).toEqual([]);
  });

  it('is no removal: the old name of a service account', () => {
    const own = ours(podFields({ 'f:serviceAccountName': {}, 'f:serviceAccount': {} }), 'Update');
    const both = { containers: [container()], serviceAccountName: 'x', serviceAccount: 'x' };
    const target = pods({ containers: [container()], serviceAccountName: 'x' });
    expect(diffObjects(target, pods(both, own), replacing).paths).toEqual([]);
  });

  it('is not removed with a null in Git that it would undo', () => {
    const target = pods({ containers: [container()], terminationGracePeriodSeconds: null });
    const live = withLastApplied(target);
    const filled = pods({ containers: [container()], terminationGracePeriodSeconds: 30 });
    const stored = { ...filled, metadata: { ...filled.metadata, ...live.metadata } };
    expect(clientSideApplyPatch(target, stored)).toBeUndefined();
    expect(predictApply(target, stored)).toBe(stored);
  });
});

describe('the old name of a service account that another manager set', () => {
  it.each(['serviceAccount', 'serviceAccountName'])('stays with a server-side apply: %s', (theirs) => {
    const own = theirs === 'serviceAccount' ? 'serviceAccountName' : 'serviceAccount';
    const both = { containers: [container()], serviceAccountName: 'x', serviceAccount: 'x' };
    const entries = [ours(podFields({ [`f:${own}`]: {} })), helm(podFields({ [`f:${theirs}`]: {} }))];
    const target = pods({ containers: [container()] });
    expect(serverSideTarget(target, pods(both, ...entries))).toEqual(target);
    expect(serverSideTarget(target, pods(both, entries[0]!))).not.toEqual(target);
  });
});

describe('an object without a record of what we applied', () => {
  it.each<[string, KubeObject, boolean]>([
    ['without anything', object('ConfigMap', {}), true],
    ['of another tool', object('ConfigMap', {}, [helm({})]), true],
    ['with last-applied', withLastApplied(object('ConfigMap', {})), false],
    ['that we applied', object('ConfigMap', {}, [ours({})]), false],
    ['that kubectl applied', object('ConfigMap', {}, [managedEntry('kubectl-client-side-apply', 'Update', {})]), false],
  ])('is one %s: %#', (_what, live, expected) => {
    expect(lacksAppliedRecord(live, {})).toBe(expected);
  });
});
