import { execFileSync } from 'node:child_process';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import { createGitCommitter, createInProcessRunner } from '#desired';
import { eventually } from '#support';
import { silentLogger } from '#telemetry';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
  world.committer = (cacheDir) =>
    createGitCommitter({
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      cacheDir,
      commands: createInProcessRunner({ clock: systemClock, env }),
      reach: { allowLocal: true },
    });
});
afterEach(() => world.close());

const hydration = { hydration: { processors: 2 } };
/** A hydration runs a dozen git commands. */
const withinMs = 45_000;
const limitMs = 120_000;

function hydrator(path: string, over: object = {}): object {
  const drySource = { repoURL: repo.url, path: 'app', targetRevision: 'main' };
  return { sourceHydrator: { drySource, syncSource: { targetBranch: 'env/prod', path }, ...over }, ...automated };
}

function git(...args: string[]): string {
  return execFileSync('git', ['-C', repo.path, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: env['PATH'], HOME: repo.path, GIT_CONFIG_NOSYSTEM: '1' },
  }).trim();
}

const phaseOf = (name: string): unknown => world.app(name)?.status?.sourceHydrator?.['currentOperation'];

describe('a hydrated Application', () => {
  it(
    'is rendered, committed to its branch and deployed, and follows the dry branch',
    async () => {
      const dry = repo.commit({ 'app/a.yaml': config('a') });
      await world.replica(hydration);
      world.application('demo', hydrator('demo'));
      const app = await world.until('demo', synced, withinMs);
      const wet = git('rev-parse', 'env/prod');
      expect(app.status?.sync?.revision).toBe(wet);
      expect(app.status?.sourceHydrator).toMatchObject({
        currentOperation: { phase: 'Hydrated', drySHA: dry, hydratedSHA: wet },
        lastSuccessfulOperation: { drySHA: dry, hydratedSHA: wet },
      });
      expect(git('show', 'env/prod:demo/manifest.yaml')).toContain('kind: ConfigMap');
      expect(git('notes', '--ref=hydrator.metadata', 'show', wet)).toBe(JSON.stringify({ drySha: dry }));

      const second = repo.commit({ 'app/a.yaml': config('a', '2') });
      world.edit('demo', (object) => {
        Object.assign(object.metadata, { annotations: { 'argocd.argoproj.io/hydrate': 'normal' } });
      });
      await world.until(
        'demo',
        (now) => {
          expect(now.status?.sourceHydrator).toMatchObject({ currentOperation: { phase: 'Hydrated', drySHA: second } });
          expect(now.metadata.annotations?.['argocd.argoproj.io/hydrate']).toBeUndefined();
          expect(now.status?.sync?.revision).toBe(git('rev-parse', 'env/prod'));
          synced(now);
        },
        withinMs,
      );
      expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '2' } });
      expect(git('log', '--format=%s', 'env/prod').split('\n')).toEqual([
        `${second.slice(0, 7)}: change`,
        `${dry.slice(0, 7)}: change`,
        'Initial commit for env/prod',
      ]);
    },
    limitMs,
  );

  it(
    'on the path of an older one is refused, with the name of both, and the older one goes on',
    async () => {
      const dry = repo.commit({ 'app/a.yaml': config('a') });
      await world.replica(hydration);
      // The older one, by at least a second, is not the first by name.
      world.application('two', hydrator('same'));
      const created = Date.parse(world.app('two')?.metadata.creationTimestamp ?? '');
      await eventually(() => {
        expect(phaseOf('two')).toMatchObject({ phase: 'Hydrated', drySHA: dry });
        expect(Date.now()).toBeGreaterThanOrEqual(created + 1000);
      }, withinMs);
      world.application('one', hydrator('same'));
      await eventually(() => {
        const message = expect.stringMatching(/app argocd\/two .*it is older and goes on, app argocd\/one waits$/);
        expect(phaseOf('one')).toMatchObject({ phase: 'Failed', message });
        expect(phaseOf('two')).toMatchObject({ phase: 'Hydrated', drySHA: dry });
      }, withinMs);
      expect(git('show', 'env/prod:same/manifest.yaml')).toContain('kind: ConfigMap');
    },
    limitMs,
  );
});

it(
  'two replicas hydrate a group once',
  async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    for (const index of [0, 1])
      await world.replica(hydration, { dynamic: false, hostname: `test-${index}`, replicas: 2 });
    for (const name of ['one', 'two', 'three']) world.application(name, hydrator(name));
    await eventually(() => {
      for (const name of ['one', 'two', 'three']) expect(phaseOf(name)).toMatchObject({ phase: 'Hydrated' });
    }, withinMs);
    const subjects = git('log', '--format=%s', 'env/prod').split('\n');
    // An Application that appears after the first commit joins with a commit of its own.
    expect(subjects.length).toBeLessThanOrEqual(4);
    expect(subjects.at(-1)).toBe('Initial commit for env/prod');
    expect(git('ls-tree', '-d', '--name-only', 'env/prod').split('\n')).toEqual(['one', 'three', 'two']);
  },
  limitMs,
);
