import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import { systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { ApplicationSource } from '#model';
import { headOf, initRepository } from '#support';
import { silentLogger } from '#telemetry';
import { createInProcessRunner } from '../command/in-process.ts';
import { createToolLookup } from '../command/lookup.ts';
import type { ToolLookup } from '../command/lookup.ts';
import type { CommandRunner } from '../command/types.ts';
import { programsFrom } from '../render/environment.ts';
import { createInProcessRenderer } from '../render/in-process.ts';
import type { Renderer } from '../render/types.ts';
import { createDesiredSource } from '../assembly.ts';
import type { DesiredSourceDeps } from '../assembly.ts';
import type { DesiredSource, ManifestsRequest, SourceManifests } from '../types.ts';
import { renderOne, requestOf } from './request.ts';

/** helm and kustomize of this machine, or those built by `npm run e2e:setup`. */
export const machineTools = createToolLookup({
  path: env['PATH'],
  folders: [join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'driftless', 'e2e')],
});

/** A real Git repository in a temporary folder. */
export class TestRepository {
  readonly path: string;

  constructor(root: string, files: Readonly<Record<string, string>> = {}) {
    this.path = mkdtempSync(join(root, 'repo-'));
    initRepository(this.path);
    this.commit(files);
  }

  commit(files: Readonly<Record<string, string>>): string {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), content);
    }
    return this.save();
  }

  link(name: string, target: string): string {
    mkdirSync(dirname(join(this.path, name)), { recursive: true });
    symlinkSync(target, join(this.path, name));
    return this.save();
  }

  save(): string {
    this.git('add', '--all', '--force');
    this.git('commit', '--quiet', '--allow-empty', '-m', 'change');
    return headOf(this.path);
  }

  git(...args: string[]): string {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    return execFileSync('git', ['-C', this.path, ...who, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: env['PATH'], HOME: this.path, GIT_CONFIG_NOSYSTEM: '1' },
    }).trim();
  }
}

/** A renderer without isolation, with the programs of this machine. */
export function testRenderer(folder: string, commands: CommandRunner, tools: ToolLookup = machineTools): Renderer {
  return createInProcessRenderer({ commands, programs: programsFrom(tools), folder, random: systemRandom });
}

export interface RenderBenchDeps extends Partial<DesiredSourceDeps> {
  /** Replaces the programs of this machine. */
  readonly tools?: ToolLookup;
}

export interface RenderBench {
  readonly root: string;
  readonly desired: DesiredSource;
  /** The argv of every program that ran. */
  readonly ran: (readonly string[])[];
  /** The number of runs of a program with this argument. */
  readonly count: (program: string, word: string) => number;
  readonly repository: (files: Readonly<Record<string, string>>) => TestRepository;
  readonly render: (
    repository: TestRepository,
    source: Partial<ApplicationSource>,
    more?: Partial<ManifestsRequest> & { readonly revision?: string },
    signal?: AbortSignal,
  ) => Promise<SourceManifests>;
  readonly close: () => void;
}

/** The embedded generator with real programs and its own cache. */
export function renderBench({ tools, ...over }: RenderBenchDeps = {}): RenderBench {
  const root = mkdtempSync(join(tmpdir(), 'render-'));
  const ran: (readonly string[])[] = [];
  const runner = createInProcessRunner({ clock: systemClock, env });
  const commands: CommandRunner = {
    runCommand: (argv, options) => {
      ran.push(argv);
      return runner.runCommand(argv, options);
    },
  };
  const desired = createDesiredSource({
    clock: systemClock,
    reach: { allowLocal: true },
    random: systemRandom,
    logger: silentLogger,
    commands,
    cacheDir: join(root, 'cache'),
    renderer: testRenderer(join(root, 'staging'), commands, tools),
    ...over,
  });
  return {
    root,
    desired,
    ran,
    count: (program, word) => ran.filter((argv) => argv[0]?.endsWith(`/${program}`) && argv.includes(word)).length,
    repository: (files) => new TestRepository(root, files),
    render: (repository, source, more = {}, signal = new AbortController().signal) =>
      renderOne(
        desired,
        requestOf({ repoURL: repository.path, path: '.', ...source }, bareRepository(repository.path), more),
        signal,
      ),
    close: () => rmSync(root, { recursive: true, force: true }),
  };
}

export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not fail');
}
