import { describe, expect, it } from '@jest/globals';
import type { Application, OperationState, ResourceStatus } from '#model';
import { autosyncLine } from './autosync-log.ts';
import { decideAutosync } from './autosync.ts';
import type { AutosyncFacts } from './autosync.ts';

const now = Date.UTC(2026, 0, 1, 12);
const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
const open: ResourceStatus = { kind: 'ConfigMap', namespace: 'ns', name: 'c', status: 'OutOfSync' };
const extra: ResourceStatus = { ...open, name: 'extra', requiresPruning: true };

function application(automated: object | undefined, over: Partial<Application> = {}): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'a', namespace: 'argocd' },
    spec: { source, destination: {}, ...(automated === undefined ? {} : { syncPolicy: { automated } }) },
    ...over,
  };
}

function ran(over: Partial<OperationState> = {}): Partial<Application> {
  const operationState: OperationState = {
    operation: { sync: { autoHealAttemptsCount: 1 } },
    phase: 'Succeeded',
    startedAt: '2026-01-01T11:59:00Z',
    finishedAt: '2026-01-01T11:59:59Z',
    syncResult: { revision: 'sha0', source },
    ...over,
  };
  return { status: { operationState } };
}

function facts(app: Application, over: Partial<AutosyncFacts> = {}): AutosyncFacts {
  return {
    app,
    syncStatus: { status: 'OutOfSync', revision: 'sha1' },
    resources: [open],
    revisionsMayHaveChanges: false,
    backoff: { backoffMs: 2000, factor: 3, capMs: 300_000, timeoutMs: 5000 },
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

describe('the log line of automated sync', () => {
  const deleted = { metadata: { name: 'a', namespace: 'argocd', deletionTimestamp: 'now' } };
  // Revisions do not count if no watched path has changed.
  const paths = { 'argocd.argoproj.io/manifest-generate-paths': '.' };
  const watched = { metadata: { name: 'a', namespace: 'argocd', annotations: paths } };
  const heals = { selfHeal: true };
  it.each<[string, AutosyncFacts, string, string]>([
    ['an operation', facts(application({}, { operation: {} })), 'info', 'another operation is in progress'],
    ['a deletion', facts(application({}, deleted)), 'info', 'deletion in progress'],
    ['Synced', facts(application({}), { syncStatus: { status: 'Synced' } }), 'info', 'application status is Synced'],
    ['Unknown', facts(application({}), { syncStatus: { status: 'Unknown' } }), 'info', 'application status is Unknown'],
    [
      'extra resources only',
      facts(application({}), { resources: [extra] }),
      'info',
      'need to prune extra resources only but automated prune is disabled',
    ],
    [
      'a failed attempt',
      facts(application({}, { ...ran({ phase: 'Failed', message: 'boom' }), ...watched })),
      'warn',
      'failed previous sync attempt to [sha0] and will not retry for [sha1]',
    ],
    [
      'an attempt without a result',
      facts(application({}, { status: { operationState: { operation: {}, phase: 'Error', startedAt: 'x' } } })),
      'warn',
      'failed previous sync attempt to [] and will not retry for [sha1]',
    ],
    ['no self-heal', facts(application({}, ran())), 'info', 'most recent sync already to [sha1]'],
    [
      'the backoff of self-heal',
      facts(application(heals, ran())),
      'info',
      'already attempted sync to [sha0] with timeout 5s (retrying in 1s)',
    ],
    [
      'resources that cannot be read',
      facts(application({}), { unread: true }),
      'info',
      'the live state of some of its resources is unknown',
    ],
    [
      'a contested object',
      facts(application(heals, ran()), { contested: new Map([['/ConfigMap/ns/c' as never, 60_000]]) }),
      'info',
      'self-heal pauses, because another writer undoes it',
    ],
  ])('%s', (_title, given, level, reason) => {
    expect(autosyncLine(given, decideAutosync(given))).toEqual({ level, message: `Skipping auto-sync: ${reason}` });
  });

  it('has the words of the condition if nothing would be left', () => {
    const given = facts(application({ prune: true }), { resources: [extra] });
    expect(autosyncLine(given, decideAutosync(given))).toEqual({
      level: 'warn',
      message: 'Skipping sync attempt to [sha1]: auto-sync will wipe out all resources',
    });
  });

  it('names all revisions of several sources', () => {
    const app = application({}, ran({ phase: 'Failed', syncResult: { revision: '', source, revisions: ['a', 'b'] } }));
    const given = facts(
      { ...app, spec: { ...app.spec, sources: [source, source] } },
      { syncStatus: { status: 'OutOfSync', revisions: ['c', 'd'] } },
    );
    const decision = { do: 'refuse', message: 'Failed last sync attempt to [a b]: boom' } as const;
    expect(autosyncLine(given, decision)?.message).toContain('attempt to [a b] and will not retry for [c d]');
  });

  it('is missing for a sync that starts, and without automated sync', () => {
    const given = facts(application({}));
    expect([decideAutosync(given).do, autosyncLine(given, decideAutosync(given))]).toEqual(['start', undefined]);
    const off = facts(application(undefined));
    expect(autosyncLine(off, decideAutosync(off))).toBeUndefined();
  });
});
