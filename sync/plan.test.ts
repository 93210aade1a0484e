import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { KubeObject } from '#model';
import { readSyncOptions } from './options.ts';
import { isPrune, objectOf, planTasks } from './plan.ts';
import type { ClusterWriter, SyncRequest } from './types.ts';

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
    releaseSlotWhile: (work) => work,
    waveAppliedAt: () => 0,
    options: readSyncOptions({ prune: true }, { pruneConfirmed: true, waveDelayMs: 0 }),
    destinationNamespace: 'n',
    revision: 'abc',
    startedAt: 0,
    attempt: '',
    results: [],
    isSelected: () => true,
    health: () => null,
    canPrune: () => true,
    otherOwner: () => undefined,
    namespaceModifier: () => null,
    warn: () => undefined,
    writer: {} as ClusterWriter,
    clock: {} as SyncRequest['clock'],
    signal: new AbortController().signal,
  };
}

describe('CRDs', () => {
  it('are never pruned, even if a request contains them', () => {
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

  it('does not depend on the order of the inputs, so every replica plans the same', () => {
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
          // A moved Namespace has several valid positions; without Namespaces the order is total.
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

  it('contains each object exactly once', () => {
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
