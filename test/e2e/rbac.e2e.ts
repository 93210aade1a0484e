import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { get } from 'node:https';
import { text as textOf } from 'node:stream/consumers';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { GitFixture } from '../acceptance/world.ts';
import { permissionsOf, renderedController, repository, uses } from './rendered-controller.ts';
import type { GrantedPermission, RenderedController } from './rendered-controller.ts';
import { freePort, isBy, runTool, startDouble, startServers } from './support/index.ts';
import type { AuditEvent, ClusterDouble, Server, Servers } from './support/index.ts';

const applications = '/apis/argoproj.io/v1alpha1/namespaces';

/** A way to install, and the namespaces of its Applications and destinations. */
interface InstallMode {
  readonly values: object;
  /** Namespaces of Applications. */
  readonly from: readonly string[];
  /** Destination namespace. */
  readonly to: string;
  /** The destination namespace must be created, and the Application has a ClusterRole. */
  readonly clusterWide: boolean;
}

const modes: Readonly<Record<string, InstallMode>> = {
  'everything in the cluster': {
    values: { rbac: { clusterWrite: true }, dashboard: { enabled: true, viewer: { create: true, readObjects: true } } },
    from: ['argocd'],
    to: 'made-by-sync',
    clusterWide: true,
  },
  'namespaced mode': {
    values: { rbac: { namespaced: true, namespaces: ['team-a'] } },
    from: ['argocd'],
    to: 'team-a',
    clusterWide: false,
  },
  'single namespaces, Applications in another, a Deployment': {
    values: {
      // Beside an Argo CD the chart cannot read its ConfigMap: the values repeat it for the RBAC
      // rules.
      controller: { dynamicClusterDistribution: true, extraArgs: ['--application-namespaces=team-apps'] },
      rbac: { writeNamespaces: ['team-b'], applicationNamespaces: ['team-apps'] },
      dashboard: { enabled: true, viewer: { create: true } },
    },
    from: ['argocd', 'team-apps'],
    to: 'team-b',
    clusterWide: false,
  },
  'Applications in namespaces by pattern': {
    values: { configs: { params: { 'application.namespaces': 'team-*' } }, rbac: { clusterWrite: true } },
    from: ['argocd', 'team-apps'],
    to: 'made-by-sync',
    clusterWide: true,
  },
};

/**
 * Verbs that the API server checks during other requests; the audit log does not show them. Tested
 * below.
 */
const askedInside = new Set(['escalate', 'bind', 'impersonate']);

/** Used only when a caller with a token asks the read API. */
const usedForCallers = new Set([
  'argocd-driftless: create authentication.k8s.io/tokenreviews',
  'argocd-driftless: create authorization.k8s.io/subjectaccessreviews',
]);
/** This server streams lists of a namespace; one before 1.34 gets a list, then a watch. */
const asOnOlderServers = (event: AuditEvent): AuditEvent =>
  event.verb === 'watch' && event.requestURI.includes('sendInitialEvents=true') ? { ...event, verb: 'list' } : event;
/** A right of all users (ClusterRole system:basic-user). */
const isOwnReview = ({ objectRef }: AuditEvent): boolean => objectRef?.resource === 'selfsubjectaccessreviews';

