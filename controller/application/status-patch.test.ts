import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applyMergePatch } from '#base';
import type { JsonObject } from '#base';
import { KubeApiError } from '#kube';
import { jsonOf } from '#model';
import type { Application, ApplicationStatus, OperationState, ResourceStatus } from '#model';
import { nextHistory } from './history.ts';
import {
  shouldStampReconciledAt,
  nextHealth,
  normalizationPatch,
  operationStateMerge,
  operationStatePatch,
  statusEvents,
  statusPatch,
  unstoredStatus,
} from './status-patch.ts';

const time = '2026-01-01T10:00:00Z';

describe('statusPatch', () => {
  it('is undefined when nothing differs', () => {
    const status: ApplicationStatus = { sync: { status: 'Synced' }, resources: [{ kind: 'A', name: 'a' }] };
    expect(statusPatch(status, structuredClone(status))).toBeUndefined();
  });

  it('contains the differences: removed members become null, lists are whole', () => {
    expect(
      statusPatch(
        { sync: { status: 'Synced', revision: 'a' }, conditions: [{ type: 'SyncError', message: 'm' }] },
        { sync: { status: 'OutOfSync', revision: 'a' }, resources: [{ kind: 'A', name: 'a' }] },
      ),
    ).toEqual({ status: { conditions: null, sync: { status: 'OutOfSync' }, resources: [{ kind: 'A', name: 'a' }] } });
  });

  it('compares only the changed entries of a list that was equal before', () => {
    let reads = 0;
    const stored = Array.from({ length: 100 }, (_entry, i) => ({
      kind: 'A',
      get name() {
        reads += 1;
        return `a${i}`;
      },
    }));
    const readsOf = (resources: readonly ResourceStatus[]): readonly [number, JsonObject | undefined] => {
      reads = 0;
      const patch = statusPatch({ resources: stored }, { resources });
      return [reads, patch];
    };
    const ours = stored.map((_entry, i): ResourceStatus => ({ kind: 'A', name: `a${i}` }));
    const [all] = readsOf(ours);
    expect(all).toBeGreaterThanOrEqual(100);
    expect(readsOf(ours)).toEqual([0, undefined]);
    expect(readsOf([...ours.slice(0, 40), { kind: 'A', name: 'a40' }, ...ours.slice(41)])).toEqual([
      all / 100,
      undefined,
    ]);
    const other = [...ours.slice(0, 40), { kind: 'A', name: 'b' }, ...ours.slice(41)];
    expect(readsOf(other)[1]).toEqual({ status: { resources: other } });
    expect(readsOf(ours.slice(1))[1]).toEqual({ status: { resources: ours.slice(1) } });
    expect(readsOf(ours)[1]).toBeUndefined();
  });

  it('never changes the state of an operation', () => {
    const operationState: OperationState = { operation: {}, phase: 'Running', startedAt: time };
    expect(statusPatch({ operationState }, {})).toBeUndefined();
    expect(statusPatch({}, { operationState })).toBeUndefined();
  });

  it('turns one status into the other', () => {
    const status = fc.record(
      {
        sourceType: fc.constantFrom('Directory', 'Helm'),
        reconciledAt: fc.constantFrom('a', 'b'),
        resources: fc.array(fc.record({ kind: fc.constantFrom('A', 'B') }), { maxLength: 2 }),
        summary: fc.record({ images: fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }) }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(status, status, (before, after) => {
        const patch = statusPatch(before, after) ?? {};
        expect(applyMergePatch({ status: jsonOf(before) }, patch)).toEqual({ status: after });
      }),
    );
  });
});

it('updates the time of health only with its status, and freezes the message when health is in the tree', () => {
  const before = { status: 'Degraded' as const, message: 'old', lastTransitionTime: 'then' };
  const options = { inline: false, time };
  expect(nextHealth(before, { status: 'Degraded', message: 'new' }, options)).toEqual(before);
  expect(nextHealth(before, { status: 'Degraded', message: 'new' }, { ...options, inline: true })).toEqual({
    ...before,
    message: 'new',
  });
  expect(nextHealth(before, { status: 'Healthy', message: '' }, options)).toEqual({
    status: 'Healthy',
    lastTransitionTime: time,
  });
});

it('writes reconciledAt alone only when a client waits for it', () => {
  const operationState: OperationState = {
    operation: {},
    phase: 'Succeeded',
    startedAt: time,
    finishedAt: '2026-01-01T11:00:00Z',
  };
  const later = '2026-01-01T12:00:00Z';
  const unasked = { asked: false, time: later };
  const asked = { asked: true, time: later };
  expect(shouldStampReconciledAt({}, unasked)).toBe(true);
  expect(shouldStampReconciledAt({ reconciledAt: time }, unasked)).toBe(false);
  expect(shouldStampReconciledAt({ reconciledAt: time }, asked)).toBe(true);
  expect(shouldStampReconciledAt({ reconciledAt: time, operationState }, unasked)).toBe(true);
  // A clock that was set back behind the end of the operation.
  expect(shouldStampReconciledAt({ reconciledAt: time, operationState }, { asked: false, time })).toBe(false);
});

it('announces changes of sync and health as Events', () => {
  expect(
    statusEvents(
      { sync: { status: 'Synced' }, health: { status: 'Healthy' } },
      { sync: { status: 'OutOfSync' }, health: { status: 'Degraded', message: 'why' } },
    ),
  ).toEqual([
    { reason: 'ResourceUpdated', message: 'Updated sync status: Synced -> OutOfSync' },
    { reason: 'ResourceUpdated', message: 'Updated health status: Healthy -> Degraded (why)' },
  ]);
  expect(statusEvents({ sync: { status: 'Synced' } }, { sync: { status: 'Synced' } })).toEqual([]);
});

