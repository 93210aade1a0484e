import { describe, expect, it } from '@jest/globals';
import type { Comparison, ManagedPair } from '#compare';
import { keyOf, refOf } from '#model';
import type { Application, KubeObject, Operation, SyncOperation } from '#model';
import { configMap } from '../testing/fake-world.ts';
import { whyRecordFirst } from './repair-first.ts';
import type { RepairFacts } from './repair-first.ts';

type Sync = Partial<SyncOperation>;

const placed = (name: string, annotations?: Record<string, string>): KubeObject => {
  const object = configMap(name, '1', annotations);
  return { ...object, metadata: { ...object.metadata, namespace: 'apps' } };
};

function pair(
  target: KubeObject | null,
  live: KubeObject | null = target,
  more: Partial<ManagedPair> = {},
): ManagedPair {
  const key = keyOf(target ?? live ?? placed('none'));
  return { key, target, live, hook: false, own: true, diff: { modified: true } as ManagedPair['diff'], ...more };
}

const app = {
  metadata: { name: 'demo', namespace: 'argocd' },
  spec: { destination: { namespace: 'apps' } },
  status: { operationState: { phase: 'Succeeded' } },
} as unknown as Application;
const [one, two] = [placed('one'), placed('two')];
const sync: Sync = {
  autoHealAttemptsCount: 1,
  resources: [
    { kind: 'ConfigMap', name: 'one' },
    { kind: 'ConfigMap', name: 'two' },
  ],
};
const named = (...objects: readonly KubeObject[]): Sync => ({
  ...sync,
  resources: objects.map((object) => refOf(object)),
});

function facts(
  { with: given = {}, ...over }: Partial<RepairFacts> & { with?: Sync } = {},
  pairs = [pair(one), pair(two)],
): RepairFacts {
  const operation: Operation = { initiatedBy: { automated: true }, sync: { ...sync, ...given } };
  const comparison = { pairs, unread: [] } as unknown as Comparison;
  return { app, operation, comparison, isAsked: false, hasFailed: false, ...over };
}

const option = (text: string): Record<string, string> => ({ 'argocd.argoproj.io/sync-options': text });
const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } };
const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'x' },
};
const managed = { ...app, spec: { ...app.spec, syncPolicy: { managedNamespaceMetadata: {} } } } as Application;
const create: Sync = { syncOptions: ['CreateNamespace=true'] };

describe('a self-heal may write before it is recorded', () => {
  it.each<[string, RepairFacts]>([
    ['of edited objects', facts()],
    ['of a missing object', facts({}, [pair(one, null)])],
    [
      'beside objects of other waves, hooks and prunes that it does not name',
      facts({}, [
        pair(one),
        pair(placed('other', { 'argocd.argoproj.io/sync-wave': '5' })),
        pair(null, placed('gone')),
      ]),
    ],
    [
      'in one wave, whichever',
      facts(
        {},
        [one, two].map((o) => pair(placed(o.metadata.name ?? '', { 'argocd.argoproj.io/sync-wave': '5' }))),
      ),
    ],
    ['in a namespace that exists', facts({ with: create })],
  ])('%s', (_, given) => {
    expect(whyRecordFirst(given)).toBeUndefined();
  });
});

describe('a self-heal is recorded first', () => {
  const other = (over: Partial<Operation>): Operation => ({ ...facts().operation, ...over });
  it.each<[string, string, RepairFacts]>([
    ['a sync of a user', 'it is no self-heal', facts({ operation: other({ initiatedBy: { username: 'me' } }) })],
    ['a sync to a new revision', 'it is no self-heal', facts({ operation: other({ sync: { revision: 'x' } }) })],
    ['a sync of everything', 'it names no objects', facts({ with: { resources: [] } })],
    ['an answer to a refresh', 'a user waits for it', facts({ isAsked: true })],
    ['after a failed repair', 'the last repair failed', facts({ hasFailed: true })],
    ['beside another operation', 'the application is busy', facts({ app: { ...app, operation: { sync: {} } } })],
    [
      'of an Application that is being deleted',
      'the application is busy',
      facts({ app: { ...app, metadata: { ...app.metadata, deletionTimestamp: 'now' } } }),
    ],
    [
      'after an operation that failed',
      'the last operation did not succeed',
      facts({ app: { ...app, status: { operationState: { phase: 'Failed' } } } as never }),
    ],
    ['without an earlier operation', 'the last operation did not succeed', facts({ app: { ...app, status: {} } })],
    ['by force', 'it replaces objects', facts({ with: { syncStrategy: { apply: { force: true } } } })],
    ['by force with hooks', 'it replaces objects', facts({ with: { syncStrategy: { hook: { force: true } } } })],
    ['with Replace=true', 'it replaces objects', facts({ with: { syncOptions: ['Replace=true'] } })],
    ['of an object with Replace=true', 'it replaces objects', facts({}, [pair(placed('one', option('Replace=true')))])],
    ['of an object with Force=true', 'it replaces objects', facts({}, [pair(placed('one', option('Force=true')))])],
    [
      'of an object that lives with Force=true',
      'it replaces objects',
      facts({}, [pair(one, placed('one', option('Force=true')))]),
    ],
    ['of an object that Git does not have', 'it prunes objects', facts({}, [pair(null, one)])],
    ['of a hook', 'it names a hook', facts({}, [pair(one, one, { hook: true })])],
    [
      'of objects in two waves',
      'it has waves',
      facts({}, [pair(one), pair(placed('two', { 'argocd.argoproj.io/sync-wave': '1' }))]),
    ],
    ['of a Namespace', 'it changes a namespace or a definition', facts({ with: named(namespace) }, [pair(namespace)])],
    [
      'of a definition',
      'it changes a namespace or a definition',
      facts({ with: named(definition) }, [pair(definition)]),
    ],
    [
      'of an object whose Namespace is missing too',
      'it changes a namespace or a definition',
      facts({}, [pair(one, null), pair(namespace, null)]),
    ],
    ['in a namespace that may be missing', 'it may create a namespace', facts({ with: create }, [pair(one, null)])],
    ['in a namespace with managed metadata', 'it may create a namespace', facts({ app: managed, with: create })],
    [
      'of more objects than people wait for',
      'it names many objects',
      facts(
        { with: named(...Array.from({ length: 101 }, (_, i) => placed(`m-${i}`))) },
        Array.from({ length: 101 }, (_, i) => pair(placed(`m-${i}`))),
      ),
    ],
  ])('%s: %s', (_, why, given) => {
    expect(whyRecordFirst(given)).toBe(why);
  });
});
