import { describe, expect, it } from '@jest/globals';
import { annotations } from './annotations.ts';
import { trackedApp, withLeftoverTracking, withTracking } from './tracking.ts';
import type { KubeObject, TrackingMethod, TrackingSettings } from './index.ts';

const methods: readonly TrackingMethod[] = ['annotation', 'label', 'annotation+label'];
const settings = (method: TrackingMethod, labelKey = 'app.kubernetes.io/instance'): TrackingSettings => ({
  method,
  labelKey,
  installationId: '',
});
const crd: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com', labels: { team: 'a' } },
};
const legacy = 'applications.argoproj.io/app-name';

describe('tracking of CRDs', () => {
  it.each(methods)('adds none to a CRD, %s', (method) => {
    expect(withTracking(crd, 'shop', 'apps', settings(method))).toEqual(crd);
    const homonym = { ...crd, apiVersion: 'example.com/v1' };
    expect(withTracking(homonym, 'shop', 'apps', settings(method))).not.toEqual(homonym);
  });

  it('ignores an annotation on a CRD; the label counts where labels track, as in Argo CD', () => {
    const id = 'shop:apiextensions.k8s.io/CustomResourceDefinition:apps/widgets.example.com';
    const marked = {
      ...crd,
      metadata: {
        ...crd.metadata,
        annotations: { 'argocd.argoproj.io/tracking-id': id },
        labels: { 'app.kubernetes.io/instance': 'chart' },
      },
    };
    expect(methods.map((method) => trackedApp(marked, settings(method)))).toEqual([undefined, 'chart', undefined]);
    expect(trackedApp({ ...marked, kind: 'Widget' }, settings('annotation'))).toBe('shop');
  });

  it.each(methods)('tolerates leftover tracking from an older version, %s', (method) => {
    const old = withTracking({ ...crd, kind: 'Old' }, 'shop', 'apps', settings(method));
    const live = { ...old, kind: crd.kind };
    expect(withLeftoverTracking(crd, live, settings(method))).toEqual(live);
    expect(withLeftoverTracking(crd, crd, settings(method))).toEqual(crd);
  });

  it('keeps the label and annotation of the manifest, and a label that another tool set', () => {
    const manifest = { ...crd, metadata: { ...crd.metadata, labels: { 'app.kubernetes.io/instance': 'release' } } };
    const live = withTracking({ ...crd, kind: 'Old' }, 'shop', 'apps', settings('annotation+label'));
    const wanted = withLeftoverTracking(manifest, live, settings('annotation+label'));
    expect(wanted.metadata.labels).toEqual({ 'app.kubernetes.io/instance': 'release' });
    const theirs = { ...crd, metadata: { ...crd.metadata, labels: { 'app.kubernetes.io/instance': 'theirs' } } };
    expect(withLeftoverTracking(crd, theirs, settings('annotation+label'))).toEqual(crd);
  });
});

describe('the tracking of an object', () => {
  const config = (namespace?: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c', ...(namespace === undefined ? {} : { namespace }) },
  });

  it.each([undefined, ''])('names the destination for an object with the namespace %j', (namespace) => {
    const tracked = withTracking(config(namespace), 'shop', 'apps', settings('annotation'));
    expect(tracked.metadata.annotations).toEqual({ [annotations.trackingId]: 'shop:/ConfigMap:apps/c' });
  });

  it.each([
    ['shop-', 'shop-'],
    ['x'.repeat(63), 'x'.repeat(63)],
    [`${'x'.repeat(60)}...y`, 'x'.repeat(60)],
  ])('shortens only names that are too long for a label: %s', (app, label) => {
    const tracked = withTracking(config('apps'), app, 'apps', settings('annotation+label'));
    expect(tracked.metadata.labels).toEqual({ 'app.kubernetes.io/instance': label });
  });
});

describe('the oldest label key', () => {
  const workload = (apiVersion: string, kind: string, spec: object): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name: 'web' },
    spec,
  });
  const pods = (labels: object): object => ({ template: { metadata: { labels } } });

  it.each([
    ['apps/v1', 'Deployment'],
    ['apps/v1', 'ReplicaSet'],
    ['apps/v1', 'StatefulSet'],
    ['extensions/v1beta1', 'DaemonSet'],
    ['batch/v1', 'Job'],
  ])('adds the label to the pods of %s %s too', (apiVersion, kind) => {
    const spec = { ...pods({ app: 'web' }), selector: { matchLabels: { app: 'web' } } };
    const marked = withTracking(workload(apiVersion, kind, spec), 'shop', 'apps', settings('label', legacy));
    expect(marked.metadata.labels).toEqual({ [legacy]: 'shop' });
    expect(marked['spec']).toEqual({ ...spec, ...pods({ app: 'web', [legacy]: 'shop' }) });
  });

  it.each([
    ['another key', 'label', 'app.kubernetes.io/instance', 'Deployment'],
    ['tracking by annotation', 'annotation', legacy, 'Deployment'],
    ['a kind without pods', 'label', legacy, 'Service'],
    ['CronJobs, as in Argo CD', 'label', legacy, 'CronJob'],
  ] as const)('leaves pods unchanged with %s', (_name, method, key, kind) => {
    const made = workload(kind === 'CronJob' ? 'batch/v1' : 'apps/v1', kind, pods({ app: 'web' }));
    expect(withTracking(made, 'shop', 'apps', settings(method, key))['spec']).toEqual(pods({ app: 'web' }));
  });

  it('sets the selector that the server would default, without the tracking label', () => {
    const marked = withTracking(
      workload('apps/v1beta1', 'Deployment', pods({ app: 'web' })),
      'shop',
      'apps',
      settings('annotation+label', legacy),
    );
    expect(marked['spec']).toEqual({
      ...pods({ app: 'web', [legacy]: 'shop' }),
      selector: { matchLabels: { app: 'web' } },
    });
  });

  it('creates missing parents of the labels, and leaves a parent that is not an object', () => {
    const bare = withTracking(workload('apps/v1', 'Deployment', {}), 'shop', 'apps', settings('label', legacy));
    expect(bare['spec']).toEqual(pods({ [legacy]: 'shop' }));
    const odd = workload('apps/v1', 'Deployment', { template: 'x' });
    expect(withTracking(odd, 'shop', 'apps', settings('label', legacy))['spec']).toEqual({ template: 'x' });
  });
});

describe('the installation ID', () => {
  const one = { ...settings('annotation'), installationId: 'one' };
  const map: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };

  it('is written beside the tracking, and an object of another installation is not ours', () => {
    const tracked = withTracking(map, 'shop', 'apps', one);
    expect(tracked.metadata.annotations).toMatchObject({ [annotations.installationId]: 'one' });
    expect(trackedApp(tracked, one)).toBe('shop');
    expect(trackedApp(tracked, { ...one, installationId: 'two' })).toBeUndefined();
    expect(trackedApp(withTracking(map, 'shop', 'apps', settings('annotation')), one)).toBeUndefined();
  });

  it('goes when none is configured', () => {
    const again = withTracking(withTracking(map, 'shop', 'apps', one), 'shop', 'apps', settings('annotation'));
    expect(Object.keys(again.metadata.annotations ?? {})).toEqual([annotations.trackingId]);
  });
});
