import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, Shutdown, systemClock } from '#base';
import { bareRepository } from '#model';
import type { ApplicationSource, Repository } from '#model';
import { createRemoteSource, SourceFailed } from '../index.ts';
import type { DesiredSource, ManifestsRequest, RemoteSourceDeps } from '../index.ts';
import { commit, rendered, startRepoServer } from '../testing/repo-server.ts';
import type { ReceivedMessage, TestRepoServer } from '../testing/repo-server.ts';
import { renderOne, renderedAgain, requestOf } from '../testing/request.ts';

const never = new AbortController().signal;
const url = 'https://git.example.com/team/app.git';
const other = 'b'.repeat(40);
let server: TestRepoServer;
let desired: DesiredSource;
let stop: AbortController;

beforeEach(async () => {
  server = await startRepoServer();
  stop = new AbortController();
  desired = make({});
});
afterEach(() => {
  stop.abort(new Shutdown());
  server.kill();
});

function make(more: Partial<RemoteSourceDeps>): DesiredSource {
  const made = createRemoteSource({
    clock: systemClock,
    address: server.address,
    timeoutMs: 30_000,
    maxMessageBytes: 100 << 20,
    serviceConfigFromDns: false,
    userAgent: 'test',
    ...more,
  });
  void made.run(stop.signal);
  return made;
}

const plain: ApplicationSource = { repoURL: url, path: 'p', targetRevision: 'main' };

/** A kustomize source as the Application contains it, which the repo-server receives. */
const overlayAsItIs = {
  namePrefix: 'a',
  nameSuffix: 'b',
  images: ['i=j:1'],
  commonLabels: { l: 'm' },
  commonAnnotations: { n: 'o' },
  forceCommonLabels: true,
  forceCommonAnnotations: true,
  commonAnnotationsEnvsubst: true,
  labelWithoutSelector: true,
  labelIncludeTemplates: true,
  ignoreMissingComponents: true,
  namespace: 'p',
  version: 'q',
  kubeVersion: '1.30',
  apiVersions: ['v1'],
  components: ['../c'],
};

function ask(of: ApplicationSource, more: Parameters<typeof requestOf>[2] = {}): ManifestsRequest {
  return requestOf(of, bareRepository(of.repoURL), more);
}

/** A request for several sources, each at its targetRevision unless given otherwise. */
function askAll(sources: readonly ApplicationSource[], revisions: readonly string[] = []): ManifestsRequest {
  const [first = plain] = sources;
  const requested = sources.map((source, i) => ({
    source,
    repository: bareRepository(source.repoURL),
    revision: revisions[i] ?? source.targetRevision ?? '',
  }));
  return { ...ask(first), sources: requested };
}

/** The last message of a method. */
function sent(method = 'GenerateManifest'): ReceivedMessage {
  const call = server.calls.findLast((one) => one.method === method);
  if (call === undefined) throw new Error(`${method} was not called`);
  return call.message;
}

async function failureOf(request: ManifestsRequest): Promise<{ index: number; message: string }> {
  const error: unknown = await desired.manifests(request, never).then(
    () => new Error('no error'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof SourceFailed)) throw new Error('another error', { cause: error });
  return { index: error.index, message: error.message };
}

