import { expect, it } from '@jest/globals';
import { eventually } from '#support';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { note } from '../support/note.ts';
import { ControllerPod } from '../support/pod.ts';

/** The number of replicas, changed by kubectl as the chart's notes say. */
export function scale(cluster: Cluster): void {
  it.each([2, 3, 1])('repairs drift while `kubectl scale` goes to %d replicas', async (replicas) => {
    const { world, app } = cluster;
    const first = await new ControllerPod(world).isReady();
    const to =
      `kubectl -n argocd scale statefulset/driftless --replicas=${replicas}\n` +
      'kubectl -n argocd rollout status statefulset/driftless --timeout=120s\n';
    const longest = await app.healsDuring(runShell(world, to));
    note(`scale to ${replicas}: longest drift ${longest} ms`);
    await eventually(async () => {
      const names = await runShell(world, 'kubectl -n argocd get pods --no-headers -o custom-columns=:metadata.name\n');
      expect(names.split('\n').filter(Boolean)).toHaveLength(replicas);
    }, 60_000);
    const names = Array.from({ length: replicas }, (_, index) => `driftless-${index}`);
    const pods = await Promise.all(names.map((name) => new ControllerPod(world, name).isReady()));
    expect(pods[0]?.metadata.uid).toBe(first.metadata.uid);
    await app.isGood();
  });
}
