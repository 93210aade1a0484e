import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { driftless, eventually, Program } from '#support';
import type { ProgramResult } from '#support';
import { ArgoInstallation } from './argo/installation.ts';
import type { LeftApplication } from './argo/installation.ts';
import { asArgoSends, withMark } from './argo/objects.ts';
import {
  crd,
  hookThatGoes,
  hookThatStays,
  instance,
  replaced,
  secretValue,
  settings,
  shop,
  simple,
} from './argo/manifests.ts';
import { describeRequest, freePort, isBy, isWrite, startDouble, startServers, toolsPath } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { refreshed, sumOf, UnderTest } from './under-test.ts';

const limitMs = 60_000;

/** The fields of `driftless preflight -o json` that the tests use. */
interface Report {
  readonly summary?: object;
  readonly applications?: readonly { readonly name: string; readonly state: string }[];
  readonly features?: readonly { readonly severity: string }[];
}

interface Application {
  readonly metadata: { readonly name: string };
  readonly operation?: unknown;
  readonly status: {
    readonly sync: { readonly status: string; readonly revision: string };
    readonly health: { readonly status: string };
    /** Missing for a moment when an operation starts. */
    readonly operationState?: { readonly phase: string; readonly message: string };
    readonly history?: readonly unknown[];
    readonly conditions?: readonly { readonly type: string; readonly message: string }[];
    readonly resources: readonly object[];
  };
}

