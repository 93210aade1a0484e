import {
  chownSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { chmod, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { RandomSource } from '#base';
import type { CommandResult, CommandRunner } from '../command/types.ts';
import { CommandError, UnsafeInput } from '../errors.ts';
import { stepEnvironment, writableFolders } from './environment.ts';
import type { RenderPrograms } from './environment.ts';
import { checkoutFolder } from './types.ts';
import type { RenderFile, RenderLink, RenderRequest, RenderStep } from './types.ts';

/** Gives each request a folder of its own, and removes it afterwards. */
export class StagingRoot {
  readonly #root: string;
  readonly #random: RandomSource;
  #cleaned: Promise<void> | undefined;

  constructor(deps: { readonly root: string; readonly random: RandomSource }) {
    this.#root = deps.root;
    this.#random = deps.random;
  }

  /**
   * Creates a folder for one request and removes it after `body`. First removes leftovers of a
   * previous process.
   */
  async run<T>(body: (folder: string) => Promise<T>): Promise<T> {
    this.#cleaned ??= rm(this.#root, { recursive: true, force: true }).catch((error: unknown) => {
      this.#cleaned = undefined;
      throw error;
    });
    await this.#cleaned;
    const folder = join(this.#root, this.#random.uuid());
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      return await body(folder);
    } finally {
      await removeFolder(folder);
    }
  }
}

/**
 * A bigger folder is removed asynchronously, because a synchronous removal would block other
 * requests.
 */
const maxSyncEntries = 256;

