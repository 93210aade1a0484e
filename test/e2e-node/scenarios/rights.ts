import { expect, it } from '@jest/globals';
import { eventually } from '#support';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { ControllerPod } from '../support/pod.ts';
import { Release } from '../support/release.ts';

/** Rights that an administrator takes away from a running release. */
export function rights(cluster: Cluster): void {
  it('names the right that is missing without its ClusterRoleBinding, and repairs drift after helm upgrade', async () => {
    const { world } = cluster;
    const release = await Release.install(world, 'bereft', { values: {} });
    const app = await NodeApplication.create(world, 'needs-rights', { namespace: 'bereft' });
    await app.isGood();
    await release.shell('kubectl delete clusterrolebinding bereft-driftless\n');
    const pod = new ControllerPod(world, 'driftless-0', 'bereft');
    const healed = await app.drift();
    await Promise.all([
      eventually(async () => {
        const { status, text } = await pod.readyz();
        expect([status, text]).toEqual([503, expect.stringContaining('list the objects of this cluster')]);
      }, 60_000),
      eventually(async () => {
        expect((await app.status())?.operationState?.message).toMatch(/is forbidden: User .*bereft:driftless/);
      }, 60_000),
    ]);
    await release.shell('helm upgrade driftless charts/driftless -n bereft --reuse-values\n');
    // The retries of the operation wait up to three minutes.
    await healed(200_000);
    await app.isGood();
    await pod.isReady();
    expect(await pod.restarts()).toBe(0);
    await release.uninstall();
  }, 500_000);
}
