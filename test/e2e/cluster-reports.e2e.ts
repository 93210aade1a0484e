/** @seconds 180 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, widgetCrd } from '#support';
import { TestApplication } from './applications.ts';
import { ApiProxy } from './support/api-proxy.ts';
import type { ApiFault, ProxiedRequest } from './support/api-proxy.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { refreshed, UnderTest } from './under-test.ts';

/*
 * Public reports about clusters, their Secrets and permissions. A number is an issue of
 * github.com/argoproj/argo-cd, with another prefix one of github.com/fluxcd.
 */
const testMs = 180_000;
const automated = { automated: { selfHeal: true, prune: true } };
const secretsPath = '/api/v1/namespaces/argocd/secrets';
const account = 'limited';
const kinds = ['ConfigMap', 'Secret', 'Widget', 'CustomResourceDefinition'];
const values = {
  rbac: { clusterWrite: true },
  controller: { heartbeatTime: 2 },
  configs: {
    // Each cluster below is the same API server: watch only the kinds that matter.
    cm: {
      'resource.inclusions': `- apiGroups: ["*"]\n  kinds: [${kinds.join(', ')}]\n  clusters: ["*"]\n`,
      'application.resourceTrackingMethod': 'label',
    },
    params: { 'controller.sync.wave.delay.seconds': '0', 'controller.self.heal.backoff.timeout.seconds': '1' },
  },
};

const isSecrets = ({ verb, path }: ProxiedRequest): boolean => verb !== 'other' && path.endsWith('/secrets');
const unavailable = (status: number): ApiFault => ({ status, contentType: 'text/plain', text: 'not now' });
const healthy = (): undefined => undefined;
/** Clusters, and their faults from the beginning. Each is the same API server under another URL. */
const clusters: Readonly<Record<string, (request: ProxiedRequest) => ApiFault | undefined>> = {
  rotated: healthy,
  'few-kinds': healthy,
  unlisted: healthy,
  'no-list': (request) => (isSecrets(request) ? unavailable(504) : undefined),
  'endless-list': (request) => (isSecrets(request) ? 'no answer' : undefined),
  'no-schemas': ({ path }) => (path.startsWith('/openapi') ? unavailable(503) : undefined),
};

let world: Servers<'hub'>;
let hub: Server;
let double: ClusterDouble;
let controller: UnderTest;
let bearerToken: string;
let caData: string;
const proxies = new Map<string, ApiProxy>();

