import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KeyringUnavailable } from '#desired';
import type { ApplicationSpec } from '#model';
import { FakeClock } from '#support';
import { automatedBy, configMap, FakeWorld } from './testing/fake-world.ts';

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const automated = automatedBy({ allowEmpty: true });
const hydrator = {
  drySource: { repoURL: 'https://git/dry', path: 'charts/x', targetRevision: 'main' },
  syncSource: { targetBranch: 'env/prod', path: 'x' },
};

let clock: FakeClock;
let world: FakeWorld;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.git.push(first, [configMap('one'), configMap('two')]);
});
afterEach(async () => {
  await world.close(clock);
  expect(clock.pending).toBe(0);
});

async function start(): Promise<void> {
  world.replica();
  await clock.advance(2000);
}

/** An Application with these members of the spec and no other sources. */
function application(spec: Partial<ApplicationSpec>): void {
  world.application({ ...automated });
  world.edit((object) => {
    const { source, ...rest } = object['spec'] as Record<string, unknown>;
    expect(source).toMatchObject({ path: expect.any(String) });
    return { spec: { ...rest, ...spec } };
  });
}

async function sync(operation: object): Promise<void> {
  world.edit(() => ({ operation }));
  await clock.advance(3000);
}

const conditions = (): (readonly [string, string])[] =>
  (world.app.status?.conditions ?? []).map(({ type, message }) => [type, message]);
const applied = (): (string | undefined)[] => [...world.dest.objects.values()].map((object) => object.metadata.name);

describe('a source hydrator', () => {
  it('without spec.source compares and syncs the hydrated branch in the repository of the dry source', async () => {
    application({ sourceHydrator: hydrator });
    await start();
    const synced = { repoURL: 'https://git/dry', path: 'x', targetRevision: 'env/prod' };
    expect(world.git.rendered[0]).toEqual(synced);
    expect(world.git.asked[0]).toBe('env/prod');
    expect(world.app.status).toMatchObject({
      sync: { status: 'Synced', revision: first, comparedTo: { source: synced } },
      sourceType: 'Directory',
      history: [{ source: synced, revision: first }],
      operationState: { phase: 'Succeeded', syncResult: { source: synced, revision: first } },
    });
    expect(applied()).toEqual(['one', 'two']);
    // Equal sources: nothing is due when idle, and automated sync does not start again.
    const before = world.hub.calls.filter((call) => call.startsWith('patch Application')).length;
    await clock.advance(600_000);
    expect(world.hub.calls.filter((call) => call.startsWith('patch Application'))).toHaveLength(before);
  });

  it('takes precedence over spec.source and spec.sources, which are not rendered', async () => {
    const other = { repoURL: 'https://git/other', path: 'p', targetRevision: 'main' };
    application({ source: other, sources: [other, other], sourceHydrator: hydrator });
    await start();
    expect(new Set(world.git.rendered.map(({ repoURL }) => repoURL))).toEqual(new Set(['https://git/dry']));
    expect(world.app.status?.sync).toMatchObject({ status: 'Synced', revision: first });
  });

  it('also provides the hydrated branch for a sync by a user, even with another spec.source', async () => {
    const other = { repoURL: 'https://git/other', path: 'p', targetRevision: 'main' };
    application({ source: other, sourceHydrator: hydrator, syncPolicy: {} });
    await start();
    await sync({ sync: { prune: true } });
    const synced = { repoURL: 'https://git/dry', path: 'x', targetRevision: 'env/prod' };
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded', syncResult: { source: synced } });
    expect(new Set(world.git.rendered.map(({ repoURL }) => repoURL))).toEqual(new Set(['https://git/dry']));
    expect(applied()).toEqual(['one', 'two']);
  });

  it('provides the delete hooks from the hydrated branch', async () => {
    const other = { repoURL: 'https://git/other', path: 'p', targetRevision: 'main' };
    world.git.push(first, [configMap('before', '1', { 'argocd.argoproj.io/hook': 'PreDelete' })]);
    application({ source: other, sourceHydrator: hydrator });
    const finalizers = ['pre-delete-finalizer.argocd.argoproj.io'];
    world.edit((object) => ({ metadata: { ...object.metadata, finalizers } }));
    world.hub.delete('Application', 'demo');
    await start();
    await clock.advance(60_000);
    expect(world.dest.calls).toContain('create ConfigMap before');
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    expect(new Set(world.git.rendered.map(({ repoURL }) => repoURL))).toEqual(new Set(['https://git/dry']));
  });

  it('needs project permission for the dry source and for the hydrated one', async () => {
    world.project('strict', { sourceRepos: ['https://git/other', 'https://git/x'] });
    const elsewhere = { ...hydrator, syncSource: { ...hydrator.syncSource, repoURL: 'https://git/hydrated' } };
    application({ project: 'strict', sourceHydrator: elsewhere });
    await start();
    expect(conditions()).toEqual([
      ['InvalidSpecError', "application repo https://git/dry is not permitted in project 'strict'"],
      ['InvalidSpecError', "sync source repo https://git/hydrated is not permitted in project 'strict'"],
    ]);
    expect([world.git.asked, applied()]).toEqual([[], []]);
  });

  it('reports that it waits if hydrated manifests go to a staging branch first', async () => {
    application({ sourceHydrator: { ...hydrator, hydrateTo: { targetBranch: 'env/prod-next' } } });
    world.git.failure = new Error('x: app path does not exist');
    await start();
    await clock.advance(600_000);
    expect(conditions()[0]?.[1]).toMatch(
      /app path does not exist - waiting for an external process to update env\/prod from env\/prod-next$/,
    );
    world.git.failure = undefined;
    await clock.advance(600_000);
  });

  it('answers a hydration request with a condition, and keeps the request', async () => {
    application({ sourceHydrator: hydrator });
    await start();
    expect(conditions()).toEqual([]);
    world.annotate({ 'argocd.argoproj.io/hydrate': 'normal' });
    await clock.advance(1000);
    const expected = 'compares and syncs branch "env/prod", path "x", as it is';
    expect(conditions()).toEqual([['HydrationWarning', expect.stringContaining(expected)]]);
    expect(conditions()[0]?.[1]).toContain('annotation argocd.argoproj.io/hydrate');
    expect(world.app.metadata.annotations).toEqual({ 'argocd.argoproj.io/hydrate': 'normal' });
    expect(world.app.status?.sync?.status).toBe('Synced');
    world.edit((object) => ({ metadata: { ...object.metadata, annotations: {} } }));
    await clock.advance(1000);
    expect(conditions()).toEqual([]);
    const pending = { currentOperation: { phase: 'Hydrating', message: '', startedAt: '2026-01-01T00:00:00Z' } };
    world.edit((object) => ({ status: { ...(object['status'] as object), sourceHydrator: pending } }));
    await clock.advance(1000);
    expect(conditions()).toEqual([['HydrationWarning', expect.stringContaining('currentOperation is Hydrating')]]);
    expect(world.app.status?.sourceHydrator).toEqual(pending);
  });
});

