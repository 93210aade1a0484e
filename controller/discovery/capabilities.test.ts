import { describe, expect, it } from '@jest/globals';
import type { Comparison } from '#compare';
import type { GeneratorOptions } from '#desired';
import type { LiveCluster } from '#live';
import type { Application, KubeObject } from '#model';
import { finalizersOf } from '../application/finalizers.ts';
import { generatorCapabilities, incompleteApis, usesCapabilities, withIncompleteApis } from './capabilities.ts';

const options = (kustomizeBuildOptions: string, more: Partial<GeneratorOptions> = {}): GeneratorOptions => ({
  kustomizeBuildOptions,
  kustomizeVersions: {},
  valuesFileSchemes: [],
  enabledTypes: {},
  ...more,
});

describe('generatorCapabilities', () => {
  it('does not visit every kind of the cluster for each pass', () => {
    const info = (): never => {
      throw new Error('visits every kind');
    };
    const cluster = { info, serverVersion: () => 'v1.33.1' } as unknown as LiveCluster;
    const capabilities = { apiVersions: ['v1'], missing: new Map<string, string>(), hasCompleteList: true };
    expect(generatorCapabilities(cluster, capabilities)).toEqual({ kubeVersion: 'v1.33.1', apiVersions: ['v1'] });
  });
});

describe('usesCapabilities', () => {
  it.each([
    ['Helm', '', false, true],
    ['Plugin', '', false, true],
    ['Directory', '--enable-helm', true, false],
    ['', '', true, false],
    ['Kustomize', '', false, false],
    ['Kustomize', '--load-restrictor X --enable-helm', false, true],
    ['Kustomize', '', true, true],
  ])('%j with build options %j (repo-server: %s): %s', (type, build, isRemote, expected) => {
    expect(usesCapabilities(type, options(build), isRemote)).toBe(expected);
  });

  it('also checks the build options of single kustomize versions', () => {
    const one = options('', { kustomizeVersionOptions: { v5: '--enable-helm' } });
    expect(usesCapabilities('Kustomize', one, false)).toBe(true);
  });
});

const comparison = (isLeftOver: boolean, more: Partial<Comparison> = {}): Comparison => {
  const live: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n' } };
  return {
    conditions: [],
    failed: false,
    left: [],
    hasPreDeleteHooks: false,
    hasPostDeleteHooks: false,
    pairs: isLeftOver ? [{ target: null, live }] : [],
    ...more,
  } as unknown as Comparison;
};

const missing = new Map([['acme.io', 'is stale']]);
const remembered = incompleteApis('https://a', { apiVersions: [], missing, hasCompleteList: true });
const forgotten = incompleteApis('https://a', { apiVersions: [], missing, hasCompleteList: false });

describe('an incomplete list of API versions', () => {
  it('is undefined when nothing is missing', () => {
    expect(incompleteApis('https://a', { apiVersions: [], missing: new Map(), hasCompleteList: true })).toBeUndefined();
    const whole = comparison(true);
    expect(withIncompleteApis(whole, undefined)).toBe(whole);
  });

  it.each([
    ['something would be pruned', remembered, true, 1],
    ['the group was never known', forgotten, false, 1],
    ['nothing is affected', remembered, false, 0],
  ])('blocks pruning, with a condition when it makes a difference (%s)', (_what, apis, isLeftOver, conditions) => {
    const found = withIncompleteApis(comparison(isLeftOver), apis);
    expect(found.pruneBlocked).toBe('the API versions of the cluster are not fully known: acme.io');
    expect(found.conditions).toHaveLength(conditions);
  });

  it('names at most five groups, with unsafe text from their servers removed', () => {
    const many = new Map(Array.from({ length: 9 }, (_, i) => [`g${i}.io`, 'https://user:c4nary@x does not answer']));
    const apis = incompleteApis('https://a', { apiVersions: [], missing: many, hasCompleteList: true });
    expect(apis?.groups).toBe('g0.io, g1.io, g2.io, g3.io, g4.io and 4 more');
    expect(apis?.message).not.toContain('c4nary');
  });

  it('keeps the finalizers of hooks that may only be missing', () => {
    const finalizers = ['pre-delete-finalizer.argocd.argoproj.io', 'pre-delete-finalizer.argocd.argoproj.io/cleanup'];
    const app: Application = {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name: 'demo', namespace: 'argocd', finalizers },
      spec: { project: 'default', destination: {} },
    };
    expect(finalizersOf(app, withIncompleteApis(comparison(false), forgotten))).toBeUndefined();
    expect(finalizersOf(app, withIncompleteApis(comparison(false), remembered))).toEqual([]);
  });
});
