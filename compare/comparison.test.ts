import { describe, expect, it } from '@jest/globals';
import { defined } from '#base';
import type { UnreadObject } from '#live';
import { appKey, defaultSettings, keyOf, resourceKey } from '#model';
import type { Application, ApplicationSpec, KubeObject, ResourceStatus } from '#model';
import { compareState } from './comparison.ts';
import type { CompareFacts, Comparison } from './types.ts';
import { normalizeTargets } from './targets.ts';

const clusterScoped = new Set(['Namespace', 'ClusterRole']);

function object(
  kind: string,
  name: string,
  over: { annotations?: Record<string, string>; data?: string; namespace?: string } = {},
): KubeObject {
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      ...defined({ namespace: over.namespace, annotations: over.annotations }),
    },
    ...(over.data === undefined ? {} : { data: { key: over.data } }),
  };
}

const rules = {
  instance: 'demo',
  destinationNamespace: 'apps',
  tracking: defaultSettings.tracking,
  isNamespaced: ({ kind }: { kind: string }) => !clusterScoped.has(kind),
  isExcluded: ({ kind }: { kind: string }) => kind === 'Event',
};
const targetsOf = (...rendered: KubeObject[]): readonly KubeObject[] => normalizeTargets(rendered, rules).targets;

/** The live object after a target was applied. */
function applied(target: KubeObject, over: object = {}): KubeObject {
  const [normal] = targetsOf(target);
  return {
    ...normal!,
    ...over,
    metadata: { ...normal!.metadata, uid: `uid-${target.metadata.name ?? ''}`, resourceVersion: '1' },
  };
}

function facts(
  rendered: readonly KubeObject[],
  live: readonly KubeObject[],
  over: Partial<CompareFacts> = {},
  spec: Partial<ApplicationSpec> = {},
): CompareFacts {
  const app: Application = {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'demo', namespace: 'argocd', uid: 'app-uid' },
    spec: {
      source: { repoURL: 'https://git/x', path: 'p' },
      destination: { server: 'https://c', namespace: 'apps' },
      ...spec,
    },
  };
  return {
    app,
    key: appKey('argocd', 'demo'),
    instance: 'demo',
    settings: defaultSettings,
    rendered: {
      targets: targetsOf(...rendered),
      revisions: ['sha'],
      sourceTypes: ['Directory'],
      conditions: [],
      failed: false,
      mayHaveChanges: true,
    },
    live: { objects: new Map(live.map((o) => [keyOf(o), o])), degraded: [], conditions: [], failed: false },
    requested: ['main'],
    isNamespaced: rules.isNamespaced,
    permitted: () => true,
    permittedKind: () => true,
    persistResourceHealth: false,
    ...over,
  };
}

const rows = (comparison: Comparison): Partial<ResourceStatus>[] =>
  comparison.resources.map(({ kind, name, status, requiresPruning, hook }) => ({
    ...defined({ kind, name, status, requiresPruning, hook }),
  }));

