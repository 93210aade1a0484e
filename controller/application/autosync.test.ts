import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { keyOfStatus } from '#model';
import type {
  Application,
  ApplicationSpec,
  Operation,
  OperationState,
  ResourceKey,
  ResourceStatus,
  RevisionHistory,
} from '#model';
import { decideAutosync, onlyKeptLeft, selfHealDelayMs } from './autosync.ts';
import type { AutosyncFacts } from './autosync.ts';

const now = Date.UTC(2026, 0, 1, 12);
const backoff = { backoffMs: 2000, factor: 3, capMs: 300_000, timeoutMs: 0 };
const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
const drifted: ResourceStatus = {
  group: 'apps',
  kind: 'Deployment',
  namespace: 'ns',
  name: 'web',
  status: 'OutOfSync',
};
const fine: ResourceStatus = { kind: 'ConfigMap', namespace: 'ns', name: 'c', status: 'Synced' };
const extra: ResourceStatus = {
  kind: 'Secret',
  namespace: 'ns',
  name: 's',
  status: 'OutOfSync',
  requiresPruning: true,
};

function application(
  automated: object | undefined,
  over: Partial<Application> = {},
  spec: Partial<ApplicationSpec> = {},
): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'a', namespace: 'argocd' },
    spec: {
      source,
      destination: { server: 'https://c' },
      ...(automated === undefined ? {} : { syncPolicy: { automated } }),
      ...spec,
    },
    ...over,
  };
}

function ran(over: Partial<OperationState> = {}): Partial<Application> {
  return {
    status: {
      operationState: {
        operation: { sync: {} },
        phase: 'Succeeded',
        startedAt: '2026-01-01T11:59:00Z',
        finishedAt: '2026-01-01T11:59:59Z',
        syncResult: { revision: 'sha1', source },
        ...over,
      },
    },
  };
}

function facts(app: Application, over: Partial<AutosyncFacts> = {}): AutosyncFacts {
  return {
    app,
    syncStatus: { status: 'OutOfSync', revision: 'sha1' },
    resources: [drifted, fine],
    revisionsMayHaveChanges: true,
    backoff,
    driftSeenAt: undefined,
    unread: false,
    stale: [],
    pruneBlocked: false,
    claimed: new Set(),
    kept: new Map(),
    contested: new Map(),
    retryLatestRevision: false,
    now,
    ...over,
  };
}

