import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

describe('bad input', () => {
  const condition = (type: string, message: string) => (app: Application) => {
    expect(app.status?.conditions).toEqual(
      expect.arrayContaining([expect.objectContaining({ type, message: expect.stringContaining(message) as unknown })]),
    );
    expect(app.status?.sync?.status).toBe('Unknown');
  };

  it.each<[string, () => object, string, string]>([
    [
      'no source',
      () => ({}),
      'InvalidSpecError',
      'spec.source.repoURL and either spec.source.path or spec.source.chart are required',
    ],
    [
      'unknown project',
      () => ({ ...repo.source(), project: 'nobody' }),
      'InvalidSpecError',
      'Application referencing project nobody which does not exist',
    ],
    [
      'unknown cluster',
      () => ({ ...repo.source(), destination: { server: 'https://nowhere.example', namespace: 'apps' } }),
      'InvalidSpecError',
      'error getting cluster by server "https://nowhere.example"',
    ],
    [
      'no such repository',
      () => repo.source({ repoURL: `file://${world.root}/nothing` }),
      'ComparisonError',
      'Failed to load target state: failed to generate manifest for source 1 of 1: ',
    ],
    ['no such revision', () => repo.source({ targetRevision: 'nope' }), 'ComparisonError', 'nope'],
    ['no such path', () => repo.source({ path: 'elsewhere' }), 'ComparisonError', 'elsewhere: app path does not exist'],
    ['broken YAML', () => repo.source({ path: 'broken' }), 'ComparisonError', 'Failed to load target state: '],
  ])('%s: the condition says so, and the neighbour is not disturbed', async (_name, spec, type, message) => {
    repo.commit({ 'app/a.yaml': config('a'), 'broken/x.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: [1\nb: }' });
    await world.replica();
    world.application('bad', spec());
    world.application('good', { ...repo.source(), ...automated });
    await world.until('bad', condition(type, message));
    await world.until('good', synced);
  });

  it('an API server that does not answer leads to a condition, and other Applications are not delayed', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    world.addCluster('away', 'http://127.0.0.1:9');
    await world.replica();
    world.application('bad', { ...repo.source(), destination: { name: 'away', namespace: 'apps' } });
    world.application('good', { ...repo.source(), ...automated });
    await world.until('good', synced);
    const app = await world.until('bad', condition('ComparisonError', 'Failed to load live state: '), 15_000);
    expect(app.status?.health?.status).toBe('Unknown');
  });

  it.each<[string, string, string]>([
    [
      'a kind that the cluster does not know',
      'apiVersion: example.com/v1\nkind: Gadget\nmetadata:\n  name: g\n',
      'The Kubernetes API could not find example.com/Gadget for requested resource apps/g.',
    ],
    [
      'an object without a name',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n',
      'one or more objects failed to apply (dry run)',
    ],
  ])('%s: the result of the sync says so', async (_name, manifest, message) => {
    repo.commit({ 'app/x.yaml': manifest, 'app/a.yaml': config('a') });
    await world.replica();
    world.application('bad', { ...repo.source(), ...automated, syncPolicy: { automated: {}, retry: { limit: 0 } } });
    await world.until('bad', (app) => {
      const state = app.status?.operationState;
      const texts = [state?.message ?? '', ...(state?.syncResult?.resources ?? []).map((r) => r.message ?? '')];
      const conditions = (app.status?.conditions ?? []).map((c) => c.message);
      expect([...texts, ...conditions].join('\n')).toContain(message);
    });
  });
});
