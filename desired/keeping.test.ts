import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Shutdown, systemClock } from '#base';
import { bareRepository } from '#model';
import { eventually, FakeClock } from '#support';
import { failureOf, renderBench } from './testing/repository.ts';
import type { RenderBench } from './testing/repository.ts';
import { requestOf } from './testing/request.ts';
import type { DesiredSourceDeps } from './source.ts';

const opened: RenderBench[] = [];
afterEach(() => {
  for (const bench of opened.splice(0)) bench.close();
});

function bench(over: Partial<DesiredSourceDeps> = {}): RenderBench {
  const made = renderBench(over);
  opened.push(made);
  return made;
}

const configMap = (name: string, value = 'x'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {key: ${JSON.stringify(value)}, big: "9007199254740993"}\nspec: {limit: 9007199254740993}\n`;

const gitRuns = (made: RenderBench, word: string): number => made.ran.filter((argv) => argv.includes(word)).length;

describe('rendered manifests on disk', () => {
  it('10.3: are found again after a restart, unharmed, and by no other version of the program', async () => {
    const first = bench({ version: '1' });
    const repository = first.repository({ 'app/a.yaml': configMap('a'), 'app/b.yaml': configMap('b') });
    const source = { path: 'app' };
    const before = await first.render(repository, source);
    const cacheDir = join(first.root, 'cache');
    const again = bench({ version: '1', cacheDir });
    expect(await again.render(repository, source)).toEqual(before);
    expect(gitRuns(again, 'cat-file')).toBe(0);
    const files = readdirSync(join(cacheDir, 'rendered'));
    expect(files).toHaveLength(1);
    expect(statSync(join(cacheDir, 'rendered', files[0] ?? '')).mode & 0o777).toBe(0o600);
    const other = bench({ version: '2', cacheDir });
    expect(await other.render(repository, source)).toEqual(before);
    expect(gitRuns(other, 'cat-file')).toBe(1);
  });

  it('10.3: what somebody changed, or cut off, is rendered again (T-REV-3); so is what is older than a day', async () => {
    const clock = new FakeClock();
    const first = bench({ clock });
    const repository = first.repository({ 'app/a.yaml': configMap('a') });
    const before = await first.render(repository, { path: 'app' });
    const cacheDir = join(first.root, 'cache');
    const [name = ''] = readdirSync(join(cacheDir, 'rendered'));
    const path = join(cacheDir, 'rendered', name);
    const whole = readFileSync(path);
    for (const bad of [Buffer.alloc(0), whole.subarray(0, whole.length - 3), Buffer.concat([whole, whole])]) {
      writeFileSync(path, bad);
      const again = bench({ clock, cacheDir });
      expect(await again.render(repository, { path: 'app' })).toEqual(before);
      expect(gitRuns(again, 'cat-file')).toBe(1);
    }
    await clock.advance(25 * 3_600_000);
    const late = bench({ clock, cacheDir });
    await late.render(repository, { path: 'app' });
    expect(gitRuns(late, 'cat-file')).toBe(1);
    await clock.advance(25 * 3_600_000);
    await late.render(repository, { path: 'app' });
    expect(gitRuns(late, 'cat-file')).toBe(2);
  });

  it('10.3: are bounded; what was used last stays', async () => {
    const noise = (seed: number): string =>
      Array.from({ length: 400 }, (_, i) => ((seed * 7919 + i * 104729) % 1_000_003).toString(36)).join('');
    const first = bench({ limits: { renderedDiskBytes: 4500 } });
    const files = Object.fromEntries(['a', 'b', 'c', 'd'].map((n, i) => [`${n}/x.yaml`, configMap(n, noise(i + 1))]));
    const repository = first.repository(files);
    const cacheDir = join(first.root, 'cache');
    for (const path of ['a', 'b', 'c', 'd']) await first.render(repository, { path });
    const sizes = readdirSync(join(cacheDir, 'rendered')).map(
      (name) => statSync(join(cacheDir, 'rendered', name)).size,
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(4500);
    expect(sizes.length).toBeGreaterThan(0);
    const again = bench({ cacheDir });
    await again.render(repository, { path: 'd' });
    expect(gitRuns(again, 'cat-file')).toBe(0);
    await again.render(repository, { path: 'a' });
    expect(gitRuns(again, 'cat-file')).toBe(1);
  });

  it('10.3: a commit outside the path renders nothing, for a directory too, and equal requests are one', async () => {
    const made = bench();
    const repository = made.repository({ 'app/a.yaml': configMap('a'), 'docs/x.md': '1' });
    await Promise.all(Array.from({ length: 20 }, () => made.render(repository, { path: 'app' })));
    expect([gitRuns(made, 'ls-remote'), gitRuns(made, 'fetch'), gitRuns(made, 'cat-file')]).toEqual([1, 1, 1]);
    const second = repository.commit({ 'docs/x.md': '2' });
    const { revision } = await made.render(repository, { path: 'app' }, { noRevisionCache: true });
    expect(revision).toBe(second);
    expect([gitRuns(made, 'ls-remote'), gitRuns(made, 'fetch'), gitRuns(made, 'cat-file')]).toEqual([2, 2, 1]);
  });
});

describe('one push for which many are refreshed', () => {
  it('10.1: is one question, whenever each comes to its turn, but for what was asked after it began (T-REPO-1)', async () => {
    const made = bench();
    const repository = made.repository({ 'app/a.yaml': configMap('a') });
    await made.render(repository, { path: 'app' });
    const pushed = repository.commit({ 'app/a.yaml': configMap('b') });
    const asked = { noRevisionCache: true, revisionsSince: systemClock.monotonic() };
    for (let i = 0; i < 10; i += 1)
      expect((await made.render(repository, { path: 'app' }, asked)).revision).toBe(pushed);
    expect([gitRuns(made, 'ls-remote'), gitRuns(made, 'fetch')]).toEqual([2, 2]);
    const next = repository.commit({ 'app/a.yaml': configMap('c') });
    const later = { noRevisionCache: true, revisionsSince: systemClock.monotonic() };
    expect((await made.render(repository, { path: 'app' }, later)).revision).toBe(next);
    expect((await made.render(repository, { path: 'app' }, { noRevisionCache: true })).revision).toBe(next);
    expect(gitRuns(made, 'ls-remote')).toBe(4);
  });
});

describe('repositories on the local disk', () => {
  it('10.5: are refused before anything runs where they are not allowed', async () => {
    const made = bench({ localRepositories: false });
    const { path } = made.repository({ 'a.yaml': configMap('a') });
    for (const url of [path, `file://${path}`, `file://localhost${path}`]) {
      const request = requestOf({ repoURL: url, path: '.' }, bareRepository(url));
      const error = await failureOf(made.desired.manifests(request, new AbortController().signal));
      expect(error.message).toContain('--allow-local-repositories');
    }
    expect(made.ran).toEqual([]);
  });
});

