import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { eventually } from '#support';
import { NodeApplication } from '../support/application.ts';
import { ArgoInstallation } from '../support/argo.ts';
import type { Cluster } from '../support/cluster.ts';
import { documentedCommands, runShell } from '../support/documented.ts';
import { preparedNode } from '../support/node.ts';
import { note } from '../support/note.ts';
import { ControllerPod } from '../support/pod.ts';
import { version } from '../support/release.ts';

const namespace = 'argo-live';

/** Several comparisons of the shadow. */
const shadowMs = 20_000;

/** Beside Argo CD in its namespace: shadow mode, the switch, and back. */
export function dropIn(cluster: Cluster): void {
  const title = 'shadows, replaces and gives back an Argo CD by the commands of docs/migrate-from-argocd.md';
  if (!preparedNode().hasArgo) {
    it.skip(`${title} (left out: needs argocd and redis-server, see npm run e2e:setup)`, () => undefined);
    return;
  }
  it(
    title,
    async () => {
      const { world } = cluster;
      const argo = await ArgoInstallation.start(world, namespace);
      try {
        const untouched = await NodeApplication.create(world, 'by-argo', { namespace });
        const app = await NodeApplication.create(world, 'by-both', { namespace });
        for (const one of [untouched, app])
          await one.isGood().catch((error: unknown) => {
            throw new Error(`${String(error)}\n${argo.tail()}`, { cause: error });
          });
        await app.heals();
        // Argo CD may report Synced before the end of the operation.
        await eventually(async () =>
          expect((await untouched.status())?.operationState).toHaveProperty('phase', 'Succeeded'),
        );
        const before = await facts(untouched);

        await shadow(cluster);
        expect(await facts(untouched)).toEqual(before);

        await switchOver(cluster, argo);
        expect(await facts(untouched)).toEqual(before);
        await app.heals();
        await app.isGood();
        expect(await argo.hasKey('app|resources-tree|by-both*')).toBe(true);

        await runShell(world, commands('Back to Argo CD'));
        await argo.startController();
        // Until its cache is filled, Argo CD's controller does not see drift of known Applications.
        const later = await NodeApplication.create(world, 'by-argo-again', { namespace });
        await later.isGood(120_000);
        await app.heals();
        expect(await facts(untouched)).toEqual(before);
        await runShell(world, `helm uninstall driftless -n ${namespace}\n`);
      } finally {
        await argo.close();
        await runShell(world, `kubectl delete namespace ${namespace} --wait=false\n`);
      }
    },
    500_000,
  );
}

/** Compares beside Argo CD's controller, and must find that both agree. */
async function shadow({ world }: Cluster): Promise<void> {
  await runShell(
    world,
    `helm install shadow charts/driftless -n ${namespace} --set dropIn=true --set controller.shadow.enabled=true ` +
      `${image}\n`,
  );
  const names = await eventually(async () => {
    const ready = await runShell(
      world,
      `kubectl -n ${namespace} get pods --no-headers | grep -- shadow | grep ' 2/2 ' | cut -d ' ' -f 1\n`,
    );
    if (ready.trim() === '') throw new Error('the shadow is not ready');
    return ready.trim();
  }, 120_000);
  await sleep(shadowMs);
  const log = await runShell(world, `kubectl -n ${namespace} logs ${names} -c application-controller\n`);
  expect(log.split('\n').filter((line) => line.includes('Disagrees'))).toEqual([]);
  await runShell(world, `helm uninstall shadow -n ${namespace} --wait\n`);
}

/** The documented commands; the program on the node ends with the pod that stands for it. */
async function switchOver({ world }: Cluster, argo: ArgoInstallation): Promise<void> {
  const [, scale = '', wait = '', ...rest] = commands('Switch').split('\n');
  const install = rest.join('\n').replace('controller.replicas=3', 'controller.replicas=1');
  await expect(runShell(world, install)).rejects.toThrow(/two controllers would overwrite/);
  await runShell(world, `${scale}\n${wait}\n`);
  await argo.stopController();
  const begin = Date.now();
  await runShell(world, install);
  await new ControllerPod(world, 'driftless-0', namespace).isReady();
  note(`the switch from Argo CD: ready ${Date.now() - begin} ms after helm install`);
}

function commands(heading: string): string {
  return documentedCommands(heading, 'migrate-from-argocd.md').replaceAll('-n argocd ', `-n ${namespace} `);
}

/** Objects that neither controller may change for the other. */
async function facts(app: NodeApplication): Promise<object> {
  const { operationState, sync, health } = (await app.status()) ?? {};
  return { deployed: await app.deployed(), operationState, sync, health };
}

const image = `--set global.image.repository=registry.example.com/driftless --set global.image.tag=${version}`;
