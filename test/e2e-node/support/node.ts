import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '#support';
import { ServerProcess } from '../../e2e/support/processes.ts';
import { toolPath } from '../../e2e/support/index.ts';
import type { Server } from '../../e2e/support/index.ts';
import { nodeAddress, podNetwork } from './network.ts';

/** Files and programs that scripts/e2e-node/run.mjs prepared. */
export interface PreparedNode {
  readonly image: string;
  readonly pause: string;
  readonly archives: readonly string[];
  readonly cgroupRoot: string;
  readonly maySetOomScore: boolean;
  /** The tools of Argo CD are here. */
  readonly hasArgo: boolean;
  /** Missing in a shallow clone. */
  readonly lastRelease?: { readonly image: string; readonly chart: string };
}

/** @throws Error that says what to run if this is not `npm run e2e:node` */
export function preparedNode(): PreparedNode {
  const text = process.env['DRIFTLESS_E2E_NODE'];
  if (text === undefined) throw new Error('run these tests with npm run e2e:node, which builds the image');
  return JSON.parse(text) as PreparedNode;
}

const run = promisify(execFile);

/** containerd and a kubelet, with the controllers and the scheduler of their cluster. */
export class ClusterNode {
  readonly #folder: string;
  readonly #server: Server;
  readonly #prepared: PreparedNode;
  readonly #processes: Readonly<Record<string, ServerProcess>>;

  constructor(folder: string, server: Server, prepared: PreparedNode) {
    mkdirSync(folder);
    this.#folder = folder;
    this.#server = server;
    this.#prepared = prepared;
    this.#processes = {
      containerd: this.#process('/usr/bin/containerd', ['--config', this.#containerdConfig()], 'containerd'),
      manager: this.#process(toolPath('kube-controller-manager'), this.#managerArgs(), 'kube-controller-manager'),
      scheduler: this.#process(
        toolPath('kube-scheduler'),
        [`--kubeconfig=${server.kubeconfig}`, '--leader-elect=false', '--secure-port=0'],
        'kube-scheduler',
      ),
      kubelet: this.#process(toolPath('kubelet'), this.#kubeletArgs(), 'kubelet'),
    };
  }

  /** Starts everything, and resolves when the node is Ready and has the images. */
  async start(): Promise<void> {
    const { containerd, ...others } = this.#processes;
    containerd?.start();
    await eventually(() => this.#ctr('version'), 30_000);
    const images = Promise.all(this.#prepared.archives.map((path) => this.#ctr('images', 'import', path)));
    for (const process of Object.values(others)) process.start();
    try {
      await eventually(() => this.#isReady(), 120_000);
    } catch (error) {
      throw new Error(`the node does not become Ready: ${this.tail()}`, { cause: error });
    }
    await images;
  }

  /** The last lines of every component, for error messages. */
  tail(): string {
    return Object.entries(this.#processes)
      .map(([name, process]) => `--- ${name}\n${process.tail(10)}`)
      .join('\n');
  }

  /** Stops the components first, so that nothing restarts the containers while they end. */
  async stop(): Promise<void> {
    const { containerd, ...others } = this.#processes;
    for (const process of Object.values(others)) await process.stop();
    const { stdout } = await run('/usr/bin/ctr', [...this.#socket(), 'tasks', 'list', '--quiet']);
    for (const id of stdout.split('\n').filter(Boolean))
      await this.#ctr('tasks', 'kill', '--all', '--signal', 'SIGKILL', id).catch(() => undefined);
    await containerd?.stop('SIGTERM');
    await this.#unmount();
  }

  /** Volumes and file systems of containers, the last one first. */
  async #unmount(): Promise<void> {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const paths = mounts.map((line) => line.split(' ')[1] ?? '').filter((path) => path.startsWith(this.#folder));
    for (const path of paths.reverse()) await run('umount', ['--lazy', path]).catch(() => undefined);
  }

  async #isReady(): Promise<void> {
    const node = await this.#server.api.get<NodeObject>(`/api/v1/nodes/${nodeName}`);
    const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status !== 'True') throw new Error(`node ${nodeName}: ${JSON.stringify(ready)}`);
  }

  #process(command: string, args: readonly string[], name: string): ServerProcess {
    return new ServerProcess(command, args, join(this.#folder, `${name}.log`));
  }

  #socket(): readonly string[] {
    return ['--address', join(this.#folder, 'containerd.sock'), '--namespace', 'k8s.io'];
  }

  async #ctr(...args: string[]): Promise<void> {
    await run('/usr/bin/ctr', [...this.#socket(), ...args], { timeout: 300_000 });
  }

  #containerdConfig(): string {
    const { pause, maySetOomScore } = this.#prepared;
    const cri = 'plugins."io.containerd.grpc.v1.cri"';
    return this.#write(
      'containerd.toml',
      `version = 2
root = "${join(this.#folder, 'containerd')}"
state = "/run/containerd"
[grpc]
address = "${join(this.#folder, 'containerd.sock')}"
[${cri}]
sandbox_image = "${pause}"
restrict_oom_score_adj = ${String(!maySetOomScore)}
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[${cri}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${podNetwork(this.#folder)}"
`,
    );
  }

  #managerArgs(): string[] {
    const hub = join(this.#folder, '..', this.#server.name);
    return [
      `--kubeconfig=${this.#server.kubeconfig}`,
      '--leader-elect=false',
      '--secure-port=0',
      '--horizontal-pod-autoscaler-sync-period=2s',
      `--service-account-private-key-file=${join(hub, 'service-accounts.key')}`,
      `--root-ca-file=${join(hub, 'ca.crt')}`,
    ];
  }

  #kubeletArgs(): string[] {
    const config = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: `unix://${join(this.#folder, 'containerd.sock')}`,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: this.#prepared.cgroupRoot,
      failCgroupV1: false,
      failSwapOn: false,
      ...(this.#prepared.maySetOomScore ? {} : { oomScoreAdj: 0 }),
      // The network namespace has no other users.
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      resolvConf: this.#write('resolv.conf', ''),
      clusterDNS: [nodeAddress],
      clusterDomain: 'cluster.local',
      podLogsDir: '/var/log/pods',
      // Tests kill containers many times: restart them at once.
      crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
      evictionHard: { 'nodefs.available': '1%', 'imagefs.available': '1%', 'memory.available': '50Mi' },
      imageGCHighThresholdPercent: 100,
    };
    return [
      `--config=${this.#write('kubelet.json', JSON.stringify(config))}`,
      `--kubeconfig=${this.#server.kubeconfig}`,
      `--root-dir=${join(this.#folder, 'kubelet')}`,
      `--cert-dir=${join(this.#folder, 'kubelet-certificates')}`,
      `--node-ip=${nodeAddress}`,
      `--hostname-override=${nodeName}`,
    ];
  }

  #write(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }
}

export const nodeName = 'node-1';

interface NodeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}
