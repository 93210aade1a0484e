import { existsSync, mkdtempSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import { eventually, FakeClock } from '#support';
import { MirrorLost } from '../../errors.ts';
import type { CommandOptions, CommandResult } from '../../command/types.ts';
import { defaultLimits } from '../../limits.ts';
import type { DesiredLimits } from '../../limits.ts';
import { repositoryKey } from '../shared/repository-key.ts';
import { defaultTrust, Git } from './git.ts';
import { GitRepositories } from './git-repositories.ts';

const sha = 'a'.repeat(40);
const none = new AbortController().signal;
const repository = bareRepository('https://git.example.com/team/app');
const other = bareRepository('https://git.example.com/team/other');
const outputs: Readonly<Record<string, string>> = { 'ls-remote': `${sha}\tHEAD\n`, 'rev-parse': `${sha}\n` };

/** A git command that runs until the test ends it. */
interface RunningGit {
  readonly word: string;
  readonly options: CommandOptions;
  readonly end: (failure?: string) => void;
}

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'mirrors-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function mirrorBench(limits: Partial<DesiredLimits> = {}): {
  readonly made: GitRepositories;
  readonly running: RunningGit[];
  readonly clock: FakeClock;
  /** Ends the first running command with this word, and waits for it. */
  readonly end: (word: string) => Promise<void>;
  readonly pass: () => void;
} {
  const clock = new FakeClock();
  const running: RunningGit[] = [];
  const bench = { passing: false };
  const runCommand = (argv: readonly string[], options: CommandOptions): Promise<CommandResult> => {
    const word = ['init', 'ls-remote', 'cat-file', 'rev-parse'].find((one) => argv.includes(one)) ?? '--version';
    const result = { exitCode: word === 'cat-file' ? 128 : 0, stdout: Buffer.from(outputs[word] ?? ''), stderr: '' };
    if (bench.passing || word === 'rev-parse' || word === '--version') return Promise.resolve(result);
    return new Promise((resolve) => {
      const one = {
        word,
        options,
        end: (failure?: string) => {
          running.splice(running.indexOf(one), 1);
          resolve(failure === undefined ? result : { ...result, exitCode: 128, stderr: failure });
        },
      };
      running.push(one);
    });
  };
  const git = new Git({
    commands: { runCommand },
    random: systemRandom,
    cacheDir: root,
    trust: defaultTrust,
    killDelayMs: 7000,
  });
  const made = new GitRepositories({
    clock,
    random: systemRandom,
    cacheDir: root,
    git,
    limits: { ...defaultLimits, ...limits },
  });
  const end = (word: string): Promise<void> =>
    eventually(() => {
      const found = running.find((one) => one.word === word);
      expect(running.map((one) => one.word)).toContain(word);
      found?.end();
    });
  return {
    made,
    running,
    clock,
    end,
    pass: () => {
      bench.passing = true;
      for (const one of [...running]) one.end();
    },
  };
}

const folderOf = (of = repository): string => join(root, 'git', repositoryKey(of));
const words = (running: readonly RunningGit[]): string[] => running.map(({ word }) => word);
const turns = async (): Promise<void> => {
  for (let i = 0; i < 5; i += 1) {
    // Files are read by the thread pool: a turn of the event loop alone may end before them.
    await stat(root);
    await new Promise((resolve) => setImmediate(resolve));
  }
};

/** So many files that their removal takes a while. */
const junkFiles = 200;
function fill(folder: string): void {
  for (let i = 0; i < junkFiles; i += 1) writeFileSync(join(folder, `junk-${i}`), '');
}
async function removalOf(folder: string): Promise<void> {
  while (existsSync(folder) && readdirSync(folder).length >= junkFiles)
    await new Promise((resolve) => setImmediate(resolve));
}