const map = (name: string, text: string, more = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}data:\n  text: ${text}\n`;
/** A Role with permissions that the controller lacks, and its binding. */
const role = (kind: string): string =>
  `apiVersion: rbac.authorization.k8s.io/v1\nkind: ${kind}\nmetadata:\n  name: reaper-NAME\nrules:\n- apiGroups: ['']\n  resources: [pods]\n  verbs: [deletecollection]\n`;
const binding = `apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: reaper-NAME\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: reaper-NAME\nsubjects:\n- kind: ServiceAccount\n  name: default\n`;

/**
 * Read once, if permitted, to distinguish two clusters behind one URL
 * (live/discovery/capabilities.ts).
 */
const clusterIdentity = '/api/v1/namespaces/kube-system';

describe.each(Object.entries(modes))('the RBAC rules of the chart: %s', (_name, mode) => {
  let world: Servers<'hub'>;
  let hub: Server;
  let rendered: RenderedController;
  let double: ClusterDouble | undefined;
  let controller: ChildProcess | undefined;
  let output = '';
  let events: AuditEvent[];

  const create = (object: object): Promise<string> =>
    hub.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(object) });

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
    const own = {
      controller: {
        containerPorts: { metrics: await freePort(), api: await freePort() },
        heartbeatTime: 2,
        env: [{ name: 'DRIFTLESS_CACHE_DIR', value: join(world.folder, 'cache') }],
      },
    };
    rendered = await renderedController(merged(mode.values, own));
    await hub.kubectl(['apply', '--server-side', '-f', join(repository, 'manifests', 'crds')]);
    for (const name of ['applications', 'appprojects'])
      await eventually(async () => expect(await ask(`/apis/argoproj.io/v1alpha1/${name}`)).toBe(200));
    for (const name of ['argocd', 'team-a', 'team-b', 'team-apps']) await hub.kubectl(['create', 'namespace', name]);
    await create({ apiVersion: 'v1', kind: 'List', items: rendered.objects });
    await hub.kubectl([
      'patch',
      'appproject',
      '-n',
      'argocd',
      'default',
      '--type=merge',
      '-p',
      '{"spec":{"sourceNamespaces":["team-*"]}}',
    ]);
    double = await startDouble(hub.access);
    controller = await start();
  });
  afterAll(async () => {
    controller?.kill('SIGKILL');
    await double?.stop();
    await world.close();
  });

  /** Starts the controller with arguments, environment and ServiceAccount token of its pod. */
  async function start(): Promise<ChildProcess> {
    const access = await hub.as(rendered.namespace, rendered.serviceAccount);
    const kubeconfig = hub.kubeconfigFor(access, rendered.namespace);
    const main = join(repository, 'dist', 'cli', 'argocd-application-controller.js');
    const child = spawn(process.execPath, [main, ...rendered.args, `--kubeconfig=${kubeconfig}`], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        // As in each pod.
        KUBERNETES_SERVICE_HOST: '10.96.0.1',
        DRIFTLESS_EXIT_WITH_PARENT: 'true',
        DRIFTLESS_ALLOW_LOCAL_REPOSITORIES: 'true',
        DRIFTLESS_ALLOW_LOCAL_SOURCES: 'true',
        ...rendered.env(`${rendered.workload.metadata.name}-0`),
      },
    });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    return child;
  }

  const until = async (check: () => Promise<void>): Promise<void> =>
    eventually(check, 30_000).catch((error: unknown) => {
      throw new Error(`${String(error)}\n--- controller\n${output.slice(-6000)}`, { cause: error });
    });
  const ask = async (path: string): Promise<number> => (await hub.api.exchange({ method: 'GET', path })).status;
  const refresh = (namespace: string, name: string): Promise<string> =>
    hub.kubectl(['annotate', 'application', '-n', namespace, name, 'argocd.argoproj.io/refresh=normal', '--overwrite']);

  it('let the controller become ready', async () => {
    const port = /--metrics-port=(\d+)/.exec(rendered.args.join(' '))?.[1] ?? '';
    await until(async () => expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200));
  });

  it('let it deploy, repair, replace, prune and delete', async () => {
    for (const namespace of mode.from) await liveOf(namespace);
  });

  /** A page of the read API as a ServiceAccount sees it through the Service of the chart. */
  async function pageOf(path: string, account: string): Promise<{ readonly status: number; readonly body: string }> {
    const port = /--api-port=(\d+)/.exec(rendered.args.join(' '))?.[1] ?? '';
    const token = (await hub.kubectl(['create', 'token', account, '-n', 'argocd'])).trim();
    // The certificate is made at each start.
    const options = { rejectUnauthorized: false, headers: { authorization: `Bearer ${token}` } };
    return new Promise((resolve, reject) => {
      get(`https://127.0.0.1:${port}${path}`, options, (response) => {
        textOf(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      }).on('error', reject);
    });
  }

  const withViewer = 'dashboard' in mode.values ? it : undefined;
  withViewer?.('let its viewer see the whole fleet and write nothing', async () => {
    const service = rendered.objects.find(
      ({ kind, metadata }) => kind === 'Service' && metadata.name.includes('dashboard'),
    );
    expect(service).toMatchObject({ spec: { ports: [{ port: 443, targetPort: 'api' }] } });
    const index = await pageOf('/', 'driftless-viewer');
    expect(index).toMatchObject({ status: 200, body: expect.stringContaining('Driftless') });
    for (const page of ['ownership', 'clusters', 'queues', 'repositories', 'history', 'plan'])
      expect(await pageOf(`/api/v1/${page}`, 'driftless-viewer')).toMatchObject({ status: 200 });
    for (const namespace of mode.from) {
      const object = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', metadata: { name: 'seen', namespace } };
      const spec = {
        project: 'default',
        source: { repoURL: 'file:///none', path: '.' },
        destination: { server: 'https://kubernetes.default.svc', namespace: mode.to },
      };
      await create({ ...object, spec });
      await until(async () =>
        expect(await pageOf(`/api/v1/applications/${namespace}/seen`, 'driftless-viewer')).toMatchObject({
          status: 200,
        }),
      );
      await hub.kubectl(['delete', 'application', '-n', namespace, 'seen']);
    }
    expect(await pageOf('/api/v1/ownership', 'default')).toMatchObject({ status: 403 });
    const writes = await hub.kubectl([
      'auth',
      'can-i',
      '--list',
      '-n',
      'argocd',
      '--as=system:serviceaccount:argocd:driftless-viewer',
    ]);
    const verbs = /\[[^\]]*(?:create|update|patch|delete|\*)[^\]]*\]\s*$/;
    // Every account may ask for its own rights.
    const found = writes.split('\n').filter((line) => verbs.test(line) && !line.includes('selfsubject'));
    expect(found).toEqual([]);
  });

  /** Runs an Application through all operations. */
  async function liveOf(namespace: string): Promise<void> {
    const name = `app-${namespace}`;
    const git = new GitFixture(world.folder, name);
    const maps = `/api/v1/namespaces/${mode.to}/configmaps`;
    const text = async (item: string): Promise<unknown> =>
      (await hub.api.get<{ data: { text: string } }>(`${maps}/${item}`))?.data.text;
    git.commit({
      'kept.yaml': map(`kept-${namespace}`, 'one'),
      'pruned.yaml': map(`pruned-${namespace}`, 'one'),
      'role.yaml': role('Role').replaceAll('NAME', namespace),
      'binding.yaml': binding.replaceAll('NAME', namespace),
      ...(mode.clusterWide ? { 'cluster-role.yaml': role('ClusterRole').replaceAll('NAME', namespace) } : {}),
    });
    await create({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace, finalizers: ['resources-finalizer.argocd.argoproj.io'] },
      spec: {
        project: 'default',
        source: { repoURL: git.url, path: '.', targetRevision: 'main' },
        destination: { server: 'https://kubernetes.default.svc', namespace: mode.to },
        syncPolicy: {
          automated: { prune: true, selfHeal: true },
          syncOptions: mode.clusterWide ? ['CreateNamespace=true'] : [],
        },
      },
    });
    await until(async () => expect(await text(`pruned-${namespace}`)).toBe('one'));
    await until(async () =>
      expect(
        await ask(`/apis/rbac.authorization.k8s.io/v1/namespaces/${mode.to}/rolebindings/reaper-${namespace}`),
      ).toBe(200),
    );
    const kept = `kept-${namespace}`;
    await hub.kubectl(['patch', 'configmap', '-n', mode.to, kept, '--type=merge', '-p', '{"data":{"text":"drift"}}']);
    await until(async () => expect(await text(kept)).toBe('one'));
    const options = '  annotations:\n    argocd.argoproj.io/sync-options: Replace=true\n';
    git.commit({ 'kept.yaml': map(kept, 'two', options), 'pruned.yaml': null });
    await refresh(namespace, name);
    await until(async () => expect(await text(kept)).toBe('two'));
    await until(async () => expect(await text(`pruned-${namespace}`)).toBeUndefined());
    await hub.api.delete(`${applications}/${namespace}/applications/${name}`);
    await until(async () => expect(await ask(`${applications}/${namespace}/applications/${name}`)).toBe(404));
    expect(await text(kept)).toBeUndefined();
  }

  it('let it remove the finalizer of a project', async () => {
    const metadata = { name: 'unused', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] };
    await create({ apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata, spec: {} });
    await hub.api.delete(`${applications}/argocd/appprojects/unused`);
    await until(async () => expect(await ask(`${applications}/argocd/appprojects/unused`)).toBe(404));
  });

  it.each([
    ['argocd-app-controller-shard-cm', 'shardControllerMapping'],
    ['driftless-ownership', 'table'],
  ])('let it replace ConfigMap %s, which was damaged and made immutable', async (name, key) => {
    const uidOf = (): Promise<string> =>
      hub.kubectl(['get', 'configmap', '-n', 'argocd', name, '-o', 'jsonpath={.metadata.uid}']);
    const before = await uidOf();
    const patch = JSON.stringify({ immutable: true, data: { [key]: '{' } });
    await hub.kubectl(['patch', 'configmap', '-n', 'argocd', name, '--type=merge', '-p', patch]);
    await until(async () => expect(await uidOf()).not.toBe(before));
  });

  it('let it keep the settings in force, and their changes', async () => {
    for (const pointer of ['/spec/a', '/spec/b']) {
      const rules = { 'resource.customizations.ignoreDifferences.example.com_Thing': `jsonPointers: [${pointer}]` };
      const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'argocd-cm' }, data: rules };
      const apply = ['apply', '--server-side', '--force-conflicts', '-n', 'argocd', '-f', '-'];
      await hub.kubectl(apply, { input: JSON.stringify(settings) });
      const read = ['get', 'configmap', '-n', 'argocd', 'driftless-settings', '-o', 'json'];
      await until(async () => expect(await hub.kubectl(read)).toContain(pointer));
    }
  });

  it('let it keep parameters that narrow, for a start while argocd-cmd-params-cm is missing', async () => {
    const parameters = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'argocd-cmd-params-cm' } };
    const data = { 'controller.repo.server.strict.tls': 'true' };
    const apply = ['apply', '--server-side', '--force-conflicts', '-n', 'argocd', '-f', '-'];
    await hub.kubectl(apply, { input: JSON.stringify({ ...parameters, data }) });
    const restart = async (): Promise<void> => {
      const ended = new Promise((resolve) => controller?.once('close', resolve));
      controller?.kill('SIGKILL');
      await ended;
      output = '';
      controller = await start();
    };
    await restart();
    const read = ['get', 'configmap', '-n', 'argocd', 'driftless-settings', '-o', 'jsonpath={.metadata.annotations}'];
    await until(async () => expect(await hub.kubectl(read)).toContain('controller.repo.server.strict.tls'));
    await hub.kubectl(['delete', 'configmap', '-n', 'argocd', 'argocd-cmd-params-cm']);
    await restart();
    await until(async () => expect(output).toContain('last values of controller.repo.server.strict.tls stay in force'));
    expect(await hub.kubectl(read)).toContain('controller.repo.server.strict.tls');
  });

  const ownEvents = (): AuditEvent[] =>
    hub.audit().filter((event) => isBy(event, rendered.namespace, rendered.serviceAccount));

  it('are necessary: each was used', async () => {
    // A request is in the audit log only after its effect can be seen.
    await until(async () => {
      events = ownEvents();
      const unused = permissionsOf(rendered.granted).filter(
        (permission) =>
          !askedInside.has(permission.verb) &&
          !events.some((event) => uses(event, permission) || uses(asOnOlderServers(event), permission)),
      );
      expect(unused.map(describePermission).filter((text) => !usedForCallers.has(text))).toEqual([]);
    });
  });

  it('are sufficient: no request was forbidden', () => {
    events = ownEvents();
    expect(events.length).toBeGreaterThan(50);
    const forbidden = events.filter(
      (event) =>
        event.requestURI !== clusterIdentity &&
        (event.annotations?.['authorization.k8s.io/decision'] !== 'allow' || event.responseStatus?.code === 403),
    );
    expect([...new Set(forbidden.map(({ verb, requestURI }) => `${verb} ${requestURI}`))]).toEqual([]);
  });

  it('allow every request, together with the discovery rules of all users', () => {
    const permissions = permissionsOf(rendered.granted);
    const elsewhere = events.filter(
      (event) =>
        event.objectRef !== undefined &&
        event.requestURI !== clusterIdentity &&
        !isOwnReview(event) &&
        !permissions.some((one) => uses(event, one)),
    );
    expect([...new Set(elsewhere.map(({ verb, requestURI }) => `${verb} ${requestURI}`))]).toEqual([]);
  });
});

