import { describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { validateSpec } from './index.ts';
import type { ResolvedCluster } from './index.ts';
import { projectWith } from './testing/index.ts';

const dev: ResolvedCluster = { server: 'https://dev', name: 'dev' };
const open = { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }] };
const git = { repoURL: 'https://h/a', path: 'x' };
const to = { server: 'https://dev', namespace: 'ns' };

function appWith(spec: object): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'app' },
    spec: { destination: to, ...spec },
  };
}
function faults(spec: object, project: object = open, cluster: ResolvedCluster = dev): readonly string[] {
  const found = validateSpec(appWith(spec), projectWith(project), cluster);
  expect(found.every(({ type }) => type === 'InvalidSpecError')).toBe(true);
  return found.map(({ message }) => message);
}

const single = 'spec.source.repoURL and either spec.source.path or spec.source.chart are required';
const multi = 'spec.source.repoURL and either source.path, source.chart, or source.ref are required for source';
const revision = 'spec.source.targetRevision is required if the manifest source is a helm chart';
const refused = (url: string): string => `application repo ${url} is not permitted in project 'p'`;
const nowhere = (server = 'https://dev', namespace = 'ns'): string =>
  `application destination server '${server}' and namespace '${namespace}' do not match any of the allowed destinations in project 'p'`;