const tail = (): string => controller.pods.tail();
const within = { withinMs: 90_000, tail };
const configMap = (name = 'settings'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {colour: blue}\n`;
const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {colour: blue}\n';
const widget = 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: wheel}\n';
const both = { 'a.yaml': configMap(), 'b.yaml': secret };
const objectIn = (namespace: string, plural = 'configmaps', name = 'settings'): string =>
  `/api/v1/namespaces/${namespace}/${plural}/${name}`;

async function addCluster(name: string, fields: Readonly<Record<string, string>>, config: object): Promise<void> {
  await hub.api.create(secretsPath, {
    metadata: { name: `cluster-${name}`, labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
    stringData: { name, ...fields, config: JSON.stringify(config) },
  });
}

/** Creates a namespace, and an Application of this name that deploys into it. */
async function deploy(
  name: string,
  files: Readonly<Record<string, string>> = { 'a.yaml': configMap() },
  cluster = 'in-cluster',
): Promise<TestApplication> {
  if ((await hub.api.get(`/api/v1/namespaces/${name}`)) === undefined)
    await hub.api.create('/api/v1/namespaces', { metadata: { name } });
  const spec = { destination: { name: cluster, namespace: name }, syncPolicy: { ...automated, retry: { limit: 0 } } };
  return TestApplication.create({ hub, folder: world.folder }, name, { files, spec });
}

async function drift(namespace: string): Promise<void> {
  await hub.api.patch(objectIn(namespace), { data: { colour: 'red' } });
}

async function isHealed(namespace: string): Promise<void> {
  await eventually(async () => {
    const { data } = (await hub.api.get<{ data: { colour: string } }>(objectIn(namespace))) ?? {};
    if (data?.colour !== 'blue') throw new Error(`${namespace} is ${data?.colour ?? 'missing'}\n${tail()}`);
  }, within.withinMs);
}

async function isAbsent(path: string): Promise<void> {
  await eventually(async () => {
    if ((await hub.api.get(path)) !== undefined) throw new Error(`${path} is still there\n${tail()}`);
  }, within.withinMs);
}

async function conditionsOf(app: TestApplication): Promise<string> {
  const { status } = await app.read();
  return (status?.conditions ?? []).map(({ type, message }) => `${type}: ${message}`).join('\n');
}

async function says(app: TestApplication, text: RegExp): Promise<void> {
  await eventually(async () => expect(`${await conditionsOf(app)}\n${tail()}`).toMatch(text), within.withinMs);
}

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  ({ hub } = world.servers);
  double = await startDouble(hub.access);
  bearerToken = await hub.managerToken();
  caData = Buffer.from(hub.ca).toString('base64');
  await hub.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetCrd());
  await hub.kubectl(['create', 'serviceaccount', account, '-n', 'kube-system']);
  controller = await UnderTest.install({ server: hub, folder: world.folder, values });
  for (const [name, fault] of Object.entries(clusters)) {
    const proxy = await ApiProxy.start(hub);
    proxy.inject(fault);
    proxies.set(name, proxy);
    if (name !== 'few-kinds') await addCluster(name, { server: proxy.url }, { bearerToken });
  }
}, 300_000);
afterAll(async () => {
  await controller.stop();
  await Promise.all([...proxies.values()].map((proxy) => proxy.close()));
  await double.stop();
  await world.close();
});

describe('the Secret of a cluster', () => {
  it(
    'that loses and regains its right token deletes nothing, and heals without a restart (10167, 1220)',
    async () => {
      const app = await deploy('rotated', both, 'rotated');
      await app.isGood(undefined, within);
      const path = `${secretsPath}/cluster-rotated`;
      await hub.api.patch(path, { stringData: { config: JSON.stringify({ bearerToken: 'expired' }) } });
      await drift('rotated');
      await refreshed(hub, app.path, 'hard', within.withinMs);
      await says(app, /Unauthorized|not up to date/);
      expect(await hub.api.get(objectIn('rotated', 'secrets', 'login'))).toBeDefined();
      const renewed = await hub.token('kube-system', 'argocd-manager');
      await hub.api.patch(path, { stringData: { config: JSON.stringify({ bearerToken: renewed }) } });
      await isHealed('rotated');
      await app.isGood(undefined, within);
      await hub.api.delete(app.path);
      await app.isGone(within);
    },
    testMs,
  );

  it(
    'that is created again with another CA is used at once (2389)',
    async () => {
      const server = hub.url.replace('127.0.0.1', 'localhost');
      await addCluster('other-ca', { server }, { bearerToken });
      const app = await deploy('other-ca', { 'a.yaml': configMap() }, 'other-ca');
      await says(app, /certificate/);
      await hub.api.delete(`${secretsPath}/cluster-other-ca`);
      await addCluster('other-ca', { server }, { bearerToken, tlsClientConfig: { caData } });
      await app.isGood(undefined, within);
    },
    testMs,
  );

  it(
    'with an account that may not list a kind of its namespace blocks that kind only (17336)',
    async () => {
      const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/few-kinds';
      await hub.api.create('/api/v1/namespaces', { metadata: { name: 'few-kinds' } });
      const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }];
      await hub.api.create(`${path}/roles`, { metadata: { name: account }, rules });
      await hub.api.create(`${path}/rolebindings`, {
        metadata: { name: account },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: account },
        subjects: [{ kind: 'ServiceAccount', name: account, namespace: 'kube-system' }],
      });
      const token = await hub.token('kube-system', account);
      const server = proxies.get('few-kinds')?.url ?? '';
      await addCluster('few-kinds', { server, namespaces: 'few-kinds' }, { bearerToken: token });
      const app = await deploy('few-kinds', { 'a.yaml': configMap(), 'b.yaml': configMap('more') }, 'few-kinds');
      await app.isGood(undefined, within);
      await drift('few-kinds');
      await isHealed('few-kinds');
      app.git.commit({ 'b.yaml': null });
      await refreshed(hub, app.path, 'normal', within.withinMs);
      await isAbsent(objectIn('few-kinds', 'configmaps', 'more'));
    },
    testMs,
  );
});

describe('a cluster', () => {
  it(
    'whose lists of one kind time out has none of its objects deleted or called missing (10350)',
    async () => {
      await hub.api.create('/api/v1/namespaces', { metadata: { name: 'no-list' } });
      const tracked = { name: 'login', labels: { 'app.kubernetes.io/instance': 'no-list' } };
      for (const name of ['login', 'dropped'])
        await hub.api.create('/api/v1/namespaces/no-list/secrets', { metadata: { ...tracked, name } });
      const app = await deploy('no-list', both, 'no-list');
      await isHealed('no-list');
      await refreshed(hub, app.path, 'hard', within.withinMs);
      expect(await hub.api.get(objectIn('no-list', 'secrets', 'dropped'))).toBeDefined();
      expect((await app.read()).status?.health?.status).not.toBe('Missing');
      proxies.get('no-list')?.inject();
      await isAbsent(objectIn('no-list', 'secrets', 'dropped'));
      await app.isGood(undefined, within);
    },
    testMs,
  );

  it(
    'that never answers lists of one kind has other kinds synced and healed (18467)',
    async () => {
      await deploy('endless-list', { 'a.yaml': configMap() }, 'endless-list');
      await isHealed('endless-list');
      await drift('endless-list');
      await isHealed('endless-list');
    },
    testMs,
  );

  it(
    'that does not serve its OpenAPI documents is synced and healed (22757, 17368)',
    async () => {
      const app = await deploy('no-schemas', both, 'no-schemas');
      await app.isGood(undefined, within);
      await drift('no-schemas');
      await isHealed('no-schemas');
    },
    testMs,
  );

  it(
    'that refuses a deletion by admission has it repeated until it succeeds (kustomize-controller 1664)',
    async () => {
      const app = await deploy('denied', { 'a.yaml': configMap(), 'b.yaml': configMap('kept') });
      await app.isGood(undefined, within);
      const policies = '/apis/admissionregistration.k8s.io/v1';
      const matchConstraints = {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'denied' } },
      };
      await hub.api.create(`${policies}/validatingadmissionpolicies`, {
        metadata: { name: 'keep' },
        spec: { matchConstraints, validations: [{ expression: 'false', message: 'kept for the audit' }] },
      });
      await hub.api.create(`${policies}/validatingadmissionpolicybindings`, {
        metadata: { name: 'keep' },
        spec: { policyName: 'keep', validationActions: ['Deny'] },
      });
      await eventually(async () => {
        const path = `${objectIn('denied')}?dryRun=All`;
        const { status } = await hub.api.exchange({ method: 'DELETE', path });
        expect(status).not.toBe(200);
      }, within.withinMs);
      app.git.commit({ 'b.yaml': null });
      await refreshed(hub, app.path, 'normal', within.withinMs);
      await eventually(async () => {
        const { operationState } = (await app.read()).status ?? {};
        expect(JSON.stringify(operationState)).toContain('kept for the audit');
      }, within.withinMs);
      await hub.api.delete(app.path);
      await says(app, /kept for the audit/);
      await hub.api.delete(`${policies}/validatingadmissionpolicybindings/keep`);
      await app.isGone(within);
      expect(await hub.api.get(objectIn('denied'))).toBeUndefined();
      expect(await hub.api.get(objectIn('denied', 'configmaps', 'kept'))).toBeUndefined();
    },
    testMs,
  );

  it(
    'that loses a definition with its objects has the Application synced and deleted (kustomize-controller 90)',
    async () => {
      const app = await deploy('no-kind', { 'a.yaml': configMap(), 'w.yaml': widget });
      await eventually(async () => {
        const path = '/apis/example.com/v1/namespaces/no-kind/widgets/wheel';
        if ((await hub.api.get(path)) === undefined) throw new Error(`no Widget\n${tail()}`);
      }, within.withinMs);
      await hub.api.delete('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com');
      app.git.commit({ 'w.yaml': null });
      await refreshed(hub, app.path, 'normal', within.withinMs);
      await app.isGood(undefined, within);
      await hub.api.delete(app.path);
      await app.isGone(within);
      expect(await hub.api.get(objectIn('no-kind'))).toBeUndefined();
    },
    testMs,
  );
});

interface Role {
  readonly metadata: { readonly name: string };
  readonly rules: readonly { readonly resources?: readonly string[] }[];
}

/** Takes the right to read Secrets from the controller; the result gives it back. */
async function withoutSecrets(): Promise<() => Promise<void>> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const before: [path: string, rules: Role['rules']][] = [];
  for (const path of [`${rbac}/clusterroles`, `${rbac}/namespaces/argocd/roles`])
    for (const { metadata, rules } of await hub.api.list<Role>(
      `${path}?labelSelector=app.kubernetes.io/instance=driftless`,
    ))
      before.push([`${path}/${metadata.name}`, rules]);
  const others = ['configmaps', 'namespaces', 'events', 'applications', 'appprojects', 'statefulsets'];
  const reduced = (rule: Role['rules'][number]): readonly Role['rules'][number][] => {
    if (rule.resources === undefined) return [rule];
    const resources = rule.resources.flatMap((one) => (one === '*' ? others : one === 'secrets' ? [] : [one]));
    return resources.length === 0 ? [] : [{ ...rule, resources }];
  };
  for (const [path, rules] of before) await hub.api.patch(path, { rules: rules.flatMap(reduced) });
  return async () => {
    for (const [path, rules] of before) await hub.api.patch(path, { rules });
  };
}

it(
  'Secrets of clusters that cannot be listed at a start orphan nothing of a deleted Application (18480)',
  async () => {
    const app = await deploy('unlisted', { 'a.yaml': configMap() }, 'unlisted');
    await app.isGood(undefined, within);
    const giveBack = await withoutSecrets();
    // It is not ready before it may read Secrets.
    const rolled = controller.pods.roll().catch(() => undefined);
    await eventually(() => expect(controller.pods.log()).toMatch(/secrets.* is forbidden/), within.withinMs);
    await hub.api.delete(app.path);
    await expect(app.isGone({ withinMs: 5000 })).rejects.toThrow('is not gone');
    expect(await hub.api.get(objectIn('unlisted'))).toBeDefined();
    await giveBack();
    await rolled;
    await controller.pods.ready(within.withinMs);
    await app.isGone(within);
    expect(await hub.api.get(objectIn('unlisted'))).toBeUndefined();
  },
  testMs,
);

it(
  'a cascade after a change of the tracking method, before the next sync, leaves nothing behind (17361, 9781)',
  async () => {
    const app = await deploy('tracked', both);
    await app.isGood(undefined, within);
    const data = { 'application.resourceTrackingMethod': 'annotation' };
    await hub.api.patch('/api/v1/namespaces/argocd/configmaps/argocd-cm', { data });
    await hub.api.delete(app.path);
    await app.isGone(within);
    expect(await hub.api.get(objectIn('tracked'))).toBeUndefined();
    expect(await hub.api.get(objectIn('tracked', 'secrets', 'login'))).toBeUndefined();
  },
  testMs,
);
