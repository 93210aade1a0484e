import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chartFolder, renderChart, renderedController, repository } from './rendered-controller.ts';
import type { RenderedObject, RenderOptions } from './rendered-controller.ts';
import { mustRun, startServers } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';

type Json = Readonly<Record<string, unknown>>;

/** The only object of a kind (and name). */
function find(objects: readonly RenderedObject[], kind: string, name?: string): RenderedObject | undefined {
  return objects.find((object) => object.kind === kind && (name === undefined || object.metadata.name === name));
}

/** The content of a Secret as text. */
function decoded(secret: RenderedObject | undefined): Record<string, string> {
  const data = (secret?.['data'] ?? {}) as Readonly<Record<string, string>>;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

const podOf = async (values: object, options?: RenderOptions): Promise<Json> =>
  (await renderedController(values, options)).podTemplate.spec;
const containerOf = async (values: object): Promise<Json> =>
  (await renderedController(values)).podTemplate.spec.containers[0] as unknown as Json;

/**
 * The defaults of `controller`, and those of `global` and `configs.params` for it, in the community
 * chart.
 */
const community = {
  global: {
    domain: 'argocd.example.com',
    runtimeClassName: '',
    additionalLabels: {},
    revisionHistoryLimit: 3,
    image: { repository: 'driftless/driftless', tag: '', imagePullPolicy: 'IfNotPresent' },
    imagePullSecrets: [],
    logging: { format: 'text', level: 'info' },
    statefulsetAnnotations: {},
    deploymentAnnotations: {},
    podAnnotations: {},
    podLabels: {},
    addPrometheusAnnotations: false,
    securityContext: {},
    hostAliases: [],
    dualStack: { ipFamilyPolicy: '', ipFamilies: [] },
    networkPolicy: { create: false, defaultDenyIngress: false },
    priorityClassName: '',
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [],
    affinity: { podAntiAffinity: 'soft', nodeAffinity: { type: 'hard', matchExpressions: [] } },
    topologySpreadConstraints: [],
    deploymentStrategy: {},
    env: [],
    certificateAnnotations: {},
  },
  configs: { params: { create: true, annotations: {}, 'controller.sharding.algorithm': '' } },
  controller: {
    name: 'application-controller',
    image: { repository: '', tag: '', imagePullPolicy: '' },
    imagePullSecrets: [],
    replicas: 1,
    dynamicClusterDistribution: false,
    heartbeatTime: 10,
    hostNetwork: false,
    revisionHistoryLimit: 5,
    pdb: { enabled: false, labels: {}, annotations: {}, minAvailable: '', maxUnavailable: '' },
    vpa: { enabled: false, annotations: {}, labels: {}, updateMode: 'Initial', containerPolicy: {} },
    extraArgs: [],
    env: [],
    envFrom: [],
    extraContainers: [],
    initContainers: [],
    volumeMounts: [],
    volumes: [],
    emptyDir: { sizeLimit: '' },
    statefulsetAnnotations: {},
    deploymentAnnotations: {},
    podAnnotations: {},
    podLabels: {},
    resources: {},
    containerPorts: { metrics: 8082 },
    dnsConfig: {},
    dnsPolicy: 'ClusterFirst',
    containerSecurityContext: {},
    readinessProbe: {
      failureThreshold: 3,
      initialDelaySeconds: 10,
      periodSeconds: 10,
      successThreshold: 1,
      timeoutSeconds: 1,
    },
    startupProbe: {
      enabled: false,
      failureThreshold: 20,
      initialDelaySeconds: 10,
      periodSeconds: 10,
      successThreshold: 1,
      timeoutSeconds: 1,
    },
    terminationGracePeriodSeconds: 30,
    priorityClassName: '',
    nodeSelector: {},
    tolerations: [],
    affinity: {},
    topologySpreadConstraints: [],
    runtimeClassName: '',
    automountServiceAccountToken: true,
    serviceAccount: {
      create: true,
      name: 'argocd-application-controller',
      annotations: {},
      labels: {},
      automountServiceAccountToken: true,
    },
    metrics: {
      enabled: false,
      scrapeTimeout: '',
      applicationLabels: { enabled: false, labels: [] },
      service: {
        type: 'ClusterIP',
        clusterIP: '',
        annotations: {},
        labels: {},
        servicePort: 8082,
        portName: 'http-metrics',
      },
      serviceMonitor: {
        enabled: false,
        interval: '30s',
        scrapeTimeout: '',
        honorLabels: false,
        relabelings: [],
        metricRelabelings: [],
        selector: {},
        scheme: '',
        tlsConfig: {},
        namespace: '',
        additionalLabels: {},
        annotations: {},
      },
      rules: { enabled: false, namespace: '', selector: {}, additionalLabels: {}, annotations: {}, spec: [] },
    },
    clusterRoleRules: { enabled: false, rules: [] },
    roleRules: [],
    networkPolicy: { create: false },
  },
};

describe('values of unusual types with a clear meaning', () => {
  let world: Servers<'hub'>;
  let hub: Server;

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
    await hub.kubectl(['apply', '--server-side', '--force-conflicts', '-f', join(repository, 'manifests', 'crds')]);
    for (const name of ['argocd', '123', 'team-a']) await hub.kubectl(['create', 'namespace', name]);
    await hub.kubectl(['wait', '--for=condition=Established', 'crd/appprojects.argoproj.io']);
  });
  afterAll(async () => {
    await world.close();
  });

  const cases: readonly (readonly [what: string, values: object, options?: RenderOptions])[] = [
    ['the values of the community chart', community],
    [
      'a Deployment with the values of the community chart',
      {
        ...community,
        controller: {
          ...community.controller,
          dynamicClusterDistribution: true,
          metrics: { enabled: true, service: { clusterIP: '' } },
        },
      },
    ],
    [
      'booleans and numbers as texts',
      {
        global: {
          additionalLabels: { stage: 1, live: true },
          podAnnotations: { a: true },
          podLabels: { b: 7 },
          nodeSelector: { gpu: false },
          env: [{ name: 'GLOBAL', value: 1_000_000 }],
          statefulsetAnnotations: { c: 1 },
        },
        controller: {
          podAnnotations: { 'prometheus.io/scrape': true, 'prometheus.io/port': 8082 },
          podLabels: { weight: 1.5, big: 12_345_678 },
          nodeSelector: { spot: true, zone: 1 },
          labels: { a: 1 },
          annotations: { a: false },
          env: [
            { name: 'DEBUG', value: true },
            { name: 'SIZE', value: 2048 },
            { name: 'EMPTY', value: '' },
          ],
          serviceAccount: { labels: { a: 1 }, annotations: { b: true } },
          pdb: { labels: { a: 1 }, annotations: { b: true } },
          metrics: { service: { labels: { a: 1 }, annotations: { 'prometheus.io/scrape': true } } },
        },
        configs: {
          params: { annotations: { a: 1 }, 'controller.status.processors': 50 },
          cm: { annotations: { a: true }, 'a.b_c-D': true },
          secret: { createSecret: true, extra: { a: 1, b: true }, labels: { a: 1 }, annotations: { b: 2 } },
          clusterCredentials: {
            a: { server: 'https://a', config: {}, shard: null, labels: { tier: 1, live: true }, annotations: { b: 2 } },
          },
          repositories: { r: { url: 'https://g', insecure: true, labels: { a: 1 } } },
        },
        crds: { annotations: { a: true }, additionalLabels: { b: 1 } },
      },
    ],
    ['a namespace that is a number', {}, { namespace: '123' }],
    ['a ServiceAccount name that is a number', { controller: { serviceAccount: { name: '123' } } }],
    ['a release with a dot', {}, { release: 'git.ops' }],
    ['a name that is a number', { nameOverride: '7' }],
    ['a tag that is a number', { global: { image: { tag: 20_240_101 } } }],
    ['the host network', { controller: { hostNetwork: true } }],
    [
      'a Service of another type, for both families',
      {
        global: { dualStack: { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv4'] } },
        controller: { metrics: { service: { type: 'NodePort' } } },
      },
    ],
    [
      'presets of affinity',
      {
        global: {
          affinity: {
            podAntiAffinity: 'soft',
            nodeAffinity: { type: 'soft', matchExpressions: [{ key: 'a', operator: 'Exists' }] },
          },
        },
      },
    ],
    [
      'hard presets of affinity',
      {
        global: {
          affinity: {
            podAntiAffinity: 'hard',
            nodeAffinity: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
          },
        },
      },
    ],
    ['a short grace period', { controller: { terminationGracePeriodSeconds: 5 } }],
    ['a project without a spec', { defaultProject: { spec: null } }],
    [
      'rights for Applications elsewhere, beside an Argo CD',
      { dropIn: true, rbac: { applicationNamespaces: ['team-a'], impersonation: true } },
    ],
  ];

  it.each(cases)('%s: accepted by the server', async (_what, values, options = {}) => {
    const objects = await renderChart(values, options);
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    const args = ['apply', '--dry-run=server', '--validate=strict', '-o', 'name', '-f', '-'];
    expect((await hub.kubectl(args, { input })).trim().split('\n')).toHaveLength(objects.length);
    const lint = ['lint', '--strict', '--quiet', chartFolder, '--values', '-'];
    await mustRun('helm', lint, { input: JSON.stringify(values) });
  });
});

describe('text values', () => {
  it('are rendered with their intended meaning', async () => {
    const objects = await renderChart({
      controller: { podLabels: { big: 12_345_678, live: true, none: null }, env: [{ name: 'SIZE', value: 1_000_000 }] },
      configs: { clusterCredentials: { a: { server: 'https://a', config: {}, labels: { tier: 1 } } } },
    });
    const template = (find(objects, 'StatefulSet')?.['spec'] as { readonly template: RenderedObject }).template;
    expect(template.metadata.labels).toMatchObject({ big: '12345678', live: 'true' });
    expect(template.metadata.labels).not.toHaveProperty('none');
    expect(find(objects, 'Secret', 'driftless-cluster-a')?.metadata.labels).toMatchObject({ tier: '1' });
    expect(JSON.stringify(objects)).toContain('{"name":"SIZE","value":"1000000"}');
  });

  it('that are null are left out', async () => {
    const objects = await renderChart({
      configs: {
        repositories: { r: { url: 'https://g', username: 'u', password: null } },
        clusterCredentials: { a: { server: 'https://a', config: {}, project: null, shard: null, namespaces: null } },
        secret: { createSecret: true, extra: { a: null, b: 1 } },
      },
    });
    expect(decoded(find(objects, 'Secret', 'driftless-repo-r'))).toEqual({ url: 'https://g', username: 'u' });
    expect(Object.keys(decoded(find(objects, 'Secret', 'driftless-cluster-a')))).toEqual(['config', 'name', 'server']);
    expect(decoded(find(objects, 'Secret', 'argocd-secret'))).toEqual({ b: '1' });
    expect(JSON.stringify(objects)).not.toContain('<no value>');
  });
});

describe('labels', () => {
  it('occur once each, even if values repeat them', async () => {
    const again = { 'app.kubernetes.io/part-of': 'platform', 'app.kubernetes.io/instance': 'other', team: 'a' };
    const values = {
      global: { additionalLabels: again },
      controller: {
        labels: again,
        podLabels: again,
        serviceAccount: { labels: again },
        metrics: { service: { labels: again }, dashboards: { enabled: true, labels: again } },
      },
      crds: { install: false },
    };
    const text = await mustRun('helm', ['template', 'driftless', chartFolder, '--values', '-'], {
      input: JSON.stringify(values),
    });
    for (const block of text.matchAll(/^( *)labels:\n((?:\1 +.*\n)+)/gm)) {
      const keys = (block[2] ?? '')
        .split('\n')
        .map((line) => line.split(': ')[0])
        .filter((key) => key !== '');
      expect(new Set(keys).size).toBe(keys.length);
    }
    for (const { metadata, kind } of await renderChart(values)) {
      const expected = {
        'app.kubernetes.io/part-of': 'platform',
        team: 'a',
        'app.kubernetes.io/instance': 'driftless',
      };
      expect({ kind, ...metadata.labels }).toMatchObject(expected);
    }
  });
});

describe('values of global', () => {
  const all = {
    nodeSelector: { a: 'g' },
    tolerations: [{ key: 'g', operator: 'Exists' }],
    priorityClassName: 'g',
    runtimeClassName: 'g',
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['g'] }],
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'g', whenUnsatisfiable: 'DoNotSchedule' }],
  };
  const own = {
    nodeSelector: { a: 'c' },
    tolerations: [{ key: 'c', operator: 'Exists' }],
    priorityClassName: 'c',
    runtimeClassName: 'c',
    hostAliases: [{ ip: '10.0.0.2', hostnames: ['c'] }],
    topologySpreadConstraints: [{ maxSkew: 2, topologyKey: 'c', whenUnsatisfiable: 'DoNotSchedule' }],
  };

  it.each(Object.keys(all) as (keyof typeof all)[])('%s applies unless controller overrides it', async (field) => {
    expect(await podOf({ global: { [field]: all[field] } })).toMatchObject({ [field]: all[field] });
    expect(await podOf({ global: { [field]: all[field] }, controller: { [field]: own[field] } })).toMatchObject({
      [field]: own[field],
    });
  });

  it('for pods are merged with those of controller', async () => {
    const { podTemplate, workload } = await renderedController({
      global: {
        podAnnotations: { a: 'g', b: 'g' },
        podLabels: { a: 'g', b: 'g' },
        statefulsetAnnotations: { kind: 'StatefulSet' },
        deploymentAnnotations: { kind: 'Deployment' },
        env: [
          { name: 'A', value: 'g' },
          { name: 'B', value: 'g' },
        ],
      },
      controller: { podAnnotations: { b: 'c' }, podLabels: { b: 'c' }, env: [{ name: 'B', value: 'c' }] },
    });
    expect(podTemplate.metadata).toMatchObject({ annotations: { a: 'g', b: 'c' }, labels: { a: 'g', b: 'c' } });
    expect(podTemplate.spec.containers[0].env.slice(-2)).toEqual([
      { name: 'A', value: 'g' },
      { name: 'B', value: 'c' },
    ]);
    expect(workload.metadata.annotations).toEqual({ kind: 'StatefulSet' });
  });

  it('for security are merged field by field', async () => {
    const values = {
      global: { securityContext: { fsGroup: 7, runAsUser: null } },
      controller: { podSecurityContext: { runAsGroup: 8, seccompProfile: null } },
    };
    expect((await podOf(values))['securityContext']).toEqual({ fsGroup: 7, runAsGroup: 8, runAsNonRoot: true });
  });

  it('for logs become parameters, and flags if the chart has no ConfigMap of parameters', async () => {
    const logging = { format: 'text', level: 'debug' };
    const { env, args } = await renderedController({
      global: { logging },
      configs: { params: { 'controller.log.level': 'warn' } },
    });
    const [format, level] = ['ARGOCD_APPLICATION_CONTROLLER_LOGFORMAT', 'ARGOCD_APPLICATION_CONTROLLER_LOGLEVEL'];
    expect(env('driftless-0')).toMatchObject({ [format]: 'text', [level]: 'warn' });
    expect(args.join(' ')).not.toContain('--log');
    const { args: flags } = await renderedController({ dropIn: true, global: { logging } });
    expect(flags).toEqual(expect.arrayContaining(['--logformat=text', '--loglevel=debug']));
  });

  it('for revision history, strategy, policy and affinity apply', async () => {
    const dynamic = { dynamicClusterDistribution: true };
    const spec = async (values: object): Promise<unknown> => (await renderedController(values)).workload['spec'];
    expect(await spec({ global: { revisionHistoryLimit: 3 } })).toMatchObject({ revisionHistoryLimit: 3 });
    expect(await spec({ global: { revisionHistoryLimit: 3 }, controller: { revisionHistoryLimit: 0 } })).toMatchObject({
      revisionHistoryLimit: 0,
    });
    const global = { deploymentStrategy: { type: 'Recreate' } };
    expect(await spec({ global, controller: dynamic })).toMatchObject({ strategy: { type: 'Recreate' } });
    const policies = async (values: object): Promise<boolean> =>
      find(await renderChart(values), 'NetworkPolicy') !== undefined;
    const off = { networkPolicy: { create: false } };
    expect(await policies({})).toBe(true);
    expect(await policies({ global: off })).toBe(false);
    expect(await policies({ controller: off })).toBe(false);
    expect(await policies({ global: off, controller: { networkPolicy: { create: true } } })).toBe(true);
    const soft = { affinity: { podAntiAffinity: 'soft' } };
    expect(await podOf({ global: soft })).toMatchObject({ affinity: { podAntiAffinity: expect.anything() } });
    const mine = { affinity: { podAffinity: {} } };
    expect((await podOf({ global: soft, controller: mine }))['affinity']).toEqual(mine.affinity);
    expect(await podOf({})).not.toHaveProperty('affinity');
  });

  it.each([
    ['nodeSelecto', /global.nodeSelecto is not a value/],
    ['argocd', /global.argocd is not a value/],
  ])('%s is refused', async (name, message) => {
    await expect(renderChart({ global: { [name]: {} } })).rejects.toThrow(message);
  });
});