describe('compareState', () => {
  const a = object('ConfigMap', 'a', { data: '1' });

  it('is Synced for equal objects', () => {
    const comparison = compareState(facts([a], [applied(a)]));
    expect(comparison.syncStatus).toMatchObject({ status: 'Synced', revision: 'sha' });
    expect(comparison.health).toEqual({ status: 'Healthy', message: '' });
    expect(comparison.resources).toEqual([
      { version: 'v1', kind: 'ConfigMap', namespace: 'apps', name: 'a', status: 'Synced' },
    ]);
  });

  it('drops the managed fields of a manifest, also of hooks: no owner changes by Git', () => {
    const managedFields = [{ manager: 'other', operation: 'Apply', apiVersion: 'v1', fieldsV1: {} }];
    const annotations = { 'argocd.argoproj.io/hook': 'PreSync' };
    for (const one of [a, object('ConfigMap', 'b', { annotations })])
      expect(targetsOf({ ...one, metadata: { ...one.metadata, managedFields } })).toEqual(targetsOf(one));
  });

  it('warns of an object of ours whose managed fields were trimmed, if nothing else says what we applied', () => {
    const types = (live: KubeObject, ...syncOptions: string[]): readonly string[] =>
      compareState(facts([a], [live], {}, { syncPolicy: { syncOptions } })).conditions.map(({ type }) => type);
    const trimmed = applied(a);
    for (const option of ['ServerSideApply=true', 'Replace=true'])
      expect(types(trimmed, option)).toEqual(['LastAppliedWarning']);
    // A client-side apply has its annotation.
    expect(types(trimmed)).toEqual([]);
    const fieldsV1 = { 'f:data': { 'f:key': {} } };
    const managedFields = [{ manager: 'argocd-controller', operation: 'Apply', apiVersion: 'v1', fieldsV1 }];
    const recorded = { ...trimmed, metadata: { ...trimmed.metadata, managedFields } };
    expect(types(recorded, 'ServerSideApply=true')).toEqual([]);
    // Another tool created it: it has never been ours.
    const foreign = { ...trimmed, metadata: { ...trimmed.metadata, annotations: {} } };
    expect(types(foreign, 'ServerSideApply=true')).toEqual([]);
  });

  it('is OutOfSync for a field that left Git and that only we own by server-side apply', () => {
    const fieldsV1 = { 'f:data': { 'f:key': {}, 'f:lost': {} } };
    const managedFields = [{ manager: 'argocd-controller', operation: 'Apply', apiVersion: 'v1', fieldsV1 }];
    const known = applied(a);
    const live = { ...known, data: { key: '1', lost: '2' }, metadata: { ...known.metadata, managedFields } };
    const status = (syncOptions: string[]): string =>
      compareState(facts([a], [live], {}, { syncPolicy: { syncOptions } })).syncStatus.status;
    expect([status(['ServerSideApply=true']), status([])]).toEqual(['OutOfSync', 'OutOfSync']);
  });

  it('is OutOfSync for changed, missing and extra objects', () => {
    const extra = applied(object('Secret', 'extra'));
    const comparison = compareState(facts([a, object('ConfigMap', 'b')], [applied(a, { data: { key: '2' } }), extra]));
    expect(comparison.syncStatus.status).toBe('OutOfSync');
    expect(rows(comparison)).toEqual([
      { kind: 'ConfigMap', name: 'a', status: 'OutOfSync' },
      { kind: 'ConfigMap', name: 'b', status: 'OutOfSync' },
      { kind: 'Secret', name: 'extra', status: 'OutOfSync', requiresPruning: true },
    ]);
  });

  it('is Missing if no object is live, but not if any is', () => {
    expect(compareState(facts([a], [])).health.status).toBe('Missing');
    expect(compareState(facts([a, object('ConfigMap', 'b')], [applied(a)])).health.status).toBe('Healthy');
  });

  it('does not count an extraneous object that may stay, nor a copy with the tracking of another object', () => {
    const stays = applied(
      object('Secret', 's', { annotations: { 'argocd.argoproj.io/compare-options': 'IgnoreExtraneous' } }),
    );
    const copy = applied(object('Secret', 'copy', {}));
    const copied = {
      ...copy,
      metadata: { ...copy.metadata, annotations: { 'argocd.argoproj.io/tracking-id': 'demo:/Secret:apps/original' } },
    };
    const comparison = compareState(facts([a], [applied(a), stays, copied]));
    expect(comparison.syncStatus.status).toBe('Synced');
    expect(rows(comparison)).toEqual([
      { kind: 'ConfigMap', name: 'a', status: 'Synced' },
      { kind: 'Secret', name: 'copy' },
      { kind: 'Secret', name: 's', status: 'OutOfSync', requiresPruning: true },
    ]);
    expect(comparison.pairs.filter((pair) => !pair.own).map((pair) => pair.key)).toEqual(['/Secret/apps/copy']);
  });

  it('leaves hooks out of sync status and health', () => {
    const job = object('ConfigMap', 'hook', { annotations: { 'argocd.argoproj.io/hook': 'PreSync' } });
    const comparison = compareState(facts([a, job], [applied(a), applied(job)]));
    expect(comparison.syncStatus.status).toBe('Synced');
    expect(rows(comparison)).toEqual([
      { kind: 'ConfigMap', name: 'a', status: 'Synced' },
      { kind: 'ConfigMap', name: 'hook', requiresPruning: true, hook: true },
    ]);
    expect([comparison.hooks.length, comparison.liveHooks.length]).toEqual([1, 1]);
  });

  it.each(['argocd.argoproj.io/hook', 'helm.sh/hook'])(
    'finds drift of an object that only the cluster marks as a hook: %s',
    (name) => {
      const live = object('ConfigMap', 'a', { data: '2', annotations: { [name]: 'PreSync' } });
      const comparison = compareState(facts([a], [applied(live)]));
      expect(rows(comparison)).toEqual([{ kind: 'ConfigMap', name: 'a', status: 'OutOfSync' }]);
      expect(comparison.syncStatus.status).toBe('OutOfSync');
    },
  );

  it('takes the sync wave of a row from the manifest alone', () => {
    const wave = (value: string): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': value });
    const hook = (name: string, value: string): KubeObject =>
      object('ConfigMap', name, { annotations: { 'argocd.argoproj.io/hook': 'PreSync', ...wave(value) } });
    const generated = hook('', '3');
    const targets = [object('ConfigMap', 'a', { annotations: wave('1') }), hook('named', '2'), generated];
    const gone = object('ConfigMap', 'gone', { annotations: wave('4') });
    const live = [
      object('ConfigMap', 'a', { annotations: wave('9') }),
      hook('named', '9'),
      hook('made-abc1234-presync-1700000000', '3'),
      gone,
    ];
    const { resources } = compareState(
      facts(
        targets,
        live.map((each) => applied(each)),
      ),
    );
    expect(Object.fromEntries(resources.map(({ name, syncWave }) => [name, syncWave]))).toEqual({
      a: 1,
      named: 2,
      'made-abc1234-presync-1700000000': undefined,
      gone: undefined,
    });
  });

  it('reports delete hooks, and leaves them out of everything else', () => {
    const pre = object('ConfigMap', 'pre', { annotations: { 'argocd.argoproj.io/hook': 'PreDelete' } });
    const comparison = compareState(facts([a, pre], [applied(a)]));
    expect([comparison.hasPreDeleteHooks, comparison.hasPostDeleteHooks]).toEqual([true, false]);
    expect(comparison.resources).toHaveLength(1);
  });

  it('is Unknown if manifests or live state could not be loaded', () => {
    const base = facts([], [applied(a)]);
    const blind = compareState({ ...base, rendered: { ...base.rendered, failed: true, revisions: [] } });
    expect(blind.syncStatus).toMatchObject({ status: 'Unknown', revision: 'main' });
    expect(rows(blind)).toEqual([{ kind: 'ConfigMap', name: 'a', status: 'Unknown', requiresPruning: true }]);
    const dark = compareState({
      ...facts([a], []),
      live: { objects: new Map(), degraded: [], conditions: [], failed: true },
    });
    expect([dark.syncStatus.status, dark.health.status]).toEqual(['Unknown', 'Unknown']);
  });

  it('names a kind whose live state is stale, and does not treat its objects as missing', () => {
    const degraded = [
      { group: '', kind: 'ConfigMap', version: 'v1', state: 'degraded' as const, message: 'why', objects: 0 },
    ];
    const base = facts([a], []);
    const comparison = compareState({ ...base, live: { ...base.live, degraded } });
    expect(comparison.syncStatus.status).toBe('Unknown');
    expect(comparison.conditions.map((c) => c.type)).toEqual(['StaleResourceWarning']);
    const other = facts([object('Secret', 's')], []);
    expect(compareState({ ...other, live: { ...other.live, degraded } }).conditions).toEqual([]);
  });

  it('treats unfound objects of a left-out kind as missing, and names the kind only if an object is to be pruned', () => {
    const degraded = [
      { group: '', kind: 'ConfigMap', version: 'v1', state: 'left-out' as const, message: 'why', objects: 0 },
    ];
    const at = (base: CompareFacts): Comparison => compareState({ ...base, live: { ...base.live, degraded } });
    const missing = at(facts([a], []));
    expect([missing.syncStatus.status, missing.health.status, missing.conditions]).toEqual([
      'OutOfSync',
      'Missing',
      [],
    ]);
    expect(at(facts([a], [applied(a)])).syncStatus.status).toBe('Synced');
    const dropped = at(facts([], [applied(a)]));
    expect(dropped.syncStatus.status).toBe('OutOfSync');
    expect(dropped.conditions).toMatchObject([
      {
        type: 'StaleResourceWarning',
        message: 'The live state of /ConfigMap is not up to date, nothing of this kind is pruned: why',
      },
    ]);
  });

  describe('with a kind that cannot be read', () => {
    const dark = (kind: string, name: string): UnreadObject => ({
      group: '',
      version: 'v1',
      kind,
      namespace: 'apps',
      name,
      key: resourceKey('', kind, 'apps', name),
      message: 'failed to get managed objects: unexpected error getting managed object: no webhook',
    });
    const secrets = ['s1', 's2', 's3', 's4'].map((name) => object('Secret', name));
    const compared = (rendered: KubeObject[], live: KubeObject[], unread: UnreadObject[]): Comparison => {
      const base = facts(rendered, live, { persistResourceHealth: true });
      return compareState({ ...base, live: { ...base.live, unread } });
    };

    it('makes its objects Unknown, compares the others, and names the kind in one condition', () => {
      const comparison = compared(
        [a, ...secrets],
        [applied(a)],
        [...secrets, object('Secret', 'old')].map((o) => dark('Secret', o.metadata.name ?? '')),
      );
      expect(comparison.resources.map(({ name, status, health }) => [name, status, health?.status])).toEqual([
        ['a', 'Synced', undefined],
        ...['old', 's1', 's2', 's3', 's4'].map((name) => [name, 'Unknown', 'Unknown']),
      ]);
      expect(comparison.syncStatus.status).toBe('Unknown');
      expect(comparison.failed).toBe(false);
      expect(comparison.health).toEqual({ status: 'Unknown', message: expect.stringContaining('Caused by') });
      expect(comparison.conditions).toEqual([
        {
          type: 'ComparisonError',
          message:
            'Failed to load live state: failed to get managed objects: unexpected error getting managed object: no webhook (Secret apps/s1, apps/s2, apps/s3 and 2 more)',
        },
      ]);
    });

    it('still shows differences and bad health of other objects', () => {
      const changed = compared([a, ...secrets], [applied(a, { data: { key: '2' } })], [dark('Secret', 's1')]);
      expect(changed.syncStatus.status).toBe('OutOfSync');
      const only = compared([object('Secret', 's1')], [], [dark('Secret', 's1')]);
      expect([only.syncStatus.status, only.health.status]).toEqual(['Unknown', 'Unknown']);
      const missing = compared([a, object('Secret', 's1')], [], [dark('Secret', 's1')]);
      expect(missing.resources.map(({ name, health }) => [name, health?.status])).toEqual([
        ['a', 'Missing'],
        ['s1', 'Unknown'],
      ]);
    });
  });

  it('warns about an object that another Application tracks', () => {
    const theirs = {
      ...applied(a),
      metadata: {
        ...applied(a).metadata,
        annotations: { 'argocd.argoproj.io/tracking-id': 'team_other:/ConfigMap:apps/a' },
      },
    };
    expect(compareState(facts([a], [theirs])).conditions).toEqual([
      { type: 'SharedResourceWarning', message: 'ConfigMap/a is part of applications argocd/demo and team/other' },
    ]);
  });

  it('makes resources that the project forbids Unknown, and drops their live objects', () => {
    const forbidden = { permitted: () => false, permittedKind: () => false };
    const comparison = compareState(facts([a], [applied(a)], forbidden));
    expect(rows(comparison)).toEqual([{ kind: 'ConfigMap', name: 'a', status: 'Unknown' }]);
    expect(comparison.syncStatus.status).toBe('OutOfSync');
  });

  it('makes a forbidden kind or name Unknown, hooks included, and an object in a forbidden namespace missing', () => {
    const hook = object('Job', 'hook', { annotations: { 'argocd.argoproj.io/hook': 'Sync' } });
    const asked: unknown[] = [];
    const byKind = compareState(
      facts([a, object('Widget', 'w')], [applied(a), applied(hook)], {
        permittedKind: ({ kind, metadata }, namespaced) => {
          asked.push([kind, metadata.name, namespaced]);
          return false;
        },
        isNamespaced: ({ kind }) => (kind === 'Widget' ? undefined : true),
      }),
    );
    expect(byKind.resources.map(({ kind, status, hook: isHook }) => [kind, status, isHook])).toEqual([
      ['ConfigMap', 'Unknown', undefined],
      ['Job', 'Unknown', true],
      ['Widget', 'Unknown', undefined],
    ]);
    // A kind unknown to the cluster is judged as cluster-scoped.
    expect(asked).toContainEqual(['Widget', 'w', false]);
    expect(asked).toContainEqual(['ConfigMap', 'a', true]);
    const byPlace = compareState(facts([a], [applied(a)], { permitted: () => false }));
    expect(rows(byPlace)).toEqual([{ kind: 'ConfigMap', name: 'a', status: 'OutOfSync' }]);
  });

  it('makes hooks and skipped resources Unknown too if one side could not be loaded', () => {
    const hook = object('Job', 'hook', { annotations: { 'argocd.argoproj.io/hook': 'Sync' } });
    const skipped = object('Secret', 'skipped', { annotations: { 'argocd.argoproj.io/hook': 'Skip' } });
    const base = facts([a, skipped], [applied(a), applied(hook), applied(skipped)]);
    const statusOf = ({ resources }: Comparison): unknown => resources.map(({ kind, status }) => [kind, status]);
    expect(statusOf(compareState(base))).toEqual([
      ['ConfigMap', 'Synced'],
      ['Job', undefined],
      ['Secret', undefined],
    ]);
    expect(statusOf(compareState({ ...base, rendered: { ...base.rendered, failed: true } }))).toEqual([
      ['ConfigMap', 'Unknown'],
      ['Job', 'Unknown'],
      ['Secret', 'Unknown'],
    ]);
  });

  it('names another Application as its objects do', () => {
    const theirs = (instance: string): KubeObject => {
      const metadata = applied(a).metadata;
      const annotations = { 'argocd.argoproj.io/tracking-id': `${instance}:/ConfigMap:apps/a` };
      return { ...applied(a), metadata: { ...metadata, annotations } };
    };
    const told = (instance: string): unknown => compareState(facts([a], [theirs(instance)])).conditions[0]?.message;
    expect(told('other')).toBe('ConfigMap/a is part of applications argocd/demo and other');
    expect(told('team_other')).toBe('ConfigMap/a is part of applications argocd/demo and team/other');
  });

  it('keeps a live Namespace whose metadata the Application manages', () => {
    const namespace = {
      ...object('Namespace', 'apps'),
      metadata: {
        name: 'apps',
        uid: 'ns',
        annotations: { 'argocd.argoproj.io/tracking-id': 'demo:/Namespace:apps/apps' },
      },
    };
    const spec = { syncPolicy: { managedNamespaceMetadata: { labels: { team: 'x' } } } };
    const comparison = compareState(facts([a], [applied(a), namespace], {}, spec));
    expect(rows(comparison)).toEqual([
      { kind: 'ConfigMap', name: 'a', status: 'Synced' },
      { kind: 'Namespace', name: 'apps', status: 'OutOfSync' },
    ]);
  });

  it('requires confirmation if a resource or the Application asks for it', () => {
    const careful = object('ConfigMap', 'a', { annotations: { 'argocd.argoproj.io/sync-options': 'Delete=confirm' } });
    expect(compareState(facts([careful], [])).resources[0]?.requiresDeletionConfirmation).toBe(true);
    const spec = { syncPolicy: { syncOptions: ['Prune=confirm'] } };
    expect(compareState(facts([a], [], {}, spec)).resources[0]?.requiresDeletionConfirmation).toBe(true);
    expect(compareState(facts([a], [])).resources[0]?.requiresDeletionConfirmation).toBeUndefined();
  });

  it('makes only resources Unknown that differ under a rule that cannot run, with one condition', () => {
    const [b, c] = [object('ConfigMap', 'b', { data: '1' }), object('ConfigMap', 'c', { data: '1' })];
    const secret = object('Secret', 's', { data: '1' });
    const drift = { data: { key: '2' } };
    const live = [applied(a, drift), applied(b, drift), applied(c), applied(secret, drift)];
    const settings = {
      ...defaultSettings,
      overrides: {
        ConfigMap: {
          useOpenLibs: false,
          knownTypeFields: [],
          ignoreDifferences: { jqPathExpressions: ['.data | limit(1; .[])'] },
        },
      },
      raw: { 'resource.customizations.ignoreDifferences.ConfigMap': '' },
    };
    const comparison = compareState(facts([a, b, c, secret], live, { settings }));
    expect(comparison.failed).toBe(false);
    expect(comparison.syncStatus.status).toBe('OutOfSync');
    expect(rows(comparison)).toEqual([
      { kind: 'ConfigMap', name: 'a', status: 'Unknown' },
      { kind: 'ConfigMap', name: 'b', status: 'Unknown' },
      { kind: 'ConfigMap', name: 'c', status: 'Synced' },
      { kind: 'Secret', name: 's', status: 'OutOfSync' },
    ]);
    expect(comparison.conditions).toEqual([
      {
        type: 'IgnoreRuleWarning',
        message:
          'The jqPathExpression ".data | limit(1; .[])" in argocd-cm resource.customizations.ignoreDifferences.ConfigMap uses the function "limit", which is not supported (for ConfigMap). If such a resource differs, it is Unknown and not synced: fix or remove the rule',
      },
    ]);
    // Without the Secret no difference is known, so nothing may act on it.
    expect(compareState(facts([a, c], [applied(a, drift), applied(c)], { settings })).syncStatus.status).toBe(
      'Unknown',
    );
  });

  it('ignores faulty rules that apply to none of its resources', () => {
    const overrides = {
      'apps/Deployment': {
        useOpenLibs: false,
        knownTypeFields: [],
        ignoreDifferences: { jqPathExpressions: ['.data[(((', '.a + 1'], jsonPointers: ['spec'] },
      },
    };
    const odd = facts([a], [applied(a)], { settings: { ...defaultSettings, overrides } });
    expect({ ...compareState(odd), pairs: [] }).toEqual({ ...compareState(facts([a], [applied(a)])), pairs: [] });
  });

  it('warns about a pointer without a leading slash, and is OutOfSync as in Argo CD', () => {
    const spec = { ignoreDifferences: [{ kind: 'ConfigMap', jsonPointers: ['data/key'] }] };
    const comparison = compareState(facts([a], [applied(a, { data: { key: '2' } })], {}, spec));
    expect(comparison.syncStatus.status).toBe('OutOfSync');
    expect(comparison.conditions.map((condition) => condition.message)).toEqual([
      'The jsonPointer "data/key" in spec.ignoreDifferences[0] does not start with "/", so its first step is left out (for ConfigMap). The rule has the same effect as in Argo CD: fix or remove it',
    ]);
  });
});