describe('an Application without a source', () => {
  it.each<[string, Partial<ApplicationSpec>, string]>([
    ['none at all', {}, 'spec.source.repoURL and either spec.source.path or spec.source.chart are required'],
    [
      'only references',
      { sources: [{ repoURL: 'https://git/x', ref: 'values' }] },
      'spec.sources has only sources with a ref, which render nothing: at least one source needs a path or a chart',
    ],
    ['an empty hydrator', { sourceHydrator: {} }, 'spec.sourceHydrator.drySource.repoURL is required'],
  ])('gets InvalidSpecError and prunes nothing: %s', async (_name, spec, message) => {
    world.application(automated);
    await start();
    expect(applied()).toEqual(['one', 'two']);
    application(spec);
    await clock.advance(200_000);
    expect(conditions()).toContainEqual(['InvalidSpecError', message]);
    expect(world.app.status?.sync?.status).toBe('Unknown');
    await sync({ sync: { prune: true, sources: [{ repoURL: 'https://git/x', ref: 'values' }] } });
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Error' });
    expect(world.app.status?.operationState?.message).toContain('InvalidSpecError');
    expect(applied()).toEqual(['one', 'two']);
  });
});

describe('an operation', () => {
  it('with a repository that the project forbids renders nothing of it', async () => {
    world.project('strict', { sourceRepos: ['https://git/x'] });
    world.application({ project: 'strict' });
    await start();
    await sync({ sync: { source: { repoURL: 'https://git/evil', path: 'p', targetRevision: 'main' } } });
    expect(world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: "InvalidSpecError: application repo https://git/evil is not permitted in project 'strict'",
    });
    expect(world.git.rendered.map(({ repoURL }) => repoURL)).not.toContain('https://git/evil');
    expect(applied()).toEqual([]);
  });
});

