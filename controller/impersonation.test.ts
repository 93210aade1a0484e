import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { configMap, FakeWorld, server } from './testing/fake-world.ts';

const deployer = 'system:serviceaccount:apps:deployer';
const destinationServiceAccounts = [{ server, namespace: 'apps', defaultServiceAccount: 'deployer' }];
const finalizers = [
  'resources-finalizer.argocd.argoproj.io',
  'pre-delete-finalizer.argocd.argoproj.io',
  'post-delete-finalizer.argocd.argoproj.io',
];
const hook = (type: string): KubeObject => configMap(type.toLowerCase(), '1', { 'argocd.argoproj.io/hook': type });
const hooks = ['PreSync', 'Sync', 'PostSync', 'PreDelete', 'PostDelete'];

let clock: FakeClock;
let world: FakeWorld;
beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.settings = { ...defaultSettings, impersonation: { enabled: true, enforced: true } };
  world.project('default', { destinationServiceAccounts });
  world.git.push('a'.repeat(40), [...hooks.map(hook), configMap('one'), configMap('two')]);
  world.application(
    {
      syncPolicy: {
        automated: { prune: true, selfHeal: true },
        syncOptions: ['CreateNamespace=true', 'ServerSideApply=true'],
        retry: { limit: 1, backoff: { duration: '1s' } },
      },
    },
    {
      metadata: {
        name: 'demo',
        namespace: 'argocd',
        finalizers,
        annotations: { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true' },
      },
    },
  );
});
afterEach(() => world.close(clock));

/**
 * All requests of an Application to its cluster, from the first sync to the end of its deletion.
 */
async function live(): Promise<void> {
  await clock.advance(30_000);
  world.dest.put({
    ...configMap('two', 'by hand'),
    metadata: { ...world.dest.get('ConfigMap', 'two')?.metadata, name: 'two' },
  });
  await clock.advance(30_000);
  world.git.push('b'.repeat(40), [...hooks.map(hook), configMap('one', '2')]);
  world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
  await clock.advance(30_000);
  world.hub.delete('Application', 'demo');
  await clock.advance(120_000);
}

// T-SEC-13
describe('with impersonation', () => {
  // T-SEC-13
  it.each([
    ['ServerSideApply=true', 'patch'],
    ['Replace=true', 'replace'],
    ['ServerSideApply=false', 'patch'],
  ])(
    'makes each call of hooks, diffs, namespaces, syncs, prunes and deletions as the user (%s)',
    async (how, dryRunVerb) => {
      world.edit((object) => ({
        spec: {
          ...(object['spec'] as object),
          syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true', how] },
        },
      }));
      world.replica();
      await live();
      expect(world.hub.get('Application', 'demo')).toBeUndefined();
      const { calls, callers } = world.dest;
      const done = new Set(calls);
      for (const type of hooks)
        expect([...done]).toContainEqual(expect.stringMatching(`^(?:create|patch) ConfigMap ${type.toLowerCase()}$`));
      expect([...done]).toContainEqual(expect.stringMatching(/ Namespace apps$/));
      expect([...done]).toContain(`${dryRunVerb} ConfigMap one (dry run)`);
      expect([...done]).toEqual(expect.arrayContaining(['delete ConfigMap two', 'delete ConfigMap one']));
      expect(calls.filter((_call, i) => callers[i] !== deployer)).toEqual([]);
    },
  );

  // T-SEC-13
  it('does nothing if the user has no permissions, and does not fall back to another identity', async () => {
    const refuse = (_call: string, user?: string): void => {
      if (user === deployer)
        throw new KubeApiError({ code: 403, reason: 'Forbidden', message: `User "${user}" cannot do that` }, 'fake');
    };
    world.replica({ dest: { before: refuse } });
    await live();
    expect(world.dest.calls).toEqual([]);
    expect(world.dest.impersonated).toContain(deployer);
    expect(JSON.stringify(world.app.status)).toContain('cannot do that');
    expect(world.app.metadata.finalizers).toEqual(finalizers);
  });
});
