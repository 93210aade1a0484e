import { describe, expect, it } from '@jest/globals';
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
        ...(one.gpg === undefined ? {} : { gpg: one.gpg }),
      })),
    },
  },
});
const head = gpg('head', 'K');

describe('gitIntegrity', () => {
  it.each<[string, Partial<AppProjectSpec>, ReturnType<typeof gitIntegrity>]>([
    ['nothing is demanded', {}, undefined],
    ['empty lists', { signatureKeys: [], sourceIntegrity: {} }, undefined],
    ['the old keys', { signatureKeys: [{ keyID: 'A' }, { keyID: 'B' }] }, gpg('head', 'A', 'B') as never],
    ['a key without ID allows nobody', { signatureKeys: [{}] }, gpg('head', '') as never],
    [
      'the policies win over the old keys',
      { signatureKeys: [{ keyID: 'A' }], ...policies({ urls: ['*'], gpg: gpg('strict', 'K') }) },
      gpg('strict', 'K') as never,
    ],
    [
      'also where none of them matches',
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
  ])('8.1.5: %s', (_name, spec, expected) => {
    expect(gitIntegrity(project(spec), git(url))).toEqual(expected);
  });

  it.each([`${url}.git`, 'HTTPS://GIT/org/app', `${url}.git `])(
    '8.1.5: another spelling of a repository is the same repository: %j',
    (spelling) => {
      expect(gitIntegrity(project(policies({ urls: [url], gpg: head })), git(spelling))).toEqual(head);
      expect(
        gitIntegrity(project(policies({ urls: ['https://git/other'], gpg: head })), git(spelling)),
      ).toBeUndefined();
    },
  );

  it('8.1.5: the spelling as it is written counts first', () => {
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
      'repositories that are a text',
      { sourceIntegrity: { git: { policies: [{ repos: '*', gpg: { mode: 'none' } }] } } },
    ],
  ])('8.1.5: %s refuse every source, and do not throw', (_name, spec) => {
    const odd = project(spec as unknown as Partial<AppProjectSpec>);
    expect(gitIntegrity(odd, git(url))).toEqual({ error: 'the signature rules of project p cannot be read' });
  });

  it('8.1.5: charts and OCI artifacts have no signatures that could be verified', () => {
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
      'what is ignored is not checked',
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
  ])('8.1.4: %s', (_name, spec, repos, messages) => {
    expect(messagesOf(spec, [...repos])).toEqual(messages);
  });

  it('8.1.4: those of a hydrator are its hydrated branch', () => {
    const destination = {};
    const hydrated = { repoURL: 'https://git/dry', path: 's', targetRevision: 'env' };
    const spec = { destination, source: git('https://git/x'), sourceHydrator: { drySource: dry, syncSource: synced } };
    expect([sourcesOf(spec), sourceOf(spec)]).toEqual([[hydrated], hydrated]);
    const elsewhere = { drySource: dry, syncSource: { ...synced, repoURL: 'https://git/h' } };
    expect(sourceOf({ destination, sourceHydrator: elsewhere }).repoURL).toBe('https://git/h');
    expect(hydratorOf({ destination, sourceHydrator: null as never })).toBeUndefined();
    expect(sourcesOf({ destination })).toEqual([]);
  });

  it('8.1.4: every repository that an Application names is known, for what its Secrets permit', () => {
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
