import { describe, expect, it } from '@jest/globals';
import type { ManagedPair } from '#compare';
import { defaultSettings, keyOf } from '#model';
import type { ApplicationCondition, KubeObject, ResourceKey } from '#model';
import { afterComparison, afterWrites, contestConditions, contestPauses, contestRules, noContests } from './contest.ts';
import type { ContestMemory } from './contest.ts';

const target: KubeObject = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'a', namespace: 'shop' },
  spec: { podFailurePolicy: { rules: [] } },
};
const key = keyOf(target);
const kept = ['/spec/podFailurePolicy'];
const message =
  "Job shop/a: the API server (a default, a mutating webhook or a field of another manager) keeps /spec/podFailurePolicy different from the manifest. The last sync has not changed that. Put the server's value into Git, or add the field to ignoreDifferences";

function live(metadata: KubeObject['metadata'] = {}): KubeObject {
  const own = { uid: 'u', resourceVersion: '7', generation: 2 };
  return { ...target, metadata: { ...target.metadata, ...own, ...metadata } };
}

function synced(isSelfHeal = false, stored = live()): ContestMemory {
  return afterWrites(noContests, [{ key, uid: 'u', stored, target, isSelfHeal, at: 1 }]);
}

interface Found {
  readonly paths?: readonly string[];
  readonly metadata?: KubeObject['metadata'];
  readonly heals?: boolean;
  readonly conditions?: readonly ApplicationCondition[];
  readonly over?: Partial<ManagedPair>;
  readonly at?: number;
}

function compared(memory: ContestMemory, found: Found = {}): ContestMemory {
  const { paths = kept, metadata, heals = false, conditions = [], over = {}, at = 2 } = found;
  const diff = { modified: paths.length > 0, paths } as unknown as ManagedPair['diff'];
  const pair: ManagedPair = { key, target, live: live(metadata), hook: false, own: true, diff, ...over };
  const { tracking } = defaultSettings;
  return afterComparison(memory, { pairs: [pair], at, instance: 'demo', tracking, heals, conditions });
}

const messages = (memory: ContestMemory): readonly string[] => contestConditions(memory).map((one) => one.message);

describe('an object that a sync did not make equal', () => {
  it.each([false, true])('has a condition after one write, also of a sync by hand (self-heal: %s)', (heals) => {
    const memory = compared(synced(heals), { heals });
    expect(messages(memory)).toEqual([message]);
    expect(contestPauses(memory, 2)).toEqual(new Map([[key, 0]]));
  });

  it('has it while only the status of the object changes', () => {
    expect(messages(compared(synced(), { metadata: { resourceVersion: '9' } }))).toEqual([message]);
  });

  it.each<[string, Found]>([
    ['the object is equal', { paths: [] }],
    ['its spec was changed since', { metadata: { resourceVersion: '9', generation: 3 } }],
    ['its labels were changed since', { metadata: { resourceVersion: '9' }, paths: ['/metadata/labels/team'] }],
    ['it was recreated since', { metadata: { uid: 'other' } }],
    ['it has another manifest now', { over: { target: { ...target, spec: {} } } }],
    ['it belongs to another Application', { over: { own: false } }],
  ])('has none if %s', (_what, found) => {
    expect(compared(synced(), found).size).toBe(0);
  });

  it('keeps it, whatever time passes, until the object is equal or differs elsewhere', () => {
    const later = { metadata: { resourceVersion: '9', generation: 3 }, at: 10 * contestRules.quietMs };
    const memory = compared(compared(synced()), later);
    expect(messages(memory)).toEqual([message]);
    expect(compared(memory, { ...later, paths: [] }).size).toBe(0);
    expect(compared(memory, { ...later, paths: ['/spec/suspend'] }).size).toBe(0);
  });

  it('keeps it after a restart and on another replica, by the status', () => {
    const conditions: ApplicationCondition[] = [{ type: 'ContestedResourceWarning', message }];
    const restored = compared(noContests, { conditions });
    expect(messages(restored)).toEqual([message]);
    expect(messages(compared(restored, { conditions }))).toEqual([message]);
    expect(compared(noContests, { conditions, paths: ['/spec/suspend'] }).size).toBe(0);
    expect(compared(noContests, { conditions, paths: [] }).size).toBe(0);
  });

  it('is no contest of another writer where self-heal is off', () => {
    let memory = noContests;
    for (let at = 1; at < 10; at += 2) {
      memory = afterWrites(memory, [{ key, uid: 'u', stored: live(), target, isSelfHeal: true, at }]);
      const managedFields = [{ manager: 'rival', operation: 'Update', fieldsV1: { 'f:spec': {} } }];
      memory = compared(memory, { metadata: { resourceVersion: '9', generation: 3, managedFields }, at: at + 1 });
    }
    expect(memory.size).toBe(0);
  });

  it('is not expected of a prune', () => {
    const pruned = { key, uid: 'u', stored: null, target: null, isSelfHeal: false, at: 1 };
    expect(afterWrites(noContests, [pruned]).size).toBe(0);
  });

  it('costs no more memory than the limit, however many objects a sync writes', () => {
    const writes = Array.from({ length: 2 * contestRules.maxObjects }, (_, i) => {
      const key = `key-${i}` as ResourceKey;
      return { key, uid: 'u', stored: live(), target, isSelfHeal: false, at: 1 };
    });
    const memory = writes.reduce((known, write) => afterWrites(known, [write]), afterWrites(noContests, writes));
    expect(memory.size).toBe(contestRules.maxObjects);
  });
});
