import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RepoServerError, SourceFailed } from '#desired';
import { annotations } from '#model';
import type { Settings } from '#model';
import { FakeClock } from '#support';
import { automatedBy, configMap, FakeWorld } from './testing/fake-world.ts';

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const automated = automatedBy({ allowEmpty: true });
const policy = { repos: [{ url: '*' }], gpg: { mode: 'head', keys: ['0123456789ABCDEF'] } };

let clock: FakeClock;
let world: FakeWorld;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.git.verifiesBefore = false;
  world.git.push(first, [configMap('one')]);
});
afterEach(async () => {
  await world.close(clock);
  expect(clock.pending).toBe(0);
});

async function start(): Promise<void> {
  world.replica();
  await clock.advance(2000);
}

const conditions = (): (readonly [string, string])[] =>
  (world.app.status?.conditions ?? []).map(({ type, message }) => [type, message]);
const applied = (): (string | undefined)[] => [...world.dest.objects.values()].map((object) => object.metadata.name);

describe('manifests of a repo-server', () => {
  it('include the signature requirements of the project in the request', async () => {
    world.project('default', { sourceIntegrity: { git: { policies: [policy] } } });
    world.application({ ...automated });
    await start();
    expect(world.git.requests[0]?.sources).toMatchObject([{ revision: 'main', demand: policy.gpg }]);
    expect(world.git.verified).toEqual([]);
    expect(applied()).toEqual(['one']);
  });

  it('omit signatures if the project requires none', async () => {
    world.application({ ...automated });
    await start();
    expect(world.git.requests[0]?.sources[0]).not.toHaveProperty('demand');
  });

  it('report signature problems as the embedded renderer does: nothing is compared or pruned', async () => {
    world.application({ ...automated });
    await start();
    world.project('default', { signatureKeys: [{ keyID: '0123456789ABCDEF' }] });
    world.git.push(second, [configMap('two')]);
    world.git.problems.set(second, ['GIT/GPG: first', 'GIT/GPG: second']);
    await clock.advance(600_000);
    expect(conditions()).toEqual([['ComparisonError', 'GIT/GPG: first\nGIT/GPG: second']]);
    expect(world.app.status?.sync).toMatchObject({ status: 'Unknown', revision: second });
    expect(applied()).toEqual(['one']);
  });

  it('name the one of several sources that has the problem', async () => {
    world.project('default', { sourceIntegrity: { git: { policies: [policy] } } });
    world.git.problems.set(first, ['GIT/GPG: unsigned']);
    const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
    world.application({ ...automated, sources: [{ ...source, name: 'base' }, source] });
    await start();
    expect(conditions()).toEqual([
      ['ComparisonError', 'source base: GIT/GPG: unsigned\nsource 2 of 2: GIT/GPG: unsigned'],
    ]);
    expect(applied()).toEqual([]);
  });

  it('show an error of the repo-server word for word in the condition', async () => {
    world.application();
    world.git.failure = new SourceFailed(0, new RepoServerError('DeadlineExceeded', 'context deadline exceeded'));
    await start();
    await clock.advance(600_000);
    expect(conditions()).toEqual([
      [
        'ComparisonError',
        'Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = DeadlineExceeded desc = context deadline exceeded',
      ],
    ]);
  });

  it('include tracking and project in the request', async () => {
    const tracking = { method: 'annotation+label', labelKey: 'example.com/app', installationId: 'blue' } as const;
    world.settings = { ...world.settings, tracking } satisfies Settings;
    world.project('default', { sourceRepos: ['https://git/*'] });
    world.application();
    await start();
    expect(world.git.requests[0]).toMatchObject({ tracking, projectSourceRepos: ['https://git/*'] });
    expect(world.git.requests[0]).not.toHaveProperty('watched');
  });

  it('include the path of the Application in its repository and the last revision in the request', async () => {
    const metadata = { name: 'demo', annotations: { [annotations.manifestGeneratePaths]: ' . ; /lib/;; ../x/ ' } };
    world.application({ ...automated }, { metadata });
    await start();
    world.git.push(second, [configMap('two')]);
    await clock.advance(600_000);
    const [before, after] = [world.git.requests[0], world.git.requests.at(-1)];
    const annotation = metadata.annotations[annotations.manifestGeneratePaths];
    expect(before?.watched).toEqual({ annotation, paths: [['p', 'lib/', 'x']], synced: [''] });
    expect(after?.watched).toEqual({ annotation, paths: [['p', 'lib/', 'x']], synced: [second] });
  });

  it('use the directory of the sync source for hydrated manifests', async () => {
    const sourceHydrator = {
      drySource: { repoURL: 'https://git/x', path: 'dry', targetRevision: 'main' },
      syncSource: { targetBranch: 'env/prod', path: 'wet' },
    };
    const metadata = { name: 'demo', annotations: { [annotations.manifestGeneratePaths]: '/lib' } };
    world.application({ sourceHydrator }, { metadata });
    await start();
    expect(world.git.requests[0]?.watched).toMatchObject({ annotation: '/lib', paths: [['wet']] });
  });
});
