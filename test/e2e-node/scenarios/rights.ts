import { expect, it } from '@jest/globals';
import { eventually } from '#support';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { preparedNode } from '../support/node.ts';
import { ControllerPod } from '../support/pod.ts';
import { Release } from '../support/release.ts';

/** Rights that an administrator takes away from a running release. */
export function rights(cluster: Cluster): void {
  const title = 'names the right that is missing without its ClusterRoleBinding, and repairs drift after helm upgrade';
  if (!preparedNode().isFull) {
    it.skip(`${title} (left out: needs DRIFTLESS_E2E_NODE_FULL=1)`, () => undefined);
    return;
  }
  it(
    title,
    async () => {
      const { world } = cluster;
      const release = await Release.install(world, 'bereft', { values: {} });
      const app = await NodeApplication.create(world, 'needs-rights', { namespace: 'bereft' });
      await app.isGood();
      await release.shell('kubectl delete clusterrolebinding bereft-driftless\n');
      const healed = await app.drift();
      await eventually(async () => {
        expect((await app.status())?.operationState?.message).toMatch(/is forbidden: User .*bereft:driftless/);
      }, 60_000);
      await release.shell('helm upgrade driftless charts/driftless -n bereft --reuse-values\n');
      // The retries of the operation wait up to three minutes.
      await healed(200_000);
      await app.isGood();
      expect(await new ControllerPod(world, 'driftless-0', 'bereft').restarts()).toBe(0);
      await release.uninstall();
    },
    500_000,
  );
}
