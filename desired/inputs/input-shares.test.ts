import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InputShares } from './input-shares.ts';

const claimAfterMs = 5000;
const sharesOf = (totalBytes: number): InputShares => new InputShares({ totalBytes, claimAfterMs });

/** Starts every input that may start now. */
function startAll(shares: InputShares, now: number): number[] {
  const started: number[] = [];
  for (let id = shares.next(now); id !== undefined; id = shares.next(now)) started.push(id);
  return started;
}

describe('memory for inputs', () => {
  it('is given to one project up to half, so that the next one does not wait', () => {
    const shares = sharesOf(100);
    const hostile = Array.from({ length: 10 }, () => shares.add('hostile', 25, 0));
    expect(startAll(shares, 0)).toEqual([hostile[0], hostile[1]]);
    const modest = shares.add('modest', 25, 1);
    expect(startAll(shares, 1)).toEqual([modest]);
    expect(shares.heldBy('hostile')).toBe(50);
    expect(shares.heldBytes).toBe(75);
  });

  it('is first in, first out inside a project, even if a later input would fit', () => {
    const shares = sharesOf(100);
    const [first, big, small] = [30, 40, 5].map((bytes) => shares.add('a', bytes, 0));
    expect(startAll(shares, 0)).toEqual([first]);
    shares.end(first ?? 0);
    expect(startAll(shares, 1)).toEqual([big, small]);
  });

  it('goes to the project that holds least, and then to the one that waited longest for its turn', () => {
    const shares = sharesOf(100);
    const [a1, a2] = [shares.add('a', 20, 0), shares.add('a', 20, 0)];
    expect(startAll(shares, 0)).toEqual([a1, a2]);
    const b = [shares.add('b', 20, 0), shares.add('b', 20, 0)];
    const c = shares.add('c', 20, 0);
    expect(startAll(shares, 0)).toEqual([b[0], c]);
    shares.end(a1);
    shares.end(a2);
    const a3 = shares.add('a', 20, 1);
    expect(startAll(shares, 1)).toEqual([a3]);
    for (const id of [b[0], c, a3]) shares.end(id ?? 0);
    const c2 = shares.add('c', 20, 2);
    expect(startAll(shares, 2)).toEqual([b[1], c2]);
  });

  it('goes to another project next, even if the first one has waited since before', () => {
    const shares = sharesOf(100);
    const [a1, a2] = [shares.add('a', 50, 0), shares.add('a', 50, 0)];
    const b = shares.add('b', 50, 0);
    expect(startAll(shares, 0)).toEqual([a1]);
    shares.end(a1);
    expect(startAll(shares, 1)).toEqual([b]);
    shares.end(b);
    expect(startAll(shares, 2)).toEqual([a2]);
  });

  it('is claimed by an input that others overtake for too long', () => {
    const shares = sharesOf(100);
    const old = shares.add('old', 40, 0);
    startAll(shares, 0);
    const big = shares.add('big', 50, 0);
    expect(startAll(shares, 0)).toEqual([]);
    expect(shares.nextChangeAt(0)).toBe(claimAfterMs);
    // Before the claim, small inputs overtake it. Afterwards they leave 50 of the 88 bytes free.
    const early = shares.add('small', 10, 1);
    expect(startAll(shares, claimAfterMs - 1)).toEqual([early]);
    const late = ['x', 'y', 'z'].map((project) => shares.add(project, 15, claimAfterMs));
    expect(startAll(shares, claimAfterMs)).toEqual([late[0], late[1]]);
    expect(shares.nextChangeAt(claimAfterMs)).toBeUndefined();
    shares.end(old);
    expect(startAll(shares, claimAfterMs)).toEqual([]);
    shares.end(early);
    // 50 and 30 bytes of the 88 that a claim may fill.
    expect(startAll(shares, claimAfterMs)).toEqual([big]);
    expect(shares.heldBytes).toBe(80);
  });

  it('is never claimed by a project that holds some', () => {
    const shares = sharesOf(100);
    const ids = Array.from({ length: 4 }, () => shares.add('hostile', 25, 0));
    expect(startAll(shares, 0)).toEqual([ids[0], ids[1]]);
    expect(startAll(shares, 60_000)).toEqual([]);
    expect(shares.heldBy('hostile')).toBe(50);
  });

  it('leaves an eighth to small inputs while big ones claim', () => {
    const shares = sharesOf(160);
    const first = shares.add('a', 80, 0);
    expect(startAll(shares, 0)).toEqual([first]);
    const second = shares.add('b', 80, 0);
    expect(startAll(shares, 60_000)).toEqual([]);
    const small = shares.add('c', 10, 60_000);
    expect(startAll(shares, 60_000)).toEqual([small]);
    shares.end(first);
    shares.end(small);
    expect(startAll(shares, 60_001)).toEqual([second]);
  });

  it('leaves the bytes of a second claim free, whatever started beside the first', () => {
    const shares = sharesOf(100);
    const old = shares.add('old', 40, 0);
    expect(startAll(shares, 0)).toEqual([old]);
    const first = shares.add('first', 50, 0);
    const beside = shares.add('beside', 30, claimAfterMs);
    expect(startAll(shares, claimAfterMs)).toEqual([beside]);
    shares.drop(first);
    const second = shares.add('second', 50, claimAfterMs);
    const small = shares.add('small', 15, 2 * claimAfterMs);
    expect(startAll(shares, 2 * claimAfterMs)).toEqual([small]);
    shares.end(old);
    shares.end(beside);
    expect(startAll(shares, 2 * claimAfterMs)).toEqual([second]);
  });

  it('is free for others again when a claim is dropped', () => {
    const shares = sharesOf(100);
    const old = shares.add('old', 40, 0);
    startAll(shares, 0);
    const claim = shares.add('big', 50, 0);
    const small = [shares.add('x', 25, claimAfterMs), shares.add('y', 20, claimAfterMs)];
    expect(startAll(shares, claimAfterMs)).toEqual([small[0]]);
    shares.end(old);
    shares.drop(claim);
    expect(startAll(shares, claimAfterMs)).toEqual([small[1]]);
    expect(shares.waitingCount).toBe(0);
  });
});