describe('an operation without a renderable source', () => {
  it.each([[{ sources: [{ repoURL: 'https://git/x', ref: 'values' }] }], [{ source: { repoURL: '', ref: 'values' } }]])(
    '%j ends in Error, and prunes nothing',
    async (sources) => {
      world.application();
      await start();
      await sync({ sync: {} });
      expect(applied()).toEqual(['one', 'two']);
      await sync({ sync: { prune: true, ...sources } });
      expect(world.app.status?.operationState).toMatchObject({
        phase: 'Error',
        message: expect.stringMatching(/^InvalidSpecError: the application has no source to render/),
      });
      expect(applied()).toEqual(['one', 'two']);
    },
  );
});

describe('signatures', () => {
  const policy = {
    sourceIntegrity: { git: { policies: [{ repos: [{ url: '*' }], gpg: { mode: 'strict', keys: ['K'] } }] } },
  };
  const legacy = { signatureKeys: [{ keyID: 'K' }] };
  const unsigned = "Failed verifying revision bbb by 'Ann': unsigned (key_id=)";

  it('stop the comparison with a ComparisonError if a commit fails: nothing is applied or pruned', async () => {
    world.project('default', policy);
    world.application(automated);
    await start();
    expect(world.app.status?.sync).toMatchObject({ status: 'Synced', revision: first });
    expect(world.git.verified[0]).toMatchObject({
      mode: 'strict',
      keys: ['K'],
      revision: 'main',
      targetRevision: 'main',
    });
    world.git.problems.set(second, [unsigned, 'another']);
    world.git.push(second, [configMap('evil')]);
    await clock.advance(125_000);
    expect(world.app.status?.sync).toMatchObject({ status: 'Unknown', revision: second });
    expect(conditions()).toEqual([['ComparisonError', `GIT/GPG: ${unsigned}\nGIT/GPG: another`]]);
    expect(applied()).toEqual(['one', 'two']);
    await sync({ sync: { revision: second, prune: true } });
    expect(world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: `ComparisonError: GIT/GPG: ${unsigned}\nGIT/GPG: another`,
    });
    expect(applied()).toEqual(['one', 'two']);
    expect(world.git.asked).not.toContain(second);
    world.git.problems.clear();
    await sync({ sync: { revision: second, prune: true } });
    expect(applied()).toEqual(['evil']);
  });

  it('of signatureKeys apply one policy to every repository, and name each source', async () => {
    world.project('default', legacy);
    world.git.problems.set(first, ['p']);
    const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
    application({ sources: [source, { ...source, name: 'app' }, { repoURL: 'https://git/x', ref: 'v' }] });
    await start();
    const lines = ['source 1 of 3: GIT/GPG: p', 'source app: GIT/GPG: p', 'source 3 of 3: GIT/GPG: p'];
    expect(conditions()).toEqual([['ComparisonError', lines.join('\n')]]);
    expect(world.git.verified[0]).toMatchObject({ mode: 'head', keys: ['K'] });
    expect(applied()).toEqual([]);
  });

  it('pin rendering to the verified commit', async () => {
    world.project('default', policy);
    world.application();
    await start();
    expect(new Set(world.git.asked)).toEqual(new Set([first]));
  });

  it('refuse the source at once, with a condition, if gpg is missing', async () => {
    world.project('default', policy);
    world.application(automated);
    world.git.gpgFailure = new KeyringUnavailable(undefined);
    await start();
    expect(conditions()).toEqual([
      [
        'ComparisonError',
        expect.stringMatching(/^GIT\/GPG: .* gpg is not installed on the machine of this controller/),
      ],
    ]);
    expect(applied()).toEqual([]);
  });

  it('refuse the source at once if rules contradict each other', async () => {
    const twice = policy.sourceIntegrity.git.policies;
    world.project('default', { sourceIntegrity: { git: { policies: [...twice, ...twice] } } });
    world.application(automated);
    await start();
    expect(conditions()).toEqual([
      [
        'ComparisonError',
        expect.stringContaining('multiple (2) git source integrity policies found for repo URL: https://git/x'),
      ],
    ]);
    expect([applied(), world.git.verified]).toEqual([[], []]);
  });

  it('refuse local manifests where they are required', async () => {
    world.project('default', policy);
    world.application();
    await start();
    await sync({ sync: { manifests: [JSON.stringify(configMap('local'))] } });
    expect(world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: 'ComparisonError: Cannot use local manifests when source integrity is enforced',
    });
    expect(applied()).toEqual([]);
  });

  it('are not verified with ARGOCD_GPG_ENABLED=false', async () => {
    world.project('default', policy);
    world.application();
    world.replica({ config: { gpgEnabled: false } });
    await clock.advance(2000);
    await sync({ sync: {} });
    expect(applied()).toEqual(['one', 'two']);
    await sync({ sync: { manifests: [JSON.stringify(configMap('local'))] } });
    expect(applied()).toContain('local');
    expect(world.git.verified).toEqual([]);
  });

  it('keep delete hooks of an unverified commit from running', async () => {
    world.project('default', policy);
    world.git.push(first, [configMap('hook', '1', { 'argocd.argoproj.io/hook': 'PreDelete' })]);
    world.git.problems.set(first, [unsigned]);
    world.application({}, { metadata: { finalizers: ['pre-delete-finalizer.argocd.argoproj.io'] } });
    world.edit((object) => ({ metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }));
    await start();
    expect(conditions()).toContainEqual(['DeletionError', expect.stringContaining(unsigned)]);
    expect(applied()).toEqual([]);
    world.git.problems.clear();
    await clock.advance(20_000);
    expect(applied()).toContain('hook');
  });
});

