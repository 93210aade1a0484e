import { describe, expect, it } from '@jest/globals';
import { defined } from '#base';
import type { Comparison, ManagedPair } from '#compare';
import { resourceKey } from '#model';
import type { AppKey, Application, ApplicationStatus, HealthStatus, KubeObject, ResourceStatus } from '#model';
import { judge } from './judge.ts';
import { statusChange } from '../application/status-patch.ts';
import type { Decisions } from '../decide/decide-refresh.ts';
import type { PassAssessment } from '../refresh/pass.ts';
import type { StatusDisagreement } from '../application/verdict.ts';

const key = 'argocd/demo' as AppKey;
const spec: Application['spec'] = {
  project: 'default',
  source: { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' },
  destination: { server: 'https://dest', namespace: 'apps' },
};
const configMap = resourceKey('', 'ConfigMap', 'apps', 'one');
const synced: ResourceStatus = { version: 'v1', kind: 'ConfigMap', namespace: 'apps', name: 'one', status: 'Synced' };
const drifted: ResourceStatus = { ...synced, status: 'OutOfSync' };

/** A status that Argo CD wrote for an application at rest. */
const calm: ApplicationStatus = {
  sync: { status: 'Synced', revision: 'a' },
  health: { status: 'Healthy' },
  resources: [synced],
  resourceHealthSource: 'appTree',
  reconciledAt: '2026-01-01T00:00:00Z',
};

function application(status: ApplicationStatus | undefined, over: Partial<Application> = {}): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'demo', namespace: 'argocd' },
    spec,
    ...defined({ status }),
    ...over,
  };
}

const object: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'apps' } };

interface Ours {
  readonly status?: Partial<ApplicationStatus>;
  readonly health?: HealthStatus;
  readonly failed?: boolean;
  readonly live?: KubeObject | null;
  readonly target?: KubeObject | null;
  readonly decisions?: Partial<Decisions>;
}

/** The result of a pass over a stored status: at rest, except for what a case changes. */
function assessment(
  { status = {}, health, failed = false, live = object, target = object, decisions }: Ours,
  before: ApplicationStatus | undefined = calm,
): PassAssessment {
  const full: ApplicationStatus = { ...calm, ...status };
  const paths = full.resources?.[0]?.status === 'OutOfSync' ? ['/data/key'] : [];
  const diff = {
    modified: paths.length > 0,
    normalizedLive: live,
    predictedLive: target,
    paths,
    faults: [],
    undecided: false,
  };
  const pair: ManagedPair = { key: configMap, target, live, hook: false, own: true, diff };
  const comparison: Comparison = {
    syncStatus: full.sync ?? { status: 'Unknown' },
    health: { status: 'Healthy', message: '' },
    resourceHealthSource: 'appTree',
    resources: full.resources ?? [],
    resourceHealth: new Map(health === undefined ? [] : [[configMap, health]]),
    conditions: full.conditions ?? [],
    pairs: [pair],
    hooks: [],
    liveHooks: [],
    sourceTypes: [],
    left: [],
    hasPreDeleteHooks: false,
    hasPostDeleteHooks: false,
    mayHaveChanges: true,
    failed,
    degraded: [],
    unread: [],
    refusals: [],
  };
  return {
    ...statusChange(before, full),
    tree: { nodes: [], orphanedNodes: [] },
    managed: [],
    memory: {},
    decidedFrom: {},
    log: [],
    conditions: full.conditions ?? [],
    decisions: {
      comparison,
      finalizers: undefined,
      decision: undefined,
      basis: undefined,
      sight: undefined,
      ...decisions,
    },
  };
}

const error = (message: string, type = 'ComparisonError'): NonNullable<ApplicationStatus['conditions']>[number] =>
  ({ type, message }) as never;

