import { describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import type { ApplicationStatus, OperationPhase, OperationState, ResourceResult } from '#model';
import { stateWithoutResults, maxStatusBytes, storableState, unstoredState } from './state-size.ts';

const name = (i: number): string => `a-name-as-long-as-people-make-them-${String(i).padStart(4, '0')}`;
const place = (i: number) => ({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  namespace: 'production',
  name: name(i),
});

function result(i: number, more: Partial<ResourceResult> = {}): ResourceResult {
  const message = `deployment.apps/${name(i)} configured`;
  return {
    ...place(i),
    status: 'Synced',
    hookPhase: 'Succeeded',
    syncPhase: 'Sync',
    message,
    images: ['nginx:1'],
    ...more,
  };
}

function state(phase: OperationPhase, resources: readonly ResourceResult[], message = 'all tasks run'): OperationState {
  const source = { repoURL: 'https://git/x' };
  return {
    operation: {},
    phase,
    message,
    startedAt: '2026-01-01T00:00:00Z',
    syncResult: { revision: 'r', source, resources },
  };
}

const tooLarge = new KubeApiError({ code: 413, reason: '', message: 'too large' }, 'patch');
const numbers = Array.from({ length: 5000 }, (_, i) => i);
const status: ApplicationStatus = { resources: numbers.map((i) => ({ ...place(i), status: 'Synced' })) };
const bytes = (operationState: OperationState): number => JSON.stringify({ ...status, operationState }).length;
const identities = ({ syncResult }: OperationState) =>
  syncResult?.resources?.map(({ name: of, hookPhase }) => `${of} ${hookPhase ?? ''}`);

// T-STAT-1
describe('the state of an operation on 5,000 resources', () => {
  const failures = new Map([
    [17, result(17, { status: 'SyncFailed', hookPhase: 'Failed', message: `no: ${'x'.repeat(5000)}` })],
    [4900, result(4900, { status: 'PruneSkipped', message: 'ignored (requires pruning)' })],
  ]);
  const results = numbers.map((i) => failures.get(i) ?? result(i));

  // T-STAT-1
  it('drops successes when complete, keeps failures, and reports how many were dropped', () => {
    const over = state('Failed', results, 'y'.repeat(100_000));
    expect(bytes(over)).toBeGreaterThan(maxStatusBytes * 1.5);
    const stored = storableState(over, status);
    expect(bytes(stored)).toBeLessThanOrEqual(maxStatusBytes);
    const kept = stored.syncResult?.resources ?? [];
    const of = (i: number) => kept.find((item) => item.name === name(i));
    expect(of(17)).toEqual({
      ...place(17),
      status: 'SyncFailed',
      hookPhase: 'Failed',
      syncPhase: 'Sync',
      message: `no: ${'x'.repeat(196)}`,
    });
    expect(of(4900)).toMatchObject({ status: 'PruneSkipped', message: 'ignored (requires pruning)' });
    expect(kept.length).toBeGreaterThan(500);
    expect(stored.message).toMatch(/^y{4000} … \(\d+ of 5000 results are omitted: the status would be too large\)$/);
    expect(stored.message).toContain(`(${5000 - kept.length} of 5000`);
    // Storing the result again changes nothing.
    expect(storableState(stored, status)).toBe(stored);
  });

  // T-STAT-1
  it('while running keeps each result, and the fields that the next step needs', () => {
    const stored = storableState(state('Running', results), status);
    expect(identities(stored)).toEqual(identities(state('Running', results)));
    expect(bytes(stored)).toBeLessThan(1.5 * maxStatusBytes);
    expect(stored.message).toBe('all tasks run');
  });

  // T-STAT-1
  it('is unchanged while it fits', () => {
    const few = state('Succeeded', results.slice(0, 1000));
    expect(storableState(few, undefined)).toBe(few);
    const counted = { ...few, retryCount: 2n ** 62n };
    expect(storableState(counted, { ...status, resources: [{ syncWave: 2n ** 62n }] })).toBe(counted);
  });

  // T-STAT-1
  it('is stored without results if still refused, or ends the operation if it runs', () => {
    const full = state('Succeeded', results);
    expect(stateWithoutResults(full)?.syncResult?.resources).toEqual([]);
    expect(stateWithoutResults(state('Succeeded', []))).toBeUndefined();
    const ended = unstoredState(state('Running', results), tooLarge);
    expect([ended.phase, ended.syncResult?.resources]).toEqual(['Error', []]);
    expect(ended.message).toContain('(5000 resources) is too large to be stored');
  });
});
