import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { customLabelsOf, detailsOf, infoOf } from './details.ts';
import { networkingOf } from './networking.ts';

const object = (apiVersion: string, kind: string, more: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'web', namespace: 'prod' },
  ...more,
});
const annotated = (apiVersion: string, kind: string, annotations: Readonly<Record<string, string>>): KubeObject =>
  object(apiVersion, kind, { metadata: { name: 'web', namespace: 'prod', annotations } });
const lines = (from: KubeObject, labels: readonly string[] = []): Record<string, string> => {
  const details = detailsOf(from, labels);
  return Object.fromEntries((details === undefined ? [] : infoOf(details)).map(({ name, value }) => [name, value]));
};
const networking = (from: KubeObject): unknown => networkingOf(from, from.apiVersion.split('/').slice(0, -1)[0] ?? '');

describe('the lines of a pod', () => {
  const pod = (status: object, spec: object = {}): KubeObject =>
    object('v1', 'Pod', { spec: { nodeName: 'n1', containers: [{ name: 'a' }, { name: 'b' }], ...spec }, status });
  const ended = (name: string, more: object = {}): object => ({
    name,
    state: { terminated: { exitCode: 0, ...more } },
  });
  const running = { name: 'a', ready: true, restartCount: 2, state: { running: {} } };

  it('11.2: are those of Argo CD, in its order', () => {
    const requests = { cpu: '250m', memory: '128Mi' };
    const spec = { containers: [{ name: 'a', resources: { requests } }, { name: 'b' }] };
    const details = detailsOf(pod({ phase: 'Running', containerStatuses: [running] }, spec), []);
    expect(details === undefined ? [] : infoOf(details)).toEqual([
      { name: 'Status Reason', value: 'Running' },
      { name: 'Node', value: 'n1' },
      { name: 'Containers', value: '1/2' },
      { name: 'Restart Count', value: '2' },
      { name: 'cpu', value: '250' },
      { name: 'memory', value: '134217728000' },
    ]);
  });

  const init = { initContainers: [{ name: 'i' }, { name: 'j' }] };
  it.each<[string, object, object]>([
    ['Pending', { phase: 'Pending' }, {}],
    ['Evicted', { phase: 'Failed', reason: 'Evicted' }, {}],
    [
      'SchedulingGated',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated', status: 'False' }] },
      {},
    ],
    [
      'CrashLoopBackOff',
      { phase: 'Running', containerStatuses: [{ name: 'a', state: { waiting: { reason: 'CrashLoopBackOff' } } }] },
      {},
    ],
    ['OOMKilled', { phase: 'Running', containerStatuses: [ended('a', { exitCode: 137, reason: 'OOMKilled' })] }, {}],
    ['Signal:9', { phase: 'Running', containerStatuses: [ended('a', { exitCode: 137, signal: 9 })] }, {}],
    ['ExitCode:3', { phase: 'Running', containerStatuses: [ended('a', { exitCode: 3 })] }, {}],
    ['Running', { phase: 'Running', containerStatuses: [ended('b', { reason: 'Completed' }), running] }, {}],
    ['Init:0/2', { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: { running: {} } }] }, init],
    [
      'Init:1/2',
      {
        phase: 'Pending',
        initContainerStatuses: [ended('i'), { name: 'j', state: { waiting: { reason: 'PodInitializing' } } }],
      },
      init,
    ],
    ['Init:Error', { phase: 'Pending', initContainerStatuses: [ended('i', { exitCode: 1, reason: 'Error' })] }, init],
    ['Init:ExitCode:1', { phase: 'Pending', initContainerStatuses: [ended('i', { exitCode: 1 })] }, init],
    [
      'Init:ErrImagePull',
      { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: { waiting: { reason: 'ErrImagePull' } } }] },
      init,
    ],
  ])('11.2: reason %s', (reason, status, spec) => {
    expect(lines(pod(status, spec))['Status Reason']).toBe(reason);
  });

  it('11.2: a pod that is being deleted is terminating, until it has ended; one of a lost machine is unknown', () => {
    const leaving = (status: object): string | undefined => {
      const live = pod(status);
      return lines({ ...live, metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })[
        'Status Reason'
      ];
    };
    expect([
      leaving({ phase: 'Running', containerStatuses: [running] }),
      leaving({ phase: 'Succeeded', containerStatuses: [ended('a', { reason: 'Completed' })] }),
      leaving({ phase: 'Running', reason: 'NodeLost' }),
    ]).toEqual(['Terminating', 'Completed', 'Unknown']);
  });

  it('11.2: a sidecar counts as a container, and its requests as those of one', () => {
    const requests = (cpu: string): object => ({ resources: { requests: { cpu } } });
    const spec = {
      initContainers: [
        { name: 's', restartPolicy: 'Always', ...requests('100m') },
        { name: 'big', ...requests('1') },
      ],
      containers: [{ name: 'a', ...requests('200m') }],
      overhead: { cpu: '10m' },
    };
    const initContainerStatuses = [{ name: 's', started: true, ready: true, state: { running: {} } }, ended('big')];
    const found = lines(pod({ phase: 'Running', initContainerStatuses, containerStatuses: [running] }, spec));
    expect([found['Containers'], found['cpu']]).toEqual(['2/2', '1110']);
  });

  it('11.2: one that has ended asks for nothing', () => {
    const spec = { containers: [{ name: 'a', resources: { requests: { cpu: '1' } } }] };
    expect(lines(pod({ phase: 'Succeeded' }, spec))['cpu']).toBeUndefined();
  });

  it('11.2: nonsense in its place is as nothing', () => {
    expect(
      lines(pod({ phase: 7, containerStatuses: 'x', conditions: [null] }, { containers: [1], nodeName: [] })),
    ).toEqual({
      Containers: '0/1',
    });
  });
});

