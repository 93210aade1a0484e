import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OwnershipCondition } from '#sharding';
import { startGitServer } from '#sim';
import type { GitServer } from '#sim';
import { eventually } from '#support';
import { freePort, runTool, startDouble, startServers, toolPath, toolsPath } from '../support/index.ts';
import type { Server, Servers } from '../support/index.ts';
import { ServerProcess } from '../support/processes.ts';
import { UnderTest } from '../under-test.ts';
import { controllerSet, installArgo } from './installation.ts';
import type { ControllerUnderTest } from './lockstep.ts';
import { ServedRepository } from './repository.ts';

/** Output and exit code of a command. */
export interface CommandOutcome {
  readonly code: number | null;
  readonly text: string;
}

/**
 * Argo CD on a real API server: its API server, repo-server, ApplicationSet and notifications
 * controllers, Redis, a Git server, a test double for workloads, and one of the two application
 * controllers. Everything listens on loopback.
 */
export class ArgoWorld {
  readonly hub: Server;
  readonly address: string;
  /** Received notifications, in order. */
  readonly notified: string[] = [];
  readonly #folder: string;
  readonly #git: GitServer;
  readonly #ends: (() => Promise<unknown> | undefined)[];
  readonly #daemons = new Map<string, ServerProcess>();
  #redis = '';
  #controllerArgs: readonly string[] = [];
  #ours: UnderTest | undefined;

  private constructor(parts: {
    readonly servers: Servers<'hub'>;
    readonly git: GitServer;
    readonly address: string;
    readonly ends: (() => Promise<unknown> | undefined)[];
  }) {
    this.hub = parts.servers.servers.hub;
    this.#folder = parts.servers.folder;
    this.#git = parts.git;
    this.address = parts.address;
    this.#ends = parts.ends;
  }

