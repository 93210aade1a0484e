import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { chartFolder, renderChart, renderedController, repository } from './rendered-controller.ts';
import type { RenderedObject } from './rendered-controller.ts';
import { mustRun, runTool, startServers, toolPath } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';

/** Values that together reach every branch of the templates. */
const matrix: Readonly<Record<string, object>> = {
  defaults: {},
  'three shards, tuned': {
    controller: {
      replicas: 3,
      statusProcessors: 50,
      operationProcessors: 25,
      heartbeatTime: 20,
      sharding: { algorithm: 'consistent-hashing', clusterSplit: 4 },
      extraArgs: ['--loglevel=debug'],
      env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=2048' }],
      envFrom: [{ secretRef: { name: 'proxy', optional: true } }],
      resources: { limits: { memory: '4Gi' } },
      emptyDir: { sizeLimit: '10Gi' },
    },
  },
  'dynamic distribution': {
    controller: { dynamicClusterDistribution: true, replicas: 3, sharding: { clusterSplit: 'auto' } },
  },
  autoscaling: { controller: { autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 12 } } },
  'autoscaling of a Deployment': {
    controller: { dynamicClusterDistribution: true, autoscaling: { enabled: true, targetAverageValue: 500 } },
  },
  'all of Prometheus and Grafana': {
    controller: {
      metrics: {
        service: { annotations: { a: 'b' }, labels: { c: 'd' } },
        serviceMonitor: {
          enabled: true,
          scrapeTimeout: '20s',
          additionalLabels: { release: 'prometheus' },
          relabelings: [{ action: 'labeldrop', regex: 'endpoint' }],
        },
        rules: { enabled: true, disabled: ['DriftlessAbsent'], spec: [{ alert: 'Mine', expr: 'up == 0' }] },
        dashboards: { enabled: true, annotations: { 'grafana.com/folder': 'GitOps' } },
      },
    },
  },
  'a dashboard with an Ingress and a viewer': {
    dashboard: {
      enabled: true,
      grafanaUrl: 'https://grafana.example',
      service: { type: 'LoadBalancer', port: 8443, labels: { a: 'b' }, annotations: { c: 'd' } },
      ingress: {
        enabled: true,
        ingressClassName: 'nginx',
        hosts: ['driftless.example.com'],
        tlsSecret: 'driftless-tls',
        annotations: { 'nginx.ingress.kubernetes.io/backend-protocol': 'HTTPS' },
      },
      viewer: { create: true, name: 'watcher', readObjects: true },
    },
    rbac: { applicationNamespaces: ['team-a'] },
  },
  'no metrics, no budget, no policy': {
    controller: { metrics: { enabled: false }, pdb: { enabled: false }, networkPolicy: { create: false } },
  },
  'closed network': {
    controller: {
      networkPolicy: {
        metricsFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
        egressPorts: [{ port: 443 }, { port: 22, protocol: 'TCP' }],
        egressTo: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
      },
    },
  },
  'settings, repositories, clusters': {
    configs: {
      params: { 'controller.status.processors': 1_000_000, 'controller.log.level': 'debug', 'server.insecure': true },
      cm: { 'timeout.reconciliation': '60s', 'resource.customizations': 'apps/Deployment:\n  health.lua: |\n    x\n' },
      repositories: { one: { url: 'https://git.example.com/one', username: 'u', password: 'p' } },
      credentialTemplates: { all: { url: 'https://git.example.com', insecure: true } },
      clusterCredentials: {
        production: {
          server: 'https://10.0.0.1',
          namespaces: ['a', 'b'],
          clusterResources: true,
          shard: 1,
          project: 'team',
          labels: { env: 'production' },
          annotations: { 'driftless.io/split': '4' },
          config: { bearerToken: 't', tlsClientConfig: { insecure: false, caData: 'YQ==' } },
        },
      },
      ssh: {
        knownHosts: 'git.example.com ssh-ed25519 AAAA\n',
        extraHosts: 'b ssh-ed25519 AAAA',
        annotations: { a: 'b' },
      },
      tls: { certificates: { 'git.example.com': '-----BEGIN CERTIFICATE-----\n' } },
      secret: { createSecret: true, extra: { 'webhook.github.secret': 's' } },
    },
  },
  'rights for everything': { rbac: { clusterWrite: true } },
  'rights by list': {
    rbac: { clusterWrite: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['create', 'patch'] }] },
  },
  'rights by namespace': { rbac: { writeNamespaces: ['team-a', 'team-b'], grantRoles: false, impersonation: true } },
  'namespaced mode': { rbac: { namespaced: true, namespaces: ['team-a', 'team-b'], impersonation: true } },
  'Applications in named namespaces': { configs: { params: { 'application.namespaces': 'team-a, team-b' } } },
  'Applications in namespaces by pattern': { configs: { params: { 'application.namespaces': 'team-*' } } },
  'only other clusters': { configs: { cm: { 'cluster.inClusterEnabled': 'false' } } },
  'drop-in': { dropIn: true, rbac: { clusterWrite: true } },
  'own account, own rights, no CRDs': {
    controller: { serviceAccount: { create: false, name: 'mine' } },
    rbac: { create: false },
    crds: { install: false },
    defaultProject: { create: false },
  },
  'everything about the pod': {
    nameOverride: 'gitops',
    global: {
      additionalLabels: { team: 'platform' },
      imagePullSecrets: [{ name: 'pull' }],
      image: { repository: 'registry.example.com/driftless', digest: `sha256:${'0'.repeat(64)}` },
    },
    controller: {
      initContainers: [{ name: 'init', image: 'busybox:1' }],
      extraContainers: [{ name: 'side', image: 'busybox:1' }],
      volumes: [{ name: 'extra', emptyDir: {} }],
      volumeMounts: [{ name: 'extra', mountPath: '/extra' }],
      hostNetwork: true,
      dnsPolicy: 'ClusterFirstWithHostNet',
      dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
      hostAliases: [{ ip: '10.0.0.9', hostnames: ['git.example.com'] }],
      annotations: { a: 'b' },
      labels: { c: 'd' },
      podAnnotations: { e: 'f' },
      podLabels: { g: 'h' },
      tolerations: [{ operator: 'Exists' }],
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }],
      priorityClassName: 'system-cluster-critical',
      schedulerName: 'other',
      updateStrategy: { type: 'OnDelete' },
      livenessProbe: { enabled: false },
      startupProbe: { enabled: false },
      pdb: { minAvailable: '50%' },
    },
    extraObjects: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ include "driftless.fullname" . }}-extra' } },
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-text\n',
    ],
  },
};