describe('normalizeTargets', () => {
  it('sets the namespace and adds tracking', () => {
    const { targets } = normalizeTargets(
      [object('ConfigMap', 'a'), object('ClusterRole', 'r', { namespace: 'x' }), object('Gadget', 'g')],
      rules,
    );
    expect(
      targets.map((t) => [t.metadata.namespace, t.metadata.annotations?.['argocd.argoproj.io/tracking-id']]),
    ).toEqual([
      ['apps', 'demo:/ConfigMap:apps/a'],
      [undefined, 'demo:/ClusterRole:apps/r'],
      ['apps', 'demo:/Gadget:apps/g'],
    ]);
  });

  it('keeps the last of repeated objects and drops excluded ones, with a condition for each', () => {
    const { targets, conditions } = normalizeTargets(
      [object('ConfigMap', 'a', { data: '1' }), object('Event', 'e'), object('ConfigMap', 'a', { data: '2' })],
      rules,
    );
    expect(targets.map((t) => t['data'])).toEqual([{ key: '2' }]);
    expect(conditions).toEqual([
      { type: 'ExcludedResourceWarning', message: 'Resource /Event e is excluded in the settings' },
      {
        type: 'RepeatedResourceWarning',
        message: 'Resource /ConfigMap/apps/a appeared 2 times among application resources.',
      },
    ]);
  });

  it('does not treat objects with generateName as repeated', () => {
    const job: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'x-' } };
    expect(normalizeTargets([job, job], rules).targets).toHaveLength(2);
  });
});