describe('the request to the generator', () => {
  it('combines all sources, API versions, repositories and settings for a comparison', async () => {
    const [one, two] = [
      { repoURL: 'https://git/one', path: 'p', targetRevision: 'main' },
      { repoURL: 'https://git/two', targetRevision: 'main', ref: 'values' },
    ];
    world.settings = { ...world.settings, raw: { 'kustomize.buildOptions': '--enable-helm' } };
    application({ sources: [one, two] });
    await start();
    const [request] = world.git.requests;
    expect(request?.sources.map(({ source }) => source)).toEqual([one, two]);
    expect(request?.sources.map(({ repository }) => repository.url)).toEqual(['https://git/one', 'https://git/two']);
    expect(request?.cluster).toEqual({ kubeVersion: 'v1.30.0', apiVersions: ['v1', 'v1/ConfigMap'] });
    expect(request?.options).toMatchObject({
      kustomizeBuildOptions: '--enable-helm',
      valuesFileSchemes: ['https', 'http'],
    });
    expect([request?.appName, request?.namespace, request?.project]).toEqual(['demo', 'apps', 'default']);
    expect(world.app.status?.sync).toMatchObject({ status: 'Synced', revisions: [first, first] });
  });

  it('contains only credentials of chart repositories that the project may read', async () => {
    world.project('default', { sourceRepos: ['https://git/*', 'https://charts/ours'] });
    application({ source: { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' } });
    await start();
    expect(world.git.requests[0]?.repositories.repositories.map(({ url }) => url)).toEqual(['https://charts/ours']);
  });
});

describe('refuses whatever the status and the operation contain', () => {
  it('delete hooks for a forbidden cluster, even without a namespace', async () => {
    const metadata = { name: 'taken', annotations: { 'argocd.argoproj.io/hook': 'PostDelete' } };
    world.git.push(first, [{ apiVersion: 'v1', kind: 'Namespace', metadata }]);
    world.project('default', { destinations: [{ server: 'https://mine', namespace: '*' }] });
    world.application({}, { metadata: { finalizers: ['post-delete-finalizer.argocd.argoproj.io'] } });
    world.edit((object) => ({ metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }));
    await start();
    expect(applied()).toEqual([]);
    expect(conditions()).toContainEqual(['DeletionError', expect.stringContaining('do not match any of the allowed')]);
  });

  it('local manifests, whatever source the operation names', async () => {
    world.project('default', { signatureKeys: [{ keyID: 'K' }] });
    world.application();
    await start();
    const chart = { repoURL: 'https://charts', chart: 'x', targetRevision: '1' };
    await sync({ sync: { manifests: [JSON.stringify(configMap('local'))], source: chart } });
    expect(world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: 'ComparisonError: Cannot use local manifests when source integrity is enforced',
    });
    expect(applied()).toEqual([]);
  });

  it('local manifests that SOPS encrypted', async () => {
    world.application();
    await start();
    const encrypted = { ...configMap('local'), sops: { mac: 'ENC[AES256_GCM,data:x]' } };
    await sync({ sync: { manifests: [JSON.stringify(encrypted)] } });
    expect(world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: expect.stringContaining('encrypted by SOPS and not applied: local manifests are not decrypted'),
    });
    expect(applied()).toEqual([]);
  });

  it('local manifests with a source that the project forbids', async () => {
    world.project('strict', { sourceRepos: ['https://git/x'] });
    world.application({ project: 'strict' });
    await start();
    const source = { repoURL: 'https://git/evil', path: 'p', targetRevision: 'main' };
    await sync({ sync: { manifests: [JSON.stringify(configMap('local'))], source } });
    expect(world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: "InvalidSpecError: application repo https://git/evil is not permitted in project 'strict'",
    });
    expect(applied()).toEqual([]);
  });
});
