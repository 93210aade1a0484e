import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApplicationSource } from '#model';
import { HostileServer } from '../testing/hostile-server.ts';

let server: HostileServer;
const manifest = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

const submodule = (url: string): string => `[submodule "sub"]\n\tpath = sub\n\turl = ${url}\n`;
/** Submodules that lead to the private repository of another team. */
const submodules: readonly (readonly [string, string])[] = [
  ['sub-plain', 'http://HOST/other-team/secret.git'],
  ['sub-relative', '../../other-team/secret.git'],
  ['sub-dots', 'http://HOST/team-a/../other-team/secret.git'],
  ['sub-backslash', 'http://HOST/team-a/..\\\\other-team/secret.git'],
  ['sub-user', 'http://x@HOST/other-team/secret.git'],
];
const overlays: readonly (readonly [string, string])[] = [
  ['base-dots', 'resources: ["http://HOST/team-a/../other-team/secret.git"]\n'],
  ['base-encoded', 'resources: ["http://HOST/team-a/%2e%2e/other-team/secret.git?ref=main"]\n'],
  ['base-other', 'resources: ["http://HOST/other-team/secret.git//?ref=main"]\n'],
  ['base-user', 'resources: ["http://team-a@HOST/other-team/secret.git"]\n'],
  ['file-backslash', 'resources: ["http://HOST/team-a/..\\\\other-team\\\\values.yaml"]\n'],
  ['file-dots', 'resources: ["http://HOST/team-a/../other-team/values.yaml"]\n'],
  ['file-encoded', 'resources: ["http://HOST/team-a/%2E./other-team/values.yaml"]\n'],
  ['file-query', 'patches: [{path: "http://HOST/other-team/values.yaml?/team-a/x.yaml"}]\n'],
];
/** Values files by address. */
const valuesUrls = [
  'http://HOST/team-a/../other-team/values.yaml',
  'http://HOST/team-a/..\\other-team\\values.yaml',
  'http://HOST/team-a/%2e%2e/other-team/values.yaml',
  'http://HOST/other-team/values.yaml?x=/team-a/y',
  'http://HOST/other-team/values.yaml#/team-a/y',
  'http://HOST\\@elsewhere.example/team-a/values.yaml',
  'http://HOST/team-a/..;/other-team/values.yaml',
  'HTTP://HOST//other-team/values.yaml',
  'http://team-a@HOST/other-team/values.yaml',
];

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
  server.page('/other-team/values.yaml', 'c4nary: true\n');
  server.chart('/team-a/borrows', ['../../other-team/private.tgz']);
  server.chart('/team-a/borrows-too', [`http://${server.host}/other-team/private.tgz`]);
  server.chart('/team-a/borrows-encoded', ['x/%2e%2e/..%2f..%2fother-team/private.tgz']);
  for (const [name, url] of submodules)
    server.repository(`team-a/${name}.git`, { '.gitmodules': submodule(url.replace('HOST', server.host)) }, (made) => {
      made.git('update-index', '--add', '--cacheinfo', `160000,${server.head('other-team/secret.git')},sub`);
    });
  for (const [name, text] of overlays)
    server.repository(`team-a/${name}.git`, { 'kustomization.yaml': text.replaceAll('HOST', server.host) });
  for (const [i, url] of valuesUrls.entries())
    server.repository(`team-a/values-${i}.git`, {
      'Chart.yaml': 'apiVersion: v2\nname: c\nversion: 1.0.0\n',
      x: url,
    });
});
afterAll(() => server.stop());

