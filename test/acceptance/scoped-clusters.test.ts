import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import type { Application } from '#model';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;
let proxy: Server;
/** Connections that reached the tenant's proxy. */
let reached: number;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
  repo.commit({ 'app/a.yaml': config('a') });
  reached = 0;
  proxy = createServer((socket) => {
    reached += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await world.close();
  await new Promise((resolve) => void proxy.close(resolve));
});

function scopedSecret(name: string, project: string, isProxied = true): void {
  const { port } = proxy.address() as AddressInfo;
  const secret = { bearerToken: 'c4nary', ...(isProxied ? { proxyUrl: `http://127.0.0.1:${port}` } : {}) };
  const data = { server: world.cluster.url, name, project, config: JSON.stringify(secret) };
  world.hub.store.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'argocd', labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  });
}

function project(
  name: string,
  destinations: readonly { server: string; namespace: string }[] = [{ server: '*', namespace: '*' }],
): void {
  world.hub.store.create({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name, namespace: 'argocd' },
    spec: { sourceRepos: ['*'], destinations },
  });
}

function messages(app: Application, type: string): string {
  const found = (app.status?.conditions ?? []).filter((condition) => condition.type === type);
  return found.map(({ message }) => message).join();
}

describe("a tenant's cluster Secret with the URL of a shared cluster", () => {
  it('does not change the proxy or name of the shared cluster, and a condition names both Secrets', async () => {
    project('tenant');
    // All are older than the shared Secret, and with so many, one has a lower UID.
    world.hub.store.delete('', 'Secret', 'argocd', 'cluster-dest');
    for (let i = 0; i < 12; i += 1) scopedSecret(`tenant-${i}`, 'tenant');
    world.addCluster('dest', world.cluster.url);
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    world.application('own', { ...repo.source(), project: 'tenant' });
    const app = await world.until('demo', synced);
    expect(messages(app, 'DuplicateClusterWarning')).toMatch(
      /Secret cluster-dest is used.*Secret tenant-\d+ \(project tenant\)/,
    );
    await world.until('own', (now) =>
      expect(messages(now, 'DuplicateClusterWarning')).toContain('Secret cluster-dest is used'),
    );
    scopedSecret('added-later', 'tenant');
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }));
    expect(reached).toBe(0);
    expect(JSON.stringify(world.app('demo')?.status)).not.toContain('c4nary');
  });

  it('gives its project no right to the shared cluster', async () => {
    project('tenant', []);
    scopedSecret('of-tenant', 'tenant');
    await world.replica();
    world.application('own', { ...repo.source(), ...automated, project: 'tenant' });
    await world.until('own', (app) => {
      expect(messages(app, 'InvalidSpecError')).toContain('do not match any of the allowed destinations');
      expect(messages(app, 'DuplicateClusterWarning')).toContain('Secret of-tenant (project tenant) is not');
    });
    expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
  });

  it('serves only its own project if it is the only one, and others get a condition', async () => {
    project('tenant');
    project('third');
    world.hub.store.delete('', 'Secret', 'argocd', 'cluster-dest');
    scopedSecret('of-tenant', 'tenant', false);
    await world.replica();
    world.application('own', { ...repo.source(), ...automated, project: 'tenant' });
    await world.until('own', synced);
    for (const name of ['default', 'third'])
      world.application(`in-${name}`, { ...repo.source(), ...automated, project: name });
    for (const name of ['default', 'third'])
      await world.until(`in-${name}`, (app) => {
        expect(app.status?.sync?.status).toBe('Unknown');
        expect(messages(app, 'InvalidSpecError')).toContain(
          `is scoped to project "tenant" by Secret of-tenant, and project "${name}" may not use it`,
        );
        expect(app.status?.operationState).toBeUndefined();
      });
  });
});