const step = fc.record({
  act: fc.constantFrom('add', 'add', 'end', 'drop', 'wait'),
  project: fc.constantFrom('a', 'b', 'c', 'd'),
  bytes: fc.nat(50),
  pick: fc.nat(20),
});

describe('any schedule of inputs', () => {
  it('never holds more than the total, or more than half for one project, and loses none', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const shares = sharesOf(100);
        const [held, waiting] = [new Map<number, number>(), new Map<number, { project: string; bytes: number }>()];
        const order: Record<string, number[]> = { a: [], b: [], c: [], d: [] };
        let now = 0;
        for (const { act, project, bytes, pick } of steps) {
          const someHeld = [...held.keys()][pick % Math.max(1, held.size)];
          const someWaiting = [...waiting.keys()][pick % Math.max(1, waiting.size)];
          if (act === 'add') {
            const id = shares.add(project, bytes, now);
            waiting.set(id, { project, bytes });
            order[project]?.push(id);
          }
          if (act === 'wait') now += 500 * pick;
          if (act === 'end' && someHeld !== undefined) {
            shares.end(someHeld);
            held.delete(someHeld);
          }
          if (act === 'drop' && someWaiting !== undefined) {
            shares.drop(someWaiting);
            const ids = order[waiting.get(someWaiting)?.project ?? ''] ?? [];
            ids.splice(ids.indexOf(someWaiting), 1);
            waiting.delete(someWaiting);
          }
          for (const id of startAll(shares, now)) {
            const started = waiting.get(id);
            expect(started).toBeDefined();
            expect(order[started?.project ?? '']?.shift()).toBe(id);
            held.set(id, started?.bytes ?? 0);
            waiting.delete(id);
          }
          const sum = [...held.values()].reduce((a, b) => a + b, 0);
          expect(shares.heldBytes).toBe(sum);
          expect(sum).toBeLessThanOrEqual(100);
          for (const name of ['a', 'b', 'c', 'd']) expect(shares.heldBy(name)).toBeLessThanOrEqual(50);
          expect(shares.waitingCount).toBe(waiting.size);
          if (held.size === 0) expect(waiting.size).toBe(0);
        }
      }),
    );
  });

  it('starts every input within a few rounds, whatever arrives meanwhile', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(
          fc.record({ project: fc.constantFrom('a', 'b', 'c', 'd', 'e'), bytes: fc.integer({ min: 1, max: 50 }) }),
          {
            minLength: 4,
            maxLength: 12,
          },
        ),
        (bytes, arriving) => {
          const shares = sharesOf(100);
          const held: { readonly id: number; readonly until: number }[] = [];
          let victim = 0;
          // Each second two inputs arrive; each is held for three seconds.
          for (let second = 0; second < 120; second += 1) {
            const now = second * 1000;
            for (const { id, until } of held.splice(0))
              if (until <= second) shares.end(id);
              else held.push({ id, until });
            if (second === 10) victim = shares.add('victim', bytes, now);
            for (const i of [0, 1]) {
              const { project, bytes: size } = arriving[(2 * second + i) % arriving.length] ?? {
                project: 'a',
                bytes: 1,
              };
              shares.add(project, size, now);
            }
            const started = startAll(shares, now);
            if (victim !== 0 && started.includes(victim)) return;
            for (const id of started) held.push({ id, until: second + 3 });
          }
          throw new Error(`an input of ${bytes} bytes did not start in two minutes`);
        },
      ),
    );
  });
});
