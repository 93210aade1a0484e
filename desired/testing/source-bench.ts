import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import { systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { ApplicationSource } from '#model';
import { createLogger } from '#telemetry';
import type { Tracer } from '#telemetry';
import { createDesiredSource, createInProcessRunner } from '../index.ts';
import type {
  CachePolicy,
  CommandOptions,
  CommandRunner,
  DesiredLimits,
  DesiredSource,
  RequestedSource,
  SourceManifests,
} from '../index.ts';
import { renderOne, requestOf } from './request.ts';

export const neverAborted = new AbortController().signal;
const cleanups: (() => void)[] = [];

/** Removes the temporary folders; call it after each test. */
export function removeTemporaryFolders(): void {
  for (const clean of cleanups.splice(0)) clean();
}

export function temporaryFolder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'desired-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A real repository in a temporary directory. */
export class GitFixture {
  readonly path = temporaryFolder();
  #commits = 0;

  constructor() {
    this.git('init', '--quiet', '--initial-branch=main');
  }

  git(...args: string[]): string {
    this.#commits += 1;
    const date = `2026-01-01T00:00:${String(this.#commits % 60).padStart(2, '0')}Z`;
    return execFileSync('git', ['-C', this.path, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: env['PATH'],
        HOME: this.path,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'a',
        GIT_AUTHOR_EMAIL: 'a@example.com',
        GIT_COMMITTER_NAME: 'a',
        GIT_COMMITTER_EMAIL: 'a@example.com',
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_DATE: date,
      },
    }).trim();
  }

  write(files: Readonly<Record<string, string | Uint8Array>>): this {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), content);
    }
    return this;
  }

  link(name: string, target: string): this {
    mkdirSync(dirname(join(this.path, name)), { recursive: true });
    symlinkSync(target, join(this.path, name));
    return this;
  }

  /** Commits an entry that cannot exist in a working tree. */
  forge(mode: string, path: string, content: string): string {
    const oid = execFileSync('git', ['-C', this.path, 'hash-object', '-w', '--stdin'], {
      input: content,
      encoding: 'utf8',
    });
    this.git('update-index', '--add', '--cacheinfo', `${mode},${oid.trim()},${path}`);
    this.git('commit', '--quiet', '-m', 'forged');
    return this.git('rev-parse', 'HEAD');
  }

  commit(message = 'change'): string {
    this.git('add', '--all', '--force');
    this.git('commit', '--quiet', '--allow-empty', '-m', message);
    return this.git('rev-parse', 'HEAD');
  }
}

export interface RanCommand {
  readonly argv: readonly string[];
  readonly options: CommandOptions;
}

export interface SourceBench {
  readonly source: DesiredSource;
  readonly ran: RanCommand[];
  readonly cacheDir: string;
  readonly count: (command: string) => number;
  readonly render: (
    url: string,
    more?: Partial<ApplicationSource> & { revision?: string; cache?: CachePolicy; app?: string },
  ) => Promise<SourceManifests>;
}

export function sourceBench(
  limits: Partial<DesiredLimits> = {},
  wrap: (runner: CommandRunner) => CommandRunner = (r) => r,
  clock = systemClock,
  tracer?: Tracer,
): SourceBench {
  const cacheDir = temporaryFolder();
  const ran: RanCommand[] = [];
  const inner = wrap(createInProcessRunner({ clock: systemClock, env }));
  const commands: CommandRunner = {
    runCommand: (argv, options) => {
      ran.push({ argv, options });
      return inner.runCommand(argv, options);
    },
  };
  const logger = createLogger({ level: 'error', format: 'json' });
  const reach = { allowLocal: true, find: () => Promise.resolve(['203.0.113.7']) };
  const source = createDesiredSource({
    clock,
    random: systemRandom,
    logger,
    tracer,
    cacheDir,
    commands,
    limits,
    reach,
  });
  return {
    source,
    ran,
    cacheDir,
    count: (command) => ran.filter(({ argv }) => argv.includes(command)).length,
    render: (url, more = {}) => {
      const { revision = '', cache, app = 'app', ...rest } = more;
      const request = { revision, ...(cache === undefined ? {} : { cache }), appName: app };
      return renderOne(
        source,
        requestOf({ repoURL: url, path: '.', ...rest }, bareRepository(url), request),
        neverAborted,
      );
    },
  };
}

export const gitSource = (url: string, revision: string): RequestedSource => ({
  source: { repoURL: url, path: '.' },
  repository: bareRepository(url),
  revision,
});
export const configMapYaml = (name: string, value = 'x'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  value: "${value}"\n`;
export const namesOf = (manifests: SourceManifests): (string | undefined)[] =>
  manifests.objects.map((o) => o.metadata.name);
