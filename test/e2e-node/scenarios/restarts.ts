import { expect, it } from '@jest/globals';
import { eventually } from '#support';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { ControllerPod, startOf } from '../support/pod.ts';
import { note } from '../support/note.ts';

const kills = 20;
const ownsWithinMs = 5000;

/** Containers and pods that end in every way, while drift must be repaired. */
export function restarts(cluster: Cluster): void {
  it(
    'owns its cluster again within 5 s after each of 20 kills of its process',
    async () => {
      const pod = new ControllerPod(cluster.world);
      const times: number[] = [];
      for (let count = 0; count < kills; count += 1) times.push(await ownsAgain(cluster, pod));
      const text = times.map((ms) => (ms / 1000).toFixed(1)).join(' ');
      note(`${kills} kills, seconds from the new process to ownership: ${text}`);
      expect(times.filter((ms) => ms > ownsWithinMs)).toEqual([]);
      expect(await pod.restarts()).toBeGreaterThanOrEqual(kills);
    },
    kills * 60_000,
  );

  it('is replaced by `kubectl rollout restart` while drift is repaired', async () => {
    const { world, app } = cluster;
    const before = await new ControllerPod(world).isReady();
    const longest = await app.healsDuring(
      runShell(
        world,
        'kubectl -n argocd rollout restart statefulset/driftless\n' +
          'kubectl -n argocd rollout status statefulset/driftless --timeout=120s\n',
      ),
    );
    note(`rollout restart: longest drift ${longest} ms`);
    const { status } = await new ControllerPod(world).isReady({ not: before.metadata.uid });
    expect(status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
  });

  it('repairs drift after its pod is deleted', async () => {
    const { world, app } = cluster;
    const before = await new ControllerPod(world).isReady();
    const longest = await app.healsDuring(runShell(world, 'kubectl -n argocd delete pod driftless-0\n'));
    note(`pod deleted: longest drift ${longest} ms`);
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

/** Kills the controller's process. @returns the time from the start of the new one to ownership */
async function ownsAgain({ app }: Cluster, pod: ControllerPod): Promise<number> {
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
  await healed();
  return owns - begin;
}
