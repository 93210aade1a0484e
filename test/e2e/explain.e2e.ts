import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { driftless, eventually } from '#support';
import { firstScreen, untilScreen } from '../acceptance/incidents/screen.ts';
import type { Screen } from '../acceptance/incidents/screen.ts';
import { config, deployment } from '../acceptance/objects.ts';
import { TestApplication } from './applications.ts';
import { WorkloadPods } from './pods.ts';
import { manifestController } from './rendered-controller.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';

const limitMs = 120_000;
const automated = { syncPolicy: { automated: { selfHeal: true }, syncOptions: ['CreateNamespace=true'] } };
/** Pauses of self-heal that are longer than the operator of the first incident needs. */
const params = { 'controller.self.heal.backoff.timeout.seconds': '1', 'controller.self.heal.backoff.factor': '4' };

let world: Servers<'hub'>;
let hub: Server;
let double: ClusterDouble;
let pods: WorkloadPods;

/** API servers proxy to no loopback address. */
function hostAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  if (found === undefined) throw new Error('these tests need an IPv4 address of this machine that is not loopback');
  return found;
}

const apply = (items: readonly object[]): Promise<string> =>
  hub.kubectl(['apply', '--server-side', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });

/** Installs the plain manifests with two replicas; their Pods have the address of this machine. */
async function install(): Promise<void> {
  const rendered = manifestController(params);
  const host = hostAddress();
  await hub.kubectl(['create', 'namespace', 'argocd']);
  const objects = rendered.objects.map((object) =>
    object === rendered.workload ? { ...object, spec: { ...(object['spec'] as object), replicas: 2 } } : object,
  );
  const isReady = ({ kind }: { readonly kind: string }): boolean => kind !== 'AppProject';
  await apply(objects.filter(isReady));
  await eventually(() => apply(objects.filter((object) => !isReady(object))), limitMs);
  pods = new WorkloadPods(hub, rendered, world.folder, host);
  await pods.match();
  await pods.ready(limitMs);
  for (const { name } of pods.all())
    await eventually(async () => {
      const path = `/api/v1/namespaces/argocd/pods/${name}`;
      const pod = await hub.api.get<{ status: { phase: string } }>(path);
      expect(pod?.status.phase).toBe('Running');
      await hub.api.patch(`${path}/status`, { status: { podIP: host, podIPs: [{ ip: host }] } });
    }, limitMs);
}

const rights = {
  owners: { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
  proxy: { apiGroups: [''], resources: ['pods/proxy'], verbs: ['get'] },
  applications: { apiGroups: ['argoproj.io'], resources: ['applications'], verbs: ['get'] },
  pages: { apiGroups: ['driftless.io'], resources: ['clusters', 'repositories', 'objects'], verbs: ['get'] },
};

/** Creates a ServiceAccount with these rights in the namespace; returns its kubeconfig. */
async function userWith(name: string, rules: readonly object[]): Promise<string> {
  const metadata = { name, namespace: 'argocd' };
  const group = 'rbac.authorization.k8s.io';
  await apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: `${group}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${group}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: group, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'argocd' }],
    },
  ]);
  return hub.kubeconfigFor(await hub.as('argocd', name), 'argocd');
}

/** Lets a ServiceAccount read the objects that its pages show. */
async function mayReadObjects(name: string): Promise<void> {
  const group = 'rbac.authorization.k8s.io';
  const metadata = { name: `${name}-objects` };
  await apply([
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRole',
      metadata,
      rules: [{ apiGroups: ['', 'apps'], resources: ['configmaps', 'deployments'], verbs: ['get'] }],
    },
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'argocd' }],
    },
  ]);
}

let viewer: string;

/** Runs `driftless explain` through the pod proxy of the API server. */
async function explain(kubeconfig: string, ...words: readonly string[]): Promise<Screen & { readonly stderr: string }> {
  const { code, stdout, stderr } = await driftless(['explain', ...words, '--kubeconfig', kubeconfig]);
  return { code: code ?? -1, lines: firstScreen(world.folder, stdout.trimEnd().split('\n')), stderr };
}

async function expectScreen(name: string, code: number, lines: readonly string[]): Promise<void> {
  const read = async (): Promise<Screen> => {
    const shown = await explain(viewer, name);
    return { code: shown.code, lines: shown.lines };
  };
  await untilScreen(read, { code, lines }, (line) =>
    line.replace(/driftless-\d \(shard \d\)/, 'POD').replaceAll(/attempt \d+/g, 'attempt N'),
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${pods.tail()}`, { cause: error });
  });
}

