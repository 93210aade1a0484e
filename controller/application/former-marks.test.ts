import { describe, expect, it } from '@jest/globals';
import { defaultSettings, withTracking } from '#model';
import type { KubeObject, TrackingMethod, TrackingSettings } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { cascade } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';
import { markOf } from './former-marks.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

const tracking = (method: TrackingMethod, labelKey = 'app.kubernetes.io/instance'): TrackingSettings => ({
  method,
  labelKey,
  installationId: '',
});
const deletionErrors = (): readonly string[] =>
  (at.world.app.status?.conditions ?? []).filter(({ type }) => type === 'DeletionError').map(({ message }) => message);

/** Syncs by one way of tracking, and deletes after a change to another one before any sync. */
async function deleteAfterChange(before: TrackingSettings, after: TrackingSettings): Promise<void> {
  at.world.settings = { ...defaultSettings, tracking: before, version: 'before' };
  at.world.application(automated);
  await at.start();
  expect(at.names()).toEqual(['one', 'two']);
  at.world.edit(({ spec }) => ({ spec: { ...(spec as object), syncPolicy: {} } }));
  at.world.settings = { ...defaultSettings, tracking: after, version: 'after' };
}

function editLive(name: string, change: (object: KubeObject) => object): void {
  const object = at.world.dest.get('ConfigMap', name)!;
  at.world.dest.put({ ...object, metadata: { ...object.metadata, ...change(object) } });
}

describe('a cascade after a change of tracking, before the next sync', () => {
  it.each([
    ['label → annotation', tracking('label'), tracking('annotation')],
    ['label → annotation+label', tracking('label'), tracking('annotation+label')],
    ['annotation → label', tracking('annotation'), tracking('label')],
    ['another label key', tracking('label', 'example.com/app'), tracking('label')],
    ['another label key and method', tracking('label', 'example.com/app'), tracking('annotation')],
  ])('deletes objects with the former mark: %s', async (_title, before, after) => {
    await deleteAfterChange(before, after);
    at.setDeleting([cascade]);
    await at.pass(30);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.names()).toEqual([]);
  });

  it('deletes what it can, and names objects without any mark until a user decides', async () => {
    await deleteAfterChange(tracking('label'), tracking('annotation'));
    editLive('two', () => ({ labels: {} }));
    at.setDeleting([cascade]);
    await at.pass(60);
    expect(at.names()).toEqual(['two']);
    expect(deletionErrors()).toEqual([
      'Resources of its last comparison without a mark of this Application: ConfigMap apps/two. They are not deleted; ' +
        'delete them yourself. To delete the Application and leave such resources behind, set its annotation ' +
        'driftless.io/leave-resources: "true"',
    ]);
    at.world.annotate({ 'driftless.io/leave-resources': 'true' });
    await at.pass(20);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.names()).toEqual(['two']);
  });

  it('ends when a user has deleted the objects without a mark', async () => {
    await deleteAfterChange(tracking('label'), tracking('annotation'));
    editLive('two', () => ({ labels: {} }));
    at.setDeleting([cascade]);
    await at.pass(20);
    at.world.dest.delete('ConfigMap', 'two');
    await at.pass(20);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
  });

  it('does not wait for an object that another user creates in place of a deleted one (kubernetes 66136)', async () => {
    at.world.application(automated);
    await at.start();
    editLive('two', () => ({ finalizers: ['example.com/hold'] }));
    at.setDeleting([cascade]);
    await at.pass(20);
    expect(at.names()).toEqual(['two']);
    editLive('two', () => ({ annotations: {}, labels: {} }));
    await at.pass(20);
    // The object that this deletion has deleted, without its mark.
    expect(deletionErrors()).toEqual([expect.stringContaining('without a mark of this Application')]);
    at.world.dest.objects.clear();
    const { metadata, ...theirs } = configMap('two', 'theirs');
    at.world.dest.put({ ...theirs, metadata: { ...metadata, namespace: 'apps' } });
    await at.pass(20);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.names()).toEqual(['two']);
  });

  it('keeps objects of other Applications, and does not wait for them', async () => {
    await deleteAfterChange(tracking('label'), tracking('annotation'));
    editLive('two', () => ({ annotations: { 'argocd.argoproj.io/tracking-id': 'other:/ConfigMap:apps/two' } }));
    at.setDeleting([cascade]);
    await at.pass(30);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.names()).toEqual(['two']);
  });
});