describe('the answer', () => {
  it('gives objects, revision and type of the repo-server', async () => {
    server.answer = () => ({
      manifests: [
        '',
        'null',
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"big":12345678901234567890}',
        '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}]}',
      ],
      revision: commit,
      sourceType: 'Kustomize',
    });
    const answer = await renderOne(desired, ask(plain), never);
    expect(answer).toMatchObject({ revision: commit, sourceType: 'Kustomize' });
    expect(answer.objects.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ['ConfigMap', 'a'],
      ['Secret', 'b'],
    ]);
    // An integer beyond a double stays exact (D13).
    expect(answer.objects[0]?.['big']).toBe(12345678901234567890n);
  });

  it('gives the same object instances for equal text, so nothing is compared again', async () => {
    const of = async (): Promise<unknown> => (await renderOne(desired, ask(plain), never)).objects;
    const first = await of();
    server.answer = () => rendered(other);
    expect(await of()).toBe(first);
    server.answer = () => rendered(other, 'two');
    expect(await of()).not.toBe(first);
  });

  it.each([
    ['no JSON', '{"kind":"Secret","data":{"a":"CANARY"', 'manifest 1 of the repo-server is not valid JSON'],
    ['no object', '["CANARY"]', 'manifest 1 is not an object'],
    [
      'one with a name of another type',
      '{"apiVersion":"v1","kind":"Secret","metadata":{"name":["CANARY"]}}',
      'manifest 1 (Secret): metadata.name is not a string',
    ],
  ])('is refused if a manifest is %s, without showing its text', async (_name, manifest, message) => {
    server.answer = () => ({ manifests: [manifest], revision: commit, sourceType: 'Directory' });
    expect(await failureOf(ask(plain))).toEqual({ index: 0, message });
  });

  it('may have a manifest without a name, as in Argo CD: the sync names a hook and refuses others', async () => {
    const manifest = '{"apiVersion":"v1","kind":"Secret","metadata":null}';
    server.answer = () => ({ manifests: [manifest], revision: commit, sourceType: 'Directory' });
    expect(await renderOne(desired, ask(plain), never)).toMatchObject({
      objects: [{ apiVersion: 'v1', kind: 'Secret', metadata: {} }],
      sourceType: 'Directory',
    });
  });
});

