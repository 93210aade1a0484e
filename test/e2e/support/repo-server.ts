import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '#support';
import { ServerProcess, freePort, isListening } from './processes.ts';
import { toolPath, toolsPath } from './tools.ts';

export interface RepoServerOptions {
  readonly folder: string;
  /** Folders in Argo CD's layout: `ssh_known_hosts`, and a certificate file for each host. */
  readonly sshData: string;
  readonly tlsData: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Flags that override the defaults of this function, which disable TLS. */
  readonly flags?: Readonly<Record<string, string | boolean>>;
}

export interface RepoServer {
  /** host:port. */
  readonly address: string;
  /** host:port of its Redis. */
  readonly redis: string;
  readonly pid: number;
  readonly log: () => string;
  /** Kills it with SIGKILL; its address and its Redis stay. */
  kill(): Promise<void>;
  /** Starts it again after {@link RepoServer.kill}; resolves when it listens. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Starts Argo CD's repo-server with its own Redis on loopback. */
export async function startRepoServer(options: RepoServerOptions): Promise<RepoServer> {
  const { folder } = options;
  const [redisPort, port, metricsPort] = [await freePort(), await freePort(), await freePort()];
  for (const name of ['tmp', 'bin', 'home', 'gpg', 'plugins'])
    mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  // The repo-server answers git's password prompts with a program of this name.
  symlinkSync(toolPath('argocd'), join(folder, 'bin', 'argocd'));
  // Runs for every commit and prints git's verification of its signature; commits of tests have
  // none.
  writeFileSync(join(folder, 'bin', 'git-verify-wrapper.sh'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  const redis = new ServerProcess(
    toolPath('redis-server'),
    ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder],
    join(folder, 'redis.log'),
  );
  redis.start();
  const flags = {
    address: '127.0.0.1',
    port,
    'metrics-address': '127.0.0.1',
    'metrics-port': metricsPort,
    redis: `127.0.0.1:${redisPort}`,
    'disable-tls': true,
    'client-ca-path': '',
    loglevel: 'warn',
    ...options.flags,
  };
  const server = new ServerProcess(
    toolPath('argocd'),
    Object.entries(flags).map(([name, value]) => `--${name}=${String(value)}`),
    join(folder, 'repo-server.log'),
    {
      // All components of Argo CD are one binary; this name selects one.
      ARGOCD_BINARY_NAME: 'argocd-repo-server',
      PATH: `${join(folder, 'bin')}:${toolsPath()}`,
      HOME: join(folder, 'home'),
      TMPDIR: join(folder, 'tmp'),
      ARGOCD_SSH_DATA_PATH: options.sshData,
      ARGOCD_TLS_DATA_PATH: options.tlsData,
      ARGOCD_GPG_ENABLED: 'false',
      ARGOCD_ASK_PASS_SOCK: join(folder, 'ask.sock'),
      ARGOCD_PLUGINSOCKFILEPATH: join(folder, 'plugins'),
      // Do not cache failures: cached ones have a prefix in their message.
      ARGOCD_PAUSE_GEN_AFTER_FAILED_ATTEMPTS: '0',
      ...options.env,
    },
  );
  const start = async (): Promise<void> => {
    server.start();
    await eventually(() => isListening(port), 60_000).catch((error: unknown) => {
      throw new Error(`argocd-repo-server does not listen: ${server.tail()}`, { cause: error });
    });
  };
  await start();
  return {
    address: `127.0.0.1:${port}`,
    redis: `127.0.0.1:${redisPort}`,
    pid: server.pid ?? 0,
    log: () => server.tail(60),
    kill: () => server.stop('SIGKILL'),
    restart: start,
    close: async () => {
      await server.stop();
      await redis.stop();
    },
  };
}
