/** @seconds 270 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ClusterResponse } from '#api';
import { eventually, SocksProxy } from '#support';
import { TestApplication } from './applications.ts';
import { isBy, startDouble, startServers } from './support/index.ts';
import type { AuditEvent, ClusterDouble, Server, Servers } from './support/index.ts';
import { refreshed, UnderTest } from './under-test.ts';

const account = 'limited';
const canary = 'c4nary';
const role = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${account}`;
const namespace = 'team';
const automated = { automated: { selfHeal: true, prune: true } };
const files = {
  'settings.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: blue}\n',
  'login.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {user: me}\n',
};
const secretAt = `/api/v1/namespaces/${namespace}/secrets/login`;

/** Full access to ConfigMaps; for Secrets only the verbs that a sync needs, without list. */
const few = [
  { apiGroups: [''], resources: ['configmaps', 'namespaces'], verbs: ['*'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update', 'patch', 'delete'] },
];
const more = [...few, { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }];

interface Application {
  readonly status?: {
    readonly sync?: { readonly status?: string };
    readonly resources?: readonly {
      readonly kind: string;
      readonly status?: string;
      readonly requiresPruning?: boolean;
    }[];
    readonly conditions?: readonly { readonly type: string; readonly message: string }[];
  };
}

let world: Servers<'hub' | 'managed'>;
let hub: Server;
let managed: Server;
let doubles: readonly ClusterDouble[] = [];
let controller: UnderTest | undefined;
let proxy: SocksProxy;

beforeEach(async () => {
  world = await startServers({ names: ['hub', 'managed'] });
  ({ hub, managed } = world.servers);
  doubles = await Promise.all([hub, managed].map((server) => startDouble(server.access)));
  proxy = await SocksProxy.start({ login: `me:${canary}` });
  await managed.kubectl(['create', 'namespace', namespace]);
  await managed.kubectl(['create', 'serviceaccount', account, '-n', 'kube-system']);
  await managed.api.create(role.slice(0, role.lastIndexOf('/')), { metadata: { name: account }, rules: few });
  const binding = ['create', 'clusterrolebinding', account, `--clusterrole=${account}`];
  await managed.kubectl([...binding, `--serviceaccount=kube-system:${account}`]);
}, 120_000);
afterEach(async () => {
  await controller?.stop();
  controller = undefined;
  await Promise.all(doubles.map((double) => double.stop()));
  await proxy.close();
  await world.close();
}, 120_000);

/** With few kinds, one that is left out is tried again after 13 s instead of a minute. */
const fewKinds = {
  'resource.inclusions': JSON.stringify([
    { apiGroups: ['', 'apps'], kinds: ['ConfigMap', 'Secret', 'Deployment'], clusters: ['*'] },
  ]),
};

/** Installs the chart with the settings, and adds the managed cluster. */
async function install(cm: Readonly<Record<string, string>>, proxyUrl?: string): Promise<void> {
  controller = await UnderTest.install({
    server: hub,
    folder: world.folder,
    values: { rbac: { clusterWrite: true }, configs: { cm } },
  });
  const { token, ca = '' } = await managed.as('kube-system', account);
  const config = { bearerToken: token, tlsClientConfig: { caData: Buffer.from(ca).toString('base64') }, proxyUrl };
  await hub.api.create('/api/v1/namespaces/argocd/secrets', {
    metadata: { name: 'cluster-managed', labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
    stringData: { name: 'managed', server: managed.url, config: JSON.stringify(config) },
  });
}

function create(name: string): Promise<TestApplication> {
  const spec = { destination: { name: 'managed', namespace }, syncPolicy: automated };
  return TestApplication.create({ hub, folder: world.folder }, name, { files, spec });
}

function tail(): string {
  return controller?.pods.tail() ?? '';
}

/** Requests of the controller to the managed cluster. */
function asked(): readonly AuditEvent[] {
  return managed.audit().filter((event) => isBy(event, 'kube-system', account));
}

async function leftOut(): Promise<readonly string[]> {
  const text = await controller?.pods.all()[0]?.page('clusters/managed');
  const { owners } = JSON.parse(text ?? '{"owners":[]}') as Pick<ClusterResponse, 'owners'>;
  const kinds = owners.flatMap(({ watched }) => watched.filter(({ state }) => state === 'left-out'));
  return kinds.map(({ group, kind }) => `${group}/${kind}`.replace(/^\//, ''));
}

async function statusOf(app: TestApplication): Promise<NonNullable<Application['status']>> {
  return (await hub.api.get<Application>(app.path))?.status ?? {};
}

describe('a ServiceAccount that may list only some kinds, on a real API server', () => {
  it('without resource.respectRBAC a condition names the kind that may not be listed', async () => {
    await install({ 'resource.respectRBAC': '' });
    const app = await create('told');
    await eventually(async () => {
      const { sync, conditions = [] } = await statusOf(app);
      expect(sync?.status).toBe('Synced');
      expect(conditions.map(({ type, message }) => `${type}: ${message}`)).toEqual([
        expect.stringMatching(
          /^StaleResourceWarning: The live state of \/Secret is not up to date, .* secrets is forbidden: User "system:serviceaccount:kube-system:limited" cannot list/,
        ),
      ]);
    }, 60_000);
    expect(await leftOut()).toEqual([]);
  }, 180_000);

  it.each([
    ['normal', false],
    ['strict', true],
  ])(
    'with %s objects of other kinds are synced, healed, kept, and pruned once the kind may be listed',
    async (mode, reviews) => {
      await install({ 'resource.respectRBAC': mode, ...fewKinds });
      const app = await create(mode);
      await app.isGood(undefined, { tail });
      expect((await statusOf(app)).conditions ?? []).toEqual([]);
      const kinds = await leftOut();
      expect(kinds).toContain('Secret');
      expect(kinds).toContain('apps/Deployment');
      expect(kinds).not.toContain('ConfigMap');
      expect(await controller?.metric('driftless_cluster_kinds{server="' + managed.url + '",state="left-out"}')).toBe(
        kinds.length,
      );
      const questions = asked().filter(({ objectRef }) => objectRef?.resource === 'selfsubjectaccessreviews');
      expect(questions.length > 0).toBe(reviews);

      await managed.kubectl([
        'patch',
        'secret/login',
        '-n',
        namespace,
        '--type=merge',
        '-p',
        '{"stringData":{"user":"you"}}',
      ]);
      await refreshed(hub, app.path, 'normal');
      const user = async (): Promise<string | undefined> =>
        (await managed.api.get<{ data: { user: string } }>(secretAt))?.data.user;
      await eventually(async () => expect(await user()).toBe(Buffer.from('me').toString('base64')), 60_000);
      await app.isGood(undefined, { tail });

      app.git.commit({ 'login.yaml': null });
      await refreshed(hub, app.path, 'normal');
      await eventually(async () => {
        const { resources = [], conditions = [] } = await statusOf(app);
        expect(resources.find(({ kind }) => kind === 'Secret')).toMatchObject({
          status: 'OutOfSync',
          requiresPruning: true,
        });
        expect(conditions.find(({ type }) => type === 'StaleResourceWarning')?.message).toMatch(
          /^The live state of \/Secret is not up to date, nothing of this kind is pruned: left out because of resource\.respectRBAC: secrets is forbidden/,
        );
      }, 60_000);
      expect(await user()).toBeDefined();

      await managed.api.patch(role, { rules: more });
      await eventually(async () => expect(await leftOut()).not.toContain('Secret'), 120_000);
      await refreshed(hub, app.path, 'normal');
      await eventually(async () => expect(await user()).toBeUndefined(), 60_000);
      await app.isGood(undefined, { tail });
    },
    480_000,
  );

  it('works through a SOCKS proxy with user and password, and without direct connections', async () => {
    await install({ 'resource.respectRBAC': 'normal' }, `socks5://me:${canary}@127.0.0.1:${proxy.port}`);
    const app = await create('tunnelled');
    await app.isGood(undefined, { tail });
    expect((await leftOut()).length).toBeGreaterThan(20);
    const { host } = new URL(managed.url);
    expect(new Set(proxy.asked)).toEqual(new Set([`address ${host}`]));
    // The watch reports a change of the ConfigMap.
    await managed.kubectl([
      'patch',
      'configmap/settings',
      '-n',
      namespace,
      '--type=merge',
      '-p',
      '{"data":{"colour":"red"}}',
    ]);
    await eventually(async () => {
      const path = `/api/v1/namespaces/${namespace}/configmaps/settings`;
      expect((await managed.api.get<{ data: object }>(path))?.data).toEqual({ colour: 'blue' });
    }, 60_000);
    // The outputs of the pod must not contain the password; UnderTest checks the others when it
    // ends.
    expect(controller?.pods.log()).not.toContain(canary);
    const { port } = proxy;
    await proxy.close();
    const other = await create('cut-off');
    await eventually(async () => {
      await refreshed(hub, other.path, 'normal');
      const { conditions = [] } = await statusOf(other);
      expect(conditions.map(({ message }) => message).join()).not.toContain(canary);
      expect(conditions.map(({ message }) => message).join()).toMatch(
        new RegExp(`its proxy socks5://\\*\\*\\*@127[.]0[.]0[.]1:${port}`),
      );
    }, 120_000);
  }, 360_000);
});