describe('mirrors on disk', () => {
  const mirrors = (made: RenderBench): string[] => readdirSync(join(made.root, 'cache', 'git'));

  it('10.1, 14.4: beyond their size those go that were not used for longest; they come back when they are asked for', async () => {
    const clock = new FakeClock();
    const made = bench({ clock, limits: { mirrorDiskBytes: 1, refsTtlMs: 0 } });
    const all = ['a', 'b'].map((name) => made.repository({ 'app/x.yaml': configMap(name) }));
    for (const repository of all) {
      await made.render(repository, { path: 'app' });
      await clock.advance(1000);
      // The one that was fetched last stays, however big.
      expect(mirrors(made)).toHaveLength(1);
    }
    const [first] = all;
    if (first === undefined) throw new Error('no repository');
    first.commit({ 'app/x.yaml': configMap('new') });
    const { objects } = await made.render(first, { path: 'app' });
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['new']);
    expect(mirrors(made)).toHaveLength(1);
  });

  it('10.1: those that nobody asks for go with time, also those that another run left', async () => {
    const clock = new FakeClock();
    const made = bench({ clock });
    const [old, used] = [made.repository({ 'x.yaml': configMap('a') }), made.repository({ 'x.yaml': configMap('b') })];
    await made.render(old, {});
    await made.render(used, {});
    expect(mirrors(made)).toHaveLength(2);
    await clock.advance(6 * 24 * 3_600_000);
    await made.render(used, {}, { noCache: true });
    const next = bench({ clock, cacheDir: join(made.root, 'cache') });
    const stop = new AbortController();
    const running = next.desired.run(stop.signal);
    await eventually(() => expect(clock.pending).toBe(1));
    expect(mirrors(made)).toHaveLength(2);
    await clock.advance(2 * 24 * 3_600_000);
    await eventually(() => expect(mirrors(made)).toHaveLength(1));
    const runs = gitRuns(next, 'fetch');
    await next.render(used, {}, { noCache: true });
    expect(gitRuns(next, 'fetch')).toBe(runs);
    stop.abort(new Shutdown());
    await running;
  });

  it('10.1: one that somebody took from disk under us is fetched again', async () => {
    const made = bench();
    const repository = made.repository({ 'x.yaml': configMap('a') });
    await made.render(repository, {});
    rmSync(join(made.root, 'cache', 'git'), { recursive: true });
    expect((await made.render(repository, {}, { noCache: true })).objects).toHaveLength(1);
  });
});