describe('the pod', () => {
  it('resolves Services although it uses the host network', async () => {
    expect(await podOf({})).toMatchObject({ dnsPolicy: 'ClusterFirst' });
    const hostNetwork = true;
    expect(await podOf({ controller: { hostNetwork } })).toMatchObject({ dnsPolicy: 'ClusterFirstWithHostNet' });
    expect(await podOf({ controller: { hostNetwork, dnsPolicy: 'Default' } })).toMatchObject({ dnsPolicy: 'Default' });
  });

  it('supports the values of the community chart', async () => {
    const controller = {
      name: 'mine',
      automountServiceAccountToken: false,
      startupProbe: { initialDelaySeconds: 3, successThreshold: 1 },
      livenessProbe: { initialDelaySeconds: 4 },
      metrics: { applicationLabels: { enabled: true, labels: ['a', 'b'] } },
      serviceAccount: { automountServiceAccountToken: true },
    };
    const objects = await renderChart({ controller });
    expect(await podOf({ controller })).toMatchObject({ automountServiceAccountToken: false });
    expect(find(objects, 'ServiceAccount')).toMatchObject({ automountServiceAccountToken: true });
    expect(await containerOf({ controller })).toMatchObject({
      name: 'mine',
      startupProbe: { initialDelaySeconds: 3, successThreshold: 1 },
      livenessProbe: { initialDelaySeconds: 4 },
      args: expect.arrayContaining(['--metrics-application-labels=a,b']),
    });
  });

  it('has the image of the values', async () => {
    const image = async (tag: unknown): Promise<unknown> =>
      (await containerOf({ global: { image: { tag } } }))['image'];
    expect(await image('1.10')).toBe('driftless/driftless:1.10');
    expect(await image(20_240_101)).toBe('driftless/driftless:20240101');
    await expect(image(1.1)).rejects.toThrow(/tag/);
  });
});

