import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import { FakeClock } from '#support';
import { configMap, FakeWorld, server } from '../testing/fake-world.ts';

const finalizers = ['resources-finalizer.argocd.argoproj.io', 'pre-delete-finalizer.argocd.argoproj.io'];
const enforced = { ...defaultSettings, impersonation: { enabled: true, enforced: true } };
const accounts = (defaultServiceAccount: string): object => ({
  destinationServiceAccounts: [{ server, namespace: 'apps', defaultServiceAccount }],
});

let clock: FakeClock;
let world: FakeWorld;
let stops: (() => Promise<void>)[];
beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.settings = enforced;
  stops = [];
  world.git.push('a'.repeat(40), [configMap('before', '1', { 'argocd.argoproj.io/hook': 'PreDelete' })]);
  const tracking = { 'argocd.argoproj.io/tracking-id': 'demo:/ConfigMap:apps/one' };
  const one = configMap('one', '1', tracking);
  world.dest.put({ ...one, metadata: { ...one.metadata, namespace: 'apps' } });
  world.application({}, { metadata: { name: 'demo', namespace: 'argocd', finalizers } });
});
afterEach(async () => {
  const ended = stops.map((stop) => stop());
  await clock.advance(60_000);
  await Promise.all(ended);
});

async function startAndDelete(): Promise<void> {
  world.hub.delete('Application', 'demo');
  const replica = world.replica();
  stops.push(() => replica.stop());
  await clock.advance(60_000);
}

describe('deletion under enforced impersonation', () => {
  it('deletes with our own identity if the project names no account; a sync does not begin', async () => {
    world.edit(() => ({ operation: { sync: { revision: 'a'.repeat(40) } } }));
    await startAndDelete();
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    expect(world.dest.get('ConfigMap', 'one')).toBeUndefined();
    expect(world.dest.calls).toContain('create ConfigMap before');
    expect(world.dest.impersonated).toEqual([]);
    const events = [...world.hub.objects.values()].filter(({ kind }) => kind === 'Event');
    expect(events.map((event) => event['message'])).toContain('Sync operation failed: Operation terminated');
  });

  it('acts as the service account that the project names', async () => {
    world.project('default', accounts('deployer'));
    await startAndDelete();
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    expect(new Set(world.dest.impersonated)).toEqual(new Set(['system:serviceaccount:apps:deployer']));
  });

  it('waits and reports why if the account name is invalid', async () => {
    world.project('default', accounts('*'));
    await startAndDelete();
    expect(world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '1' } });
    expect(world.app.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DeletionError',
        message: expect.stringContaining('failed to derive service account to impersonate') as unknown,
      }),
    );
    world.project('default', accounts('deployer'));
    await clock.advance(60_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
  });
});