it('reports a too large status instead of other unknown errors', () => {
  const refusal = new KubeApiError({ code: 413, reason: '', message: 'too large' }, 'patch');
  const before = { conditions: [{ type: 'UnknownError', message: 'other' }] } as const;
  const { conditions } = unstoredStatus(before, refusal, time);
  expect(conditions).toHaveLength(1);
  expect(conditions?.[0]?.message).toContain('exceeds the Kubernetes resource size limit');
});

describe('operationStatePatch', () => {
  const state = (phase: OperationState['phase']): OperationState => ({ operation: {}, phase, startedAt: time });
  const app = (known?: OperationState): Application => ({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: {},
    spec: { destination: {} },
    operation: { sync: { revision: 'main' } },
    status: known === undefined ? {} : { operationState: known },
  });

  it('clears the operation together with its end', () => {
    expect(operationStatePatch(app(), state('Running'), undefined).map((step) => step['path'])).toEqual([
      '/operation',
      '/status/operationState',
    ]);
    expect(operationStatePatch(app(), state('Failed'), []).map((step) => step['path'])).toEqual([
      '/operation',
      '/status/operationState',
      '/status/history',
      '/operation',
    ]);
  });

  it('tests the operation that it begins or ends, if no state was recorded: it may have ended since', () => {
    const operation = { sync: { revision: 'main' }, initiatedBy: { username: 'a' } };
    const [test] = operationStatePatch({ ...app(), operation }, state('Running'), undefined);
    expect(test).toEqual({ op: 'test', path: '/operation', value: operation });
    expect(operationStateMerge({ ...app(), metadata: { resourceVersion: '7' } }, state('Running'), undefined)).toEqual({
      metadata: { resourceVersion: '7' },
      status: { operationState: state('Running') },
    });
  });

  it('tests the phase that was read, so that it cannot hide a termination', () => {
    expect(operationStatePatch(app(state('Running')), state('Running'), undefined)[0]).toEqual({
      op: 'test',
      path: '/status/operationState/phase',
      value: 'Running',
    });
  });

  it('tests the start time too: another owner may have started the next operation, in the same phase', () => {
    const earlier = { ...state('Running'), startedAt: '2026-11-22T09:00:00Z' };
    expect(operationStatePatch(app(earlier), { ...earlier, message: 'step' }, undefined)[1]).toEqual({
      op: 'test',
      path: '/status/operationState/startedAt',
      value: '2026-11-22T09:00:00Z',
    });
    // Another client left out the field: there is nothing to test.
    const odd = { ...app(), status: { operationState: { operation: {}, phase: 'Running' } } } as Application;
    expect(operationStatePatch(odd, earlier, undefined).map(({ op }) => op)).toEqual(['test', 'add']);
  });
});

describe('normalizationPatch', () => {
  const app = (spec: object): Application => ({
    apiVersion: '',
    kind: '',
    metadata: {},
    spec: { destination: {}, project: 'p', ...spec },
  });

  it.each([
    ['nothing to do', { source: { repoURL: 'r', path: 'p' } }, undefined],
    ['no project', { project: '' }, { spec: { project: 'default' } }],
    ['an empty policy', { syncPolicy: {} }, { spec: { syncPolicy: null } }],
    ['a policy with content', { syncPolicy: { automated: {} } }, undefined],
    [
      'empty blocks',
      { source: { repoURL: 'r', helm: {}, kustomize: { images: [] }, directory: { recurse: false, jsonnet: {} } } },
      { spec: { source: { helm: null, kustomize: null, directory: null } } },
    ],
    ['a block with content', { source: { repoURL: 'r', directory: { recurse: true } } }, undefined],
    ['several sources', { sources: [{ repoURL: 'r', helm: {} }] }, { spec: { sources: [{ repoURL: 'r' }] } }],
  ])('%s', (_name, spec, patch) => {
    expect(normalizationPatch(app(spec))).toEqual(patch);
  });
});

describe('nextHistory', () => {
  const now = Date.UTC(2026, 0, 1, 11);
  const app = (over: object = {}): Application => ({
    apiVersion: '',
    kind: '',
    metadata: {},
    spec: { destination: {} },
    ...over,
  });
  const state: OperationState = {
    operation: { sync: {}, initiatedBy: { username: 'me' } },
    phase: 'Succeeded',
    startedAt: time,
    syncResult: { revision: 'sha', source: { repoURL: 'r' } },
  };

  it('adds an entry with the next id and keeps the most recent ones', () => {
    const first = nextHistory(app(), state, now);
    expect(first).toEqual([
      {
        id: 0,
        revision: 'sha',
        source: { repoURL: 'r' },
        deployedAt: '2026-01-01T11:00:00Z',
        deployStartedAt: time,
        initiatedBy: { username: 'me' },
      },
    ]);
    const later = { ...state, startedAt: '2026-01-01T10:30:00Z' };
    const limited = app({ spec: { destination: {}, revisionHistoryLimit: 1 }, status: { history: first } });
    expect(nextHistory(limited, later, now)?.map((entry) => entry.id)).toEqual([1]);
  });

  it.each<[string, OperationState]>([
    ['failed', { ...state, phase: 'Failed' }],
    ['a dry run', { ...state, operation: { sync: { dryRun: true } } }],
    ['partial', { ...state, operation: { sync: { resources: [{ kind: 'K', name: 'n' }] } } }],
  ])('records nothing: %s', (_name, given) => {
    expect(nextHistory(app(), given, now)).toBeUndefined();
  });

  it('records two operations of one revision that begin in the same second', () => {
    const once = app({ status: { history: nextHistory(app(), state, now) } });
    expect(nextHistory(once, state, now)?.map(({ id }) => id)).toEqual([0, 1]);
  });
});
