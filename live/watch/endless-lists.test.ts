import { describe, expect, it } from '@jest/globals';
import { managedNames, stateOf, tracked, world } from '../testing/world.ts';

describe('a list without end', () => {
  it('degrades its own kind and takes no memory, however often it is retried', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.endless.add('pods');
    });
    expect(w.cluster().info().state).toBe('synced');
    expect(await managedNames(w)).toEqual(['a']);
    await w.clock.advance(600_000);
    expect(w.server.count('list pods')).toBeGreaterThan(10);
    expect(stateOf(w, 'Pod')).toMatchObject({
      state: 'degraded',
      message: expect.stringContaining('the list has no end'),
      objects: 0,
    });
    // It recovers as soon as lists end.
    w.server.endless.clear();
    w.server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
    await w.clock.advance(120_000);
    expect(stateOf(w, 'Pod')).toMatchObject({ state: 'synced', objects: 1 });
    await w.stop();
  });

  it('keeps the rows of an earlier list', async () => {
    const w = await world((server) => server.put(tracked('a')), { tuning: { relistMs: 600_000 } });
    w.server.endless.add('configmaps');
    await w.clock.advance(700_000);
    expect(stateOf(w, 'ConfigMap')).toMatchObject({
      state: 'degraded',
      objects: 1,
    });
    expect(await managedNames(w)).toEqual(['a']);
    await w.stop();
  });

  it('aborts the audit of a cache', async () => {
    const w = await world((server) => server.put(tracked('a')), { tuning: { auditMs: 600_000 } });
    w.server.endless.add('configmaps');
    await w.clock.advance(700_000);
    expect(w.server.count('list configmaps')).toBe(3);
    expect(stateOf(w, 'ConfigMap')).toMatchObject({ state: 'synced' });
    await w.stop();
  });
});