describe('Redis', () => {
  const redisOf = async (values: object): Promise<readonly unknown[]> => {
    const { args, env } = (await containerOf(values)) as { args: readonly string[]; env: readonly { name: string }[] };
    const secrets = env.filter(({ name }) => /^REDIS_(?:SENTINEL_)?(?:USERNAME|PASSWORD)$/.test(name));
    return [args.filter((arg) => arg.startsWith('--redis')), secrets];
  };
  const from = (name: string, secret: string, key: string): object => ({
    name,
    valueFrom: { secretKeyRef: { name: secret, key, optional: true } },
  });

  it('is not used by default, and is that of Argo CD with dropIn', async () => {
    expect(await redisOf({})).toEqual([[], []]);
    expect(await redisOf({ dropIn: true })).toEqual([[], [from('REDIS_PASSWORD', 'argocd-redis', 'auth')]]);
  });

  it('is the one of the values, with the Secret of the values', async () => {
    const externalRedis = { host: 'redis.example.com', port: 6380, existingSecret: 'own' };
    expect(await redisOf({ dropIn: true, externalRedis })).toEqual([
      ['--redis=redis.example.com:6380'],
      [
        from('REDIS_PASSWORD', 'own', 'redis-password'),
        from('REDIS_USERNAME', 'own', 'redis-username'),
        from('REDIS_SENTINEL_USERNAME', 'own', 'redis-sentinel-username'),
        from('REDIS_SENTINEL_PASSWORD', 'own', 'redis-sentinel-password'),
      ],
    ]);
  });
});

