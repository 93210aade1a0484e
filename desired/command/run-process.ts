import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskLimit } from './types.ts';

/** The input of {@link runProcess}: plain data, so that it can cross a process boundary. */
export interface ProcessRequest {
  readonly argv: readonly string[];
  /** The name of the program in messages. */
  readonly program?: string;
  readonly cwd?: string;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** A file for standard input. */
  readonly stdinFile?: string;
  readonly timeoutMs: number;
  readonly killDelayMs?: number;
  readonly maxBytes: number;
  readonly maxMemoryBytes?: number;
  readonly disk?: DiskLimit;
}

export type ProcessOutcome =
  | { readonly kind: 'exit'; readonly exitCode: number | null; readonly stdout: Uint8Array; readonly stderr: string }
  | {
      readonly kind: 'not-found' | 'timeout' | 'output' | 'memory' | 'disk' | 'failed' | 'killed';
      readonly message: string;
    };

export interface RunningProcess {
  readonly outcome: Promise<ProcessOutcome>;
  /** Kills the program and everything that it started. */
  kill(): void;
}

/**
 * Starts a timer. Injected, so that this file, which the small helper process loads, imports
 * nothing of #base at run time.
 */
export type StartTimer = (delayMs: number, fire: () => void) => { cancel(): void };

/** Tracks the memory of all programs together. */
export interface MemoryMeter {
  /**
   * Records the memory of a program. Returns true if it must be killed, because all together exceed
   * the limit.
   */
  note(program: object, bytes: number): boolean;
  forget(program: object): void;
}

const stderrLimit = 64 * 1024;

/**
 * Runs one program without a shell, in a process group of its own: git delegates work to children
 * (git-remote-https, ssh), and killing only git would leave a hung ssh behind that holds the pipe
 * (Argo CD #20785). The outcome never rejects.
 */
export function runProcess(
  request: ProcessRequest,
  startTimer: StartTimer,
  { meter, onKilled }: ProcessHooks = {},
): RunningProcess {
  const [program = '', ...args] = request.argv;
  let child: ChildProcess;
  let input: number | undefined;
  try {
    input = request.stdinFile === undefined ? undefined : openSync(request.stdinFile, 'r');
    child = spawn(program, args, {
      ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
      env: { ...request.env },
      stdio: [input ?? 'pipe', 'pipe', 'pipe'],
      detached: true,
      shell: false,
    });
  } catch (error) {
    // An argument with a NUL byte, an empty program name.
    return { outcome: Promise.resolve({ kind: 'failed', message: textOf(error) }), kill: () => undefined };
  } finally {
    if (input !== undefined) closeSync(input);
  }
  return follow(child, { ...request, program: request.program ?? program }, { startTimer, meter, onKilled });
}

/** Optional observers of a program. */
export interface ProcessHooks {
  readonly meter?: MemoryMeter | undefined;
  readonly onKilled?: (() => void) | undefined;
}

interface Watching extends ProcessHooks {
  readonly startTimer: StartTimer;
}

function follow(
  child: ChildProcess,
  request: ProcessRequest & { readonly program: string },
  watching: Watching,
): RunningProcess {
  const { program } = request;
  const { startTimer } = watching;
  let verdict: ProcessOutcome | undefined;
  const end = (outcome: ProcessOutcome): void => {
    verdict ??= outcome;
    killGroup(child);
    watching.onKilled?.();
  };
  const outcome = new Promise<ProcessOutcome>((resolve) => {
    const stdout = collect(child, request.maxBytes, () =>
      end({ kind: 'output', message: `${program} printed more than ${request.maxBytes} bytes` }),
    );
    const stderr = tail(child);
    let timer = startTimer(request.timeoutMs, () => {
      const late = { kind: 'timeout', message: `${program} took longer than ${request.timeoutMs / 1000} s` } as const;
      const { killDelayMs = 0 } = request;
      if (killDelayMs <= 0) {
        end(late);
        return;
      }
      verdict ??= late;
      signalGroup(child, 'SIGTERM');
      timer = startTimer(killDelayMs, () => end(late));
    });
    const watch = watchMemory(child, request.maxMemoryBytes, watching, (why) =>
      end({ kind: 'memory', message: `${program} ${why}` }),
    );
    const disk = watchDisk(request.disk, startTimer, (folder) =>
      end({ kind: 'disk', message: `${program} wrote more than ${request.disk?.maxBytes ?? 0} bytes into ${folder}` }),
    );
    child.once('error', (error: NodeJS.ErrnoException) => {
      timer.cancel();
      watch.cancel();
      disk.cancel();
      const kind = error.code === 'ENOENT' ? 'not-found' : 'failed';
      resolve(verdict ?? { kind, message: textOf(error) });
    });
    child.once('close', (exitCode) => {
      timer.cancel();
      watch.cancel();
      void disk.last().then(() => {
        resolve(verdict ?? { kind: 'exit', exitCode, stdout: stdout(), stderr: stderr() });
      });
    });
  });
  // A program that does not read its input closes the pipe: its exit code matters, not EPIPE.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(request.stdin ?? '');
  return { outcome, kill: () => end({ kind: 'killed', message: `${program} was killed` }) };
}

