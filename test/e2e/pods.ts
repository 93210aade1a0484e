import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#base';
import { eventually, ownReplica, socketPage } from '#support';
import type { OwnReplica } from '#support';
import { repository } from './rendered-controller.ts';
import type { RenderedController } from './rendered-controller.ts';
import { freePort } from './support/index.ts';
import type { Server } from './support/index.ts';

const program = join(repository, 'dist', 'cli', 'argocd-application-controller.js');

interface PodOptions {
  readonly kubeconfig: string;
  readonly folder: string;
  /** Where its read API listens; undefined: on its Unix socket only. */
  readonly api?: { readonly host: string; readonly port: number } | undefined;
}

/**
 * A pod of the chart's workload as a local process with the same arguments, environment, name and
 * permissions of its ServiceAccount.
 */
export class PodProcess {
  readonly name: string;
  /** Where its read API listens; 0: nowhere. */
  readonly apiPort: number;
  readonly #child: ChildProcess;
  readonly #log: string;
  readonly #socket: string;
  readonly #ended: Promise<number | null>;
  #port: number | undefined;

  constructor(name: string, rendered: RenderedController, options: PodOptions) {
    this.name = name;
    const home = join(options.folder, name);
    mkdirSync(home, { recursive: true });
    this.#socket = join(home, 'debug', 'state.sock');
    this.#log = join(options.folder, `${name}-${process.hrtime.bigint()}.log`);
    const here = [`--kubeconfig=${options.kubeconfig}`, `--namespace=${rendered.namespace}`];
    // Only what is private to a container differs: the ports and the writable folders.
    const { host, port } = options.api ?? { host: '', port: 0 };
    this.apiPort = port;
    const ports = ['--metrics-host=127.0.0.1', '--metrics-port=0', `--api-host=${host}`, `--api-port=${port}`];
    const args = [program, ...rendered.args, ...here, ...ports];
    this.#child = spawn(process.execPath, args, {
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        // As in each pod.
        KUBERNETES_SERVICE_HOST: '10.96.0.1',
        ...rendered.env(name),
        DRIFTLESS_CACHE_DIR: home,
        DRIFTLESS_ALLOW_LOCAL_REPOSITORIES: 'true',
        DRIFTLESS_ALLOW_LOCAL_SOURCES: 'true',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = createWriteStream(this.#log);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk) => {
        log.write(chunk as Buffer);
        const port = /"port":(\d+)/.exec(String(chunk))?.[1];
        if (String(chunk).includes('Serving metrics and health') && port !== undefined) this.#port = Number(port);
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

  /** What it reports about itself; undefined if the pod does not answer. */
  async state(): Promise<OwnReplica | undefined> {
    return this.isRunning ? ownReplica(this.#socket).catch(() => undefined) : undefined;
  }

  /** A page of its read API; undefined if the pod does not answer. */
  async page(path: string): Promise<string | undefined> {
    return this.isRunning ? socketPage(this.#socket, path).catch(() => undefined) : undefined;
  }

  async metrics(): Promise<string> {
    return (await (await this.#ask('/metrics'))?.text()) ?? '';
  }

  /** The HTTP status of a probe, as the kubelet sees it; 0 without an answer. */
  async probe(path: '/livez' | '/readyz'): Promise<number> {
    return (await this.#ask(path))?.status ?? 0;
  }

  /** Stops the pod like the kubelet, and checks its outputs for secrets. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const answers = await this.#lastAnswers();
    if (this.isRunning) this.#child.kill(signal);
    const code = await this.#ended;
    this.#refuseSecrets({ log: this.log(), ...answers });
    return code;
  }

  /** Its HTTP answers before it ends; empty for a frozen or dead pod. */
  async #lastAnswers(): Promise<Readonly<Record<string, string>>> {
    const all = async (): Promise<Readonly<Record<string, string>>> => ({
      metrics: await this.metrics(),
      applications: (await this.page('applications')) ?? '',
      clusters: (await this.page('clusters')) ?? '',
      events: (await this.page('events')) ?? '',
    });
    return Promise.race([all().catch(() => ({})), systemClock.sleep(3000).then(() => ({}))]);
  }

  /** T-SEC-1: no output has a token, a private key, a URL with a password or a canary. */
  #refuseSecrets(outputs: Readonly<Record<string, string>>): void {
    const secret = /eyJ[\w-]{8,}\.[\w-]{8,}\.|PRIVATE KEY|c4nary|:\/\/[^/\s"@*]+:[^/\s"@]+@/;
    for (const [where, text] of Object.entries(outputs)) {
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
 * Acts as the workload controller and the kubelet for the chart's StatefulSet or Deployment: runs
 * `spec.replicas` pods with the names of Kubernetes, and scales down from the highest ordinal.
 */
export class WorkloadPods {
  readonly #hub: Server;
  readonly #rendered: RenderedController;
  readonly #folder: string;
  readonly #pods: PodProcess[] = [];
  readonly #apiHost: string | undefined;
  #kubeconfig = '';
  #born = 0;

  /** @param apiHost address of this machine on which the read API of each pod has a port */
  constructor(hub: Server, rendered: RenderedController, folder: string, apiHost?: string) {
    this.#hub = hub;
    this.#rendered = rendered;
    this.#folder = folder;
    this.#apiHost = apiHost;
  }

  all(): readonly PodProcess[] {
    return this.#pods;
  }

  /** Starts and stops pods to match the workload in the cluster. */
  async match(): Promise<void> {
    const { workload, namespace, serviceAccount } = this.#rendered;
    if (this.#kubeconfig === '')
      this.#kubeconfig = this.#hub.kubeconfigFor(await this.#hub.as(namespace, serviceAccount), namespace);
    const path = `/apis/apps/v1/namespaces/${namespace}/${workload.kind.toLowerCase()}s/${workload.metadata.name}`;
    const { spec } = (await this.#hub.api.get<{ spec: { replicas: number } }>(path)) ?? { spec: { replicas: 0 } };
    while (this.#pods.length < spec.replicas) this.#pods.push(await this.#start(this.#pods.length));
    const surplus = this.#pods.splice(spec.replicas);
    await Promise.all(surplus.map((pod) => pod.stop()));
  }

  /**
   * A rolling update by the chart's strategies: replaces one pod after the other, without surge.
   */
  async roll(): Promise<void> {
    for (const [i, old] of [...this.#pods].entries()) {
      await old.stop();
      this.#pods[i] = await this.#start(i);
      await this.ready();
    }
  }

  async #start(ordinal: number): Promise<PodProcess> {
    const { workload } = this.#rendered;
    this.#born += 1;
    const suffix = workload.kind === 'StatefulSet' ? String(ordinal) : `5d9c7-x${this.#born}`;
    const api = this.#apiHost === undefined ? undefined : { host: this.#apiHost, port: await freePort() };
    const options = { kubeconfig: this.#kubeconfig, folder: this.#folder, api };
    return new PodProcess(`${workload.metadata.name}-${suffix}`, this.#rendered, options);
  }

  /** The replicas that report to own each cluster. */
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

  /** Every log from its start, for what a test expects of it. */
  log(): string {
    return this.#pods.map((pod) => pod.log()).join('\n');
  }

  /** The end of every log, for error messages only: a line that a test awaits scrolls away. */
  tail(): string {
    return this.#pods.map((pod) => `--- ${pod.name}\n${pod.log().split('\n').slice(-15).join('\n')}`).join('\n');
  }

  async stop(): Promise<void> {
    await Promise.all(this.#pods.splice(0).map((pod) => pod.stop('SIGKILL')));
  }
}
