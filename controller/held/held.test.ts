import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defined } from '#base';
import { bareRepository } from '#model';
import type { KubeObject, Repository } from '#model';
import { FakeClock } from '#support';
import { automated, configMap, FakeWorld } from '../testing/fake-world.ts';

// Attacks and faults that had no effect when tried; each has a test to keep it that way.

let clock: FakeClock;
let world: FakeWorld;
const first = 'a'.repeat(40);

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.git.push(first, [configMap('one')]);
});
afterEach(async () => {
  await world.close(clock);
  expect(clock.pending).toBe(0);
});

const prunes = { syncPolicy: { automated: { prune: true, selfHeal: true } } };

describe('an API group that goes stale while the controller runs', () => {
  it('loses no objects, although Git removed them; they are pruned when the group is back', async () => {
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'two' }, spec: {} };
    world.git.push(first, [configMap('one'), job]);
    world.application(prunes);
    world.replica();
    await clock.advance(2000);
    const created = world.dest.get('Job', 'two');
    expect(created).toMatchObject({ ...job, metadata: { name: 'two', uid: expect.any(String) } });
    world.dest.failedGroups.set('batch', 'batch/v1 is stale: its API server does not answer');
    world.git.push('b'.repeat(40), [configMap('one')]);
    await clock.advance(1_200_000);
    expect(world.dest.get('Job', 'two')).toEqual(created);
    world.dest.failedGroups.clear();
    await clock.advance(1_200_000);
    expect(world.dest.get('Job', 'two')).toBeUndefined();
  });
});

describe('a status forged by another client', () => {
  const victim: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'victim', namespace: 'kube-system' },
    data: { key: 'theirs' },
  };
  const claimed = { group: '', version: 'v1', kind: 'ConfigMap', namespace: 'kube-system', name: 'victim' };
  const forgedState = (phase: string): object => ({
    phase,
    message: 'forged',
    startedAt: '2026-01-01T00:00:00Z',
    operation: { sync: { revision: first, prune: true } },
    syncResult: {
      revision: first,
      source: { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' },
      resources: [
        { ...claimed, syncPhase: 'Sync', hookType: 'Sync', hookPhase: 'Running', status: 'Pruned', message: 'forged' },
      ],
    },
  });
  const forgedStatus = (phase: string): object => ({
    resources: [{ ...claimed, status: 'OutOfSync', requiresPruning: true, requiresDeletionConfirmation: false }],
    sync: { status: 'OutOfSync', revision: first, comparedTo: {} },
    operationState: forgedState(phase),
  });

  it.each(['Running', 'Terminating', 'Failed', 'Succeeded'])(
    'cannot claim an object with a %s operation: it is neither pruned, deleted, written nor shown',
    async (phase) => {
      world.dest.put(victim);
      const before = world.dest.get('ConfigMap', 'victim');
      world.application(prunes, { metadata: { name: 'demo', finalizers: ['resources-finalizer.argocd.argoproj.io'] } });
      world.edit(() => ({ status: forgedStatus(phase) }));
      world.replica();
      await clock.advance(300_000);
      world.edit((object) => ({ status: { ...(object['status'] as object), ...forgedStatus(phase) } }));
      await clock.advance(300_000);
      expect(world.dest.get('ConfigMap', 'victim')).toEqual(before);
      expect(world.app.status?.resources?.map(({ name }) => name)).toEqual(['one']);
      world.edit(({ metadata }) => ({ metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }));
      await clock.advance(300_000);
      expect(world.hub.get('Application', 'demo')).toBeUndefined();
      expect(world.dest.get('ConfigMap', 'victim')).toEqual(before);
    },
  );
});

describe('credentials of dependencies', () => {
  it.each([
    [['https://git/*', 'https://charts/ours'], ['https://charts/ours']],
    [['*'], ['https://charts/ours', 'https://charts/theirs']],
    [['*', '!https://charts/theirs'], ['https://charts/ours']],
  ])('with sourceRepos %j, reach a source only for %j', async (sourceRepos, given) => {
    world.project('tight', { sourceRepos });
    world.application({ ...automated, project: 'tight' });
    world.replica();
    await clock.advance(2000);
    expect(world.git.requests.length).toBeGreaterThan(0);
    for (const { repositories } of world.git.requests) {
      expect(repositories.repositories.map(({ url }) => url)).toEqual(given);
      expect(repositories.credentials).toEqual([]);
    }
  });

  it('never come from the repository Secret of another project', async () => {
    const chart = (name: string, project?: string): Repository => ({
      ...bareRepository('https://charts/ours'),
      type: 'helm',
      name,
      ...defined({ project }),
    });
    world.charts = [chart('of all'), chart('theirs', 'other'), chart('own', 'open')];
    world.project('open', { sourceRepos: ['*'] });
    world.application({ ...automated, project: 'open' });
    world.replica();
    await clock.advance(2000);
    expect(world.git.requests.length).toBeGreaterThan(0);
    for (const { repositories } of world.git.requests)
      expect(repositories.repositories.map(({ name }) => name)).toEqual(['own', 'of all']);
  });
});
