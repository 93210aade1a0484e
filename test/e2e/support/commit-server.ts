import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '#support';
import { ServerProcess, freePort, isListening } from './processes.ts';
import { toolPath, toolsPath } from './tools.ts';

export interface ArgoServer {
  /** host:port, or the folder of its socket. */
  readonly address: string;
  readonly log: () => string;
  close(): Promise<void>;
}

/** Folder with the programs that Argo CD's image has on PATH. */
function argoHome(folder: string): Readonly<Record<string, string>> {
  for (const name of ['bin', 'home']) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  // Answers git's password prompts.
  symlinkSync(toolPath('argocd'), join(folder, 'bin', 'argocd'));
  return { PATH: `${join(folder, 'bin')}:${toolsPath()}`, HOME: join(folder, 'home'), TMPDIR: folder };
}

/** Starts Argo CD's commit-server on loopback. */
export async function startCommitServer(folder: string): Promise<ArgoServer> {
  const env = { ...argoHome(folder), ARGOCD_BINARY_NAME: 'argocd-commit-server' };
  const [port, metricsPort] = [await freePort(), await freePort()];
  const flags = {
    address: '127.0.0.1',
    port,
    'metrics-address': '127.0.0.1',
    'metrics-port': metricsPort,
    loglevel: 'warn',
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const server = new ServerProcess(toolPath('argocd'), args, join(folder, 'commit-server.log'), env);
  server.start();
  await eventually(() => isListening(port), 60_000).catch((error: unknown) => {
    throw new Error(`argocd-commit-server does not listen: ${server.tail()}`, { cause: error });
  });
  return { address: `127.0.0.1:${port}`, log: () => server.tail(60), close: () => server.stop() };
}

/** Starts Argo CD's sidecar of a config management plugin, with this plugin.yaml. */
export async function startPluginServer(
  folder: string,
  {
    name,
    config,
    environment = {},
  }: { readonly name: string; readonly config: string; readonly environment?: Readonly<Record<string, string>> },
): Promise<ArgoServer> {
  const sockets = join(folder, 'sockets');
  mkdirSync(sockets, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'plugin.yaml'), config);
  const env = {
    ...argoHome(folder),
    ...environment,
    ARGOCD_BINARY_NAME: 'argocd-cmp-server',
    ARGOCD_PLUGINSOCKFILEPATH: sockets,
    ARGOCD_CMP_WORKDIR: join(folder, 'work'),
  };
  const args = [`--config-dir-path=${folder}`, '--loglevel=warn'];
  const server = new ServerProcess(toolPath('argocd'), args, join(folder, 'cmp-server.log'), env);
  server.start();
  await eventually(() => isListening(join(sockets, `${name}.sock`)), 60_000).catch((error: unknown) => {
    throw new Error(`argocd-cmp-server does not listen: ${server.tail()}`, { cause: error });
  });
  return { address: sockets, log: () => server.tail(60), close: () => server.stop() };
}
