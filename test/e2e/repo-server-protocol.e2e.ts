import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Shutdown, systemClock } from '#base';
import { createRemoteSource } from '#desired';
import type { DesiredSource, ManifestsRequest, RepoServerTls, SignatureDemand, SourceManifests } from '#desired';
import { bareRepository } from '#model';
import type { ApplicationSource } from '#model';
import { CertificateAuthority } from './support/certificates.ts';
import { temporaryFolder } from './support/index.ts';
import { startRepoServer } from './support/repo-server.ts';
import type { RepoServer } from './support/repo-server.ts';

// The protocol of Argo CD's own repo-server beside rendering: revisions, paths, signatures,
// certificates, errors.

const never = new AbortController().signal;
const stops: AbortController[] = [];
let folder: ReturnType<typeof temporaryFolder>;

beforeAll(() => {
  folder = temporaryFolder('repo-server-protocol');
});
afterAll(() => {
  for (const stop of stops) stop.abort(new Shutdown());
  folder.remove();
});

function source(address: string, tls?: RepoServerTls, timeoutMs = 60_000): DesiredSource {
  const stop = new AbortController();
  stops.push(stop);
  const desired = createRemoteSource({
    clock: systemClock,
    address,
    timeoutMs,
    maxMessageBytes: 100 << 20,
    serviceConfigFromDns: false,
    userAgent: 'driftless-e2e',
    ...(tls === undefined ? {} : { tls }),
  });
  void desired.run(stop.signal);
  return desired;
}

/** A repository in a folder, with a signing key. */
class SignedRepository {
  readonly url: string;
  readonly keyId: string;
  readonly publicKey: string;
  readonly #path: string;
  readonly #home: string;

