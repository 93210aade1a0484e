import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ManagedPair } from '#compare';
import { annotations, defaultSettings, keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { afterComparison, afterWrites, contestConditions, contestPauses, contestRules, noContests } from './contest.ts';
import type { ContestMemory } from './contest.ts';

const second = 1000;
const minute = 60 * second;

function configMap(name: string, value: string, metadata: KubeObject['metadata'] = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop', ...metadata },
    data: { key: value },
  };
}

const owner = (manager: string, subresource = ''): KubeObject['metadata'] => ({
  managedFields: [
    {
      manager,
      operation: 'Update',
      time: '2026-01-01T00:00:00Z',
      subresource,
      fieldsV1: { 'f:data': { 'f:key': {} } },
    },
  ],
});

/** The rules, with one Application whose objects have the value `ours` in Git. */
class Ring {
  now = 0;
  memory: ContestMemory = noContests;
  target: KubeObject | null = configMap('a', 'ours');
  installationId = '';
  /** The generation of what is stored; by default the kind has none. */
  generation: { readonly generation?: number } = {};
  #version = 0;

  heal(isSelfHeal = true, name = 'a'): void {
    this.#version += 1;
    const target = name === 'a' ? this.target : configMap(name, 'ours');
    const stored = configMap(name, 'ours', this.#metadata('uid', 'argocd-controller'));
    const own = { key: keyOf(stored), uid: 'uid', stored, target, isSelfHeal, at: this.now };
    this.memory = afterWrites(this.memory, [own]);
  }

  prune(uid: string): void {
    const own = { key: keyOf(configMap('a', '')), uid, stored: null, target: null, isSelfHeal: true };
    this.memory = afterWrites(this.memory, [{ ...own, at: this.now }]);
  }

  #metadata(uid: string, manager: string): KubeObject['metadata'] {
    return { uid, resourceVersion: String(this.#version), ...this.generation, ...owner(manager) };
  }

  /** A comparison that finds the object as another writer left it; undefined: as we left it. */
  compare(
    found:
      { readonly manager?: string; readonly more?: KubeObject['metadata']; readonly isMissing?: boolean } | undefined,
    uid = 'uid',
  ): void {
    const { manager, more = {}, isMissing = false } = found ?? {};
    if (manager !== undefined) this.#version += 1;
    const metadata = { ...this.#metadata(uid, manager ?? 'argocd-controller'), ...more };
    const live = isMissing ? null : configMap('a', found === undefined ? 'ours' : 'theirs', metadata);
    this.look({ target: this.target, live, modified: found !== undefined });
  }

  look(
    one: { readonly target: KubeObject | null; readonly live: KubeObject | null; readonly modified: boolean },
    over: Partial<ManagedPair> = {},
  ): void {
    const key = keyOf(configMap('a', ''));
    const diff = { modified: one.modified, paths: one.modified ? ['/data/key'] : [] } as unknown as ManagedPair['diff'];
    const pair = { key, target: one.target, live: one.live, hook: false, own: true, diff, ...over };
    this.compareAll(one.target === null && one.live === null ? [] : [pair]);
  }

  compareAll(pairs: readonly ManagedPair[]): void {
    const tracking = { ...defaultSettings.tracking, installationId: this.installationId };
    const facts = { pairs, at: this.now, instance: 'demo', tracking, heals: true, conditions: [] };
    this.memory = afterComparison(this.memory, facts);
  }

  get messages(): readonly string[] {
    return contestConditions(this.memory).map(({ message }) => message);
  }

  /** The pause of the object; undefined: it is not contested. */
  get pauseMs(): number | undefined {
    return contestPauses(this.memory, this.now).get(keyOf(configMap('a', '')));
  }
}

/** Self-heals that are each undone after `afterMs`, `everyMs` apart. */
function fight(
  ring: Ring,
  times: number,
  {
    manager = 'rival',
    afterMs = second,
    everyMs = minute,
    more = {},
  }: {
    readonly manager?: string;
    readonly afterMs?: number;
    readonly everyMs?: number;
    readonly more?: KubeObject['metadata'];
  } = {},
): void {
  for (let i = 0; i < times; i += 1) {
    ring.heal();
    ring.now += afterMs;
    ring.compare({ manager, more });
    ring.now += everyMs - afterMs;
  }
}

/** Another controller of Applications. */
const twin = { manager: 'argocd-controller' };

describe('a contest', () => {
  it('begins with the third undo within fifteen minutes', () => {
    const ring = new Ring();
    fight(ring, 2, twin);
    expect([ring.messages, ring.pauseMs]).toEqual([[], undefined]);
    fight(ring, 1, twin);
    expect(ring.messages).toHaveLength(1);
    expect(ring.pauseMs).toBe(contestRules.pauseMs - minute);
  });

  it.each(['kubectl-edit', 'kube-controller-manager', 'helm'])('with %s pauses nothing', (manager) => {
    const ring = new Ring();
    fight(ring, 9, { manager });
    expect(ring.messages).toEqual([expect.stringMatching(`${manager} .*Automated sync goes on, with its backoff`)]);
    expect(ring.pauseMs).toBe(0);
    ring.target = null;
    for (let i = 0; i < 4; i += 1) {
      ring.prune(`uid-${i}`);
      ring.compare({ manager }, `uid-${i + 1}`);
    }
    expect([ring.messages.length, ring.pauseMs]).toEqual([1, 0]);
  });

  it.each<[string, (ring: Ring) => void]>([
    ['the undos are further apart', (ring) => fight(ring, 9, { everyMs: 8 * minute })],
    [
      'each undo comes more than a minute after the write',
      (ring) => fight(ring, 9, { afterMs: 61 * second, everyMs: 62 * second }),
    ],
    [
      'each undo has another manager',
      (ring) => {
        for (let i = 0; i < 9; i += 1) fight(ring, 1, { manager: `m${i % 2}` });
      },
    ],
    ['nothing shows who wrote', (ring) => fight(ring, 9, { more: { managedFields: [] } })],
    [
      'one write is found undone many times',
      (ring) => {
        ring.heal();
        for (let i = 0; i < 9; i += 1) ring.compare({ manager: 'rival' });
      },
    ],
    [
      'the object is only deleted',
      (ring) => {
        for (let i = 0; i < 9; i += 1) {
          ring.heal();
          ring.compare({ isMissing: true });
        }
      },
    ],
    [
      'the writes are not of self-heal',
      (ring) => {
        for (let i = 0; i < 9; i += 1) {
          ring.heal(false);
          ring.compare({ manager: 'rival' });
        }
      },
    ],
    [
      'the manifest changes each time',
      (ring) => {
        for (let i = 0; i < 9; i += 1) {
          ring.target = configMap('a', String(i));
          fight(ring, 1);
        }
      },
    ],
    [
      'the comparison began before the write',
      (ring) => {
        for (let i = 0; i < 9; i += 1) {
          ring.now += second;
          ring.heal();
          ring.now -= 1;
          ring.compare({ manager: 'rival' });
        }
      },
    ],
    [
      'the object could not be read',
      (ring) => {
        for (let i = 0; i < 9; i += 1) {
          ring.heal();
          ring.look({ target: ring.target, live: null, modified: true }, { unread: true });
        }
      },
    ],
    [
      'the object now belongs to another one',
      (ring) => {
        for (let i = 0; i < 9; i += 1) {
          ring.heal();
          ring.look({ target: ring.target, live: configMap('a', 'x', owner('rival')), modified: true }, { own: false });
        }
      },
    ],
  ])('does not begin when %s', (_name, act) => {
    const ring = new Ring();
    act(ring);
    expect([ring.messages, ring.pauseMs]).toEqual([[], undefined]);
  });

  const tracked = (id: string, installation?: string): KubeObject['metadata'] => ({
    annotations: {
      [annotations.trackingId]: `${id}:/ConfigMap:shop/a`,
      ...(installation === undefined ? {} : { [annotations.installationId]: installation }),
    },
  });

  it.each<[string, Parameters<typeof fight>[2], RegExp]>([
    [
      'a field manager',
      {},
      /^ConfigMap shop\/a: field manager rival changes \/data\/key each time it is restored\. .*ignoreDifferences/,
    ],
    [
      'a subresource',
      { more: owner('kube-controller-manager', 'scale') },
      /field manager kube-controller-manager \(scale\)/,
    ],
    [
      'another Application',
      { more: tracked('other') },
      /Application other changes .*Remove the object from one of the two Applications/,
    ],
    ['another installation', { more: tracked('demo', 'green') }, /installation green changes/],
    [
      'a controller of the same name',
      { ...twin, more: tracked('demo') },
      /another controller that writes as argocd-controller .*installationID/,
    ],
    [
      'a controller of the same name that takes minutes',
      { ...twin, afterMs: 5 * minute, everyMs: 6 * minute },
      /another controller/,
    ],
  ])('names %s', (_name, how, message) => {
    const ring = new Ring();
    fight(ring, 3, how);
    expect(ring.messages).toEqual([expect.stringMatching(message)]);
  });

  it('names nobody if the fields of the spec are as they were stored, and no manager wrote others', () => {
    const ring = new Ring();
    ring.generation = { generation: 1 };
    for (let i = 0; i < 3; i += 1) {
      ring.heal();
      const live = configMap('a', 'ours', { uid: 'uid', ...ring.generation, resourceVersion: `other-${i}` });
      const diff = { modified: true, paths: ['/metadata/labels/team'] } as unknown as ManagedPair['diff'];
      ring.look({ target: ring.target, live, modified: true }, { diff });
      ring.now += minute;
    }
    expect(ring.messages).toEqual([expect.stringMatching(/a writer that managedFields do not name changes/)]);
  });

  it('advises about autoscalers for replicas', () => {
    const ring = new Ring();
    for (let i = 0; i < 3; i += 1) {
      ring.heal();
      const diff = { modified: true, paths: ['/spec/replicas'] } as unknown as ManagedPair['diff'];
      const live = configMap('a', 'x', { uid: 'uid', ...owner('kube-controller-manager', 'scale') });
      ring.look({ target: ring.target, live, modified: true }, { diff });
    }
    expect(ring.messages).toEqual([expect.stringMatching(/remove them from Git, or add \/spec\/replicas/)]);
  });

  it('begins when a pruned object is recreated, which is then not pruned again', () => {
    const ring = new Ring();
    ring.target = null;
    for (let i = 0; i < 3; i += 1) {
      ring.prune(`uid-${i}`);
      ring.compare(twin, `uid-${i}`);
      ring.compare(twin, `uid-${i + 1}`);
      ring.now += minute;
    }
    expect([ring.messages, ring.pauseMs]).toEqual([
      [expect.stringMatching(/recreates it each time it is pruned. Automated sync no longer prunes it/)],
      Number.POSITIVE_INFINITY,
    ]);
    // While it is there, the contest lasts.
    for (let i = 0; i < 60; i += 1) {
      ring.now += minute;
      ring.compare({}, 'uid-3');
    }
    expect(ring.messages).toHaveLength(1);
    ring.look({ target: null, live: null, modified: false });
    ring.now += contestRules.quietMs;
    ring.look({ target: null, live: null, modified: false });
    expect(ring.memory.size).toBe(0);
  });

  it('begins when the object is replaced by one with another UID', () => {
    const ring = new Ring();
    for (let i = 0; i < 3; i += 1) {
      ring.heal();
      ring.look({
        target: ring.target,
        live: configMap('a', 'ours', { uid: 'other', ...owner('rival') }),
        modified: false,
      });
    }
    expect(ring.messages).toEqual([expect.stringMatching(/field manager rival changes the object each time/)]);
  });

  it('does not hold back the recreation of a missing object', () => {
    const ring = new Ring();
    fight(ring, 3, twin);
    ring.compare({ isMissing: true });
    expect(ring.pauseMs).toBe(0);
  });

  it('lasts until half an hour has passed without an undo', () => {
    const ring = new Ring();
    fight(ring, 3, twin);
    ring.now += 20 * minute;
    ring.compare(twin);
    ring.heal();
    ring.now += 29 * minute;
    ring.compare(undefined);
    expect([ring.messages.length, ring.pauseMs]).toEqual([1, 0]);
    ring.now += minute;
    ring.compare(undefined);
    expect(ring.memory.size).toBe(0);
  });

  it('is over when the manifest changes or the object leaves Git', () => {
    for (const target of [configMap('a', 'new'), null]) {
      const ring = new Ring();
      fight(ring, 3);
      ring.target = target;
      ring.compare({ manager: 'rival' });
      expect(ring.memory.size).toBe(0);
    }
  });

  it('has one condition for each of five objects, and counts the rest', () => {
    const ring = new Ring();
    fight(ring, 3);
    const [entry] = ring.memory.values();
    if (entry === undefined) throw new Error('no entry');
    const memory = new Map(Array.from({ length: 9 }, (_, i) => [`key-${i}` as ResourceKey, entry]));
    const messages = contestConditions(memory).map(({ message }) => message);
    expect(messages).toHaveLength(6);
    expect(messages.at(-1)).toMatch(/4 more objects/);
  });
});

describe('the memory', () => {
  it('has at most 500 objects, and forgets a write after a quarter of an hour', () => {
    const ring = new Ring();
    for (let i = 0; i < 2 * contestRules.maxObjects; i += 1) ring.heal(true, `a-${i}`);
    expect(ring.memory.size).toBe(contestRules.maxObjects);
    ring.memory = noContests;
    ring.heal();
    ring.now += contestRules.windowMs;
    ring.compare(undefined);
    expect(ring.memory.size).toBe(0);
  });

  it('has a contest only after three own writes within half an hour, and no pause beyond ten minutes', () => {
    const event = fc.record({
      act: fc.constantFrom('heal', 'sync', 'kept', 'undone', 'twin', 'missing'),
      pauseMs: fc.nat(12 * minute),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const ring = new Ring();
        const writes: number[] = [];
        for (const { act, pauseMs } of events) {
          ring.now += pauseMs;
          const wasContested = ring.pauseMs !== undefined;
          if (act === 'heal' || act === 'sync') writes.push(ring.now);
          if (act === 'heal' || act === 'sync') ring.heal(act === 'heal');
          if (act === 'kept') ring.compare(undefined);
          if (act === 'undone') ring.compare({ manager: 'rival' });
          if (act === 'twin') ring.compare(twin);
          if (act === 'missing') ring.compare({ isMissing: true });
          expect(ring.memory.size).toBeLessThanOrEqual(1);
          expect(ring.pauseMs ?? 0).toBeLessThanOrEqual(contestRules.pauseMs);
          if (ring.pauseMs === undefined || wasContested) continue;
          expect(act).toMatch(/undone|twin/);
          expect(writes.filter((at) => ring.now - at <= 30 * minute).length).toBeGreaterThanOrEqual(contestRules.undos);
        }
        ring.now += contestRules.quietMs;
        ring.compare(undefined);
        expect(ring.memory.size).toBe(0);
      }),
    );
  });
});
