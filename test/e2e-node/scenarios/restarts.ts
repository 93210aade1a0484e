import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { eventually } from '#support';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { ControllerPod, startOf, waitedForCpu } from '../support/pod.ts';
import { note } from '../support/note.ts';

const kills = 20;
const ownsWithinMs = 5000;

/** A lease takes 30 s: drift that waits for one would take longer than this, with a CPU at hand. */
const withoutLeaseMs = 20_000;

/**
 * Requests of a killed process count as in flight for 12.5 s. A controller that stops earlier
 * cannot release its shard, by design.
 */
const afterKillsMs = 13_000;

/** Containers and pods that end in every way, while drift must be repaired. */
export function restarts(cluster: Cluster): void {
  it(
    'owns its cluster again after each of 20 kills of its process: within 5 s, never after a lease',
    async () => {
      const pod = new ControllerPod(cluster.world);
      const times: Recovery[] = [];
      for (let count = 0; count < kills; count += 1) times.push(await ownsAgain(cluster, pod));
      const seconds = (pick: (one: Recovery) => number): string =>
        times.map((one) => (pick(one) / 1000).toFixed(1)).join(' ');
      note(`${kills} kills, seconds from the new process to ownership: ${seconds(({ totalMs }) => totalMs)}`);
      note(`of these, seconds that it waited for a CPU: ${seconds(({ starvedMs }) => starvedMs)}`);
      const own = times.map(({ totalMs, starvedMs }) => totalMs - starvedMs).sort((a, b) => a - b);
      // The API server waits for a CPU too, which nothing here can subtract: hence the median.
      expect(own[kills / 2]).toBeLessThan(ownsWithinMs);
      expect(own.at(-1)).toBeLessThan(withoutLeaseMs);
      expect(await pod.restarts()).toBeGreaterThanOrEqual(kills);
    },
    kills * 60_000,
  );

  it('is replaced by `kubectl rollout restart` while drift is repaired', async () => {
    const { world, app } = cluster;
    await sleep(afterKillsMs);
    const before = await new ControllerPod(world).isReady();
    const longest = await app.healsDuring(
      runShell(
        world,
        'kubectl -n argocd rollout restart statefulset/driftless\n' +
          'kubectl -n argocd rollout status statefulset/driftless --timeout=120s\n',
      ),
    );
    const starved = waitedForCpu(await new ControllerPod(world).process());
    note(`rollout restart: longest drift ${longest} ms, ${Math.round(starved)} ms of them without a CPU`);
    expect(longest - starved).toBeLessThan(withoutLeaseMs);
    const { status } = await new ControllerPod(world).isReady({ not: before.metadata.uid });
    expect(status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
  });

  it('repairs drift after its pod is deleted', async () => {
    const { world, app } = cluster;
    const before = await new ControllerPod(world).isReady();
    const longest = await app.healsDuring(runShell(world, 'kubectl -n argocd delete pod driftless-0\n'));
    const starved = waitedForCpu(await new ControllerPod(world).process());
    note(`pod deleted: longest drift ${longest} ms, ${Math.round(starved)} ms of them without a CPU`);
    expect(longest - starved).toBeLessThan(withoutLeaseMs);
    await new ControllerPod(world).isReady({ not: before.metadata.uid });
  });

  it('is restarted by the liveness probe when its process is frozen, and repairs drift', async () => {
    const { world, app } = cluster;
    const pod = new ControllerPod(world);
    const before = await pod.restarts();
    const frozen = await pod.process();
    const begin = Date.now();
    process.kill(frozen, 'SIGSTOP');
    const healed = await app.drift();
    await pod.processAfter(frozen, 150_000);
    note(`frozen process: replaced after ${Date.now() - begin} ms`);
    await healed(60_000);
    expect(await pod.restarts()).toBe(before + 1);
    await pod.isReady();
  }, 240_000);
}

interface Recovery {
  /** From the start of the new process to ownership. */
  readonly totalMs: number;
  /** Part of it in which others used the CPU. */
  readonly starvedMs: number;
}

/** Kills the controller's process, and waits until the new one owns its cluster and heals. */
async function ownsAgain({ app }: Cluster, pod: ControllerPod): Promise<Recovery> {
  const old = await pod.process();
  process.kill(old, 'SIGKILL');
  const next = await pod.processAfter(old);
  const healed = await app.drift();
  const begin = startOf(next);
  const owns = await eventually(async () => {
    const { status, text } = await pod.readyz();
    if (status !== 200) throw new Error(`readyz: ${status} ${text}`);
    return Date.now();
  }, 60_000);
  const starvedMs = waitedForCpu(next);
  await healed();
  return { totalMs: owns - begin, starvedMs };
}
