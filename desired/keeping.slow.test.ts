import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { omit, Shutdown, systemClock } from '#base';
import { bareRepository } from '#model';
import { eventually, FakeClock, signalOf } from '#support';
import { chartArchive, startWebServer } from './testing/index.ts';
import { defaultLimits } from './limits.ts';
import { failureOf, renderBench } from './testing/repository.ts';
import type { RenderBench } from './testing/repository.ts';
import { currentRevision, renderOne, renderedAgain, requestOf } from './testing/request.ts';
import type { DesiredSourceDeps } from './assembly.ts';

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
  it('are used after a restart, intact, and by no other version of the program', async () => {
    const first = bench({ version: '1' });
    const repository = first.repository({ 'app/a.yaml': configMap('a'), 'app/b.yaml': configMap('b') });
    const source = { path: 'app' };
    const rendered = async (made: RenderBench): Promise<object> =>
      omit(await made.render(repository, source), 'contentId');
    const before = await rendered(first);
    const cacheDir = join(first.root, 'cache');
    const again = bench({ version: '1', cacheDir });
    expect(await rendered(again)).toEqual(before);
    expect(gitRuns(again, 'cat-file')).toBe(0);
    const files = readdirSync(join(cacheDir, 'rendered'));
    expect(files).toHaveLength(1);
    expect(statSync(join(cacheDir, 'rendered', files[0] ?? '')).mode & 0o777).toBe(0o600);
    const other = bench({ version: '2', cacheDir });
    expect(await rendered(other)).toEqual(before);
    expect(gitRuns(other, 'cat-file')).toBe(1);
  });

  // T-REV-3
  it('are rendered again if the file was changed or truncated, or is older than a day', async () => {
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

  it('are bounded, and the most recently used stay', async () => {
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

  it('are reused after a commit outside the path, and equal requests share one render', async () => {
    const made = bench();
    const repository = made.repository({ 'app/a.yaml': configMap('a'), 'docs/x.md': '1' });
    await Promise.all(Array.from({ length: 20 }, () => made.render(repository, { path: 'app' })));
    expect([gitRuns(made, 'ls-remote'), gitRuns(made, 'fetch'), gitRuns(made, 'cat-file')]).toEqual([1, 1, 1]);
    const second = repository.commit({ 'docs/x.md': '2' });
    const { revision } = await made.render(repository, { path: 'app' }, { cache: currentRevision });
    expect(revision).toBe(second);
    expect([gitRuns(made, 'ls-remote'), gitRuns(made, 'fetch'), gitRuns(made, 'cat-file')]).toEqual([2, 2, 1]);
  });
});

describe('one push that refreshes many applications', () => {
  // T-REPO-1
  it('is resolved once, except for requests that are made after the query started', async () => {
    const made = bench();
    const repository = made.repository({ 'app/a.yaml': configMap('a') });
    await made.render(repository, { path: 'app' });
    const pushed = repository.commit({ 'app/a.yaml': configMap('b') });
    const asked = { cache: { revision: { notBefore: systemClock.monotonic() }, manifests: 'cached' } } as const;
    for (let i = 0; i < 10; i += 1)
      expect((await made.render(repository, { path: 'app' }, asked)).revision).toBe(pushed);
    expect([gitRuns(made, 'ls-remote'), gitRuns(made, 'fetch')]).toEqual([2, 2]);
    const next = repository.commit({ 'app/a.yaml': configMap('c') });
    const later = { cache: { revision: { notBefore: systemClock.monotonic() }, manifests: 'cached' } } as const;
    expect((await made.render(repository, { path: 'app' }, later)).revision).toBe(next);
    expect((await made.render(repository, { path: 'app' }, { cache: currentRevision })).revision).toBe(next);
    expect(gitRuns(made, 'ls-remote')).toBe(4);
  });
});

it('resolves a repeated request again once its first answer is too old', async () => {
  const clock = new FakeClock();
  const made = bench({ clock });
  const repository = made.repository({ 'app/a.yaml': configMap('a') });
  const asked = { cache: { revision: { notBefore: clock.monotonic() }, manifests: 'cached' } } as const;
  await clock.advance(1);
  await made.render(repository, { path: 'app' }, asked);
  const pushed = repository.commit({ 'app/a.yaml': configMap('b') });
  await clock.advance(defaultLimits.refsTtlMs);
  expect((await made.render(repository, { path: 'app' }, asked)).revision).toBe(pushed);
});

describe('repositories on the local disk', () => {
  it('are refused before anything runs if they are not allowed', async () => {
    const made = bench({ localRepositories: false, optionNames: { localRepositories: 'theOption' } });
    const { path } = made.repository({ 'a.yaml': configMap('a') });
    for (const url of [path, `file://${path}`, `file://localhost${path}`]) {
      const request = requestOf({ repoURL: url, path: '.' }, bareRepository(url));
      const error = await failureOf(made.desired.manifests(request, new AbortController().signal));
      expect(error.message).toContain('it points to the local disk (theOption allows that)');
    }
    expect(made.ran).toEqual([]);
  });
});

describe('caches on disk', () => {
  it('are readable only by the user of the controller: folders have mode 0700, our files 0600', async () => {
    const made = bench();
    const server = await startWebServer();
    try {
      server.pages.set('/index.yaml', {
        body: 'apiVersion: v1\nentries: {web: [{name: web, version: 1.0.0, urls: [web.tgz]}]}',
      });
      server.pages.set('/web.tgz', { body: chartArchive('web', '1.0.0') });
      await made.render(made.repository({ 'a.yaml': configMap('a') }), {});
      const chart = { repoURL: server.url, chart: 'web', targetRevision: '1.0.0' };
      // Even without helm, the chart is downloaded.
      const asked = requestOf(chart, { ...bareRepository(server.url), type: 'helm' });
      await renderOne(made.desired, asked, new AbortController().signal).catch(() => undefined);
    } finally {
      await server.close();
    }
    const root = join(made.root, 'cache');
    const modeOf = (path: string): number => statSync(path).mode & 0o777;
    expect(modeOf(root)).toBe(0o700);
    const folders = readdirSync(root);
    expect(folders).toEqual(expect.arrayContaining(['archives', 'git', 'home', 'rendered']));
    for (const folder of folders) expect([folder, modeOf(join(root, folder))]).toEqual([folder, 0o700]);
    for (const mirror of readdirSync(join(root, 'git'))) expect(modeOf(join(root, 'git', mirror))).toBe(0o700);
    const files = ['archives', 'rendered'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
    );
    const ours = files.filter((path) => statSync(path).isFile());
    expect(ours.length).toBeGreaterThan(1);
    for (const path of ours) expect([path, modeOf(path)]).toEqual([path, 0o600]);
  });
});

describe('mirrors on disk', () => {
  const mirrors = (made: RenderBench): string[] => readdirSync(join(made.root, 'cache', 'git'));

  it('are deleted above the size limit, least recently used first, and fetched again on request', async () => {
    const clock = new FakeClock();
    const made = bench({ clock, limits: { mirrorDiskBytes: 1, refsTtlMs: 0 } });
    const all = ['a', 'b'].map((name) => made.repository({ 'app/x.yaml': configMap(name) }));
    for (const repository of all) {
      await made.render(repository, { path: 'app' });
      await clock.advance(1000);
      // The most recently fetched mirror stays, however big.
      expect(mirrors(made)).toHaveLength(1);
    }
    const [first] = all;
    if (first === undefined) throw new Error('no repository');
    first.commit({ 'app/x.yaml': configMap('new') });
    const { objects } = await made.render(first, { path: 'app' });
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['new']);
    expect(mirrors(made)).toHaveLength(1);
  });

  it('of other projects stay while one project fetches more than the disk has', async () => {
    const probe = bench({});
    const [sample] = [probe.repository({ 'app/x.yaml': configMap('a') })];
    await probe.render(sample, { path: 'app' });
    const [folder = ''] = mirrors(probe);
    const bytes = readdirSync(join(probe.root, 'cache', 'git', folder), { recursive: true, encoding: 'utf8' })
      .map((name) => statSync(join(probe.root, 'cache', 'git', folder, name)))
      .reduce((sum, info) => sum + (info.isFile() ? info.size : 0), 0);
    const clock = new FakeClock();
    const made = bench({ clock, limits: { mirrorDiskBytes: Math.floor(4.5 * bytes) } });
    const fetch = async (project: string): Promise<void> => {
      const repository = made.repository({ 'app/x.yaml': configMap('a') });
      await made.render(repository, { path: 'app' }, {}, signalOf({ project, application: '' }));
      await clock.advance(1000);
    };
    await fetch('victim');
    const [victim = ''] = mirrors(made);
    for (let i = 0; i < 6; i += 1) await fetch('hostile');
    expect(mirrors(made)).toContain(victim);
    expect(mirrors(made).length).toBeLessThan(5);
  });

  it('expire when unused, also those that a previous run left', async () => {
    const clock = new FakeClock();
    const made = bench({ clock });
    const [old, used] = [made.repository({ 'x.yaml': configMap('a') }), made.repository({ 'x.yaml': configMap('b') })];
    await made.render(old, {});
    await made.render(used, {});
    expect(mirrors(made)).toHaveLength(2);
    await clock.advance(6 * 24 * 3_600_000);
    await made.render(used, {}, { cache: renderedAgain });
    const next = bench({ clock, cacheDir: join(made.root, 'cache') });
    const stop = new AbortController();
    const running = next.desired.run(stop.signal);
    await eventually(() => expect(clock.pending).toBe(1));
    expect(mirrors(made)).toHaveLength(2);
    await clock.advance(2 * 24 * 3_600_000);
    await eventually(() => expect(mirrors(made)).toHaveLength(1));
    const runs = gitRuns(next, 'fetch');
    await next.render(used, {}, { cache: renderedAgain });
    expect(gitRuns(next, 'fetch')).toBe(runs);
    stop.abort(new Shutdown());
    await running;
  });

  it('are fetched again if they were deleted from disk', async () => {
    const made = bench();
    const repository = made.repository({ 'x.yaml': configMap('a') });
    await made.render(repository, {});
    rmSync(join(made.root, 'cache', 'git'), { recursive: true });
    expect((await made.render(repository, {}, { cache: renderedAgain })).objects).toHaveLength(1);
  });
});

describe('a source that fails again and again', () => {
  it('is paused for an hour after three failures, reports it, and is retried at once for another commit', async () => {
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
    // A hard refresh retries.
    expect(await fail({ cache: renderedAgain })).toBe(first);
    expect(await fail()).toBe(`Manifest generation error (cached): ${first}`);
    await clock.advance(3_600_000);
    expect(await fail()).toBe(first);
    repository.commit({ 'app/a.json': '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}' });
    const { objects } = await made.render(repository, { path: 'app' }, { cache: currentRevision });
    expect(objects).toHaveLength(1);
  });

  it('is retried every time if its repository is unreachable', async () => {
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
  ])('follows its settings: %j', async (limits, attempts, paused) => {
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
