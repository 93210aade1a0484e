/** @seconds 120 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, Program, widgetCrd } from '#support';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';

const testTimeoutMs = 150_000;
const recordPath = '/apis/coordination.k8s.io/v1/namespaces/driftless-agent/leases/agent-kinds';
const kindsAnnotation = 'driftless.io/agent-kinds';
/** Watched in any case: they tell when the server serves other kinds. */
const definitions = ['apiservices', 'customresourcedefinitions'];

const manifests = {
  ConfigMap: { apiVersion: 'v1', data: { value: '1' } },
  Service: { apiVersion: 'v1', spec: { ports: [{ port: 80 }], selector: { app: 'one' } } },
  ServiceAccount: { apiVersion: 'v1' },
  Deployment: {
    apiVersion: 'apps/v1',
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'one' } },
      template: {
        metadata: { labels: { app: 'one' } },
        spec: { containers: [{ name: 'main', image: 'example.com/one:1' }] },
      },
    },
  },
  Role: { apiVersion: 'rbac.authorization.k8s.io/v1', rules: [] },
  Widget: { apiVersion: 'example.com/v1', spec: {} },
} as const;

/** Objects of the namespace `kinds`, by the kind of their file. */
const paths = {
  ConfigMap: '/api/v1/namespaces/kinds/configmaps/one',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/kinds/roles/one',
  Widget: '/apis/example.com/v1/namespaces/kinds/widgets/one',
} as const;

interface Lease {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

describe('the kinds that driftless agent watches on a real API server', () => {
  let world: Servers<'target'>;
  let target: Server;
  let double: ClusterDouble;
  let folder: string;
  let agent: Program | undefined;
  let startedAt = '';

  beforeAll(async () => {
    world = await startServers({ names: ['target'] });
    ({ target } = world.servers);
    double = await startDouble(target.access);
    await target.kubectl(['create', 'namespace', 'kinds']);
    await target.kubectl(['create', 'configmap', 'foreign', '-n', 'default']);
    folder = join(world.folder, 'folder');
    mkdirSync(folder);
    for (const kind of ['ConfigMap', 'Service', 'ServiceAccount', 'Deployment', 'Widget'] as const) put(kind);
    writeFileSync(join(folder, 'crd.json'), JSON.stringify(widgetCrd()));
  }, testTimeoutMs);
  afterEach(() => agent?.stop('SIGTERM'));
  afterAll(async () => {
    await double.stop();
    await world.close();
  }, testTimeoutMs);

  const fileOf = (kind: string): string => join(folder, `${kind}.json`);

  function put(kind: keyof typeof manifests): void {
    const metadata = { name: 'one', namespace: 'kinds' };
    writeFileSync(fileOf(kind), JSON.stringify({ kind, metadata, ...manifests[kind] }));
  }

  function start(...more: readonly string[]): Program {
    startedAt = new Date().toISOString();
    const own = ['--cache-dir', join(world.folder, 'cache'), '--metrics-port=0', '--interval=1s', '--name=kinds'];
    const what = ['--repo', folder, '--namespace=kinds', '--prune', '--self-heal'];
    agent = new Program(['agent', '--kubeconfig', target.kubeconfig, ...what, ...own, ...more]);
    return agent;
  }

  /** Resources that the last agent has listed, and those that it watches now. */
  function requested(): { readonly listed: readonly string[]; readonly watched: readonly string[] } {
    const own = target
      .audit()
      .filter(
        (event) =>
          event.userAgent?.includes('driftless-agent-0') === true && event.requestReceivedTimestamp >= startedAt,
      );
    const ended = new Set(own.filter(({ stage }) => stage === 'ResponseComplete').map(({ auditID }) => auditID));
    const namesOf = (verb: string, isOpen: boolean): readonly string[] => {
      const found = own.filter((event) => event.verb === verb && (!isOpen || !ended.has(event.auditID)));
      return [...new Set(found.map(({ objectRef }) => objectRef?.resource ?? ''))].sort();
    };
    return { listed: namesOf('list', false), watched: namesOf('watch', true) };
  }

  const settled = (program: Program): Promise<void> =>
    eventually(() => expect(program.stdout).toContain('Synced, Healthy'), 90_000);
  const exists = async (kind: keyof typeof paths): Promise<boolean> =>
    (await target.api.get(paths[kind])) !== undefined;

  it(
    'are those of the folder, with its definition and custom resource, and others are listed once',
    async () => {
      await settled(start());
      const kinds = ['configmaps', 'deployments', 'serviceaccounts', 'services', 'widgets'];
      await eventually(() => expect(requested().watched).toEqual([...definitions, ...kinds].sort()));
      expect(requested().listed.length).toBeGreaterThan(30);
      process.stdout.write(`agent: ${requested().watched.length} watches for a folder of 6 kinds\n`);
      await agent?.stop('SIGKILL');
    },
    testTimeoutMs,
  );

  it(
    'are the same after a crash, without a list of any other; a new kind of the folder joins them',
    async () => {
      const program = start();
      await settled(program);
      const kinds = ['configmaps', 'deployments', 'serviceaccounts', 'services', 'widgets', ...definitions].sort();
      expect(requested()).toEqual({ listed: kinds, watched: kinds });
      put('Role');
      await eventually(async () => expect(await exists('Role')).toBe(true));
      await eventually(() => expect(requested().watched).toEqual([...kinds, 'roles'].sort()));
      const record = await target.api.get<Lease>(recordPath);
      expect(record?.metadata.annotations?.[kindsAnnotation]).toContain('rbac.authorization.k8s.io/Role');
      await target.api.delete(paths.Role);
      await eventually(async () => expect(await exists('Role')).toBe(true));
    },
    testTimeoutMs,
  );

  it(
    'include a kind that left the folder while no agent ran: its object is pruned',
    async () => {
      rmSync(fileOf('Role'));
      start();
      await eventually(async () => expect(await exists('Role')).toBe(false), 90_000);
    },
    testTimeoutMs,
  );

  it(
    'are all kinds where the record does not name them, as after an upgrade',
    async () => {
      put('Role');
      start();
      await eventually(async () => expect(await exists('Role')).toBe(true), 90_000);
      await agent?.stop('SIGTERM');
      rmSync(fileOf('Role'));
      await target.api.patch(recordPath, { metadata: { annotations: { [kindsAnnotation]: null } } });
      start();
      await eventually(async () => expect(await exists('Role')).toBe(false), 90_000);
      expect(requested().listed).toContain('pods');
    },
    testTimeoutMs,
  );

  // https://github.com/fluxcd/kustomize-controller/issues/90
  it(
    'include a custom resource that leaves the folder with its definition, which stays',
    async () => {
      rmSync(fileOf('Widget'));
      rmSync(join(folder, 'crd.json'));
      start();
      await eventually(async () => expect(await exists('Widget')).toBe(false), 90_000);
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      expect(await target.api.get(`${path}/widgets.example.com`)).toBeDefined();
      expect(await exists('ConfigMap')).toBe(true);
    },
    testTimeoutMs,
  );
});
