import { omit } from '#base';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { comparedToOf } from '#compare';
import { resourceKey } from '#model';
import type { Application, ApplicationSpec, ApplicationStatus, Operation, ResourceKey } from '#model';
import type { RefreshRequest } from './freshness.ts';
import {
  compareLevel,
  maxNamedResources,
  mergeRequests,
  msUntilExpiry,
  refreshDue,
  resyncDelayMs,
} from './freshness.ts';
import { kubeTime } from '../shared/kube-time.ts';

const now = Date.UTC(2026, 0, 1, 12);
const facts = { now, comparedAt: undefined, softMs: 120_000, hardMs: 0 };
const spec: ApplicationSpec = {
  project: 'default',
  source: { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' },
  destination: { server: 'https://c', namespace: 'ns' },
};

function app(
  over: {
    spec?: Partial<ApplicationSpec>;
    status?: Partial<ApplicationStatus>;
    annotations?: Record<string, string>;
  } = {},
): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'a', namespace: 'argocd', annotations: over.annotations ?? {} },
    spec: { ...spec, ...over.spec },
    status: {
      reconciledAt: '2026-01-01T11:59:30Z',
      sync: { status: 'Synced', comparedTo: comparedToOf(spec), revision: 'abc' },
      ...over.status,
    },
  };
}

const refresh = 'argocd.argoproj.io/refresh';

describe('refreshDue', () => {
  it('leaves a fresh application alone', () => {
    expect(refreshDue(app(), undefined, facts)).toBeUndefined();
    expect(refreshDue(app(), { reason: 'look' }, facts)).toBeUndefined();
  });

  it.each([
    ['an annotation takes precedence', app({ annotations: { [refresh]: 'hard' } }), 3, true, 'hard refresh requested'],
    [
      'any value counts as a request',
      app({ annotations: { [refresh]: 'now!' } }),
      3,
      false,
      'normal refresh requested',
    ],
    [
      'a marked request keeps its type',
      app({ annotations: { [refresh]: 'hard-in-progress' } }),
      3,
      true,
      'hard refresh requested',
    ],
    [
      'another source',
      app({ spec: { source: { repoURL: 'https://git/y', path: 'p' } } }),
      3,
      false,
      'spec.source differs',
    ],
    [
      'other sources',
      app({ spec: { sources: [{ repoURL: 'https://git/y', path: 'p' }] } }),
      3,
      false,
      'at least one of the spec.sources differs',
    ],
    [
      'another destination',
      app({ spec: { destination: { server: 'https://d' } } }),
      2,
      false,
      'spec.destination differs',
    ],
    [
      'other ignore rules',
      app({ spec: { ignoreDifferences: [{ kind: 'Deployment', jsonPointers: ['/spec/replicas'] }] } }),
      2,
      false,
      'spec.ignoreDifferences differs',
    ],
    [
      'other namespace metadata than was applied',
      app({
        spec: { syncPolicy: { managedNamespaceMetadata: { labels: { a: 'b' } } } },
        status: {
          operationState: {
            operation: {},
            phase: 'Succeeded',
            startedAt: '',
            syncResult: { revision: '', source: { repoURL: '' } },
          },
        },
      }),
      2,
      false,
      'spec.syncPolicy.managedNamespaceMetadata differs',
    ],
  ])('%s', (_name, application, level, hard, reason) => {
    expect(refreshDue(application, undefined, facts)).toMatchObject({ level, hard, reason });
  });

  it('expires by the soft limit, and hard by the hard one', () => {
    const old = app({ status: { reconciledAt: '2026-01-01T11:50:00Z' } });
    expect(refreshDue(old, undefined, facts)).toMatchObject({ level: 2, hard: false });
    expect(refreshDue(old, undefined, { ...facts, hardMs: 300_000 })).toMatchObject({ level: 2, hard: true });
    expect(refreshDue(old, undefined, { ...facts, softMs: 0 })).toBeUndefined();
  });

  // T-STAT-2
  it('counts a comparison by this process, even though it had nothing to write', () => {
    const old = app({ status: { reconciledAt: '2026-01-01T11:00:00Z' } });
    expect(refreshDue(old, undefined, { ...facts, comparedAt: now - 60_000 })).toBeUndefined();
  });

  it('turns any pass into the full comparison that must follow a sync, until one has been made', () => {
    const ended = (seconds: number, operation: Operation = { sync: {} }): Application =>
      app({
        status: {
          reconciledAt: kubeTime(now - 10_000),
          operationState: { operation, phase: 'Succeeded', startedAt: '', finishedAt: kubeTime(now - seconds * 1000) },
        },
      });
    const shallow: RefreshRequest = { level: 1, reason: 'child', resources: new Set() };
    expect(refreshDue(ended(9), shallow, facts)).toEqual({
      level: 2,
      hard: false,
      reason: 'an operation completed',
      cause: 'operation',
    });
    expect(refreshDue(ended(10), shallow, facts)).toMatchObject({ level: 1, reason: 'child' });
    expect(refreshDue(ended(10), undefined, facts)).toBeUndefined();
    // No comparison follows a dry run, and an end in the future is not waited for.
    expect(refreshDue(ended(9, { sync: { dryRun: true } }), undefined, facts)).toBeUndefined();
    expect(refreshDue(ended(-5), undefined, facts)).toBeUndefined();
  });

  it('refreshes what was never compared, even with expiry off', () => {
    const fresh: Application = { ...app(), status: omit(app().status ?? {}, 'reconciledAt') };
    expect(refreshDue(fresh, undefined, { ...facts, softMs: 0 })).toMatchObject({ level: 2 });
  });

  it('answers a request at its own level, or at the deeper one when a rule matches too', () => {
    expect(refreshDue(app(), { level: 0, reason: 'child' }, facts)).toEqual({
      level: 0,
      hard: false,
      reason: 'child',
      cause: 'other',
    });
    const moved = app({ spec: { destination: { server: 'https://d' } } });
    expect(refreshDue(moved, { level: 3, reason: 'op' }, facts)).toMatchObject({ level: 3 });
    expect(refreshDue(moved, { level: 1, reason: 'op' }, facts)).toMatchObject({ level: 2 });
  });

  it('resolves revisions again at any comparison while that is owed', () => {
    const owing = { ...facts, owesResolution: true };
    expect(refreshDue(app(), undefined, owing)).toBeUndefined();
    const levels = ([0, 1, 2, 3] as const).map((level) => refreshDue(app(), { level, reason: 'event' }, owing)?.level);
    expect(levels).toEqual([0, 3, 3, 3]);
    const expired = app({ status: { reconciledAt: '2026-01-01T11:00:00Z' } });
    expect(refreshDue(expired, undefined, owing)).toMatchObject({ level: 3, cause: 'timer' });
  });

  it('treats an empty member like an absent one, except in free-form values', () => {
    const written = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main', directory: { recurse: false } };
    expect(refreshDue(app({ spec: { source: written } }), undefined, facts)).toBeUndefined();
    const values = { ...written, helm: { valuesObject: { on: false } } };
    expect(refreshDue(app({ spec: { source: values } }), undefined, facts)).toMatchObject({ level: 3 });
  });
});

