import { expect, it } from '@jest/globals';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { nodeAddress } from '../support/network.ts';
import { ControllerPod } from '../support/pod.ts';
import { enforcePolicies } from '../support/policies.ts';
import { Release } from '../support/release.ts';

const rendererLabel = 'app.kubernetes.io/name=driftless-renderer';

/** A renderer in pods of its own, in a network that enforces NetworkPolicies. */
export function walls(cluster: Cluster): void {
  it('renders in pods that reach nothing, and that only the controller reaches', async () => {
    const { world } = cluster;
    const renderer = { mode: 'deployment', deployment: { replicas: 1 } };
    const release = await Release.install(world, 'walled', { values: { renderer } });
    await release.shell('kubectl -n walled rollout status deployment/driftless-renderer --timeout=120s\n');
    const address = await release.shell(
      `kubectl -n walled get pods -l ${rendererLabel} -o jsonpath='{.items[0].status.podIP}'\n`,
    );
    const git = Number(new URL(world.git.url).port);
    const fromRenderer = (port = git): Promise<string> =>
      connects(release, 'walled deployment/driftless-renderer', [nodeAddress, port]);
    const toRenderer = (pod: string): Promise<string> => connects(release, pod, [address, 8443]);

    // Without the policies both directions are open, so it is they that close them.
    expect(await fromRenderer()).toBe('connected');
    expect(await toRenderer('argocd driftless-0')).toBe('connected');
    const lift = await enforcePolicies(world);
    try {
      expect(await fromRenderer()).toBe('no answer');
      expect(await fromRenderer(53)).toBe('no answer');
      expect(await toRenderer('argocd driftless-0')).toBe('no answer');
      expect(await toRenderer('walled driftless-0')).toBe('connected');
      const app = await NodeApplication.create(world, 'behind-walls', {
        namespace: 'walled',
        files: {
          'Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n',
          'templates/settings.yaml':
            'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: {{ .Release.Name }}}\n',
        },
      });
      await app.isGood();
      expect(await app.data()).toEqual({ a: 'behind-walls' });
      await app.heals();
      // Probes come from the node, and scrapes from pods of any namespace.
      await new ControllerPod(world, 'driftless-0', 'walled').isReady();
      const { status } = await new ControllerPod(world, 'driftless-0', 'walled').read();
      expect(await connects(release, 'argocd driftless-0', [status.podIP ?? '', 8082])).toBe('connected');
      expect(await connects(release, 'argocd driftless-0', [status.podIP ?? '', 8083])).toBe('no answer');
    } finally {
      lift();
    }
    await release.uninstall();
  }, 400_000);
}

/** Tries to connect from inside of a pod, given as "namespace name". */
async function connects(release: Release, from: string, [host, port]: [string, number]): Promise<string> {
  const [namespace = '', name = ''] = from.split(' ');
  const program =
    `const socket = require('node:net').connect(${port}, '${host}');` +
    `const end = (text) => { console.log(text); process.exit(0); };` +
    `socket.once('connect', () => end('connected')); socket.once('error', ({ code }) => end(code));` +
    `setTimeout(() => end('no answer'), 4000);`;
  return (await release.shell(`kubectl -n ${namespace} exec ${name} -- node -e "${program}" 2>/dev/null\n`)).trim();
}
