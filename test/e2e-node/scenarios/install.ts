import { expect, it } from '@jest/globals';
import { NodeApplication } from '../support/application.ts';
import { documentedCommands, runShell } from '../support/documented.ts';
import { ControllerPod } from '../support/pod.ts';
import type { Cluster } from '../support/cluster.ts';

/** docs/install.md, from the first command to the first Application. */
export function install(cluster: Cluster): void {
  it('becomes Ready by the commands of docs/install.md', async () => {
    const { world } = cluster;
    const enforce = 'pod-security.kubernetes.io/enforce=restricted';
    await runShell(world, `kubectl create namespace argocd\nkubectl label namespace argocd ${enforce}\n`);
    const notes = await runShell(world, documentedCommands('Install with Helm'));
    expect(notes).toContain('kubectl -n argocd rollout status statefulset/driftless');
    await runShell(world, documentedCommands('Verify the installation').split('\n')[0] ?? '');
    const { status } = await new ControllerPod(world).isReady();
    expect(status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
    expect((await new ControllerPod(world).readyz()).status).toBe(200);
  });

  it('answers the documented `driftless explain replica` in its pod', async () => {
    const last = documentedCommands('Verify the installation').trimEnd().split('\n').at(-1) ?? '';
    expect(last).toContain('explain replica');
    expect(await runShell(cluster.world, last)).toContain('https://kubernetes.default.svc');
  });

  it('syncs an Application from a repository over http, and repairs drift', async () => {
    cluster.app = await NodeApplication.create(cluster.world, 'first');
    await cluster.app.isGood();
    await cluster.app.heals();
    await cluster.app.isGood();
  });

  it('takes a setting by helm upgrade: later scenarios make drift faster than the backoff allows', async () => {
    const { world, app } = cluster;
    const setting = 'configs.params.controller\\\\.self\\\\.heal\\\\.backoff\\\\.timeout\\\\.seconds=0';
    await runShell(
      world,
      `helm upgrade driftless charts/driftless -n argocd --reuse-values --set-string ${setting}\n` +
        'kubectl -n argocd rollout status statefulset/driftless --timeout=120s\n',
    );
    for (let count = 0; count < 5; count += 1) await app.heals(10_000);
  });
}
