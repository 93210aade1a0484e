import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskLimit } from './types.ts';

/** What {@link runProcess} needs to know; plain data, so that it can cross a process boundary. */
export interface ProcessRequest {
  readonly argv: readonly string[];
  readonly cwd?: string;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs: number;
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
  /** Kills the program and all that it started. */
  kill(): void;
}

/** A timer, so that this file (which the tiny helper process loads) needs nothing of #base at run time. */
export type StartTimer = (delayMs: number, fire: () => void) => { cancel(): void };

const stderrLimit = 64 * 1024;

/**
 * Runs one program without a shell, in a process group of its own: git leaves its work to children (git-remote-https, ssh), and killing
 * git alone would leave a hung ssh behind, holding the pipe (Argo CD #20785). The outcome never rejects.
 */
export function runProcess(request: ProcessRequest, startTimer: StartTimer): RunningProcess {
  const [program = '', ...args] = request.argv;
  let child: ChildProcess;
  try {
    child = spawn(program, args, {
      ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
      env: { ...request.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      shell: false,
    });
  } catch (error) {
    // An argument with a NUL byte, an empty program name.
    return { outcome: Promise.resolve({ kind: 'failed', message: textOf(error) }), kill: () => undefined };
  }
  return follow(child, program, request, startTimer);
}

function follow(child: ChildProcess, program: string, request: ProcessRequest, startTimer: StartTimer): RunningProcess {
  let verdict: ProcessOutcome | undefined;
  const end = (outcome: ProcessOutcome): void => {
    verdict ??= outcome;
    killGroup(child);
  };
  const outcome = new Promise<ProcessOutcome>((resolve) => {
    const stdout = collect(child, request.maxBytes, () =>
      end({ kind: 'output', message: `${program} printed more than ${request.maxBytes} bytes` }),
    );
    const stderr = tail(child);
    const timer = startTimer(request.timeoutMs, () =>
      end({ kind: 'timeout', message: `${program} took longer than ${request.timeoutMs / 1000} s` }),
    );
    const watch = watchMemory(child, request.maxMemoryBytes, startTimer, (limit) =>
      end({ kind: 'memory', message: `${program} needed more than ${limit} bytes of memory` }),
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
  // A program that does not read its input closes the pipe: its exit code tells, not EPIPE.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(request.stdin ?? '');
  return { outcome, kill: () => end({ kind: 'killed', message: `${program} was killed` }) };
}

const memoryLookMs = 100;
const diskLookMs = 250;
const pageBytes = 4096;

/** Looks at the pages that the program has in memory; where the system does not tell them, it looks once and never again. */
function watchMemory(
  child: ChildProcess,
  limit: number | undefined,
  startTimer: StartTimer,
  overflow: (limit: number) => void,
): { cancel(): void } {
  let isOver = limit === undefined || child.pid === undefined;
  let timer: { cancel(): void } | undefined;
  const look = async (): Promise<void> => {
    const text = await readFile(`/proc/${child.pid ?? 0}/statm`, 'utf8').catch(() => undefined);
    if (text === undefined || isOver) return;
    const resident = Number(text.split(' ')[1]) * pageBytes;
    if (resident > (limit ?? 0)) overflow(limit ?? 0);
    else timer = startTimer(memoryLookMs, () => void look());
  };
  if (!isOver) timer = startTimer(memoryLookMs, () => void look());
  return {
    cancel: () => {
      isOver = true;
      timer?.cancel();
    },
  };
}

interface DiskWatch {
  cancel(): void;
  /** After the program has ended: what it wrote since the last look. */
  last(): Promise<void>;
}

/** Looks at what lies in a folder. One that is not there yet weighs nothing. */
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
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group is gone already.
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