  constructor(path: string) {
    this.#path = join(path, 'repository');
    this.#home = join(path, 'keys');
    this.url = `file://${this.#path}`;
    mkdirSync(this.#home, { recursive: true, mode: 0o700 });
    execFileSync('git', ['init', '--quiet', '--initial-branch=main', this.#path]);
    const uid = 'Signer <signer@example.com>';
    this.#gpg('--batch', '--passphrase', '', '--quick-gen-key', uid, 'rsa2048', 'sign', 'never');
    this.keyId = /^pub:(?:[^:]*:){3}([0-9A-F]{16}):/m.exec(this.#gpg('--with-colons', '--list-keys'))?.[1] ?? '';
    this.publicKey = this.#gpg('--armor', '--export', this.keyId);
  }

  /** Commits a file; returns the SHA. */
  commit(file: string, text: string, sign = false): string {
    const path = join(this.#path, file);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
    this.git('add', '--all');
    this.git('commit', '--quiet', '-m', `change ${file}`, ...(sign ? [`--gpg-sign=${this.keyId}`] : ['--no-gpg-sign']));
    return this.git('rev-parse', 'HEAD').trim();
  }

  git(...args: readonly string[]): string {
    const identity = [
      '-c',
      'user.name=Signer',
      '-c',
      'user.email=signer@example.com',
      '-c',
      `user.signingkey=${this.keyId}`,
    ];
    return execFileSync('git', ['-C', this.#path, ...identity, ...args], {
      encoding: 'utf8',
      env: { ...process.env, GNUPGHOME: this.#home, GIT_CONFIG_NOSYSTEM: '1' },
    });
  }

  #gpg(...args: readonly string[]): string {
    return execFileSync('gpg', ['--homedir', this.#home, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  }
}

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

/** A request of the controller. */
function ask(of: ApplicationSource, revision: string, more: Partial<ManifestsRequest> = {}): ManifestsRequest {
  return {
    sources: [{ source: of, repository: bareRepository(of.repoURL), revision }],
    cluster: { kubeVersion: 'v1.33.1', apiVersions: ['v1', 'v1/ConfigMap'] },
    repositories: { repositories: [], credentials: [] },
    options: { kustomizeBuildOptions: '', kustomizeVersions: {}, valuesFileSchemes: ['https'], enabledTypes: {} },
    cache: { revision: 'current', manifests: 'cached' },
    appName: 'app',
    namespace: 'apps',
    project: 'default',
    projectSourceRepos: ['*'],
    ...more,
  };
}

describe('a repo-server without TLS', () => {
  let server: RepoServer;
  let desired: DesiredSource;
  let repository: SignedRepository;
  let plain: ApplicationSource;

  beforeAll(async () => {
    const place = join(folder.path, 'plain');
    mkdirSync(place);
    repository = new SignedRepository(place);
    plain = { repoURL: repository.url, path: 'app', targetRevision: 'main' };
    const gpg = { home: join(place, 'server-keys'), source: join(place, 'server-keys-source') };
    for (const path of Object.values(gpg)) mkdirSync(path, { mode: 0o700 });
    writeFileSync(join(gpg.source, repository.keyId), repository.publicKey);
    chmodSync(gpg.source, 0o700);
    // The image of Argo CD has a wrapper of this name around gpg.
    mkdirSync(join(place, 'bin'));
    writeFileSync(join(place, 'bin', 'gpg-wrapper.sh'), '#!/bin/sh\ngpg --no-permission-warning --logger-fd 1 "$@"\n', {
      mode: 0o755,
    });
    server = await startRepoServer({
      folder: place,
      sshData: place,
      tlsData: place,
      env: { ARGOCD_GPG_ENABLED: 'true', ARGOCD_GNUPGHOME: gpg.home, ARGOCD_GPG_DATA_PATH: gpg.source },
    });
    desired = source(server.address);
  });
  afterAll(async () => server.close());

  async function one(request: ManifestsRequest): Promise<SourceManifests> {
    const [first] = (await desired.manifests(request, never)).sources;
    if (first === undefined) throw new Error('an answer without a source');
    return first;
  }

  const names = ({ objects }: SourceManifests): readonly (string | undefined)[] =>
    objects.map(({ metadata }) => metadata.name);

  it('resolves branches and tags, and reports unknown revisions', async () => {
    const commit = repository.commit('app/a.yaml', configMap('a'));
    repository.git('tag', '-a', '-m', 'v1', 'v1');
    const at = { source: plain, repository: bareRepository(repository.url) };
    expect(await desired.resolve({ ...at, revision: 'main' }, 'current', never)).toBe(commit);
    expect(await desired.resolve({ ...at, revision: 'v1' }, 'current', never)).toBe(commit);
    await expect(desired.resolve({ ...at, revision: 'gone' }, 'current', never)).rejects.toThrow(
      "rpc error: code = Unknown desc = unable to resolve 'gone' to a commit SHA: revision not found",
    );
  });

  it('returns objects with the requested tracking method', async () => {
    const tracking = { method: 'annotation', labelKey: 'app.kubernetes.io/instance', installationId: '' } as const;
    const [object] = (await one(ask(plain, 'main', { tracking }))).objects;
    expect(object?.metadata.annotations).toEqual({ 'argocd.argoproj.io/tracking-id': 'app:/ConfigMap:apps/a' });
    const [bare] = (await one(ask(plain, 'main'))).objects;
    expect(bare?.metadata.annotations).toBeUndefined();
  });

  it('reuses the rendering after a commit outside the paths, and renders after one inside', async () => {
    const before = repository.commit('app/a.yaml', `${configMap('a')}data: {}\n`);
    expect(names(await one(ask(plain, 'main')))).toEqual(['a']);
    const elsewhere = repository.commit('README', 'words');
    const watched = (synced: string): Partial<ManifestsRequest> => ({
      watched: { annotation: '.', paths: [['app']], synced: [synced] },
    });
    expect(await one(ask(plain, 'main', watched(before)))).toMatchObject({ revision: elsewhere });
    const inside = repository.commit('app/b.yaml', configMap('b'));
    const after = await one(ask(plain, 'main', watched(elsewhere)));
    expect([after.revision, names(after)]).toEqual([inside, ['a', 'b']]);
  });

  describe('signatures', () => {
    const demanded = (of: ApplicationSource, revision: string, demand: SignatureDemand): ManifestsRequest => {
      const request = ask(of, revision);
      return { ...request, sources: request.sources.map((at) => ({ ...at, demand })) };
    };
    let good: SignatureDemand;
    beforeAll(() => {
      good = { mode: 'head', keys: [repository.keyId] };
    });

    it('are required: a signed commit is rendered, an unsigned one is not', async () => {
      const signed = repository.commit('app/c.yaml', configMap('c'), true);
      const answer = await one(demanded(plain, 'main', good));
      expect([answer.revision, answer.problems ?? [], names(answer)]).toEqual([signed, [], ['a', 'b', 'c']]);
      const unsigned = repository.commit('app/d.yaml', configMap('d'));
      expect(await one(demanded(plain, 'main', good))).toEqual({
        objects: [],
        revision: unsigned,
        sourceType: 'Directory',
        problems: [
          expect.stringMatching(/^GIT\/GPG: Failed verifying revision .* by 'Signer <signer@example.com>': unsigned/),
        ],
      });
      expect(await one(demanded(plain, 'main', { mode: 'head', keys: ['0123456789ABCDEF'] }))).toMatchObject({
        objects: [],
      });
    });

    it('are checked for the whole history in strict mode', async () => {
      repository.commit('app/e.yaml', configMap('e'), true);
      expect((await one(demanded(plain, 'main', good))).problems ?? []).toEqual([]);
      expect((await one(demanded(plain, 'main', { ...good, mode: 'strict' }))).problems).not.toEqual([]);
    });

    it('of a tag count for its commit, even if the request names the commit', async () => {
      const commit = repository.commit('app/f.yaml', configMap('f'));
      repository.git('tag', '--sign', '-m', 'v2', 'v2');
      const tagged = { ...plain, targetRevision: 'v2' };
      expect((await one(demanded(tagged, 'v2', good))).problems ?? []).toEqual([]);
      const pinned = await one(demanded(tagged, commit, good));
      expect([pinned.revision, pinned.problems ?? []]).toEqual([commit, []]);
    });

    it('are checked for the commit of a source that is only referenced', async () => {
      const values = { repoURL: repository.url, targetRevision: 'main', ref: 'values' };
      repository.commit('values.yaml', 'a: 1\n', true);
      expect((await one(demanded(values, 'main', good))).problems ?? []).toEqual([]);
      repository.commit('values.yaml', 'a: 2\n');
      expect((await one(demanded(values, 'main', good))).problems).toEqual([expect.stringContaining('unsigned')]);
    });
  });

  it('returns the errors of Argo CD', async () => {
    await expect(one(ask({ ...plain, path: 'gone' }, 'main'))).rejects.toThrow(
      'rpc error: code = Unknown desc = gone: app path does not exist',
    );
    await expect(source(server.address, {}).manifests(ask(plain, 'main'), never)).rejects.toThrow(
      /^rpc error: code = Unavailable desc = connection error: /,
    );
  });
});

describe('a repo-server with TLS', () => {
  let server: RepoServer;
  let authority: CertificateAuthority;
  let request: ManifestsRequest;
  const outcome = (tls: RepoServerTls | undefined): Promise<unknown> =>
    source(server.address, tls)
      .manifests(request, never)
      .then(
        ({ sources }) => sources.length,
        (error: unknown) => (error as Error).message,
      );

  beforeAll(async () => {
    const place = join(folder.path, 'tls');
    mkdirSync(join(place, 'conf', 'reposerver', 'tls'), { recursive: true });
    authority = await CertificateAuthority.create(place);
    await authority.keyPair('server');
    await authority.server('server');
    await authority.keyPair('client');
    await authority.client('client', 'controller', []);
    for (const end of ['crt', 'key'])
      symlinkSync(authority.path(`server.${end}`), join(place, 'conf', 'reposerver', 'tls', `tls.${end}`));
    const repository = new SignedRepository(place);
    repository.commit('app/a.yaml', configMap('a'));
    request = ask({ repoURL: repository.url, path: 'app' }, 'main');
    server = await startRepoServer({
      folder: place,
      sshData: place,
      tlsData: place,
      flags: { 'disable-tls': false, 'client-ca-path': authority.path('ca.crt') },
      env: { ARGOCD_APP_CONF_PATH: join(place, 'conf') },
    });
  });
  afterAll(async () => server.close());

  it('works with strict and mutual TLS as administrators configure it for Argo CD', async () => {
    const identity = { certificate: authority.path('client.crt'), key: authority.path('client.key') };
    expect(await outcome({ identity })).toBe(1);
    expect(await outcome({ identity, authorities: [authority.path('ca.crt')] })).toBe(1);
    // The server certificate itself is enough as an authority, as in Go.
    expect(await outcome({ identity, authorities: [authority.path('server.crt')] })).toBe(1);
    expect(await outcome({ identity, authorities: [authority.path('client.crt')] })).toMatch(/code = Unavailable/);
    expect(await outcome({})).toMatch(/^rpc error: code = Unavailable/);
    expect(await outcome(undefined)).toMatch(/^rpc error: code = Unavailable/);
  });
});
