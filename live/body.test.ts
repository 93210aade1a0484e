import { describe, expect, it } from '@jest/globals';
import { readingOf } from '#model';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { Body, ParsedBodies } from './body.ts';

const object = (name: string, value = 'x'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, uid: name },
  data: { value },
});

describe('15.3: objects that are kept as text', () => {
  it('15.3: come back equal, each time from the same reading', () => {
    const body = new Body(object('a'));
    const [first, second] = [body.parse(), body.parse()];
    expect([first, second]).toEqual([object('a'), object('a')]);
    expect(first).not.toBe(second);
    expect(readingOf(first)).toBe(readingOf(second));
    expect(readingOf(new Body(object('a')).parse())).not.toBe(readingOf(first));
    expect([body.holds(object('a')), body.holds(object('a', 'y'))]).toEqual([true, false]);
  });

  it('15.3: stay parsed from one resync to the next, and no longer than nobody asks', async () => {
    const clock = new FakeClock();
    const parsed = new ParsedBodies(clock);
    const body = new Body(object('a'));
    const first = parsed.read(body);
    for (let resync = 0; resync < 5; resync += 1) {
      await clock.advance(180_000);
      expect(parsed.read(body)).toBe(first);
    }
    await clock.advance(600_000);
    expect([parsed.known(body), parsed.size, clock.pending]).toEqual([undefined, 0, 0]);
  });

  it('15.3: stay parsed up to a limit; those that are there are not given up for others', () => {
    const parsed = new ParsedBodies(new FakeClock(), 300);
    const bodies = ['a', 'b', 'c', 'd', 'e'].map((name) => new Body(object(name)));
    const read = bodies.map((body) => parsed.read(body));
    const { size } = parsed;
    expect(size).toBeGreaterThan(0);
    expect(size).toBeLessThan(5);
    expect(bodies.slice(0, size).map((body) => parsed.read(body))).toEqual(read.slice(0, size));
    expect(bodies.slice(0, size).every((body, i) => parsed.known(body) === read[i])).toBe(true);
    expect(parsed.known(bodies[4] ?? new Body(object('x')))).toBeUndefined();
  });
});