describe('the request for a source', () => {
  const kinds: readonly (readonly [string, ApplicationSource, object])[] = [
    [
      'a directory',
      {
        ...plain,
        directory: {
          recurse: true,
          include: '*.yaml',
          exclude: 'x',
          disableExtensionFilter: true,
          jsonnet: {
            tlas: [{ name: 'a', value: '1', code: true }],
            extVars: [{ name: 'b', value: 'c' }],
            libs: ['lib'],
          },
        },
      },
      {
        repoURL: url,
        path: 'p',
        targetRevision: 'main',
        directory: {
          recurse: true,
          include: '*.yaml',
          exclude: 'x',
          disableExtensionFilter: true,
          jsonnet: {
            tlas: [{ name: 'a', value: '1', code: true }],
            extVars: [{ name: 'b', value: 'c' }],
            libs: ['lib'],
          },
        },
      },
    ],
    ['no type', plain, { helm: null, kustomize: null, directory: null, plugin: null }],
    ['an empty helm, which says what it is', { ...plain, helm: {} }, { helm: { valueFiles: [] }, kustomize: null }],
    ['an empty kustomize', { ...plain, kustomize: {} }, { kustomize: { images: [] }, helm: null }],
    ['an empty plugin', { ...plain, plugin: {} }, { plugin: { name: '' } }],
    [
      'a chart',
      {
        repoURL: 'https://charts.example.com',
        chart: 'c',
        targetRevision: '1.2.*',
        helm: {
          valueFiles: ['v.yaml', '$values/w.yaml'],
          parameters: [{ name: 'a', value: 'b', forceString: true }],
          fileParameters: [{ name: 'f', path: 'g' }],
          releaseName: 'r',
          values: 'x: 1\n',
          valuesObject: { big: 12345678901234567890n, list: [1, { a: null }] },
          version: 'v3',
          passCredentials: true,
          ignoreMissingValueFiles: true,
          skipCrds: true,
          skipTests: true,
          skipSchemaValidation: true,
          namespace: 'n',
          kubeVersion: '1.30',
          apiVersions: ['v1'],
        },
      },
      {
        chart: 'c',
        helm: {
          valueFiles: ['v.yaml', '$values/w.yaml'],
          parameters: [{ name: 'a', value: 'b', forceString: true }],
          fileParameters: [{ name: 'f', path: 'g' }],
          releaseName: 'r',
          values: 'x: 1\n',
          valuesObject: { raw: Buffer.from('{"big":12345678901234567890,"list":[1,{"a":null}]}') },
          version: 'v3',
          passCredentials: true,
          ignoreMissingValueFiles: true,
          skipCrds: true,
          skipTests: true,
          skipSchemaValidation: true,
          namespace: 'n',
          kubeVersion: '1.30',
          apiVersions: ['v1'],
        },
      },
    ],
    [
      'an overlay',
      {
        ...plain,
        tagPrefix: 'app-',
        kustomize: {
          ...overlayAsItIs,
          replicas: [
            { name: 'r', count: 3 },
            { name: 's', count: '4' },
          ],
          patches: [
            {
              path: 'f',
              target: {
                group: 'apps',
                version: 'v1',
                kind: 'Deployment',
                name: 'd',
                namespace: 'e',
                labelSelector: 'g',
                annotationSelector: 'h',
              },
              options: { allowNameChange: true },
            },
            { patch: '- op: remove' },
          ],
        },
      },
      {
        tagPrefix: 'app-',
        kustomize: {
          ...overlayAsItIs,
          replicas: [
            { name: 'r', count: { type: 0, intVal: 3 } },
            { name: 's', count: { type: 1, strVal: '4' } },
          ],
          patches: [
            {
              path: 'f',
              target: {
                resId: { gvk: { group: 'apps', version: 'v1', kind: 'Deployment' }, name: 'd', namespace: 'e' },
                labelSelector: 'g',
                annotationSelector: 'h',
              },
              options: { allowNameChange: true },
            },
            { patch: '- op: remove', target: null },
          ],
        },
      },
    ],
    [
      'a plugin, in whose parameters empty is something else than none',
      {
        ...plain,
        plugin: {
          name: 'n',
          env: [{ name: 'A', value: 'b' }],
          parameters: [
            { name: 's', string: '' },
            { name: 'm', map: { k: 'v' } },
            { name: 'e', map: {}, array: [] },
            { name: 'a', array: ['x'] },
          ],
        },
      },
      {
        plugin: {
          name: 'n',
          env: [{ name: 'A', value: 'b' }],
          parameters: [
            { name: 's', string: '', map: null, array: null },
            { name: 'm', map: { map: { k: 'v' } }, array: null },
            { name: 'e', map: { map: {} }, array: { array: [] } },
            { name: 'a', map: null, array: { array: ['x'] } },
          ],
        },
      },
    ],
    [
      'an artifact',
      { repoURL: 'oci://registry.example.com/x', path: '.', targetRevision: 'v1' },
      { repoURL: 'oci://registry.example.com/x', path: '.' },
    ],
  ];

  it.each(kinds)('%s', async (_name, source, expected) => {
    await desired.manifests(ask(source), never);
    expect(sent()['applicationSource']).toMatchObject(expected);
    expect(sent()).toMatchObject({ repo: { repo: source.repoURL }, revision: source.targetRevision });
  });

  it('the request contains everything that the manifests depend on', async () => {
    await desired.manifests(
      ask(plain, {
        cache: { revision: 'current', manifests: 'rerender' },
        appName: 'team_app',
        namespace: 'apps',
        project: 'team',
        projectSourceRepos: ['https://git.example.com/*'],
        tracking: { method: 'annotation+label', labelKey: 'example.com/app', installationId: 'blue' },
        watched: { annotation: '.;/lib', paths: [['p', 'lib']], synced: [''] },
        options: {
          kustomizeBuildOptions: '--enable-helm',
          kustomizeVersions: { 'v5.1': '/k/5.1', 'v5.2': '/k/5.2' },
          kustomizeVersionOptions: { 'v5.2': '--own' },
          valuesFileSchemes: ['https'],
          enabledTypes: { Helm: false },
        },
      }),
      never,
    );
    expect(sent()).toMatchObject({
      noCache: true,
      noRevisionCache: true,
      appName: 'team_app',
      namespace: 'apps',
      projectName: 'team',
      projectSourceRepos: ['https://git.example.com/*'],
      trackingMethod: 'annotation+label',
      appLabelKey: 'example.com/app',
      installationID: 'blue',
      annotationManifestGeneratePaths: '.;/lib',
      kubeVersion: 'v1.33.1',
      apiVersions: ['apps/v1', 'apps/v1/Deployment', 'v1', 'v1/ConfigMap'],
      kustomizeOptions: {
        buildOptions: '--enable-helm',
        versions: [
          { name: 'v5.1', path: '/k/5.1', buildOptions: '' },
          { name: 'v5.2', path: '/k/5.2', buildOptions: '--own' },
        ],
      },
      helmOptions: { valuesFileSchemes: ['https'] },
      enabledSourceTypes: { Directory: true, Helm: false, Kustomize: true, Plugin: true },
      hasMultipleSources: false,
      verifySignature: false,
      sourceIntegrity: null,
    });
  });

  it('sends a repository with all fields of its Secret', async () => {
    const data = {
      url: 'https://elsewhere',
      type: 'git',
      name: 'n',
      project: 'team',
      username: 'u',
      password: 'pass-word',
      bearerToken: 'bear-token',
      sshPrivateKey: 'ssh-key\n',
      tlsClientCertData: 'cert',
      tlsClientCertKey: 'cert-key',
      githubAppPrivateKey: 'app-key',
      githubAppID: '12',
      githubAppInstallationID: '34',
      githubAppEnterpriseBaseUrl: 'https://ghe',
      gcpServiceAccountKey: '{"gcp":1}',
      proxy: 'http://proxy',
      noProxy: 'x',
      insecure: 'true',
      insecureIgnoreHostKey: '1',
      enableLfs: 'T',
      enableOCI: 'false',
      insecureOCIForceHttp: 'true',
      forceHttpBasicAuth: 'true',
      useAzureWorkloadIdentity: 'true',
      depth: '5',
      webhookManifestCacheWarmDisabled: 'true',
      azureServicePrincipalClientId: 'client',
      azureServicePrincipalClientSecret: 'client-secret',
      azureServicePrincipalTenantId: 'tenant',
      azureActiveDirectoryEndpoint: 'https://aad',
    };
    const secretData = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, new SecretValue(text)]));
    const repository: Repository = { url, type: 'git', insecure: true, inheritedCreds: true, secretData };
    await desired.manifests(requestOf(plain, repository), never);
    expect(sent()['repo']).toEqual({
      ...Object.fromEntries(Object.entries(data).filter(([key]) => key !== 'url')),
      repo: url,
      inheritedCreds: true,
      githubAppID: 12,
      githubAppInstallationID: 34,
      depth: 5,
      insecure: true,
      insecureIgnoreHostKey: true,
      enableLfs: true,
      enableOCI: false,
      insecureOCIForceHttp: true,
      forceHttpBasicAuth: true,
      useAzureWorkloadIdentity: true,
      webhookManifestCacheWarmDisabled: true,
    });
  });

  it('sends a repository without a Secret without a type', async () => {
    const repository: Repository = {
      ...bareRepository(url),
      username: 'u',
      password: new SecretValue('pass-word'),
      githubApp: { id: '12', installationId: '', baseUrl: 'https://ghe', privateKey: new SecretValue('app-key') },
    };
    await desired.manifests(requestOf(plain, repository), never);
    expect(sent()['repo']).toMatchObject({
      repo: url,
      type: '',
      username: 'u',
      password: 'pass-word',
      githubAppID: 12,
      githubAppInstallationID: 0,
      githubAppPrivateKey: 'app-key',
    });
  });

  it('sends chart repositories and templates; those of registries only for an artifact', async () => {
    const of = (type: Repository['type'], at: string): Repository => ({ ...bareRepository(at), type, name: type });
    const azure = {
      azureServicePrincipalClientID: new SecretValue('id'),
      azureServicePrincipalTenantID: new SecretValue('t'),
    };
    const repositories = {
      repositories: [of('helm', 'https://charts'), of('oci', 'registry/a')],
      credentials: [
        { ...of('helm', 'https://charts/'), secretData: { ...azure, type: new SecretValue('helm') } },
        of('oci', 'registry/'),
      ],
    };
    const urls = (): readonly (readonly string[])[] =>
      ['repos', 'helmRepoCreds'].map((key) =>
        (sent()[key] as readonly { readonly repo?: string; readonly url?: string }[]).map(
          (one) => one.repo ?? one.url ?? '',
        ),
      );
    await desired.manifests(ask(plain, { repositories }), never);
    expect(urls()).toEqual([['https://charts'], ['https://charts/']]);
    expect(sent()['helmRepoCreds']).toMatchObject([
      { type: 'helm', azureServicePrincipalClientId: 'id', azureServicePrincipalTenantId: 't' },
    ]);
    server.answer = () => rendered('sha256:1');
    await desired.manifests(ask({ repoURL: 'oci://registry/a', path: '.' }, { repositories }), never);
    expect(urls()).toEqual([
      ['https://charts', 'registry/a'],
      ['https://charts/', 'registry/'],
    ]);
  });
});

