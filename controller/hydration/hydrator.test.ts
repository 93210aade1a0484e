import { describe, expect, it } from '@jest/globals';
import { untilAborted } from '#base';
import { defaultCommitMessage } from '#desired';
import type { HydrationCommit, HydrationCommitter, HydrationTexts, ManifestsRequest } from '#desired';
import { defaultSettings } from '#model';
import type { Application, ApplicationSpec } from '#model';
import { FakeClock } from '#support';
import { configMap, FakeWorld } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';

const [first, second] = ['a', 'b'].map((digit) => digit.repeat(40)) as [string, string];
const hydrator = {
  drySource: { repoURL: 'https://git/dry', path: 'app', targetRevision: 'main' },
  syncSource: { targetBranch: 'env/prod', path: 'app' },
};
const config = { hydration: { processors: 2 } };

/** A branch that commits only what differs, as both committers do. */
class FakeBranch implements HydrationCommitter {
  readonly name = 'branch';
  readonly commits: HydrationCommit[] = [];
  readonly asked: HydrationCommit[] = [];
  readonly notes: string[] = [];
  maxBytes = 1_000_000;
  failure: Error | undefined;
  /** Its templates are texts, or `fail`. */
  readonly texts: Pick<HydrationTexts, 'message'> = {
    message: ({ template, project }, metadata) => {
      if (template === 'fail') return Promise.reject(new Error('line 1: function "env" not defined'));
      return Promise.resolve(template === '' ? defaultCommitMessage(metadata) : `${template} for ${project}`);
    },
  };
  #content = new Map<string, string>();

  run(signal: AbortSignal): Promise<void> {
    return untilAborted(signal);
  }

  /** The commit that is the tip: its number. */
  get tip(): string {
    return String(this.commits.length).padStart(40, '0');
  }

