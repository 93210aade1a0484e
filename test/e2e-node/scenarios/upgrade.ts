import { expect, it } from '@jest/globals';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { documentedCommands } from '../support/documented.ts';
import { preparedNode } from '../support/node.ts';
import { note } from '../support/note.ts';
import { ControllerPod, waitedForCpu } from '../support/pod.ts';
import { Release, version } from '../support/release.ts';

/** A lease takes 30 s: drift that waits for one would take longer than this, with a CPU at hand. */
const withoutLeaseMs = 20_000;

/** From the chart and the image of the last release, by the commands of docs/upgrade.md. */
export function upgrade(cluster: Cluster): void {
  const last = preparedNode().lastRelease;
  const title = 'upgrades the last release and rolls back, syncs nothing, and repairs drift meanwhile';
  if (last === undefined) {
    it.skip(`${title} (left out: this clone lacks the commit of the last release)`, () => undefined);
    return;
  }
  it(
    title,
    async () => {
      const { world } = cluster;
      const values = { global: { image: { tag: last.image.split(':').at(-1) } } };
      const release = await Release.install(world, 'upgraded', { values, chart: last.chart });
      const [still, app] = [
        await NodeApplication.create(world, 'untouched', { namespace: 'upgraded' }),
        await NodeApplication.create(world, 'repaired', { namespace: 'upgraded' }),
      ];
      await still.isGood();
      await app.isGood();
      await app.heals();
      const before = await facts(still);
      const commands = documentedCommands('Upgrade', 'upgrade.md')
        .replaceAll('argocd', 'upgraded')
        .replaceAll('values.yaml', '"$HOME/upgrade-values.yaml"')
        .replace('NEW', version);
      await rolls(app, release, commands);
      expect(await image(release)).toBe(`registry.example.com/driftless:${version}`);
      expect(await facts(still)).toEqual(before);
      await rolls(
        app,
        release,
        'helm rollback driftless -n upgraded\n' +
          'kubectl -n upgraded rollout status statefulset/driftless --timeout=150s\n',
      );
      expect(await image(release)).toBe(last.image);
      expect(await facts(still)).toEqual(before);
      await release.uninstall();
    },
    500_000,
  );

  async function rolls(app: NodeApplication, release: Release, commands: string): Promise<void> {
    const longest = await app.healsDuring(release.shell(commands));
    const pod = new ControllerPod(cluster.world, 'driftless-0', 'upgraded');
    const starved = waitedForCpu(await pod.process());
    note(`${commands.split('\n').at(-3)}: longest drift ${longest} ms, ${Math.round(starved)} ms without a CPU`);
    expect(longest - starved).toBeLessThan(withoutLeaseMs);
    expect(await pod.restarts()).toBe(0);
    await app.isGood();
  }
}

/** The state that an upgrade must not change. */
async function facts(app: NodeApplication): Promise<object> {
  const { operationState, sync, health } = (await app.status()) ?? {};
  return { deployed: await app.deployed(), operationState, sync, health };
}

function image(release: Release): Promise<string> {
  return release.shell("kubectl -n upgraded get pod driftless-0 -o jsonpath='{.spec.containers[0].image}'\n");
}
