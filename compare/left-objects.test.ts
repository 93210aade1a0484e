import { describe, expect, it } from '@jest/globals';
import { appKey, defaultSettings, keyOf, withTracking } from '#model';
import type { Application, KubeObject, ResourceStatus, TrackingSettings } from '#model';
import { compareState } from './comparison.ts';
import type { CompareFacts, Comparison } from './types.ts';

const key = 'app.kubernetes.io/instance';
const tracking = { ...defaultSettings.tracking, labelKey: key };
const under = (more: Partial<TrackingSettings>): TrackingSettings => ({ ...tracking, ...more });
const syncedAt = '2026-01-01T12:00:00Z';
const hook = { 'argocd.argoproj.io/hook': 'PreSync' };

function live(name: string, by: TrackingSettings = tracking, over: object = {}, app = 'demo'): KubeObject {
  const bare = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'apps', uid: name } };
  const marked = withTracking(bare, app, 'apps', by);
  return { ...marked, metadata: { ...marked.metadata, ...over } };
}
const setBy = (manager: string, time = syncedAt): object => {
  const fieldsV1 = {
    'f:metadata': {
      'f:labels': { [`f:${key}`]: {} },
      'f:annotations': { 'f:argocd.argoproj.io/tracking-id': {} },
    },
  };
  return { managedFields: [{ manager, operation: 'Apply', time, fieldsV1 }] };
};
const row = (name: string, more: Partial<ResourceStatus> = {}): ResourceStatus => ({
  version: 'v1',
  kind: 'ConfigMap',
  namespace: 'apps',
  name,
  status: 'Synced',
  ...more,
});

interface Given {
  readonly objects: readonly KubeObject[];
  readonly resources?: readonly ResourceStatus[];
  readonly now?: TrackingSettings;
  readonly permits?: boolean;
  readonly over?: Partial<CompareFacts>;
}

function compared({ objects, resources, now = tracking, permits = false, over = {} }: Given): Comparison {
  const app = {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'demo', namespace: 'argocd', uid: 'app' },
    spec: { project: 'team', source: { repoURL: 'https://git/x', path: 'p' }, destination: { namespace: 'apps' } },
    status: {
      resources: resources ?? objects.map(({ metadata }) => row(metadata.name ?? '')),
      history: [{ deployedAt: syncedAt }],
    },
  } as unknown as Application;
  const rendered = { revisions: ['sha'], sourceTypes: [], conditions: [], failed: false, mayHaveChanges: true };
  return compareState({
    app,
    key: appKey('argocd', 'demo'),
    instance: 'demo',
    settings: { ...defaultSettings, tracking: now },
    rendered: { ...rendered, targets: [] },
    live: { objects: new Map(objects.map((o) => [keyOf(o), o])), degraded: [], conditions: [], failed: false },
    requested: ['main'],
    isNamespaced: () => true,
    permitted: () => permits,
    permittedKind: () => true,
    persistResourceHealth: false,
    ...over,
  });
}
const messages = ({ conditions }: Comparison): readonly string[] => conditions.map(({ message }) => message);

