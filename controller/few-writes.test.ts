import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import type { ApplicationStatus } from '#model';
import { FakeClock } from '#support';
import { createLogger } from '#telemetry';
import { parseTime } from './kube-time.ts';
import { automated, configMap, FakeWorld } from './testing/fake-world.ts';
import { publisherAfter } from './testing/published.ts';

// How often an Application is written (decision D17), and that what clients see of it is none the worse for it.

const sha = 'a'.repeat(40);

let clock: FakeClock;
let world: FakeWorld;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.git.push(sha, [configMap('one'), configMap('two'), configMap('three'), configMap('four')]);
});
afterEach(() => world.close(clock));

/** Each that says that a sync has ended. */
function ends(): readonly ApplicationStatus[] {
  return world.statuses().filter(({ operationState }) => operationState?.phase === 'Succeeded');
}

/** Opened once. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe('a first sync', () => {
  it('15.4: is two writes: what differs with its beginning, and its end with what is seen then', async () => {
    world.application(automated);
    world.replica();
    await clock.advance(10_000);
    expect(world.writes()).toEqual(['replace', 'patch']);
    expect(world.statuses().at(-2)).toMatchObject({
      sync: { status: 'OutOfSync' },
      operationState: { phase: 'Running' },
    });
    expect(world.statuses().at(-1)).toMatchObject({
      sync: { status: 'Synced' },
      operationState: { phase: 'Succeeded' },
    });
    expect(world.app.operation).toBeUndefined();
    expect(world.app.status?.history).toHaveLength(1);
  });

  it('15.4: that a person asks for is two writes, too', async () => {
    world.application();
    world.replica();
    await clock.advance(5000);
    const before = world.writes().length;
    world.edit(() => ({ operation: { sync: {}, initiatedBy: { username: 'me' } } }));
    await clock.advance(10_000);
    expect(world.writes().slice(before)).toEqual(['patch', 'patch']);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' } });
  });

  it('15.4: is recorded as Running before anything is written to the cluster', async () => {
    world.application(automated);
    const phases: unknown[] = [];
    const before = (call: string): void => {
      if (call.startsWith('create'))
        phases.push([world.app.operation !== undefined, world.app.status?.operationState?.phase]);
    };
    world.replica({ dest: { before } });
    await clock.advance(5000);
    expect(phases).toEqual([1, 2, 3, 4].map(() => [true, 'Running']));
  });

  it('15.4: ends with a comparison that clients take for the one after it, and that began after its last write', async () => {
    world.application(automated);
    world.dest.put({ ...configMap('one'), metadata: { name: 'one', namespace: 'apps' } });
    world.replica();
    await clock.advance(5000);
    expect(ends()).toHaveLength(1);
    const [end] = ends();
    const [finished, compared] = [parseTime(end?.operationState?.finishedAt), parseTime(end?.reconciledAt)];
    expect(compared ?? 0).toBeGreaterThanOrEqual(finished ?? Number.POSITIVE_INFINITY);
    expect(end?.resources?.map(({ status }) => status)).toEqual(['Synced', 'Synced', 'Synced', 'Synced']);
  });

  it('15.4: tells what lies between when it lasts over a second, and not before', async () => {
    world.application({ syncPolicy: { automated: {} } });
    const held = gate();
    world.replica({ dest: { before: (call) => (call === 'create ConfigMap two' ? held.opened : undefined) } });
    await clock.advance(900);
    expect(world.writes()).toEqual(['replace']);
    await clock.advance(200);
    expect(world.writes()).toEqual(['replace', 'patch']);
    const open = world.app.status?.resources?.filter(({ status }) => status === 'OutOfSync').map(({ name }) => name);
    expect(open).toEqual(['two']);
    held.open();
    await clock.advance(5000);
    expect(world.writes()).toEqual(['replace', 'patch', 'patch']);
    expect(world.app.status?.sync?.status).toBe('Synced');
  });
});

describe('a first sync that waits for others', () => {
  it('15.4: is two writes, however long it has waited: what it does is told when it has lasted a second itself', async () => {
    const held = gate();
    const before = (call: string): Promise<void> | undefined => (call.startsWith('create') ? held.opened : undefined);
    world.application(automated);
    world.replica({ dest: { before }, config: { kubectlParallelism: 1 } });
    await clock.advance(8000);
    expect(world.writes()).toEqual(['replace']);
    held.open();
    await clock.advance(10_000);
    expect(world.writes()).toEqual(['replace', 'patch']);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' } });
  });
});

describe('the end of a sync', () => {
  /** Synced by a process that has ended, with an operation that it had begun: passes of the next one do not wait for the end of that. */
  async function begunByAnother(): Promise<{ readonly startedAt: string }> {
    const first = world.replica();
    world.edit(() => ({ operation: { sync: {} } }));
    await clock.advance(5000);
    expect(world.app.status?.sync?.status).toBe('Synced');
    const stopped = first.stop();
    await clock.advance(2000);
    await stopped;
    const operation = { sync: { syncOptions: ['RespectIgnoreDifferences=true'] } };
    const operationState = { operation, phase: 'Running', startedAt: '2026-01-01T00:00:07Z' };
    world.edit((object) => ({ operation, status: { ...(object['status'] as object), operationState } }));
    return operationState;
  }

  it('15.4: is not followed by the status of a pass that began before it, nor overtaken by it', async () => {
    world.application(automated);
    const held = gate();
    const before = (call: string): Promise<void> | undefined =>
      call.startsWith('patch Application') ? held.opened : undefined;
    world.replica({ hub: { before } });
    await clock.advance(500);
    for (let i = 0; i < 4; i += 1) {
      const live = world.dest.get('ConfigMap', 'one');
      if (live !== undefined) world.dest.put({ ...live, metadata: { ...live.metadata, labels: { touched: `${i}` } } });
      await clock.advance(1000);
    }
    held.open();
    await clock.advance(10_000);
    expect(world.writes()).toEqual(['replace', 'patch']);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' }, health: { status: 'Healthy' } });
    expect(world.app.status?.health).toEqual(ends()[0]?.health);
  });

  it('15.4: does not wait for sources that do not answer: it is told after a second, and what is seen then, later', async () => {
    world.application();
    const held = gate();
    let armed = false;
    const publisher = publisherAfter(() => (armed ? held.opened : undefined));
    world.replica({ publisher });
    await clock.advance(5000);
    armed = true;
    world.edit(() => ({ operation: { sync: {} } }));
    await clock.advance(900);
    expect(world.app.status?.operationState?.phase).toBe('Running');
    await clock.advance(200);
    expect(world.app.status).toMatchObject({ sync: { status: 'OutOfSync' }, operationState: { phase: 'Succeeded' } });
    held.open();
    await clock.advance(5000);
    expect(world.app.status?.sync?.status).toBe('Synced');
  });

  it('15.4: is compared once more when a pass that began before it has stored its status meanwhile', async () => {
    world.application(automated);
    let meddled = 0;
    const meddle = (call: string): void => {
      if (!call.startsWith('patch Application') || meddled > 0) return;
      meddled += 1;
      world.edit((object) => ({ status: { ...(object['status'] as object), summary: { images: ['x'] } } }));
    };
    world.replica({ hub: { before: meddle } });
    await clock.advance(5000);
    expect(meddled).toBe(1);
    expect(ends()).toHaveLength(1);
    expect(ends()[0]).toMatchObject({ sync: { status: 'Synced' }, summary: {} });
  });

  it('15.4: is written alone when somebody has written the Application since, and a comparison follows', async () => {
    world.application(automated);
    const given: string[] = [];
    const meddle = (call: string): void => {
      if (!call.startsWith('patch Application') || ends().length > 0) return;
      given.push(`write ${given.length + 1}`);
      world.annotate({ 'example.com/by': given.at(-1) ?? '' });
    };
    world.replica({ hub: { before: meddle } });
    await clock.advance(5000);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' } });
    expect(ends()[0]?.sync?.status).toBe('OutOfSync');
    expect(world.app.status?.history).toHaveLength(1);
    expect(given).toEqual(['write 1', 'write 2', 'write 3']);
    expect(world.app.metadata.annotations).toEqual({ 'example.com/by': 'write 3' });
  });

  it('15.4: of a sync that failed tells why the Application is not synced again, in the same write', async () => {
    world.application({ syncPolicy: { ...automated.syncPolicy, retry: { limit: 0 } } });
    const before = (call: string): void => {
      if (call.startsWith('create')) throw new DriftlessError('X', 'cluster says no');
    };
    world.replica({ dest: { before } });
    await clock.advance(10_000);
    expect(world.writes()).toEqual(['replace', 'patch']);
    expect(world.app.status?.operationState?.phase).toBe('Failed');
    expect(world.app.status?.conditions?.map(({ type }) => type)).toEqual(['SyncError']);
  });

  it('15.4: drops no change that only a comparison found which it overtook', async () => {
    world.application();
    const gates = { read: gate(), ended: gate(), later: gate() };
    let armed = false;
    let published = 0;
    const publisher = publisherAfter(() => {
      published += Number(armed);
      return [undefined, gates.ended, gates.later][published]?.opened;
    });
    const before = (call: string): Promise<void> | undefined =>
      call === 'get ConfigMap one' ? gates.read.opened : undefined;
    await begunByAnother();
    world.replica({ publisher, dest: { before } });
    await clock.advance(1500);
    armed = true;
    gates.read.open();
    await clock.settle();
    expect(published).toBe(1);
    // The end has compared and waits to be written; then this happens, and is compared, too.
    world.dest.delete('ConfigMap', 'four');
    await clock.settle();
    expect(published).toBe(2);
    gates.ended.open();
    await clock.settle();
    expect(world.statuses().at(-1)).toMatchObject({
      sync: { status: 'Synced' },
      operationState: { phase: 'Succeeded' },
    });
    gates.later.open();
    await clock.advance(1000);
    expect(world.app.status?.sync?.status).toBe('OutOfSync');
  });

  it('15.4: is not mixed with a comparison that was made before it and is stored after it', async () => {
    world.application();
    const gates = { read: gate(), written: gate() };
    let armed = false;
    const operationState = await begunByAnother();
    const patchesHeld = (call: string): Promise<void> | undefined =>
      armed && call.startsWith('patch Application') ? gates.written.opened : undefined;
    const readsHeld = (call: string): Promise<void> | undefined =>
      call === 'get ConfigMap one' ? gates.read.opened : undefined;
    world.replica({ hub: { before: patchesHeld }, dest: { before: readsHeld } });
    await clock.advance(1500);
    // What the status says while the operation runs.
    const { sync, resources = [] } = world.app.status ?? {};
    const differing = resources.map((one) => (one.name === 'one' ? { ...one, status: 'OutOfSync' } : one));
    const running = { sync: { ...sync, status: 'OutOfSync' }, resources: differing };
    world.edit((object) => ({ status: { ...(object['status'] as object), ...running } }));
    await clock.settle();
    armed = true;
    gates.read.open();
    await clock.settle();
    // The end is on its way to the server; then this happens, and is compared and waits to be stored, too.
    expect(ends().at(-1)?.operationState?.startedAt).not.toBe(operationState.startedAt);
    world.dest.delete('ConfigMap', 'four');
    await clock.settle();
    gates.written.open();
    await clock.advance(1000);
    expect(ends().at(-1)?.operationState?.startedAt).toBe(operationState.startedAt);
    expect(world.app.status?.resources?.find(({ name }) => name === 'four')?.status).toBe('OutOfSync');
    expect(world.app.status?.sync?.status).toBe('OutOfSync');
  });
});

