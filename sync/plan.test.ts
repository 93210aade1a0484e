import { hookTypes, isHook, isSkipped } from '#model';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { KubeObject } from '#model';
import { deletePolicies, isIgnored, phasesOf, waveOf } from './hooks.ts';
import { optionValue, readSyncOptions, resourceOption } from './options.ts';
import { isPrune, objectOf, planTasks } from './plan.ts';
import { pairResources } from './reconcile.ts';
import type { ClusterWriter, SyncRequest } from './types.ts';

function annotated(annotations: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', annotations } };
}

describe('hook classification', () => {
  const argo = 'argocd.argoproj.io/hook';
  const helm = 'helm.sh/hook';
  it.each([
    ['plain', {}, { types: [], hook: false, ignored: false, skipped: false, phases: ['Sync'] }],
    [
      'one',
      { [argo]: 'PreSync' },
      { types: ['PreSync'], hook: true, ignored: false, skipped: false, phases: ['PreSync'] },
    ],
    [
      'two',
      { [argo]: 'PreSync, PostSync' },
      { types: ['PreSync', 'PostSync'], hook: true, ignored: false, skipped: false, phases: ['PreSync', 'PostSync'] },
    ],
    ['skip', { [argo]: 'Skip' }, { types: ['Skip'], hook: false, ignored: false, skipped: true, phases: [] }],
    ['garbage', { [argo]: 'presync' }, { types: [], hook: true, ignored: true, skipped: false, phases: [] }],
    ['only pre-delete', { [argo]: 'PreDelete' }, { types: [], hook: true, ignored: true, skipped: false, phases: [] }],
    [
      'helm',
      { [helm]: 'pre-install,pre-upgrade' },
      { types: ['PreSync'], hook: true, ignored: false, skipped: false, phases: ['PreSync'] },
    ],
    [
      'helm crd',
      { [helm]: 'crd-install' },
      { types: [], hook: false, ignored: false, skipped: false, phases: ['Sync'] },
    ],
    ['helm test', { [helm]: 'test' }, { types: [], hook: true, ignored: true, skipped: false, phases: [] }],
    [
      'argo wins',
      { [argo]: 'Sync', [helm]: 'post-install' },
      { types: ['Sync'], hook: true, ignored: false, skipped: false, phases: ['Sync'] },
    ],
  ])('%s', (_name, annotations, expected) => {
    const object = annotated(annotations);
    expect({
      types: hookTypes(object),
      hook: isHook(object),
      ignored: isIgnored(object),
      skipped: isSkipped(object),
      phases: phasesOf(object),
    }).toEqual(expected);
  });

  it.each([
    [{}, ['BeforeHookCreation']],
    [{ 'argocd.argoproj.io/hook-delete-policy': 'HookSucceeded' }, ['HookSucceeded']],
    [{ 'helm.sh/hook-delete-policy': 'hook-failed,before-hook-creation' }, ['HookFailed', 'BeforeHookCreation']],
    [{ 'argocd.argoproj.io/hook-delete-policy': 'nonsense' }, ['BeforeHookCreation']],
  ])('delete policies of %j', (annotations, expected) => {
    expect(deletePolicies(annotated(annotations))).toEqual(expected);
  });

  it.each([
    [{}, 0],
    [{ 'argocd.argoproj.io/sync-wave': '-3' }, -3],
    [{ 'argocd.argoproj.io/sync-wave': '+2' }, 2],
    [{ 'argocd.argoproj.io/sync-wave': ' 1' }, 0],
    [{ 'argocd.argoproj.io/sync-wave': 'x', 'helm.sh/hook-weight': '4' }, 4],
  ])('wave of %j', (annotations, expected) => {
    expect(waveOf(annotated(annotations))).toBe(expected);
  });
});

describe('options', () => {
  it('takes the first item of a key', () => {
    expect(optionValue(['Prune=confirm', 'Prune=false'], 'Prune')).toBe('confirm');
    expect(
      resourceOption(annotated({ 'argocd.argoproj.io/sync-options': ' Prune=false , Delete=false' }), 'Delete'),
    ).toBe('false');
    expect(resourceOption(null, 'Prune')).toBeUndefined();
  });

  it.each([
    [[], 'Foreground'],
    [['PrunePropagationPolicy=orphan', 'PrunePropagationPolicy=background'], 'Background'],
    [['PrunePropagationPolicy=orphan'], 'Orphan'],
  ])('propagation of %j is %s', (syncOptions, expected) => {
    expect(readSyncOptions({ syncOptions }, { pruneConfirmed: false, waveDelayMs: 0 }).prunePropagationPolicy).toBe(
      expected,
    );
  });

  it.each([
    [{ syncStrategy: { apply: { force: true } } }, { skipHooks: true, force: true }],
    [{ syncStrategy: { hook: { force: true } } }, { skipHooks: false, force: true }],
    [{ resources: [{ kind: 'ConfigMap', name: 'x' }] }, { skipHooks: true, force: false }],
  ])('strategy of %j', (sync, expected) => {
    expect(readSyncOptions(sync, { pruneConfirmed: false, waveDelayMs: 0 })).toMatchObject(expected);
  });
});