describe('other lines', () => {
  it('11.2: the revision of a Deployment, ReplicaSet, Rollout or ControllerRevision', () => {
    expect([
      lines(annotated('apps/v1', 'ReplicaSet', { 'deployment.kubernetes.io/revision': '3' })),
      lines(annotated('argoproj.io/v1alpha1', 'Rollout', { 'rollout.argoproj.io/revision': '4' })),
      lines(object('apps/v1', 'ControllerRevision', { revision: 5 })),
      lines(annotated('apps/v1', 'ReplicaSet', { 'deployment.kubernetes.io/revision': 'first' })),
    ]).toEqual([{ Revision: 'Rev:3' }, { Revision: 'Rev:4' }, { Revision: 'Rev:5' }, {}]);
  });

  it('11.2: labels that argocd-cm names', () => {
    const labelled = object('v1', 'ConfigMap', { metadata: { name: 'web', labels: { team: 'a', other: 'b' } } });
    expect(lines(labelled, ['team', 'missing'])).toEqual({ team: 'a' });
  });

  it('11.2: where the Application of another instance is managed', () => {
    const found = annotated('argoproj.io/v1alpha1', 'Application', {
      'argocd.argoproj.io/managed-by-url': 'https://a',
    });
    expect(lines(found)).toEqual({ 'managed-by-url': 'https://a' });
  });

  it('12.7: the labels that resource.customLabels names, letter by letter: a space is a part of the name', () => {
    const labels = { team: 'a', 'example.com/tier': 'web', other: 'b' };
    const labelled = object('v1', 'ConfigMap', { metadata: { name: 'web', namespace: 'prod', labels } });
    const named = (text: string): readonly string[] =>
      customLabelsOf({ ...defaultSettings, raw: { 'resource.customLabels': text } });
    expect(lines(labelled, named('team,example.com/tier,missing'))).toEqual({ team: 'a', 'example.com/tier': 'web' });
    expect(lines(labelled, named('team, other'))).toEqual({ team: 'a' });
    expect(lines(labelled, customLabelsOf(defaultSettings))).toEqual({});
  });

  it('11.2: of most objects there is nothing to keep', () => {
    expect(detailsOf(object('v1', 'ConfigMap', { data: { a: 'b' } }), ['team'])).toBeUndefined();
  });
});