describe('a source that fails again and again', () => {
  it('10.1: is left alone after three failures for an hour, says so, and is tried again at once for another commit', async () => {
    const clock = new FakeClock();
    const made = bench({ clock });
    const repository = made.repository({ 'app/a.json': '{"apiVersion": "v1", "kind":' });
    const fail = async (more = {}): Promise<string> =>
      (await failureOf(made.render(repository, { path: 'app' }, more))).message;
    const first = await fail();
    expect(first).toContain('Failed to unmarshal "app/a.json"');
    expect([await fail(), await fail()]).toEqual([first, first]);
    const reads = gitRuns(made, 'cat-file');
    expect(await fail()).toBe(`Manifest generation error (cached): ${first}`);
    expect(await fail()).toBe(`Manifest generation error (cached): ${first}`);
    expect(gitRuns(made, 'cat-file')).toBe(reads);
    // A hard refresh tries.
    expect(await fail({ noCache: true })).toBe(first);
    expect(await fail()).toBe(`Manifest generation error (cached): ${first}`);
    await clock.advance(3_600_000);
    expect(await fail()).toBe(first);
    repository.commit({ 'app/a.json': '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}' });
    const { objects } = await made.render(repository, { path: 'app' }, { noRevisionCache: true });
    expect(objects).toHaveLength(1);
  });

  it('10.1: a repository that cannot be reached is asked every time', async () => {
    const made = bench({ limits: { refsTtlMs: 0 } });
    const repository = made.repository({ 'app/a.yaml': configMap('a') });
    rmSync(repository.path, { recursive: true });
    for (let i = 0; i < 5; i += 1) {
      const { message } = await failureOf(made.render(repository, { path: 'app' }));
      expect(message).not.toContain('(cached)');
    }
    expect(gitRuns(made, 'ls-remote')).toBe(5);
  });

  it.each([
    [{ pauseAfterFailures: 0 }, 8, 0],
    [{ pauseAfterFailures: 1, pauseRequests: 2 }, 6, 4],
  ])('10.1: as it is set: %j', async (limits, attempts, paused) => {
    const made = bench({ clock: new FakeClock(), limits });
    const repository = made.repository({ 'app/a.json': '{' });
    let cached = 0;
    for (let i = 0; i < attempts; i += 1) {
      const { message } = await failureOf(made.render(repository, { path: 'app' }));
      if (message.includes('(cached)')) cached += 1;
    }
    expect(cached).toBe(paused);
  });
});
