import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ApiResource } from '#model';
import type { KindWatchState } from './kind-watch.ts';
import { WatchTable } from './watch-table.ts';

class FakeWatch {
  readonly resource: ApiResource;
  readonly namespace: string | undefined;
  isSettled = false;
  current: KindWatchState = { state: 'listing' };

  constructor(kind: string, namespace?: string) {
    this.resource = {
      group: '',
      version: 'v1',
      kind,
      resource: kind.toLowerCase(),
      namespaced: true,
      verbs: [],
      subresources: [],
      shortNames: [],
    };
    this.namespace = namespace;
  }

  settled(): boolean {
    return this.isSettled;
  }

  state(): KindWatchState {
    return this.current;
  }
}

const pods = { group: '', kind: 'Pod' };

describe('the table of watches', () => {
  it('finds the watches of a kind that see a namespace', () => {
    const table = new WatchTable<FakeWatch>();
    const [a, b, all] = [new FakeWatch('Pod', 'a'), new FakeWatch('Pod', 'b'), new FakeWatch('Pod')];
    for (const watch of [a, b, new FakeWatch('Node', 'a')]) table.add(watch);
    expect(table.covering(pods, 'a')).toEqual([a]);
    expect(table.covering(pods, 'c')).toEqual([]);
    table.add(all);
    expect(table.covering(pods, 'a')).toEqual([all, a]);
    expect(table.covering(pods, '')).toEqual([all]);
    expect(table.ofKind(pods)).toEqual([a, b, all]);
    expect(table.covering({ group: 'apps', kind: 'Pod' }, 'a')).toEqual([]);
  });

  it('answers the same as a look at every watch, after any changes', () => {
    const step = fc.record({
      at: fc.nat(7),
      do: fc.constantFrom('add', 'delete', 'settle', 'sync', 'degrade'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const watches = Array.from({ length: 8 }, (_, i) => new FakeWatch(i % 2 === 0 ? 'Pod' : 'Node', `n${i >> 1}`));
        const table = new WatchTable<FakeWatch>();
        const running = new Set<FakeWatch>();
        for (const { at, do: what } of steps) {
          const watch = watches[at] ?? new FakeWatch('Pod');
          if (what === 'add' && !running.has(watch)) {
            running.add(watch);
            table.add(watch);
          } else if (what === 'delete') {
            running.delete(watch);
            table.delete(watch);
          } else {
            if (what === 'settle') watch.isSettled = true;
            if (what === 'sync') watch.current = { state: 'synced' };
            if (what === 'degrade') watch.current = { state: 'degraded', message: 'x', sinceMs: 0 };
            // A watch that was stopped may still report its state.
            table.noteState(watch);
          }
        }
        const all = [...running];
        expect(table.all()).toEqual(all);
        expect(table.areSettled()).toBe(all.every(({ isSettled }) => isSettled));
        expect(new Set(table.unsynced())).toEqual(new Set(all.filter(({ current }) => current.state !== 'synced')));
        expect(table.covering(pods, 'n1')).toEqual(
          all.filter(({ resource, namespace }) => resource.kind === 'Pod' && namespace === 'n1'),
        );
      }),
    );
  });

  it('reads every state again after a change of a setting', () => {
    const table = new WatchTable<FakeWatch>();
    const watch = new FakeWatch('Pod');
    table.add(watch);
    watch.current = { state: 'synced' };
    table.noteAllStates();
    expect(table.unsynced().size).toBe(0);
  });
});