describe('checks before a request', () => {
  it.each([
    ['a revision that is an option', { ...plain, targetRevision: '--upload-pack=x' }, 'the revision is refused: '],
    ['a revision with a line break', { ...plain, targetRevision: 'a\nb' }, 'the revision is refused: '],
    ['a path that leads out', { ...plain, path: '../x' }, '../x: app path outside root'],
    ['an absolute path', { ...plain, path: '/etc' }, '/etc: app path is absolute'],
    ['an absolute path in an artifact', { repoURL: 'oci://r/a', path: '/etc' }, '/etc: app path is absolute'],
    ['a remote helper', { ...plain, repoURL: 'ext::sh -c x' }, 'git remote helpers are not allowed'],
    ['an option for a URL', { ...plain, repoURL: '--upload-pack=x' }, 'the repository URL is refused: '],
  ])('%s', async (_name, source, message) => {
    const careful = make({});
    await expect(careful.manifests(ask(source), never)).rejects.toThrow(message);
    const at = { source, repository: bareRepository(source.repoURL), revision: source.targetRevision ?? '' };
    await expect(careful.resolve(at, 'cached', never)).rejects.toThrow(message);
    expect(server.calls).toEqual([]);
  });

  it.each(['file:///srv/repository', '/srv/repository'])(
    'leave %s, on the disk of the repo-server, to its own rights',
    async (repoURL) => {
      const { sources } = await make({}).manifests(ask({ ...plain, repoURL }), never);
      expect(sources).toHaveLength(1);
      expect(server.calls.length).toBeGreaterThan(0);
    },
  );
});

