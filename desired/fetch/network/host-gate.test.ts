import { describe, expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import { FakeClock, signalOf } from '#support';
import { HostGate, portOf } from './host-gate.ts';

const never = new AbortController().signal;
const at = (host: string, port = '443'): { host: string; port: string } => ({ host, port });

describe('HostGate', () => {
  it('limits connections per server, without blocking other hosts or ports', async () => {
    const clock = new FakeClock();
    const hosts = new HostGate(2, undefined, clock);
    const began: string[] = [];
    const ends = new Map<string, () => void>();
    const talk = (server: { host: string; port: string }, name: string, signal = never): Promise<void> =>
      hosts.run(server, signal, async () => {
        began.push(name);
        await new Promise<void>((resolve) => void ends.set(name, resolve));
      });
    const leaves = new AbortController();
    const [git, upper] = [at('git.example.com'), at('GIT.example.com')];
    const all = [talk(git, 'a1'), talk(upper, 'a2'), talk(git, 'a3')];
    const left = talk(git, 'a4', leaves.signal).catch(() => 'left');
    all.push(talk(git, 'a5'), talk(at('other.example.com'), 'b1'), talk(at('git.example.com', '22'), 'ssh'));
    all.push(talk(at('', ''), 'local'), talk(at('', ''), 'local'));
    await clock.settle();
    expect([...began].sort()).toEqual(['a1', 'a2', 'b1', 'local', 'local', 'ssh']);
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
    const results = await Promise.all([1, 2, 3].map((n) => hosts.run(at('h'), never, () => Promise.resolve(n))));
    expect(results).toEqual([1, 2, 3]);
  });

  it("starts another project's connection within two seconds while 40 slow ones of one project wait", async () => {
    const clock = new FakeClock();
    const hosts = new HostGate(8, undefined, clock);
    const talk = (project: string, application: string, ms: number, done: () => void): void =>
      void hosts.run(at('git'), signalOf({ project, application }), () => clock.sleep(ms, never)).then(done);
    let slow = 0;
    for (let i = 0; i < 40; i += 1) talk('hostile', `app-${i}`, 14_000, () => (slow += 1));
    await clock.advance(100);
    let isDone = false;
    talk('victim', 'shop', 600, () => (isDone = true));
    await clock.advance(2600);
    expect(isDone).toBe(true);
    await clock.advance(14_000 * 5);
    expect(slow).toBe(40);
  });

  it('gives the Applications of one project turns, whatever one of them has queued', async () => {
    const clock = new FakeClock();
    const hosts = new HostGate(2, undefined, clock);
    const ended: string[] = [];
    const talk = (application: string): void =>
      void hosts
        .run(at('git'), signalOf({ project: 'default', application }), () => clock.sleep(1000, never))
        .then(() => ended.push(application));
    for (let i = 0; i < 40; i += 1) talk('big');
    talk('small');
    await clock.advance(2100);
    expect(ended).toContain('small');
  });
});

describe('the port of an address', () => {
  it.each([
    ['https://h/x', '443'],
    ['http://h/x', '80'],
    ['https://h:8443/x', '8443'],
    ['ssh://git@h:2222/x', '2222'],
    ['ssh://git@h/x', '22'],
    ['git@h:x/y.git', '22'],
    ['git://h/x', '9418'],
  ])('of %s is %s', (url, port) => expect(portOf(url)).toBe(port));
});
