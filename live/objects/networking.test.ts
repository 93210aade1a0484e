import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { networkingOf } from './networking.ts';

const object = (apiVersion: string, kind: string, more: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'web', namespace: 'prod' },
  ...more,
});
const annotated = (apiVersion: string, kind: string, annotations: Readonly<Record<string, string>>): KubeObject =>
  object(apiVersion, kind, { metadata: { name: 'web', namespace: 'prod', annotations } });
const networking = (from: KubeObject): unknown => networkingOf(from, from.apiVersion.split('/').slice(0, -1)[0] ?? '');

describe('networkingOf', () => {
  it('a Service selects Pods; the hostname of a load balancer is preferred to its IP', () => {
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

  it('a Pod has its labels, for selectors', () => {
    const pod = object('v1', 'Pod', { metadata: { name: 'p', labels: { app: 'web' } } });
    expect(networking(pod)).toEqual({ labels: { app: 'web' } });
  });

  it('an Ingress has its Services as targets, and its addresses', () => {
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

  it('an old Ingress, a VirtualService, a ServiceEntry and routes have targets', () => {
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

  it('a Gateway has the URLs of its listeners', () => {
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

  it('an Ingress has https URLs for hosts with certificates, and falls back to the first address', () => {
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

  it('empty fields of routes and Gateways count as missing, and references without name are ignored', () => {
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

  it('link annotations are shown, except for other URL schemes', () => {
    const links = {
      'link.argocd.argoproj.io/a': 'https://a',
      'link.argocd.argoproj.io/b': 'Docs|https://b',
      'link.argocd.argoproj.io/c': 'javascript:alert(1)',
    };
    expect(networking(annotated('v1', 'ConfigMap', links))).toEqual({ externalURLs: ['https://a', 'Docs|https://b'] });
  });

  it('malformed fields are ignored', () => {
    const odd = { spec: { rules: [null, { http: 7 }], tls: 'x', selector: ['a'] }, status: { loadBalancer: [] } };
    expect([
      networking(object('networking.k8s.io/v1', 'Ingress', odd)),
      networking(object('v1', 'Service', odd)),
    ]).toEqual([undefined, undefined]);
  });
});
