import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { uptime } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { machineOf } from './process-location.ts';

/** A child that waits for its input to end. */
async function withChild(check: (pid: number) => void): Promise<number> {
  const child = spawn('cat', [], { stdio: ['pipe', 'ignore', 'ignore'] });
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  try {
    check(pid);
  } finally {
    child.stdin.end();
    await once(child, 'exit');
  }
  return pid;
}

describe('the location of this process', () => {
  const { home } = machineOf('a-uid');
  if (home === undefined) throw new Error('no location');
  const running = (pid: number, started?: number): boolean =>
    home.isRunning({ place: home.place, pid, ...(started === undefined ? {} : { started }) });

  it('is its pod when the UID of the pod is given', () => {
    expect([home.place, home.pid]).toEqual(['pod/a-uid', process.pid]);
  });

  it('knows that the process itself runs', () => {
    expect(home.started).toBeGreaterThan(0);
    expect([running(process.pid), running(process.pid, home.started)]).toEqual([true, true]);
  });

  it('takes a later process with the PID of an earlier one for another process', () => {
    expect(running(process.pid, (home.started ?? 0) - 1)).toBe(false);
  });

  it('takes none of its own threads for a process', () => {
    const threads = readdirSync('/proc/self/task').map(Number);
    const others = threads.filter((id) => id !== process.pid);
    expect(others.length).toBeGreaterThan(0);
    expect(others.filter((id) => running(id))).toEqual([]);
  });

  it('knows a child while it runs, and that it is gone afterwards', async () => {
    const pid = await withChild((child) => {
      expect([running(child), running(child, home.started)]).toEqual([true, false]);
    });
    expect(running(pid)).toBe(false);
  });

  it('knows that no process has a PID above the highest one of Linux', () => {
    expect(running(2 ** 22 + 1)).toBe(false);
  });

  it('has a boot clock in milliseconds', () => {
    const { bootMs } = machineOf('');
    // Not the clock of this process, which a suspend of the machine stops.
    expect(Math.abs((bootMs?.() ?? 0) - uptime() * 1000)).toBeLessThan(1000);
  });
});