/** CRDs of the Prometheus operator without validation, so that objects can be stored. */
const foreignKinds = ['ServiceMonitor', 'PrometheusRule'].map((kind) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${kind.toLowerCase()}s.monitoring.coreos.com` },
  spec: {
    group: 'monitoring.coreos.com',
    scope: 'Namespaced',
    names: { kind, plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}));

interface Workload {
  readonly spec: { readonly replicas: number; readonly template: unknown };
}

describe('the chart on a real API server', () => {
  let world: Servers<'hub'>;
  let hub: Server;

  const install = (namespace: string, values: object, ...words: readonly string[]): Promise<string> =>
    hub.helm(['upgrade', '--install', 'driftless', chartFolder, '-n', namespace, '--values', '-', ...words], {
      input: JSON.stringify(values),
    });
  const names = async (namespace: string, kinds: string): Promise<string[]> =>
    (await hub.kubectl(['get', kinds, '-n', namespace, '-o', 'name'])).split('\n').filter((line) => line !== '');
  const statefulSet = (namespace: string): Promise<Workload | undefined> =>
    hub.api.get<Workload>(`/apis/apps/v1/namespaces/${namespace}/statefulsets/driftless`);

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
  });
  afterAll(async () => {
    await world.close();
  });

  it('installs on an empty cluster, scales without new pods, and keeps CRDs, projects and settings when uninstalled', async () => {
    await install('argocd', {}, '--create-namespace');
    const before = await statefulSet('argocd');
    expect(before?.spec.replicas).toBe(1);
    expect(await names('argocd', 'appprojects')).toEqual(['appproject.argoproj.io/default']);
    expect(await names('argocd', 'configmaps')).toEqual(
      expect.arrayContaining(['configmap/argocd-cm', 'configmap/argocd-cmd-params-cm']),
    );
    await hub.kubectl(['label', '-n', 'argocd', 'appproject', 'default', 'mine=yes']);

    const notes = await install('argocd', { controller: { replicas: 3 } });
    const after = await statefulSet('argocd');
    expect(after?.spec).toEqual({ ...before?.spec, replicas: 3 });
    expect(notes).toContain('--set controller.replicas=3');
    // Existing objects belong to the user: they are not changed.
    expect(await hub.kubectl(['get', '-n', 'argocd', 'appproject', '-l', 'mine=yes', '-o', 'name'])).toContain(
      'default',
    );

    await hub.helm(['uninstall', 'driftless', '-n', 'argocd']);
    expect(await names('argocd', 'statefulsets,services,roles,rolebindings,networkpolicies,pdb')).toEqual([]);
    expect(await names('argocd', 'appprojects')).toEqual(['appproject.argoproj.io/default']);
    expect(await names('argocd', 'configmaps')).toEqual(
      expect.arrayContaining(['configmap/argocd-cm', 'configmap/argocd-cmd-params-cm']),
    );
    expect(await hub.kubectl(['get', 'crd', '-o', 'name'])).toContain('applications.argoproj.io');
    // It installs again over the kept objects; the other kind of workload replaces the first one.
    await install('argocd', {});
    await install('argocd', { controller: { dynamicClusterDistribution: true } });
    expect(await names('argocd', 'statefulsets,deployments')).toEqual(['deployment.apps/driftless']);
    await hub.helm(['uninstall', 'driftless', '-n', 'argocd']);
  });

  it('keeps the number of replicas of an autoscaler at an upgrade', async () => {
    const values = { crds: { install: false }, controller: { autoscaling: { enabled: true } } };
    await install('scaled', values, '--create-namespace');
    await hub.kubectl(['scale', '-n', 'scaled', 'sts/driftless', '--replicas=4']);
    await install('scaled', { ...values, configs: { params: { 'controller.log.level': 'debug' } } });
    expect((await statefulSet('scaled'))?.spec.replicas).toBe(4);
    await hub.helm(['uninstall', 'driftless', '-n', 'scaled']);
  });

  it('replaces the controller of an Argo CD, but refuses to run beside it', async () => {
    const theirs = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: {
        name: 'argocd-application-controller',
        labels: { 'app.kubernetes.io/component': 'application-controller' },
      },
      spec: {
        replicas: 1,
        serviceName: 'x',
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    };
    await hub.kubectl(['create', 'namespace', 'existing']);
    await hub.kubectl(['create', '-n', 'existing', '-f', '-'], { input: JSON.stringify(theirs) });
    await hub.kubectl(['create', 'configmap', '-n', 'existing', 'argocd-cm']);
    await hub.kubectl(['create', 'configmap', '-n', 'existing', 'argocd-cmd-params-cm']);
    await expect(install('existing', { dropIn: true })).rejects.toThrow(
      'kubectl -n existing scale statefulset/argocd-application-controller --replicas=0',
    );
    await hub.kubectl(['scale', '-n', 'existing', 'sts/argocd-application-controller', '--replicas=0']);
    await install('existing', { dropIn: true });
    const made = await hub.helm(['get', 'manifest', 'driftless', '-n', 'existing']);
    const own = /^(?:existing-)?driftless(?:-|$)/;
    const named = [...made.matchAll(/^kind: (.*)\nmetadata:\n {2}name: "?(.*?)"?$/gm)].map(([, kind, name]) => ({
      kind,
      name,
    }));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(({ name = '' }) => !own.test(name))).toEqual([]);
    await install('existing', { dropIn: true, controller: { replicas: 2 } });
    await hub.helm(['uninstall', 'driftless', '-n', 'existing']);
  });

  it('installs from manifests/ with kubectl', async () => {
    const manifests = join(repository, 'manifests');
    await hub.kubectl(['apply', '--server-side', '--force-conflicts', '-f', join(manifests, 'crds')]);
    await eventually(async () => expect(await hub.api.get('/apis/argoproj.io/v1alpha1/appprojects')).toBeDefined());
    for (const file of ['install.yaml', 'namespace-install.yaml'])
      await hub.kubectl(['apply', '--server-side', '--force-conflicts', '-f', join(manifests, file)]);
    expect(await names('argocd', 'statefulsets')).toEqual(['statefulset.apps/driftless']);
    // Applying the file again does not undo `kubectl scale`, client-side or server-side.
    await hub.kubectl(['scale', '-n', 'argocd', 'sts/driftless', '--replicas=3']);
    const again = join(manifests, 'namespace-install.yaml');
    await hub.kubectl(['apply', '--server-side', '--force-conflicts', '-f', again]);
    expect((await statefulSet('argocd'))?.spec.replicas).toBe(3);
    await hub.kubectl(['apply', '-f', again]);
    await hub.kubectl(['apply', '-f', again]);
    expect((await statefulSet('argocd'))?.spec.replicas).toBe(3);
    for (const name of ['ha', 'dynamic', 'drop-in'])
      await hub.kubectl(['apply', '--dry-run=server', '-k', join(manifests, 'overlays', name)]);
    await hub.kubectl(['delete', '-f', join(manifests, 'namespace-install.yaml')]);
  });

  describe('with the CRDs of every kind', () => {
    beforeAll(async () => {
      await hub.kubectl(['apply', '--server-side', '--force-conflicts', '-f', join(repository, 'manifests', 'crds')]);
      for (const kind of foreignKinds) await hub.kubectl(['create', '-f', '-'], { input: JSON.stringify(kind) });
      const served = [
        'argoproj.io/v1alpha1/appprojects',
        ...foreignKinds.map(({ spec }) => `monitoring.coreos.com/v1/${spec.names.plural}`),
      ];
      for (const path of served) await eventually(async () => expect(await hub.api.get(`/apis/${path}`)).toBeDefined());
      for (const name of ['matrix', 'team-a', 'team-b']) await hub.kubectl(['create', 'namespace', name]);
    });

    it.each(Object.entries(matrix))('renders objects that the server accepts: %s', async (_name, values) => {
      const lint = ['lint', '--strict', '--quiet', chartFolder, '--values', '-'];
      expect(await runTool('helm', lint, { input: JSON.stringify(values) })).toMatchObject({ code: 0 });
      const objects = await renderChart(values, { namespace: 'matrix' });
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
      const answer = await hub.kubectl(['apply', '--dry-run=server', '--validate=strict', '-o', 'name', '-f', '-'], {
        input,
      });
      expect(answer.trim().split('\n')).toHaveLength(objects.length);
    });

    it.each([{}, { controller: { dynamicClusterDistribution: true } }])(
      'meets the restricted pod security standard: %j',
      async (values) => {
        const { podTemplate } = await renderedController(values, { namespace: 'matrix' });
        await hub.kubectl([
          'label',
          'namespace',
          'matrix',
          '--overwrite',
          'pod-security.kubernetes.io/enforce=restricted',
        ]);
        const pod = { apiVersion: 'v1', kind: 'Pod', ...podTemplate };
        const named = { ...pod, metadata: { ...pod.metadata, name: 'driftless-0' } };
        const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'driftless' } };
        await hub.kubectl(['apply', '-n', 'matrix', '-f', '-'], { input: JSON.stringify(account) });
        const dry = ['create', '-n', 'matrix', '--dry-run=server', '-f', '-'];
        await hub.kubectl(dry, { input: JSON.stringify(named) });
        const bare = named.spec.containers.map(({ name, image }) => ({ name, image }));
        const asRoot = { ...named, spec: { serviceAccountName: named.spec.serviceAccountName, containers: bare } };
        expect((await hub.try('kubectl', dry, { input: JSON.stringify(asRoot) })).stderr).toContain(
          'violates PodSecurity',
        );
        await hub.kubectl(['label', 'namespace', 'matrix', 'pod-security.kubernetes.io/enforce-']);
      },
    );
  });

  describe('what rolls pods', () => {
    const template = async (values: object): Promise<unknown> => (await renderedController(values)).podTemplate;

    it.each([
      { controller: { replicas: 7 } },
      { controller: { autoscaling: { enabled: true } } },
      { configs: { cm: { 'resource.exclusions': '[]' } } },
      { configs: { repositories: { a: { url: 'https://git.example.com' } } } },
      { rbac: { clusterWrite: true } },
    ])('is not %j', async (values) => {
      expect(await template(values)).toEqual(await template({}));
    });

    it.each([
      { configs: { params: { 'controller.status.processors': 5 } } },
      { configs: { cm: { 'timeout.reconciliation': '60s' } } },
      { controller: { statusProcessors: 5 } },
    ])('is %j', async (values) => {
      expect(await template(values)).not.toEqual(await template({}));
    });
  });

  it('passes its identity to the controller, but not the number of replicas', async () => {
    const values = {
      configs: { params: { 'controller.status.processors': 7 }, cm: { 'timeout.reconciliation': '60s' } },
    };
    const { args, env, workload, replicas } = await renderedController(values, { release: 'r' });
    expect(env('r-driftless-1')).toEqual({
      HOSTNAME: 'r-driftless-1',
      // From the downward API, which the kubelet implements.
      DRIFTLESS_POD_UID: '',
      DRIFTLESS_API_ADDRESS: '',
      ARGOCD_APPLICATION_CONTROLLER_NAME: workload.metadata.name,
      ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION: 'false',
      ARGOCD_CONTROLLER_HEARTBEAT_TIME: '10',
      DRIFTLESS_CACHE_DIR: '/home/argocd/cache',
      ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS: '7',
      ARGOCD_RECONCILIATION_TIMEOUT: '60s',
    });
    expect(args).toEqual(['--metrics-port=8082', '--api-port=8085']);
    const own = await renderedController({ controller: { env: [{ name: 'HOSTNAME', value: 'mine' }] } });
    expect(own.env('driftless-0')['HOSTNAME']).toBe('mine');
    expect(own.podTemplate.spec.containers[0].env.filter(({ name }) => name === 'HOSTNAME')).toHaveLength(1);
    expect(replicas).toBe(1);
  });

  it.each([
    ['an unknown value', { controller: { replica: 3 } }, /replica/],
    [
      'an unknown parameter of the controller',
      { configs: { params: { 'controller.status.procesors': 1 } } },
      /procesors/,
    ],
    ['a wrong algorithm', { controller: { sharding: { algorithm: 'random' } } }, /algorithm/],
    [
      'a wrong algorithm among the parameters',
      { configs: { params: { 'controller.sharding.algorithm': 'x' } } },
      /round-robin/,
    ],
    ['a negative replica count', { controller: { replicas: -1 } }, /replicas/],
    ['a wrong pull policy', { global: { image: { imagePullPolicy: 'Sometimes' } } }, /imagePullPolicy/],
    ['a cluster without a server', { configs: { clusterCredentials: { a: { config: {} } } } }, /server/],
    ['settings beside an Argo CD with its own', { dropIn: true, configs: { cm: { a: 'b' } } }, /dropIn: true leaves/],
    ['cluster permissions in namespaced mode', { rbac: { namespaced: true, clusterWrite: true } }, /rbac.clusterWrite/],
    ['managed namespaces without namespaced mode', { rbac: { namespaces: ['a'] } }, /rbac.writeNamespaces/],
    [
      'Applications everywhere in namespaced mode',
      { rbac: { namespaced: true }, configs: { params: { 'application.namespaces': '*' } } },
      /application.namespaces/,
    ],
    [
      'a fixed number of shards',
      { controller: { env: [{ name: 'ARGOCD_CONTROLLER_REPLICAS', value: '3' }] } },
      /follows the replicas/,
    ],
    [
      'an autoscaler with minReplicas above maxReplicas',
      { controller: { autoscaling: { enabled: true, minReplicas: 9 } } },
      /more than maxReplicas/,
    ],
    [
      'an Ingress without hosts',
      { dashboard: { enabled: true, ingress: { enabled: true } } },
      /dashboard.ingress.hosts: name at least one host/,
    ],
    [
      'a route to a Service that it does not create',
      {
        dashboard: {
          enabled: true,
          service: { enabled: false },
          httproute: { enabled: true, parentRefs: [{ name: 'gateway' }] },
        },
      },
      /dashboard.httproute needs dashboard.service.enabled/,
    ],
    [
      'an existing ServiceAccount without a name',
      { controller: { serviceAccount: { create: false } } },
      /serviceAccount.name/,
    ],
  ])('refuses %s', async (_what, values, message) => {
    await expect(renderChart(values)).rejects.toThrow(message);
  });
});

describe('manifests/', () => {
  it('are what the chart renders, and the generated files of the chart are up to date', () => {
    for (const script of ['manifests.mjs', 'chart-docs.mjs', 'crds.mjs']) {
      const env = { ...process.env, HELM: toolPath('helm') };
      const args = [join(repository, 'scripts', 'generate', script), '--check'];
      expect(spawnSync(process.execPath, args, { env, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    }
  });

  it.each(['ha', 'dynamic', 'drop-in'])('kustomize builds the overlay %s with all its objects', async (name) => {
    const folder = join(repository, 'manifests', 'overlays', name);
    const built = await mustRun('kustomize', ['build', folder]);
    const kinds = (text: string): number => text.match(/^kind: /gm)?.length ?? 0;
    expect(kinds(built)).toBe(kinds(readFileSync(join(folder, 'install.yaml'), 'utf8')));
  });

  it.each([
    ['install.yaml', 3],
    ['overlays/drop-in/install.yaml', 3],
    ['namespace-install.yaml', 0],
  ])('kustomize names the cluster-scoped objects of %s after the namespace', async (file, names) => {
    const folder = mkdtempSync(join(tmpdir(), 'driftless-kustomize-'));
    try {
      copyFileSync(join(repository, 'manifests', file), join(folder, 'install.yaml'));
      copyFileSync(join(repository, 'manifests', 'cluster-names.yaml'), join(folder, 'cluster-names.yaml'));
      const kustomization = 'namespace: two\nresources: [install.yaml]\nreplacements: [{ path: cluster-names.yaml }]\n';
      writeFileSync(join(folder, 'kustomization.yaml'), kustomization);
      const built = await mustRun('kustomize', ['build', folder]);
      expect(built.match(/ name: two-driftless$/gm) ?? []).toHaveLength(names);
      expect(built).not.toMatch(/ name: argocd-driftless$/m);
      expect(built).not.toMatch(/namespace: argocd$/m);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('contain nothing that only Helm understands', async () => {
    const objects = await renderChart({ rbac: { clusterWrite: true } });
    const text = readFileSync(join(repository, 'manifests', 'install.yaml'), 'utf8');
    expect(/helm\.sh|managed-by: Helm/.test(text)).toBe(false);
    expect(text.match(/^kind: /gm)).toHaveLength(objects.length);
    expect(objects.map(({ kind }: RenderedObject) => kind)).toContain('AppProject');
  });
});
