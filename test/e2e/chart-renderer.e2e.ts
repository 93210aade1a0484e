import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { load } from 'js-yaml';
import type { ChartPod, PodContainer } from '../support/chart-pods.ts';
import { credentialVolumes, environmentOf, mountsOf, userOf } from '../support/chart-pods.ts';
import { chartFolder, renderChart, repository } from './rendered-controller.ts';
import type { RenderedObject } from './rendered-controller.ts';
import { mustRun, startServers } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';

type Json = Readonly<Record<string, unknown>>;

interface PodTemplate {
  readonly metadata: { readonly labels: Json; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: ChartPod;
}

function templateOf(objects: readonly RenderedObject[], name = 'application-controller'): PodTemplate {
  const templates = objects.flatMap((object) => {
    const template = (object['spec'] as { readonly template?: PodTemplate } | undefined)?.template;
    return template?.spec === undefined ? [] : [template];
  });
  const found = templates.find(({ spec }) => spec.containers[0].name === name);
  if (found === undefined) throw new Error(`no pod begins with the container ${name}`);
  return found;
}

const specOf = (objects: readonly RenderedObject[], kind: string, name: string): Json =>
  objects.find((object) => object.kind === kind && object.metadata.name === name)?.['spec'] as Json;
const decoded = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
const containersOf = ({ initContainers = [], containers }: ChartPod): readonly PodContainer[] =>
  [...initContainers, ...containers].flatMap((container) => (container === undefined ? [] : [container]));

const plugin = { name: 'plugin', image: 'p', volumeMounts: [{ name: 'plugins', mountPath: '/sockets' }] };
const beside = {
  controller: {
    plugins: { enabled: true },
    extraContainers: [plugin],
    initContainers: [{ name: 'tools', image: 'i' }],
    envFrom: [{ secretRef: { name: 'proxy' } }],
    env: [{ name: 'HTTPS_PROXY', value: 'http://user:secret@proxy' }],
    volumes: [{ name: 'kubeconfig', secret: { secretName: 'kubeconfig' } }],
    volumeMounts: [{ name: 'kubeconfig', mountPath: '/kubeconfig' }],
  },
  externalRedis: { host: 'redis', existingSecret: 'redis' },
};

function withController(values: object, more: object): object {
  const { controller = {} } = values as { readonly controller?: object };
  return { ...values, controller: { ...controller, ...more } };
}

/**
 * Installations with each renderer.mode, each also with plugins, proxies and Secrets of the
 * controller.
 */
const installations: readonly (readonly [string, object])[] = [
  ['a StatefulSet', {}],
  ['a Deployment', { controller: { dynamicClusterDistribution: true } }],
  ['namespaced mode', { rbac: { namespaced: true } }],
  ['a drop-in', { dropIn: true }],
  ['a shadow', { dropIn: true, controller: { shadow: { enabled: true } } }],
  ['a StatefulSet with plugins', beside],
  ['a Deployment with plugins', withController(beside, { dynamicClusterDistribution: true })],
  ['a drop-in with plugins', { ...beside, dropIn: true }],
  ['a shadow with plugins', { ...withController(beside, { shadow: { enabled: true } }), dropIn: true }],
];
const cases = installations.flatMap(([what, values]) =>
  ['sidecar', 'deployment'].map((mode) => [what, mode, { ...values, renderer: { mode } }] as const),
);

describe('credentials of the chart', () => {
  it.each(cases)('%s with renderer.mode %s: are mounted only into the container of the controller', async (...row) => {
    const [, mode, values] = row;
    const objects = await renderChart(values);
    const { spec: pod } = templateOf(objects);
    expect(pod.automountServiceAccountToken).toBe(false);
    const secret = credentialVolumes(pod);
    expect(secret).toEqual(expect.arrayContaining(['repo-server-tls', 'repo-server-mtls', 'service-account']));
    const [controller, ...others] = containersOf({ ...pod, initContainers: [] });
    expect(mountsOf(controller)).toEqual(expect.arrayContaining(secret));
    for (const container of [...(pod.initContainers ?? []), ...others]) {
      expect([container.name, mountsOf(container).filter((name) => secret.includes(name))]).toEqual([
        container.name,
        [],
      ]);
      expect([container.name, environmentOf(container)]).toEqual([container.name, []]);
    }
    const renderer = mode === 'sidecar' ? pod : templateOf(objects, 'renderer').spec;
    const one = renderer.containers.find((container) => container?.name === 'renderer');
    expect(userOf(renderer, one)).toBe(65_532);
    expect(userOf(pod, controller)).not.toBe(userOf(renderer, one));
    expect(one?.securityContext).toMatchObject({
      runAsNonRoot: true,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(one?.resources?.limits).toMatchObject({ memory: '2Gi', cpu: '2' });
    for (const probe of [one?.startupProbe, one?.livenessProbe])
      expect(probe?.exec?.command.slice(0, 3)).toEqual(['/usr/local/bin/driftless', 'render', '--check']);
  });

  it('are the token, the CA of the cluster and the namespace, at the usual paths of a pod', async () => {
    const { spec: pod } = templateOf(await renderChart());
    expect(pod.volumes.find(({ name }) => name === 'service-account')).toEqual({
      name: 'service-account',
      projected: {
        sources: [
          { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
          { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          {
            downwardAPI: {
              items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
            },
          },
        ],
      },
    });
    expect(pod.containers[0].volumeMounts).toContainEqual({
      name: 'service-account',
      mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
      readOnly: true,
    });
    const { spec: without } = templateOf(await renderChart({ controller: { automountServiceAccountToken: false } }));
    expect(credentialVolumes(without)).toEqual(['repo-server-tls', 'repo-server-mtls']);
  });

  it('of a cloud are only in the container of the controller, unless the values name another one', async () => {
    const [eks, azure] = ['eks.amazonaws.com/skip-containers', 'azure.workload.identity/skip-containers'];
    const annotations = async (values: object): Promise<Readonly<Record<string, string>>> =>
      templateOf(await renderChart(values)).metadata.annotations ?? {};
    expect(await annotations(beside)).toMatchObject({
      [eks]: 'renderer,tools,plugin',
      [azure]: 'renderer;tools;plugin',
    });
    const said = withController(beside, { podAnnotations: { [eks]: 'tools', [azure]: '' } });
    expect(await annotations(said)).toMatchObject({ [eks]: 'tools,renderer', [azure]: 'renderer' });
    const apart = await annotations({ renderer: { mode: 'deployment' } });
    expect([apart[eks], apart[azure]]).toEqual([undefined, undefined]);
  });
});

describe('renderer.mode sidecar', () => {
  it('shares only the socket with the controller, which cannot replace it', async () => {
    const { spec: pod } = templateOf(await renderChart({ ...beside, renderer: { mode: 'sidecar' } }));
    const [controller, renderer] = pod.containers;
    expect(mountsOf(renderer)).toEqual(['renderer-staging', 'renderer-socket']);
    expect(mountsOf(controller).filter((name) => name.startsWith('renderer'))).toEqual(['renderer-socket']);
    const socket = controller.volumeMounts?.find(({ name }) => name === 'renderer-socket');
    expect(socket).toMatchObject({ mountPath: '/run/driftless/renderer', readOnly: true });
    expect(controller.args).toEqual(
      expect.arrayContaining(['--renderer=unix:/run/driftless/renderer/private/render.sock', '--renderer-uid=65532']),
    );
    expect(renderer?.args?.slice(-3)).toEqual([
      '/usr/local/bin/driftless',
      'render',
      '--listen=unix:/run/driftless/renderer/private/render.sock',
    ]);
    expect(renderer?.args?.[2]).toContain('umask 027 && mkdir -p /run/driftless/renderer/private)');
    expect(pod.shareProcessNamespace).toBeUndefined();
  });

  it('sets no users on a platform that chooses them', async () => {
    const { spec: pod } = templateOf(
      await renderChart({
        global: { securityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } },
        renderer: { securityContext: { runAsUser: null, runAsGroup: null } },
      }),
    );
    const [controller, renderer] = pod.containers;
    expect([userOf(pod, controller), userOf(pod, renderer)]).toEqual([undefined, undefined]);
    expect(renderer?.securityContext).not.toHaveProperty('runAsGroup');
    expect(controller.args?.join(' ')).not.toContain('--renderer-uid');
  });

  it('has its staging folder in memory if the values say so', async () => {
    const values = { renderer: { staging: { medium: 'Memory', sizeLimit: '512Mi' } } };
    const { spec: pod } = templateOf(await renderChart(values));
    const staging = { name: 'renderer-staging', emptyDir: { medium: 'Memory', sizeLimit: '512Mi' } };
    expect(pod.volumes).toContainEqual(staging);
  });
});

describe('renderer.mode deployment', () => {
  const values = { renderer: { mode: 'deployment' } };
  const name = 'driftless-renderer';

  it.each<[string, object, string, string]>([
    ['a controller', {}, 'driftless', 'application-controller'],
    [
      'a shadow',
      { dropIn: true, controller: { shadow: { enabled: true } } },
      'driftless-shadow',
      'application-controller-shadow',
    ],
  ])('lets nothing out, and in only the pods of %s', async (_what, more, base, component) => {
    const objects = await renderChart({ ...more, ...values });
    const release = { 'driftless.io/release': 'driftless' };
    const selector = { 'app.kubernetes.io/component': `${component}-renderer`, ...release };
    expect(specOf(objects, 'NetworkPolicy', `${base}-renderer`)).toEqual({
      podSelector: { matchLabels: selector },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          ports: [{ port: 'render', protocol: 'TCP' }],
          from: [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': component, ...release } } }],
        },
      ],
      egress: [],
    });
    expect(templateOf(objects, 'renderer').metadata.labels).toMatchObject(selector);
    expect(specOf(objects, 'Service', `${base}-renderer`)['selector']).toEqual(selector);
    const { podSelector } = specOf(objects, 'NetworkPolicy', base) as { readonly podSelector: Json };
    expect(podSelector).toEqual({ matchLabels: { 'app.kubernetes.io/component': component, ...release } });
  });

  it('has a ServiceAccount without a token and without permissions', async () => {
    const objects = await renderChart(values);
    const { spec: pod } = templateOf(objects, 'renderer');
    expect([pod.serviceAccountName, pod.automountServiceAccountToken]).toEqual([name, false]);
    expect(objects.find((one) => one.kind === 'ServiceAccount' && one.metadata.name === name)).toMatchObject({
      automountServiceAccountToken: false,
    });
    const subjects = objects.flatMap((object) => (object['subjects'] ?? []) as readonly { readonly name: string }[]);
    expect(subjects.map((subject) => subject.name)).not.toContain(name);
    expect(credentialVolumes(pod)).toEqual(['renderer-server']);
  });

  it('gives the controller its own certificate, and mounts only that of the renderer', async () => {
    const objects = await renderChart(values);
    const controller = templateOf(objects).spec;
    expect(controller.containers).toHaveLength(1);
    expect(controller.containers[0].args).toEqual(
      expect.arrayContaining([
        '--renderer=tls:driftless-renderer.argocd.svc:8443',
        '--renderer-ca=/app/config/renderer/ca.crt',
        '--renderer-cert=/app/config/renderer/tls.crt',
        '--renderer-key=/app/config/renderer/tls.key',
      ]),
    );
    const secretOf = (pod: ChartPod, volume: string): unknown =>
      pod.volumes.find((one) => one.name === volume)?.['secret'];
    expect(secretOf(controller, 'renderer-client')).toEqual({ secretName: `${name}-client` });
    expect(secretOf(controller, 'renderer-server')).toBeUndefined();
    const renderer = templateOf(objects, 'renderer').spec;
    expect(secretOf(renderer, 'renderer-server')).toEqual({ secretName: `${name}-server` });
    const own = { renderer: { mode: 'deployment', deployment: { tls: { serverSecret: 's', clientSecret: 'c' } } } };
    const named = await renderChart(own);
    expect(secretOf(templateOf(named).spec, 'renderer-client')).toEqual({ secretName: 'c' });
    expect(secretOf(templateOf(named, 'renderer').spec, 'renderer-server')).toEqual({ secretName: 's' });
    expect(named.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  it('creates certificates of one CA whose key is not stored', async () => {
    const secrets = (await renderChart(values)).filter(({ kind }) => kind === 'Secret');
    const data = secrets.map((secret) => secret['data'] as Readonly<Record<string, string>>);
    expect(data.map((one) => Object.keys(one).sort())).toEqual([
      ['ca.crt', 'tls.crt', 'tls.key'],
      ['ca.crt', 'tls.crt', 'tls.key'],
    ]);
    const [authority] = data.map((one) => new X509Certificate(decoded(one['ca.crt'])));
    const certificates = data.map((one) => new X509Certificate(decoded(one['tls.crt'])));
    for (const certificate of certificates)
      expect(certificate.verify(authority?.publicKey ?? certificate.publicKey)).toBe(true);
    expect(certificates.map((one) => one.checkHost('driftless-renderer.argocd.svc') !== undefined)).toEqual([
      false,
      true,
    ]);
    expect(data[0]?.['tls.key']).not.toBe(data[1]?.['tls.key']);
  });
});

describe('the README of the chart', () => {
  const [, section = ''] = /^## Where sources are rendered$(.*?)^## /ms.exec(
    readFileSync(join(chartFolder, 'README.md'), 'utf8'),
  ) ?? ['', ''];
  const examples = [...section.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => load(text) as object);

  it('has an example of a plugin that sees neither the token nor a Secret', async () => {
    const { spec: pod } = templateOf(await renderChart(examples[0]));
    const sidecar = pod.containers.find((container) => container?.name === 'my-plugin');
    expect(mountsOf(sidecar)).toEqual(['plugins', 'cmp-server', 'my-plugin-tmp', 'my-plugin-config']);
    expect(mountsOf(sidecar).filter((name) => credentialVolumes(pod).includes(name))).toEqual([]);
    const users = pod.containers.map((container) => userOf(pod, container));
    expect(new Set(users).size).toBe(3);
  });

  it('has an example with two users of the range of a namespace on OpenShift', async () => {
    const { spec: pod } = templateOf(await renderChart(examples[1]));
    const [controller, renderer] = pod.containers;
    expect([userOf(pod, controller), userOf(pod, renderer)]).toEqual([1_000_650_000, 1_000_650_001]);
    expect(controller.args).toContain('--renderer-uid=1000650001');
    expect(pod.securityContext).not.toHaveProperty('fsGroup');
  });
});

describe('the chart refuses', () => {
  const mount = (volume: string): object => ({
    name: 'side',
    image: 'i',
    volumeMounts: [{ name: volume, mountPath: '/x' }],
  });

  it.each<[string, object, RegExp]>([
    ['an unknown mode', { renderer: { mode: 'pod' } }, /renderer\/mode/],
    ['an empty mode', { renderer: { mode: '' } }, /renderer\/mode/],
    ['no mode', { renderer: { mode: null } }, /renderer.mode is not set/],
    ['a child process that is not accepted', { renderer: { mode: 'none' } }, /acceptRenderingBesideCredentials: true/],
    ['one user for both', { renderer: { securityContext: { runAsUser: 999 } } }, /a user of its own/],
    [
      'one user for both, by the container of the controller',
      { controller: { containerSecurityContext: { runAsUser: 65_532 } } },
      /a user of its own/,
    ],
    ['a socket that the controller cannot open', { controller: { podSecurityContext: { fsGroup: null } } }, /fsGroup/],
    ['root', { renderer: { securityContext: { runAsUser: 0 } } }, /runAsUser/],
    ['privileges', { renderer: { securityContext: { privileged: true } } }, /privileged/],
    [
      'an unconfined seccomp profile',
      { renderer: { securityContext: { seccompProfile: { type: 'Unconfined' } } } },
      /type/,
    ],
    ['environment for the renderer', { renderer: { env: [{ name: 'A', value: 'b' }] } }, /env/],
    ['a renderer by flag', { controller: { extraArgs: ['--renderer=unix:/x'] } }, /renderer.mode/],
    ['an empty renderer by flag', { controller: { extraArgs: ['--renderer', ''] } }, /renderer.mode/],
    ['a renderer by variable', { global: { env: [{ name: 'DRIFTLESS_RENDERER', value: '' }] } }, /renderer.mode/],
    ['the token in a sidecar', { controller: { extraContainers: [mount('service-account')] } }, /side mounts/],
    ['the token in an init container', { controller: { initContainers: [mount('service-account')] } }, /side mounts/],
    ['the socket in a sidecar', { controller: { extraContainers: [mount('renderer-socket')] } }, /side mounts/],
    [
      'the volumes of the controller in the renderer',
      { renderer: { volumeMounts: [{ name: 'home', mountPath: '/x', readOnly: true }] } },
      /not for the renderer/,
    ],
    [
      'a Secret in the renderer',
      {
        controller: { volumes: [{ name: 's', secret: { secretName: 's' } }] },
        renderer: { volumeMounts: [{ name: 's', mountPath: '/x', readOnly: true }] },
      },
      /may hold a Secret/,
    ],
    ['a mount that can be written', { renderer: { volumeMounts: [{ name: 'a', mountPath: '/x' }] } }, /readOnly/],
    [
      'only one of two certificates',
      { renderer: { mode: 'deployment', deployment: { tls: { serverSecret: 's' } } } },
      /name both Secrets/,
    ],
  ])('%s', async (_what, values, message) => {
    await expect(renderChart(values)).rejects.toThrow(message);
  });

  it('nothing if rendering in a child process is accepted, and then has no renderer', async () => {
    const objects = await renderChart({ renderer: { mode: 'none', acceptRenderingBesideCredentials: true } });
    const { containers, automountServiceAccountToken } = templateOf(objects).spec;
    expect([containers.length, automountServiceAccountToken]).toEqual([1, false]);
    expect(containers[0].args?.join(' ')).not.toContain('--renderer');
  });
});

describe('the alert about a renderer that restarts', () => {
  const rules = { metrics: { rules: { enabled: true } } };
  const alertsOf = async (values: object): Promise<string> => {
    const objects = await renderChart(withController(values, rules));
    return JSON.stringify(objects.find(({ kind }) => kind === 'PrometheusRule'));
  };

  it.each<[string, object, string]>([
    ['a StatefulSet', {}, 'driftless-[0-9]+'],
    ['a Deployment', { controller: { dynamicClusterDistribution: true } }, 'driftless-[a-z0-9]+-[a-z0-9]{5}'],
    ['renderers of their own', { renderer: { mode: 'deployment' } }, 'driftless-renderer-[a-z0-9]+-[a-z0-9]{5}'],
  ])('looks at the pods of %s', async (_what, values, pods) => {
    expect(await alertsOf(values)).toContain(`{namespace=\\"argocd\\", pod=~\\"${pods}\\", container=\\"renderer\\"}`);
  });

  it('is absent without a renderer', async () => {
    const none = { renderer: { mode: 'none', acceptRenderingBesideCredentials: true } };
    expect(await alertsOf(none)).not.toContain('DriftlessRendererRestarts');
  });
});

describe('on a real API server', () => {
  let world: Servers<'hub'>;
  let hub: Server;

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
    await hub.kubectl(['apply', '--server-side', '--force-conflicts', '-f', join(repository, 'manifests', 'crds')]);
    for (const name of ['argocd', 'restricted']) await hub.kubectl(['create', 'namespace', name]);
    await hub.kubectl(['label', 'namespace', 'restricted', 'pod-security.kubernetes.io/enforce=restricted']);
    await hub.kubectl(['wait', '--for=condition=Established', 'crd/appprojects.argoproj.io']);
  });
  afterAll(async () => {
    await world.close();
  });

  it.each(cases)('%s with renderer.mode %s is accepted', async (...row) => {
    const [, , values] = row;
    const objects = await renderChart(values);
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    const args = ['apply', '--dry-run=server', '--validate=strict', '-o', 'name', '-f', '-'];
    expect((await hub.kubectl(args, { input })).trim().split('\n')).toHaveLength(objects.length);
    const lint = ['lint', '--strict', '--quiet', chartFolder, '--values', '-'];
    await mustRun('helm', lint, { input: JSON.stringify(values) });
  });

  it('the pods of the renderer meet the restricted pod security standard', async () => {
    const objects = await renderChart({ renderer: { mode: 'deployment' } }, { namespace: 'restricted' });
    const { metadata, spec } = templateOf(objects, 'renderer');
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'driftless-renderer' } };
    await hub.kubectl(['apply', '-n', 'restricted', '-f', '-'], { input: JSON.stringify(account) });
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'one' }, spec };
    await hub.kubectl(['create', '-n', 'restricted', '--dry-run=server', '-f', '-'], { input: JSON.stringify(pod) });
  });

  it('certificates survive upgrades, and are renewed if their Secrets are deleted', async () => {
    const names = ['driftless-renderer-client', 'driftless-renderer-server'];
    const data = async (): Promise<unknown[]> =>
      Promise.all(
        names.map(async (name) => (await hub.api.get<Json>(`/api/v1/namespaces/argocd/secrets/${name}`))?.['data']),
      );
    const upgrade = (more = ''): Promise<string> =>
      hub.helm([
        ...`upgrade --install driftless ${chartFolder} -n argocd --set crds.install=false`.split(' '),
        ...`--set renderer.mode=deployment${more}`.split(' '),
      ]);
    const notes = await upgrade();
    expect(notes).toContain('deployment/driftless-renderer');
    const first = await data();
    expect(first).not.toContain(undefined);
    await upgrade(' --set renderer.deployment.replicas=3');
    expect(await data()).toEqual(first);
    await hub.kubectl(['delete', '-n', 'argocd', 'secret', ...names]);
    await upgrade();
    const second = await data();
    expect(second).not.toContain(undefined);
    expect(second).not.toEqual(first);
    await hub.helm(['uninstall', 'driftless', '-n', 'argocd']);
    expect(await data()).toEqual([undefined, undefined]);
  });
});