/** The user writes `recurse: true`; Argo CD writes back the whole structure. */
const recursing = { spec: { directory: { recurse: true } }, status: { directory: { jsonnet: {}, recurse: true } } };
/** Empty structures in spec and status, or only in the status. */
const empty = {
  spec: { directory: { include: '*.yaml', jsonnet: {}, recurse: false } },
  status: { directory: { include: '*.yaml', jsonnet: {} } },
};
function named(name: string, data: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {colour: ${data}}\n`;
}
const createNamespace = { syncOptions: ['CreateNamespace=true'] };

/** Earlier versions of Driftless tracked CRDs too. */
const markedByDriftless: LeftApplication = {
  name: 'gadgets',
  files: {
    'crd.yaml': crd('gadgets', 'Gadget'),
    'gadget.yaml': instance('Gadget', 'from-git'),
    'settings.yaml': settings('blue'),
  },
  syncPolicy: createNamespace,
  mark: (object) => {
    const place = { instance: 'gadgets', namespace: 'gadgets' };
    return withMark(asArgoSends(object, place, 'annotation'), place, 'annotation');
  },
};

const left: readonly LeftApplication[] = [
  {
    name: 'shop',
    files: { ...shop, 'hook.yaml': hookThatStays },
    absent: { 'smoke.yaml': hookThatGoes },
    created: { 'replaced.yaml': replaced },
    syncPolicy: createNamespace,
    source: recursing,
  },
  { name: 'labelled', files: simple, method: 'label', syncPolicy: createNamespace },
  { name: 'both', files: simple, method: 'annotation+label', syncPolicy: createNamespace, source: empty },
  {
    name: 'tenant',
    files: {},
    serverSide: { ...simple, 'crd.yaml': crd('tenants', 'Tenant') },
    syncPolicy: {
      // Otherwise preflight reports that it does not migrate fields of client-side apply.
      syncOptions: ['CreateNamespace=true', 'ServerSideApply=true', 'ClientSideApplyMigration=false'],
      managedNamespaceMetadata: { labels: { team: 'a' }, annotations: { note: 'ours' } },
    },
    finalizers: [],
  },
  // OutOfSync, synced at this commit, without self-heal: it must not change.
  {
    name: 'tried',
    files: { 'settings.yaml': settings('blue') },
    live: { 'settings.yaml': settings('red') },
    automated: { prune: true },
    source: recursing,
    outOfSync: ['settings'],
  },
  // The sync of this commit failed: it must not change, with or without self-heal.
  {
    name: 'failing',
    files: { 'settings.yaml': settings('blue') },
    live: { 'settings.yaml': settings('red') },
    source: empty,
    outOfSync: ['settings'],
    failure: 'one or more objects failed to apply, reason: admission webhook "no.example.com" denied the request: no',
  },
];
/** Synced in Argo CD, which leaves what Git drops from these objects. */
const dropping: LeftApplication = {
  name: 'dropping',
  files: {},
  created: { 'replaced.yaml': named('replaced', 'blue') },
  serverSide: { 'applied.yaml': named('applied', 'blue') },
  live: { 'replaced.yaml': named('replaced', 'blue, old: "1"'), 'applied.yaml': named('applied', 'blue, old: "1"') },
  syncPolicy: createNamespace,
  automated: { prune: true },
};
const names = [...left.map(({ name }) => name), markedByDriftless.name];
/** Short resync periods, so that two of them pass quickly. */
const values = {
  dropIn: true,
  rbac: { clusterWrite: true },
  controller: {
    heartbeatTime: 2,
    extraArgs: ['--app-resync=4', '--app-resync-jitter=1', '--persist-resource-health=false'],
  },
};

describe('the switch from an Argo CD installation', () => {
  let world: Servers<'hub'>;
  let hub: Server;
  let double: ClusterDouble;
  let argo: ArgoInstallation;
  let controller: UnderTest | undefined;
  /** A kubeconfig with read-only access to everything. */
  let looker: string;

  const app = async (name: string): Promise<Application> => {
    const found = await hub.api.get<Application>(argo.applications(name));
    if (found === undefined) throw new Error(`the Application ${name} is gone`);
    return found;
  };
  const apps = (): Promise<Application[]> => Promise.all(names.map(app));
  const tail = (): string => controller?.pods.tail() ?? '';

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
    double = await startDouble(hub.access);
    argo = new ArgoInstallation(hub, world.folder);
    await argo.prepare();
    for (const one of [...left, markedByDriftless]) await argo.add(one);
    await hub.kubectl(['apply', '-n', 'gadgets', '-f', '-'], { input: instance('Gadget', 'of-somebody') });
    for (const name of ['shop', 'labelled', 'both', 'tenant'])
      await hub.kubectl(['rollout', 'status', '-n', name, 'deploy/web', '--timeout=30s']);
    await hub.kubectl(['rollout', 'status', '-n', 'shop', 'sts/db', '--timeout=30s']);
    looker = await readingOnly(hub);
    await hub.kubectl(['wait', '-n', 'shop', '--for=condition=complete', 'job/once', 'job/migrate', '--timeout=30s']);
  }, 180_000);
  afterAll(async () => {
    await controller?.stop();
    await double.stop();
    await world.close();
  });

  /** Runs preflight with read-only access. */
  const preflight = async (...args: string[]): Promise<ProgramResult> => {
    const env = { DRIFTLESS_CACHE_DIR: join(world.folder, 'preflight'), PATH: toolsPath(), HOME: world.folder };
    return driftless(['preflight', '--kubeconfig', looker, '-n', 'argocd', ...args], { env });
  };
  const writesOfLooker = (): string[] =>
    hub
      .audit()
      .filter((event) => isWrite(event) && isBy(event, 'argocd', 'looker'))
      .map(describeRequest);

  it('preflight prints no difference, and writes nothing', async () => {
    const { code, stdout, stderr } = await preflight('-o', 'json');
    const report = JSON.parse(stdout === '' ? '{}' : stdout) as Report;
    const changed = report.applications?.filter(({ state }) => state !== 'same');
    const features = report.features?.filter(({ severity }) => severity !== 'info');
    expect({ changed, features, stderr: code === 2 ? stderr : '' }).toEqual({
      changed: [],
      features: [],
      stderr: '',
    });
    expect(report.summary).toMatchObject({ applications: names.length, same: names.length, differ: 0, writes: 0 });
    expect(code).toBe(0);
    expect((await preflight()).code).toBe(0);
    expect(writesOfLooker()).toEqual([]);
  }, 120_000);

  it('preflight reports differences that Argo CD has not seen, by path and without values', async () => {
    await hub.kubectl(['scale', 'deployment/web', '-n', 'labelled', '--replicas=5']);
    const changed = 'another-battery';
    const credentials = '/api/v1/namespaces/shop/secrets/credentials';
    await hub.api.patch(credentials, { stringData: { password: changed } });
    const [asJson, asTable] = [await preflight('-o', 'json'), await preflight()];
    await hub.kubectl(['scale', 'deployment/web', '-n', 'labelled', '--replicas=2']);
    await hub.kubectl(['rollout', 'status', '-n', 'labelled', 'deploy/web', '--timeout=30s']);
    await hub.api.patch(credentials, { stringData: { password: secretValue } });

    expect([asJson.code, asTable.code]).toEqual([1, 1]);
    const { applications } = JSON.parse(asJson.stdout) as Report;
    expect(applications?.filter(({ state }) => state !== 'same').map(({ name }) => name)).toEqual(['labelled', 'shop']);
    expect(JSON.stringify(applications?.find(({ name }) => name === 'labelled'))).toContain('replicas');
    const everything = [asJson, asTable].map(({ stdout, stderr }) => stdout + stderr).join('');
    for (const value of [changed, secretValue]) {
      expect(everything).not.toContain(value);
      expect(everything).not.toContain(Buffer.from(value).toString('base64'));
    }
    expect(writesOfLooker()).toEqual([]);
  }, 120_000);

  it('run --shadow compares beside Argo CD, reports disagreements, and writes nothing', async () => {
    const port = await freePort();
    const here = ['--kubeconfig', looker, '--namespace=argocd', '--metrics-host=127.0.0.1', `--metrics-port=${port}`];
    const shadow = new Program(['run', '--shadow', ...here, ...values.controller.extraArgs]);
    const metric = async (name: string): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${shadow.stderr.slice(-3000)}${shadow.stdout.slice(-3000)}`);
      });
      return sumOf(await answer.text(), name);
    };
    const disagreeing = async (count: number): Promise<void> => {
      await eventually(async () => {
        // Argo CD has compared again with the same result, so the disagreement is not temporary.
        await hub.api.patch(argo.applications('both'), {
          status: { reconciledAt: new Date().toISOString().replace(/\.\d+/, '') },
        });
        const found = await metric('driftless_shadow_disagreeing_applications');
        if (found !== count) throw new Error(`${found} disagree, not ${count}\n${shadow.stdout.slice(-3000)}`);
      }, limitMs);
    };
    try {
      await eventually(async () => expect(await metric('driftless_shadow_applications')).toBe(names.length), limitMs);
      await disagreeing(0);
      await hub.api.patch(argo.applications('both'), { status: { sync: { status: 'OutOfSync' } } });
      await disagreeing(1);
      expect(await metric('driftless_shadow_disagreements{field="sync"}')).toBe(1);
      await hub.api.patch(argo.applications('both'), { status: { sync: { status: 'Synced' } } });
      await disagreeing(0);
    } finally {
      const { code } = await shadow.stop('SIGTERM');
      expect(code).toBe(0);
    }
    expect(writesOfLooker()).toEqual([]);
    expect(hub.audit().some((event) => isBy(event, 'argocd', 'looker') && event.verb === 'watch')).toBe(true);
  }, 180_000);

  it('preflight counts the objects with fields that Git dropped earlier, and names the fields', async () => {
    await argo.add(dropping);
    const [asJson, asTable] = [await preflight('-o', 'json'), await preflight()];
    expect([asJson.code, asTable.code]).toEqual([1, 1]);
    const { summary, applications } = JSON.parse(asJson.stdout) as Report;
    expect(summary).toMatchObject({ differ: 1, droppedObjects: 2 });
    expect(applications?.find(({ name }) => name === 'dropping')).toMatchObject({
      dropped: [
        { resource: '/ConfigMap/dropping/applied', paths: ['/data/old'] },
        { resource: '/ConfigMap/dropping/replaced', paths: ['/data/old'] },
      ],
    });
    expect(asTable.stdout).toContain('2 objects with fields that Git dropped earlier');
    expect(writesOfLooker()).toEqual([]);
  }, 120_000);

  it('our controller takes over without a write to a managed object, and starts no operation', async () => {
    const before = await apps();
    const stop = watchApplications(hub, argo.applications());
    controller = await UnderTest.install({ server: hub, folder: world.folder, values });
    const compared = controller;
    await eventually(async () => {
      const count = await compared.metric('argocd_app_reconcile_count');
      if (count < 3 * names.length) throw new Error(`${count} comparisons\n${tail()}`);
    }, limitMs);
    for (const name of names) await refreshed(hub, argo.applications(name), 'normal');
    for (const name of names) await refreshed(hub, argo.applications(name), 'hard');
    const [after, seen] = [await apps(), await stop()];

    expect(controller.managedWrites().map(describeRequest)).toEqual([]);
    expect(after.map(summary)).toEqual(before.map(summary));
    const others = [...seen].filter((one) => !one.startsWith(`${dropping.name} `));
    expect(others.sort()).toEqual([...new Set(before.map(line))].sort());
  }, 180_000);

  it('an Event announced the fields that Git dropped earlier; self-heal then removes them', async () => {
    const announced = async (): Promise<readonly string[]> => {
      const events = await hub.api.list<{ reason: string; message: string }>('/api/v1/namespaces/argocd/events');
      return events.filter(({ reason }) => reason === 'RemovalPending').map(({ message }) => message);
    };
    const data = async (name: string): Promise<object | undefined> =>
      (await hub.api.get<{ data: object }>(`/api/v1/namespaces/dropping/configmaps/${name}`))?.data;
    expect(await announced()).toEqual([
      expect.stringMatching(/dropping\/applied: \/data\/old; .*dropping\/replaced: /),
    ]);
    expect(await data('replaced')).toEqual({ colour: 'blue', old: '1' });
    const spec = { syncPolicy: { automated: { prune: true, selfHeal: true } } };
    await hub.api.patch(argo.applications('dropping'), { spec });
    await eventually(async () => {
      const both = await Promise.all(['applied', 'replaced'].map(data));
      if (both.some((one) => JSON.stringify(one) !== '{"colour":"blue"}'))
        throw new Error(`${JSON.stringify(both)}\n${tail()}`);
    }, limitMs);
    expect(await announced()).toHaveLength(1);
  }, 120_000);

  it('our controller then heals, syncs and prunes', async () => {
    const web = '/apis/apps/v1/namespaces/labelled/deployments/web';
    await hub.kubectl(['scale', 'deployment/web', '-n', 'labelled', '--replicas=5']);
    await hub.kubectl(['delete', 'service/web', '-n', 'both']);
    await eventually(async () => {
      const replicas = (await hub.api.get<{ spec: { replicas: number } }>(web))?.spec.replicas;
      const service = await hub.api.get('/api/v1/namespaces/both/services/web');
      if (replicas !== 2 || service === undefined) throw new Error(`${replicas} replicas\n${tail()}`);
    }, limitMs);
    const commit = argo.git('shop').commit({ 'settings.yaml': settings('green'), 'service.yaml': null });
    await refreshed(hub, argo.applications('shop'), 'normal');
    await eventually(async () => {
      const { status } = await app('shop');
      if (
        status.sync.status !== 'Synced' ||
        status.sync.revision !== commit ||
        status.operationState?.phase !== 'Succeeded'
      )
        throw new Error(`${JSON.stringify(status.operationState)}\n${tail()}`);
    }, limitMs);
    const map = await hub.api.get<{ data: { colour: string } }>('/api/v1/namespaces/shop/configmaps/settings');
    expect(map?.data.colour).toBe('green');
    expect(await hub.api.get('/api/v1/namespaces/shop/services/web')).toBeUndefined();
  }, 180_000);

  it.each([
    ['that Argo CD made', 'shop', 'widgets', ['first']],
    ['that an earlier Driftless marked', 'gadgets', 'gadgets', ['from-git', 'of-somebody']],
  ])(
    'a CustomResourceDefinition %s and its instances stay when it leaves Git',
    async (_, name, plural, instances) => {
      const paths = [
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.example.com`,
        ...instances.map((item) => `/apis/example.com/v1/namespaces/${name}/${plural}/${item}`),
      ];
      const before = await Promise.all(paths.map(uidAt));
      const commit = argo.git(name).commit({ 'crd.yaml': null, 'settings.yaml': null });
      await refreshed(hub, argo.applications(name), 'normal');
      await eventually(async () => {
        const { status } = await app(name);
        const pruned = (await hub.api.get(`/api/v1/namespaces/${name}/configmaps/settings`)) === undefined;
        if (!pruned || status.sync.status !== 'Synced' || status.sync.revision !== commit)
          throw new Error(`${JSON.stringify(status)}\n${tail()}`);
      }, limitMs);
      expect(await Promise.all(paths.map(uidAt))).toEqual(before);
      expect(before).not.toContain('');
      const deleted = controller
        ?.managedWrites()
        .filter(({ verb }) => verb === 'delete')
        .map(({ objectRef }) => objectRef?.resource);
      expect(deleted).not.toContain('customresourcedefinitions');
    },
    120_000,
  );

  async function uidAt(path: string): Promise<string> {
    const object = await hub.api.get<{ metadata: { uid: string; deletionTimestamp?: string } }>(path);
    return object === undefined ? '' : `${object.metadata.uid} ${object.metadata.deletionTimestamp ?? ''}`;
  }
});

/** Creates a ServiceAccount with read-only access to everything. @returns its kubeconfig */
async function readingOnly(hub: Server): Promise<string> {
  await hub.kubectl(['create', 'serviceaccount', 'looker', '-n', 'argocd']);
  await hub.kubectl(['create', 'clusterrole', 'looker', '--verb=get,list,watch', '--resource=*.*']);
  const binding = ['create', 'clusterrolebinding', 'looker', '--clusterrole=looker'];
  await hub.kubectl([...binding, '--serviceaccount=argocd:looker']);
  return hub.kubeconfigFor(await hub.as('argocd', 'looker'), 'argocd');
}

/** The fields that must not change during the switch. */
function summary({ metadata, operation, status }: Application): object {
  const { health, operationState, history, conditions, resources } = status;
  const sync = { status: status.sync.status, revision: status.sync.revision };
  const errors = (conditions ?? []).map(({ type, message }) => `${type}: ${message}`);
  return { name: metadata.name, operation, sync, health, operationState, history, errors, resources };
}

/** The state of an Application as one line. */
function line({ metadata, operation, status }: Application): string {
  const running = (operation ?? undefined) === undefined ? '' : ' (operation)';
  return `${metadata.name} ${status.sync.status} ${status.health.status} ${status.operationState?.phase ?? 'none'}${running}`;
}

/** Collects every state of the Applications until stopped. */
function watchApplications(server: Server, path: string): () => Promise<ReadonlySet<string>> {
  const stop = new AbortController();
  const seen = new Set<string>();
  const watching = (async () => {
    for await (const { object } of server.api.watch(`${path}?watch=true`, stop.signal))
      seen.add(line(object as unknown as Application));
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return async () => {
    stop.abort();
    await watching;
    return seen;
  };
}