describe('the repo-server', () => {
  const flagsOf = async (values: object): Promise<readonly string[]> =>
    ((await containerOf(values))['args'] as readonly string[]).filter((flag) => flag.startsWith('--repo-server'));

  it('is that of argocd-cmd-params-cm unless the values name another one or none', async () => {
    expect(await flagsOf({})).toEqual([]);
    expect(await flagsOf({ dropIn: true, repoServer: { address: 'argocd-repo-server:8081' } })).toEqual([
      '--repo-server=argocd-repo-server:8081',
    ]);
    expect(await flagsOf({ repoServer: { address: 'embedded' } })).toEqual(['--repo-server=']);
    expect(await flagsOf({ repoServer: { address: 'r:8081', pluginsOnly: true } })).toEqual([
      '--repo-server=r:8081',
      '--repo-server-plugins-only',
    ]);
    await expect(flagsOf({ repoServer: { address: 'argocd-repo-server' } })).rejects.toThrow('/repoServer/address');
  });

  it('has its Secrets at the paths of Argo CD, without the private key of the server', async () => {
    const { volumes, containers } = (await podOf({ repoServer: { mtlsSecret: 'own' } })) as {
      readonly volumes: readonly Json[];
      readonly containers: readonly { readonly volumeMounts: readonly Json[] }[];
    };
    const secret = (name: string): unknown => volumes.find((volume) => volume['name'] === name)?.['secret'];
    expect(secret('repo-server-tls')).toEqual({
      secretName: 'argocd-repo-server-tls',
      optional: true,
      items: ['tls.crt', 'ca.crt'].map((key) => ({ key, path: key })),
    });
    expect(secret('repo-server-mtls')).toMatchObject({ secretName: 'own', optional: true });
    expect(containers[0]?.volumeMounts).toEqual(
      expect.arrayContaining([
        { name: 'repo-server-tls', mountPath: '/app/config/controller/tls', readOnly: true },
        { name: 'repo-server-mtls', mountPath: '/app/config/reposerver/mtls', readOnly: true },
      ]),
    );
  });
});

