import { describe, expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import type { ApplicationStatus } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { publisherAfter } from '../testing/published.ts';
import { stage } from '../testing/stage.ts';

const sha = 'a'.repeat(40);

const at = stage(({ git }) =>
  git.push(sha, [configMap('one'), configMap('two'), configMap('three'), configMap('four')]),
);

/** Writes that report the end of a sync. */
function ends(): readonly ApplicationStatus[] {
  return at.world.statuses().filter(({ operationState }) => operationState?.phase === 'Succeeded');
}

/** Opened once. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe('the end of a sync', () => {
  /**
   * Synced by a process that ended with an operation running: passes of the next process do not
   * wait for the end of it.
   */
  async function begunByAnother(): Promise<{ readonly startedAt: string }> {
    const first = at.world.replica();
    at.world.edit(() => ({ operation: { sync: {} } }));
    await at.clock.advance(5000);
    expect(at.world.app.status?.sync?.status).toBe('Synced');
    const stopped = first.stop();
    await at.clock.advance(2000);
    await stopped;
    const operation = { sync: { syncOptions: ['RespectIgnoreDifferences=true'] } };
    const operationState = { operation, phase: 'Running', startedAt: '2026-01-01T00:00:07Z' };
    at.world.edit((object) => ({ operation, status: { ...(object['status'] as object), operationState } }));
    return operationState;
  }

  it('is neither followed nor overtaken by the status of a pass that started before it', async () => {
    at.world.application(automated);
    const held = gate();
    const before = (call: string): Promise<void> | undefined =>
      call.startsWith('patch Application') ? held.opened : undefined;
    at.world.replica({ hub: { before } });
    await at.clock.advance(500);
    for (let i = 0; i < 4; i += 1) {
      const live = at.world.dest.get('ConfigMap', 'one');
      if (live !== undefined)
        at.world.dest.put({ ...live, metadata: { ...live.metadata, labels: { touched: `${i}` } } });
      await at.clock.advance(1000);
    }
    held.open();
    await at.clock.advance(10_000);
    expect(at.world.writes()).toEqual(['replace', 'patch']);
    expect(at.world.app.status).toMatchObject({ sync: { status: 'Synced' }, health: { status: 'Healthy' } });
    expect(at.world.app.status?.health).toEqual(ends()[0]?.health);
  });

  it('does not wait for slow sources: it is written after a second, and the comparison later', async () => {
    at.world.application();
    const held = gate();
    let armed = false;
    const publisher = publisherAfter(() => (armed ? held.opened : undefined));
    at.world.replica({ publisher });
    await at.clock.advance(5000);
    armed = true;
    at.world.edit(() => ({ operation: { sync: {} } }));
    await at.clock.advance(900);
    expect(at.world.app.status?.operationState?.phase).toBe('Running');
    await at.clock.advance(200);
    expect(at.world.app.status).toMatchObject({
      sync: { status: 'OutOfSync' },
      operationState: { phase: 'Succeeded' },
    });
    held.open();
    await at.clock.advance(5000);
    expect(at.world.app.status?.sync?.status).toBe('Synced');
  });

  it('is compared again when an earlier pass has stored its status meanwhile', async () => {
    at.world.application(automated);
    let meddled = 0;
    const meddle = (call: string): void => {
      if (!call.startsWith('patch Application') || meddled > 0) return;
      meddled += 1;
      at.world.edit((object) => ({ status: { ...(object['status'] as object), summary: { images: ['x'] } } }));
    };
    at.world.replica({ hub: { before: meddle } });
    await at.clock.advance(5000);
    expect(meddled).toBe(1);
    expect(ends()).toHaveLength(1);
    expect(ends()[0]).toMatchObject({ sync: { status: 'Synced' }, summary: {} });
  });

  it('is written alone, followed by a comparison, when another client has written the Application', async () => {
    at.world.application(automated);
    const given: string[] = [];
    const meddle = (call: string): void => {
      if (!call.startsWith('patch Application') || ends().length > 0) return;
      given.push(`write ${given.length + 1}`);
      at.world.annotate({ 'example.com/by': given.at(-1) ?? '' });
    };
    at.world.replica({ hub: { before: meddle } });
    await at.clock.advance(5000);
    expect(at.world.app.status).toMatchObject({ sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' } });
    expect(ends()[0]?.sync?.status).toBe('OutOfSync');
    expect(at.world.app.status?.history).toHaveLength(1);
    expect(given).toEqual(['write 1', 'write 2', 'write 3']);
    expect(at.world.app.metadata.annotations).toEqual({ 'example.com/by': 'write 3' });
  });

  it('of a failed sync shows in the same write why the Application is not synced again', async () => {
    at.world.application({ syncPolicy: { ...automated.syncPolicy, retry: { limit: 0 } } });
    const before = (call: string): void => {
      if (call.startsWith('create')) throw new DriftlessError('X', 'cluster says no');
    };
    at.world.replica({ dest: { before } });
    await at.clock.advance(10_000);
    expect(at.world.writes()).toEqual(['replace', 'patch']);
    expect(at.world.app.status?.operationState?.phase).toBe('Failed');
    expect(at.world.app.status?.conditions?.map(({ type }) => type)).toEqual(['SyncError']);
  });

  it('loses no change that only an overtaken comparison found', async () => {
    at.world.application();
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
    at.world.replica({ publisher, dest: { before } });
    await at.clock.advance(1500);
    armed = true;
    gates.read.open();
    await at.clock.settle();
    expect(published).toBe(1);
    // The end has been compared and not yet written; then this happens and is compared too.
    at.world.dest.delete('ConfigMap', 'four');
    await at.clock.settle();
    expect(published).toBe(2);
    gates.ended.open();
    await at.clock.settle();
    expect(at.world.statuses().at(-1)).toMatchObject({
      sync: { status: 'Synced' },
      operationState: { phase: 'Succeeded' },
    });
    gates.later.open();
    await at.clock.advance(1000);
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
  });

  it('is not mixed with a comparison that started before it and is stored after it', async () => {
    at.world.application();
    const gates = { read: gate(), written: gate() };
    let armed = false;
    const operationState = await begunByAnother();
    const patchesHeld = (call: string): Promise<void> | undefined =>
      armed && call.startsWith('patch Application') ? gates.written.opened : undefined;
    const readsHeld = (call: string): Promise<void> | undefined =>
      call === 'get ConfigMap one' ? gates.read.opened : undefined;
    at.world.replica({ hub: { before: patchesHeld }, dest: { before: readsHeld } });
    await at.clock.advance(1500);
    // The status while the operation runs.
    const { sync, resources = [] } = at.world.app.status ?? {};
    const differing = resources.map((one) => (one.name === 'one' ? { ...one, status: 'OutOfSync' } : one));
    const running = { sync: { ...sync, status: 'OutOfSync' }, resources: differing };
    at.world.edit((object) => ({ status: { ...(object['status'] as object), ...running } }));
    await at.clock.settle();
    armed = true;
    gates.read.open();
    await at.clock.settle();
    // The final write is in flight; then this happens, is compared and waits to be stored.
    expect(ends().at(-1)?.operationState?.startedAt).not.toBe(operationState.startedAt);
    at.world.dest.delete('ConfigMap', 'four');
    await at.clock.settle();
    gates.written.open();
    await at.clock.advance(1000);
    expect(ends().at(-1)?.operationState?.startedAt).toBe(operationState.startedAt);
    expect(at.world.app.status?.resources?.find(({ name }) => name === 'four')?.status).toBe('OutOfSync');
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
  });
});
