import { describe, expect, it } from '@jest/globals';
import type { HealthStatus, KubeObject } from '#model';
import { readSyncOptions } from './options.ts';
import type { SyncTask } from './plan.ts';
import {
  blockingTasks,
  canKindBeMissing,
  decidePrune,
  deletionMessage,
  failureMessage,
  isStatusOutdated,
  kindsDefinedBySync,
  lacksConfirmation,
  nextWave,
  observeTask,
  waitingForText,
  waitingMessage,
  withoutSynced,
} from './step.ts';
import type { TaskObservation } from './step.ts';
import type { SyncOptions } from './types.ts';

const options = readSyncOptions({ prune: true }, { pruneConfirmed: false, waveDelayMs: 0 });
const syncOptions = (value: string): Record<string, string> => ({ 'argocd.argoproj.io/sync-options': value });

function objectNamed(name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, ...more } };
}

function applyTaskOf(name: string, more: Partial<SyncTask> = {}): SyncTask {
  const target = objectNamed(name);
  return { phase: 'Sync', wave: 0, target, live: null, isHook: false, modified: true, skipDryRun: false, ...more };
}

function pruneTaskOf(name: string, annotations: Record<string, string> = {}): SyncTask {
  return applyTaskOf(name, { target: null, live: objectNamed(name, { annotations }) });
}

describe('a running task', () => {
  it.each<[HealthStatus | null, TaskObservation | undefined]>([
    [null, { phase: 'Succeeded', message: '' }],
    [
      { status: 'Healthy', message: 'm' },
      { phase: 'Succeeded', message: 'm' },
    ],
    [
      { status: 'Degraded', message: 'm' },
      { phase: 'Failed', message: 'm' },
    ],
    [{ status: 'Progressing', message: 'm' }, undefined],
    [{ status: 'Suspended', message: 'm' }, undefined],
    [{ status: 'Missing', message: 'm' }, undefined],
    [{ status: 'Unknown', message: 'm' }, undefined],
  ])('of a resource with the health %j is recorded as %j', (health, expected) => {
    expect(observeTask(applyTaskOf('web'), objectNamed('web'), health, 0)).toEqual(expected);
  });

  it('of a suspended or unknown hook follows the rules of hooks', () => {
    const task = applyTaskOf('web', { isHook: true });
    expect(observeTask(task, objectNamed('web'), null, 0)).toEqual({ phase: 'Succeeded', message: 'web created' });
    expect(observeTask(task, objectNamed('web'), { status: 'Unknown' }, 0)?.phase).toBe('Failed');
  });

  it.each([
    ['observed an older generation', {}, 3, 2, 0, true],
    ['observed the current generation', {}, 3, 3, 0, false],
    ['reports no generation', {}, 3, undefined, 0, false],
    ['observed an older generation, but the operation is old', {}, 3, 2, 180_000, false],
    ['is that of a hook', { isHook: true }, 3, 2, 0, false],
  ])('has an outdated status only if it %s', (_name, more, generation, observedGeneration, ageMs, expected) => {
    const live = { ...objectNamed('web', { generation }), status: { observedGeneration } };
    expect(isStatusOutdated(applyTaskOf('web', more), live, ageMs)).toBe(expected);
  });

  it('blocks the operation if it is a hook or if there are several waves', () => {
    const web = applyTaskOf('web', { operationPhase: 'Running' });
    const hook = applyTaskOf('hook', { operationPhase: 'Running', isHook: true });
    const later = applyTaskOf('later', { wave: 1 });
    expect(blockingTasks([web, hook])).toEqual([hook]);
    expect(blockingTasks([web, hook, later])).toEqual([web, hook]);
  });
});

describe('the next wave', () => {
  it('contains the tasks with the phase and wave of the first', () => {
    const [a, b, c] = [applyTaskOf('a'), applyTaskOf('b'), applyTaskOf('c', { wave: 1 })];
    const d = applyTaskOf('d', { phase: 'PostSync' });
    expect(nextWave([a, b, c, d])).toEqual({ current: [a, b], remaining: [c, d] });
  });

  it('omits unchanged resources with ApplyOutOfSyncOnly, but no hooks, prunes or missing objects', () => {
    const same = applyTaskOf('same', { modified: false, live: objectNamed('same') });
    const kept = [
      applyTaskOf('changed', { live: objectNamed('changed') }),
      applyTaskOf('missing', { modified: false }),
      applyTaskOf('hook', { modified: false, live: objectNamed('hook'), isHook: true }),
      { ...pruneTaskOf('old'), modified: false },
    ];
    expect(withoutSynced([same, ...kept], { ...options, applyOutOfSyncOnly: true })).toEqual(kept);
    expect(withoutSynced([same, ...kept], options)).toEqual([same, ...kept]);
  });
});

