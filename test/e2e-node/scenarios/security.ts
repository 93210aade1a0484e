import { describe, expect, it } from '@jest/globals';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { ControllerPod, procFile } from '../support/pod.ts';

/** The kernel's view of the processes in the pod. */
export function security(cluster: Cluster): void {
  it('refuses other pods in the namespace, because it enforces the restricted standard', async () => {
    const refused = runShell(cluster.world, 'kubectl -n argocd run other --image=localhost/pause:e2e --privileged\n');
    await expect(refused).rejects.toThrow(/violates PodSecurity "restricted/);
  });

  describe.each([
    ['controller', 999],
    ['renderer', 65532],
  ] as const)('the processes of the %s', (container, user) => {
    it(`have the user ${user}, no capabilities and a seccomp filter`, async () => {
      const pids = await new ControllerPod(cluster.world).processes(container);
      const statuses = pids.map((pid) => procFile(pid, 'status')).filter((text) => text !== '');
      expect(statuses.length).toBeGreaterThan(0);
      for (const text of statuses) {
        expect(text).toMatch(new RegExp(`^Uid:\\t${user}\\t${user}\\t${user}\\t`, 'm'));
        expect(text).toMatch(/^CapEff:\t0+$/m);
        expect(text).toMatch(/^NoNewPrivs:\t1$/m);
        // 2: a filter, which RuntimeDefault is. The renderer adds filters of its own.
        expect(text).toMatch(/^Seccomp:\t2$/m);
      }
    });
  });
}
