import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { eventually } from '#support';
import { freePort, toolPath, toolsPath } from '../../test/e2e/support/index.ts';
import { isListening, ServerProcess } from '../../test/e2e/support/processes.ts';
import { startRepoServer } from '../../test/e2e/support/repo-server.ts';
import type { RepoServer } from '../../test/e2e/support/repo-server.ts';
import { cpuSecondsOf, memoryOf, treePssBytes } from '../process-tree.ts';
import type { ProcessMemory } from '../process-tree.ts';
import type { Side } from './figures.ts';

/** CPU in seconds since the start of the process. */
export interface ControllerCpu {
  /** The controller and the programs that it runs. */
  readonly controller: number;
  /** The same, and Argo CD's repo-server with the programs that it runs. */
  readonly all: number;
}

/** Where the process has its files, and its access to the API server. */
export interface ControllerHub {
  readonly folder: string;
  readonly kubeconfig: string;
}

/** Differences from the defaults of both controllers. */
export interface ControllerSettings {
  /** Requests per second to the API server; default: 50. */
  readonly qps?: number | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

const readyTimeoutMs = 120_000;
const replicaName = 'argocd-application-controller-0';

/** One of the two controllers as a process, with an own repo-server and Redis. */
export class ControllerProcess {
  readonly #process: ServerProcess;
  readonly #metricsPort: number;
  readonly #repoServer: RepoServer;
  /** Ours renders by itself: it only uses the Redis. */
  readonly #usesRepoServer: boolean;

  private constructor(parts: {
    readonly process: ServerProcess;
    readonly metricsPort: number;
    readonly repoServer: RepoServer;
    readonly usesRepoServer: boolean;
  }) {
    this.#process = parts.process;
    this.#metricsPort = parts.metricsPort;
    this.#repoServer = parts.repoServer;
    this.#usesRepoServer = parts.usesRepoServer;
  }

  /** Starts a controller and waits until it is ready. */
  static async start(
    side: Side,
    hub: ControllerHub,
    { qps, env = {} }: ControllerSettings,
  ): Promise<ControllerProcess> {
    const at = (name: string): string => join(hub.folder, name);
    for (const name of ['home', 'tmp', 'ssh', 'tls', 'repo-server']) mkdirSync(at(name));
    const data = { sshData: at('ssh'), tlsData: at('tls') };
    const repoServer = await startRepoServer({ folder: at('repo-server'), ...data, flags: { loglevel: 'info' } });
    const metricsPort = await freePort();
    const common = {
      PATH: toolsPath(),
      HOME: at('home'),
      TMPDIR: at('tmp'),
      HOSTNAME: replicaName,
      ARGOCD_CONTROLLER_REPLICAS: '1',
      ...(qps === undefined ? {} : { ARGOCD_K8S_CLIENT_QPS: String(qps), ARGOCD_K8S_CLIENT_BURST: String(2 * qps) }),
      ...env,
    };
    const flags = ['--kubeconfig', hub.kubeconfig, '--namespace', 'argocd', '--redis', repoServer.redis];
    const args = [...flags, '--metrics-port', String(metricsPort)];
    const log = at(`${side}.log`);
    const process =
      side === 'argo_cd'
        ? argoController({ args, env: { ...common, KUBECONFIG: hub.kubeconfig }, log }, repoServer.address)
        : ourController({ args, env: common, log });
    const usesRepoServer = side === 'argo_cd';
    const found = new ControllerProcess({ process, metricsPort, repoServer, usesRepoServer });
    process.start();
    try {
      await found.#ready();
    } catch (error) {
      await found.stop();
      throw error;
    }
    return found;
  }

  cpu(): ControllerCpu {
    const controller = cpuSecondsOf(this.#process.pid ?? 0);
    return { controller, all: controller + (this.#usesRepoServer ? cpuSecondsOf(this.#repoServer.pid) : 0) };
  }

  memory(): ProcessMemory & { readonly allPssBytes: number } {
    const pid = this.#process.pid ?? 0;
    const ofRepoServer = this.#usesRepoServer ? treePssBytes(this.#repoServer.pid) : 0;
    return { ...memoryOf(pid), allPssBytes: treePssBytes(pid) + ofRepoServer };
  }

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    await this.#process.stop('SIGKILL');
  }

  /** Starts the killed process again, without waiting until it is ready. */
  startAgain(): void {
    this.#process.start();
  }

  /** The end of its log, for error messages. */
  tail(): string {
    return this.#process.tail();
  }

  async stop(): Promise<void> {
    await this.#process.stop();
    await this.#repoServer.close();
  }

  #ready(): Promise<void> {
    return eventually(() => isListening(this.#metricsPort), readyTimeoutMs);
  }
}

interface ProcessParts {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: string;
}

function argoController({ args, env, log }: ProcessParts, repoServer: string): ServerProcess {
  const from = ['--repo-server', repoServer, '--repo-server-plaintext'];
  return new ServerProcess(toolPath('argocd'), [...args, ...from], log, {
    ...env,
    ARGOCD_BINARY_NAME: 'argocd-application-controller',
    ARGOCD_GPG_ENABLED: 'false',
    // Replaces the ServiceAccount of a pod.
    ARGOCD_FAKE_IN_CLUSTER: 'true',
  });
}

function ourController({ args, env, log }: ProcessParts): ServerProcess {
  const local = ['--metrics-host', '127.0.0.1', '--api-port', '0'];
  return new ServerProcess(process.execPath, [resolve('dist/cli/main.js'), 'run', ...args, ...local], log, {
    ...env,
    DRIFTLESS_CACHE_DIR: join(env['HOME'] ?? '', 'cache'),
    // The Git server is on loopback.
    DRIFTLESS_ALLOW_LOCAL_SOURCES: 'true',
  });
}
