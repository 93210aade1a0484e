import { describe, expect, it } from '@jest/globals';
import { defined } from '#base';
import type { ApplicationSource, ApplicationSpec, AppProject, AppProjectSpec } from '#model';
import { hydratorOf, repositoryUrlsOf, sourceOf, sourcesOf } from '#model';
import { gitIntegrity, validateSpec } from './index.ts';

const project = (spec: Partial<AppProjectSpec>): AppProject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'AppProject',
  metadata: { name: 'p' },
  spec: { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }], ...spec },
});
const git = (repoURL: string): ApplicationSource => ({ repoURL, path: 'p' });
const url = 'https://git/org/app';
const gpg = (mode: string, ...keys: string[]) => ({ mode, keys });
const policies = (...list: { urls: string[]; gpg?: ReturnType<typeof gpg> }[]): Partial<AppProjectSpec> => ({
  sourceIntegrity: {
    git: {
      policies: list.map((one) => ({
        repos: one.urls.map((pattern) => ({ url: pattern })),
        ...defined({ gpg: one.gpg }),
      })),
    },
  },
});
const head = gpg('head', 'K');

describe('gitIntegrity', () => {
  it.each<[string, Partial<AppProjectSpec>, ReturnType<typeof gitIntegrity>]>([
    ['nothing is demanded', {}, undefined],
    ['policies without a list', { sourceIntegrity: { git: {} } }, undefined],
    ['a policy without repositories', { sourceIntegrity: { git: { policies: [{ gpg: head }] } } }, undefined],
    [
      'a repository without a pattern',
      { sourceIntegrity: { git: { policies: [{ repos: [{}], gpg: head }] } } },
      undefined,
    ],
    [
      'a policy without a mode',
      { sourceIntegrity: { git: { policies: [{ repos: [{ url: '*' }], gpg: {} }] } } },
      { error: 'unknown GPG mode "" configured for GIT source integrity' },
    ],
    [
      'a policy without keys allows nobody',
      { sourceIntegrity: { git: { policies: [{ repos: [{ url: '*' }], gpg: { mode: 'strict' } }] } } },
      gpg('strict') as never,
    ],
    ['empty lists', { signatureKeys: [], sourceIntegrity: {} }, undefined],
    ['the old keys', { signatureKeys: [{ keyID: 'A' }, { keyID: 'B' }] }, gpg('head', 'A', 'B') as never],
    ['a key without ID allows nobody', { signatureKeys: [{}] }, gpg('head', '') as never],
    [
      'the policies override the old keys',
      { signatureKeys: [{ keyID: 'A' }], ...policies({ urls: ['*'], gpg: gpg('strict', 'K') }) },
      gpg('strict', 'K') as never,
    ],
    [
      'the policies override the old keys even if none matches',
      { signatureKeys: [{ keyID: 'A' }], ...policies({ urls: ['https://other/*'], gpg: head }) },
      undefined,
    ],
    ['a glob crosses slashes', policies({ urls: ['https://git/*'], gpg: head }), head as never],
    ['another repository', policies({ urls: ['https://git/org/ap'], gpg: head }), undefined],
    ['one of several patterns', policies({ urls: ['https://x', url], gpg: head }), head as never],
    ['an exclusion takes it out, before', policies({ urls: [`!${url}`, '*'], gpg: head }), undefined],
    ['and behind', policies({ urls: ['*', '!https://git/*'], gpg: head }), undefined],
    ['an exclusion alone includes nothing', policies({ urls: ['!https://x'], gpg: head }), undefined],
    ['mode none', policies({ urls: ['*'], gpg: gpg('none') }), undefined],
    [
      'two policies',
      policies({ urls: ['*'], gpg: head }, { urls: [url], gpg: gpg('none') }),
      { error: `multiple (2) git source integrity policies found for repo URL: ${url}` },
    ],
    [
      'an unknown mode',
      policies({ urls: ['*'], gpg: gpg('deep', 'K') }),
      { error: 'unknown GPG mode "deep" configured for GIT source integrity' },
    ],
    [
      'no criteria',
      policies({ urls: ['*'] }),
      { error: `the git source integrity policy for repo URL ${url} has no gpg criteria` },
    ],
  ])('%s', (_name, spec, expected) => {
    expect(gitIntegrity(project(spec), git(url))).toEqual(expected);
  });

  it.each([`${url}.git`, 'HTTPS://GIT/org/app', `${url}.git `])(
    'treat another spelling of a repository as the same repository: %j',
    (spelling) => {
      expect(gitIntegrity(project(policies({ urls: [url], gpg: head })), git(spelling))).toEqual(head);
      expect(
        gitIntegrity(project(policies({ urls: ['https://git/other'], gpg: head })), git(spelling)),
      ).toBeUndefined();
    },
  );

  it.each([
    'https://x@git/org/app',
    'https://git:443/org/app/',
    'https://git/org/%61pp',
    'https://git/org/app;x',
    'https://git/org/app.',
  ])('never give a spelling to the policy for all other repositories: %s', (spelling) => {
    const others = policies({ urls: ['*', `!${url}`], gpg: gpg('none') }, { urls: [url], gpg: gpg('strict', 'K') });
    expect(gitIntegrity(project(others), git(spelling))).toEqual(gpg('strict', 'K'));
    const excluded = policies({ urls: ['*', '!https://git/org/other'], gpg: head });
    expect(gitIntegrity(project(excluded), git(spelling.replace('app', 'OTHER')))).toEqual(head);
  });

  it('prefer a policy for the spelling as written', () => {
    const both = policies({ urls: [url], gpg: head }, { urls: [`${url}.git`], gpg: gpg('none') });
    expect(gitIntegrity(project(both), git(url))).toEqual(head);
    expect(gitIntegrity(project(both), git(`${url}.git`))).toBeUndefined();
  });

  it.each([
    ['keys that are no list', { signatureKeys: 'all' }],
    ['a key that is no object', { signatureKeys: ['ABCD'] }],
    ['integrity that is no object', { sourceIntegrity: 'strict' }],
    ['policies that are no list', { sourceIntegrity: { git: { policies: {} } } }],
    [
      'repositories of type string',
      { sourceIntegrity: { git: { policies: [{ repos: '*', gpg: { mode: 'none' } }] } } },
    ],
  ])('%s refuse every source, and do not throw', (_name, spec) => {
    const odd = project(spec as unknown as Partial<AppProjectSpec>);
    expect(gitIntegrity(odd, git(url))).toEqual({ error: 'the signature rules of project p are invalid' });
  });

  it('do not require signatures of charts and OCI artifacts', () => {
    const spec = project({ signatureKeys: [{ keyID: 'A' }] });
    expect(gitIntegrity(spec, { repoURL: 'https://charts', chart: 'c' })).toBeUndefined();
    expect(gitIntegrity(spec, git('oci://registry/x'))).toBeUndefined();
    expect(gitIntegrity(spec, { repoURL: url, path: 'p', chart: '' })).toBeDefined();
  });
});

