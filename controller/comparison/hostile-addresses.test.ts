import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApplicationSource } from '#model';
import { HostileServer } from '../testing/hostile-server.ts';

let server: HostileServer;
const manifest = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

beforeAll(async () => {
  server = await HostileServer.start();
  server.repository('team-a/app.git', { 'a.yaml': manifest('mine') });
  server.repository('secret.git', { 'a.yaml': manifest('c4nary') });
  server.repository('other-team/secret.git', { 'a.yaml': manifest('c4nary') });
  server.repository('public/app.git', { 'a.yaml': manifest('unsigned') });
  server.archive('/other-team/private.tgz');
  server.chart('/team-a/charts', ['web.tgz']);
  server.archive('/team-a/charts/web.tgz');
  server.chart('/other-team/charts', ['web.tgz']);
  server.archive('/other-team/charts/web.tgz');
});
afterAll(() => server.stop());

const team = (...more: string[]): { sourceRepos: string[] } => ({
  sourceRepos: [`http://${server.host}/team-a/*`, `http://${server.host}/team-a/**`, ...more],
});
const git = (url: string): ApplicationSource => ({
  repoURL: url.replace('HOST', server.host),
  path: '.',
  targetRevision: 'main',
});
const chart = (url: string): ApplicationSource => ({
  repoURL: url.replace('HOST', server.host),
  chart: 'web',
  targetRevision: '1.0.0',
});

describe('an address in one spelling', () => {
  it.each([
    'http://HOST/team-a/app.git',
    'http://HOST/team-a/app',
    'HTTP://HOST/team-a/app.git/',
    'http://HOST/team-a/%61pp.git',
    'http://HOST/team%2Da/app.git',
  ])('%s is rendered, and dialled in one way', async (url) => {
    const { text, dialled } = await server.render(git(url), team());
    const name = url.includes('.git') ? '/team-a/app.git' : '/team-a/app';
    expect(dialled[0]).toBe(`${name}/info/refs?service=git-upload-pack`);
    if (url.includes('.git')) expect(text).toBe('mine');
  });
});

/** Spellings with a project that must not reach what they stand for, and nothing else either. */
const attempts: readonly (readonly [why: string, url: string])[] = [
  ['a backslash', 'http://HOST/team-a/..\\other-team\\private.tgz'],
  ['the segment ".."', 'http://HOST/team-a/../secret.git'],
  ['the segment ".."', 'http://HOST/team-a/../other-team/secret.git'],
  ['the segment "."', 'http://HOST/team-a/./app.git'],
  ['an empty segment', 'http://HOST/team-a//app.git'],
  ['an encoded dot', 'http://HOST/team-a/%2e%2e/secret.git'],
  ['an encoded separator', 'http://HOST/team-a/..%2fsecret.git'],
  ['an encoded separator', 'http://HOST/team-a/x%5c..%5csecret.git'],
  ['an encoded percent sign', 'http://HOST/team-a/%252e%252e/secret.git'],
  ['a query', 'http://HOST/secret.git?/team-a/x'],
  ['a fragment', 'http://HOST/secret.git#/team-a/x'],
  ['control characters', 'http://HOST/team-a/.\t./secret.git'],
];

describe('an address without a single reading', () => {
  it.each(attempts)('is refused without a request, and the condition names it: %s, %s', async (why, url) => {
    for (const spec of [team(), { sourceRepos: ['*'] }]) {
      const { text, dialled } = await server.render(git(url), spec);
      expect(text).toMatch(/^application repo ".*" is refused: /);
      expect(text).toContain(why);
      expect(dialled).toEqual([]);
    }
  });

  it.each([
    'http://HOST/team-a/..\\other-team\\charts',
    'http://HOST/team-a/../other-team/charts',
    'http://HOST/team-a/%2E%2E/other-team/charts',
    'http://HOST/other-team/charts#/team-a/x',
  ])('is refused for a chart repository: %s', async (url) => {
    const { text, dialled } = await server.render(chart(url), team());
    expect([text, dialled]).toEqual([expect.stringContaining(' is refused: '), []]);
  });

  it.each(['http://HOST?.example.com/charts', 'http://HOST/?.example.com/charts', 'http://HOST#.example.com/x'])(
    'is no host that a pattern for hosts permits: %s',
    async (url) => {
      const { dialled } = await server.render(chart(url), { sourceRepos: ['http://*.example.com/**'] });
      expect(dialled).toEqual([]);
    },
  );
});

describe('a deny entry', () => {
  it.each([
    'http://HOST/secret',
    'http://HOST/secret.git',
    'http://HOST/secret/',
    'http://HOST/SECRET.git',
    'http://HOST/./secret',
    'http://u@HOST/secret.git',
    'http://u:p@HOST/secret.git',
    'http://HOST/%73ecret.git',
    'http://HOST/x/../secret.git',
    'http://HOST/secret.git.git',
    'http://HOST/secret/.git',
    'http://HOST/secret;x=1',
    'http://HOST/secret.',
    'http://HOST/secret%20',
  ])('denies %s', async (url) => {
    const sourceRepos = ['*', `!http://${server.host}/secret`];
    const { text, dialled } = await server.render(git(url), { sourceRepos });
    expect([text, dialled]).toEqual([expect.stringMatching(/is not permitted|is refused/), []]);
  });
});

describe('a signature policy', () => {
  it.each([
    'http://HOST/public/app.git',
    'http://x@HOST/public/app.git',
    'http://HOST/public/app.git/',
    'http://HOST/public/./app.git',
    'http://HOST/public/x/../app.git',
    'http://HOST/public/%61pp.git',
    'http://HOST/PUBLIC/app.git',
    'http://HOST/public/app.git;x',
    'http://HOST/public/app.git.git',
  ])('is never skipped for %s', async (url) => {
    const policies = [
      { repos: [{ url: `http://${server.host}/public/app.git` }], gpg: { mode: 'strict', keys: ['4AEE18F83AFDEB23'] } },
    ];
    const { text } = await server.render(git(url), { sourceRepos: ['*'], sourceIntegrity: { git: { policies } } });
    expect(text).toMatch(/^GIT\/GPG: | is refused: |not found|failed to authenticate/);
  });
});