describe('judge', () => {
  const cases: readonly [string, ApplicationStatus | undefined, Ours, readonly Partial<StatusDisagreement>[]][] = [
    ['agrees on the same status', calm, {}, []],
    [
      'ignores times and messages',
      { ...calm, health: { status: 'Healthy', message: 'x', lastTransitionTime: '2020-01-01T00:00:00Z' } },
      { status: { reconciledAt: '2026-02-02T00:00:00Z' } },
      [],
    ],
    [
      'ignores the order, versions and waves of resources',
      {
        ...calm,
        resources: [
          { ...synced, name: 'two' },
          { ...synced, version: 'v1beta1', syncWave: 3 },
        ],
      },
      { status: { resources: [synced, { ...synced, name: 'two' }] } },
      [],
    ],
    ['ignores warnings', { ...calm, conditions: [error('x', 'OrphanedResourceWarning')] }, {}, []],
    [
      'ignores the message of an error that both report',
      { ...calm, conditions: [error('rpc error: a')] },
      { status: { conditions: [error('rpc error: b')] } },
      [],
    ],
    [
      'reports a missing status',
      undefined,
      {},
      [
        { field: 'sync', theirs: '', ours: 'Synced' },
        { field: 'health', theirs: '' },
      ],
    ],
    [
      'reports the sync status, the resource and its paths',
      calm,
      { status: { sync: { status: 'OutOfSync', revision: 'a' }, resources: [drifted] } },
      [
        { field: 'sync', theirs: 'Synced', ours: 'OutOfSync' },
        { field: 'resource-sync', resource: configMap, theirs: 'Synced', ours: 'OutOfSync', paths: ['/data/key'] },
      ],
    ],
    ['reports health', calm, { status: { health: { status: 'Degraded' } } }, [{ field: 'health', theirs: 'Healthy' }]],
    [
      'reports the revision instead of each resource',
      calm,
      { status: { sync: { status: 'OutOfSync', revision: 'b' }, resources: [drifted] } },
      [{ field: 'sync' }, { field: 'revision', theirs: 'a', ours: 'b' }],
    ],
    [
      'reports the revisions of several sources',
      { ...calm, sync: { status: 'Synced', revisions: ['a', 'b'] } },
      { status: { sync: { status: 'Synced', revisions: ['a', 'c'] } } },
      [{ field: 'revision', theirs: 'a,b', ours: 'a,c' }],
    ],
    [
      'reports an error that only the other has',
      { ...calm, conditions: [error('away')] },
      {},
      [{ field: 'condition', theirs: 'ComparisonError: away', ours: '' }],
    ],
    [
      'reports our own failure instead of resources and revision',
      calm,
      {
        failed: true,
        status: {
          sync: { status: 'Unknown', revision: 'main' },
          resources: [{ ...synced, status: 'Unknown' }],
          conditions: [error('away')],
        },
      },
      [
        { field: 'sync', ours: 'Unknown' },
        { field: 'condition', theirs: '', ours: 'ComparisonError: away' },
      ],
    ],
    [
      'reports a resource that only the other lists',
      { ...calm, resources: [synced, { ...synced, name: 'two', requiresPruning: true, status: 'OutOfSync' }] },
      {},
      [{ field: 'resource-missing', theirs: 'OutOfSync (requires pruning)', ours: '' }],
    ],
    [
      'reports a resource that only we list, such as a hook without a status',
      calm,
      { status: { resources: [synced, { kind: 'Job', namespace: 'apps', name: 'h', hook: true }] } },
      [{ field: 'resource-extra', resource: resourceKey('', 'Job', 'apps', 'h'), theirs: '', ours: 'listed' }],
    ],
    [
      'reports required pruning',
      { ...calm, resources: [drifted] },
      { status: { resources: [{ ...drifted, requiresPruning: true }] } },
      [{ field: 'resource-sync', theirs: 'OutOfSync', ours: 'OutOfSync (requires pruning)' }],
    ],
    [
      'ignores the health of a resource if the status does not contain it',
      calm,
      { health: { status: 'Degraded' } },
      [],
    ],
    [
      'reports the health of a resource if the status contains it',
      { ...calm, resourceHealthSource: '', resources: [{ ...synced, health: { status: 'Healthy' } }] },
      { health: { status: 'Degraded' } },
      [{ field: 'resource-health', resource: configMap, theirs: 'Healthy', ours: 'Degraded' }],
    ],
  ];
  it.each(cases)('%s', (_name, theirs, ours, expected) => {
    const { disagreements } = judge(key, application(theirs), assessment(ours, theirs));
    expect(disagreements).toEqual(expected.map((each) => expect.objectContaining(each) as unknown));
  });

  it('reports Unknown for an invalid spec and compares nothing else', () => {
    const invalid = { ...assessment({ status: { sync: { status: 'Unknown' }, health: { status: 'Unknown' } } }) };
    const verdict = judge(key, application(calm), { ...invalid, decisions: undefined });
    expect(verdict.disagreements.map(({ field }) => field)).toEqual(['sync', 'health']);
    expect(verdict).toMatchObject({ theirs: { sync: 'Synced', health: 'Healthy' }, ours: { sync: 'Unknown' } });
  });
});