describe('a rest', () => {
  it('15.4: is no write, also after hours in which nothing changed: reconciledAt may be old', async () => {
    world.application(automated);
    world.replica();
    await clock.advance(5000);
    const before = world.writes().length;
    const at = world.app.status?.reconciledAt;
    await clock.advance(3_600_000);
    expect(world.writes()).toHaveLength(before);
    expect(world.app.status?.reconciledAt).toBe(at);
  });

  it("15.4: a replica takes no status that it has written itself for a former owner's", async () => {
    const reasons: unknown[] = [];
    const destination = {
      write: (line: string) => void reasons.push((JSON.parse(line) as { readonly reason?: unknown }).reason),
    };
    world.owner = 1;
    world.application(automated);
    world.replica({ index: 1 });
    world.replica({ index: 0, logger: createLogger({ level: 'info', format: 'json', destination }) });
    await clock.advance(5000);
    world.handOver(0);
    await clock.advance(5000);
    world.git.push('b'.repeat(40), [configMap('one', '2')]);
    world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await clock.advance(30_000);
    expect(world.app.status?.sync).toMatchObject({ status: 'Synced', revision: 'b'.repeat(40) });
    expect(reasons).toContain('this replica became the owner');
    expect(reasons).not.toContain('the owner before had written its status');
  });
});
