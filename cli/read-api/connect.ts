import { isObject, systemClock, systemRandom, UsageError } from '#base';
import type { SecretValue } from '#base';
import { createKubeClient, PodProxy, unlessNotFound } from '#kube';
import type { KubeClient, ProxiedPod } from '#kube';
import { heldSlots, parseSlots, slotsConfigMap } from '#sharding';
import { silentLogger } from '#telemetry';
import type { OptionSpec } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { hubKinds, loadConnection } from '../process/hub.ts';
import type { ApiReader } from './api-reader.ts';
import type { ReadApiDefaults } from './defaults.ts';
import { ProxyReader, ReadApiError } from './proxy-reader.ts';
import { SocketReader } from './socket-reader.ts';

/** Namespace of the Application that a command names. */
export const applicationNamespace = {
  flag: 'namespace',
  short: 'n',
  kind: 'string',
  help: 'Namespace of the Application. Empty: that of the controller.',
} as const satisfies OptionSpec;

/** How a command reaches the read API. */
export const readApiOptions = {
  kubeconfig: {
    ...runOptions.kubeconfig,
    help: 'Path to the kubeconfig file of the hub. Empty: ~/.kube/config.',
  },
  context: runOptions.context,
  controllerNamespace: {
    flag: 'controller-namespace',
    kind: 'string',
    default: 'argocd',
    env: 'DRIFTLESS_CONTROLLER_NAMESPACE',
    help: 'Namespace of the controller.',
  },
  serviceAccount: {
    flag: 'service-account',
    kind: 'string',
    help: 'ServiceAccount in the namespace of the controller whose token to use, for a kubeconfig with client certificates only. Needs create on serviceaccounts/token.',
  },
  socket: {
    flag: 'socket',
    kind: 'string',
    env: runOptions.debugSocket.env,
    help: "Path of the controller's Unix socket. Empty: in its pod that of its cache directory, elsewhere the API server's pod proxy.",
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export interface ReadApiConfig {
  readonly kubeconfig: string;
  readonly context: string;
  readonly controllerNamespace: string;
  readonly serviceAccount: string;
  readonly socket: string;
}

/**
 * Runs `body` with a reader, over the Unix socket or through the API server, and closes it.
 * @throws UsageError for an invalid kubeconfig; ReadApiError with what is missing
 */
export async function withReader<T>(
  config: ReadApiConfig,
  defaults: ReadApiDefaults,
  signal: AbortSignal,
  body: (reader: ApiReader) => Promise<T>,
): Promise<T> {
  const kubeconfig = config.kubeconfig === '' ? defaults.kubeconfig : config.kubeconfig;
  const socket = config.socket === '' && kubeconfig === '' ? defaults.socket : config.socket;
  if (socket !== '') return body(new SocketReader(socket, signal));
  const loaded = await loadConnection(kubeconfig, config.context);
  if (loaded.connection.impersonate !== undefined)
    throw new UsageError('impersonation cannot be used here: the replica would see your own token');
  const surroundings = { clock: systemClock, logger: silentLogger, userAgent: 'driftless-cli' };
  const client = createKubeClient(loaded.connection, { ...surroundings, random: systemRandom });
  const proxy = new PodProxy(loaded.connection, surroundings);
  try {
    const pods = await replicasWithApi(client, config.controllerNamespace, signal);
    const token = await tokenFor(proxy, config, signal);
    return await body(new ProxyReader({ proxy, pods, token, signal }));
  } finally {
    await Promise.all([client.close(), proxy.close()]);
  }
}

async function tokenFor(
  proxy: PodProxy,
  { serviceAccount, controllerNamespace }: ReadApiConfig,
  signal: AbortSignal,
): Promise<SecretValue | undefined> {
  if (serviceAccount !== '') return proxy.serviceAccountToken(controllerNamespace, serviceAccount, signal);
  if (await proxy.hasToken(signal)) return undefined;
  throw new ReadApiError(
    'your kubeconfig has no token, and the replicas need one: name a ServiceAccount that may get applications.argoproj.io with --service-account',
  );
}

/**
 * Replicas that publish where their API listens, in the order of their shards.
 * @throws ReadApiError if there are none
 */
export async function replicasWithApi(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly ProxiedPod[]> {
  const data = await slotsData(client, namespace, signal);
  const slots = parseSlots(data);
  const holders = slots.state === 'ok' ? [...heldSlots(slots.value).values()] : [];
  const pods = holders.flatMap(({ holder: name, api }) => {
    const port = Number(/:(\d+)$/.exec(api?.address ?? '')?.[1]);
    return Number.isNaN(port) ? [] : [{ namespace, name, port }];
  });
  if (pods.length > 0) return pods;
  throw new ReadApiError(
    holders.length === 0
      ? `no replica of Driftless holds a shard in namespace ${namespace}: is --controller-namespace right?`
      : `no replica in namespace ${namespace} serves the read API: it needs --api-port, and a version that has it`,
  );
}

async function slotsData(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const request = client.get(hubKinds.configMaps, { namespace, name: slotsConfigMap }, { signal });
  const data = (await unlessNotFound(request))?.['data'];
  return isObject(data) ? data : {};
}