describe('pairing', () => {
  it('keeps one of two live objects with the same UID: the one that a target names', () => {
    const twin = (apiVersion: string): KubeObject => ({
      apiVersion,
      kind: 'Ingress',
      metadata: { name: 'web', namespace: 'n', uid: 'u' },
    });
    const live = new Map([
      ['extensions/Ingress/n/web', twin('extensions/v1beta1')],
      ['networking.k8s.io/Ingress/n/web', twin('networking.k8s.io/v1')],
    ]) as unknown as Parameters<typeof pairResources>[1];
    const target: KubeObject = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'web' } };
    const { pairs } = pairResources([target], live, 'n', () => true);
    expect(pairs).toEqual([{ target, live: twin('networking.k8s.io/v1') }]);
  });

  it('tries both scopes for a kind that the cluster does not know', () => {
    const live = new Map([
      ['x/Thing//t', { apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 't' } }],
    ]) as unknown as Parameters<typeof pairResources>[1];
    const target: KubeObject = { apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 't' } };
    expect(pairResources([target], live, 'n', () => undefined).pairs[0]?.live).not.toBeNull();
    expect(pairResources([target], live, 'n', () => true).pairs).toHaveLength(2);
  });
});

const kinds = ['Namespace', 'ConfigMap', 'Service', 'Deployment', 'Job', 'Whatever'];
const anyObject = fc.record({
  kind: fc.constantFrom(...kinds),
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  wave: fc.integer({ min: -2, max: 2 }),
  hook: fc.constantFrom('', '', '', 'PreSync', 'PostSync', 'SyncFail'),
  prune: fc.boolean(),
});

function requestFor(
  objects: readonly { kind: string; name: string; wave: number; hook: string; prune: boolean }[],
): SyncRequest {
  const made = objects.map(({ kind, name, wave, hook, prune }) => ({
    prune,
    hook: hook !== '',
    object: {
      apiVersion: 'v1',
      kind,
      metadata: {
        name,
        namespace: 'n',
        annotations: {
          'argocd.argoproj.io/sync-wave': String(wave),
          ...(hook === '' ? {} : { 'argocd.argoproj.io/hook': hook }),
        },
      },
    } satisfies KubeObject,
  }));
  return {
    resources: made
      .filter(({ hook }) => !hook)
      .map(({ object, prune }) => ({ target: prune ? null : object, live: prune ? object : null, modified: true })),
    hooks: made.filter(({ hook }) => hook).map(({ object }) => object),
    liveHooks: [],
    options: readSyncOptions({ prune: true }, { pruneConfirmed: true, waveDelayMs: 0 }),
    destinationNamespace: 'n',
    revision: 'abc',
    startedAt: 0,
    attempt: '',
    results: [],
    selected: () => true,
    health: () => null,
    mayPrune: () => true,
    claimant: () => undefined,
    namespaceModifier: () => null,
    warn: () => undefined,
    writer: {} as ClusterWriter,
    clock: {} as SyncRequest['clock'],
    signal: new AbortController().signal,
  };
}

describe('8.1.1: CRDs', () => {
  it('8.1.1: have no prune task, whoever hands them to the plan', () => {
    const crd: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
    };
    const extra = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'n' } };
    const resources = [crd, extra].map((live) => ({ target: null, live, modified: true }));
    const tasks = planTasks({ ...requestFor([]), resources }, undefined);
    expect(tasks.map((task) => objectOf(task).kind)).toEqual(['ConfigMap']);
  });
});

describe('order of execution', () => {
  const rank: Readonly<Record<string, number>> = { PreSync: 0, Sync: 1, PostSync: 2, SyncFail: 3 };

  it('does not depend on the order of the inputs (every replica plans the same)', () => {
    fc.assert(
      fc.property(
        fc
          .uniqueArray(anyObject, { selector: (o) => `${o.kind}/${o.name}/${o.hook}`, maxLength: 12 })
          .chain((objects) =>
            fc.tuple(fc.constant(objects), fc.shuffledSubarray(objects, { minLength: objects.length })),
          ),
        ([objects, shuffled]) => {
          const names = (list: typeof objects): string[] =>
            planTasks(requestFor(list), undefined).map(
              (t) => `${t.phase} ${t.wave} ${objectOf(t).kind} ${objectOf(t).metadata.name ?? ''}`,
            );
          // A lifted Namespace may take one of several equal places; without Namespaces the order is total.
          const plain = (list: typeof objects): typeof objects => list.filter((o) => o.kind !== 'Namespace');
          expect(names(plain(shuffled))).toEqual(names(plain(objects)));
        },
      ),
    );
  });

  it('is by phase, then wave', () => {
    fc.assert(
      fc.property(fc.array(anyObject, { maxLength: 15 }), (objects) => {
        const tasks = planTasks(requestFor(objects), undefined);
        for (let i = 1; i < tasks.length; i += 1) {
          const [a, b] = [tasks[i - 1]!, tasks[i]!];
          const before = [rank[a.phase]!, a.wave];
          const after = [rank[b.phase]!, b.wave];
          expect(before[0]! < after[0]! || (before[0] === after[0] && before[1]! <= after[1]!)).toBe(true);
        }
      }),
    );
  });

  it('loses and invents nothing', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(anyObject, { selector: (o) => `${o.kind}/${o.name}/${o.hook}`, maxLength: 12 }),
        (objects) => {
          const tasks = planTasks(requestFor(objects), undefined);
          expect(tasks).toHaveLength(objects.length);
          expect(tasks.filter(isPrune)).toHaveLength(objects.filter((o) => o.prune && o.hook === '').length);
        },
      ),
    );
  });
});