describe('decideAutosync', () => {
  const on = { prune: true, selfHeal: true };
  it.each([
    ['no automated block', facts(application(undefined)), 'automated sync is off'],
    ['switched off', facts(application({ enabled: false })), 'automated sync is off'],
    ['operation set', facts(application(on, { operation: { sync: {} } })), 'another operation is in progress'],
    [
      'being deleted',
      facts(application(on, { metadata: { name: 'a', namespace: 'argocd', deletionTimestamp: 'now' } })),
      'the application is being deleted',
    ],
    ['synced', facts(application(on), { syncStatus: { status: 'Synced' } }), 'the application is Synced'],
    ['unknown', facts(application(on), { syncStatus: { status: 'Unknown' } }), 'the application is Unknown'],
    [
      'only prunes left',
      facts(application({}), { resources: [extra, fine] }),
      'only pruning is left, and pruning is off',
    ],
    [
      'only prunes left, while API versions are missing',
      facts(application(on), { resources: [extra, fine], pruneBlocked: true }),
      'only pruning is left, and the API versions of the cluster are not fully known',
    ],
    [
      'synced once, no self-heal',
      facts(application({ prune: true }, ran())),
      'this revision was already synced and self-heal is off',
    ],
  ])('skips: %s', (_name, given, reason) => {
    expect(decideAutosync(given)).toEqual({ do: 'skip', reason });
  });

  it('starts a full sync of a new revision', () => {
    const app = application(
      { prune: true },
      {},
      { syncPolicy: { automated: { prune: true }, syncOptions: ['A=true'] } },
    );
    expect(decideAutosync(facts(app))).toEqual({
      do: 'start',
      reason: 'new revision [sha1]',
      operation: {
        sync: { source, revision: 'sha1', prune: true, syncOptions: ['A=true'] },
        initiatedBy: { automated: true },
        retry: { limit: 5 },
      },
    });
  });

  it('starts for another revision or another source than the last attempt', () => {
    const failed = ran({ phase: 'Failed', message: 'boom' });
    const other = facts(application({}, failed), { syncStatus: { status: 'OutOfSync', revision: 'sha2' } });
    expect(decideAutosync(other)).toMatchObject({ do: 'start' });
    const moved = ran({ phase: 'Failed', syncResult: { revision: 'sha1', source: { ...source, path: 'q' } } });
    expect(decideAutosync(facts(application({}, moved)))).toMatchObject({ do: 'start' });
  });

  it('does not repeat a failed attempt at the hydrated branch, whatever spec.source is', () => {
    const sourceHydrator = {
      drySource: { repoURL: 'https://git/dry', path: 'p', targetRevision: 'main' },
      syncSource: { targetBranch: 'env/prod', path: 'x' },
    };
    const tried = { repoURL: 'https://git/dry', path: 'x', targetRevision: 'env/prod' };
    const failed = ran({ phase: 'Failed', message: 'boom', syncResult: { revision: 'sha1', source: tried } });
    expect(decideAutosync(facts(application(on, failed, { sourceHydrator })))).toMatchObject({ do: 'refuse' });
  });

  it('does not repeat a failed attempt, even with self-heal', () => {
    expect(decideAutosync(facts(application(on, ran({ phase: 'Failed', message: 'boom' }))))).toEqual({
      do: 'refuse',
      message: 'Failed last sync attempt to [sha1]: boom',
    });
  });

  it('starts for a revision that the spec names exactly, after a failure at another one', () => {
    const pinned = facts(application(on, ran({ phase: 'Failed', message: 'Operation terminated' })), {
      revisionsMayHaveChanges: false,
      syncStatus: { status: 'OutOfSync', revision: 'sha0' },
    });
    expect(decideAutosync(pinned)).toMatchObject({ do: 'start' });
  });

  it('names the revision that was tried, when a newer one has the same manifests', () => {
    const watched = (app: Application): Application => ({
      ...app,
      metadata: { ...app.metadata, annotations: { 'argocd.argoproj.io/manifest-generate-paths': '.' } },
    });
    const tried = facts(watched(application(on, ran({ phase: 'Error', message: 'boom' }))), {
      revisionsMayHaveChanges: false,
      syncStatus: { status: 'OutOfSync', revision: 'sha2' },
    });
    const message = 'Failed last sync attempt to [sha1]: boom';
    expect(decideAutosync(tried)).toEqual({ do: 'refuse', message });
    const sources = [source, { ...source, path: 'q' }];
    const syncResult = { revision: '', source: { repoURL: '' }, sources, revisions: ['a', 'b'] };
    const several = application(on, ran({ phase: 'Failed', message: 'm', syncResult }), { sources });
    const newer = { status: 'OutOfSync' as const, revisions: ['c', 'd'] };
    expect(decideAutosync(facts(watched(several), { revisionsMayHaveChanges: false, syncStatus: newer }))).toEqual({
      do: 'refuse',
      message: 'Failed last sync attempt to [a b]: m',
    });
  });

  it.each<[string, object, boolean, string | undefined, object]>([
    ['by default repeats the revision', {}, false, undefined, { limit: 5 }],
    ['repeats the revision with the strategy of the spec', { retry: { limit: 3 } }, false, undefined, { limit: 3 }],
    [
      'takes the latest revision if the spec says so',
      { retry: { refresh: true } },
      false,
      undefined,
      { refresh: true },
    ],
    ['takes the latest revision with the option', {}, true, undefined, { limit: 5, refresh: true }],
    [
      'takes the latest revision with the annotation',
      { retry: { limit: 3 } },
      false,
      'true',
      { limit: 3, refresh: true },
    ],
    ['repeats the revision if the annotation says so', {}, true, 'false', { limit: 5 }],
    ['takes the option if the annotation says neither', {}, true, 'maybe', { limit: 5, refresh: true }],
  ])('of an automated sync, a retry %s', (_name, policy, retryLatestRevision, annotation, expected) => {
    const marks = annotation === undefined ? {} : { 'driftless.io/retry-latest-revision': annotation };
    const app = application(undefined, { metadata: { name: 'a', namespace: 'argocd', annotations: marks } });
    const spec = { ...app.spec, syncPolicy: { automated: on, ...policy } };
    const started = decideAutosync(facts({ ...app, spec }, { retryLatestRevision }));
    expect(started.do === 'start' && started.operation.retry).toEqual(expected);
    // A self-heal restores one revision.
    const healed = decideAutosync(facts({ ...app, spec, ...ran() }, { retryLatestRevision }));
    const retry = (spec.syncPolicy as { retry?: object }).retry ?? { limit: 5 };
    expect(healed.do === 'start' && healed.operation.retry).toEqual(retry);
  });

  it('does not heal a resource that is Unknown: its ignore rules may be unreadable', () => {
    const unknown = { kind: 'ConfigMap', name: 'a', namespace: 'n', status: 'Unknown' } as const;
    const decision = decideAutosync(facts(application(on, ran()), { resources: [drifted, unknown, fine] }));
    expect(decision.do === 'start' && decision.operation.sync?.resources).toEqual([
      { group: 'apps', kind: 'Deployment', name: 'web' },
    ]);
    const alone = decideAutosync(facts(application(on, ran()), { resources: [unknown, fine] }));
    expect(alone).toEqual({ do: 'skip', reason: 'it is unknown whether the other resources differ' });
  });

  it('heals with a partial operation without namespaces, at once the first time', () => {
    expect(decideAutosync(facts(application(on, ran())))).toEqual({
      do: 'start',
      reason: 'self-heal attempt 1',
      operation: {
        sync: {
          source,
          revision: 'sha1',
          prune: true,
          autoHealAttemptsCount: 1,
          resources: [{ group: 'apps', kind: 'Deployment', name: 'web' }],
        },
        initiatedBy: { automated: true },
        retry: { limit: 5 },
      },
    });
  });

  const third = ran({ operation: { sync: { autoHealAttemptsCount: 3 } } });
  // T-HEAL-2
  it('waits for the rest of the backoff for the same drift', () => {
    expect(decideAutosync(facts(application(on, third)))).toMatchObject({ do: 'wait', ms: 17_000 });
  });

  const quiet = { now: now + 300_000 };
  const healed = { ...third.status, sync: { status: 'Synced' as const } };
  it('resets the attempts after a time without drift that is longer than the longest delay', () => {
    const first = { do: 'start', reason: 'self-heal attempt 1' };
    expect(decideAutosync(facts(application(on, { status: healed }), quiet))).toMatchObject(first);
    const linear = { ...backoff, backoffMs: 0, capMs: 0, timeoutMs: 5000 };
    expect(decideAutosync(facts(application(on, { status: healed }), { ...quiet, backoff: linear }))).toMatchObject(
      first,
    );
  });

  it.each<[string, Partial<Application>, Partial<AutosyncFacts>]>([
    ['it waited the whole time', { status: { ...third.status, sync: { status: 'OutOfSync' } } }, quiet],
    ['the meantime is unknown', third, quiet],
    ['it drifted in the meantime and recovered', { status: healed }, { ...quiet, driftSeenAt: now + 200_000 }],
    [
      'without a cap the delays are longer than that',
      {
        status: {
          ...healed,
          operationState: { ...healed.operationState!, operation: { sync: { autoHealAttemptsCount: 9 } } },
        },
      },
      { ...quiet, backoff: { ...backoff, capMs: 0 } },
    ],
  ])('does not reset the attempts when %s', (_name, over, more) => {
    const decision = decideAutosync(facts(application(on, over), more));
    expect(decision.do === 'refuse' ? '' : decision.reason).toMatch(/self-heal attempt (?:4|10)/);
  });

  it('an operation that ended by a clock ahead of ours does not freeze self-heal until our clock catches up', () => {
    const finishedAt = new Date(now + 86_400_000).toISOString();
    const ahead = { status: { ...third.status, operationState: { ...healed.operationState!, finishedAt } } };
    expect(decideAutosync(facts(application(on, ahead)))).toMatchObject({ do: 'start' });
  });

  it('without backoff delays the first attempt too, from the end of the last operation', () => {
    const linear = { ...backoff, backoffMs: 0, timeoutMs: 5000 };
    const wait = decideAutosync(facts(application(on, ran()), { backoff: linear }));
    expect(wait).toEqual({ do: 'wait', ms: 4000, reason: 'self-heal attempt 1 waits for its backoff' });
    const later = decideAutosync(facts(application(on, ran()), { backoff: linear, now: now + 4000 }));
    expect(later).toMatchObject({ do: 'start', operation: { sync: { autoHealAttemptsCount: 1 } } });
  });

  describe('after a sync of some resources only', () => {
    const selected: Operation = { sync: { resources: [{ kind: 'ConfigMap', name: 'c' }] } };
    const history: readonly RevisionHistory[] = [
      { id: 0, revision: 'sha1', source, deployedAt: '2026-01-01T00:00:00Z', initiatedBy: {} },
    ];

    it.each<[string, Operation]>([
      ['that a user selected', selected],
      ['as a dry run', { sync: { dryRun: true } }],
    ])('%s, starts a sync of all without self-heal', (_name, operation) => {
      for (const phase of ['Succeeded', 'Failed'] as const)
        expect(decideAutosync(facts(application({}, ran({ operation, phase }))))).toMatchObject({
          do: 'start',
          reason: 'new revision [sha1]',
        });
    });

    it.each<[string, Partial<ApplicationSpec>, Operation, readonly RevisionHistory[]]>([
      ['the revision was synced before as a whole', {}, selected, history],
      ['there is no history', { revisionHistoryLimit: 0 }, selected, []],
      ['self-heal selected them', {}, { sync: { ...selected.sync, autoHealAttemptsCount: 1 } }, []],
    ])('starts none if %s', (_name, spec, operation, known) => {
      const app = application(undefined, ran({ operation }), { syncPolicy: { automated: {} }, ...spec });
      expect(decideAutosync(facts({ ...app, status: { ...app.status, history: known } }))).toMatchObject({
        do: 'skip',
        reason: 'this revision was already synced and self-heal is off',
      });
    });
  });

  describe('with objects that a prune would not remove', () => {
    const keyOfExtra = keyOfStatus(extra);
    const ref = { group: '', kind: 'Secret', namespace: 'ns', name: 's' };
    const kept = (more: object = {}): Partial<AutosyncFacts> => ({
      resources: [extra, fine],
      kept: new Map([[keyOfExtra, { ref, finalizers: [], ...more }]]),
    });

    it('starts no sync for them alone, with or without a finished hook', () => {
      const hook = { kind: 'Job', name: 'done', namespace: 'ns', hook: true, requiresPruning: true } as const;
      for (const state of [{}, ran()])
        for (const resources of [
          [extra, fine],
          [extra, fine, hook],
        ]) {
          const given = facts(application(on, state), { ...kept(), resources });
          expect(decideAutosync(given)).toEqual({ do: 'skip', reason: onlyKeptLeft });
        }
    });

    it('waits a minute for a deletion', () => {
      const given = facts(application(on, ran()), kept({ deletedAt: now - 20_000 }));
      expect(decideAutosync(given)).toMatchObject({ do: 'wait', ms: 40_000 });
      expect(decideAutosync({ ...given, now: now + 40_000 })).toEqual({ do: 'skip', reason: onlyKeptLeft });
    });

    it('heals the others', () => {
      const given = facts(application(on, ran()), { ...kept(), resources: [extra, drifted] });
      expect(decideAutosync(given)).toMatchObject({ do: 'start' });
    });
  });

  describe('with contested objects', () => {
    const key = (resource: ResourceStatus): ResourceKey => keyOfStatus(resource);
    const pauses = (...list: readonly (readonly [ResourceStatus, number])[]): Partial<AutosyncFacts> => ({
      contested: new Map(list.map(([resource, ms]) => [key(resource), ms])),
    });
    const forever = Number.POSITIVE_INFINITY;
    const other: ResourceStatus = { ...drifted, name: 'other' };
    const ofContest = ran({
      operation: {
        sync: { autoHealAttemptsCount: 6, resources: [{ group: 'apps', kind: 'Deployment', name: 'web' }] },
      },
    });

    it('waits for the end of the pause', () => {
      const given = facts(application(on, ran()), pauses([drifted, 5000]));
      expect(decideAutosync(given)).toEqual({
        do: 'wait',
        ms: 5000,
        reason: 'self-heal pauses, because another writer undoes it',
      });
      expect(decideAutosync({ ...given, ...pauses([drifted, 0]) })).toMatchObject({ do: 'start' });
    });

    it('heals the others at once, whatever the backoff of the contested ones', () => {
      const resources = [drifted, other, extra];
      const given = facts(application(on, ofContest), { resources, ...pauses([drifted, 5000], [extra, forever]) });
      expect(decideAutosync(given)).toMatchObject({
        do: 'start',
        operation: {
          sync: { autoHealAttemptsCount: 1, resources: [{ group: 'apps', kind: 'Deployment', name: 'other' }] },
        },
      });
      const again = ran({
        operation: {
          sync: { autoHealAttemptsCount: 3, resources: [{ group: 'apps', kind: 'Deployment', name: 'other' }] },
        },
      });
      expect(decideAutosync({ ...given, app: application(on, again) })).toMatchObject({ do: 'wait', ms: 17_000 });
    });

    it('names the namespace of an object whose namesake is contested', () => {
      const namesake = { ...drifted, namespace: 'elsewhere' };
      const given = facts(application(on, ran()), { resources: [drifted, namesake], ...pauses([drifted, 5000]) });
      expect(decideAutosync(given)).toMatchObject({
        do: 'start',
        operation: {
          sync: { resources: [{ group: 'apps', kind: 'Deployment', name: 'web', namespace: 'elsewhere' }] },
        },
      });
    });

    it('does not prune what another controller recreates', () => {
      const given = facts(application(on, ran()), { resources: [fine, extra], ...pauses([extra, forever]) });
      expect(decideAutosync(given)).toEqual({
        do: 'skip',
        reason: 'only pruning is left, and another controller recreates the objects',
      });
    });

    it('does not start a sync for prunes that are off', () => {
      const resources = [drifted, extra];
      const given = facts(application({ selfHeal: true }, ran()), { resources, ...pauses([drifted, 5000]) });
      expect(decideAutosync(given)).toMatchObject({ do: 'wait', ms: 5000 });
    });

    it('syncs a new revision in full', () => {
      const syncStatus = { status: 'OutOfSync', revision: 'sha2' } as const;
      const given = facts(application(on, ran()), { syncStatus, ...pauses([drifted, forever]) });
      const decision = decideAutosync(given);
      expect(decision).toMatchObject({ do: 'start', reason: 'new revision [sha2]' });
      expect(decision).not.toHaveProperty('operation.sync.resources');
    });
  });

  it('ignores the revision when its manifests are unchanged', () => {
    const app = application({ prune: true }, ran());
    const given = facts(app, { syncStatus: { status: 'OutOfSync', revision: 'sha2' }, revisionsMayHaveChanges: false });
    expect(decideAutosync(given)).toMatchObject({ do: 'skip' });
  });

  it('does not prune everything unless allowed', () => {
    const refusal = {
      do: 'refuse',
      message: 'Skipping sync attempt to [sha1]: auto-sync will wipe out all resources',
    };
    expect(decideAutosync(facts(application({ prune: true }), { resources: [extra] }))).toEqual(refusal);
    expect(decideAutosync(facts(application({ prune: true }), { resources: [] }))).toEqual(refusal);
    expect(decideAutosync(facts(application({ prune: true, allowEmpty: true }), { resources: [extra] }))).toMatchObject(
      {
        do: 'start',
      },
    );
  });

  it('compares lists of revisions and sources for several sources', () => {
    const sources = [source, { ...source, path: 'q' }];
    const result = { revision: '', source: { repoURL: '' }, sources, revisions: ['a', 'b'] };
    const app = application({}, ran({ phase: 'Failed', message: 'm', syncResult: result }), { sources });
    const same = facts(
      { ...app, spec: { ...app.spec, syncPolicy: { automated: {} } } },
      {
        syncStatus: { status: 'OutOfSync', revisions: ['a', 'b'] },
      },
    );
    expect(decideAutosync(same)).toEqual({ do: 'refuse', message: 'Failed last sync attempt to [a b]: m' });
    const next = { ...same, syncStatus: { status: 'OutOfSync' as const, revisions: ['a', 'c'] } };
    expect(decideAutosync(next)).toMatchObject({
      do: 'start',
      operation: { sync: { sources, revisions: ['a', 'c'] } },
    });
  });
});

describe('selfHealDelayMs', () => {
  it("matches Argo CD's sequence", () => {
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((n) => selfHealDelayMs(n, backoff) / 1000)).toEqual([
      0, 2, 6, 18, 54, 162, 300, 300,
    ]);
    expect(selfHealDelayMs(3, { ...backoff, factor: 0 })).toBe(2000);
    expect([0, 3].map((n) => selfHealDelayMs(n, { ...backoff, backoffMs: 0, timeoutMs: 5000 }))).toEqual([5000, 5000]);
  });

  it('never decreases and never exceeds the cap', () => {
    fc.assert(
      fc.property(fc.nat(200), (n) => {
        const [here, next] = [selfHealDelayMs(n, backoff), selfHealDelayMs(n + 1, backoff)];
        expect(next).toBeGreaterThanOrEqual(here);
        expect(next).toBeLessThanOrEqual(backoff.capMs);
      }),
    );
  });
});
