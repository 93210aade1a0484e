import { describe, expect, it } from '@jest/globals';
import { annotations, defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { readsOwnRecord } from '../comparison/apply-method.ts';
import { diffDryRun } from '../comparison/dry-run.ts';
import { dryRunRequest } from '../comparison/dry-run-request.ts';
import { diffObjects } from '../comparison/diff.ts';
import type { OwnManager } from '../field-ownership/own-entries.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { respectIgnored } from '../respect/respect.ts';
import { managedEntry } from '../testing/managed-entry.ts';
import {
  adoptFields,
  clientSideManagers,
  isMigrated,
  managersToAdopt,
  mayReshape,
  shownShape,
  withAdoptedFields,
} from './adopt.ts';
import { clientSideApplyPatch, displacedItemsPatch } from './client-side-apply.ts';
import { lacksAppliedRecord } from './read-last-applied.ts';
import { serverSideTarget } from './server-side-target.ts';

const controller = 'argocd-controller';
const kubectl = 'kubectl-client-side-apply';
const kube = (object: object): KubeObject => object as KubeObject;
const entry = (manager: string, fields: object, operation = 'Apply'): object =>
  managedEntry(manager, operation, fields);
const keys = (...names: readonly string[]): object => Object.fromEntries(names.map((name) => [`f:${name}`, {}]));

function config(data: object, managedFields: readonly object[], notes?: object): KubeObject {
  const metadata = { name: 'a', namespace: 'apps', resourceVersion: '1', ...(notes && { annotations: notes }) };
  return kube({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, managedFields }, data });
}
function pod(spec: object, managedFields: readonly object[] = []): KubeObject {
  const metadata = { name: 'a', namespace: 'apps', resourceVersion: '1', managedFields };
  return kube({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'a', image: 'a' }], ...spec } });
}
function widget(spec: object, managedFields: readonly object[] = []): KubeObject {
  const metadata = { name: 'a', namespace: 'apps', resourceVersion: '1', managedFields };
  return kube({ apiVersion: 'example.com/v1', kind: 'Widget', metadata, spec });
}
const item = (name: string): object => ({ [`k:{"name":"${name}"}`]: { '.': {}, 'f:name': {} } });
const lastApplied = {
  [annotations.lastApplied]: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: {} }),
};
const noted = { 'f:metadata': { 'f:annotations': keys(annotations.lastApplied) } };
const policy = (spec: object, managedFields: readonly object[] = []): KubeObject =>
  kube({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'a', managedFields }, spec });

/** A manifest without managed fields, and the live object with those of the controller. */
const cases: readonly (readonly [string, KubeObject, KubeObject])[] = [
  [
    'applied server-side',
    config({ a: '1' }, []),
    config({ a: '1', b: '1' }, [entry(controller, { 'f:data': keys('a', 'b') })]),
  ],
  [
    'created or replaced',
    config({ a: '1' }, []),
    config({ a: '1', b: '1' }, [entry(controller, { 'f:data': keys('a', 'b') }, 'Update')]),
  ],
  [
    'applied client-side',
    config({ a: '1' }, []),
    config({ a: '1', b: '1' }, [entry(controller, { ...noted, 'f:data': keys('a', 'b') }, 'Update')], lastApplied),
  ],
  [
    'applied client-side by kubectl, then by us',
    config({ a: '1' }, []),
    config({ a: '1', b: '1', c: '1' }, [
      entry(kubectl, { ...noted, 'f:data': keys('a', 'b') }, 'Update'),
      entry(controller, { 'f:data': keys('a', 'c') }),
    ]),
  ],
  [
    'shared with the entry of an untracked object',
    config({ a: '1' }, []),
    config({ a: '1', b: '1' }, [
      entry(controller, { 'f:data': keys('a', 'b') }),
      entry('before-first-apply', { 'f:data': keys('a', 'b') }, 'Update'),
    ]),
  ],
  ['without managed fields', config({ a: '1' }, []), config({ a: '1', b: '1' }, [], lastApplied)],
  [
    'with a field that has a deprecated twin',
    pod({}),
    pod({ serviceAccount: 's', serviceAccountName: 's' }, [
      entry(controller, { 'f:spec': keys('serviceAccountName') }),
    ]),
  ],
  [
    'with a map that becomes empty',
    widget({ labels: {} }),
    widget({ labels: { a: 'b' } }, [entry(controller, { 'f:spec': { 'f:labels': keys('a') } })]),
  ],
  [
    'with items that have keys',
    widget({ ports: [{ name: 'a' }] }),
    widget({ ports: [{ name: 'a' }, { name: 'b' }] }, [
      entry(controller, { 'f:spec': { 'f:ports': { ...item('a'), ...item('b') } } }),
    ]),
  ],
  [
    'with types that the server chose',
    policy({ podSelector: {}, egress: [{}] }),
    policy({ podSelector: {}, policyTypes: ['Ingress'] }, [
      entry(controller, { 'f:spec': keys('podSelector', 'policyTypes') }),
    ]),
  ],
];

