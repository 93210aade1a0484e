import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { kubeconfigFor } from '#sim';
import type { SimRequest } from '#sim';
import { driftless, eventually, Program } from '#support';
import { World } from './world.ts';

const manifest = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {key: "1"}\n`;
const tracked = { 'argocd.argoproj.io/tracking-id': 'demo:/ConfigMap:apps/one' };

let world: World;
let program: Program | undefined;
let port: number;
/** Every external request to a simulated API server. */
let seen: SimRequest[];
let commit: string;

beforeEach(async () => {
  world = await World.start();
  seen = [];
  for (const cluster of [world.hub, world.cluster]) cluster.onRequest((request) => seen.push(request));
  port = await freePort();
});
afterEach(async () => {
  await program?.stop();
  await world.close();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: free } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return free;
}

/** Creates the state that Argo CD leaves: tracked objects, a status, and pending work. */
function leaveInOrder(): void {
  const repo = world.repository('sample');
  commit = repo.commit({ 'app/one.yaml': manifest });
  world.cluster.store.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'one', namespace: 'apps', annotations: tracked },
    data: { key: '1' },
  });
  const source = { repoURL: repo.url, path: 'app', targetRevision: 'main' };
  const destination = { server: world.cluster.url, namespace: 'apps' };
  world.application('demo', { source, syncPolicy: { automated: { prune: true, selfHeal: true } } });
  says({
    sync: { status: 'Synced', revision: commit, comparedTo: { source, destination } },
    health: { status: 'Healthy', lastTransitionTime: '2026-01-01T00:00:00Z' },
    resources: [{ version: 'v1', kind: 'ConfigMap', namespace: 'apps', name: 'one', status: 'Synced' }],
    reconciledAt: '2026-01-01T00:00:00Z',
    resourceHealthSource: 'appTree',
    sourceType: 'Directory',
  });
}

function says(status: object): void {
  world.edit('demo', (object) => Object.assign(object, { status: { ...(object['status'] as object), ...status } }));
}

/** Starts `driftless run --shadow` with all permissions. */
function start(...flags: string[]): void {
  const kubeconfig = join(world.root, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor([world.hub]));
  const metrics = ['--metrics-host', '127.0.0.1', '--metrics-port', String(port)];
  const folder = ['--cache-dir', join(world.root, 'shadow-cache')];
  program = new Program([
    'run',
    '--shadow',
    '--kubeconfig',
    kubeconfig,
    '-n',
    'argocd',
    ...metrics,
    ...folder,
    ...flags,
  ]);
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `)) ?? '';
  return Number(line.slice(name.length + 1) || 'NaN');
}

function lines(text: string): Record<string, unknown>[] {
  const all = `${program?.stdout ?? ''}\n${program?.stderr ?? ''}`.split('\n').filter((line) => line.includes(text));
  return all.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const sync = 'driftless_shadow_disagreements{field="sync"}';

describe('driftless run --shadow', () => {
  it('counts a disagreement with Argo CD, logs it once, and sends no write', async () => {
    leaveInOrder();
    start('--shadow-grace', '300ms', '--app-resync', '1', '--app-resync-jitter', '0');
    await eventually(async () => expect(await metric('driftless_shadow_applications')).toBe(1), 30_000);
    expect([await metric(sync), await metric('driftless_shadow_planned_writes{what="object"}')]).toEqual([0, 0]);
    const before = world.app('demo');

    const live = world.cluster.store.get('', 'ConfigMap', 'apps', 'one');
    world.cluster.store.update({ ...live, data: { key: 'tampered' } } as unknown as KubeObject);
    await eventually(async () => expect(await metric(sync)).toBe(1), 15_000);
    // The line does not appear again after more comparisons.
    const done = lines('Reconciliation completed').length;
    await eventually(() => expect(lines('Reconciliation completed').length).toBeGreaterThan(done + 2), 15_000);
    expect(lines('Disagrees').map(({ field, application }) => [field, application])).toEqual([
      ['sync', 'demo'],
      ['resource-sync', 'demo'],
    ]);
    expect(await metric('driftless_shadow_planned_writes{what="operation"}')).toBe(1);
    const env = { HOME: world.root, KUBECONFIG: '', DRIFTLESS_CACHE_DIR: join(world.root, 'shadow-cache') };
    const explained = await driftless(['explain', 'demo'], { env });
    expect(explained.stderr).toBe('');
    expect(explained.stdout).toContain('ConfigMap apps/one differs');
    expect(explained.stdout).toContain(`Owner        ${hostname()} (shard 0)`);
    expect(world.app('demo')).toEqual(before);

    says({
      sync: { ...world.app('demo')?.status?.sync, status: 'OutOfSync' },
      resources: [{ version: 'v1', kind: 'ConfigMap', namespace: 'apps', name: 'one', status: 'OutOfSync' }],
    });
    await eventually(async () => expect(await metric(sync)).toBe(0), 15_000);
    expect(lines('Agrees').map(({ field }) => field)).toEqual(['sync', 'resource-sync']);

    const finished = await program?.stop('SIGTERM');
    program = undefined;
    expect(finished?.code).toBe(0);
    expect(seen.length).toBeGreaterThan(10);
    expect(seen.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))).toEqual([]);
    expect(seen.every(({ agent }) => agent.startsWith('driftless-shadow/'))).toBe(true);
    expect(world.hub.store.get('', 'ConfigMap', 'argocd', 'driftless-ownership')).toBeUndefined();
    expect(world.cluster.store.get('', 'ConfigMap', 'apps', 'one')).toMatchObject({ data: { key: 'tampered' } });
  });

  it('leaves operations, refresh requests and deletions to the controller in charge', async () => {
    leaveInOrder();
    world.edit('demo', (object) => {
      Object.assign(object, { operation: { sync: { revision: commit } } });
      Object.assign(object.metadata, {
        annotations: { 'argocd.argoproj.io/refresh': 'hard' },
        finalizers: ['resources-finalizer.argocd.argoproj.io'],
      });
    });
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'demo');
    const before = world.app('demo');
    expect(before?.metadata.deletionTimestamp).toBeDefined();
    start('--app-resync', '1', '--app-resync-jitter', '0');
    await eventually(() => expect(lines('(hard refresh requested)')).not.toEqual([]), 30_000);
    // A replica that loses its lease on a busy machine begins again; the request stays in place.
    await eventually(() => {
      const last = lines('Refreshing app status').slice(-3);
      expect(last).toHaveLength(3);
      expect(last.filter(({ msg }) => String(msg).includes('hard refresh'))).toEqual([]);
    }, 30_000);
    expect(world.app('demo')).toEqual(before);
    expect(seen.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))).toEqual([]);
  });
});