it('merges requests to the deeper one', () => {
  const shallow = { level: compareLevel.nothing, reason: 'a' };
  const deep = { level: compareLevel.latest, reason: 'b' };
  expect(mergeRequests(shallow, deep)).toBe(deep);
  expect(mergeRequests(deep, shallow)).toBe(deep);
  expect(mergeRequests({ reason: 'look' }, shallow)).toBe(shallow);
});

describe('the resources named by a request', () => {
  const key = (name: string): ResourceKey => resourceKey('', 'ConfigMap', 'apps', name);
  const changed = (...names: string[]): RefreshRequest => ({
    level: compareLevel.recent,
    reason: names.join(),
    resources: new Set(names.map(key)),
  });

  it('are the union of both requests, whichever is deeper', () => {
    expect(mergeRequests(changed('a'), changed('b', 'a'))).toEqual({ ...changed('a', 'b'), reason: 'a' });
    const child = { ...changed('pod'), level: compareLevel.nothing };
    expect(mergeRequests(child, changed('a'))).toEqual({ ...changed('a', 'pod'), reason: 'a' });
  });

  it('are unchanged by a request without a level', () => {
    expect(mergeRequests({ reason: 'look' }, changed('a'))).toEqual(changed('a'));
    expect(mergeRequests(changed('a'), { reason: 'look' })).toEqual(changed('a'));
    expect(mergeRequests({ reason: 'look' }, { reason: 'again' })).toEqual({ reason: 'look' });
  });

  it('become all with a request for all, and when they are too many', () => {
    const all = { level: compareLevel.nothing, reason: 'project p changed' };
    expect(mergeRequests(changed('a'), all)).toEqual({ level: compareLevel.recent, reason: 'a' });
    expect(mergeRequests(all, changed('a'))).toEqual({ level: compareLevel.recent, reason: 'a' });
    const names = Array.from({ length: maxNamedResources }, (_, i) => `c${i}`);
    expect(mergeRequests(changed(...names), changed('c0')).resources?.size).toBe(maxNamedResources);
    expect(mergeRequests(changed(...names), changed('one more')).resources).toBeUndefined();
  });

  it('are those of the refresh, unless a rule matches', () => {
    const compared = app({ status: { reconciledAt: '2026-01-01T11:59:30Z' } });
    expect(refreshDue(compared, changed('a'), facts)).toMatchObject({ level: 1, resources: new Set([key('a')]) });
    const expired = app({ status: { reconciledAt: '2026-01-01T11:00:00Z' } });
    expect(refreshDue(expired, changed('a'), facts)?.resources).toBeUndefined();
  });
});