describe('networkingOf', () => {
  it('11.2: a Service selects pods, and one of a load balancer is reached at its name rather than its number', () => {
    const status = { loadBalancer: { ingress: [{ ip: '10.0.0.1', hostname: 'lb' }, { ip: '10.0.0.2' }] } };
    const spec = { selector: { app: 'web' }, type: 'LoadBalancer' };
    expect(networking(object('v1', 'Service', { spec, status }))).toEqual({
      targetLabels: { app: 'web' },
      ingress: [{ hostname: 'lb' }, { ip: '10.0.0.2' }],
    });
    expect(networking(object('v1', 'Service', { spec: { ...spec, type: 'ClusterIP' }, status }))).toEqual({
      targetLabels: { app: 'web' },
    });
  });

  it('11.2: a Pod has the labels by which it is selected', () => {
    const pod = object('v1', 'Pod', { metadata: { name: 'p', labels: { app: 'web' } } });
    expect(networking(pod)).toEqual({ labels: { app: 'web' } });
  });

  it('11.2: an Ingress names its Services and its addresses', () => {
    const path = (name: string, at: string): object => ({ path: at, backend: { service: { name } } });
    const spec = {
      tls: [{ secretName: 's' }],
      rules: [
        { host: 'a.example.com', http: { paths: [path('web', '/x*'), path('web', '/')] } },
        { http: { paths: [path('api', '/api')] } },
      ],
    };
    const status = { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } };
    const found = object('networking.k8s.io/v1', 'Ingress', { spec, status });
    const targetRefs = ['web', 'api'].map((name) => ({ kind: 'Service', namespace: 'prod', name }));
    expect(networking(found)).toEqual({
      targetRefs,
      ingress: [{ ip: '10.0.0.1' }],
      externalURLs: ['https://a.example.com/x', 'https://a.example.com/', 'https://10.0.0.1/api'],
    });
    const quiet = {
      ...found,
      metadata: { ...found.metadata, annotations: { 'argocd.argoproj.io/ignore-default-links': 'true' } },
    };
    expect(networking(quiet)).toEqual({ targetRefs, ingress: [{ ip: '10.0.0.1' }] });
  });

  it('11.2: an old Ingress, a VirtualService, a ServiceEntry and routes name their targets', () => {
    const old = { spec: { backend: { serviceName: 'main' }, rules: [] } };
    const virtual = {
      spec: { http: [{ route: [{ destination: { host: 'web.other.svc' } }, { destination: { host: 'api' } }] }] },
    };
    const entry = { spec: { workloadSelector: { labels: { app: 'x' } } } };
    const way = { spec: { parentRefs: [{ name: 'gw' }], rules: [{ backendRefs: [{ name: 'web', namespace: 'b' }] }] } };
    const service = (namespace: string, name: string): object => ({ kind: 'Service', namespace, name });
    expect([
      networking(object('extensions/v1beta1', 'Ingress', old)),
      networking(object('networking.istio.io/v1', 'VirtualService', virtual)),
      networking(object('networking.istio.io/v1', 'ServiceEntry', entry)),
      networking(object('gateway.networking.k8s.io/v1', 'HTTPRoute', way)),
    ]).toEqual([
      { targetRefs: [service('prod', 'main')] },
      { targetRefs: [service('other', 'web'), service('prod', 'api')] },
      { targetLabels: { app: 'x' }, targetRefs: [{ kind: 'Pod', name: '' }] },
      {
        targetRefs: [
          { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'prod', name: 'gw' },
          service('b', 'web'),
        ],
      },
    ]);
  });

  it('11.2: a Gateway is reached at its listeners', () => {
    const spec = {
      listeners: [
        { protocol: 'HTTPS', port: 443, hostname: 'a.example.com' },
        { protocol: 'HTTP', port: 8080, hostname: '*' },
      ],
    };
    const status = {
      addresses: [{ type: 'Hostname', value: 'lb' }, { value: '10.0.0.1' }, { type: 'Other', value: 'x' }],
    };
    expect(networking(object('gateway.networking.k8s.io/v1', 'Gateway', { spec, status }))).toEqual({
      ingress: [{ hostname: 'lb' }, { ip: '10.0.0.1' }],
      externalURLs: ['https://a.example.com', 'http://lb:8080', 'http://10.0.0.1:8080'],
    });
  });

  it('12.7: an Ingress is reached by https where its certificates name the host, and at the first address that has a name or number', () => {
    const path = { path: '/', backend: { service: { name: 'web' } } };
    const spec = {
      tls: [{ hosts: ['a.example.com'] }],
      rules: ['a.example.com', 'b.example.com', ''].map((host) => ({ host, http: { paths: [path] } })),
    };
    const status = { loadBalancer: { ingress: [{}, { hostname: 'lb' }] } };
    expect(networking(object('networking.k8s.io/v1', 'Ingress', { spec, status }))).toMatchObject({
      externalURLs: ['https://a.example.com/', 'http://b.example.com/', 'http://lb/'],
    });
  });

  it('12.7: what a route or a Gateway leaves empty is as what it leaves out, and what has no name is no target', () => {
    const spec = {
      parentRefs: [{ group: '', kind: '', namespace: '', name: 'gw' }, { name: '' }],
      rules: [{ backendRefs: [{ name: '' }, { kind: '', name: 'web' }] }],
    };
    expect(networking(object('gateway.networking.k8s.io/v1', 'GRPCRoute', { spec }))).toEqual({
      targetRefs: [
        { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'prod', name: 'gw' },
        { kind: 'Service', namespace: 'prod', name: 'web' },
      ],
    });
    const status = { addresses: [{ type: 'Hostname', value: '' }, { value: '10.0.0.1' }] };
    expect(networking(object('gateway.networking.k8s.io/v1', 'Gateway', { spec: {}, status }))).toEqual({
      ingress: [{ ip: '10.0.0.1' }],
    });
  });

  it('11.2: links that people annotate are shown, those of other schemes are not', () => {
    const links = {
      'link.argocd.argoproj.io/a': 'https://a',
      'link.argocd.argoproj.io/b': 'Docs|https://b',
      'link.argocd.argoproj.io/c': 'javascript:alert(1)',
    };
    expect(networking(annotated('v1', 'ConfigMap', links))).toEqual({ externalURLs: ['https://a', 'Docs|https://b'] });
  });

  it('11.2: nonsense in its place is as nothing', () => {
    const odd = { spec: { rules: [null, { http: 7 }], tls: 'x', selector: ['a'] }, status: { loadBalancer: [] } };
    expect([
      networking(object('networking.k8s.io/v1', 'Ingress', odd)),
      networking(object('v1', 'Service', odd)),
    ]).toEqual([undefined, undefined]);
  });
});
