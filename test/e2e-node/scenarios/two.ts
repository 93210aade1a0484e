import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { documentedCommands, runShell } from '../support/documented.ts';
import { ControllerPod } from '../support/pod.ts';

/** Longer than several comparisons after a change. */
const observedMs = 20_000;

/** Two releases in one cluster, with Applications of the same name. */
export function two(cluster: Cluster): void {
  it('works on equal Application names by the commands for a second installation', async () => {
    const { world } = cluster;
    await runShell(
      world,
      'helm upgrade driftless charts/driftless -n argocd --reuse-values --set configs.cm.installationID=one\n' +
        documentedCommands('A second installation in the same cluster') +
        'kubectl -n argocd-two rollout status statefulset/driftless --timeout=120s\n',
    );
    const app = await NodeApplication.create(world, 'shop');
    const other = await NodeApplication.create(world, 'shop', { namespace: 'argocd-two', target: 'shop-two' });
    await Promise.all([app.isGood(), other.isGood()]);
    const deployed = await Promise.all([app.deployed(), other.deployed()]);
    await sleep(observedMs);
    expect(await Promise.all([app.deployed(), other.deployed()])).toEqual(deployed);
    await Promise.all([app.heals(), other.heals()]);
    const pods = ['argocd', 'argocd-two'].map((namespace) => new ControllerPod(world, 'driftless-0', namespace));
    expect((await Promise.all(pods.map((pod) => pod.readyz()))).map(({ status }) => status)).toEqual([200, 200]);
  }, 240_000);

  it('keeps the rights of the first when the second is uninstalled', async () => {
    const { world } = cluster;
    await runShell(world, 'helm uninstall driftless -n argocd-two --wait\n');
    const app = await NodeApplication.create(world, 'after-two');
    await app.isGood();
    await app.heals();
    expect((await new ControllerPod(world).readyz()).status).toBe(200);
  });
}
