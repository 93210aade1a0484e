import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { driftless, eventually, Program, widgetCrd } from '#support';

const testTimeoutMs = 120_000;
const kindsAnnotation = 'driftless.io/agent-kinds';

let root: string;
let cluster: SimCluster;
let agent: Program | undefined;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'driftless-agent-kinds-'));
  mkdirSync(join(root, 'folder'));
  cluster = await startSimCluster({ name: 'target', clock: systemClock, random: systemRandom });
  writeFileSync(join(root, 'kubeconfig'), kubeconfigFor([cluster]));
  put('kept', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' } });
});
afterEach(async () => {
  await agent?.stop('SIGKILL');
  await cluster.close();
  rmSync(root, { recursive: true });
});

const fileOf = (name: string): string => join(root, 'folder', `${name}.json`);
const put = (name: string, object: KubeObject): void => writeFileSync(fileOf(name), JSON.stringify(object));

function flags(...more: readonly string[]): readonly string[] {
  const files = ['--kubeconfig', join(root, 'kubeconfig'), '--cache-dir', join(root, 'cache')];
  return ['agent', ...files, '--repo', join(root, 'folder'), '--name=kinds', '--metrics-port=0', '--prune', ...more];
}

const once = (): ReturnType<typeof driftless> => driftless(flags('--once', '--timeout=60s'));

function recordedKinds(): string {
  const lease = cluster.store.get('coordination.k8s.io', 'Lease', 'driftless-agent', 'agent-kinds');
  return lease?.metadata.annotations?.[kindsAnnotation] ?? '';
}

describe('the kinds that an agent watches', () => {
  it(
    'are recorded before their first object is written: one that left the folder after a crash is pruned',
    async () => {
      expect((await once()).code).toBe(0);
      put('secret', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'new' } });
      let atWrite: string | undefined;
      const unsubscribe = cluster.store.subscribe(({ object }) => {
        if (object.kind !== 'Secret' || object.metadata.name !== 'new') return;
        atWrite ??= recordedKinds();
        agent?.child.kill('SIGKILL');
      });
      agent = new Program(flags('--interval=1s'));
      await agent.ended;
      unsubscribe();
      expect(atWrite).toContain('"/Secret"');
      rmSync(fileOf('secret'));
      expect((await once()).code).toBe(0);
      expect(cluster.store.get('', 'Secret', 'default', 'new')).toBeUndefined();
    },
    testTimeoutMs,
  );

  // https://github.com/GoogleContainerTools/config-sync/pull/1441
  it(
    'repair a custom resource that is deleted before the watch of its new kind has begun',
    async () => {
      expect((await once()).code).toBe(0);
      put('crd', widgetCrd());
      put('widget', { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' }, spec: {} });
      let open = (): void => undefined;
      const until = new Promise<void>((resolve) => (open = resolve));
      const widgets = { group: 'example.com', resource: 'widgets' };
      for (const verb of ['list', 'watch']) cluster.addFault({ verb, ...widgets, fault: { kind: 'hold', until } });
      let written = 0;
      cluster.store.subscribe(({ type, object }) => {
        if (object.kind !== 'Widget' || type !== 'ADDED') return;
        written += 1;
        if (written > 1) return;
        cluster.store.delete('example.com', 'Widget', 'default', 'one');
        open();
      });
      agent = new Program(flags('--interval=1s', '--self-heal'));
      await eventually(() => expect(written).toBeGreaterThan(0));
      await eventually(() => expect(cluster.store.get('example.com', 'Widget', 'default', 'one')).toBeDefined());
    },
    testTimeoutMs,
  );
});
