import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DriftlessError, messageOf, withDeadline } from '#base';
import type { Clock } from '#base';
import type { CommandRunner } from '../command/types.ts';
import { removeFolder } from './staging.ts';
import type { StagingOwner } from './staging.ts';
import { cellScript, insideFolders, rootScript, stepScript, waitScript } from './wall-scripts.ts';

export type WallNamespace = 'user' | 'mount' | 'network' | 'pid' | 'ipc';

/** A file or folder of this machine that programs may read, and its path behind the wall. */
export interface WallBind {
  readonly source: string;
  readonly target: string;
}

export interface WallDeps {
  readonly clock: Clock;
  /** An empty folder for this wall alone. It holds the slots and the private root. */
  readonly folder: string;
  readonly binds: readonly WallBind[];
  /** Runs the programs themselves. */
  readonly commands: CommandRunner;
  readonly namespaces: readonly WallNamespace[];
  /** The user that programs run as, if this process is root. */
  readonly owner: StagingOwner | undefined;
}

/** The user that programs run as if the renderer is root. */
export const unprivilegedUser: StagingOwner = { uid: 65_534, gid: 65_534 };

/** Levels of isolation that the kernel may allow, best first. The last is always possible. */
export const wallLevels: readonly (readonly WallNamespace[])[] = [
  ['user', 'mount', 'network', 'pid', 'ipc'],
  ['mount', 'network', 'pid', 'ipc'],
  ['user', 'network', 'ipc'],
  [],
];

const toolEnvironment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
const startLimitMs = 10_000;
const namespaceFlags = { user: '--user', mount: '--mount', network: '--net', pid: '--pid', ipc: '--ipc' } as const;

/** The kernel or a program of the system does not allow the wall. */
class WallImpossible extends DriftlessError {
  constructor(what: string) {
    super('DESIRED_RENDERER', what);
  }
}

/** A cell runs one request at a time. */
export interface WallCell {
  /** The folder for the request's files. */
  readonly folder: string;
  /** The same folder as programs see it. */
  readonly root: string;
  readonly commands: CommandRunner;
}

/**
 * Isolates programs by namespaces. One process holds the user, network and IPC namespaces and a
 * private root; each cell is a mount and PID namespace inside it that shows only one slot. Cells
 * are reused, unless a program left a process behind.
 */
export class Wall {
  readonly #deps: WallDeps;
  readonly #idle: NamespaceCell[] = [];
  readonly #all = new Set<NamespaceCell>();
  #base: ChildProcess | undefined;
  #lastSlot = 0;
  #entersFolders = false;

  constructor(deps: WallDeps) {
    this.#deps = deps;
  }

