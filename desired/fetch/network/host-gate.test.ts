import { describe, expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import { FakeClock } from '#support';
import { HostGate } from './host-gate.ts';

const never = new AbortController().signal;

describe('HostGate', () => {
  it('limits connections per host in order of arrival, without blocking other hosts', async () => {
    const clock = new FakeClock();
    const hosts = new HostGate(2);
    const began: string[] = [];
    const ends = new Map<string, () => void>();
    const talk = (host: string, name: string, signal = never): Promise<void> =>
      hosts.run(host, signal, async () => {
        began.push(name);
        await new Promise<void>((resolve) => void ends.set(name, resolve));
      });
    const leaves = new AbortController();
    const all = [talk('git.example.com', 'a1'), talk('GIT.example.com', 'a2'), talk('git.example.com', 'a3')];
    const left = talk('git.example.com', 'a4', leaves.signal).catch(() => 'left');
    all.push(talk('git.example.com', 'a5'), talk('other.example.com', 'b1'), talk('', 'local'), talk('', 'local'));
    await clock.settle();
    expect([...began].sort()).toEqual(['a1', 'a2', 'b1', 'local', 'local']);
    leaves.abort(new Shutdown());
    expect(await left).toBe('left');
    ends.get('a1')?.();
    await clock.settle();
    expect(began.at(-1)).toBe('a3');
    ends.get('a3')?.();
    await clock.settle();
    // A caller that left holds no slot.
    expect(began.at(-1)).toBe('a5');
    expect(began).not.toContain('a4');
    for (const end of ends.values()) end();
  });

  it('treats zero as no limit', async () => {
    const hosts = new HostGate(0);
    const results = await Promise.all([1, 2, 3].map((n) => hosts.run('h', never, () => Promise.resolve(n))));
    expect(results).toEqual([1, 2, 3]);
  });
});
