import { describe, expect, it } from '@jest/globals';
import { trackedApp, withLeftoverTracking, withTracking } from './tracking.ts';
import type { KubeObject, TrackingMethod, TrackingSettings } from './index.ts';

const methods: readonly TrackingMethod[] = ['annotation', 'label', 'annotation+label'];
const settings = (method: TrackingMethod, labelKey = 'app.kubernetes.io/instance'): TrackingSettings => ({
  ...{ method, labelKey },
  installationId: '',
});
const crd: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com', labels: { team: 'a' } },
};

describe('tracking of CRDs', () => {
  it.each(methods)('8.1.1: a CRD gets none, %s', (method) => {
    expect(withTracking(crd, 'shop', 'apps', settings(method))).toEqual(crd);
    const homonym = { ...crd, apiVersion: 'example.com/v1' };
    expect(withTracking(homonym, 'shop', 'apps', settings(method))).not.toEqual(homonym);
  });

  it('8.1.1: an annotation on a CRD claims nothing; the label counts where labels track, as in Argo CD', () => {
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

  it.each(methods)('8.1.1: what is left of old tracking is no difference, %s', (method) => {
    const old = withTracking({ ...crd, kind: 'Old' }, 'shop', 'apps', settings(method));
    const live = { ...old, kind: crd.kind };
    expect(withLeftoverTracking(crd, live, settings(method))).toEqual(live);
    expect(withLeftoverTracking(crd, crd, settings(method))).toEqual(crd);
  });

  it('8.1.1: what Git says of the same label and annotation stays, and so does a label that somebody else set', () => {
    const said = { ...crd, metadata: { ...crd.metadata, labels: { 'app.kubernetes.io/instance': 'release' } } };
    const live = withTracking({ ...crd, kind: 'Old' }, 'shop', 'apps', settings('annotation+label'));
    const wanted = withLeftoverTracking(said, live, settings('annotation+label'));
    expect(wanted.metadata.labels).toEqual({ 'app.kubernetes.io/instance': 'release' });
    const theirs = { ...crd, metadata: { ...crd.metadata, labels: { 'app.kubernetes.io/instance': 'theirs' } } };
    expect(withLeftoverTracking(crd, theirs, settings('annotation+label'))).toEqual(crd);
  });
});