describe('beside an Argo CD', () => {
  type Labels = Readonly<Record<string, string>>;
  const labelsOf = async (values: object): Promise<readonly [pod: Labels, selector: Labels]> => {
    const { podTemplate, workload } = await renderedController(values);
    const { selector } = workload['spec'] as { readonly selector: { readonly matchLabels: Labels } };
    return [podTemplate.metadata.labels, selector.matchLabels];
  };

  it("pods have the labels by which Argo CD's tools and NetworkPolicies select the controller", async () => {
    const name = 'app.kubernetes.io/name';
    const instance = 'app.kubernetes.io/instance';
    const [pod] = await labelsOf({ dropIn: true });
    expect(pod).toMatchObject({ [name]: 'argocd-application-controller', [instance]: 'driftless' });
    const [named] = await labelsOf({ dropIn: true, dropInInstance: 'argo' });
    expect(named).toMatchObject({ [name]: 'argocd-application-controller', [instance]: 'argo' });
    const [alone] = await labelsOf({ dropInInstance: 'argo' });
    expect(alone).toMatchObject({ [name]: 'driftless', [instance]: 'driftless' });
    const shadow = { dropIn: true, dropInInstance: 'argo', controller: { shadow: { enabled: true } } };
    expect((await labelsOf(shadow))[0]).toMatchObject({ [name]: 'driftless-shadow', [instance]: 'driftless' });
  });

  it('the workload selects the same pods with and without dropIn, so that a release can join an Argo CD', async () => {
    const all = [{}, { dropIn: true }, { dropIn: true, dropInInstance: 'argo' }, { nameOverride: 'x' }];
    for (const values of all) {
      const [pod, selector] = await labelsOf(values);
      expect(selector).toEqual({
        'app.kubernetes.io/component': 'application-controller',
        'driftless.io/release': 'driftless',
      });
      expect(pod).toMatchObject(selector);
    }
    const [, shadow] = await labelsOf({ dropIn: true, controller: { shadow: { enabled: true } } });
    expect(shadow).toMatchObject({ 'app.kubernetes.io/component': 'application-controller-shadow' });
  });

  it('egress to Redis and the repo-server is always allowed', async () => {
    interface Rule {
      readonly ports?: readonly { readonly port: number }[];
    }
    const egress = async (values: object): Promise<readonly Rule[]> => {
      const policy = find(await renderChart(values), 'NetworkPolicy');
      return (policy?.['spec'] as { readonly egress: readonly Rule[] }).egress;
    };
    const controller = { networkPolicy: { egressPorts: [{ port: 443, protocol: 'TCP' }] } };
    const ports = (rules: readonly Rule[]): unknown => rules.map((rule) => rule.ports?.map(({ port }) => port));
    expect(await egress({ dropIn: true })).toEqual([{}]);
    expect(ports(await egress({ controller }))).toEqual([[8085], [53, 53], [443]]);
    expect(ports(await egress({ dropIn: true, controller }))).toEqual([[8085], [53, 53], [443], [6379, 26_379, 8081]]);
  });
});