const cluster = { server: 'https://c', name: 'c' };
const messagesOf = (spec: Partial<ApplicationSpec>, sourceRepos: string[] = ['*']): string[] =>
  validateSpec(
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name: 'a' },
      spec: { destination: { server: 'https://c' }, ...spec },
    },
    project({ sourceRepos }),
    cluster,
  ).map(({ message }) => message);
const dry = { repoURL: 'https://git/dry', path: 'd', targetRevision: 'main' };
const synced = { targetBranch: 'env', path: 's' };

describe('sources of a spec', () => {
  it.each<[string, Partial<ApplicationSpec>, readonly string[], readonly string[]]>([
    ['both in one repository', { sourceHydrator: { drySource: dry, syncSource: synced } }, ['https://git/dry'], []],
    [
      'the dry source is not permitted',
      { sourceHydrator: { drySource: dry, syncSource: { ...synced, repoURL: 'https://git/h' } } },
      ['https://git/h'],
      ["application repo https://git/dry is not permitted in project 'p'"],
    ],
    [
      'the sync source is not permitted',
      { sourceHydrator: { drySource: dry, syncSource: { ...synced, repoURL: 'https://git/h' } } },
      ['https://git/dry'],
      ["sync source repo https://git/h is not permitted in project 'p'"],
    ],
    [
      'ignored sources are not checked',
      { source: git('https://git/evil'), sourceHydrator: { drySource: dry, syncSource: synced } },
      ['https://git/dry'],
      [],
    ],
    [
      'an empty hydrator',
      { sourceHydrator: { hydrateTo: {} } },
      ['*'],
      [
        'spec.sourceHydrator.drySource.repoURL is required',
        'spec.sourceHydrator.syncSource.targetBranch is required',
        'spec.sourceHydrator.syncSource.path is required',
        'when spec.sourceHydrator.hydrateTo is set, spec.sourceHydrator.hydrateTo.targetBranch is required',
      ],
    ],
    [
      'only references',
      { sources: [{ repoURL: 'https://git/x', ref: 'v' }] },
      ['*'],
      ['spec.sources has only sources with a ref, which render nothing: at least one source needs a path or a chart'],
    ],
    ['a reference that renders too', { sources: [{ repoURL: 'https://git/x', ref: 'v', path: 'p' }] }, ['*'], []],
  ])('%s', (_name, spec, repos, messages) => {
    expect(messagesOf(spec, [...repos])).toEqual(messages);
  });

  it('use the hydrated branch of a hydrator', () => {
    const destination = {};
    const hydrated = { repoURL: 'https://git/dry', path: 's', targetRevision: 'env' };
    const spec = { destination, source: git('https://git/x'), sourceHydrator: { drySource: dry, syncSource: synced } };
    expect([sourcesOf(spec), sourceOf(spec)]).toEqual([[hydrated], hydrated]);
    const elsewhere = { drySource: dry, syncSource: { ...synced, repoURL: 'https://git/h' } };
    expect(sourceOf({ destination, sourceHydrator: elsewhere }).repoURL).toBe('https://git/h');
    expect(hydratorOf({ destination, sourceHydrator: null as never })).toBeUndefined();
    expect(sourcesOf({ destination })).toEqual([]);
  });

  it('collect every repository of an Application, for the permissions of its Secrets', () => {
    const app = {
      apiVersion: 'v1',
      kind: 'Application',
      metadata: { name: 'a' },
      spec: {
        destination: {},
        sourceHydrator: { drySource: dry, syncSource: { ...synced, repoURL: 'https://git/h' } },
      },
      operation: { sync: { source: git('https://git/op') } },
      status: {
        operationState: {
          operation: { sync: { sources: [git('https://git/last'), git('https://git/h')] } },
          phase: 'Running' as const,
          startedAt: '',
          syncResult: { revision: '', source: { repoURL: '' } },
        },
      },
    };
    expect(repositoryUrlsOf(app)).toEqual(['https://git/h', 'https://git/op', 'https://git/last', 'https://git/dry']);
  });
});