describe('a prune', () => {
  it.each<[string, Record<string, string>, Partial<SyncOptions>, string | undefined]>([
    ['deletes by default', {}, {}, undefined],
    ['needs an operation that prunes', {}, { prune: false }, 'ignored (requires pruning)'],
    ['is off with Prune=false', syncOptions('Prune=false'), {}, 'ignored (no prune)'],
    [
      'is off with a value that is none',
      syncOptions('Prune=False'),
      {},
      'ignored (Prune=False is none of true, false and confirm)',
    ],
    ['is off by the default of the Application', {}, { defaultPrune: 'false' }, 'ignored (no prune)'],
    ['is on if the resource overrides that default', syncOptions('Prune=true'), { defaultPrune: 'false' }, undefined],
  ])('%s', (_name, annotations, more, message) => {
    const expected = message === undefined ? { delete: true } : { delete: false, message };
    expect(decidePrune(pruneTaskOf('old', annotations), { ...options, ...more })).toEqual(expected);
  });

  it.each<[Record<string, string>, Partial<SyncOptions>, boolean]>([
    [{}, {}, false],
    [syncOptions('Prune=confirm'), {}, true],
    [syncOptions('Prune=confirm'), { pruneConfirmed: true }, false],
    [{}, { defaultPrune: 'confirm' }, true],
    [syncOptions('Prune=true'), { defaultPrune: 'confirm' }, false],
  ])('with %j and %j lacks a confirmation: %s', (annotations, more, expected) => {
    expect(lacksConfirmation(pruneTaskOf('old', annotations), { ...options, ...more })).toBe(expected);
  });
});

describe('a kind may be missing', () => {
  const crd: KubeObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'deployments.apps' },
    spec: { group: 'apps', names: { kind: 'Deployment' } },
  };

  it.each<[string, KubeObject, Partial<SyncOptions>, readonly KubeObject[], boolean]>([
    ['not by default', objectNamed('web'), {}, [], false],
    ['if its CRD is in the sync', objectNamed('web'), {}, [crd], true],
    ['if the operation allows it', objectNamed('web'), { skipDryRunOnMissing: true }, [], true],
    [
      'if the resource allows it',
      objectNamed('web', { annotations: syncOptions('SkipDryRunOnMissingResource=true') }),
      {},
      [],
      true,
    ],
  ])('%s', (_name, target, more, objects, expected) => {
    expect(canKindBeMissing(target, { ...options, ...more }, kindsDefinedBySync(objects))).toBe(expected);
  });
});

describe('messages', () => {
  const running = (name: string, more: Partial<SyncTask> = {}): SyncTask =>
    applyTaskOf(name, { operationPhase: 'Running', ...more });

  it('name the first hook, or else the first resource, and count the others', () => {
    expect(waitingForText('x', [running('a')])).toBe('waiting for x apps/Deployment/a');
    expect(waitingForText('x', [running('a'), running('b'), running('c')])).toBe(
      'waiting for x apps/Deployment/a and 2 more resources',
    );
    expect(waitingForText('x', [running('a'), running('h', { isHook: true })])).toBe(
      'waiting for x apps/Deployment/h and 1 more resources',
    );
    expect(waitingForText('x', [running('g', { isHook: true }), running('h', { isHook: true })])).toBe(
      'waiting for x apps/Deployment/g and 1 more hooks',
    );
  });

  it('state what a step waits for', () => {
    expect(waitingMessage([running('a')], options)).toBe('waiting for healthy state of apps/Deployment/a');
    expect(waitingMessage([running('a', { isHook: true })], options)).toBe(
      'waiting for completion of hook apps/Deployment/a',
    );
    expect(deletionMessage([pruneTaskOf('a')], options)).toBe('waiting for deletion of apps/Deployment/a');
    expect(deletionMessage([running('a', { isHook: true })], options)).toBe(
      'waiting for deletion of hook apps/Deployment/a',
    );
    expect(waitingMessage([running('b'), pruneTaskOf('a', syncOptions('Prune=confirm'))], options)).toBe(
      'waiting for pruning confirmation of apps/Deployment/a',
    );
  });

  it('of a failure list distinct reasons once', () => {
    const failed = ['no', 'no', '', 'never'].map((message) => applyTaskOf('a', { message }));
    expect(failureMessage('failed', failed)).toBe('failed, reason: no,never');
    expect(failureMessage('failed', [applyTaskOf('a')])).toBe('failed');
  });
});
