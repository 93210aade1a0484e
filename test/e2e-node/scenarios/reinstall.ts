import { expect, it } from '@jest/globals';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { documentedCommands, runShell } from '../support/documented.ts';
import { note } from '../support/note.ts';
import { ControllerPod, waitedForCpu } from '../support/pod.ts';

/** Uninstalled and installed again, by the commands of docs/install.md. */
export function reinstall(cluster: Cluster): void {
  it('leaves what it deployed, and repairs drift again soon after a new installation', async () => {
    const { world } = cluster;
    // An Application of its own: many repairs before would delay the next by the self-heal backoff.
    const app = await NodeApplication.create(world, 'kept');
    await app.isGood();
    const deployed = await app.deployed();
    await runShell(world, documentedCommands('Uninstall'));
    expect(await app.deployed()).toBe(deployed);
    const healed = await app.drift();
    await expect(healed(3000)).rejects.toThrow('does not come back');
    const begin = Date.now();
    await runShell(world, documentedCommands('Install with Helm'));
    const tookMs = (await healed()) - begin;
    const starved = waitedForCpu(await new ControllerPod(world).process());
    note(`installed again: drift repaired after ${tookMs} ms, ${Math.round(starved)} ms of them without a CPU`);
    // A lease that was not released would take 30 seconds.
    expect(tookMs - starved).toBeLessThan(25_000);
    await new ControllerPod(world).isReady();
    await app.isGood();
  });
}