describe('validateSpec', () => {
  it.each<[object, string]>([
    [{}, ''],
    [{ project: '' }, ''],
    [{ project: 'gone' }, 'gone'],
  ])('a project that does not exist: %j', (spec, name) => {
    expect(validateSpec(appWith({ source: git, ...spec }), undefined, dev)).toEqual([
      { type: 'InvalidSpecError', message: `Application referencing project ${name} which does not exist` },
    ]);
  });

  it.each<[string, object, readonly string[]]>([
    ['a path', { source: git }, []],
    ['a chart', { source: { repoURL: 'r', chart: 'c', targetRevision: '1' } }, []],
    ['no source', {}, [single]],
    ['a source of null', { source: null }, [single]],
    ['a source that is a text', { source: 'https://h/a' }, [single]],
    ['an empty source', { source: {} }, [single]],
    ['no repository', { source: { path: 'x' } }, [single]],
    ['an empty repository', { source: { repoURL: '', path: 'x' } }, [single]],
    ['a repository of null', { source: { repoURL: null, path: 'x' } }, [single]],
    ['neither path nor chart', { source: { repoURL: 'r' } }, [single]],
    ['both empty', { source: { repoURL: 'r', path: '', chart: '' } }, [single]],
    ['a reference alone does not do here', { source: { repoURL: 'r', ref: 'v' } }, [single]],
    ['an OCI source needs a path, too', { source: { repoURL: 'oci://r/x' } }, [single]],
    ['a chart without revision', { source: { repoURL: 'r', chart: 'c' } }, [revision]],
    ['a chart with an empty revision', { source: { repoURL: 'r', chart: 'c', targetRevision: '' } }, [revision]],
    ['a path without revision', { source: { repoURL: 'https://h/r', path: 'x', targetRevision: '' } }, []],
    [
      'several',
      { sources: [git, { repoURL: 'r', chart: 'c', targetRevision: '1' }, { repoURL: 'https://h/r', ref: 'v' }] },
      [],
    ],
    ['several win over one', { source: {}, sources: [git] }, []],
    ['no several is one', { source: git, sources: [] }, []],
    ['no several, and none', { sources: [] }, [single]],
    ['null several is one', { source: git, sources: null }, []],
    [
      'the first fault ends the checks',
      { sources: [git, { path: 'x' }, { repoURL: 'r', chart: 'c' }] },
      [`${multi} {"path":"x"}`],
    ],
    ['one of several without anything', { sources: [{ repoURL: 'r' }] }, [`${multi} {"repoURL":"r"}`]],
    ['one of several is null', { sources: [git, null] }, [`${multi} null`]],
    ['one of several is a text', { sources: ['x'] }, [`${multi} "x"`]],
    ['a chart of several without revision', { sources: [git, { repoURL: 'r', chart: 'c' }] }, [revision]],
  ])('%s: %j', (_what, spec, expected) => {
    expect(faults(spec)).toEqual(expected);
    // Structure faults end the checks.
    if (expected.length > 0) expect(faults(spec, {})).toEqual(expected);
  });

  const some = { ...open, sourceRepos: ['https://h/a', 'https://h/d'] };
  const other = { repoURL: 'https://h/b', path: 'x' };
  it.each<[string, object, readonly string[]]>([
    ['permitted', { source: git }, []],
    ['not permitted', { source: other }, [refused('https://h/b')]],
    [
      'each of several sources',
      { sources: [other, git, { repoURL: 'https://h/c', ref: 'v' }] },
      [refused('https://h/b'), refused('https://h/c')],
    ],
    ['a single source beside several is not looked at', { source: other, sources: [git] }, []],
    ['shown as it is written', { source: { repoURL: ' HTTPS://H/B.git', path: 'x' } }, [refused(' HTTPS://H/B.git')]],
  ])('source repositories, %s: %j', (_what, spec, expected) => {
    expect(faults(spec, some)).toEqual(expected);
  });

  const dry = { repoURL: 'https://h/a', path: 'd', targetRevision: 'main' };
  const synced = { targetBranch: 'env', path: 's' };
  it.each<[string, object, readonly string[]]>([
    ['in one repository', { drySource: dry, syncSource: synced }, []],
    ['to another', { drySource: dry, syncSource: { ...synced, repoURL: 'https://h/d' } }, []],
    [
      'to itself, named',
      { drySource: { ...dry, repoURL: 'https://h/b' }, syncSource: { ...synced, repoURL: 'https://h/b' } },
      [refused('https://h/b')],
    ],
    [
      'to a denied one',
      { drySource: dry, syncSource: { ...synced, repoURL: 'https://h/c' } },
      ["sync source repo https://h/c is not permitted in project 'p'"],
    ],
    [
      'from a denied one',
      { drySource: { ...dry, repoURL: 'https://h/b' }, syncSource: { ...synced, repoURL: 'https://h/a' } },
      [refused('https://h/b')],
    ],
    [
      'both denied',
      { drySource: { ...dry, repoURL: 'https://h/b' }, syncSource: { ...synced, repoURL: 'https://h/c' } },
      [refused('https://h/b'), "sync source repo https://h/c is not permitted in project 'p'"],
    ],
    [
      'without a repository',
      { drySource: {}, syncSource: synced },
      ['spec.sourceHydrator.drySource.repoURL is required'],
    ],
    [
      'without a branch',
      { drySource: dry, syncSource: { path: 's' } },
      ['spec.sourceHydrator.syncSource.targetBranch is required'],
    ],
    [
      'without a branch to hydrate to',
      { drySource: dry, syncSource: synced, hydrateTo: {} },
      ['when spec.sourceHydrator.hydrateTo is set, spec.sourceHydrator.hydrateTo.targetBranch is required'],
    ],
    ['with one', { drySource: dry, syncSource: synced, hydrateTo: { targetBranch: 'next' } }, []],
    ['hydrateTo of null is none', { drySource: dry, syncSource: synced, hydrateTo: null }, []],
  ])('a source hydrator %s: %j', (_what, sourceHydrator, expected) => {
    expect(faults({ source: other, sourceHydrator }, some)).toEqual(expected);
  });

  const bound = { sourceRepos: ['https://h/a'], destinations: [{ server: 'https://dev', namespace: 'ns' }] };
  it.each<[string, object, readonly string[], ResolvedCluster]>([
    ['permitted', { source: git }, [], dev],
    ['another namespace', { source: git, destination: { ...to, namespace: 'x' } }, [nowhere('https://dev', 'x')], dev],
    ['no namespace', { source: git, destination: { server: 'https://dev' } }, [nowhere('https://dev', '')], dev],
    ['another server', { source: git }, [nowhere('https://prod')], { server: 'https://prod', name: 'prod' }],
    [
      'by name: the name is shown',
      { source: git, destination: { name: 'prod', namespace: 'ns' } },
      [nowhere('prod')],
      { server: 'https://prod', name: 'prod' },
    ],
    [
      'by name, and the resolved server is permitted',
      { source: git, destination: { name: 'dev', namespace: 'ns' } },
      [],
      dev,
    ],
    [
      'not resolved',
      { source: git },
      ['there are no clusters with this name: x'],
      { error: 'there are no clusters with this name: x' },
    ],
    [
      'source and destination',
      { source: other },
      [refused('https://h/b'), nowhere('https://prod')],
      { server: 'https://prod', name: 'prod' },
    ],
    ['source, and not resolved', { source: other }, [refused('https://h/b'), 'gone'], { error: 'gone' }],
  ])('destination, %s: %j', (_what, spec, expected, cluster) => {
    expect(faults(spec, bound, cluster)).toEqual(expected);
  });

  it('applies permitOnlyProjectScopedClusters to the clusters of the project', () => {
    const project = projectWith({ ...open, permitOnlyProjectScopedClusters: true });
    const app = appWith({ source: git });
    expect(validateSpec(app, project, dev).map(({ message }) => message)).toEqual([nowhere()]);
    expect(validateSpec(app, project, dev, [{ server: 'https://dev', name: 'dev' }])).toEqual([]);
  });

  it('uses the name from the Application for a project without a name', () => {
    const found = validateSpec(appWith({ source: git, project: 'mine' }), projectWith({}, {}), dev);
    expect(found[0]?.message).toBe("application repo https://h/a is not permitted in project 'mine'");
  });
});
