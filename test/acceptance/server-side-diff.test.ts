import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { config, deployment, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;
/** Write requests with dry run, and real ones. */
let dryRuns: string[];
let writes: string[];

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
  [dryRuns, writes] = [[], []];
  world.cluster.onRequest(({ verb, resource, name, dryRun }) => {
    if (!['get', 'list', 'watch'].includes(verb)) (dryRun ? dryRuns : writes).push(`${verb} ${resource} ${name}`);
  });
});
afterEach(() => world.close());

const applied = { syncPolicy: { automated: {}, syncOptions: ['ServerSideApply=true'] } };
const compared = (options: string): object => ({ annotations: { 'argocd.argoproj.io/compare-options': options } });
const refreshed = async (name: string, check: (app: Application) => void): Promise<void> => {
  world.refresh(name);
  await world.until(name, (app) => {
    expect(app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
    check(app);
  });
};

describe('server-side diff', () => {
  it('reports what the API server would change, with one dry run for each change and no write', async () => {
    repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...applied }, compared('ServerSideDiff=true'));
    await world.until('demo', synced, 60_000);
    await refreshed('demo', synced);

    expect(dryRuns).toEqual(expect.arrayContaining(['patch configmaps a', 'patch deployments web']));
    [dryRuns, writes] = [[], []];
    for (let i = 0; i < 3; i += 1) await refreshed('demo', synced);
    expect(dryRuns).toEqual([]);

    const version = world.live('apps', 'Deployment', 'web')?.metadata.resourceVersion;
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    expect(dryRuns).toEqual(['patch configmaps a']);
    expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: 'tampered' } });
    expect(world.live('apps', 'Deployment', 'web')?.metadata.resourceVersion).toBe(version);
    await refreshed('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    expect([dryRuns, writes]).toEqual([['patch configmaps a'], []]);
  });

  it('is enabled for all by the flag, except for an Application that disables it', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica({ serverSideDiff: true });
    world.application('no', { ...repo.source() }, compared('ServerSideDiff=false'));
    await world.until('no', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.cluster.store.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'apps' },
      data: { key: '2' },
    });
    await refreshed('no', (app) => expect(app.status?.resources).toMatchObject([{ status: 'OutOfSync' }]));
    expect(dryRuns).toEqual([]);
    world.application('yes', { ...repo.source() });
    await world.until('yes', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    expect([dryRuns, writes]).toEqual([['patch configmaps a'], []]);
  });

  it('makes a resource that the API server refuses Unknown, with a condition; the others are compared', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...applied }, compared('ServerSideDiff=true'));
    await world.until('demo', synced, 60_000);
    const rule = {
      verb: 'patch',
      resource: 'configmaps',
      name: 'a',
      fault: { kind: 'status', code: 403, message: 'denied by a webhook' },
    } as const;
    const undo = world.cluster.addFault(rule);
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    const app = await world.until('demo', (now) => expect(now.status?.sync?.status).toBe('Unknown'));
    const of = (name: string): unknown => app.status?.resources?.find((one) => one.name === name)?.status;
    expect([of('a'), of('b')]).toEqual(['Unknown', 'Synced']);
    const errors = app.status?.conditions?.filter(({ type }) => type === 'ComparisonError') ?? [];
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^Failed to compare desired state to live state: .* for resource ConfigMap\/a: .*denied by a webhook/,
      ),
    ]);
    undo();
    await refreshed('demo', (now) => {
      expect(now.status?.sync?.status).toBe('OutOfSync');
      expect(now.status?.conditions ?? []).toEqual([]);
    });
  });
});
