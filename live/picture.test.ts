import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Limiter, seededRandom, Shutdown } from '#base';
import type { KubeClient, ReflectorSink } from '#kube';
import { apiResource } from '#kube';
import { defaultSettings, keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { ChangeBatch } from './changes.ts';
import { KindWatch } from './kind-watch.ts';
import { NodeStore } from './node-store.ts';
import { ingestWith } from './node.ts';
import { Picture } from './picture.ts';

interface Step {
  readonly act: 'put' | 'delete';
  readonly name: string;
}
interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

/** What a server would say, and hold, after some writes. */
function history(steps: readonly Step[]): {
  readonly events: readonly Event[];
  readonly state: ReadonlyMap<ResourceKey, KubeObject>;
} {
  const events: Event[] = [];
  const state = new Map<ResourceKey, KubeObject>();
  steps.forEach(({ act, name }, i) => {
    const resourceVersion = String(9 + i);
    const bare = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'ns' } };
    const old = state.get(keyOf(bare));
    if (act === 'delete' && old === undefined) return;
    const uid = old?.metadata.uid ?? `uid-${i}`;
    const object = { ...bare, metadata: { ...bare.metadata, uid, resourceVersion } };
    if (act === 'delete') state.delete(keyOf(bare));
    else state.set(keyOf(bare), object);
    events.push({ type: act === 'delete' ? 'DELETED' : old === undefined ? 'ADDED' : 'MODIFIED', object });
  });
  return { events, state };
}

async function withSink(body: (sink: ReflectorSink, picture: Picture) => Promise<void> | void): Promise<void> {
  const clock = new FakeClock();
  const store = new NodeStore();
  const changes = new ChangeBatch({ server: 'https://a', store, clock, batchMs: 50, emit: () => undefined });
  const picture = new Picture({ store, changes, ingest: ingestWith(defaultSettings, () => true) });
  let sink: ReflectorSink | undefined;
  const watch = new KindWatch(apiResource('', 'v1', 'ConfigMap', 'configmaps', true), undefined, {
    ...{ client: {} as KubeClient, picture, clock, random: seededRandom(1), logger: silentLogger },
    ...{ lists: new Limiter(1), pageSize: 2, relistMs: 0, onState: () => undefined, onEvent: () => undefined },
    reflect: (options) => {
      sink = options.sink;
      const run = (signal: AbortSignal): Promise<void> =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      return { name: 'scripted', run };
    },
  });
  const controller = new AbortController();
  const running = watch.run(controller.signal);
  if (sink === undefined) throw new Error('not started');
  await body(sink, picture);
  controller.abort(new Shutdown());
  await running;
}

function versions(picture: Picture): Record<string, string> {
  const found = [...picture.store.ofKind('', 'ConfigMap')].map((node) => [
    node.name,
    `${node.uid} ${node.resourceVersion}`,
  ]);
  return Object.fromEntries(found.sort()) as Record<string, string>;
}

function expected(state: ReadonlyMap<ResourceKey, KubeObject>): Record<string, string> {
  const found = [...state.values()].map(({ metadata: m }) => [m.name, `${m.uid ?? ''} ${m.resourceVersion ?? ''}`]);
  return Object.fromEntries(found.sort()) as Record<string, string>;
}

function listed(sink: ReflectorSink, state: ReadonlyMap<ResourceKey, KubeObject>, version: number): void {
  const list = sink.startList();
  const items = [...state.values()];
  for (let i = 0; i < items.length; i += 2) list.add(items.slice(i, i + 2));
  list.commit(String(version));
}

const step = fc.record({
  act: fc.constantFrom('put' as const, 'put' as const, 'delete' as const),
  name: fc.constantFrom('a', 'b', 'c'),
});
const steps = fc.array(step, { maxLength: 30 });

describe('a kind, whatever way the news come', () => {
  it('is what the server has after a list, however events were lost, repeated and reordered before (T-CACHE-4)', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.infiniteStream(fc.nat()), fc.nat(3), async (all, picks, abandoned) => {
        const { events, state } = history(all);
        await withSink((sink, picture) => {
          listed(sink, new Map(), 1);
          for (let i = 0; i < events.length && events.length > 0; i += 1) {
            const event = events[picks.next().value % events.length];
            if (event !== undefined) sink.event(event.type, event.object);
          }
          for (let i = 0; i < abandoned; i += 1) {
            const list = sink.startList();
            list.add([...state.values()].slice(0, i));
            list.abandon();
          }
          listed(sink, state, 9 + all.length);
          expect(versions(picture)).toEqual(expected(state));
        });
      }),
    );
  });

  it('is what the server has after all events in order, with answers to our own writes arriving at any time', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.infiniteStream(fc.nat()), async (all, picks) => {
        const { events, state } = history(all);
        await withSink((sink, picture) => {
          listed(sink, new Map(), 1);
          events.forEach((event, i) => {
            // An answer may come before its event, or long after: also after the object is gone.
            const written = events[picks.next().value % Math.min(events.length, i + 2)];
            if (written !== undefined && written.type !== 'DELETED') picture.observe(written.object);
            sink.event(event.type, event.object);
          });
          expect(versions(picture)).toEqual(expected(state));
        });
      }),
    );
  });

  it('does not lose an object because a write of ours was answered while it was being listed', async () => {
    const { state } = history([{ act: 'put', name: 'a' }]);
    const [object] = [...state.values()];
    for (const version of ['9', '8'])
      await withSink((sink, picture) => {
        listed(sink, state, 9);
        const list = sink.startList();
        list.add([...state.values()]);
        picture.observe({ ...object!, metadata: { ...object!.metadata, resourceVersion: version } });
        list.commit('20');
        expect(versions(picture)).toEqual(expected(state));
      });
  });

  it('does not bring back what a list has shown to be gone', async () => {
    const { state } = history([{ act: 'put', name: 'a' }]);
    await withSink((sink, picture) => {
      listed(sink, state, 9);
      listed(sink, new Map(), 20);
      for (const object of state.values()) picture.observe(object);
      expect(versions(picture)).toEqual({});
    });
  });
});