/** The lines about owner, destination and last pass. */
const head = (namespace: string): readonly string[] => [
  'Owner        POD, since TIME (AGE), this replica became the owner',
  `Destination  in-cluster · https://kubernetes.default.svc, namespace ${namespace}, project default`,
  'Last pass    AGE ago, took AGE after AGE in the queue, …',
  '             because …',
  '             stages: …',
];

/** Sets the replicas of a Deployment again whenever they are restored, as an operator does. */
function fight(path: string): () => Promise<void> {
  const stop = new AbortController();
  const fighting = (async () => {
    while (!stop.signal.aborted) {
      const live = await hub.api.get<{ spec: { replicas: number } }>(path);
      if (live?.spec.replicas === 2)
        await hub.api.patch(`${path}?fieldManager=web-operator`, { spec: { replicas: 4 } });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return () => {
    stop.abort();
    return fighting;
  };
}

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  ({ hub } = world.servers);
  double = await startDouble(hub.access);
  await install();
  viewer = await userWith('viewer', Object.values(rights));
  await mayReadObjects('viewer');
}, 300_000);
afterAll(async () => {
  await pods.stop();
  await double.stop();
  await world.close();
});

// T-OBS-1
describe('driftless explain, through the pod proxy of a real API server, names', () => {
  it('the operator that fights for a field, by its field manager', async () => {
    const where = { hub, folder: world.folder };
    const files = { 'web.yaml': deployment(), 'a.yaml': config('a') };
    const app = await TestApplication.create(where, 'fought', { files, spec: automated });
    await app.isGood(undefined, { withinMs: limitMs, tail: () => pods.tail() });
    const stop = fight('/apis/apps/v1/namespaces/fought/deployments/web');
    try {
      await expectScreen('fought', 4, [
        'Application argocd/fought: OutOfSync · Healthy · operation Succeeded',
        'BROKEN: Deployment fought/web: field manager web-operator changes /spec/replicas each time it is restored. Automated sync goes on, with its backoff. If an autoscaler sets the replicas, remove them from Git, or add /spec/replicas to ignoreDifferences, since TIME (AGE)',
        'What to do   Stop the other writer, or add its fields to spec.ignoreDifferences',
        ...head('fought'),
        'Differs      1 of 2 resources',
        '             Deployment fought/web differs, last written by web-operator (Update) AGE ago',
        '               /spec/replicas: 4 instead of 2, changed by web-operator (Update) AGE ago',
        '               field manager web-operator undoes each repair',
        'Operation    sync by automated sync: Succeeded, AGE ago',
        '             successfully synced (all tasks run)',
        'Automation   automated sync did not start: self-heal attempt N waits for its backoff, until TIME (in AGE)',
        '               contest: another writer fights over 1 of 1 resources that differ',
      ]);
    } finally {
      await stop();
    }
  }, 300_000);

  it('the window that holds an automated sync, and until when', async () => {
    const begin = new Date(Date.now() - 120_000);
    const schedule = `${begin.getUTCMinutes()} ${begin.getUTCHours()} * * *`;
    const window = { kind: 'deny', schedule, duration: '70m', applications: ['held'], manualSync: true };
    await hub.api.patch('/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects/default', {
      spec: { syncWindows: [window] },
    });
    const where = { hub, folder: world.folder };
    await TestApplication.create(where, 'held', { files: { 'a.yaml': config('a') }, spec: automated });
    const held = `a sync window of project default: deny "${schedule}" for 70m (a sync by a user is permitted), until TIME (in AGE)`;
    await expectScreen('held', 3, [
      'Application argocd/held: OutOfSync · Missing',
      `WAITING: ${held}`,
      'What to do   Wait, or change spec.syncWindows of AppProject default',
      ...head('held'),
      'Differs      1 of 1 resource',
      '             ConfigMap held/a is missing in the cluster',
      'Health       ConfigMap held/a is Missing, since TIME (AGE)',
      `Automation   automated sync did not start: ${held}`,
    ]);
  }, 180_000);

  it('automated sync that is switched off, and the object that lacks a sync', async () => {
    const where = { hub, folder: world.folder };
    await TestApplication.create(where, 'off', { files: { 'a.yaml': config('a') } });
    await expectScreen('off', 3, [
      'Application argocd/off: OutOfSync · Missing',
      'WAITING: a sync by a user: automated sync is switched off',
      'What to do   Sync: driftless sync off; or switch automated sync on: spec.syncPolicy.automated',
      ...head('off'),
      'Differs      1 of 1 resource',
      '             ConfigMap off/a is missing in the cluster',
      'Health       ConfigMap off/a is Missing, since TIME (AGE)',
      'Automation   automated sync is switched off',
    ]);
  }, 180_000);
});

describe('through the pod proxy of a real API server', () => {
  // The next step that explain prints is a command that works.
  it('the printed command syncs, and a scaled Deployment names kubectl', async () => {
    const where = { hub, folder: world.folder };
    const spec = { syncPolicy: { syncOptions: ['CreateNamespace=true'] } };
    const app = await TestApplication.create(where, 'scaled', { files: { 'web.yaml': deployment() }, spec });
    const printed = async (): Promise<readonly string[]> => {
      const { lines } = await explain(viewer, 'scaled');
      return /Sync: driftless (sync \S+);/.exec(lines[2] ?? '')?.[1]?.split(' ') ?? [];
    };
    await eventually(async () => expect(await printed()).toEqual(['sync', 'scaled']), limitMs);
    const operator = await userWith('operator', [
      { apiGroups: ['argoproj.io'], resources: ['applications'], verbs: ['get', 'patch'] },
    ]);
    const command = await printed();
    const refused = await driftless([...command, '--kubeconfig', viewer]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('you need the right to patch applications.argoproj.io'),
    ]);
    const synced = await driftless([...command, '--wait', '--kubeconfig', operator]);
    expect(synced).toMatchObject({ code: 0, stdout: expect.stringContaining('operation Succeeded') });
    await app.isGood(undefined, { withinMs: limitMs, tail: () => pods.tail() });
    const path = '/apis/apps/v1/namespaces/scaled/deployments/web/scale?fieldManager=kubectl';
    await hub.api.patch(path, { spec: { replicas: 5 } });
    await eventually(async () => {
      const { code, lines } = await explain(viewer, 'scaled');
      expect(code).toBe(3);
      expect(lines.join('\n')).toMatch(
        /\/spec\/replicas: 5 instead of 2, changed by kubectl \(Update scale\) (?:AGE ago|at an unknown time)/,
      );
    }, limitMs);
  }, 180_000);

  it('a kind without a definition is broken, with the next step', async () => {
    const where = { hub, folder: world.folder };
    const widget = 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n';
    await TestApplication.create(where, 'undefined-kind', { files: { 'w.yaml': widget }, spec: automated });
    await eventually(async () => {
      const { code, lines } = await explain(viewer, 'undefined-kind');
      expect(code).toBe(4);
      expect(lines[1]).toContain('Widget.example.com undefined-kind/w: The Kubernetes API could not find');
      expect(lines[2]).toContain('Install the CustomResourceDefinition of Widget.example.com undefined-kind/w');
    }, limitMs);
  }, 180_000);

  it('one replica answers for the other', async () => {
    for (const name of ['driftless-0', 'driftless-1']) {
      const { code, lines } = await explain(viewer, 'replica', name);
      expect([code, lines[0]]).toEqual([0, expect.stringContaining(`Replica ${name} · shard ${name.slice(-1)}`)]);
    }
  }, 60_000);

  it('an unknown Application is answered with the nearest name', async () => {
    const { code, stderr } = await explain(viewer, 'of');
    expect([code, stderr]).toEqual([1, expect.stringContaining('did you mean argocd/off?')]);
  }, 60_000);

  it.each([
    ['no-proxy', [rights.owners, rights.applications], 'you need get on pods/proxy in namespace argocd'],
    ['no-owners', [rights.proxy, rights.applications], 'configmaps "argocd-app-controller-shard-cm" is forbidden'],
    [
      'no-applications',
      [rights.owners, rights.proxy],
      'this page needs the right to get applications.argoproj.io in namespace "argocd"',
    ],
  ])(
    'a user with %s gets exit code 1 and the right that is missing',
    async (name, rules, message) => {
      const kubeconfig = await userWith(name, rules);
      const { code, lines, stderr } = await explain(kubeconfig, 'off');
      expect([code, lines, stderr]).toEqual([1, [''], expect.stringContaining(message)]);
      expect(stderr).not.toContain('    at ');
    },
    60_000,
  );
});
