import { describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import { hookTypes, isHook, isSkipped } from '#model';
import type { KubeObject } from '#model';
import { deletePolicies, hookPhase, isIgnored, isLostHook, phasesOf, waveOf } from './hooks.ts';

function annotated(annotations: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', annotations } };
}

describe('hooks', () => {
  const argo = 'argocd.argoproj.io/hook';
  const helm = 'helm.sh/hook';
  it.each([
    ['no annotation', {}, { types: [], hook: false, ignored: false, skipped: false, phases: ['Sync'] }],
    [
      'one type',
      { [argo]: 'PreSync' },
      { types: ['PreSync'], hook: true, ignored: false, skipped: false, phases: ['PreSync'] },
    ],
    [
      'two types',
      { [argo]: 'PreSync, PostSync' },
      { types: ['PreSync', 'PostSync'], hook: true, ignored: false, skipped: false, phases: ['PreSync', 'PostSync'] },
    ],
    ['Skip', { [argo]: 'Skip' }, { types: ['Skip'], hook: false, ignored: false, skipped: true, phases: [] }],
    ['an invalid type', { [argo]: 'presync' }, { types: [], hook: true, ignored: true, skipped: false, phases: [] }],
    ['PreDelete only', { [argo]: 'PreDelete' }, { types: [], hook: true, ignored: true, skipped: false, phases: [] }],
    [
      'types of Helm',
      { [helm]: 'pre-install,pre-upgrade' },
      { types: ['PreSync'], hook: true, ignored: false, skipped: false, phases: ['PreSync'] },
    ],
    [
      'crd-install of Helm',
      { [helm]: 'crd-install' },
      { types: [], hook: false, ignored: false, skipped: false, phases: ['Sync'] },
    ],
    ['test of Helm', { [helm]: 'test' }, { types: [], hook: true, ignored: true, skipped: false, phases: [] }],
    [
      'both annotations, where Argo CD’s takes precedence',
      { [argo]: 'Sync', [helm]: 'post-install' },
      { types: ['Sync'], hook: true, ignored: false, skipped: false, phases: ['Sync'] },
    ],
  ])('are classified with %s', (_name, annotations, expected) => {
    const object = annotated(annotations);
    expect({
      types: hookTypes(object),
      hook: isHook(object),
      ignored: isIgnored(object),
      skipped: isSkipped(object),
      phases: phasesOf(object),
    }).toEqual(expected);
  });

  it.each([
    [{}, ['BeforeHookCreation']],
    [{ 'argocd.argoproj.io/hook-delete-policy': 'HookSucceeded' }, ['HookSucceeded']],
    [{ 'helm.sh/hook-delete-policy': 'hook-failed,before-hook-creation' }, ['HookFailed', 'BeforeHookCreation']],
    [{ 'argocd.argoproj.io/hook-delete-policy': 'nonsense' }, ['BeforeHookCreation']],
  ])('with %j have their delete policies', (annotations, expected) => {
    expect(deletePolicies(annotated(annotations))).toEqual(expected);
  });

  it.each([
    [{}, 0],
    [{ 'argocd.argoproj.io/sync-wave': '-3' }, -3],
    [{ 'argocd.argoproj.io/sync-wave': '+2' }, 2],
    [{ 'argocd.argoproj.io/sync-wave': ' 1' }, 0],
    [{ 'argocd.argoproj.io/sync-wave': 'x', 'helm.sh/hook-weight': '4' }, 4],
    [{ 'argocd.argoproj.io/sync-wave': '9007199254740993' }, 9007199254740993n],
    [{ 'argocd.argoproj.io/sync-wave': '-9223372036854775808' }, -9223372036854775808n],
    [{ 'argocd.argoproj.io/sync-wave': '9223372036854775808', 'helm.sh/hook-weight': '4' }, 4],
    [{ 'helm.sh/hook-weight': '99999999999999999999' }, 0],
    [{ 'argocd.argoproj.io/sync-wave': '1_000' }, 0],
    [{ 'argocd.argoproj.io/sync-wave': '0x10' }, 0],
    [{ 'argocd.argoproj.io/sync-wave': '' }, 0],
  ])('with %j have their wave', (annotations, expected) => {
    expect(waveOf(annotated(annotations))).toBe(expected);
  });

  it.each([
    [null, 'Succeeded', 'x created'],
    [{ status: 'Progressing', message: 'm' }, 'Running', 'm'],
    [{ status: 'Suspended' }, 'Running', ''],
    [{ status: 'Healthy', message: 'm' }, 'Succeeded', 'm'],
    [{ status: 'Missing' }, 'Succeeded', 'x created'],
    [{ status: 'Degraded', message: 'm' }, 'Failed', 'm'],
    [{ status: 'Unknown' }, 'Failed', ''],
  ] as const)('with the health %j are %s', (health, phase, message) => {
    expect(hookPhase(annotated({}), health)).toEqual({ phase, message });
  });
});

describe('a hook that is being deleted', () => {
  const ours = 'argocd.argoproj.io/hook-finalizer';
  const deletedAt = Date.parse('2026-01-01T00:00:00Z');
  const hook = (kind: string, finalizers: readonly string[], status: object = {}): KubeObject => ({
    apiVersion: kind === 'Job' ? 'batch/v1' : 'argoproj.io/v1alpha1',
    kind,
    metadata: { name: 'x', finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' },
    status,
  });
  it.each([
    ['a custom resource that only our finalizer holds', hook('Workflow', [ours], { phase: 'Running' }), true],
    ['a custom resource without a finalizer', hook('Workflow', []), true],
    ['a custom resource that its controller holds', hook('Workflow', [ours, 'example.com/pods']), false],
    ['a custom resource whose dependents are deleted first', hook('Workflow', ['foregroundDeletion', ours]), false],
    ['a Job without pods', hook('Job', [ours]), true],
    ['a Job without pods that somebody else holds too', hook('Job', [ours, 'example.com/x']), true],
    ['a Job whose pod runs on', hook('Job', [ours], { active: 1 }), false],
  ])('%s is lost after a minute: %j', (_name, live, expected) => {
    expect(isLostHook(live, deletedAt + 59_999)).toBe(false);
    expect(isLostHook(live, deletedAt + 60_000)).toBe(expected);
    const metadata = omit(live.metadata, 'deletionTimestamp');
    expect(isLostHook({ ...live, metadata }, deletedAt + 3_600_000)).toBe(false);
  });
});