const memoryLookMs = 100;
const diskLookMs = 250;
const pageBytes = 4096;
const deepestChild = 6;
const maxSyncReads = 32;

/**
 * Polls the resident memory of a program and its children. Stops after the first poll if the system
 * does not report it.
 */
function watchMemory(
  child: ChildProcess,
  limit: number | undefined,
  { startTimer, meter }: Watching,
  overflow: (why: string) => void,
): { cancel(): void } {
  let isOver = (limit === undefined && meter === undefined) || child.pid === undefined;
  let timer: { cancel(): void } | undefined;
  const look = async (): Promise<void> => {
    const resident = await residentBytes(child.pid ?? 0);
    if (resident === undefined || isOver) return;
    if (limit !== undefined && resident > limit) overflow(`needed more than ${limit} bytes of memory`);
    else if (meter?.note(child, resident) === true)
      overflow('was the biggest when the memory for all programs was used up');
    else timer = startTimer(memoryLookMs, () => void look());
  };
  if (!isOver) timer = startTimer(memoryLookMs, () => void look());
  return {
    cancel: () => {
      isOver = true;
      timer?.cancel();
      meter?.forget(child);
    },
  };
}

/** The sum over the process tree: a wrapper may start the program, which may start others. */
async function residentBytes(pid: number, depth = 0, walk = { reads: 0 }): Promise<number | undefined> {
  const text = await procText(`/proc/${pid}/statm`, walk);
  if (text === undefined) return undefined;
  let bytes = Number(text.split(' ')[1]) * pageBytes;
  if (depth >= deepestChild) return bytes;
  const children = (await procText(`/proc/${pid}/task/${pid}/children`, walk)) ?? '';
  for (const child of children.split(' '))
    if (child !== '') bytes += (await residentBytes(Number(child), depth + 1, walk)) ?? 0;
  return bytes;
}

/**
 * Reads a file of /proc. A synchronous read takes a tenth of the CPU time, but a program with very
 * many children must not block this process.
 */
async function procText(path: string, walk: { reads: number }): Promise<string | undefined> {
  walk.reads += 1;
  if (walk.reads > maxSyncReads) return readFile(path, 'utf8').catch(() => undefined);
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

interface DiskWatch {
  cancel(): void;
  /** After the program has ended: checks what it wrote since the last poll. */
  last(): Promise<void>;
}

/** Polls the size of a folder. A missing folder counts as empty. */
function watchDisk(
  limit: DiskLimit | undefined,
  startTimer: StartTimer,
  overflow: (folder: string) => void,
): DiskWatch {
  if (limit === undefined) return { cancel: () => undefined, last: () => Promise.resolve() };
  let isOver = false;
  let isLast = false;
  let timer: { cancel(): void } | undefined;
  const look = async (): Promise<void> => {
    let bytes = 0;
    for (const name of await readdir(limit.folder).catch(() => []))
      bytes += await stat(join(limit.folder, name)).then(
        ({ size }) => size,
        () => 0,
      );
    if (isOver) return;
    if (bytes > limit.maxBytes) overflow(limit.folder);
    else if (!isLast) timer = startTimer(diskLookMs, () => void look());
  };
  timer = startTimer(diskLookMs, () => void look());
  return {
    cancel: () => {
      isOver = true;
      timer?.cancel();
    },
    last: () => {
      isLast = true;
      timer?.cancel();
      return look();
    },
  };
}

function collect(child: ChildProcess, maxBytes: number, overflow: () => void): () => Uint8Array {
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) {
      chunks.length = 0;
      overflow();
    } else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks);
}

function tail(child: ChildProcess): () => string {
  let kept = Buffer.alloc(0);
  child.stderr?.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-stderrLimit);
  });
  return () => kept.toString('utf8');
}

function killGroup(child: ChildProcess): void {
  signalGroup(child, 'SIGKILL');
}

function signalGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has already exited.
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