describe('a comparison in the future', () => {
  const clockSetBack = {
    level: 2,
    reason: 'comparison expired: the last one is in the future, so the clock was set back',
  };
  it.each([
    ['counts if clocks of replicas may differ by as much', '2026-01-01T12:01:00Z', undefined, undefined],
    ['counts as none if the clock was set back', '2026-01-01T12:01:01Z', undefined, clockSetBack],
    ['gives way to a later one of this process', '2026-01-01T12:09:00Z', now - 1000, undefined],
    ['counts as none in the memory of this process, too', '2026-01-01T12:09:00Z', now + 540_000, clockSetBack],
  ])('%s', (_title, reconciledAt, comparedAt, expected) => {
    const due = refreshDue(app({ status: { reconciledAt } }), undefined, { ...facts, comparedAt });
    if (expected === undefined) expect(due).toBeUndefined();
    else expect(due).toMatchObject(expected);
  });

  it('is not waited for', () => {
    const future = app({ status: { reconciledAt: '2026-01-01T12:09:00Z' } });
    expect(msUntilExpiry(future, { ...facts, comparedAt: now - 1000 })).toBe(119_001);
  });
});

it('computes when the next timed refresh is due', () => {
  expect(msUntilExpiry(app(), facts)).toBe(90_001);
  expect(msUntilExpiry(app(), { ...facts, hardMs: 40_000 })).toBe(10_001);
  expect(msUntilExpiry(app(), { ...facts, softMs: 0 })).toBeUndefined();
});

describe('the delay of a resync', () => {
  it.each([
    ['two minutes', 120_000, 100_001, 105_000],
    ['two minutes, due in a moment', 120_000, 1, 5000],
    ['a minute', 60_000, 61_000, 62_500],
    ['ten seconds', 10_000, 10_000, 10_000],
    ['none but the hard one', 0, 100_001, 105_000],
  ])('ends with a slot of time: period of %s', (_title, softMs, dueInMs, expected) => {
    expect(resyncDelayMs(dueInMs, 0, { softMs, hardMs: 3_600_000 })).toBeCloseTo(expected, 6);
  });

  it('is not shorter than asked for, longer by at most a slot, and the same for all of one slot', () => {
    const ms = fc.integer({ min: 0, max: 1_000_000 });
    const share = fc.double({ min: 0.01, max: 0.99, noNaN: true });
    fc.assert(
      fc.property(ms, ms, fc.integer({ min: 24, max: 86_400_000 }), share, (dueInMs, now, softMs, early) => {
        const periods = { softMs, hardMs: 0 };
        const slotMs = Math.min(5000, softMs / 24);
        const delayMs = resyncDelayMs(dueInMs, now, periods);
        const asked = Math.max(1000, dueInMs);
        expect(delayMs).toBeGreaterThanOrEqual(asked - 0.01);
        expect(delayMs).toBeLessThan(asked + slotMs + 0.01);
        const other = delayMs - early * slotMs;
        if (other >= 1000) expect(resyncDelayMs(other, now, periods)).toBeCloseTo(delayMs, 2);
      }),
    );
  });
});
