import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Shutdown, systemClock } from '#base';
import { bareRepository } from '#model';
import type { ApplicationSource } from '#model';
import { createRemoteSource } from '../index.ts';
import type { DesiredSource, ManifestsRequest, SignatureDemand } from '../index.ts';
import { commit, rendered, startRepoServer } from '../testing/repo-server.ts';
import type { ReceivedMessage, TestRepoServer } from '../testing/repo-server.ts';
import { currentRevision, requestOf } from '../testing/request.ts';

const never = new AbortController().signal;
const url = 'https://git.example.com/team/app.git';
const other = 'b'.repeat(40);
let server: TestRepoServer;
let desired: DesiredSource;
let stop: AbortController;

beforeEach(async () => {
  server = await startRepoServer();
  stop = new AbortController();
  desired = source(false);
});
afterEach(() => {
  stop.abort(new Shutdown());
  server.kill();
});

function source(readOnly: boolean): DesiredSource {
  const options = { timeoutMs: 30_000, maxMessageBytes: 100 << 20, serviceConfigFromDns: false, userAgent: 'test' };
  const made = createRemoteSource({ clock: systemClock, address: server.address, readOnly, ...options });
  void made.run(stop.signal);
  return made;
}

const plain: ApplicationSource = { repoURL: url, path: 'p', targetRevision: 'v1' };
const sent = (method: string): readonly ReceivedMessage[] =>
  server.calls.filter((call) => call.method === method).map(({ message }) => message);
const asked = (): readonly unknown[] => sent('GenerateManifest').map(({ revision }) => revision);

describe('signatures', () => {
  const demand: SignatureDemand = { mode: 'strict', keys: ['0123456789ABCDEF'] };
  const checked = (...problems: readonly string[]): object => ({
    ...rendered(),
    sourceIntegrityResult: { checks: [{ name: 'GIT/GPG', problems }] },
  });

  function ask(source: ApplicationSource = plain, revision = source.targetRevision ?? ''): ManifestsRequest {
    const request = requestOf(source, bareRepository(url));
    return { ...request, sources: [{ source, repository: bareRepository(url), revision, demand }] };
  }

  it('are verified by rendering only: there is no verify method', () => {
    expect('verify' in desired).toBe(false);
  });

  it('are demanded for any spelling of the URL, and rendered if good', async () => {
    server.answer = () => checked();
    const { sources } = await desired.manifests(ask(), never);
    expect(sources[0]?.objects).toHaveLength(1);
    expect(sources[0]?.problems ?? []).toEqual([]);
    expect(sent('GenerateManifest')).toMatchObject([
      {
        revision: 'v1',
        verifySignature: true,
        sourceIntegrity: { git: { policies: [{ repos: [{ url: '*' }], gpg: demand }] } },
      },
    ]);
  });

  it('that are bad give problems with the name of the check, and no objects', async () => {
    server.answer = () => checked('first', 'second');
    const { sources } = await desired.manifests(ask(), never);
    expect(sources).toEqual([
      { objects: [], revision: commit, sourceType: 'Directory', problems: ['GIT/GPG: first', 'GIT/GPG: second'] },
    ]);
  });

  it.each([
    ['nothing', {}],
    ['no check', { sourceIntegrityResult: { checks: [] } }],
    ['what an old one says', { verifyResult: 'gpg: Good signature' }],
  ])('count as bad in an answer with %s', async (_name, result) => {
    server.answer = () => ({ ...rendered(), ...result });
    const { sources } = await desired.manifests(ask(), never);
    expect(sources[0]?.objects).toEqual([]);
    expect(sources[0]?.problems).toEqual([
      expect.stringMatching(/^GIT\/GPG: .* the repo-server did not verify them: /),
    ]);
  });

  it('of a commit are requested by its tag, if the tag still points to it', async () => {
    server.answer = (method) => (method === 'ResolveRevision' ? { revision: commit } : checked());
    await desired.manifests(ask(plain, commit), never);
    server.answer = (method) => (method === 'ResolveRevision' ? { revision: other } : checked());
    await desired.manifests(ask(plain, commit), never);
    server.answer = (method) => (method === 'ResolveRevision' ? new Error('gone') : checked());
    await desired.manifests(ask(plain, commit), never);
    expect(asked()).toEqual(['v1', commit, commit]);
  });

  // T-REV-1
  it('are refused if the tag moves between resolving and rendering', async () => {
    server.answer = (method) =>
      method === 'ResolveRevision' ? { revision: commit } : { ...checked(), revision: other };
    await expect(desired.manifests(ask(plain, commit), never)).rejects.toThrow(
      `asked for manifests of ${commit}, got those of ${other}`,
    );
  });

  it('of a referenced source are those of its commit', async () => {
    const values = { repoURL: url, ref: 'values', targetRevision: 'main' };
    const found = { sourceIntegrityResult: { checks: [{ name: 'GIT/GPG', problems: ['unsigned'] }] } };
    server.answer = (method) => (method === 'GetRevisionMetadata' ? found : { manifests: [], revision: commit });
    const { sources } = await desired.manifests(ask(values), never);
    expect(sources[0]?.problems).toEqual(['GIT/GPG: unsigned']);
    expect(sent('GetRevisionMetadata')).toMatchObject([
      { repo: { repo: url }, revision: commit, sourceIntegrity: { git: { policies: [{ gpg: demand }] } } },
    ]);
    server.answer = (method) => (method === 'GetRevisionMetadata' ? {} : { manifests: [], revision: commit });
    expect((await desired.manifests(ask(values), never)).sources[0]?.problems).toHaveLength(1);
  });

  it('of one commit are not reused for the next, even if no watched path changed', async () => {
    server.answer = () => checked();
    await desired.manifests({ ...ask(), watched: { annotation: '.', paths: [['p']], synced: [other] } }, never);
    expect(sent('UpdateRevisionForPaths')).toEqual([]);
  });
});