describe('an object that leaves Git and that the project no longer permits', () => {
  it('is named once, makes the Application OutOfSync, and stays in its record without live state', () => {
    const comparison = compared({ objects: [live('one')] });
    expect(messages(comparison)).toEqual([
      'Left in the cluster, although the sources no longer have them: ConfigMap/apps/one (the project team does not permit it). ' +
        'Delete them, or remove their tracking annotation or label to keep them',
    ]);
    expect([comparison.syncStatus.status, comparison.pairs]).toEqual(['OutOfSync', []]);
    expect(comparison.resources).toEqual([row('one', { status: 'OutOfSync', requiresPruning: true })]);
    const again = compared({ objects: [live('one')], resources: comparison.resources });
    expect(messages(again)).toEqual(messages(comparison));
    expect(messages(compared({ objects: [], resources: comparison.resources }))).toEqual([]);
  });

  it.each<[string, Given]>([
    ['no record names it: the mark may be forged', { objects: [live('one')], resources: [] }],
    ['only the record names it', { objects: [live('one', tracking, { annotations: {} })] }],
    ['another Application has taken it over', { objects: [live('one', tracking, {}, 'other')] }],
    ['it was a hook', { objects: [live('one')], resources: [row('one', { hook: true })] }],
    [
      'it carries the mark of another object',
      { objects: [{ ...live('other'), metadata: { ...live('other').metadata, name: 'one' } }] },
    ],
    ['it is being deleted', { objects: [live('one', tracking, { deletionTimestamp: syncedAt })] }],
    [
      'an owner controls it',
      { objects: [live('one', tracking, { ownerReferences: [{ kind: 'X', name: 'x', controller: true }] })] },
    ],
    [
      'a chart has set the label',
      { objects: [live('one', under({ method: 'label' }), setBy('helm'))], now: under({ method: 'label' }) },
    ],
    [
      'the sources cannot be read',
      {
        objects: [live('one')],
        over: {
          rendered: { targets: [], revisions: [], sourceTypes: [], conditions: [], failed: true, mayHaveChanges: true },
        },
      },
    ],
  ])('is not named if %s', (_why, given) => {
    const comparison = compared(given);
    expect([messages(comparison), comparison.left]).toEqual([[], []]);
  });

  it('is named by a label that this controller has set', () => {
    const method = under({ method: 'label' });
    const comparison = compared({ objects: [live('one', method, setBy('argocd-controller'))], now: method });
    expect(comparison.left.map(({ text }) => text)).toEqual([
      'ConfigMap/apps/one (the project team does not permit it)',
    ]);
  });

  it('stays in the record while the cluster or the sources cannot be read', () => {
    const resources = [row('one', { status: 'OutOfSync', requiresPruning: true })];
    const failed = { objects: new Map(), degraded: [], conditions: [], failed: true };
    expect(compared({ objects: [], resources, over: { live: failed } }).resources).toEqual([
      row('one', { status: 'Unknown', requiresPruning: true }),
    ]);
  });

  it('is one of many: five are named', () => {
    const [message] = messages(compared({ objects: Array.from({ length: 8 }, (_, i) => live(`n${i}`)) }));
    expect(message).toContain('n4 (the project team does not permit it), and 3 more. Delete');
  });
});

describe('an object that leaves Git after a change of the installation ID', () => {
  const now = under({ installationId: 'two' });
  const one = under({ installationId: 'one' });

  it.each<[string, KubeObject, string]>([
    ['another ID', live('one', one, setBy('argocd-controller')), 'marked by the installation "one"'],
    ['no ID', live('one', tracking, setBy('argocd-controller')), 'marked by an installation without an ID'],
  ])('is named, and is no prune candidate: %s', (_id, object, reason) => {
    const comparison = compared({ objects: [object], now, permits: true });
    expect(messages(comparison)).toEqual([expect.stringContaining(`ConfigMap/apps/one (${reason}). Delete`)]);
    expect([comparison.syncStatus.status, comparison.pairs]).toEqual(['OutOfSync', []]);
  });

  it('is not named if another installation has marked it since the last sync', () => {
    const object = live('one', one, setBy('argocd-controller', '2026-01-01T12:00:11Z'));
    expect(messages(compared({ objects: [object], now, permits: true }))).toEqual([]);
  });
});

describe('a mark of a hook in the cluster', () => {
  const marked = live('one');
  const object = {
    ...marked,
    metadata: { ...marked.metadata, annotations: { ...marked.metadata.annotations, ...hook } },
  };

  it('keeps no object from its prune that the last comparison had as a resource', () => {
    const comparison = compared({ objects: [object], permits: true });
    expect(comparison.resources).toEqual([row('one', { status: 'OutOfSync', requiresPruning: true })]);
    expect([comparison.pairs.map(({ hook: isHook }) => isHook), comparison.liveHooks]).toEqual([[false], []]);
    const again = compared({ objects: [object], permits: true, resources: comparison.resources });
    expect(again.resources).toEqual(comparison.resources);
  });

  it.each<[string, readonly ResourceStatus[]]>([
    ['it was one before', [row('one', { hook: true })]],
    ['no record has it', []],
  ])('makes a hook of an object if %s', (_why, resources) => {
    const comparison = compared({ objects: [object], permits: true, resources });
    expect([comparison.syncStatus.status, comparison.pairs.map(({ hook: isHook }) => isHook)]).toEqual([
      'Synced',
      [true],
    ]);
  });
});