describe('monitoring', () => {
  const metrics = async (values: object): Promise<readonly RenderedObject[]> =>
    renderChart({ controller: { metrics: { ...values } } });

  it('has no alerts if metrics are disabled', async () => {
    expect(find(await metrics({ enabled: false, rules: { enabled: true } }), 'PrometheusRule')).toBeUndefined();
    expect(find(await metrics({ rules: { enabled: true } }), 'PrometheusRule')).toBeDefined();
  });

  it('selects the job of the values', async () => {
    const rules = await metrics({ rules: { enabled: true, job: 'mine' } });
    expect(JSON.stringify(find(rules, 'PrometheusRule')?.['spec'])).toContain('{job=\\"mine\\"}');
  });

  it('accepts the values of the community chart', async () => {
    const objects = await metrics({
      scrapeTimeout: '7s',
      serviceMonitor: {
        enabled: true,
        selector: { release: 'p' },
        scheme: 'https',
        tlsConfig: { insecureSkipVerify: true },
      },
      rules: { enabled: true, selector: { release: 'p' } },
    });
    expect(find(objects, 'ServiceMonitor')).toMatchObject({
      metadata: { labels: { release: 'p' } },
      spec: { endpoints: [{ scheme: 'https', scrapeTimeout: '7s', tlsConfig: { insecureSkipVerify: true } }] },
    });
    expect(find(objects, 'PrometheusRule')?.metadata.labels).toMatchObject({ release: 'p' });
    const service = async (more: object): Promise<unknown> =>
      find(await metrics({ service: more }), 'Service', 'driftless-metrics')?.['spec'];
    expect(await service({ clusterIP: '' })).toMatchObject({ clusterIP: 'None' });
    expect(await service({ type: 'NodePort' })).toMatchObject({ type: 'NodePort' });
    expect(await service({ type: 'NodePort' })).not.toHaveProperty('clusterIP');
    const annotated = await renderChart({ global: { addPrometheusAnnotations: true } });
    expect(find(annotated, 'Service', 'driftless-metrics')?.metadata.annotations).toEqual({
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': '8082',
    });
  });
});

