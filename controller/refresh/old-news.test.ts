import { describe, expect, it } from '@jest/globals';
import { createMemoryPublisher } from '#publish';
import { automated, configMap } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';

const sha = 'a'.repeat(40);
const names = ['one', 'two'] as const;

const at = stage(({ git }) =>
  git.push(
    sha,
    names.map((name) => configMap(name)),
  ),
);

/** Starts a replica, and waits until it has synced the Application. */
async function synced(options: Parameters<typeof at.start>[0] = {}): Promise<void> {
  at.world.application(automated);
  await at.start(options);
  await at.clock.advance(5000);
  expect(at.world.app.status?.sync?.status).toBe('Synced');
  at.world.liveReads = 0;
  at.world.evidenceReads = 0;
}

/** Repeats the event of an object that has not changed, as a watch does after our own write. */
function repeatEvent(name: string): void {
  at.world.dest.announce('ConfigMap', name);
}

const drifted = (name: string) => ({ ...at.world.dest.get('ConfigMap', name)!, data: { key: 'by hand' } });

describe('an event of an object', () => {
  it('that a sync has applied costs no comparison after the one that ends the sync', async () => {
    at.world.application(automated);
    await at.start();
    // Before the sync, in it, and at its end.
    expect(at.world.liveReads).toBe(3);
    expect(at.world.app.status?.sync?.status).toBe('Synced');
  });

  it('costs none while the operation that has stored its end still waits for its processor', async () => {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const { signal } = new AbortController();
    const before = (call: string): Promise<void> | undefined => {
      // The operation of the other Application takes the processor that the first one has lent.
      if (call === 'get Application other') return opened;
      if (call !== 'patch Application demo') return undefined;
      at.world.edit(() => ({ operation: { sync: {} } }), 'other');
      return at.clock.sleep(100, signal);
    };
    at.world.application({ syncPolicy: {} }, { metadata: { name: 'other' } });
    at.world.application(automated);
    await at.start({ config: { operationProcessors: 1 }, hub: { before } });
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
    at.world.liveReads = 0;
    repeatEvent('one');
    await at.clock.advance(1000);
    expect(at.world.liveReads).toBe(0);
    open();
  });

  it('that the last comparison has seen costs none', async () => {
    await synced();
    for (const name of names) repeatEvent(name);
    await at.clock.advance(5000);
    expect(at.world.liveReads).toBe(0);
  });

  it('that has changed since is compared and repaired, each time', async () => {
    await synced();
    for (let round = 0; round < 3; round += 1) {
      at.world.dest.put(drifted('one'));
      await at.clock.advance(60_000);
      expect(at.world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '1' } });
    }
  });

  it('that has changed during the sync is repaired after it', async () => {
    at.world.application(automated);
    let isFirst = true;
    const before = (call: string): void => {
      // The sync has applied both objects; its end is about to be stored with the comparison.
      if (!call.startsWith('patch Application') || !isFirst) return;
      isFirst = false;
      at.world.dest.put(drifted('two'));
    };
    await at.start({ hub: { before } });
    await at.clock.advance(60_000);
    expect(isFirst).toBe(false);
    expect(at.world.dest.get('ConfigMap', 'two')).toMatchObject({ data: { key: '1' } });
    expect(at.world.app.status?.sync?.status).toBe('Synced');
  });

  it('that has changed in a big Application costs one look at all objects, not two', async () => {
    const many = Array.from({ length: 120 }, (_, i) => configMap(`map-${i}`));
    at.world.git.push(sha, many);
    await synced();
    repeatEvent('map-7');
    await at.clock.advance(1000);
    expect([at.world.liveReads, at.world.evidenceReads]).toEqual([0, 1]);
    at.world.evidenceReads = 0;
    // A change of the status only: the comparison finds no difference.
    at.world.dest.put({ ...at.world.dest.get('ConfigMap', 'map-7')!, status: { at: 'now' } });
    await at.clock.advance(1000);
    expect([at.world.liveReads, at.world.evidenceReads]).toEqual([1, 1]);
  });

  const doubts: readonly (readonly [string, () => void])[] = [
    ['the cache is in doubt', () => (at.world.unconfirmed = true)],
    ['the object was deleted', () => at.world.dest.delete('ConfigMap', 'two')],
    ['another cluster is at the URL', () => (at.world.replaced = true)],
  ];
  it.each(doubts)('is compared if %s', async (_when, change) => {
    await synced();
    change();
    repeatEvent('one');
    await at.clock.advance(1000);
    expect(at.world.liveReads).toBeGreaterThan(0);
  });

  const window = { kind: 'deny', schedule: '0 * * * *', duration: '1h', applications: ['*'] };
  it.each([
    ['watches orphans', { orphanedResources: { warn: false } }],
    ['forbids syncs now', { syncWindows: [window] }],
  ])('is compared while the project %s', async (_what, rules) => {
    await synced();
    at.world.project('default', rules);
    await at.clock.advance(1000);
    at.world.liveReads = 0;
    repeatEvent('one');
    await at.clock.advance(1000);
    expect(at.world.liveReads).toBe(1);
  });

  it('is compared if what was published is lost', async () => {
    const publisher = createMemoryPublisher();
    await synced({ publisher });
    const { signal } = new AbortController();
    await publisher.remove('demo', { signal, fence: (send) => send(signal) });
    repeatEvent('one');
    await at.clock.advance(1000);
    expect(publisher.tree('demo')?.nodes).toHaveLength(2);
  });
});