describe('manifest-generate-paths', () => {
  const chart: ApplicationSource = {
    repoURL: url,
    path: 'c',
    targetRevision: 'v1',
    helm: { valueFiles: ['$v/a.yaml'] },
  };
  const values: ApplicationSource = { repoURL: 'https://git/values', ref: 'v', targetRevision: 'main' };

  function ask(
    sources: readonly ApplicationSource[],
    synced: readonly string[],
    paths = sources.map(() => ['p']),
  ): ManifestsRequest {
    const [first = plain] = sources;
    const requested = sources.map((source) => ({
      source,
      repository: bareRepository(source.repoURL),
      revision: source.targetRevision ?? '',
    }));
    const tracking = { method: 'label', labelKey: 'l', installationId: 'i' } as const;
    const watched = { annotation: '.', paths, synced };
    return { ...requestOf(first, bareRepository(url)), sources: requested, tracking, watched, cache: currentRevision };
  }

  it('renders the revision that the repo-server returns after checking the paths', async () => {
    server.answer = (method) =>
      method === 'UpdateRevisionForPaths' ? { changes: false, revision: other } : rendered(other);
    const { sources } = await desired.manifests(ask([plain], [commit]), never);
    expect(sources[0]?.revision).toBe(other);
    expect(sent('UpdateRevisionForPaths')).toMatchObject([
      {
        repo: { repo: url },
        applicationSource: { path: 'p' },
        revision: 'v1',
        syncedRevision: commit,
        paths: ['p'],
        appName: 'app',
        namespace: 'default',
        appLabelKey: 'l',
        trackingMethod: 'label',
        installationID: 'i',
        noRevisionCache: true,
        hasMultipleSources: false,
        kubeVersion: 'v1.33.1',
      },
    ]);
    expect(asked()).toEqual([other]);
  });

  it('renders the requested revision of a chart, for which the repo-server returns none', async () => {
    server.answer = (method) => (method === 'UpdateRevisionForPaths' ? { changes: false } : rendered());
    await desired.manifests(ask([plain], [commit]), never);
    expect(asked()).toEqual(['v1']);
  });

  it.each([
    ['nothing was compared before', [plain], ['']],
    ['it is the commit that was compared before', [{ ...plain, targetRevision: commit }], [commit]],
    ['a source is only referred to', [{ ...values, ref: 'v' }], [other]],
  ])('does not check paths if %s', async (_name, sources, synced) => {
    await desired.manifests(ask(sources, synced), never);
    expect(sent('UpdateRevisionForPaths')).toEqual([]);
  });

  it('moves no cache entry of the repo-server in a shadow', async () => {
    await source(true).manifests(ask([plain], [commit]), never);
    expect(sent('UpdateRevisionForPaths')).toEqual([]);
    expect(sent('GenerateManifest')).toMatchObject([{ revision: 'v1', annotationManifestGeneratePaths: '.' }]);
  });

  it('sends the old and new revisions of references', async () => {
    server.answer = (method, message) => {
      if (method === 'ResolveRevision') return { revision: other };
      if (method === 'UpdateRevisionForPaths') return { changes: true, revision: commit };
      return rendered((message['applicationSource'] as { readonly ref: string }).ref === '' ? commit : other);
    };
    await desired.manifests(ask([chart, values], [commit, commit]), never);
    expect(sent('UpdateRevisionForPaths')).toMatchObject([
      {
        hasMultipleSources: true,
        refSources: { $v: { targetRevision: other } },
        syncedRefSources: { $v: { targetRevision: commit } },
      },
    ]);
  });

  // T-REV-1
  it('refuses another commit for a requested full SHA', async () => {
    server.answer = (method) => (method === 'UpdateRevisionForPaths' ? { revision: other } : rendered(other));
    await expect(
      desired.manifests(ask([{ ...plain, targetRevision: commit }], ['c'.repeat(40)]), never),
    ).rejects.toThrow(`asked for manifests of ${commit}, got those of ${other}`);
    expect(asked()).toEqual([]);
  });
});