describe('the PodDisruptionBudget', () => {
  it.each([
    [{}, { maxUnavailable: 1 }],
    [{ minAvailable: '50%' }, { minAvailable: '50%' }],
    [{ minAvailable: 0 }, { minAvailable: 0 }],
    [{ minAvailable: 1, maxUnavailable: '25%' }, { maxUnavailable: '25%' }],
    [{ maxUnavailable: 0 }, { maxUnavailable: 0 }],
  ])('of %j is %j', async (pdb, expected) => {
    const { selector, unhealthyPodEvictionPolicy, ...spec } = find(
      await renderChart({ controller: { pdb } }),
      'PodDisruptionBudget',
    )?.['spec'] as Json;
    expect([selector, unhealthyPodEvictionPolicy]).not.toContain(undefined);
    expect(spec).toEqual(expected);
  });
});

describe('objects that outlive the release', () => {
  it('are ignored by Argo CD, which would take the hook for its own and delete first', async () => {
    const project = find(await renderChart(), 'AppProject');
    expect(project?.metadata.annotations).toMatchObject({
      'argocd.argoproj.io/hook': 'Skip',
      'argocd.argoproj.io/hook-delete-policy': 'HookFailed',
      'helm.sh/resource-policy': 'keep',
    });
    expect(find(await renderChart({ defaultProject: { create: false } }), 'AppProject')).toBeUndefined();
  });

  it('are the settings', async () => {
    const objects = await renderChart({ configs: { cm: { annotations: { a: 'b' } } } });
    const keep = { 'helm.sh/resource-policy': 'keep' };
    expect(find(objects, 'ConfigMap', 'argocd-cm')?.metadata.annotations).toEqual({ a: 'b', ...keep });
    expect(find(objects, 'ConfigMap', 'argocd-cmd-params-cm')?.metadata.annotations).toEqual(keep);
  });
});