describe('several sources', () => {
  const chart = {
    repoURL: 'https://charts.example.com',
    chart: 'c',
    targetRevision: '1.2.3',
    helm: { valueFiles: ['$values/v.yaml'] },
  };
  const values = { repoURL: url, targetRevision: 'main', ref: 'values' };

  it('pin a referenced source, send it with each source, and do not render it', async () => {
    server.answer = (method, message) => {
      if (method === 'ResolveRevision') return { revision: other };
      const { chart: name } = message['applicationSource'] as { readonly chart: string };
      return name === 'c' ? rendered('1.2.3') : { manifests: [], revision: other, sourceType: '' };
    };
    const { sources } = await desired.manifests(askAll([chart, values]), never);
    expect(sources).toMatchObject([
      { revision: '1.2.3', sourceType: 'Directory' },
      { revision: other, sourceType: '', objects: [] },
    ]);
    expect(server.calls.map(({ method }) => method)).toEqual(['ResolveRevision', 'GenerateManifest']);
    expect(sent('ResolveRevision')).toMatchObject({
      repo: { repo: url },
      ambiguousRevision: 'main',
      sourceIndex: 0,
      app: { spec: { source: { repoURL: url, ref: 'values' } } },
    });
    for (const { message } of server.calls.slice(1))
      expect(message).toMatchObject({
        hasMultipleSources: true,
        refSources: { $values: { repo: { repo: url }, targetRevision: other, chart: '' } },
      });
  });

  it('report an error with the index of its source', async () => {
    server.answer = (method) => (method === 'ResolveRevision' ? new Error('no such branch') : rendered('1.2.3'));
    expect(await failureOf(askAll([chart, values]))).toEqual({
      index: 1,
      message: 'rpc error: code = Unknown desc = no such branch',
    });
  });

  it.each([
    [[{ ...values, ref: 'a b' }], "sources.ref a b cannot contain any special characters except '_' and '-'"],
    [[chart, values, values], 'invalid sources: multiple sources had the same `ref` key'],
  ])('do not send unused names', async (sources, message) => {
    expect((await failureOf(askAll(sources))).message).toBe(message);
    expect(server.calls.filter(({ method }) => method === 'GenerateManifest')).toEqual([]);
  });

  // T-REV-2
  it('show neither of two sources if their branch moved between them', async () => {
    let pushes = 0;
    server.answer = () => rendered((pushes += 1) === 1 ? commit : other);
    const two = askAll([plain, { ...plain, path: 'q' }]);
    expect(await failureOf(two)).toEqual({
      index: 1,
      message: `the revision main moved from ${commit} to ${other} while the sources were rendered`,
    });
    const { sources } = await desired.manifests(two, never);
    expect(sources.map(({ revision }) => revision)).toEqual([other, other]);
  });
});

