import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { startSshServer } from '../../e2e/support/ssh-server.ts';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { nodeAddress } from '../support/network.ts';
import { ControllerPod, procFile } from '../support/pod.ts';

const user = 1_000_650_000;

/** The values of charts/driftless/README.md for OpenShift. */
const openShift = {
  global: { securityContext: { runAsUser: user, runAsGroup: null, fsGroup: null } },
  renderer: { securityContext: { runAsUser: user + 1, runAsGroup: null } },
};

/** Git over ssh, as a user without a line in /etc/passwd. */
export function ssh(cluster: Cluster): void {
  it(`syncs from a repository over ssh as user ${user}`, async () => {
    const { world } = cluster;
    const server = await startSshServer(join(world.folder, 'ssh'), nodeAddress);
    try {
      const url = `${server.url}${world.repositories}`;
      const credentials = { ssh: { url, type: 'git', sshPrivateKey: server.privateKey } };
      const configs = { ssh: { knownHosts: server.knownHosts }, credentialTemplates: credentials };
      await upgrade(cluster, { ...openShift, configs });
      const pod = new ControllerPod(world);
      expect(procFile(await pod.process(), 'status')).toMatch(new RegExp(`^Uid:\\t${user}\\t`, 'm'));
      const app = await NodeApplication.create(world, 'over-ssh', { url });
      await app.isGood();
      await app.heals();
    } finally {
      await upgrade(cluster, {
        global: { securityContext: { runAsUser: 999, runAsGroup: 999, fsGroup: 999 } },
        renderer: { securityContext: { runAsUser: 65532, runAsGroup: 65532 } },
      });
      await server.close();
    }
  }, 300_000);
}

async function upgrade({ world }: Cluster, values: object): Promise<void> {
  const file = join(world.folder, 'values.json');
  writeFileSync(file, JSON.stringify(values), { mode: 0o600 });
  await runShell(
    world,
    `helm upgrade driftless charts/driftless -n argocd --reuse-values --values ${file}\n` +
      'kubectl -n argocd rollout status statefulset/driftless --timeout=120s\n',
  );
}
