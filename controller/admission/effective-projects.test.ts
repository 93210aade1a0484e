import { describe, expect, it } from '@jest/globals';
import type { AppProject, Cluster, KubeObject } from '#model';
import { effectiveProject } from '#policy';
import { EffectiveProjects } from './effective-projects.ts';

type ProjectSources = Parameters<typeof effectiveProject>[1];

function projectObject(name: string, spec: object, labels: Readonly<Record<string, string>> = {}): KubeObject {
  const metadata = { name, namespace: 'argocd', labels };
  return { apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata, spec };
}

describe('an effective project', () => {
  const projects = new EffectiveProjects();
  const team = projectObject('team', { sourceRepos: ['https://git/a'] }, { inherits: 'yes' });
  const shared = projectObject('shared', { sourceRepos: ['https://git/shared'] });
  const globalProjects = [{ projectName: 'shared', labelSelector: { matchLabels: { inherits: 'yes' } } }];
  const noClusters: readonly Cluster[] = [];

  function sourcesWith(over: Partial<ProjectSources> & { readonly global?: KubeObject } = {}): ProjectSources {
    const { global = shared, ...rest } = over;
    const lookup = (name: string): AppProject | undefined => (name === 'shared' ? projects.read(global) : undefined);
    return { globalProjects, lookup, repositories: [], clusters: noClusters, ...rest };
  }

  it('is made once for the same objects', () => {
    const first = projects.of(projects.read(team), sourcesWith());
    const again = projects.of(projects.read(team), sourcesWith({ repositories: [{ url: 'https://git/of-nobody' }] }));
    expect(again).toBe(first);
    expect(first.spec.sourceRepos).toEqual(['https://git/a', 'https://git/shared']);
  });

  it.each<[string, KubeObject, Partial<ProjectSources> & { readonly global?: KubeObject }]>([
    ['the project', projectObject('team', { sourceRepos: ['https://git/b'] }, { inherits: 'yes' }), {}],
    ['a global project', team, { global: projectObject('shared', { sourceRepos: ['https://git/other'] }) }],
    ['the list of global projects', team, { globalProjects: [] }],
    ['the clusters', team, { clusters: [{ server: 'https://c', namespaces: [], project: 'team' }] }],
    ['its repositories', team, { repositories: [{ url: 'https://git/own', project: 'team' }] }],
  ])('follows a change of %s', (_what, object, over) => {
    const before = projects.of(projects.read(team), sourcesWith());
    const after = projects.of(projects.read(object), sourcesWith(over));
    expect(after).toEqual(effectiveProject(projects.read(object), sourcesWith(over)));
    expect(projects.versionOf(after)).not.toBe(projects.versionOf(before));
    expect(projects.of(projects.read(team), sourcesWith())).toEqual(before);
  });

  it('is refused while a global project that it inherits from does not exist', () => {
    const without = sourcesWith({ lookup: () => undefined });
    expect(() => projects.of(projects.read(team), without)).toThrow(
      'the AppProject "shared", named by globalProjects of argocd-cm, does not exist',
    );
    expect(projects.of(projects.read(team), sourcesWith()).spec.sourceRepos).toContain('https://git/shared');
    const other = projectObject('other', {});
    expect(projects.of(projects.read(other), without)).toMatchObject({ metadata: { name: 'other' } });
  });

  it('has the version of its rules', () => {
    const copy = structuredClone(team);
    const versions = [team, copy].map((object) =>
      projects.versionOf(projects.of(projects.read(object), sourcesWith())),
    );
    expect(versions[0]).toBe(versions[1]);
  });
});
