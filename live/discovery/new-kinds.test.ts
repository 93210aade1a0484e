import { beforeEach, describe, expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { apiResource } from '#kube';
import type { ApiDiscovery } from '#kube';
import type { KubeObject } from '#model';
import { FakeClock, widgetCrd } from '#support';
import { NewKinds } from './new-kinds.ts';

const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' } };
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } };
const kinds = [apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced')];
const widgets = apiResource('example.com/v1', 'Widget', 'widgets', 'namespaced');
const { signal } = newAbortController();

let clock: FakeClock;
/** When the server begins to list Widgets; undefined: never. */
let servedAt: number | undefined;
let fails: boolean;
let failedGroups: ReadonlyMap<string, string>;
let discoveries: number;
let found: ApiDiscovery;
let newKinds: NewKinds;

function discover(): void {
  const isServed = servedAt !== undefined && clock.monotonic() >= servedAt;
  const served = isServed ? [...kinds, widgets] : kinds;
  found = { preferred: served, served, apiVersions: [], failedGroups };
  newKinds.discovered(clock.monotonic(), found);
}

beforeEach(() => {
  clock = new FakeClock();
  [servedAt, fails, failedGroups, discoveries] = [undefined, false, new Map(), 0];
  newKinds = new NewKinds({
    clock,
    discovery: () => found,
    discoverNow: () => {
      discoveries += 1;
      if (!fails) discover();
      return Promise.resolve();
    },
  });
  discover();
});

/** How long it takes until the kinds of the objects are known, or given up. */
async function waitMs(objects: readonly KubeObject[], isFresh = false): Promise<number> {
  const startedAt = clock.monotonic();
  let endedAt: number | undefined;
  const known = newKinds.known(objects, isFresh, signal).then(() => (endedAt = clock.monotonic()));
  await clock.advance(60_000);
  await known;
  return (endedAt ?? Number.NaN) - startedAt;
}

describe('a comparison', () => {
  it.each<[string, readonly KubeObject[]]>([
    ['known kinds', [configMap]],
    ['a kind that nothing defines', [widget]],
  ])('does not wait for %s', async (_what, objects) => {
    expect([await waitMs(objects), discoveries]).toEqual([0, 0]);
  });

  it.each([0, 400, 3000, 10_000])('waits for a kind that is served %i ms after its definition', async (ms) => {
    await clock.advance(1000);
    servedAt = clock.monotonic() + ms;
    newKinds.noteDefinition(widgetCrd());
    const waited = await waitMs([configMap, widget]);
    expect(waited).toBeGreaterThanOrEqual(ms);
    expect(waited).toBeLessThan(ms + 1000);
    expect(found.served).toContain(widgets);
    expect(await waitMs([configMap, widget])).toBe(0);
  });

  it('gives up a kind that is not served in time, once for all comparisons', async () => {
    newKinds.noteDefinition(widgetCrd());
    expect(await waitMs([widget])).toBeLessThan(20_000);
    newKinds.noteDefinition(widgetCrd());
    const before = discoveries;
    expect([await waitMs([widget]), discoveries - before]).toEqual([0, 1]);
  });

  it('discovers again after an object of an unknown kind was written', async () => {
    await clock.advance(1000);
    servedAt = 0;
    newKinds.noteWritten(widget);
    expect([await waitMs([widget]), discoveries]).toEqual([0, 1]);
  });

  it('does not wait while discovery fails, or cannot read the group', async () => {
    await clock.advance(1000);
    newKinds.noteDefinition(widgetCrd());
    fails = true;
    expect([await waitMs([widget]), discoveries]).toEqual([0, 1]);
    failedGroups = new Map([['example.com', 'it does not answer']]);
    discover();
    expect([await waitMs([widget]), discoveries]).toEqual([0, 1]);
  });
});

describe('a sync', () => {
  it('discovers once before it calls a kind unknown', async () => {
    await clock.advance(1000);
    expect([await waitMs([widget], true), discoveries]).toEqual([0, 1]);
    servedAt = 0;
    expect([await waitMs([widget], true), discoveries]).toEqual([0, 2]);
    expect([await waitMs([widget], true), discoveries]).toEqual([0, 2]);
  });
});