describe('planned writes', () => {
  const operation = { sync: { prune: true, revision: 'a' } };
  const start = { do: 'start', operation, reason: 'new revision [a]' } as const;
  const open = { sync: { status: 'OutOfSync', revision: 'a' }, resources: [drifted] } as const;

  it('reports the status that this controller would write, without its resources', () => {
    const sync = { status: 'OutOfSync', revision: 'b' } as const;
    const { status } = judge(key, application(calm), assessment({ status: { sync, conditions: [error('away')] } }));
    expect(status).toEqual({ sync, health: { status: 'Healthy' }, conditions: [error('away')] });
  });

  it('are empty if both agree', () => {
    const verdict = judge(key, application(calm), assessment({ status: { reconciledAt: '2026-02-02T00:00:00Z' } }));
    expect([verdict.disagreements, verdict.writes]).toEqual([[], []]);
  });

  it.each<[string, Partial<Application>, Ours, readonly object[]]>([
    [
      'contain the spec in its normal form',
      { spec: { ...spec, project: '' } },
      {},
      [{ what: 'spec', target: key, reason: 'normal form of project' }],
    ],
    [
      'contain finalizers of delete hooks',
      {},
      { decisions: { finalizers: ['f'] } },
      [{ what: 'finalizers', target: key, reason: 'delete hooks: f' }],
    ],
    [
      'contain a differing status with its changed members',
      {},
      { status: { health: { status: 'Degraded' } } },
      [{ what: 'status', target: key, reason: 'differs in health' }],
    ],
    [
      'name the first rows that differ, and their fields',
      {},
      {
        status: {
          resources: [{ ...synced, syncWave: 2, hook: true }, ...['x', 'y', 'z'].map((name) => ({ ...synced, name }))],
        },
      },
      [
        {
          what: 'status',
          target: key,
          reason: `differs in resources (${configMap}: hook, syncWave; /ConfigMap/apps/x: added; /ConfigMap/apps/y: added; and 1 more)`,
        },
      ],
    ],
    [
      'contain an automated sync with the objects it applies',
      { status: { ...calm, ...open } },
      { status: open, decisions: { decision: start } },
      [
        { what: 'operation', target: key, reason: 'automated sync: new revision [a]' },
        { what: 'object', target: configMap, reason: 'applies it: /data/key' },
      ],
    ],
    [
      'contain created objects',
      { status: { ...calm, ...open } },
      { status: open, live: null, decisions: { decision: start } },
      [{ what: 'operation' }, { what: 'object', target: configMap, reason: 'creates it' }],
    ],
    [
      'contain pruned objects',
      { status: { ...calm, ...open, resources: [{ ...drifted, requiresPruning: true }] } },
      {
        status: { ...open, resources: [{ ...drifted, requiresPruning: true }] },
        target: null,
        decisions: { decision: start },
      },
      [{ what: 'operation' }, { what: 'object', target: configMap, reason: 'prunes it' }],
    ],
    [
      'leave out objects that it may not prune',
      { status: { ...calm, ...open, resources: [{ ...drifted, requiresPruning: true }] } },
      {
        status: { ...open, resources: [{ ...drifted, requiresPruning: true }] },
        target: null,
        decisions: { decision: { ...start, operation: { sync: { revision: 'a' } } } },
      },
      [{ what: 'operation' }],
    ],
  ])('%s', (_name, over, ours, expected) => {
    const app = application(calm, over);
    const { writes } = judge(key, app, assessment(ours, app.status));
    expect(writes).toEqual(expected.map((each) => expect.objectContaining(each) as unknown));
  });

  it('reports why automated sync refuses', () => {
    const decision = { do: 'refuse', message: 'auto-sync will wipe out all resources' } as const;
    const verdict = judge(key, application(calm), assessment({ decisions: { decision } }));
    expect(verdict.conditions).toEqual([{ type: 'SyncError', message: 'auto-sync will wipe out all resources' }]);
  });
});

describe('fields that Git dropped earlier', () => {
  it('are those of an object that the other controller calls Synced', () => {
    const live = { ...object, data: { key: 'old', kept: 'x' } };
    const target = { ...object, data: { kept: 'x' } };
    const status = { resources: [drifted], sync: { status: 'OutOfSync', revision: 'a' } } as const;
    const verdict = judge(key, application(calm), assessment({ status, live, target }));
    expect(verdict.dropped).toEqual([{ resource: configMap, paths: ['/data/key'] }]);
  });

  it('are not values that change, nor those of an object that is OutOfSync for both', () => {
    const live = { ...object, data: { key: 'old' } };
    const status = { resources: [drifted], sync: { status: 'OutOfSync', revision: 'a' } } as const;
    const changed = assessment({ status, live, target: { ...object, data: { key: 'new' } } });
    expect(judge(key, application(calm), changed).dropped).toBeUndefined();
    const both = { ...calm, ...status };
    expect(judge(key, application(both), assessment({ status, live }, both)).dropped).toBeUndefined();
  });
});