type Answer = (target: KubeObject, live: KubeObject, own: OwnManager) => unknown;

function rulesOf({ fieldManager }: OwnManager, more: Partial<DiffRules> = {}): DiffRules {
  const rules = { settings: defaultSettings, ignoreDifferences: [], adoptFrom: kubectl, ...more };
  return fieldManager === undefined ? rules : { ...rules, fieldManager };
}
const ignoreDifferences = [{ group: '*', kind: '*', jsonPointers: ['/data/a', '/spec/labels'] }];

const answers: Readonly<Record<string, Answer>> = {
  clientSideApplyPatch,
  displacedItemsPatch,
  serverSideTarget,
  'dryRunRequest for a replacement': (target, live, own) => dryRunRequest(target, live, 'replace', own),
  diffObjects: (target, live, own) => diffObjects(target, live, rulesOf(own)),
  'diffObjects for server-side apply': (target, live, own) =>
    diffObjects(target, live, rulesOf(own, { serverSideApply: true })),
  diffDryRun: (target, live, own) => {
    const change = 'data' in target ? { data: { a: '2' } } : {};
    const predicted = kube({ ...target, ...change, metadata: live.metadata });
    return diffDryRun({ target, live, predicted }, rulesOf(own), 'excluded');
  },
  respectIgnored: (target, live, own) => respectIgnored(target, live, rulesOf(own, { ignoreDifferences }), 'server'),
  adoptFields: (_, live, own) => adoptFields(live, managersToAdopt(live, kubectl, own), own),
  withAdoptedFields: (target, live, own) => withAdoptedFields(live, kubectl, { target, ...own }),
  isMigrated: (target, live, own) => isMigrated(target, live, rulesOf(own)),
  mayReshape: (target, live, own) => mayReshape(live, target, [], own),
  shownShape: (_, live, own) => shownShape(live, own).member('spec').member('ports').listKeys,
  clientSideManagers: (_, live, own) => clientSideManagers(live, own),
  lacksAppliedRecord: (_, live, own) => lacksAppliedRecord(live, own),
  readsOwnRecord: (target, live, own) => readsOwnRecord(target, live, own),
};
const named = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value).replaceAll(controller, 'team-agent'));

describe('another field manager', () => {
  it.each(Object.entries(answers))('%s answers for it as for the controller', (_name, answer) => {
    for (const [what, target, live] of cases) {
      const renamed = answer(target, named(live) as KubeObject, { fieldManager: 'team-agent' });
      expect([what, named(renamed)]).toEqual([what, named(answer(target, live, {}))]);
    }
  });

  it.each(Object.keys(answers))('%s takes the fields of the controller for those of another tool', (name) => {
    const answer = answers[name];
    const differing = cases.filter(([, target, live]) => {
      const [own, foreign] = [{}, { fieldManager: 'team-agent' }].map((by) => answer?.(target, live, by));
      return JSON.stringify(own) !== JSON.stringify(foreign);
    });
    expect(differing.map(([what]) => what)).not.toEqual([]);
  });
});
