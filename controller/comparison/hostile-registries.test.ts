import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import type { ApplicationSource, AppProjectSpec } from '#model';
import { RepositoryIndex } from '#settings';
import { chartArchive, chartArtifact, startRegistry, tarLayer, tgz } from '../../desired/testing/index.ts';
import type { TestRegistry } from '../../desired/testing/index.ts';
import { renderAsTenant } from '../testing/hostile-server.ts';

let registry: TestRegistry;
let privateDigest = '';
const manifest = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
const files = (name: string): Parameters<TestRegistry['push']>[2] => ({
  layers: [{ mediaType: tarLayer, content: tgz({ 'cm.yaml': manifest(name) }) }],
});

/** The platform has one login for the whole registry (`repo-creds`). */
beforeEach(async () => {
  registry = await startRegistry();
  registry.push('team-a/app', ['1.0.0'], files('mine'));
  registry.push('team-a/charts/web', ['1.0.0'], chartArtifact(chartArchive('web', '1.0.0')));
  privateDigest = registry.push('other-team/secret', ['1.0.0'], files('c4nary'));
  registry.push('other-team/charts/web', ['1.0.0'], chartArtifact(chartArchive('web', '1.0.0')));
  registry.demandToken('platform', 'c4nary-token');
});
afterEach(() => registry.server.close());

function index(): RepositoryIndex {
  const login = { username: 'platform', password: new SecretValue('c4nary-token') };
  const common = { ...login, ociForceHttp: true, insecure: true, inheritedCreds: false, enableOci: true };
  return new RepositoryIndex(
    [],
    [
      { repository: { ...common, url: `oci://${registry.host}`, type: 'oci' }, hasCredentials: true },
      { repository: { ...common, url: registry.host, type: 'helm' }, hasCredentials: true },
    ],
  );
}

async function render(
  source: Partial<ApplicationSource>,
  spec: Partial<AppProjectSpec>,
): Promise<{ readonly text: string; readonly dialled: readonly string[] }> {
  const own = { path: '.', targetRevision: '1.0.0', ...source };
  const repoURL = (own.repoURL ?? '').replaceAll('HOST', registry.host);
  const from = registry.server.asked.length;
  const text = await renderAsTenant(index(), { ...own, repoURL }, spec);
  return { text, dialled: registry.server.asked.slice(from).map(({ path }) => path) };
}
const team = (): Partial<AppProjectSpec> => ({
  sourceRepos: ['oci://HOST/team-a/*', 'oci://HOST/team-a/**', 'HOST/team-a/*', 'HOST/team-a/**'].map((pattern) =>
    pattern.replace('HOST', registry.host),
  ),
});
/** The requests for something of the other team, also in the scope of a token. */
const foreign = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => /other-team|\.\.|secret/i.test(decodeURIComponent(path)));

/** Spellings of the other team's artifact. */
const attempts = [
  'oci://HOST/other-team/secret',
  'oci://HOST/team-a/../other-team/secret',
  'oci://HOST/team-a/..\\other-team\\secret',
  'oci://HOST/team-a/%2e%2e/other-team/secret',
  'oci://HOST/team-a/..%2fother-team%2fsecret',
  'oci://HOST/team-a/%252e%252e/other-team/secret',
  'oci://HOST/team-a//../other-team/secret',
  'oci://HOST/other-team/secret?/team-a/app',
  'oci://HOST/other-team/secret#/team-a/app',
  'oci://HOST/other-team/secret:1.0.0?x=/team-a/',
  'oci://HOST/other-team/secret@DIGEST',
  'oci://HOST/team-a/app@DIGEST',
  'oci://HOST/team-a/app/manifests/1.0.0/../../../../other-team/secret',
  'oci://HOST/team-a/app:../other-team/secret',
  'oci://HOST/team-a/app/blobs/DIGEST',
  'oci://team-a@HOST/other-team/secret',
  'oci://HOST@HOST/other-team/secret',
  'oci://HOST%2fteam-a/other-team/secret',
  'oci:///HOST/other-team/secret',
  'oci:HOST/other-team/secret',
  'OCI://HOST/OTHER-TEAM/secret',
  'oci://HOST/Other-Team/secret',
  'HOST/team-a/../other-team/secret',
  'HOST/other-team/secret',
];

describe('an artifact of another team in one registry', () => {
  it.each(attempts)('is reached by no spelling: %s', async (url) => {
    const repoURL = url.replace('DIGEST', privateDigest);
    const denying = { sourceRepos: ['*', `!oci://${registry.host}/other-team/**`, `!${registry.host}/other-team/**`] };
    for (const source of [{ repoURL }, { repoURL, chart: 'web' }, { repoURL, chart: '../other-team/charts/web' }])
      for (const spec of [team(), ...(/other-team/i.test(url) ? [denying] : [])]) {
        const { text, dialled } = await render(source, spec);
        expect(text).not.toContain('c4nary');
        expect(foreign(dialled)).toEqual([]);
      }
  });

  it.each([
    '../../other-team/secret/manifests/1.0.0',
    '1.0.0/../../../other-team/secret/manifests/1.0.0',
    '1.0.0?x=',
    '1.0.0#x',
    '%2e%2e/%2e%2e/other-team',
    '1.0.0@DIGEST',
    'sha256:../../other-team',
  ])('is reached by no revision: %s', async (targetRevision) => {
    for (const source of [{ repoURL: 'oci://HOST/team-a/app' }, { repoURL: 'HOST/team-a/charts', chart: 'web' }]) {
      const revision = targetRevision.replace('DIGEST', privateDigest);
      const { text, dialled } = await render({ ...source, targetRevision: revision }, team());
      expect(text).not.toContain('c4nary');
      expect(foreign(dialled)).toEqual([]);
    }
  });

  it('is not reached by its digest in the own repository', async () => {
    const { text } = await render({ repoURL: 'oci://HOST/team-a/app', targetRevision: privateDigest }, team());
    expect(text).toContain('not');
    expect(text).not.toContain('c4nary');
  });

  it.each(['../../other-team/charts/web', '..', 'web/../../../other-team/charts/web', '%2e%2e/web', 'web?x', 'web#x'])(
    'is reached by no name of a chart: %s',
    async (chart) => {
      const { text, dialled } = await render({ repoURL: 'HOST/team-a/charts', chart }, team());
      expect([text, dialled]).toEqual([expect.stringMatching(/refused|not valid|invalid/), []]);
    },
  );
});

describe('the own artifact in the registry', () => {
  it.each(['oci://HOST/team-a/app', 'OCI://HOST/team-a/app', 'oci://HOST/team-a/app/'])(
    'is rendered, and dialled in one way: %s',
    async (repoURL) => {
      const { text, dialled } = await render({ repoURL }, team());
      expect(text).toBe('mine');
      expect(dialled[0]).toBe('/v2/team-a/app/manifests/1.0.0');
    },
  );
});
