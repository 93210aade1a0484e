import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { resourceKey } from '#model';
import { configMap, managedNames, tracked, world } from '../testing/world.ts';
import type { LiveWorld } from '../testing/world.ts';

describe('the audit of a cache', () => {
  const auditing = { tuning: { auditMs: 600_000 } };
  const lists = (w: LiveWorld): number => w.server.count('list configmaps');

  it('lists once, and does not relist, if nothing differs', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    expect(lists(w)).toBe(1);
    await w.clock.advance(650_000);
    expect(lists(w)).toBe(2);
    expect(await w.metrics.expose()).toContain('driftless_cluster_cache_audits_total{server="https://a"} 3');
    expect(await w.metrics.expose()).not.toContain('driftless_cluster_cache_repairs_total{');
    await w.stop();
  });

  it('repairs nothing if the watch only lags behind the list', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    w.server.silent.add('configmaps');
    await w.clock.advance(569_000);
    const late = w.server.put(tracked('b'));
    for (let i = 0; i < 640 && lists(w) < 2; i += 1) await w.clock.advance(100);
    expect(lists(w)).toBe(2);
    w.server.silent.delete('configmaps');
    w.server.put({ ...late, data: { now: 'told' } });
    await w.clock.advance(15_000);
    expect(await managedNames(w)).toEqual(['a', 'b']);
    expect(lists(w)).toBe(2);
    await w.stop();
  });

  it('finds an object that differs under the same version within twelve rounds', async () => {
    const w = await world((server) => server.put(tracked('b')), auditing);
    const shown = async (): Promise<unknown> => {
      const { objects } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
      return objects.get(configMap('b'))?.['data'];
    };
    w.server.save();
    w.server.put(tracked('b', 'shop', { data: { x: 'before' } }));
    await w.clock.advance(1000);
    // The server is restored and reaches the same versions again, without any watch event.
    w.server.silent.add('configmaps');
    w.server.restore();
    w.server.put(tracked('b', 'shop', { data: { x: 'after' } }));
    expect(await shown()).toEqual({ x: 'before' });
    await w.clock.advance(13 * 630_000);
    expect(await shown()).toEqual({ x: 'after' });
    await w.stop();
  });

  it('reads whole objects once in twelve rounds', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    await w.clock.advance(24 * 630_000);
    expect(lists(w)).toBeGreaterThanOrEqual(24);
    expect(w.server.count('list configmaps whole')).toBe(3);
    await w.stop();
  });

  it('makes the cache equal to the server, whatever was lost or restored', async () => {
    const act = fc.constantFrom('put', 'put', 'remove', 'deaf', 'hear', 'back', 'cut', 'wait', 'save', 'restore');
    const step = fc.record({ act, name: fc.constantFrom('a', 'b', 'c') });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const w = await world((server) => server.put(tracked('a')), auditing);
        let n = 0;
        for (const { act, name } of steps) {
          const key = resourceKey('', 'ConfigMap', 'ns', name);
          if (act === 'put') w.server.put(tracked(name, 'shop', { data: { n: String((n += 1)) } }));
          else if (act === 'remove' && key in w.server.contents()) w.server.remove('ConfigMap', name);
          else if (act === 'deaf') w.server.silent.add('configmaps');
          else if (act === 'hear') w.server.silent.delete('configmaps');
          else if (act === 'back') w.server.setBack();
          else if (act === 'save') w.server.save();
          else if (act === 'restore') w.server.restore();
          else if (act === 'cut') w.server.cutWatches();
          await w.clock.advance(act === 'wait' ? 30_000 : 100);
        }
        await w.clock.advance(1_300_000);
        const keys = ['a', 'b', 'c'].map((name) => resourceKey('', 'ConfigMap', 'ns', name));
        const rows = await w.cluster().rows(keys, w.signal);
        const kept = [...rows.values()].map((row) => [row.key, `${row.uid} ${row.resourceVersion}`]);
        expect(Object.fromEntries(kept.sort())).toEqual(w.server.contents());
        await w.stop();
      }),
      { numRuns: 60 },
    );
  });

  it('goes on after an audit that failed', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    w.server.faults.set('list configmaps', 500);
    await w.clock.advance(650_000);
    w.server.faults.clear();
    w.server.silent.add('configmaps');
    w.server.put(tracked('b'));
    await w.clock.advance(650_000);
    expect(await managedNames(w)).toEqual(['a', 'b']);
    await w.stop();
  });

  it('counts repaired objects by kind', async () => {
    const w = await world((server) => server.put(tracked('a')), auditing);
    w.server.silent.add('configmaps');
    w.server.remove('ConfigMap', 'a');
    w.server.put(tracked('b'));
    await w.clock.advance(650_000);
    expect(await managedNames(w)).toEqual(['b']);
    expect(await w.metrics.expose()).toContain(
      'driftless_cluster_cache_repairs_total{server="https://a",group="",kind="ConfigMap"} 2',
    );
    await w.stop();
  });
});
