import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The address of the node. Pods reach servers of the tests there. */
export const nodeAddress = '10.99.0.1';

/** Configures the empty network namespace of this run. It disappears with the last process. */
export function setUpNetwork(): void {
  run('ip', 'link', 'set', 'lo', 'up');
  run('ip', 'link', 'add', 'node0', 'type', 'veth', 'peer', 'name', 'node1');
  run('ip', 'address', 'add', `${nodeAddress}/24`, 'dev', 'node0');
  for (const end of ['node0', 'node1']) run('ip', 'link', 'set', end, 'up');
  // Without a default route nothing could connect to the service address.
  run('ip', 'route', 'add', 'default', 'dev', 'node0');
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
}

/** The first address of the service range: the Service `kubernetes`. */
const apiService = '10.96.0.1';

/** Forwards the service address of the API server to its port on the node, as kube-proxy does. */
export function forwardApiService(apiPort: number): void {
  forwardService(apiService, apiPort);
}

/** Forwards port 443 of a Service to a port on the node. */
export function forwardService(address: string, port: number): void {
  const target = ['-j', 'DNAT', '--to-destination', `${nodeAddress}:${port}`];
  for (const chain of ['PREROUTING', 'OUTPUT'])
    run('iptables', '-w', '-t', 'nat', '-A', chain, '-d', address, '-p', 'tcp', '--dport', '443', ...target);
}

/**
 * Writes the configuration of the network of pods. Each has a link of its own to the node, so that
 * iptables sees what pods send to each other. @returns its folder
 */
export function podNetwork(folder: string): string {
  const path = join(folder, 'cni');
  mkdirSync(path);
  const ranges = [[{ subnet: '10.244.0.0/24' }]];
  const ipam = { type: 'host-local', ranges, routes: [{ dst: '0.0.0.0/0' }], dataDir: join(folder, 'addresses') };
  const plugins = [
    { type: 'ptp', ipam },
    { type: 'portmap', capabilities: { portMappings: true } },
  ];
  writeFileSync(join(path, '10-pods.conflist'), JSON.stringify({ cniVersion: '0.4.0', name: 'pods', plugins }));
  return path;
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: 'pipe', timeout: 20_000 });
}
