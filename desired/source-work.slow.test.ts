import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, describe, expect, it } from '@jest/globals';
import { DeadlineExceeded, seededRandom, Shutdown, systemClock } from '#base';
import { FakeClock } from '#support';
import { createLogger } from '#telemetry';
import { createDesiredSource, createInProcessRunner } from './index.ts';
import type { CommandRunner } from './index.ts';
import { failureOf } from './testing/repository.ts';
import {
  GitFixture,
  configMapYaml,
  gitSource,
  namesOf,
  neverAborted,
  removeTemporaryFolders,
  sourceBench,
  temporaryFolder,
} from './testing/source-bench.ts';
import type { RanCommand } from './testing/source-bench.ts';
import { renderedAgain } from './testing/request.ts';

afterEach(removeTemporaryFolders);

describe('work and time', () => {
  const hang =
    (command: string) =>
    (runner: CommandRunner): CommandRunner => ({
      runCommand: (argv, options) =>
        argv.includes(command)
          ? new Promise((_resolve, reject) => {
              options.signal.addEventListener('abort', () => reject(options.signal.reason as Error), { once: true });
            })
          : runner.runCommand(argv, options),
    });

  // T-REPO-2
  it('costs only its own caller a deadline if a remote never answers', async () => {
    const repo = new GitFixture();
    const sha = repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const clock = new FakeClock();
    const { render, ran } = sourceBench({}, hang('ls-remote'), clock);
    const stuck = failureOf(render(repo.path, { revision: 'main' }));
    while (!ran.some(({ argv }) => argv.includes('ls-remote'))) await new Promise((resolve) => setImmediate(resolve));
    expect((await render(repo.path, { revision: sha })).revision).toBe(sha);
    await clock.advance(60_000);
    expect(await stuck).toBeInstanceOf(DeadlineExceeded);
    expect(clock.pending).toBe(0);
  });

  it('lets a fetch that outlasts its callers finish once, for later callers', async () => {
    const repo = new GitFixture();
    const sha = repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const clock = new FakeClock();
    let arrive: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => (arrive = resolve));
    const { render, ran, count } = sourceBench(
      {},
      (runner) => ({
        runCommand: async (argv, options) => {
          if (argv.includes('fetch')) await slow;
          return runner.runCommand(argv, options);
        },
      }),
      clock,
    );
    const early = failureOf(render(repo.path, { revision: sha }));
    while (!ran.some(({ argv }) => argv.includes('fetch'))) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(60_000);
    expect(await early).toBeInstanceOf(DeadlineExceeded);
    const late = render(repo.path, { revision: sha });
    arrive();
    expect((await late).revision).toBe(sha);
    expect(count('fetch')).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it('stops the work when the last caller has left, and not before', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const { source, ran } = sourceBench({}, hang('ls-remote'));
    const [one, two] = [new AbortController(), new AbortController()];
    const ask = (signal: AbortSignal): Promise<Error> =>
      failureOf(source.resolve(gitSource(repo.path, 'main'), 'cached', signal));
    const waiting = [ask(one.signal), ask(two.signal)];
    const listing = (): RanCommand | undefined => ran.find(({ argv }) => argv.includes('ls-remote'));
    while (listing() === undefined) await new Promise((resolve) => setImmediate(resolve));
    one.abort(new Shutdown('first'));
    expect((await waiting[0])?.message).toBe('first');
    expect(listing()?.options.signal.aborted).toBe(false);
    two.abort(new Shutdown('second'));
    expect((await waiting[1])?.message).toBe('second');
    expect(listing()?.options.signal.aborted).toBe(true);
  });

  it('stops all work when it is stopped', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const { source, ran } = sourceBench({}, hang('ls-remote'));
    const stop = new AbortController();
    const running = source.run(stop.signal);
    const stuck = failureOf(source.resolve(gitSource(repo.path, 'main'), 'cached', neverAborted));
    while (!ran.some(({ argv }) => argv.includes('ls-remote'))) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Shutdown());
    await running;
    expect(await stuck).toBeInstanceOf(Shutdown);
  });

  it('does not cache failures: the next call is a new attempt', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    let broken = true;
    const { render } = sourceBench({}, (runner) => ({
      runCommand: (argv, options) => {
        if (broken && argv.includes('fetch'))
          return Promise.resolve({
            exitCode: 128,
            stdout: new Uint8Array(),
            stderr: 'fatal: Could not resolve host: git.example.com',
          });
        return runner.runCommand(argv, options);
      },
    }));
    expect((await failureOf(render(repo.path))).message).toMatch(
      /^failed to fetch [0-9a-f]{40}: Could not resolve host/,
    );
    broken = false;
    expect(namesOf(await render(repo.path))).toEqual(['a']);
  });

  it('recovers from a damaged mirror, a stale lock, and a restart', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const made = sourceBench();
    await made.render(repo.path);
    const mirrors = join(made.cacheDir, 'git');
    const mirror = join(mirrors, readdirSync(mirrors)[0] ?? '');
    writeFileSync(join(mirror, 'shallow.lock'), '');
    const second = repo.write({ 'a.yaml': configMapYaml('a', '2') }).commit();
    expect((await made.render(repo.path, { revision: second })).objects[0]?.['data']).toEqual({ value: '2' });
    rmSync(join(mirror, 'objects'), { recursive: true });
    mkdirSync(join(mirror, 'objects'));
    expect(namesOf(await made.render(repo.path, { revision: second, cache: renderedAgain }))).toEqual(['a']);
    const third = repo.write({ 'a.yaml': configMapYaml('a', '3') }).commit();
    rmSync(mirror, { recursive: true });
    expect(namesOf(await made.render(repo.path, { revision: second, cache: renderedAgain }))).toEqual(['a']);
    expect((await made.render(repo.path, { revision: third })).revision).toBe(third);
  });

  it('cleans up old commits and can still fetch them', async () => {
    const repo = new GitFixture();
    const shas: string[] = [];
    for (let i = 0; i < 10; i += 1) shas.push(repo.write({ 'a.yaml': configMapYaml('a', String(i)) }).commit());
    const { render, count } = sourceBench({ fetchesPerCleanup: 6 });
    for (const sha of shas) await render(repo.path, { revision: sha });
    expect(count('gc')).toBe(1);
    const old = await render(repo.path, { revision: shas[0] ?? '', cache: renderedAgain });
    expect(old.objects[0]?.['data']).toEqual({ value: '0' });
  });
});

describe('a seeded source', () => {
  it('works with repeatable random numbers', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const cacheDir = temporaryFolder();
    const source = createDesiredSource({
      clock: systemClock,
      random: seededRandom(1),
      logger: createLogger({ level: 'error', format: 'json' }),
      cacheDir,
      commands: createInProcessRunner({ clock: systemClock, env }),
    });
    expect(await source.resolve(gitSource(`file://${repo.path}`, 'main'), 'cached', neverAborted)).toMatch(
      /^[0-9a-f]{40}$/,
    );
  });
});
