import { describe, expect, it } from '@jest/globals';
import { appKey, keyOfRef } from '#model';
import type { Application, ResourceStatus } from '#model';
import { ManifestClaims } from './claims.ts';
import { ProjectUnusable } from '../shared/errors.ts';

const ref = { group: '', kind: 'Namespace', namespace: '', name: 'shared' };
const row: ResourceStatus = { kind: 'Namespace', name: 'shared', version: 'v1', status: 'OutOfSync' };

function application(name: string, resources: readonly ResourceStatus[] = [row], more: object = {}): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: 'argocd', ...more },
    spec: { destination: { server: 'https://a' } },
    status: { resources },
  };
}

function claimant(
  apps: readonly Application[],
  permits: (app: Application) => boolean = () => true,
): string | undefined {
  const claims = new ManifestClaims({ apps: () => apps, serverOf: (app) => app.spec.destination.server, permits });
  return claims
    .claimants({ key: appKey('argocd', 'own'), server: 'https://a', refs: [ref, { ...ref, name: 'more' }] })
    .get(keyOfRef(ref));
}

// T-PRUNE-3
describe('which other Application has an object among its manifests', () => {
  const own = application('own');

  // T-PRUNE-3
  it('is the first other Application that has it, in any order', () => {
    const others = [application('z'), own, application('b')];
    expect([claimant([own]), claimant(others), claimant(others.reverse())]).toEqual([
      undefined,
      'argocd/b',
      'argocd/b',
    ]);
  });

  const unusable = (): never => {
    throw new ProjectUnusable('none', true);
  };
  const elsewhere = { ...application('b'), spec: { destination: { server: 'https://b' } } };
  const yes = (): boolean => true;
  it.each<[string, Application, () => boolean]>([
    ['is on another cluster', elsewhere, yes],
    ['is being deleted', application('b', [row], { deletionTimestamp: '2026-01-01T00:00:00Z' }), yes],
    ['no longer has it in Git', application('b', [{ ...row, requiresPruning: true }]), yes],
    ['has it as a hook', application('b', [{ ...row, hook: true }]), yes],
    ['has one of another kind', application('b', [{ ...row, kind: 'ConfigMap' }]), yes],
    ['has one of another group', application('b', [{ ...row, group: 'x' }]), yes],
    ['has one of another namespace', application('b', [{ ...row, namespace: 'x' }]), yes],
    ['has only another object', application('b', [{ ...row, name: 'x' }]), yes],
    ['may not have it', application('b'), () => false],
    ['has no project', application('b'), unusable],
  ])('is no Application that %s', (_name, app, permits) => {
    expect(claimant([own, app], permits)).toBeUndefined();
  });

  // T-PRUNE-3
  it('iterates the Applications once for any number of objects, and not at all for none', () => {
    let looks = 0;
    const apps = (): readonly Application[] => {
      looks += 1;
      return [application('b')];
    };
    const claims = new ManifestClaims({ apps, serverOf: () => 'https://a', permits: () => true });
    const refs = Array.from({ length: 1000 }, (_, i) => ({ ...ref, name: `n${i}` }));
    const doomed = { key: appKey('argocd', 'own'), server: 'https://a' };
    expect([...claims.claimants({ ...doomed, refs: [...refs, ref] }).keys()]).toEqual([keyOfRef(ref)]);
    expect(looks).toBe(1);
    expect(claims.claimants({ ...doomed, refs: [] }).size).toBe(0);
    expect(looks).toBe(1);
  });

  // T-PRUNE-3
  it('rethrows an error that is not about a project', () => {
    const broken = (): never => {
      throw new TypeError('broken');
    };
    expect(() => claimant([application('b')], broken)).toThrow('broken');
  });
});