  /** @throws DriftlessError if the kernel does not allow it; the reason of `signal` */
  async open(signal: AbortSignal): Promise<void> {
    mkdirSync(this.#slots, { recursive: true, mode: 0o700 });
    mkdirSync(join(this.#deps.folder, 'root'), { recursive: true, mode: 0o700 });
    this.#entersFolders = await this.#canEnterFolders(signal);
    await this.#baseProcess(signal);
    const cell = await this.acquire(signal);
    try {
      await this.#probe(cell, signal);
    } finally {
      await this.release(cell);
    }
  }

  /** Whether its folders exist: removing them also unmounts them in the namespaces. */
  isWhole(): boolean {
    return existsSync(this.#slots) && existsSync(join(this.#deps.folder, 'root'));
  }

  async acquire(signal: AbortSignal): Promise<WallCell> {
    for (let cell = this.#idle.pop(); cell !== undefined; cell = this.#idle.pop()) {
      if (cell.isAlive && existsSync(dirname(cell.folder))) return cell;
      await cell.end();
      this.#all.delete(cell);
    }
    const base = await this.#baseProcess(signal);
    this.#lastSlot += 1;
    const slot = `slot-${this.#lastSlot}`;
    const folder = join(this.#slots, slot);
    mkdirSync(folder, { mode: 0o700 });
    if (this.#deps.owner !== undefined) chownSync(folder, this.#deps.owner.uid, this.#deps.owner.gid);
    const cell = await NamespaceCell.start(
      { ...this.#deps, base, slot, folder, entersFolders: this.#entersFolders },
      signal,
    );
    this.#all.add(cell);
    return cell;
  }

  /** Takes back a cell after its request, and empties it. */
  async release(cell: WallCell): Promise<void> {
    if (!(cell instanceof NamespaceCell)) return;
    const isReusable = cell.isAlive && !cell.hasProcesses() && existsSync(dirname(cell.folder));
    if (!isReusable) await cell.end();
    try {
      for (const name of namesIn(dirname(cell.folder))) await removeFolder(join(dirname(cell.folder), name));
    } catch (error) {
      await cell.end();
      this.#all.delete(cell);
      throw error;
    }
    if (isReusable) this.#idle.push(cell);
    else this.#all.delete(cell);
  }

  /** Kills everything that still runs. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map((cell) => cell.end()));
    this.#all.clear();
    this.#base?.kill('SIGKILL');
    this.#base = undefined;
  }

  get #slots(): string {
    return join(this.#deps.folder, 'slots');
  }

  async #baseProcess(signal: AbortSignal): Promise<ChildProcess> {
    if (this.#base !== undefined && isRunning(this.#base)) return this.#base;
    const { namespaces, folder, binds, clock } = this.#deps;
    const hasMount = namespaces.includes('mount');
    const flags = namespaces.filter((name) => name !== 'pid').map((name) => namespaceFlags[name]);
    const script = hasMount ? rootScript : waitScript;
    const pairs = binds.flatMap(({ source, target }) => [source, target]);
    const args = hasMount
      ? [
          '--propagation',
          'private',
          ...shell(script),
          join(folder, 'root'),
          this.#slots,
          namespaces.includes('user') ? 'user' : '',
          ...pairs,
        ]
      : shell(script);
    const base = spawn('unshare', [...flags, ...args], { env: toolEnvironment, stdio: ['pipe', 'pipe', 'pipe'] });
    const ready = readyLine(base);
    try {
      await withDeadline(signal, { clock, limitMs: startLimitMs, what: 'building the wall' }, async (inner) => {
        if (namespaces.includes('user')) await mapUsers(base, clock, inner);
        base.stdin.write('go\n');
        await ready;
      });
    } catch (error) {
      base.kill('SIGKILL');
      throw error;
    }
    this.#base = base;
    return base;
  }

  async #canEnterFolders(signal: AbortSignal): Promise<boolean> {
    const options = { env: toolEnvironment, timeoutMs: startLimitMs, maxBytes: 65_536, signal };
    const { stdout } = await this.#deps.commands.runCommand(['nsenter', '--help'], options);
    return Buffer.from(stdout).includes('--wdns');
  }

  /** Checks that a program runs, sees the staging folder, and has the expected user. */
  async #probe(cell: WallCell, signal: AbortSignal): Promise<void> {
    const options = { cwd: cell.root, env: {}, timeoutMs: startLimitMs, maxBytes: 4096, signal };
    mkdirSync(cell.folder, { recursive: true, mode: 0o700 });
    if (this.#deps.owner !== undefined) chownSync(cell.folder, this.#deps.owner.uid, this.#deps.owner.gid);
    const script = ': > probe && rm probe && id -u';
    const ran = await cell.commands.runCommand(['/bin/sh', '-c', `PATH=/usr/bin:/bin; ${script}`], options);
    if (ran.exitCode !== 0) throw new WallImpossible(`a program in the wall failed: ${ran.stderr.trim()}`);
    const uid = Buffer.from(ran.stdout).toString('utf8').trim();
    const { owner } = this.#deps;
    if (owner !== undefined && uid !== `${owner.uid}`) throw new WallImpossible(`programs ran as the user ${uid}`);
  }
}

interface CellDeps extends WallDeps {
  readonly base: ChildProcess;
  readonly slot: string;
  readonly folder: string;
  /** Whether nsenter can change to a folder in the namespace (util-linux 2.38). */
  readonly entersFolders: boolean;
}

class NamespaceCell implements WallCell {
  readonly folder: string;
  readonly root: string;
  readonly commands: CommandRunner;
  readonly #process: ChildProcess | undefined;
  readonly #pid: number;

  private constructor(deps: CellDeps, process: ChildProcess | undefined, pid: number) {
    this.folder = join(deps.folder, 'r');
    const hasMount = deps.namespaces.includes('mount');
    this.root = hasMount ? insideFolders.request : this.folder;
    this.#process = process;
    this.#pid = pid;
    this.commands = enteringRunner(deps, pid, () => this.#process?.kill('SIGKILL'));
  }

  static async start(deps: CellDeps, signal: AbortSignal): Promise<NamespaceCell> {
    const { namespaces, base, clock, slot } = deps;
    if (!namespaces.includes('mount')) return new NamespaceCell(deps, undefined, base.pid ?? 0);
    const enter = [...nsenterFlags(namespaces, base.pid ?? 0, ['pid']), '--'];
    const unshare = ['unshare', '--mount', '--pid', '--fork', '--kill-child', ...shell(cellScript), slot];
    const process = spawn('nsenter', [...enter, ...unshare], { env: toolEnvironment, stdio: ['pipe', 'pipe', 'pipe'] });
    try {
      await withDeadline(signal, { clock, limitMs: startLimitMs, what: 'building a cell of the wall' }, () =>
        readyLine(process),
      );
      return new NamespaceCell(deps, process, firstChildOf(process.pid ?? 0));
    } catch (error) {
      process.kill('SIGKILL');
      throw error;
    }
  }

  get isAlive(): boolean {
    return this.#process === undefined || (isRunning(this.#process) && !this.#process.killed);
  }

  /**
   * Whether a program left a process behind: the first process of the PID namespace adopts it.
   * Always false without a PID namespace, where this cannot be known.
   */
  hasProcesses(): boolean {
    return this.#process !== undefined && childrenOf(this.#pid) !== '';
  }

  /** Kills the first process of the PID namespace, and thereby all in it. */
  async end(): Promise<void> {
    const process = this.#process;
    if (process === undefined || !isRunning(process)) return;
    const gone = new Promise<void>((resolve) => {
      process.once('exit', () => resolve());
    });
    process.kill('SIGKILL');
    await gone;
  }
}

/**
 * Runs programs in the namespaces of a process, without capabilities and without a way to gain any:
 * root switches to another user; any other user, who is root inside, drops everything. Each wrapper
 * costs about a millisecond, so there are as few as possible.
 */
function enteringRunner(
  { namespaces, commands, owner, entersFolders }: CellDeps,
  pid: number,
  onKilled: () => void,
): CommandRunner {
  const hasMount = namespaces.includes('mount');
  const enter = ['/usr/bin/nsenter', ...nsenterFlags(namespaces, pid, hasMount ? [] : ['pid', 'mount'], owner)];
  const drop = owner === undefined ? ['/usr/bin/setpriv', ...droppedRights(owner)] : [];
  return {
    runCommand: (argv, { cwd = '/', ...options }) => {
      const inFolder = entersFolders ? [`--wdns=${cwd}`, '--'] : ['--', '/bin/sh', '-c', stepScript, 'sh', cwd];
      return commands.runCommand([...enter, ...inFolder, ...drop, ...argv], { ...options, onKilled });
    },
  };
}

/** The flags of setpriv that drop all rights, and switch to `owner` if this process is root. */
export function droppedRights(owner: StagingOwner | undefined): string[] {
  const identity =
    owner === undefined ? [] : [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--inh-caps=-all'];
  return [...identity, '--bounding-set=-all', '--no-new-privs'];
}

function shell(script: string): string[] {
  return ['sh', '-c', script, 'sh'];
}

function nsenterFlags(
  namespaces: readonly WallNamespace[],
  pid: number,
  except: readonly WallNamespace[],
  owner?: StagingOwner,
): string[] {
  const flags = namespaces.filter((name) => !except.includes(name)).map((name) => namespaceFlags[name]);
  const same = namespaces.includes('user') ? ['--preserve-credentials'] : [];
  const credentials = owner === undefined ? same : [`--setuid=${owner.uid}`, `--setgid=${owner.gid}`];
  return [`--target=${pid}`, ...credentials, ...flags];
}

/** @throws WallImpossible if the process has ended: it may not have a namespace */
async function userNamespaceOf(base: ChildProcess): Promise<string> {
  if (base.pid === undefined) throw new WallImpossible('the program unshare of util-linux cannot be started');
  if (!isRunning(base)) throw new WallImpossible(noUserNamespaces);
  const found = await readlink(`/proc/${base.pid}/ns/user`).catch(() => undefined);
  // It has ended, and its exit is not known here yet.
  if (found === undefined) throw new WallImpossible(noUserNamespaces);
  return found;
}

const noUserNamespaces =
  'user namespaces are not allowed: allow unshare in the seccomp and AppArmor profiles of the container, set the ' +
  'sysctl user.max_user_namespaces above 0, and where the node has kernel.unprivileged_userns_clone or ' +
  'kernel.apparmor_restrict_unprivileged_userns, set them to 1 and 0';

/**
 * Root maps all user IDs, because it must switch to another one. Any other user maps only itself,
 * to root.
 */
export async function mapUsers(base: ChildProcess, clock: Clock, signal: AbortSignal): Promise<void> {
  const [pid, own] = [base.pid ?? 0, readlinkSync('/proc/self/ns/user')];
  while ((await userNamespaceOf(base)) === own) await clock.sleep(1, signal);
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  if (uid !== 0) writeFileSync(`/proc/${pid}/setgroups`, 'deny');
  writeFileSync(`/proc/${pid}/uid_map`, uid === 0 ? '0 0 4294967295' : `0 ${uid} 1`);
  writeFileSync(`/proc/${pid}/gid_map`, uid === 0 ? '0 0 4294967295' : `0 ${gid} 1`);
}

/**
 * Resolves when a script has printed that it is ready.
 * @throws WallImpossible with its last output
 */
function readyLine(child: ChildProcess): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    let words = '';
    child.stderr?.on('data', (part: Buffer) => (words = `${words}${part.toString('utf8')}`.slice(-2000)));
    child.stdout?.once('data', () => resolve());
    child.once('error', (error) => reject(new WallImpossible(messageOf(error))));
    child.once('close', () => reject(new WallImpossible(words.trim() === '' ? 'it ended' : words.trim())));
  });
  ready.catch(() => undefined);
  child.stdin?.on('error', () => undefined);
  return ready;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null && child.pid !== undefined;
}

function firstChildOf(pid: number): number {
  const first = Number(childrenOf(pid).split(' ')[0]);
  if (!Number.isSafeInteger(first) || first <= 0) throw new WallImpossible('/proc does not list child processes');
  return first;
}

function childrenOf(pid: number): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
}
