import { readFileSync, readlinkSync } from 'node:fs';
import { isObject } from '#base';
import type { OwnershipDeps } from '#sharding';
import { bootClock } from '../process/boot-clock.ts';

type ProcessLocation = NonNullable<OwnershipDeps['home']>;

/** Where this process runs, and a clock that continues while the machine is suspended. */
export function machineOf(podUid: string): Pick<OwnershipDeps, 'home' | 'bootMs'> {
  const place = podUid === '' ? pidNamespace() : `pod/${podUid}`;
  return {
    ...(place === undefined ? {} : { home: locationOf(place) }),
    bootMs: bootClock(),
  };
}

function locationOf(place: string): ProcessLocation {
  const started = startTicks(process.pid);
  return { place, pid: process.pid, ...(started === undefined ? {} : { started }), isRunning };
}

/** Process IDs are unique within one PID namespace of one boot. Undefined without /proc. */
function pidNamespace(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `host/${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

/**
 * A signal also reaches threads, and a restarted container numbers its processes and threads anew:
 * only /proc separates the recorded process from a thread of ours or from a later process.
 */
const isRunning: ProcessLocation['isRunning'] = ({ pid, started }) => {
  if (!isSignalable(pid) || isThread(pid)) return false;
  const ticks = startTicks(pid);
  return started === undefined || ticks === undefined || ticks === started;
};

function isSignalable(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process belongs to another user, but it runs.
    return !isObject(error) || error['code'] !== 'ESRCH';
  }
}

/** Reports whether the ID is a thread's. A process that /proc hides counts as a process. */
function isThread(pid: number): boolean {
  const group = /^Tgid:\s*(\d+)$/m.exec(readProc(pid, 'status') ?? '')?.[1];
  return group !== undefined && Number(group) !== pid;
}

/** Field 22 of /proc/PID/stat; the second field, the program's name, may contain spaces. */
function startTicks(pid: number): number | undefined {
  const stat = readProc(pid, 'stat');
  const ticks = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  return Number.isSafeInteger(ticks) ? ticks : undefined;
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
