import { describe, expect, it } from '@jest/globals';
import { OwnershipLost } from '#base';
import type { Json } from '#base';
import { eventually, FakeClock } from '#support';
import type { KubeClient } from '../index.ts';
import { configMaps, noSignal, object, scriptedConnections } from '../testing/index.ts';

const at = { namespace: 'default', name: 'a' };
const stored = object('a', '1');
const storedJson = { ...stored } as unknown as Json;
const { serve, connect } = scriptedConnections();

/** A right to write that a test takes away. */
class Right {
  isHeld = true;
  checks = 0;

  readonly check = (): void => {
    this.checks += 1;
    if (!this.isHeld) throw new OwnershipLost('cluster https://dest');
  };
}

type GuardedCall = (client: KubeClient, beforeSend: () => void) => Promise<unknown>;
const patch: GuardedCall = (client, beforeSend) =>
  client.patch(configMaps, at, { type: 'merge', body: {} }, { signal: noSignal, beforeSend });
const replace: GuardedCall = (client, beforeSend) =>
  client.replace(configMaps, stored, { signal: noSignal, beforeSend });
const create: GuardedCall = (client, beforeSend) => client.create(configMaps, stored, { signal: noSignal, beforeSend });
const calls: readonly [string, GuardedCall][] = [
  ['create', create],
  ['replace', replace],
  ['patch', patch],
  ['delete', (client, beforeSend) => client.delete(configMaps, at, { signal: noSignal, beforeSend })],
];

describe('beforeSend', () => {
  it.each(calls)('keeps a %s without the right from the wire, and the client usable', async (_name, call) => {
    const server = await serve((turn) => turn.reply(200, storedJson));
    const client = connect(server, { limits: { connections: 1 } });
    const right = new Right();
    await call(client, right.check);
    right.isHeld = false;
    await expect(call(client, right.check)).rejects.toThrow(OwnershipLost);
    right.isHeld = true;
    await call(client, right.check);
    expect([server.turns.length, right.checks]).toEqual([2, 3]);
  });

  it('keeps the connection when it refuses', async () => {
    const server = await serve((turn) => turn.reply(200, storedJson));
    const client = connect(server, { limits: { connections: 1 } });
    const right = new Right();
    await patch(client, right.check);
    right.isHeld = false;
    await expect(patch(client, right.check)).rejects.toThrow(OwnershipLost);
    right.isHeld = true;
    await patch(client, right.check);
    expect(server.connections).toBe(1);
  });

  it('is asked again before a retry', async () => {
    const clock = new FakeClock();
    const server = await serve((turn) => turn.status(429, 'TooManyRequests', 'wait', { 'retry-after': '5' }));
    const right = new Right();
    const outcome = expect(patch(connect(server, { clock }), right.check)).rejects.toThrow(OwnershipLost);
    await eventually(() => expect(clock.pending).toBe(2));
    right.isHeld = false;
    await clock.advance(60_000);
    await outcome;
    expect([server.turns.length, right.checks]).toEqual([1, 2]);
  });

  it('is asked after the throttle', async () => {
    const clock = new FakeClock();
    const server = await serve((turn) => turn.reply(200, storedJson));
    const client = connect(server, { clock, limits: { qps: 1, burst: 1 } });
    await client.get(configMaps, at, { signal: noSignal });
    const right = new Right();
    const outcome = expect(create(client, right.check)).rejects.toThrow(OwnershipLost);
    right.isHeld = false;
    await eventually(async () => {
      await clock.advance(500);
      expect(right.checks).toBe(1);
    });
    await outcome;
    expect(server.turns).toHaveLength(1);
  });

  it('is asked after the wait for a free connection', async () => {
    const answers: (() => void)[] = [];
    const server = await serve((turn) => void answers.push(() => turn.reply(200, storedJson)));
    const client = connect(server, { limits: { connections: 1 } });
    const first = client.get(configMaps, at, { signal: noSignal });
    await eventually(() => expect(answers).toHaveLength(1));
    const right = new Right();
    const outcome = expect(replace(client, right.check)).rejects.toThrow(OwnershipLost);
    right.isHeld = false;
    answers[0]?.();
    await first;
    await outcome;
    expect([server.turns.length, right.checks]).toEqual([1, 1]);
  });

  it('passes an impersonated client', async () => {
    const server = await serve((turn) => turn.reply(200, storedJson));
    const right = new Right();
    right.isHeld = false;
    await expect(create(connect(server).impersonate('u'), right.check)).rejects.toThrow(OwnershipLost);
    expect(server.turns).toHaveLength(0);
  });
});