  static async start(controller: ControllerUnderTest): Promise<ArgoWorld> {
    const servers = await startServers({ names: ['hub'] });
    const ends: (() => Promise<unknown> | undefined)[] = [() => servers.close()];
    const root = join(servers.folder, 'repositories');
    mkdirSync(root);
    const git = await startGitServer(root);
    ends.push(() => git.close());
    const world = new ArgoWorld({ servers, git, address: `127.0.0.1:${await freePort()}`, ends });
    try {
      await world.#run(controller);
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  async close(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
  }

  repository(name: string): ServedRepository {
    return new ServedRepository(join(this.#folder, 'repositories'), join(this.#folder, 'trees'), name);
  }

  url(name: string): string {
    return `${this.#git.url}/${name}.git`;
  }

  /** Runs the CLI as the user of this world. */
  async argocd(args: readonly string[]): Promise<CommandOutcome> {
    const place = ['--config', join(this.#folder, 'argocd-cli'), '--plaintext'];
    const env = { HOME: this.#folder, ARGOCD_BINARY_NAME: 'argocd', KUBECONFIG: this.hub.kubeconfig };
    const { code, stdout, stderr } = await runTool('argocd', [...args, ...place], { env });
    return { code, text: stdout + stderr };
  }

  /** Runs `argocd admin`, which reads from the cluster and Redis instead of the API server. */
  async admin(args: readonly string[]): Promise<CommandOutcome> {
    const where = ['--kubeconfig', this.hub.kubeconfig, '--namespace', 'argocd'];
    const redis = ['--redis', this.#redis, '--port-forward-redis=false'];
    return this.argocd(['admin', ...args, ...where, ...redis]);
  }

  /** Writes a file for a command; returns its path. */
  file(name: string, content: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, content);
    return path;
  }

  /** Sends GitHub's webhook for a push to `main`. */
  async push(name: string, commit: string): Promise<number> {
    const html_url = `${this.#git.url}/${name}`;
    const payload = {
      ref: 'refs/heads/main',
      before: '0'.repeat(40),
      after: commit,
      repository: { html_url, default_branch: 'main' },
      commits: [{ added: [], removed: [], modified: ['app/settings.yaml'] }],
    };
    const answer = await fetch(`http://${this.address}/api/webhook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-github-event': 'push' },
      body: JSON.stringify(payload),
    });
    return answer.status;
  }

  /** Starts Argo CD's application controller, which in a world with ours runs beside it. */
  async startArgoController(): Promise<void> {
    const env = { ARGOCD_CONTROLLER_REPLICAS: '1' };
    await this.#argo('argocd-application-controller', [...this.#controllerArgs, ...(await metrics())], env);
  }

  /** Conditions of ownership that our controller reports. */
  async ownershipConditions(): Promise<readonly OwnershipCondition[]> {
    const page = (await this.#ours?.pods.all()[0]?.page('ownership')) ?? '{}';
    return (JSON.parse(page) as { readonly conditions?: readonly OwnershipCondition[] }).conditions ?? [];
  }

  /** The end of every log, for error messages. */
  tail(): string {
    return [...this.#daemons].map(([name, daemon]) => `--- ${name}\n${daemon.tail(8)}`).join('\n');
  }

  async #run(controller: ControllerUnderTest): Promise<void> {
    const { hub } = this;
    for (const name of ['tmp', 'bin', 'home', 'plugins', 'ssh', 'tls']) mkdirSync(join(this.#folder, name));
    // The repo-server runs one program to answer git's password prompts, and one to verify the
    // signature of each commit; commits of tests have none.
    symlinkSync(toolPath('argocd'), join(this.#folder, 'bin', 'argocd'));
    writeFileSync(join(this.#folder, 'bin', 'git-verify-wrapper.sh'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    const double = await startDouble(hub.access);
    this.#ends.push(() => double.stop());
    await installArgo(hub, { hookUrl: await this.#listen() });
    const [redis, repo] = [await freePort(), await freePort()];
    this.#redis = `127.0.0.1:${redis}`;
    const none = ['--save', '', '--appendonly', 'no', '--dir', this.#folder];
    this.#start(
      'redis',
      new ServerProcess(toolPath('redis-server'), ['--port', String(redis), ...none], this.#log('redis')),
    );
    const own = ['--kubeconfig', hub.kubeconfig, '--namespace', 'argocd'];
    const cache = ['--redis', this.#redis];
    const [host, port] = this.address.split(':') as [string, string];
    const plain = ['--disable-tls', '--client-ca-path=', '--address', '127.0.0.1', '--metrics-address', '127.0.0.1'];
    await this.#argo('argocd-repo-server', [...cache, ...plain, '--port', String(repo), ...(await metrics())]);
    const from = ['--repo-server', `127.0.0.1:${repo}`, '--repo-server-plaintext'];
    const listen = ['--address', host, '--port', port, '--insecure'];
    await this.#argo('argocd-server', [...own, ...cache, ...from, ...listen, ...(await metrics())]);
    this.#controllerArgs = [...own, ...cache, ...from];
    if (controller === 'Argo CD') {
      // The StatefulSet in the cluster, for clients that count pods. Our chart creates its own.
      await hub.kubectl(['apply', '-f', '-'], { input: JSON.stringify(controllerSet()) });
      await this.startArgoController();
    } else {
      const values = {
        dropIn: true,
        rbac: { clusterWrite: true },
        externalRedis: { host: '127.0.0.1', port: redis },
      };
      this.#ours = await UnderTest.install({ server: hub, folder: this.#folder, values });
      this.#ends.push(() => this.#ours?.stop());
    }
    await this.#others(own, repo);
    for (const address of [this.address, this.#redis, `127.0.0.1:${repo}`])
      await eventually(() => open(address), 60_000).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${this.tail()}`, { cause: error });
      });
  }

  async #others(own: readonly string[], repo: number): Promise<void> {
    const addresses = await Promise.all(
      ['--metrics-addr', '--probe-addr', '--webhook-addr'].map(async (flag) => [flag, `127.0.0.1:${await freePort()}`]),
    );
    const from = ['--argocd-repo-server', `127.0.0.1:${repo}`];
    const sets = [...own, ...from, '--repo-server-plaintext', '--enable-progressive-syncs', ...addresses.flat()];
    await this.#argo('argocd-applicationset-controller', sets);
    const notes = [...own, ...from, '--argocd-repo-server-plaintext', ...(await metrics())];
    await this.#argo('argocd-notifications', notes);
  }

  /** Starts a component of Argo CD; all are in one binary. */
  #argo(name: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<void> {
    const place = (folder: string): string => join(this.#folder, folder);
    const env = {
      PATH: `${place('bin')}:${toolsPath()}`,
      HOME: place('home'),
      TMPDIR: place('tmp'),
      ARGOCD_ASK_PASS_SOCK: place('ask.sock'),
      ARGOCD_PLUGINSOCKFILEPATH: place('plugins'),
      ARGOCD_SSH_DATA_PATH: place('ssh'),
      ARGOCD_TLS_DATA_PATH: place('tls'),
      ARGOCD_BINARY_NAME: name,
      ARGOCD_GPG_ENABLED: 'false',
      // Replaces the ServiceAccount of a pod.
      ARGOCD_FAKE_IN_CLUSTER: 'true',
      KUBECONFIG: this.hub.kubeconfig,
      ...more,
    };
    this.#start(name, new ServerProcess(toolPath('argocd'), args, this.#log(name), env));
    return Promise.resolve();
  }

  #start(name: string, daemon: ServerProcess): void {
    this.#daemons.set(name, daemon);
    daemon.start();
    this.#ends.push(() => daemon.stop());
  }

  #log(name: string): string {
    return join(this.#folder, `${name}.log`);
  }

  /** Starts a server that receives notifications; returns its URL. */
  async #listen(): Promise<string> {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        this.notified.push(body.trim());
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#ends.push(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
}

async function metrics(): Promise<readonly string[]> {
  return ['--metrics-port', String(await freePort())];
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Connects to an address. Rejects while nothing listens there. */
function open(address: string): Promise<void> {
  const [host = '', port = ''] = address.split(':');
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host);
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
