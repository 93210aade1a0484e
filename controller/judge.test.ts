import { describe, expect, it } from '@jest/globals';
import type { Comparison, ManagedPair } from '#compare';
import { resourceKey } from '#model';
import type { AppKey, Application, ApplicationStatus, HealthStatus, KubeObject, ResourceStatus } from '#model';
import { judge } from './judge.ts';
import type { Assessment, Found } from './refresh.ts';
import type { Disagreement } from './verdict.ts';

const key = 'argocd/demo' as AppKey;
const spec: Application['spec'] = {
  project: 'default',
  source: { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' },
  destination: { server: 'https://dest', namespace: 'apps' },
};
const configMap = resourceKey('', 'ConfigMap', 'apps', 'one');
const synced: ResourceStatus = { version: 'v1', kind: 'ConfigMap', namespace: 'apps', name: 'one', status: 'Synced' };
const drifted: ResourceStatus = { ...synced, status: 'OutOfSync' };

/** What Argo CD wrote about a quiet application. */
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
    ...(status === undefined ? {} : { status }),
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
  readonly found?: Partial<Found>;
}

/** What a pass found out: calm, but for what a case says. */
function assessment({ status = {}, health, failed = false, live = object, target = object, found }: Ours): Assessment {
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
    hasPreDeleteHooks: false,
    hasPostDeleteHooks: false,
    mayHaveChanges: true,
    failed,
    degraded: [],
    unread: [],
  };
  return {
    status: full,
    tree: { nodes: [], orphanedNodes: [] },
    managed: [],
    conditions: full.conditions ?? [],
    found: { comparison, finalizers: undefined, decision: undefined, ...found },
  };
}

const error = (message: string, type = 'ComparisonError'): NonNullable<ApplicationStatus['conditions']>[number] =>
  ({ type, message }) as never;