describe('revisions', () => {
  it.each([
    ['another commit', commit, rendered(other), `asked for manifests of ${commit}, got those of ${other}`],
    ['no revision', 'main', rendered(''), 'asked for manifests of main, got those of no revision'],
    ['no commit', 'main', rendered('release'), 'asked for manifests of main, got those of release'],
    [
      'an abbreviation of another',
      commit,
      rendered('abcdef1'),
      `asked for manifests of ${commit}, got those of abcdef1`,
    ],
    // T-REV-1
  ])('refuse an answer with %s', async (_name, revision, answer, message) => {
    server.answer = () => answer;
    expect(await failureOf(ask(plain, { revision }))).toEqual({ index: 0, message });
  });

  it.each([
    ['a digest of another artifact', { repoURL: 'oci://r/a', path: '.' }, 'sha256:1', 'sha256:2', false],
    ['the same artifact', { repoURL: 'oci://r/a', path: '.' }, 'sha256:1', 'sha256:1', true],
    ['a version of a constraint', { repoURL: 'https://c', chart: 'c' }, '1.*', '1.2.3', true],
    ['an abbreviation as it was asked for', plain, 'abcdef1', 'abcdef1', true],
    ['the commit of a branch', plain, 'main', other, true],
    // T-REV-1
  ])('%s', async (_name, source, revision, answered, good) => {
    server.answer = () => rendered(answered);
    const outcome = desired.manifests(ask(source, { revision }), never).then(
      ({ sources }) => sources[0]?.revision,
      () => undefined,
    );
    expect(await outcome).toBe(good ? answered : undefined);
  });

  // T-REV-3
  it('refuse a wrong cache entry of the repo-server until a hard refresh replaces it', async () => {
    server.answer = (_method, message) => rendered(message['noCache'] === true ? commit : other);
    expect((await failureOf(ask(plain, { revision: commit }))).message).toContain(`got those of ${other}`);
    const { sources } = await desired.manifests(ask(plain, { revision: commit, cache: renderedAgain }), never);
    expect(sources[0]?.revision).toBe(commit);
  });

  it('are resolved by the repo-server, except full SHAs', async () => {
    const at = { source: plain, repository: bareRepository(url), revision: 'main' };
    expect(await desired.resolve(at, 'current', never)).toBe(commit);
    expect(sent('ResolveRevision')).toMatchObject({ ambiguousRevision: 'main', noRevisionCache: true });
    expect(await desired.resolve({ ...at, revision: other }, 'current', never)).toBe(other);
    expect(server.calls).toHaveLength(1);
    server.answer = () => ({ revision: 'main' });
    await expect(desired.resolve(at, 'current', never)).rejects.toThrow(
      'asked for manifests of main, got those of main',
    );
  });
});