const team = (...more: string[]): { sourceRepos: string[] } => ({
  sourceRepos: [`http://${server.host}/team-a/*`, `http://${server.host}/team-a/**`, ...more],
});
const git = (url: string): ApplicationSource => ({
  repoURL: url.replaceAll('HOST', server.host),
  path: '.',
  targetRevision: 'main',
});
const chart = (url: string): ApplicationSource => ({
  repoURL: url.replaceAll('HOST', server.host),
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

describe('what the files of a source name', () => {
  const foreign = (paths: readonly string[]): readonly string[] => paths.filter((path) => !path.startsWith('/team-a/'));

  it.each(submodules)('never gets the token for another team: the submodule %s', async (name) => {
    const { text, withToken } = await server.render(git(`http://HOST/team-a/${name}.git`), team());
    expect(text).not.toContain('c4nary');
    expect(foreign(withToken)).toEqual([]);
  });

  it('gets it for a submodule that the project permits', async () => {
    const spec = team(`http://${server.host}/other-team/secret`);
    const source = { ...git('http://HOST/team-a/sub-plain.git'), directory: { recurse: true } };
    expect((await server.render(source, spec)).text).toBe('c4nary');
  });

  it('explains that a submodule was fetched without credentials', async () => {
    const source = { ...git('http://HOST/team-a/sub-plain.git'), directory: { recurse: true } };
    const { text } = await server.render(source, team());
    expect(text).toContain('fetched without credentials, because the project does not permit http://127.0.0.1');
  });

  it.each(overlays)('is no request elsewhere: the overlay %s', async (name) => {
    const { text, dialled } = await server.render(git(`http://HOST/team-a/${name}.git`), team());
    expect(text).toMatch(/is refused|not permitted|has a (?:query|fragment)|without a plain name|is not valid/);
    expect(foreign(dialled)).toEqual([]);
  });

  it.each(valuesUrls.map((url, i) => [url, i] as const))('is no request elsewhere: values of %s', async (url, i) => {
    for (const helm of [
      { valueFiles: [url.replace('HOST', server.host)] },
      { fileParameters: [{ name: 'a', path: url.replace('HOST', server.host) }] },
    ]) {
      const { text, dialled } = await server.render({ ...git(`http://HOST/team-a/values-${i}.git`), helm }, team());
      expect(text).toMatch(/is refused|not permitted/);
      expect(foreign(dialled)).toEqual([]);
    }
  });

  it.each(['borrows', 'borrows-too', 'borrows-encoded'])(
    'gets no token of a template for another team: the archive of the index %s',
    async (name) => {
      for (const helm of [{}, { passCredentials: true }]) {
        const { withToken } = await server.render({ ...chart(`http://HOST/team-a/${name}`), helm }, team());
        expect(foreign(withToken)).toEqual([]);
        expect(withToken).toEqual([`/team-a/${name}/index.yaml`]);
      }
    },
  );

  it('gets it for an archive of the repository itself, and for one that the project permits', async () => {
    const own = await server.render(chart('http://HOST/team-a/charts'), team());
    expect(own.withToken).toEqual(['/team-a/charts/index.yaml', '/team-a/charts/web.tgz']);
    const spec = team(`http://${server.host}/other-team/*`);
    const permitted = await server.render(chart('http://HOST/team-a/borrows'), spec);
    expect(permitted.withToken).toContain('/other-team/private.tgz');
  });
});

/** Written by an attacker of the finished code, each against `secret` and the other team. */
const furtherSpellings = [
  'http://HOST/team-a/..%00/secret.git',
  'http://HOST/team-a/.%2e/secret.git',
  'http://HOST/team-a/%2e./secret.git',
  'http://HOST/team-a/%252e%252e/secret.git',
  'http://HOST/team-a/..%c0%af/secret.git',
  'http://HOST/team-a/%c0%ae%c0%ae/secret.git',
  'http://HOST/team-a/..%ef%bc%8fsecret.git',
  'http://HOST/team-a/%ef%bc%8e%ef%bc%8e/secret.git',
  'http://HOST/team-a/\uff0e\uff0e/secret.git',
  'http://HOST/team-a/\u2024\u2024/secret.git',
  'http://HOST/team-a/..;/secret.git',
  'http://HOST/team-a/..;a=b/secret.git',
  'http://HOST/team-a/x;/../../secret.git',
  'http://HOST/team-a/.;/app.git',
  'http://HOST/team-a\\..\\secret.git',
  'http:\\\\HOST\\secret.git',
  'http:/\\HOST/secret.git',
  'http:///HOST/secret.git',
  'http:HOST/secret.git',
  'http:/HOST/secret.git',
  '//HOST/secret.git',
  'http://HOST:80@HOST/secret.git',
  'http://HOST%2fteam-a/secret.git',
  'http://HOST%23@HOST/secret.git',
  'http://team-a@HOST/secret.git',
  'http://HOST/team-a@HOST/../secret.git',
  'http://HOST@HOST@HOST/team-a/../secret.git',
  'http://[::ffff:127.0.0.1]/secret.git',
  'http://2130706433/secret.git',
  'http://127.1/team-a/../secret.git',
  'http://HOST./secret.git',
  'http://HOST/secret.git?x=/team-a/',
  'http://HOST/secret.git?/../team-a/x',
  'http://HOST/secret.git#/team-a/x',
  'http://HOST/other-team/private.tgz?/team-a/x',
  'http://HOST/secret.git%3f/team-a/..',
  'http://HOST/secret.git%23/../../team-a',
  'http://HOST/team-a/\u202egit.terces/../secret',
  'http://HOST/team-a/\ufeff../secret.git',
  'http://HOST/team-a/%20../../secret.git',
  'http://HOST/team-a/ ../secret.git',
  'http://HOST/team-a/\t../secret.git',
  'http://HOST/team-a/.\n./secret.git',
  'http://HOST/team-a/..\r/secret.git',
  'http://HOST//team-a/../secret.git',
  'http://HOST/team-a//../secret.git',
  'http://HOST/team-a/../team-a/../secret.git',
  'http://HOST/./secret.git',
  'http://HOST/secret.git/.',
  'http://HOST/secret.git/..//secret.git',
  'http://HOST/secret%2egit',
  'http://HOST/%73ecret%2Egit/',
  'http://HOST/secret.git%20',
  'http://HOST/secret.git;a',
  'http://HOST/SECRET.GIT',
  'http://HOST/secret.git.',
  'ext::git-upload-pack http://HOST/secret.git',
  'http::http://HOST/secret.git',
  'file:///proc/self/root/team-a/../secret.git',
  'FILE://localhost/../secret.git',
  'git+http://HOST/secret.git',
  '-uhttp://HOST/secret.git',
  'http@HOST:secret.git',
  'url=http://HOST/secret.git',
  'oci://HOST/team-a/../secret',
  'oci://HOST/secret@sha256:00',
];

describe('further spellings', () => {
  it.each(furtherSpellings)('pass neither an entry for the own team nor a deny entry: %j', async (url) => {
    const deny = { sourceRepos: ['*', `!http://${server.host}/secret`, `!http://${server.host}/other-team/**`] };
    for (const source of [git(url), chart(url)])
      for (const spec of [team(), deny]) {
        const { text, dialled } = await server.render(source, spec);
        expect(text).not.toContain('c4nary');
        expect(dialled.filter((path) => /secret|other-team|\.\./i.test(decodeURIComponent(path)))).toEqual([]);
      }
  });
});
