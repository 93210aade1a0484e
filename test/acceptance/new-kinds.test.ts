import { afterEach, describe, expect, it } from '@jest/globals';
import { jsonOf } from '#model';
import type { Application } from '#model';
import { widgetCrd } from '#support';
import { automated, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

/** Generous for a busy machine. */
const limitMs = 200_000;
const widget = `apiVersion: example.com/v1
kind: Widget
metadata: { name: one }
spec: { size: 1 }
`;
const crd = JSON.stringify(jsonOf(widgetCrd()));
const noRetry = { syncPolicy: { ...automated.syncPolicy, retry: { limit: 0 } } };

let world: World;
afterEach(() => world.close());

async function start(crdDelayMs: number): Promise<GitFixture> {
  world = await World.start({ crdDelayMs });
  await world.replica();
  return world.repository('sample');
}

/** Counts the operations that begin; the returned function reads the counter. */
function countOperations(): () => number {
  const begun = new Set<string>();
  world.hub.store.subscribe(({ object }) => {
    const { operationState } = (object as unknown as Application).status ?? {};
    if (object.kind === 'Application' && operationState !== undefined)
      begun.add(`${object.metadata.name ?? ''} ${operationState.startedAt} ${operationState.retryCount ?? 0}`);
  });
  return () => begun.size;
}

function succeeded(app: Application): void {
  expect(app.status?.conditions ?? []).toEqual([]);
  synced(app);
  expect(app.status?.operationState?.phase).toBe('Succeeded');
}

/** Another comparison, which would start the next operation. */
async function refreshed(): Promise<void> {
  world.refresh('demo');
  await world.until('demo', (app) => {
    expect(app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
    succeeded(app);
  });
}

describe('a CRD and its object', () => {
  it.each([0, 1500, 10_000])(
    'need one operation without retries, if the CRD is served after %i ms',
    async (delayMs) => {
      const repo = await start(delayMs);
      repo.commit({ 'app/crd.json': crd, 'app/one.yaml': widget });
      const operations = countOperations();
      world.application('demo', { ...repo.source(), ...noRetry });
      await world.until('demo', succeeded);
      await refreshed();
      expect(operations()).toBe(1);
    },
    limitMs,
  );

  it.each([0, 3000])(
    'need one operation each in two Applications, if the CRD is served after %i ms',
    async (delayMs) => {
      const repo = await start(delayMs);
      repo.commit({ 'app/crd.json': crd, 'objects/one.yaml': widget });
      const operations = countOperations();
      world.application('definitions', { ...repo.source(), ...noRetry });
      await world.until('definitions', (app) => expect(app.status?.operationState?.phase).toBe('Succeeded'));
      world.application('demo', { ...repo.source({ path: 'objects' }), ...noRetry });
      await world.until('demo', succeeded);
      expect(operations()).toBe(2);
    },
    limitMs,
  );

  it(
    'need one operation for a CRD that another client has just created',
    async () => {
      const repo = await start(2000);
      repo.commit({ 'app/one.yaml': widget });
      world.application('demo', repo.source());
      await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
      world.cluster.store.create(widgetCrd());
      world.sync('demo');
      await world.until('demo', succeeded);
      expect(world.app('demo')?.status?.operationState?.retryCount).toBeUndefined();
    },
    limitMs,
  );
});
