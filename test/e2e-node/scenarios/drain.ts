import { expect, it } from '@jest/globals';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { note } from '../support/note.ts';
import { ControllerPod } from '../support/pod.ts';

const ownPods = '-l driftless.io/release=driftless';

/** A node that is drained while another cannot take its pods. */
export function drain(cluster: Cluster): void {
  it('keeps one of two replicas while its node is drained, and repairs drift', async () => {
    const { world, app } = cluster;
    await runShell(
      world,
      'kubectl -n argocd scale statefulset/driftless --replicas=2\n' +
        'kubectl -n argocd rollout status statefulset/driftless --timeout=120s\n',
    );
    const pods = ['driftless-0', 'driftless-1'].map((name) => new ControllerPod(world, name));
    const before = await Promise.all(pods.map((pod) => pod.isReady()));
    const longest = await app.healsDuring(runShell(world, drained));
    note(`drain: longest drift ${longest} ms`);
    const after = await Promise.all(
      pods.map((pod, index) => pod.isReady({ not: before[index]?.metadata.uid ?? '', withinMs: 120_000 })),
    );
    expect(after).toHaveLength(2);
    await runShell(world, 'kubectl -n argocd scale statefulset/driftless --replicas=1\n');
    await app.isGood();
  }, 300_000);
}

/**
 * Drains the only node. The second eviction must be refused until the first pod is Ready again,
 * which it cannot be before `uncordon`.
 */
const drained = `kubectl drain node-1 --pod-selector=driftless.io/release=driftless --ignore-daemonsets \\
  --delete-emptydir-data --timeout=150s > "$HOME/drain" 2>&1 &
drain=$!
for i in $(seq 60); do
  if grep -q "Cannot evict pod as it would violate the pod's disruption budget" "$HOME/drain"; then break; fi
  sleep 1
done
cat "$HOME/drain"
grep -q "disruption budget" "$HOME/drain"
kubectl -n argocd get pods ${ownPods} --no-headers
test "$(kubectl -n argocd get pods ${ownPods} --no-headers | grep -c Running)" = 1
kubectl uncordon node-1
wait $drain
`;
