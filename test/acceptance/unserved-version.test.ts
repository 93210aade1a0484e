import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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

describe('findings of exploratory testing', () => {
  it('a hook with a generated name runs, under a new name in each operation', async () => {
    const hook = `apiVersion: batch/v1
kind: Job
metadata: { generateName: migrate-, annotations: { argocd.argoproj.io/hook: PreSync } }
spec: { template: { spec: { restartPolicy: Never, containers: [{ name: main, image: "busybox:1" }] } } }
`;
    repo.commit({ 'app/a.yaml': config('a'), 'app/hook.yaml': hook });
    await world.replica();
    world.application('demo', repo.source());
    await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.sync('demo');
    const app = await world.until('demo', (now) => {
      expect(now.status?.operationState?.phase).toBe('Succeeded');
    });
    const results = app.status?.operationState?.syncResult?.resources?.map(({ name, hookPhase }) => [name, hookPhase]);
    expect(results).toEqual([
      [expect.stringMatching(/^migrate-[0-9a-f]{7}-presync-\d+$/), 'Succeeded'],
      ['a', 'Running'],
    ]);
    expect(app.status?.conditions ?? []).toEqual([]);
  });

  it('a version that the cluster does not serve leads to a message with the served version', async () => {
    const crd = (versions: readonly string[]): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: fakes.argoproj.io }
spec:
  group: argoproj.io
  scope: Namespaced
  names: { kind: Fake, plural: fakes, singular: fake, listKind: FakeList }
  versions:
${versions.map((name) => `  - { name: ${name}, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }\n`).join('')}`;
    const fake = (version: string, name: string): string =>
      `apiVersion: argoproj.io/${version}\nkind: Fake\nmetadata: { name: ${name} }\n`;
    repo.commit({ 'app/crd.yaml': crd(['v1alpha1']), 'app/zero.yaml': fake('v1alpha1', 'zero') });
    await world.replica();
    world.application('demo', repo.source());
    await world.until('demo', (app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.sync('demo');
    await world.until('demo', synced);
    const failedSync = async (files: Readonly<Record<string, string>>): Promise<Map<string, string | undefined>> => {
      const commit = repo.commit(files);
      world.refresh('demo');
      await world.until('demo', (now) => expect(now.status?.sync?.revision).toBe(commit));
      world.sync('demo');
      const app = await world.until('demo', ({ status }) => {
        expect(status?.operationState).toMatchObject({ phase: 'Failed', syncResult: { revision: commit } });
      });
      return new Map(app.status?.operationState?.syncResult?.resources?.map(({ name, message }) => [name, message]));
    };
    const instead = 'Version "v1alpha1" of argoproj.io/Fake is installed on the destination cluster.';
    expect((await failedSync({ 'app/fake.yaml': fake('v1alpha2', 'one') })).get('one')).toBe(
      `The Kubernetes API could not find version "v1alpha2" of argoproj.io/Fake for requested resource apps/one. ${instead}`,
    );
    const messages = await failedSync({
      'app/group.yaml': 'apiVersion: wrong.group/v1alpha1\nkind: Fake\nmetadata: { name: two }\n',
      'app/kind.yaml': 'apiVersion: argoproj.io/v1alpha1\nkind: DoesNotExist\nmetadata: { name: three }\n',
    });
    expect(messages.get('two')).toBe(
      `The Kubernetes API could not find version "v1alpha1" of wrong.group/Fake for requested resource apps/two. ${instead}`,
    );
    expect(messages.get('three')).toBe('DoesNotExist.argoproj.io "" not found');
  });

  it('a Namespace with managedNamespaceMetadata does not stay OutOfSync when its manifest leaves Git', async () => {
    const namespace = 'apiVersion: v1\nkind: Namespace\nmetadata: { name: apps, labels: { from: git } }\n';
    repo.commit({ 'app/a.yaml': config('a'), 'app/ns.yaml': namespace });
    await world.replica();
    const syncPolicy = {
      ...automated.syncPolicy,
      syncOptions: ['CreateNamespace=true'],
      managedNamespaceMetadata: { labels: { team: 'a' } },
    };
    world.application('demo', { ...repo.source(), syncPolicy });
    await world.until('demo', synced);
    const commit = repo.commit({ 'app/ns.yaml': null });
    world.refresh('demo');
    await world.until('demo', (app) => {
      expect(app.status?.sync?.revision).toBe(commit);
      synced(app);
    });
    expect(world.cluster.store.get('', 'Namespace', '', 'apps')?.metadata.labels).toMatchObject({ team: 'a' });
  });
});