describe('verbs that only the API server checks', () => {
  let world: Servers<'hub'>;
  let hub: Server;

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
    for (const name of ['argocd', 'team-a']) await hub.kubectl(['create', 'namespace', name]);
    await hub.kubectl(['create', 'serviceaccount', '-n', 'team-a', 'deployer']);
  });
  afterAll(async () => {
    await world.close();
  });

  /**
   * Applies the RBAC rules of the chart. Returns kubectl as its ServiceAccount, with the result as
   * text.
   */
  async function as(values: object): Promise<(args: readonly string[], input?: string) => Promise<string>> {
    const { objects, namespace, serviceAccount } = await renderedController(values);
    const kinds = ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];
    await hub.kubectl(['delete', 'role,rolebinding', '-n', 'team-a', '--all']);
    await hub.kubectl(['delete', 'clusterrole,clusterrolebinding', '-l', 'driftless.io/release=driftless']);
    const items = objects.filter(({ kind }) => kinds.includes(kind));
    await hub.kubectl(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
    const kubeconfig = hub.kubeconfigFor(await hub.as(namespace, serviceAccount), 'team-a');
    return async (args, input) => {
      const { code, stderr } = await runTool('kubectl', ['--kubeconfig', kubeconfig, ...args], {
        env: { HOME: world.folder },
        ...(input === undefined ? {} : { input }),
      });
      return code === 0 ? 'allowed' : /forbidden|attempting to grant/i.test(stderr) ? 'forbidden' : stderr;
    };
  }

  const where = {
    'rbac.clusterWrite': { clusterWrite: true },
    'rbac.writeNamespaces': { writeNamespaces: ['team-a'] },
  };

  it.each(Object.entries(where))('escalate and bind, with %s', async (_name, rbac) => {
    const may = async (grantRoles: boolean): Promise<string[]> => {
      const kubectl = await as({ rbac: { ...rbac, grantRoles } });
      await eventually(async () =>
        expect(await kubectl(['create', 'configmap', 'x', '--dry-run=server'])).toBe('allowed'),
      );
      const made = await kubectl(['create', '-n', 'team-a', '-f', '-'], role('Role'));
      await hub.try('kubectl', ['create', '-n', 'team-a', '-f', '-'], { input: role('Role') });
      return [made, await kubectl(['create', '-n', 'team-a', '-f', '-'], binding)];
    };
    expect(await may(false)).toEqual(['forbidden', 'forbidden']);
    expect(await may(true)).toEqual(['allowed', 'allowed']);
  });

  it.each([
    { rbac: { impersonation: true } },
    { configs: { cm: { 'application.sync.impersonation.enabled': 'true' } } },
  ])('impersonate, with %j', async (values) => {
    const acting = ['get', '--raw=/version', '--as=system:serviceaccount:team-a:deployer'];
    const without = await as({});
    await eventually(async () => expect(await without(['get', 'pods'])).toBe('allowed'));
    expect(await without(acting)).toBe('forbidden');
    const kubectl = await as(values);
    await eventually(async () => expect(await kubectl(acting)).toBe('allowed'));
    expect(await kubectl(['get', '--raw=/version', '--as=somebody'])).toBe('forbidden');
  });
});

function describePermission({ granted, verb, group, resource, rule }: GrantedPermission): string {
  const names = rule.resourceNames === undefined ? '' : ` ${rule.resourceNames.join(',')}`;
  return `${granted.role}${granted.namespace === undefined ? '' : ` in ${granted.namespace}`}: ${verb} ${group}/${resource}${names}`;
}

/** Merges two values files like helm. */
function merged(a: object, b: object): object {
  const isMap = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const result = new Map<string, unknown>(Object.entries(a));
  for (const [key, value] of Object.entries(b) as [string, unknown][]) {
    const known = result.get(key);
    result.set(key, isMap(value) && isMap(known) ? merged(known, value) : value);
  }
  return Object.fromEntries(result);
}