  async commit(request: HydrationCommit): Promise<string> {
    this.asked.push(request);
    return request.fenced(async ({ beforeSend }) => {
      beforeSend();
      if (this.failure !== undefined) throw this.failure;
      const next = request.paths.map(({ path, objects }) => [path, JSON.stringify(objects)] as const);
      const isChanged = next.some(([path, text]) => this.#content.get(path) !== text);
      if (isChanged) this.commits.push(request);
      this.#content = new Map([...this.#content, ...next]);
      this.notes.push(request.drySha);
      return Promise.resolve(this.tip);
    });
  }
}

const at = stage((world) => world.git.push(first, [configMap('one')]));
let branch = new FakeBranch();

function application(name = 'demo', over: object = {}, spec: Partial<ApplicationSpec> = {}): void {
  const sourceHydrator = { ...hydrator, syncSource: { ...hydrator.syncSource, path: name, ...over } };
  at.world.application(
    { source: undefined as never, sourceHydrator, ...spec },
    { metadata: { name, namespace: 'argocd' } },
  );
}

async function start(): Promise<void> {
  branch = new FakeBranch();
  await at.start({ committer: branch, config });
  await at.pass(5);
}

const status = (name = 'demo'): Record<string, unknown> => at.world.applicationOf(name).status?.sourceHydrator ?? {};
const current = (name = 'demo'): unknown => status(name)['currentOperation'];
const annotate = (annotations: Record<string, string>): void => at.world.annotate(annotations);

describe('hydration', () => {
  it('commits the manifests of the dry source, and records the result', async () => {
    application();
    await start();
    expect(branch.commits).toHaveLength(1);
    expect(branch.commits[0]).toMatchObject({
      syncBranch: 'env/prod',
      targetBranch: 'env/prod',
      drySha: first,
      message: 'aaaaaaa: change aaaa\n\nCo-authored-by: a <a@x>\n',
      paths: [{ path: 'demo', objects: [{ kind: 'ConfigMap', metadata: { name: 'one' } }] }],
    });
    const result = {
      drySHA: first,
      hydratedSHA: branch.tip,
      sourceHydrator: { ...hydrator, syncSource: { targetBranch: 'env/prod', path: 'demo' } },
    };
    expect(current()).toMatchObject({ phase: 'Hydrated', message: '', ...result });
    expect(status()).toMatchObject({ lastSuccessfulOperation: result, lastComparedDryRevision: first });
    expect(at.world.app.metadata.annotations ?? {}).toEqual({});
    expect(at.world.app.status?.conditions ?? []).toEqual([]);
  });

  it('renders without the capabilities of the cluster, and without cached manifests', async () => {
    application();
    await start();
    const dry = at.world.git.requests.find(({ sources }) => sources[0]?.source.path === 'app');
    expect(dry).toMatchObject({ cluster: { kubeVersion: '', apiVersions: [] }, cache: { manifests: 'rerender' } });
  });

  it('and each pass runs on behalf of its Application, for limits that tenants share', async () => {
    application();
    await start();
    expect(at.world.git.tenants.length).toBeGreaterThan(1);
    for (const tenant of at.world.git.tenants) expect(tenant).toMatchObject({ project: 'default' });
    expect(at.world.git.tenants).toContainEqual({ project: 'default', application: 'argocd/demo' });
  });

  it('of one project does not wait for the slow repositories of another', async () => {
    at.world.project('hostile', { sourceRepos: ['*'] });
    for (let i = 0; i < 10; i += 1) {
      const drySource = { ...hydrator.drySource, repoURL: `https://slow/${i}` };
      application(`a-slow-${i}`, {}, { project: 'hostile', sourceHydrator: { ...hydrator, drySource } });
    }
    application('victim');
    await start();
    expect(current('victim')).toMatchObject({ drySHA: first });
    at.world.git.resolving = async ({ repoURL }, signal) => {
      if (repoURL.startsWith('https://slow')) await at.clock.sleep(14_000, signal);
    };
    at.world.git.push(second, [configMap('two')]);
    await at.pass(130);
    expect(current('victim')).toMatchObject({ drySHA: second });
  });

  it('makes one commit for all Applications of a group', async () => {
    for (const name of ['a', 'b', 'c']) application(name);
    await start();
    expect(branch.commits.map(({ paths }) => paths.map(({ path }) => path))).toEqual([['a', 'b', 'c']]);
    expect(['a', 'b', 'c'].map((name) => current(name))).toEqual(
      ['a', 'b', 'c'].map(() => expect.objectContaining({ phase: 'Hydrated', hydratedSHA: branch.tip })),
    );
  });

  it('follows new dry commits, and skips the commit if the manifests are the same', async () => {
    application();
    await start();
    at.world.git.push(second, [configMap('one')]);
    await at.pass(130);
    expect(branch.commits).toHaveLength(1);
    expect(branch.notes).toEqual([first, second]);
    expect(current()).toMatchObject({ drySHA: second, hydratedSHA: branch.tip });
    at.world.git.push('c'.repeat(40), [configMap('two')]);
    await at.pass(130);
    expect(branch.commits).toHaveLength(2);
  });

  it('does not hydrate for a commit that changes none of the watched paths', async () => {
    application();
    annotate({ 'argocd.argoproj.io/manifest-generate-paths': '.' });
    await start();
    at.world.git.watchedChange = () => false;
    at.world.git.push(second, [configMap('two')]);
    await at.pass(130);
    expect([branch.commits.length, status()['lastComparedDryRevision']]).toEqual([1, second]);
    expect(current()).toMatchObject({ drySHA: first });
  });

  it('hydrates an Application that joins a group at once', async () => {
    application('a');
    await start();
    application('b');
    await at.pass(5);
    expect(branch.commits.map(({ paths }) => paths.length)).toEqual([1, 2]);
    expect(current('a')).toMatchObject({ hydratedSHA: branch.tip });
  });

  it('hydrates once more if an Application joins during a hydration, and then rests', async () => {
    application('a');
    branch = new FakeBranch();
    const isDry = ({ sources }: ManifestsRequest): boolean => sources[0]?.source.path === 'app';
    at.world.git.takes = (request) => (isDry(request) ? at.clock.sleep(5000) : Promise.resolve());
    await at.start({ committer: branch, config });
    application('b');
    await at.pass(60);
    expect(branch.commits.map(({ paths }) => paths.length)).toEqual([1, 2]);
    expect(at.world.git.requests.filter(isDry).map(({ appName }) => appName)).toEqual(['a', 'a', 'b']);
  });

  it('uses the templates and the author of argocd-cm', async () => {
    const raw = {
      'sourceHydrator.commitMessageTemplate': 'own',
      'sourceHydrator.readmeMessageTemplate': 'readme',
      'commit.author.name': 'Bot',
      'commit.author.email': 'bot@x',
    };
    at.world.settings = { ...defaultSettings, raw };
    application();
    await start();
    expect(branch.commits[0]).toMatchObject({
      message: 'own for default',
      readmeTemplate: 'readme',
      author: { name: 'Bot', email: 'bot@x' },
    });
  });

  it('does not write tracking into the branch', async () => {
    at.world.git.push(first, [configMap('one', '1', { 'argocd.argoproj.io/tracking-id': 'x', keep: 'y' })]);
    application();
    await start();
    expect(branch.commits[0]?.paths[0]?.objects[0]?.['metadata']).toMatchObject({ annotations: { keep: 'y' } });
    expect(JSON.stringify(branch.commits)).not.toContain('tracking-id');
  });

  it('refreshes the Application after a commit', async () => {
    application();
    await start();
    const asked = at.world.hub.calls.length;
    at.world.git.push(second, [configMap('two')]);
    await at.pass(130);
    expect(asked).toBeLessThan(at.world.hub.calls.length);
    expect(at.world.app.status?.sync?.revision).toBe(second);
    expect(at.world.app.metadata.annotations ?? {}).toEqual({});
  });

  it('leaves Applications alone that another controller reconciles', async () => {
    application();
    annotate({ 'argocd.argoproj.io/skip-reconcile': 'true' });
    await start();
    expect([branch.asked.length, current()]).toEqual([0, undefined]);
  });
});

describe('a request for hydration', () => {
  it('is removed once it is answered', async () => {
    application();
    await start();
    annotate({ 'argocd.argoproj.io/hydrate': 'normal', 'argocd.argoproj.io/hydrate-timestamp': 't1' });
    await at.pass(3);
    expect([branch.asked.length, at.world.app.metadata.annotations ?? {}]).toEqual([1, {}]);
  });

  it('that is hard commits again what was changed in the branch, without a new dry commit', async () => {
    application();
    await start();
    at.world.git.commits.set(first, [configMap('other')]);
    annotate({ 'argocd.argoproj.io/hydrate': 'hard' });
    await at.pass(3);
    expect([branch.commits.length, at.world.app.metadata.annotations ?? {}]).toEqual([2, {}]);
  });

  it('that arrives during a hydration is answered by another one', async () => {
    application();
    annotate({ 'argocd.argoproj.io/hydrate': 'normal', 'argocd.argoproj.io/hydrate-timestamp': 't1' });
    branch = new FakeBranch();
    at.world.git.takes = () => at.clock.sleep(10_000);
    await at.start({ committer: branch, config });
    at.world.git.push(second, [configMap('two')]);
    annotate({ 'argocd.argoproj.io/hydrate': 'normal', 'argocd.argoproj.io/hydrate-timestamp': 't2' });
    await at.pass(60);
    expect(current()).toMatchObject({ phase: 'Hydrated', drySHA: second });
    expect(at.world.app.metadata.annotations ?? {}).toEqual({});
  });
});

describe('a failed hydration', () => {
  it('shows the error, and is repeated after two minutes', async () => {
    application();
    at.world.git.failure = new Error('no chart');
    at.world.git.fails = ({ path }) => path === 'app';
    await start();
    expect(current()).toMatchObject({
      phase: 'Failed',
      message:
        'Failed to hydrate: failed to get manifests: failed to get repo objects for app "argocd/demo": failed to get repo objects: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = no chart',
    });
    at.world.git.failure = undefined;
    await at.pass(60);
    expect(current()).toMatchObject({ phase: 'Failed' });
    await at.pass(70);
    expect(current()).toMatchObject({ phase: 'Hydrated' });
  });

  it('of a dry commit that cannot be rendered rests for two minutes, also after a success', async () => {
    application();
    await start();
    at.world.git.push(second, [configMap('two')]);
    at.world.git.failure = new Error('no chart');
    at.world.git.fails = ({ path }) => path === 'app';
    annotate({ 'argocd.argoproj.io/hydrate': 'normal' });
    await at.pass(5);
    expect(current()).toMatchObject({ phase: 'Failed' });
    expect(status()).toMatchObject({ lastComparedDryRevision: first });
    const tries = at.world.git.requests.length;
    await at.pass(100);
    expect(at.world.git.requests).toHaveLength(tries);
    at.world.git.failure = undefined;
    await at.pass(30);
    expect(current()).toMatchObject({ phase: 'Hydrated', drySHA: second });
  });

  it('of one Application whose project does not permit it leaves it out, and its group goes on', async () => {
    at.world.project('strict', { sourceRepos: ['https://other'] });
    application('a', {}, { project: 'strict' });
    application('b');
    await start();
    expect(branch.commits.map(({ paths }) => paths.map(({ path }) => path))).toEqual([['b']]);
    expect(current('a')).toMatchObject({
      phase: 'Failed',
      message: "Failed to hydrate: application repo https://git/dry is not permitted in project 'strict'",
    });
    expect(current('b')).toMatchObject({ phase: 'Hydrated' });
  });

  it.each([
    ['a project that does not exist', { project: 'nonexistent' }],
    ['a project that does not permit the repository', { project: 'strict' }],
  ])("of an Application of %s does not block the victim's, whose path it names", async (_what, spec) => {
    at.world.project('strict', { sourceRepos: ['https://other'] });
    application('a-hostile', { path: 'victim' }, spec);
    application('victim');
    await start();
    expect(branch.commits.map(({ paths }) => paths.map(({ path }) => path))).toEqual([['victim']]);
    expect(current('victim')).toMatchObject({ phase: 'Hydrated' });
    expect(current('a-hostile')).toMatchObject({ phase: 'Failed' });
    at.world.git.push(second, [configMap('two')]);
    await at.pass(260);
    expect(current('victim')).toMatchObject({ phase: 'Hydrated', drySHA: second });
    // The failure is repeated after its pause, not by its own event.
    const dry = at.world.git.requests.filter(({ sources }) => sources[0]?.source.path === 'app');
    expect(dry.length).toBeLessThan(4);
  });

  it('of an Application ends with the permission of its project, and begins with it', async () => {
    at.world.project('strict', { sourceRepos: ['https://other'] });
    application('a', {}, { project: 'strict' });
    await start();
    expect(branch.asked).toEqual([]);
    at.world.project('strict', { sourceRepos: ['https://git/*'] });
    await at.pass(130);
    expect(current('a')).toMatchObject({ phase: 'Hydrated' });
  });

  it('of a group with more manifests than a commit may have keeps none beyond the limit', async () => {
    for (const name of ['a', 'b', 'c']) application(name);
    branch = new FakeBranch();
    branch.maxBytes = 50;
    await at.start({ committer: branch, config });
    await at.pass(5);
    expect(branch.asked).toEqual([]);
    expect(['a', 'b', 'c'].map((name) => (current(name) as { message: string }).message)).toEqual([
      'Failed to hydrate: cannot hydrate because application argocd/b and 1 more have errors',
      ...['b', 'c'].map(
        () => 'Failed to hydrate: the manifests of the group have more than 50 bytes: hydrate to several branches',
      ),
    ]);
  });

  it('of the younger of two Applications that write to one path names both, and the older goes on', async () => {
    application('a', { path: 'same' });
    application('b', { path: 'same' });
    await start();
    expect(branch.commits).toHaveLength(1);
    expect(current('a')).toMatchObject({ phase: 'Hydrated' });
    expect(current('b')).toMatchObject({
      message:
        'Failed to hydrate: app argocd/a hydrator uses the same destination: repo=https://git/dry, path=same; it is older and goes on, app argocd/b waits',
    });
  });

  it('of the commit keeps the dry commit, and shows the server’s reason', async () => {
    application();
    branch = new FakeBranch();
    branch.failure = new Error('failed to push: protected');
    await at.start({ committer: branch, config });
    await at.pass(5);
    expect(current()).toMatchObject({
      phase: 'Failed',
      drySHA: first,
      message: 'Failed to hydrate: failed to commit hydrated manifests: failed to push: protected',
    });
  });

  it('reports a template that cannot be rendered', async () => {
    at.world.settings = { ...defaultSettings, raw: { 'sourceHydrator.commitMessageTemplate': 'fail' } };
    application();
    await start();
    expect((current() as { message: string }).message).toContain(
      'failed to get hydrator commit templated message: line 1: function "env" not defined',
    );
  });

  it('is ended by an unsigned dry commit where the project demands signatures', async () => {
    at.world.project('default', {
      sourceIntegrity: {
        git: { policies: [{ repos: [{ url: '*' }], gpg: { mode: 'head', keys: ['D56C4FCA57A46444'] } }] },
      },
    });
    at.world.git.problems.set(first, ['unsigned']);
    application();
    await start();
    expect([branch.asked.length, (current() as { message: string }).message]).toEqual([
      0,
      expect.stringContaining('unsigned'),
    ]);
  });
});

describe('ownership', () => {
  it('lets only the owner of the group hydrate', async () => {
    application();
    branch = new FakeBranch();
    at.world.owner = 1;
    await at.start({ committer: branch, config });
    await at.pass(5);
    expect([branch.asked.length, current()]).toEqual([0, undefined]);
    at.world.handOver(0);
    await at.pass(5);
    expect([branch.commits.length, current()]).toEqual([1, expect.objectContaining({ phase: 'Hydrated' })]);
  });

  it('ends a hydration before its push', async () => {
    application();
    branch = new FakeBranch();
    at.world.git.takes = () => {
      // The comparison may read its source before the hydration begins.
      if (current() !== undefined) at.world.handOver(1);
      return Promise.resolve();
    };
    await at.start({ committer: branch, config });
    await at.pass(5);
    expect(branch.commits).toEqual([]);
  });
});

it('without --hydrator-enabled a request gets a warning, and nothing is committed', async () => {
  application();
  annotate({ 'argocd.argoproj.io/hydrate': 'normal' });
  await at.start();
  await at.pass(3);
  expect(at.world.app.status?.conditions?.map(({ type }) => type)).toEqual(['HydrationWarning']);
});

describe('a crash', () => {
  /** Makes every call hang after call `at`: from outside, the process looks dead. */
  function death(
    limit: number,
    moment: 'before' | 'after',
  ): { before: () => Promise<void>; after: () => Promise<void>; calls: () => number } {
    let [calls, dead] = [0, false];
    const never = new Promise<void>(() => undefined);
    return {
      calls: () => calls,
      before: () => {
        calls += 1;
        if (moment === 'before' && calls > limit) dead = true;
        return dead ? never : Promise.resolve();
      },
      after: () => {
        if (moment === 'after' && calls > limit) dead = true;
        return dead ? never : Promise.resolve();
      },
    };
  }

  /** Returns the number of calls of the first replica. */
  async function run(limit: number, moment: 'before' | 'after'): Promise<number> {
    const clock = new FakeClock();
    const world = new FakeWorld(clock);
    world.git.push(first, [configMap('one')]);
    const sourceHydrator = (path: string): object => ({ ...hydrator, syncSource: { ...hydrator.syncSource, path } });
    for (const name of ['a', 'b'])
      world.application(
        { source: undefined as never, sourceHydrator: sourceHydrator(name) as never },
        { metadata: { name, namespace: 'argocd', annotations: { 'argocd.argoproj.io/hydrate': 'normal' } } },
      );
    const one = new FakeBranch();
    const life = death(limit, moment);
    const guarded: HydrationCommitter = {
      name: 'guarded',
      maxBytes: one.maxBytes,
      texts: one.texts,
      run: (signal) => one.run(signal),
      commit: async (request) => {
        await life.before();
        const sha = await one.commit(request);
        await life.after();
        return sha;
      },
    };
    world.replica({ hub: life, config, committer: guarded });
    await clock.advance(10_000);
    const calls = life.calls();
    if (calls > limit) {
      world.handOver(1);
      world.replica({ config, committer: one, index: 1 });
      for (let i = 0; i < 10; i += 1) await clock.advance(1000);
    }
    const apps: Application[] = ['a', 'b'].map((name) => world.applicationOf(name));
    expect(one.commits).toHaveLength(1);
    for (const app of apps) {
      expect(app.status?.sourceHydrator).toMatchObject({
        currentOperation: { phase: 'Hydrated', hydratedSHA: one.tip },
        lastComparedDryRevision: first,
      });
      expect(app.metadata.annotations ?? {}).toEqual({});
    }
    return calls;
  }

  it.each(['before', 'after'] as const)(
    '%s any call ends with exactly one commit',
    async (moment) => {
      const calls = await run(Infinity, moment);
      expect(calls).toBeGreaterThan(8);
      for (let limit = 0; limit < calls; limit += 1) await run(limit, moment);
    },
    120_000,
  );
});
