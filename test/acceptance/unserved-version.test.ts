import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

describe('a version that the cluster does not serve', () => {
  it('leads to a message with the served version', async () => {
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
});
