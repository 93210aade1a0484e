import { totalmem } from 'node:os';
import { execPath } from 'node:process';
import { getHeapStatistics } from 'node:v8';

const mebibyte = 1024 * 1024;
/** Smallest heap that the controller starts with. */
const minHeapMb = 64;
/** Node's own choice is about 52 % of a large limit; that much above half is left as it is. */
const tolerance = 1.1;

/** Memory limit of the container in bytes; 0 means none. */
export function containerLimit(constrained: number, machineBytes: number = totalmem()): number {
  return constrained > 0 && constrained <= machineBytes ? constrained : 0;
}

/**
 * Heap limit in MiB for a container limit, or undefined where the present one fits: the heap gets
 * half, git and buffers get the rest. Node itself never takes less than about 260 MiB.
 */
export function heapFor(limitBytes: number, heapBytes: number): number | undefined {
  const half = limitBytes / 2;
  if (limitBytes === 0 || heapBytes <= half * tolerance) return undefined;
  return Math.max(minHeapMb, Math.floor(half / mebibyte));
}

/** Reports whether the user chose the heap, in NODE_OPTIONS or in the arguments of Node. */
export function isHeapChosen(execArgv: readonly string[], nodeOptions: string | undefined): boolean {
  return [...execArgv, nodeOptions ?? ''].some((text) => /--max[-_](?:old[-_]space|heap)[-_]size/.test(text));
}

/** The chosen heap limit, for the log. */
export interface HeapSize {
  readonly heapMb: number;
  /** Absent without a limit. */
  readonly memoryLimitMb?: number;
  /** Set when the heap may outgrow the container. */
  readonly warning?: string;
}

/**
 * Starts this process again with a heap that fits into its container, unless the user chose one or
 * it fits already. The PID stays. Returns what the process runs with; a Node that cannot replace
 * itself (before 22.15) gets a warning instead.
 */
export function fitHeap(env: Readonly<Record<string, string | undefined>>): HeapSize {
  const limitBytes = containerLimit(process.constrainedMemory());
  const heapBytes = getHeapStatistics().heap_size_limit;
  const heapMb = isHeapChosen(process.execArgv, env['NODE_OPTIONS']) ? undefined : heapFor(limitBytes, heapBytes);
  if (heapMb !== undefined) replaceProcess([execPath, ...process.execArgv, `--max-heap-size=${heapMb}`], env);
  return {
    heapMb: Math.round(heapBytes / mebibyte),
    ...(limitBytes === 0 ? {} : { memoryLimitMb: Math.round(limitBytes / mebibyte) }),
    ...(heapMb === undefined
      ? {}
      : { warning: `The heap may outgrow the memory limit: set NODE_OPTIONS=--max-old-space-size=${heapMb}` }),
  };
}

type Replaceable = NodeJS.Process & {
  execve?: (file: string, argv: readonly string[], env: Readonly<Record<string, string>>) => void;
};

/** Does not return where Node can replace its process. */
function replaceProcess(command: readonly string[], env: Readonly<Record<string, string | undefined>>): void {
  const set = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  (process as Replaceable).execve?.(execPath, [...command, ...process.argv.slice(1)], Object.fromEntries(set));
}