describe('names', () => {
  it('of Roles in other namespaces contain the namespace and name of the release', async () => {
    const values = { rbac: { writeNamespaces: ['argocd', 'team-a'], applicationNamespaces: ['team-b'] } };
    const roles = (await renderChart(values)).filter(({ kind }) => kind === 'Role' || kind === 'RoleBinding');
    expect(new Set(roles.map(({ metadata: { namespace, name } }) => `${namespace ?? ''}/${name}`))).toEqual(
      new Set([
        'argocd/driftless',
        'argocd/driftless-managed',
        'team-a/argocd-driftless-managed',
        'team-b/argocd-driftless-applications',
      ]),
    );
  });

  it('contain no dots', async () => {
    expect((await renderedController({}, { release: 'git.ops' })).workload.metadata.name).toBe('git-ops-driftless');
  });

  it.each([
    ['an invalid name', { fullnameOverride: 'Driftless' }, /fullnameOverride/],
    ['a Service name that begins with a digit', { nameOverride: '7' }, /must begin with a letter/, '1'],
    ['an invalid key', { configs: { cm: { 'a/b': 'c' } } }, /a\/b/],
    ['an invalid parameter', { configs: { params: { 'server/x': 'c' } } }, /server\/x/],
    [
      'a repository that cannot be the name of a Secret',
      { configs: { repositories: { My_Repo: { url: 'u' } } } },
      /My_Repo/,
    ],
    ['a repository with lists', { configs: { repositories: { r: { url: 'u', password: ['a'] } } } }, /password/],
    [
      'a cluster that cannot be the name of a Secret',
      { configs: { clusterCredentials: { 'a b': { server: 's', config: {} } } } },
      /a b/,
    ],
    ['a certificate that is not a string', { configs: { tls: { certificates: { 'a.b': 7 } } } }, /certificates/],
    ['nested annotations', { controller: { podAnnotations: { a: { b: 'c' } } } }, /podAnnotations/],
    ['pull secrets by name only', { global: { imagePullSecrets: ['a'] } }, /imagePullSecrets/],
    ['a project that is not an object', { defaultProject: { spec: [] } }, /defaultProject/],
    ['an invalid priority class', { controller: { priorityClassName: 'High!' } }, /priorityClassName/],
    ['an invalid ServiceAccount name', { controller: { serviceAccount: { name: 'My Account' } } }, /serviceAccount/],
    ['a word as number of replicas', { controller: { replicas: 'many' } }, /replicas/],
    [
      'rules of the community chart',
      { controller: { clusterRoleRules: { enabled: true, rules: [] } } },
      /clusterRoleRules/,
    ],
    [
      'a fixed number of shards for all',
      { global: { env: [{ name: 'ARGOCD_CONTROLLER_REPLICAS', value: '3' }] } },
      /follows the replicas/,
    ],
    [
      'Applications elsewhere in namespaced mode',
      { rbac: { namespaced: true, applicationNamespaces: ['a'] } },
      /rbac.applicationNamespaces/,
    ],
  ] as readonly (readonly [string, object, RegExp, string?])[])(
    '%s is refused',
    async (_what, values, message, release = 'driftless') => {
      await expect(renderChart(values, { release })).rejects.toThrow(message);
    },
  );
});
