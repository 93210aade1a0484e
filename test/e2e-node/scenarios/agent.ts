import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { eventually } from '#support';
import { GitFixture } from '../../acceptance/world.ts';
import { repository } from '../../e2e/rendered-controller.ts';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { preparedNode } from '../support/node.ts';

const limitMs = 60_000;
const settings = '/api/v1/namespaces/driftless-agent/configmaps/agent-settings';

/** manifests/agent.yaml beside the controller. */
export function agent(cluster: Cluster): void {
  const deployed = async (): Promise<string | undefined> =>
    (await cluster.world.hub.api.get<{ metadata: { uid: string } }>(settings))?.metadata.uid;
  const isThere = async (but = ''): Promise<string> => {
    try {
      return await eventually(async () => {
        const uid = await deployed();
        if (uid === undefined || uid === but) throw new Error('the ConfigMap of the folder is missing');
        return uid;
      }, limitMs);
    } catch (error) {
      const log = await runShell(
        cluster.world,
        'kubectl -n driftless-agent logs deployment/driftless-agent --tail=40\n',
      );
      throw new Error(`${String(error)}\n${log}`, { cause: error });
    }
  };
  const heals = async (): Promise<void> => {
    const before = await isThere();
    await cluster.world.hub.api.delete(settings);
    expect(await isThere(before)).not.toBe(before);
  };

  it('keeps a folder by manifests/agent.yaml, also during a rollout and after a kill', async () => {
    const { world } = cluster;
    const git = new GitFixture(world.repositories, 'agent');
    git.commit({
      'deploy/a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: agent-settings}\ndata: {a: "1"}\n',
    });
    const manifest = readFileSync(join(repository, 'manifests', 'agent.yaml'), 'utf8')
      .replace('driftless/driftless:0.2.0', preparedNode().image)
      .replace('https://git.example.com/team/shop.git', `${world.git.url}/agent`)
      .replace('- --prune\n', '- --prune\n            - --allow-local-sources\n');
    const file = join(world.folder, 'agent.yaml');
    writeFileSync(file, manifest);
    const rolledOut = 'kubectl -n driftless-agent rollout status deployment/driftless-agent --timeout=100s\n';
    await runShell(world, `kubectl apply -f ${file}\n${rolledOut}`);
    await heals();

    await runShell(world, `kubectl -n driftless-agent rollout restart deployment/driftless-agent\n${rolledOut}`);
    await heals();

    const pods = 'kubectl -n driftless-agent get pods -l app.kubernetes.io/name=driftless-agent';
    await runShell(world, `kubectl -n driftless-agent delete pod --force --all\n${rolledOut}`);
    await heals();
    expect(await runShell(world, `${pods} -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}'`)).toBe(
      '0',
    );
    await runShell(world, `kubectl delete -f ${file} --timeout=100s\n`);
  }, 600_000);
}
