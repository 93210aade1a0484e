import { afterEach, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { keyOf } from '#model';
import { FakeClock } from '#support';
import { configMap, FakeWorld } from '../testing/fake-world.ts';

/** Longer than the resync period of 120 s. */
const resyncMs = 125_000;
const names = ['a', 'b', 'c'];

/** A change between two resyncs, without an event that would cause a refresh. */
type Change =
  | { readonly do: 'push'; readonly values: readonly (number | undefined)[] }
  | { readonly do: 'edit'; readonly name: string; readonly value: number }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'settings' | 'doubt' | 'nothing' };

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    do: fc.constant('push' as const),
    values: fc.array(fc.option(fc.nat(1), { nil: undefined }), { minLength: 3, maxLength: 3 }),
  }),
  fc.record({ do: fc.constant('edit' as const), name: fc.constantFrom(...names), value: fc.nat(1) }),
  fc.record({ do: fc.constant('remove' as const), name: fc.constantFrom(...names) }),
  fc.record({ do: fc.constantFrom('settings' as const, 'doubt' as const, 'nothing' as const) }),
);

let clock: FakeClock;
let world: FakeWorld | undefined;
afterEach(() => world?.close(clock));

/** Commits and versions so far. */
let count = 0;

function apply(at: FakeWorld, what: Change): void {
  count += 1;
  if (what.do === 'push') {
    const objects = names.flatMap((name, i) => {
      const value = what.values[i];
      return value === undefined ? [] : [configMap(name, String(value))];
    });
    at.git.push(count.toString(16).padStart(40, '0'), objects);
  } else if (what.do === 'edit') {
    const object = configMap(what.name, String(what.value));
    const known = at.dest.get('ConfigMap', what.name);
    const metadata = { ...object.metadata, ...known?.metadata, resourceVersion: `${1000 + count}` };
    if (known !== undefined) at.dest.objects.set(keyOf(object), { ...known, ...object, metadata });
  } else if (what.do === 'remove') at.dest.objects.delete(keyOf(configMap(what.name)));
  else if (what.do === 'settings') at.settings = { ...at.settings, version: `version ${count}` };
  at.unconfirmed = what.do === 'doubt';
}

/** The decisions of a comparison in the status, without its times. */
function decided(at: FakeWorld): unknown {
  const { sync, resources, health, conditions } = at.app.status ?? {};
  const shown = conditions?.map(({ type, message }) => ({ type, message }));
  return structuredClone({ sync, resources, health: health?.status, conditions: shown });
}

it('a status that resyncs have proven equals that of a hard refresh, over random histories', async () => {
  let proven = 0;
  const property = fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 5 }), async (history) => {
    await world?.close(clock);
    clock = new FakeClock();
    const at = new FakeWorld(clock);
    world = at;
    at.git.push(
      'f'.repeat(40),
      names.map((name) => configMap(name, '0')),
    );
    at.application({ syncPolicy: { automated: {} } });
    at.replica({});
    await clock.advance(2000);
    // From now on nothing is synced, so that differences stay.
    at.edit(({ spec }) => ({ spec: { ...(spec as object), syncPolicy: {} } }));
    await clock.advance(resyncMs);
    for (const what of history) {
      apply(at, what);
      const reads = at.liveReads;
      await clock.advance(resyncMs);
      if (at.liveReads === reads) proven += 1;
    }
    const before = decided(at);
    at.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
    await clock.advance(5000);
    expect(at.app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
    expect(before).toEqual(decided(at));
  });
  await fc.assert(property, { numRuns: Math.max(20, (fc.readConfigureGlobal().numRuns ?? 100) / 4) });
  expect(proven).toBeGreaterThan(5);
});
