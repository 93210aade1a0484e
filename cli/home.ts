import { readFileSync, readlinkSync } from 'node:fs';
import { uptime } from 'node:os';
import { isObject } from '#base';
import type { OwnershipDeps } from '#sharding';

/** What ownership must know of the machine: where this process runs, and a clock that goes on while the machine is suspended. */
export function machineOf(podUid: string): Pick<OwnershipDeps, 'home' | 'bootMs'> {
  const place = podUid === '' ? pidNamespace() : `pod/${podUid}`;
  return {
    ...(place === undefined ? {} : { home: { place, pid: process.pid, isRunning } }),
    bootMs: () => uptime() * 1000,
  };
}

/** Process numbers mean something within one PID namespace of one boot. Undefined where there is no /proc. */
function pidNamespace(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `host/${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is one, too.
    return !isObject(error) || error['code'] !== 'ESRCH';
  }
}
