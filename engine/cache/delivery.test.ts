import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventually, FakeClock } from '#support';
import { keyOfRef } from '#model';
import type { ResourceKey, ResourceRef } from '#model';
import { ChangeDelivery, mergeChanges } from './delivery.ts';
import type { CachedObject, CacheHandlers, CacheProblem } from './types.ts';

const refOf = (name: string): ResourceRef => ({ group: '', kind: 'ConfigMap', namespace: 'ns', name });
const objectOf = (name: string): CachedObject => ({
  ...refOf(name),
  version: 'v1',
  uid: name,
  resourceVersion: '1',
  createdAt: '',
  labels: {},
  owners: [],
  health: null,
  deleting: false,
  images: [],
});

describe('delivery to handlers', () => {
  const open: ChangeDelivery[] = [];
  const hang = (): Promise<never> => new Promise(() => undefined);
  afterEach(() => open.splice(0).forEach((delivery) => delivery.close()));

  function deliveryTo(
    handlers: CacheHandlers,
    existing: ReadonlyMap<ResourceKey, CachedObject> = new Map(
      Array.from({ length: 30 }, (_, i) => [keyOfRef(refOf(`o${i}`)), objectOf(`o${i}`)]),
    ),
  ): { delivery: ChangeDelivery; clock: FakeClock; problems: CacheProblem[] } {
    const clock = new FakeClock();
    const problems: CacheProblem[] = [];
    const delivery = new ChangeDelivery(handlers, {
      clock,
      deadlineMs: 1000,
      read: (key) => Promise.resolve(existing.get(key)),
      kinds: () => [],
      report: (problem) => problems.push(problem),
    });
    open.push(delivery);
    return { delivery, clock, problems };
  }

  it('reports a handler that throws, and continues with the next object', async () => {
    const seen: string[] = [];
    const { delivery, problems } = deliveryTo({
      created: ({ name }) => {
        seen.push(name);
        if (name === 'o0') throw new Error('bug');
        if (name === 'o1') return Promise.reject(new Error('late bug'));
        return undefined;
      },
    });
    for (const name of ['o0', 'o1', 'o2']) delivery.add(refOf(name), 'created');
    await eventually(() => expect(seen).toEqual(['o0', 'o1', 'o2']));
    expect(problems.map(({ kind, message }) => [kind, message])).toEqual([
      ['threw', 'handler created of /ConfigMap/ns/o0 failed: bug'],
      ['threw', 'handler created of /ConfigMap/ns/o1 failed: late bug'],
    ]);
  });

  it('leaves a call behind that does not return, and aborts its signal', async () => {
    const seen: string[] = [];
    const signals: AbortSignal[] = [];
    const { delivery, clock, problems } = deliveryTo({
      updated: ({ name }, signal) => {
        seen.push(name);
        signals.push(signal);
        return name === 'o0' ? hang() : undefined;
      },
    });
    delivery.add(refOf('o0'), 'updated');
    delivery.add(refOf('o1'), 'updated');
    await eventually(() => expect(seen).toEqual(['o0']));
    await clock.advance(999);
    expect(problems).toEqual([]);
    await clock.advance(1);
    await eventually(() => expect(seen).toEqual(['o0', 'o1']));
    expect(problems).toMatchObject([{ kind: 'timed-out', object: refOf('o0') }]);
    expect(signals[0]?.aborted).toBe(true);
  });

  it('removes handlers of which ten calls hang, and holds nothing for them', async () => {
    let calls = 0;
    const { delivery, clock, problems } = deliveryTo({
      created: () => {
        calls += 1;
        return hang();
      },
    });
    for (let i = 0; i < 30; i += 1) delivery.add(refOf(`o${i}`), 'created');
    for (let i = 1; i <= 10; i += 1) {
      await eventually(() => expect(calls).toBe(i));
      await clock.advance(1000);
    }
    await eventually(() => expect(delivery.isClosed()).toBe(true));
    delivery.add(refOf('o1'), 'updated');
    expect([calls, delivery.pending, problems.at(-1)?.kind]).toEqual([10, 0, 'closed']);
  });

  it('does not count calls that returned after their deadline', async () => {
    let finish = (): void => undefined;
    let calls = 0;
    const { delivery, clock, problems } = deliveryTo({
      created: () => {
        calls += 1;
        return new Promise<void>((resolve) => (finish = resolve));
      },
    });
    for (let i = 0; i < 15; i += 1) {
      delivery.add(refOf(`o${i}`), 'created');
      await eventually(() => expect(calls).toBe(i + 1));
      await clock.advance(1000);
      finish();
    }
    await eventually(() => expect(problems).toHaveLength(15));
    expect(delivery.isClosed()).toBe(false);
  });

  it('keeps one entry per object while a handler hangs', async () => {
    let calls = 0;
    const { delivery } = deliveryTo({
      updated: () => {
        calls += 1;
        return hang();
      },
    });
    delivery.add(refOf('o0'), 'updated');
    await eventually(() => expect(calls).toBe(1));
    for (let i = 0; i < 1000; i += 1) delivery.add(refOf(`o${i % 5}`), 'updated');
    for (let i = 0; i < 1000; i += 1) {
      delivery.add(refOf(`short-${i}`), 'created');
      delivery.addDeleted(objectOf(`short-${i}`));
    }
    expect(delivery.pending).toBe(5);
  });

  it('leaves handlers in a state that agrees with the cluster, however changes are merged', () => {
    const operations = fc.array(fc.record({ isUpdate: fc.boolean(), isDelivered: fc.boolean() }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.boolean(), operations, (startsKnown, steps) => {
        let exists = startsKnown;
        let known = startsKnown;
        let pending: ReturnType<typeof mergeChanges>;
        for (const { isUpdate, isDelivered } of steps) {
          const change = !exists ? 'created' : isUpdate ? 'updated' : 'deleted';
          exists = change !== 'deleted';
          pending = mergeChanges(pending, change);
          if (!isDelivered) continue;
          known = pending === undefined ? known : pending !== 'deleted';
          pending = undefined;
          expect(known).toBe(exists);
        }
      }),
    );
  });
});
