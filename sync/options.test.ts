import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { hasResourceOption, optionValue, readSyncOptions, resourceOption } from './options.ts';

function annotated(annotations: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', annotations } };
}

describe('sync options', () => {
  it('use the first value of a key', () => {
    expect(optionValue(['Prune=confirm', 'Prune=false'], 'Prune')).toBe('confirm');
    expect(
      resourceOption(annotated({ 'argocd.argoproj.io/sync-options': ' Prune=false , Delete=false' }), 'Delete'),
    ).toBe('false');
    expect(resourceOption(null, 'Prune')).toBeUndefined();
  });

  it.each([
    [[], 'Foreground'],
    [['PrunePropagationPolicy=orphan', 'PrunePropagationPolicy=background'], 'Background'],
    [['PrunePropagationPolicy=orphan'], 'Orphan'],
  ])('%j have the prune propagation policy %s', (syncOptions, expected) => {
    expect(readSyncOptions({ syncOptions }, { pruneConfirmed: false, waveDelayMs: 0 }).prunePropagationPolicy).toBe(
      expected,
    );
  });

  it.each([
    [{ syncStrategy: { apply: { force: true } } }, { skipHooks: true, force: true }],
    [{ syncStrategy: { hook: { force: true } } }, { skipHooks: false, force: true }],
    [{ resources: [{ kind: 'ConfigMap', name: 'x' }] }, { skipHooks: true, force: false }],
  ])('of %j follow its strategy', (sync, expected) => {
    expect(readSyncOptions(sync, { pruneConfirmed: false, waveDelayMs: 0 })).toMatchObject(expected);
  });

  it('use the first value of a key in a long list', () => {
    const many = Array.from({ length: 100 }, (_, i) => `Key${i}=${i}`);
    const options = [...many, 'Prune=confirm', 'Prune=false'];
    for (let i = 0; i < 2; i += 1) {
      expect(optionValue(options, 'Prune')).toBe('confirm');
      expect(optionValue(options, 'Key')).toBeUndefined();
    }
  });

  it('of a resource match exactly', () => {
    const object = annotated({ 'argocd.argoproj.io/sync-options': 'Prune=false,Force=true' });
    expect(hasResourceOption(object, 'Force=true')).toBe(true);
    expect(hasResourceOption(object, 'Force')).toBe(false);
    expect(hasResourceOption(null, 'Force=true')).toBe(false);
  });

  it('name a migration manager unless the migration is off', () => {
    const facts = { pruneConfirmed: false, waveDelayMs: 0, migrationManager: 'kubectl-client-side-apply' };
    expect(readSyncOptions({}, facts).migrationManager).toBe('kubectl-client-side-apply');
    const off = readSyncOptions({ syncOptions: ['ClientSideApplyMigration=false'] }, facts);
    expect('migrationManager' in off).toBe(false);
  });
});
