import { isObject, messageOf, outsideText, systemClock, systemRandom, UsageError } from '#base';
import { apiResource, connectionFromKubeconfig, createKubeClient, isNotFound } from '#kube';
import { defaultSettings } from '#model';
import type { KubeObject, Settings } from '#model';
import { parseSettings } from '#settings';
import { silentLogger } from '#telemetry';
import type { OptionSpec } from './args.ts';

/** Where a command that judges objects of files has its settings from. */
export const settingsOptions = {
  settings: { flag: 'settings', kind: 'string', default: '', help: 'An argocd-cm manifest whose settings apply.' },
  kubeconfig: {
    flag: 'kubeconfig',
    kind: 'string',
    default: '',
    help: "Configuration of a cluster whose Argo CD's settings apply, in place of --settings.",
  },
  context: { flag: 'context', kind: 'string', default: '', help: 'Context in it.' },
  namespace: { flag: 'namespace', short: 'n', kind: 'string', default: '', help: 'Namespace of Argo CD in it.' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

interface Source {
  readonly settings: string;
  readonly kubeconfig: string;
  readonly context: string;
  readonly namespace: string;
}

const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');

/**
 * The settings of the file that `--settings` names, of the cluster that `--kubeconfig` names, or the defaults. The cluster is only read.
 *
 * @throws UsageError when they cannot be read, or an entry of them is malformed.
 */
export async function readSettings(
  source: Source,
  readOne: (path: string) => KubeObject,
  signal: AbortSignal,
): Promise<Settings> {
  if (source.settings !== '' && source.kubeconfig !== '')
    throw new UsageError('settings come from --settings FILE or from the cluster of --kubeconfig FILE, not from both');
  if (source.settings !== '') return parsed(readOne(source.settings), source.settings);
  if (source.kubeconfig === '') {
    const idle = ['context', 'namespace'].find((flag) => source[flag as 'context' | 'namespace'] !== '');
    if (idle !== undefined) throw new UsageError(`--${idle} needs --kubeconfig FILE`);
    return defaultSettings;
  }
  return fromCluster(source, signal);
}

async function fromCluster(source: Source, signal: AbortSignal): Promise<Settings> {
  const loaded = await connectionFromKubeconfig(source.kubeconfig, source.context === '' ? undefined : source.context);
  const namespace = source.namespace === '' ? loaded.namespace : source.namespace;
  const where = `ConfigMap argocd-cm of namespace ${namespace}`;
  const client = createKubeClient(loaded.connection, {
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    userAgent: 'driftless-settings',
    readOnly: true,
  });
  try {
    const found = await client.get(configMaps, { namespace, name: 'argocd-cm' }, { signal });
    return parsed(found, where);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (isNotFound(error)) throw new UsageError(`there is no ${where}: is Argo CD elsewhere? (-n NAMESPACE)`);
    throw new UsageError(`cannot read ${where}: ${outsideText('field', messageOf(error)).replaceAll('\n', ' ')}`, {
      cause: error,
    });
  } finally {
    await client.close();
  }
}

function parsed(configMap: KubeObject, where: string): Settings {
  const data = configMap['data'] ?? {};
  if (!isObject(data)) throw new UsageError(`${where}: a ConfigMap with data is needed`);
  const { settings, problems } = parseSettings(data as Readonly<Record<string, string>>);
  const first = problems[0];
  if (first !== undefined) throw new UsageError(`${where}: ${first.message}`);
  return settings;
}