/** Removes a staging folder, even if a program left read-only folders in it. */
export async function removeFolder(folder: string): Promise<void> {
  if (removeSmallFolder(folder, { entries: maxSyncEntries })) return;
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    await allowRemoval(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Removes a folder with few entries synchronously, which takes a fraction of the CPU time. Returns
 * false, with a part of the folder removed, if it has too many entries or cannot be removed.
 */
function removeSmallFolder(folder: string, left: { entries: number }): boolean {
  try {
    // A tenant's program may have created the link: never follow one.
    if (!lstatSync(folder).isDirectory()) return false;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      left.entries -= 1;
      if (left.entries < 0) return false;
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) unlinkSync(path);
      else if (!removeSmallFolder(path, left)) return false;
    }
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

async function allowRemoval(folder: string): Promise<void> {
  const stats = await lstat(folder);
  if (!stats.isDirectory()) return;
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await allowRemoval(join(folder, entry.name));
}

/** The owner of the staged files, if it is not this process's user. */
export interface StagingOwner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Writes the files of one request. Links come last, so that no file is written through one.
 * Synchronous: the renderer has nothing else to do, and the thread pool costs more than writing a
 * small file.
 */
export class StagingWriter {
  readonly #folder: string;
  readonly #owner: StagingOwner | undefined;
  readonly #made: Set<string>;

  constructor(folder: string, owner?: StagingOwner) {
    this.#folder = folder;
    this.#owner = owner;
    this.#made = new Set([folder]);
  }

  /** Creates the folders that programs may write to. */
  open(): void {
    this.#own(this.#folder);
    for (const name of writableFolders) this.#makeFolder(join(this.#folder, name));
  }

  /** @throws UnsafeInput for a path outside the folder */
  writeFile({ path, content }: RenderFile): void {
    const file = this.openNewFile(path);
    try {
      writeFileSync(file, content);
    } finally {
      closeSync(file);
    }
  }

  /** Opens a new file, which the caller closes. @throws UnsafeInput */
  openNewFile(path: string): number {
    const full = this.#place(path);
    const file = openSync(full, 'wx', 0o600);
    this.#own(full);
    return file;
  }

  /** @throws UnsafeInput for a path or a target outside the folder */
  makeLink({ path, target }: RenderLink): void {
    checkTarget(path, target);
    symlinkSync(target, this.#place(path));
  }

  #place(path: string): string {
    checkStagedPath(path);
    const full = join(this.#folder, path);
    this.#makeFolder(dirname(full));
    return full;
  }

  #makeFolder(folder: string): void {
    if (this.#made.has(folder)) return;
    this.#makeFolder(dirname(folder));
    mkdirSync(folder, { mode: 0o700 });
    this.#own(folder);
    this.#made.add(folder);
  }

  #own(path: string): void {
    if (this.#owner !== undefined) chownSync(path, this.#owner.uid, this.#owner.gid);
  }
}

/** Writes all files and links of a request. @throws UnsafeInput; the reason of `signal` */
export function stageFiles(
  folder: string,
  { files, links }: Pick<RenderRequest, 'files' | 'links'>,
  signal: AbortSignal,
): void {
  signal.throwIfAborted();
  const writer = new StagingWriter(folder);
  writer.open();
  for (const file of files) writer.writeFile(file);
  for (const link of links) writer.makeLink(link);
}

/**
 * Refuses an absolute path, and one with `.`, `..`, `.git` or empty segments.
 * @throws UnsafeInput
 */
function checkStagedPath(path: string): void {
  for (const segment of path.split('/'))
    if (segment === '' || segment === '.' || segment === '..' || /^\.git$/i.test(segment) || segment.includes('\0'))
      throw new UnsafeInput(`the repository has an entry with a forbidden name: ${JSON.stringify(path)}`);
}

function checkTarget(path: string, target: string): void {
  const leads = posix.normalize(posix.join(posix.dirname(path), target));
  if (target === '' || target.includes('\0') || posix.isAbsolute(target) || leads === '..' || leads.startsWith('../'))
    throw new UnsafeInput(`the link ${JSON.stringify(path)} points outside the files of this source`);
}

/** A staging folder, and the programs that may run in it. */
export interface StagedRun {
  /** The folder's path as the programs see it. */
  readonly root: string;
  readonly commands: CommandRunner;
  readonly programs: RenderPrograms;
}

/** A step whose input may be in a file. */
export interface StagedStep extends RenderStep {
  readonly stdinFile?: string;
}

/** The steps of a request, and their limits. */
export interface StagedSteps extends Pick<RenderRequest, 'timeoutMs' | 'maxOutputBytes' | 'maxMemoryBytes'> {
  readonly steps: readonly StagedStep[];
}

/**
 * Runs the steps of a request in order, up to the first failure.
 * @throws CommandError; the reason of `signal`
 */
export async function runSteps(
  { root, commands, programs }: StagedRun,
  request: StagedSteps,
  signal: AbortSignal,
): Promise<readonly CommandResult[]> {
  const results: CommandResult[] = [];
  for (const step of request.steps) {
    const result = await commands.runCommand(commandOf(step, programs), {
      program: step.program,
      cwd: folderOf(root, step.cwd),
      env: { ...stepEnvironment(root, request.maxMemoryBytes), ...step.env },
      ...(step.stdin === undefined ? {} : { stdin: step.stdin }),
      ...(step.stdinFile === undefined ? {} : { stdinFile: step.stdinFile }),
      timeoutMs: request.timeoutMs,
      maxBytes: request.maxOutputBytes,
      maxMemoryBytes: request.maxMemoryBytes,
      signal,
    });
    results.push({ ...result, stderr: withoutFolder(result.stderr, root) });
    if (result.exitCode !== 0) break;
  }
  return results;
}

function commandOf(step: RenderStep, programs: RenderPrograms): readonly string[] {
  const command = programs(step.program, step.binary);
  if (command === undefined) throw notFound(step.binary ?? step.program);
  if (step.withHelm !== true) return [...command, ...step.args];
  const helm = programs('helm');
  if (helm === undefined) throw notFound('helm');
  return [...command, ...step.args, `--helm-command=${helm[0]}`];
}

function notFound(name: string): CommandError {
  return new CommandError('COMMAND_NOT_FOUND', `cannot run ${name}: the renderer does not have it`);
}

function folderOf(root: string, cwd: string): string {
  if (cwd === '') return root;
  checkStagedPath(cwd);
  return join(root, cwd);
}

/** Makes paths relative to the repository, as the author knows them. */
function withoutFolder(text: string, root: string): string {
  const checkout = join(root, checkoutFolder);
  return text.replaceAll(`${checkout}/`, '').replaceAll(checkout, '.').replaceAll(`${root}/`, '');
}
