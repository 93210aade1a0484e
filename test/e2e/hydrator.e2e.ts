import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DryRepository, HydratorWorld, login } from './hydrator-world.ts';
import { temporaryFolder, toolPath } from './support/index.ts';

// The promises of Argo CD's end-to-end tests of its hydrator, with our controller: once with its
// own committer, once with Argo CD's commit-server.

const map = (name: string, data: Readonly<Record<string, string>>): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: ${JSON.stringify(data)}\n`;
const blue = { 'app/cm.yaml': map('colours', { colour: 'blue' }) };
const green = { 'app/cm.yaml': map('colours', { colour: 'green' }) };
const committers = ['own', 'commit-server'] as const;

/** Both committers hydrate this repository, each to a branch of its own. */
let shared: DryRepository;
let removeShared: () => void;

beforeAll(() => {
  const folder = temporaryFolder('hydrator');
  removeShared = folder.remove;
  const text = 'a: "b"\n  c: \'d\'\t\u00e9 \u{1f600}\n\nend: 0x10, yes, null, 1e3\n';
  shared = new DryRepository(folder.path, 'shared', {
    'one/a.yaml': `${map('a', { text, long: `${'word '.repeat(60)}end`, empty: '' })}---\n${map('b', { on: 'off' })}`,
    'two/c.yaml': `apiVersion: v1\nkind: Service\nmetadata: {name: c}\nspec: {ports: [{port: 80, targetPort: 1e2}]}\n`,
  });
});
afterAll(() => removeShared());

describe.each(committers)('hydration, committed by: %s', (committer) => {
  let world: HydratorWorld;

  beforeAll(async () => {
    world = await HydratorWorld.start({ commitServer: committer === 'commit-server' });
  }, 180_000);
  afterAll(() => world.close());

  it('commits the manifests once and deploys them', async () => {
    const dry = world.repository('simple-dry', blue);
    const app = await world.application('simple', dry.url);
    const operation = await app.hydrated(dry.first);
    expect(operation.hydratedSHA).toBe(dry.git('rev-parse', 'env/test'));
    await app.isSynced();
    expect(await app.data('colours')).toEqual({ colour: 'blue' });
    expect(dry.subjects()).toEqual([`${dry.first.slice(0, 7)}: change`, expect.stringMatching(/^Initial commit/)]);
    expect(dry.git('notes', '--ref=hydrator.metadata', 'show', 'env/test')).toBe(`{"drySha":"${dry.first}"}`);
  });

  it('with hydrateTo writes the staging branch, and deploys once it writes the branch of the sync', async () => {
    const dry = world.repository('staged-dry', blue);
    const hydrateTo = { targetBranch: 'env/test-next' };
    const app = await world.application('staged', dry.url, { spec: { hydrateTo } });
    await app.hydrated(dry.first);
    expect(dry.git('show', 'env/test-next:hydrated/manifest.yaml')).toContain('colour: blue');
    expect(dry.git('ls-tree', '--name-only', 'env/test', 'hydrated')).toBe('');
    expect(await app.sync()).toMatchObject({
      phase: 'Error',
      message: expect.stringMatching(
        /hydrated: app path does not exist.* - waiting for an external process to update env\/test from env\/test-next$/,
      ),
    });
    await app.patch({ spec: { sourceHydrator: { hydrateTo: null } } });
    const second = dry.commit(green);
    await app.refresh();
    await app.hydrated(second);
    await app.isSynced();
    expect(await app.data('colours')).toEqual({ colour: 'green' });
  });

  it('keeps the path of the first Application when a second one joins its branch', async () => {
    const dry = world.repository('joined-dry', blue);
    const one = await world.application('joined-1', dry.url, { sync: { path: 'one' } });
    await one.hydrated(dry.first);
    await one.isSynced();
    const second = dry.commit(green);
    const two = await world.application('joined-2', dry.url, { sync: { path: 'two' } });
    for (const app of [two, one]) {
      await app.refresh();
      await app.hydrated(second);
      await app.isSynced();
      expect(await app.data('colours')).toEqual({ colour: 'green' });
    }
    expect(dry.git('ls-tree', '-d', '--name-only', 'env/test').split('\n')).toEqual(['one', 'two']);
    for (const app of [two, one]) await app.delete();
  });

  it('follows a new path of the hydrated manifests with the next dry commit', async () => {
    const dry = world.repository('moved-dry', blue);
    const app = await world.application('moved', dry.url);
    await app.hydrated(dry.first);
    const second = dry.commit(green);
    await app.patch({ spec: { sourceHydrator: { syncSource: { path: 'elsewhere' } } } });
    await app.refresh();
    await app.hydrated(second);
    await app.isSynced();
    expect(await app.data('colours')).toEqual({ colour: 'green' });
    expect(dry.git('show', 'env/test:hydrated/manifest.yaml')).toContain('colour: blue');
  });

  it('fails with an unknown Kustomize version, and succeeds after its registration', async () => {
    const dry = world.repository('kustomized-dry', {
      ...blue,
      'app/kustomization.yaml': 'resources: [cm.yaml]\n',
      'app/.argocd-source.yaml': 'kustomize: {version: v1.2.3}\n',
    });
    const app = await world.application('kustomized', dry.url);
    const failed = await app.refresh();
    expect(failed).toMatchObject({ phase: 'Failed', message: expect.stringContaining('v1.2.3') });
    const data = { 'kustomize.path.v1.2.3': toolPath('kustomize') };
    await world.hub.kubectl(['patch', 'configmap', 'argocd-cm', '-n', 'argocd', '--patch', JSON.stringify({ data })]);
    await app.refresh('hard');
    await app.hydrated(dry.first);
    await app.isSynced();
  });

  it('renders Helm charts with the parameters of the dry source, in the namespace of the destination', async () => {
    const dry = world.repository('charted-dry', {
      'app/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
      'app/values.yaml': 'message: of the chart\n',
      'app/templates/cm.yaml': map('web', { message: '{{ .Values.message }}', at: '{{ .Release.Namespace }}' }),
    });
    const helm = { parameters: [{ name: 'message', value: 'of the Application' }] };
    const app = await world.application('charted', dry.url, { dry: { helm } });
    await app.hydrated(dry.first);
    await app.isSynced();
    expect(await app.data('web')).toEqual({ message: 'of the Application', at: 'charted' });
  });

  it('renders Kustomize with the options of the dry source', async () => {
    const dry = world.repository('suffixed-dry', {
      ...blue,
      'app/kustomization.yaml': 'resources: [cm.yaml]\nnamePrefix: all-\n',
    });
    const app = await world.application('suffixed', dry.url, { dry: { kustomize: { nameSuffix: '-here' } } });
    await app.hydrated(dry.first);
    await app.isSynced();
    expect(await app.data('all-colours-here')).toEqual({ colour: 'blue' });
  });

  it('renders directories recursively if the dry source asks for it', async () => {
    const dry = world.repository('nested-dry', { ...blue, 'app/deep/cm.yaml': map('deep', { colour: 'grey' }) });
    const app = await world.application('nested', dry.url, { dry: { directory: { recurse: true } } });
    await app.hydrated(dry.first);
    await app.isSynced();
    expect(await app.data('deep')).toEqual({ colour: 'grey' });
  });

  it("renders with Argo CD's plugin server, with the environment of the dry source", async () => {
    const dry = world.repository('plugged-dry', { 'app/shown.txt': 'x' });
    const env = [{ name: 'SHOWN', value: 'of the Application' }];
    const app = await world.application('plugged', dry.url, { dry: { plugin: { env } } });
    await app.hydrated(dry.first);
    await app.isSynced();
    expect(await app.data('from-plugin')).toEqual({ shown: 'of the Application' });
  });

  it('keeps the hydrated commit for a dry commit with the same manifests', async () => {
    const dry = world.repository('same-dry', blue);
    const app = await world.application('same', dry.url);
    const first = await app.hydrated(dry.first);
    const second = dry.commit({ 'app/README.md': 'about this folder\n' });
    await app.refresh();
    expect(await app.hydrated(second)).toMatchObject({ drySHA: second, hydratedSHA: first.hydratedSHA });
    expect(dry.subjects()).toHaveLength(2);
  });

  it('changes nothing at a refresh without a new commit, and hydrates again after one', async () => {
    const dry = world.repository('fresh-dry', blue);
    const app = await world.application('fresh', dry.url);
    const first = await app.hydrated(dry.first);
    expect(await app.refresh()).toEqual(first);
    const second = dry.commit(green);
    await app.refresh();
    const now = await app.hydrated(second);
    expect(now.hydratedSHA).toBe(dry.git('rev-parse', 'env/test'));
    expect(now.hydratedSHA).not.toBe(first.hydratedSHA);
    expect(await app.refresh()).toEqual(now);
  });

  it('with manifest-generate-paths hydrates only commits that touch these paths', async () => {
    const dry = world.repository('watched-dry', blue);
    const annotations = { 'argocd.argoproj.io/manifest-generate-paths': '.' };
    const app = await world.application('watched', dry.url, { annotations });
    const first = await app.hydrated(dry.first);
    dry.commit({ 'elsewhere.md': 'x' });
    expect(await app.refresh()).toEqual(first);
    const third = dry.commit(green);
    await app.refresh();
    expect((await app.hydrated(third)).hydratedSHA).toBe(dry.git('rev-parse', 'env/test'));
  });

  it('over https needs credentials that may write, and uses them for branches and notes', async () => {
    const dry = world.repository('locked-dry', blue);
    const url = `${world.gitServer.url}/locked-dry`;
    const secret = (type: string, stringData: object): Promise<unknown> =>
      world.hub.api.create('/api/v1/namespaces/argocd/secrets', {
        metadata: { name: type, labels: { 'argocd.argoproj.io/secret-type': type } },
        stringData: { url, type: 'git', insecure: 'true', ...stringData },
      });
    await secret('repository', login);
    await secret('repository-write', { ...login, password: 'not this one' });
    const app = await world.application('locked', url);
    const failed = await app.refresh();
    expect(failed).toMatchObject({ phase: 'Failed', message: expect.stringMatching(/authenticat/i) });
    expect(JSON.stringify(failed)).not.toContain('not this one');
    const data = { password: Buffer.from(login.password).toString('base64') };
    await world.hub.api.patch('/api/v1/namespaces/argocd/secrets/repository-write', { data });
    for (const files of [{}, green]) {
      const commit = dry.commit(files);
      await app.refresh();
      await app.hydrated(commit);
      await app.isSynced();
      expect(dry.git('notes', '--ref=hydrator.metadata', 'show', 'env/test')).toBe(`{"drySha":"${commit}"}`);
    }
    expect(await app.data('colours')).toEqual({ colour: 'green' });
  });

  it('reports a repository that refuses the push, and succeeds after it accepts pushes', async () => {
    const dry = world.repository('archived-dry', blue);
    dry.git('checkout', '--quiet', '-b', 'env/test');
    const app = await world.application('archived', dry.url, { dry: { targetRevision: 'main' } });
    expect(await app.refresh()).toMatchObject({ phase: 'Failed', message: expect.stringMatching(/refus|denied|push/) });
    dry.git('checkout', '--quiet', 'main');
    await app.refresh();
    await app.hydrated(dry.first);
  });

  it('writes files for the comparison of both committers', async () => {
    for (const path of ['one', 'two']) {
      const sync = { targetBranch: `env/${committer}-${path}`, path };
      const app = await world.application(`${path}-shared`, shared.url, { dry: { path }, sync });
      await app.hydrated(shared.first);
    }
  });
});

it('both committers write the same files, byte for byte', () => {
  for (const path of ['one', 'two']) {
    const trees = committers.map((committer) => shared.git('ls-tree', '-r', `env/${committer}-${path}`));
    expect(trees[0]).toBe(trees[1]);
    expect(trees[0]).toContain(`${path}/manifest.yaml`);
  }
});