describe('8.2.2: a verdict on what another controller says', () => {
  const cases: readonly [string, ApplicationStatus | undefined, Ours, readonly Partial<Disagreement>[]][] = [
    ['the same', calm, {}, []],
    [
      'times and messages',
      { ...calm, health: { status: 'Healthy', message: 'x', lastTransitionTime: '2020-01-01T00:00:00Z' } },
      { status: { reconciledAt: '2026-02-02T00:00:00Z' } },
      [],
    ],
    [
      'the order of resources, their versions and waves',
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
    ['warnings', { ...calm, conditions: [error('x', 'OrphanedResourceWarning')] }, {}, []],
    [
      'the texts of an error that both report',
      { ...calm, conditions: [error('rpc error: a')] },
      { status: { conditions: [error('rpc error: b')] } },
      [],
    ],
    [
      'no status yet',
      undefined,
      {},
      [
        { field: 'sync', theirs: '', ours: 'Synced' },
        { field: 'health', theirs: '' },
      ],
    ],
    [
      'sync, and which resource, and where',
      calm,
      { status: { sync: { status: 'OutOfSync', revision: 'a' }, resources: [drifted] } },
      [
        { field: 'sync', theirs: 'Synced', ours: 'OutOfSync' },
        { field: 'resource-sync', resource: configMap, theirs: 'Synced', ours: 'OutOfSync', paths: ['/data/key'] },
      ],
    ],
    ['health', calm, { status: { health: { status: 'Degraded' } } }, [{ field: 'health', theirs: 'Healthy' }]],
    [
      'the revision, and then not each resource',
      calm,
      { status: { sync: { status: 'OutOfSync', revision: 'b' }, resources: [drifted] } },
      [{ field: 'sync' }, { field: 'revision', theirs: 'a', ours: 'b' }],
    ],
    [
      'the revisions of several sources',
      { ...calm, sync: { status: 'Synced', revisions: ['a', 'b'] } },
      { status: { sync: { status: 'Synced', revisions: ['a', 'c'] } } },
      [{ field: 'revision', theirs: 'a,b', ours: 'a,c' }],
    ],
    [
      'an error that only they report',
      { ...calm, conditions: [error('away')] },
      {},
      [{ field: 'condition', theirs: 'ComparisonError: away', ours: '' }],
    ],
    [
      'a failure of ours, and then not each resource and no revision',
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
      'what only they list',
      { ...calm, resources: [synced, { ...synced, name: 'two', requiresPruning: true, status: 'OutOfSync' }] },
      {},
      [{ field: 'resource-missing', theirs: 'OutOfSync (requires pruning)', ours: '' }],
    ],
    [
      'what only we list, a hook without a status',
      calm,
      { status: { resources: [synced, { kind: 'Job', namespace: 'apps', name: 'h', hook: true }] } },
      [{ field: 'resource-extra', resource: resourceKey('', 'Job', 'apps', 'h'), theirs: '', ours: 'listed' }],
    ],
    [
      'pruning',
      { ...calm, resources: [drifted] },
      { status: { resources: [{ ...drifted, requiresPruning: true }] } },
      [{ field: 'resource-sync', theirs: 'OutOfSync', ours: 'OutOfSync (requires pruning)' }],
    ],
    ['the health of a resource that the status does not hold', calm, { health: { status: 'Degraded' } }, []],
    [
      'the health of a resource that the status holds',
      { ...calm, resourceHealthSource: '', resources: [{ ...synced, health: { status: 'Healthy' } }] },
      { health: { status: 'Degraded' } },
      [{ field: 'resource-health', resource: configMap, theirs: 'Healthy', ours: 'Degraded' }],
    ],
  ];
  it.each(cases)('%s', (_name, theirs, ours, expected) => {
    const { disagreements } = judge(key, application(theirs), assessment(ours));
    expect(disagreements).toEqual(expected.map((each) => expect.objectContaining(each) as unknown));
  });

  it('takes an invalid spec for Unknown, and compares nothing else', () => {
    const invalid = { ...assessment({ status: { sync: { status: 'Unknown' }, health: { status: 'Unknown' } } }) };
    const verdict = judge(key, application(calm), { ...invalid, found: undefined });
    expect(verdict.disagreements.map(({ field }) => field)).toEqual(['sync', 'health']);
    expect(verdict).toMatchObject({ theirs: { sync: 'Synced', health: 'Healthy' }, ours: { sync: 'Unknown' } });
  });
});

describe('8.2.2: what would be written', () => {
  const operation = { sync: { prune: true, revision: 'a' } };
  const start = { do: 'start', operation, reason: 'new revision [a]' } as const;
  const open = { sync: { status: 'OutOfSync', revision: 'a' }, resources: [drifted] } as const;

  it('nothing, where both say the same', () => {
    const verdict = judge(key, application(calm), assessment({ status: { reconciledAt: '2026-02-02T00:00:00Z' } }));
    expect([verdict.disagreements, verdict.writes]).toEqual([[], []]);
  });

  it.each<[string, Partial<Application>, Ours, readonly object[]]>([
    [
      'the spec in its normal form',
      { spec: { ...spec, project: '' } },
      {},
      [{ what: 'spec', target: key, reason: 'normal form of project' }],
    ],
    [
      'finalizers of delete hooks',
      {},
      { found: { finalizers: ['f'] } },
      [{ what: 'finalizers', target: key, reason: 'delete hooks: f' }],
    ],
    [
      'a status that differs, by its members',
      {},
      { status: { health: { status: 'Degraded' } } },
      [{ what: 'status', target: key, reason: 'differs in health' }],
    ],
    [
      'an automated sync with what it applies',
      { status: { ...calm, ...open } },
      { status: open, found: { decision: start } },
      [
        { what: 'operation', target: key, reason: 'automated sync: new revision [a]' },
        { what: 'object', target: configMap, reason: 'applies it: /data/key' },
      ],
    ],
    [
      'what it creates',
      { status: { ...calm, ...open } },
      { status: open, live: null, found: { decision: start } },
      [{ what: 'operation' }, { what: 'object', target: configMap, reason: 'creates it' }],
    ],
    [
      'what it prunes',
      { status: { ...calm, ...open, resources: [{ ...drifted, requiresPruning: true }] } },
      {
        status: { ...open, resources: [{ ...drifted, requiresPruning: true }] },
        target: null,
        found: { decision: start },
      },
      [{ what: 'operation' }, { what: 'object', target: configMap, reason: 'prunes it' }],
    ],
    [
      'not what it may not prune',
      { status: { ...calm, ...open, resources: [{ ...drifted, requiresPruning: true }] } },
      {
        status: { ...open, resources: [{ ...drifted, requiresPruning: true }] },
        target: null,
        found: { decision: { ...start, operation: { sync: { revision: 'a' } } } },
      },
      [{ what: 'operation' }],
    ],
  ])('%s', (_name, over, ours, expected) => {
    const { writes } = judge(key, application(calm, over), assessment(ours));
    expect(writes).toEqual(expected.map((each) => expect.objectContaining(each) as unknown));
  });

  it('says why automated sync refuses', () => {
    const decision = { do: 'refuse', message: 'auto-sync will wipe out all resources' } as const;
    const verdict = judge(key, application(calm), assessment({ found: { decision } }));
    expect(verdict.conditions).toEqual([{ type: 'SyncError', message: 'auto-sync will wipe out all resources' }]);
  });
});
