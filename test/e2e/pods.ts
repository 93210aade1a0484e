import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#base';
import { eventually } from '#support';
import { repository } from './rendered-controller.ts';
import type { RenderedController } from './rendered-controller.ts';
import type { Server } from './support/index.ts';

const program = join(repository, 'dist', 'cli', 'argocd-application-controller.js');

interface State {
  readonly ownedClusters: readonly string[];
  readonly shard?: number;
  readonly leftOut: readonly string[];
}

/** One pod of the chart's workload, as a process of this machine: same arguments, environment, name, and rights of its ServiceAccount. */
export class Pod {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #log: string;
  readonly #ended: Promise<number | null>;
  #port: number | undefined;

  constructor(name: string, rendered: RenderedController, options: { kubeconfig: string; folder: string }) {
    this.name = name;
    const home = join(options.folder, name);
    mkdirSync(home, { recursive: true });
    this.#log = join(options.folder, `${name}-${process.hrtime.bigint()}.log`);
    const here = [`--kubeconfig=${options.kubeconfig}`, `--namespace=${rendered.namespace}`];
    // Only what a container has to itself is different: the port, and where it may write.
    const args = [program, ...rendered.args, ...here, '--metrics-host=127.0.0.1', '--metrics-port=0'];
    this.#child = spawn(process.execPath, args, {
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        ...rendered.env(name),
        DRIFTLESS_CACHE_DIR: home,
        DRIFTLESS_ALLOW_LOCAL_REPOSITORIES: 'true',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = createWriteStream(this.#log);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk) => {
        log.write(chunk as Buffer);
        const port = /"port":(\d+)/.exec(String(chunk))?.[1];
        if (String(chunk).includes('serving metrics and health') && port !== undefined) this.#port = Number(port);
      });
    }
    this.#ended = new Promise((resolve) => this.#child.once('close', resolve));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What it says of itself; undefined while it does not answer. */
  async state(): Promise<State | undefined> {
    const answer = await this.#ask('/debug/state');
    return answer === undefined ? undefined : ((await answer.json()) as State);
  }

  async metrics(): Promise<string> {
    return (await (await this.#ask('/metrics'))?.text()) ?? '';
  }

  /** As the kubelet asks: the status of a probe; 0 while nobody answers. */
  async probe(path: '/livez' | '/readyz'): Promise<number> {
    return (await this.#ask(path))?.status ?? 0;
  }

  /** As the kubelet ends a pod. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const answers = await this.#lastAnswers();
    if (this.isRunning) this.#child.kill(signal);
    const code = await this.#ended;
    this.#refuseSecrets({ log: this.log(), ...answers });
    return code;
  }

  /** What can be read of it over HTTP before it ends; a pod that is frozen or gone says nothing. */
  async #lastAnswers(): Promise<Readonly<Record<string, string>>> {
    const all = async (): Promise<Readonly<Record<string, string>>> => ({
      metrics: await this.metrics(),
      state: (await (await this.#ask('/debug/state'))?.text()) ?? '',
    });
    return Promise.race([all().catch(() => ({})), systemClock.sleep(3000).then(() => ({}))]);
  }

  /** T-SEC-1: whatever a test did to it, it shows no token, no private key, no address with a password, and no value that says it is secret. */
  #refuseSecrets(said: Readonly<Record<string, string>>): void {
    const secret = /eyJ[\w-]{8,}\.[\w-]{8,}\.|PRIVATE KEY|c4nary|:\/\/[^/\s"@*]+:[^/\s"@]+@/;
    for (const [where, text] of Object.entries(said)) {
      const shown = text.split('\n').filter((line) => secret.test(line));
      if (shown.length > 0)
        throw new Error(`a secret in the ${where} of ${this.name}: ${shown.slice(0, 3).join('\n').slice(0, 2000)}`);
    }
  }

  log(): string {
    return readFileSync(this.#log, 'utf8');
  }

  async #ask(path: string): Promise<Response | undefined> {
    if (this.#port === undefined || !this.isRunning) return undefined;
    return fetch(`http://127.0.0.1:${this.#port}${path}`).catch(() => undefined);
  }
}

/**
 * What the workload's controller and the kubelet would do about the chart's StatefulSet or Deployment: as many pods as `spec.replicas` says,
 * names as Kubernetes gives them, highest ordinal first on the way down.
 */
export class Pods {
  readonly #hub: Server;
  readonly #rendered: RenderedController;
  readonly #folder: string;
  readonly #pods: Pod[] = [];
  #kubeconfig = '';
  #born = 0;

  constructor(hub: Server, rendered: RenderedController, folder: string) {
    this.#hub = hub;
    this.#rendered = rendered;
    this.#folder = folder;
  }

  all(): readonly Pod[] {
    return this.#pods;
  }

  /** Makes the pods match the workload in the cluster. */
  async match(): Promise<void> {
    const { workload, namespace, serviceAccount } = this.#rendered;
    if (this.#kubeconfig === '')
      this.#kubeconfig = this.#hub.kubeconfigFor(await this.#hub.as(namespace, serviceAccount), namespace);
    const path = `/apis/apps/v1/namespaces/${namespace}/${workload.kind.toLowerCase()}s/${workload.metadata.name}`;
    const { spec } = (await this.#hub.api.get<{ spec: { replicas: number } }>(path)) ?? { spec: { replicas: 0 } };
    while (this.#pods.length < spec.replicas) this.#pods.push(this.#start(this.#pods.length));
    const surplus = this.#pods.splice(spec.replicas);
    await Promise.all(surplus.map((pod) => pod.stop()));
  }

  /** Each by a successor, one after another and without surge: a rolling update by the chart's strategies. */
  async roll(): Promise<void> {
    for (const [i, old] of [...this.#pods].entries()) {
      await old.stop();
      this.#pods[i] = this.#start(i);
      await this.ready();
    }
  }

  #start(ordinal: number): Pod {
    const { workload } = this.#rendered;
    this.#born += 1;
    const suffix = workload.kind === 'StatefulSet' ? String(ordinal) : `5d9c7-x${this.#born}`;
    const options = { kubeconfig: this.#kubeconfig, folder: this.#folder };
    return new Pod(`${workload.metadata.name}-${suffix}`, this.#rendered, options);
  }

  /** Owners of each cluster by the replicas' own word. */
  async owners(): Promise<ReadonlyMap<string, readonly string[]>> {
    const owners = new Map<string, string[]>();
    for (const pod of this.#pods)
      for (const cluster of (await pod.state())?.ownedClusters ?? [])
        owners.set(cluster, [...(owners.get(cluster) ?? []), pod.name]);
    return owners;
  }

  async ready(withinMs = 60_000): Promise<void> {
    await eventually(async () => {
      const probes = await Promise.all(this.#pods.map((pod) => pod.probe('/readyz')));
      if (probes.some((status) => status !== 200)) throw new Error(`readyz: ${probes.join(' ')}\n${this.tail()}`);
    }, withinMs);
  }

  /** The end of every log, for failures. */
  tail(): string {
    return this.#pods.map((pod) => `--- ${pod.name}\n${pod.log().split('\n').slice(-15).join('\n')}`).join('\n');
  }

  async stop(): Promise<void> {
    await Promise.all(this.#pods.splice(0).map((pod) => pod.stop('SIGKILL')));
  }
}