describe('the mirror of a repository', () => {
  it('is prepared by one git init, whether a listing or a fetch needs it first', async () => {
    const { made, running, pass } = mirrorBench();
    const mirror = made.of(repository);
    const both = Promise.all([mirror.resolve('HEAD', undefined, none), mirror.ensureCommit(sha, none)]);
    await eventually(() => expect(words(running)).toEqual(['init']));
    await turns();
    expect(words(running)).toEqual(['init']);
    running[0]?.end();
    await eventually(() => expect(words(running)).toEqual(['ls-remote']));
    for (let i = 0; i < 10; i += 1) await turns();
    expect(words(running)).toEqual(['ls-remote']);
    pass();
    expect(await both).toEqual([sha, sha]);
  });

  it('is prepared for a request only after its removal has ended, and stays from then on', async () => {
    const { made, running, clock, end, pass } = mirrorBench({ mirrorAgeMs: 1000 });
    const mirror = made.of(repository);
    const fetched = mirror.ensureCommit(sha, none);
    await end('init');
    await fetched;
    await mirror.tree(sha, false, none).catch(() => undefined);
    fill(folderOf());
    await clock.advance(2000);
    const removed = made.tidy();
    await removalOf(folderOf());
    const listed = mirror.resolve('HEAD', undefined, none);
    await eventually(() => expect(words(running)).toEqual(['init']));
    expect(readdirSync(folderOf())).toEqual([]);
    await removed;
    expect(existsSync(folderOf())).toBe(true);
    pass();
    expect(await listed).toBe(sha);
  });

  it('that is broken is removed only after the listing that runs in it', async () => {
    const { made, running, end, pass } = mirrorBench();
    const mirror = made.of(repository);
    const listed = mirror.resolve('HEAD', undefined, none);
    await end('init');
    await eventually(() => expect(words(running)).toEqual(['ls-remote']));
    const lost = mirror.examine(['cat-file', '-e', sha], 'a commit', { signal: none }).catch((error: unknown) => error);
    await eventually(() => expect(words(running)).toEqual(['ls-remote', 'cat-file']));
    running[1]?.end();
    for (let i = 0; i < 50; i += 1) await turns();
    expect(existsSync(folderOf())).toBe(true);
    pass();
    expect(await listed).toBe(sha);
    expect(await lost).toBeInstanceOf(MirrorLost);
    expect(existsSync(folderOf())).toBe(false);
  });

  it('of an earlier run is prepared only after its removal has ended', async () => {
    mkdirSync(folderOf(), { recursive: true });
    fill(folderOf());
    const { made, running, clock, pass } = mirrorBench({ mirrorAgeMs: 1 });
    await clock.advance(systemClock.now() + 3_600_000 - clock.now());
    const tidied = made.tidy();
    await removalOf(folderOf());
    const listed = made.of(repository).resolve('HEAD', undefined, none);
    await eventually(() => expect(words(running)).toEqual(['init']));
    expect(readdirSync(folderOf())).toEqual([]);
    await tidied;
    expect(existsSync(folderOf())).toBe(true);
    pass();
    expect(await listed).toBe(sha);
  });

  it('of an earlier run stays if a request for it comes before its removal', async () => {
    for (const one of [repository, other]) mkdirSync(folderOf(one), { recursive: true });
    const { made, running, clock, pass } = mirrorBench({ mirrorAgeMs: 1 });
    await clock.advance(systemClock.now() + 3_600_000 - clock.now());
    const listed = made.of(repository).resolve('HEAD', undefined, none);
    await eventually(() => expect(words(running)).toEqual(['init']));
    await made.tidy();
    expect([existsSync(folderOf()), existsSync(folderOf(other))]).toEqual([true, false]);
    pass();
    expect(await listed).toBe(sha);
  });
});

describe('the listing of refs', () => {
  const retry = { attempts: 3, firstDelayMs: 1000, factor: 2, maxDelayMs: 0 };

  it('is attempted again as configured, after the delay of a lost connection', async () => {
    const { made, running, clock, end, pass } = mirrorBench({ gitRetry: retry });
    const listed = made.of(repository).resolve('HEAD', undefined, none);
    await end('init');
    await eventually(() => expect(words(running)).toEqual(['ls-remote']));
    running[0]?.end('fatal: unable to access: Connection reset by peer');
    await turns();
    expect(words(running)).toEqual([]);
    await clock.advance(1000);
    await eventually(() => expect(words(running)).toEqual(['ls-remote']));
    running[0]?.end('fatal: Authentication failed');
    await eventually(() => expect(words(running)).toEqual(['ls-remote']));
    pass();
    expect(await listed).toBe(sha);
  });

  it.each([
    ['https://git.example.com/a', 15_000],
    ['git@git.example.com:a', defaultLimits.fetchTimeoutMs],
  ])('of %s has a timeout of %i ms per attempt, and time to end', async (url, timeoutMs) => {
    const { made, running, end, pass } = mirrorBench({ gitRequestTimeoutMs: 15_000 });
    const listed = made.of(bareRepository(url)).resolve('HEAD', undefined, none);
    await end('init');
    await eventually(() => expect(words(running)).toEqual(['ls-remote']));
    expect(running[0]?.options).toMatchObject({ timeoutMs, killDelayMs: 7000 });
    pass();
    expect(await listed).toBe(sha);
  });

  it('runs for as many repositories at once as configured', async () => {
    const { made, running, end, pass } = mirrorBench({ listParallelism: 1 });
    const both = [repository, other].map((one) => made.of(one).resolve('HEAD', undefined, none));
    await end('init');
    await end('init');
    await eventually(() => expect(words(running)).toEqual(['ls-remote']));
    for (let i = 0; i < 10; i += 1) await turns();
    expect(words(running)).toEqual(['ls-remote']);
    running[0]?.end();
    await eventually(() => expect(words(running)).toEqual(['ls-remote']));
    pass();
    expect(await Promise.all(both)).toEqual([sha, sha]);
  });
});
