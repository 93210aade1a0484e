import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf, UsageError } from '#base';
import { startGitServer } from '#sim';
import type { GitServer } from '#sim';
import { toolSamples } from './demo-tools.ts';

const run = promisify(execFile);

/** Bare Git repositories with the samples, which accept pushes. */
export interface SampleRepositories {
  /** URL of a repository by its name. */
  url(name: string): string;
  /** Commits and pushes changes of files: by path, from old to new text. */
  push(name: string, path: string, edit: (text: string) => string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Creates one bare repository per folder of `examples` (and `fleet` with one small application per
 * directory) below `root`. Serves them over HTTP if git can, otherwise by file://.
 */
export async function makeRepositories(root: string, examples: string, fleetSize: number): Promise<SampleRepositories> {
  const bare = join(root, 'repositories');
  mkdirSync(bare, { recursive: true });
  for (const name of ['guestbook', 'waves', 'platform', 'multi', ...toolSamples.map((sample) => sample.name)]) {
    await makeRepository(root, join(bare, `${name}.git`), (tree) =>
      cpSync(join(examples, name), tree, { recursive: true }),
    );
  }
  if (fleetSize > 0)
    await makeRepository(root, join(bare, 'fleet.git'), (tree) => writeFleet(tree, join(examples, 'tiny'), fleetSize));
  const server = await serve(bare);
  return {
    url: (name) => (server === undefined ? `file://${bare}/${name}.git` : `${server.url}/${name}.git`),
    push: (name, path, edit) => pushChange(root, join(bare, `${name}.git`), { path, edit }),
    close: async () => server?.close(),
  };
}

/** The author of the demo's commits. */
const identity = [
  '-c',
  'user.name=Driftless demo',
  '-c',
  'user.email=demo@driftless.invalid',
  '-c',
  'commit.gpgsign=false',
];

async function serve(bare: string): Promise<GitServer | undefined> {
  try {
    return await startGitServer(bare);
  } catch {
    return undefined;
  }
}

async function makeRepository(root: string, bare: string, fill: (tree: string) => void): Promise<void> {
  const tree = join(root, 'tree');
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(tree);
  fill(tree);
  await git(tree, ['init', '-q', '-b', 'main']);
  await git(tree, ['add', '.']);
  await git(tree, [...identity, 'commit', '-q', '-m', 'sample application']);
  await git(root, ['clone', '-q', '--bare', tree, bare]);
  rmSync(tree, { recursive: true, force: true });
}

async function pushChange(
  root: string,
  bare: string,
  { path, edit }: { readonly path: string; readonly edit: (text: string) => string },
): Promise<void> {
  const tree = join(root, 'push');
  rmSync(tree, { recursive: true, force: true });
  await git(root, ['clone', '-q', bare, tree]);
  const file = join(tree, path);
  const [before, after] = [readFileSync(file, 'utf8'), edit(readFileSync(file, 'utf8'))];
  if (after !== before) {
    writeFileSync(file, after);
    await git(tree, [...identity, 'commit', '-q', '-a', '-m', `change ${path}`]);
    await git(tree, ['push', '-q', 'origin', 'HEAD:main']);
  }
  rmSync(tree, { recursive: true, force: true });
}

async function git(cwd: string, args: readonly string[]): Promise<void> {
  try {
    await run('git', [...args], { cwd, env: { ...gitEnvironment(), PATH: process.env['PATH'] ?? '' } });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ENOENT')
      throw new UsageError('git is not on PATH: install it');
    throw new Error(`git ${args[0] ?? ''} failed: ${messageOf(error)}`, { cause: error });
  }
}

/** Ignore the user's Git configuration (hooks, signing, templates) for the demo's commits. */
function gitEnvironment(): Record<string, string> {
  return { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0', HOME: '/nonexistent' };
}

/**
 * Creates `app-000`, `app-001` and so on from the template, with the number in place of `NUMBER`.
 */
function writeFleet(tree: string, template: string, size: number): void {
  for (let i = 0; i < size; i += 1) {
    const number = fleetNumber(i);
    const folder = join(tree, `app-${number}`);
    mkdirSync(folder);
    for (const name of readdirSync(template)) {
      writeFileSync(join(folder, name), readFileSync(join(template, name), 'utf8').replaceAll('NUMBER', number));
    }
  }
}

export function fleetNumber(index: number): string {
  return String(index).padStart(3, '0');
}
