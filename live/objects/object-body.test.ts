import { describe, expect, it } from '@jest/globals';
import { contentIdOf } from '#model';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { ObjectBody, ParsedBodies } from './object-body.ts';

const object = (name: string, value = 'x'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, uid: name },
  data: { value },
});

describe('objects stored as text', () => {
  it('are parsed to equal objects with the same content id', () => {
    const body = new ObjectBody(object('a'));
    const [first, second] = [body.parse(), body.parse()];
    expect([first, second]).toEqual([object('a'), object('a')]);
    expect(first).not.toBe(second);
    expect(contentIdOf(first)).toBe(contentIdOf(second));
    expect(contentIdOf(new ObjectBody(object('a')).parse())).not.toBe(contentIdOf(first));
    expect([body.isSameAs(object('a')), body.isSameAs(object('a', 'y'))]).toEqual([true, false]);
  });

  it('stay parsed between resyncs, and are dropped if unused', async () => {
    const clock = new FakeClock();
    const parsed = new ParsedBodies(clock);
    const body = new ObjectBody(object('a'));
    const first = parsed.read(body);
    for (let resync = 0; resync < 5; resync += 1) {
      await clock.advance(180_000);
      expect(parsed.read(body)).toBe(first);
    }
    await clock.advance(600_000);
    expect([parsed.known(body), parsed.size, clock.pending]).toEqual([undefined, 0, 0]);
  });

  it('are dropped when they are replaced, and make room for others', async () => {
    const clock = new FakeClock();
    const parsed = new ParsedBodies(clock, 300);
    const [old, before, ...others] = ['a', 'b', 'c', 'd', 'e'].map((name) => new ObjectBody(object(name)));
    if (old === undefined || before === undefined) throw new Error('no bodies');
    parsed.read(before);
    await clock.advance(300_000);
    parsed.read(old);
    for (const body of [old, before]) parsed.forget(body);
    expect([parsed.known(old), parsed.known(before), parsed.size]).toEqual([undefined, undefined, 0]);
    parsed.forget(old);
    const room = new ParsedBodies(new FakeClock(), 300);
    for (const body of others) [parsed, room].map((each) => each.read(body));
    expect(parsed.size).toBe(room.size);
  });

  it('are not parsed if the object that they were made of is held', () => {
    const parsed = new ParsedBodies(new FakeClock());
    const given = object('a');
    const body = new ObjectBody(given);
    parsed.hold(body, given);
    expect(parsed.read(body)).toBe(given);
    expect(contentIdOf(given)).toBe(body.contentId);
    parsed.hold(body, object('a'));
    expect(parsed.read(body)).toBe(given);
  });

  it('are not held beyond the limit', () => {
    const parsed = new ParsedBodies(new FakeClock(), 300);
    for (const name of ['a', 'b', 'c', 'd', 'e']) parsed.hold(new ObjectBody(object(name)), object(name));
    const { size } = parsed;
    const read = new ParsedBodies(new FakeClock(), 300);
    for (const name of ['a', 'b', 'c', 'd', 'e']) read.read(new ObjectBody(object(name)));
    expect(size).toBe(read.size);
  });

  it('stay parsed up to a limit, without eviction for others', () => {
    const parsed = new ParsedBodies(new FakeClock(), 300);
    const bodies = ['a', 'b', 'c', 'd', 'e'].map((name) => new ObjectBody(object(name)));
    const read = bodies.map((body) => parsed.read(body));
    const { size } = parsed;
    expect(size).toBeGreaterThan(0);
    expect(size).toBeLessThan(5);
    expect(bodies.slice(0, size).map((body) => parsed.read(body))).toEqual(read.slice(0, size));
    expect(bodies.slice(0, size).every((body, i) => parsed.known(body) === read[i])).toBe(true);
    expect(parsed.known(bodies[4] ?? new ObjectBody(object('x')))).toBeUndefined();
  });
});