it('a cascade of an Application that was never synced leaves objects of others without a word', async () => {
  const live = configMap('one');
  at.world.dest.put({
    ...live,
    metadata: { ...live.metadata, namespace: 'apps', labels: { 'app.kubernetes.io/instance': 'demo' } },
  });
  at.world.application({}, { metadata: { name: 'demo', namespace: 'argocd', finalizers: [cascade] } });
  await at.start();
  at.world.hub.delete('Application', 'demo');
  await at.pass(20);
  expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
  expect(at.names()).toEqual(['one']);
});

describe('the mark of an object', () => {
  const bare: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'apps' } };
  const isManagedNamespace = ({ kind }: KubeObject): boolean => kind === 'Namespace';
  const context = { app: 'shop', tracking: tracking('annotation'), labelKeys: [], isManagedNamespace };
  const marked = (by: TrackingSettings, app = 'shop'): KubeObject => withTracking(bare, app, 'apps', by);
  const setBy = (manager: string, key: string, object: KubeObject): KubeObject => {
    const managedFields = [{ manager, fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${key}`]: {} } } } }];
    return { ...object, metadata: { ...object.metadata, managedFields } };
  };
  const owned = (object: KubeObject, controller = false): KubeObject => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller }];
    return { ...object, metadata: { ...object.metadata, ownerReferences } };
  };
  const key = 'app.kubernetes.io/instance';

  it.each<[string, KubeObject, string]>([
    ['the present annotation', marked(tracking('annotation')), 'own'],
    ['the annotation of another Application', marked(tracking('annotation'), 'other'), 'foreign'],
    ['no mark', bare, 'none'],
    ['an owner', owned(bare), 'exempt'],
    ['an owner that another controller added', owned(marked(tracking('annotation'))), 'own'],
    ['an owner that controls it', owned(marked(tracking('annotation')), true), 'exempt'],
    ['an owner, and a mark that does not say which object it is of', owned(marked(tracking('label'))), 'exempt'],
    [
      'a label that a chart set',
      setBy('helm', 'example.com/app', marked(tracking('label', 'example.com/app'))),
      'none',
    ],
    [
      'the usual label, set by this controller',
      setBy(
        'argocd-controller',
        'applications.argoproj.io/app-name',
        marked(tracking('label', 'applications.argoproj.io/app-name')),
      ),
      'former',
    ],
    [
      'an annotation about another object',
      {
        ...bare,
        metadata: { ...bare.metadata, annotations: { 'argocd.argoproj.io/tracking-id': 'shop:/ConfigMap:apps/b' } },
      },
      'own',
    ],
    [
      'a label on a Namespace of which only the metadata is managed',
      setBy('argocd-controller', key, { ...marked(tracking('label')), kind: 'Namespace' }),
      'exempt',
    ],
    ['a CRD', { ...bare, apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' }, 'exempt'],
  ])('with %s', (_title, object, mark) => {
    expect(markOf(object, context)).toBe(mark);
  });

  it('with a label that a chart set is none if this process never tracked by it', () => {
    const object = setBy('helm', key, marked(tracking('label')));
    const byOther = { ...context, tracking: tracking('annotation', 'example.com/app') };
    expect(markOf(object, byOther)).toBe('none');
    expect(markOf(object, { ...byOther, labelKeys: [key] })).toBe('former');
  });
});
