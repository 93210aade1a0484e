import { isObject, messageOf, outsideText, UsageError } from '#base';
import { isNotFound } from '#kube';
import { defaultSettings } from '#model';
import type { KubeObject, Settings } from '#model';
import { parseSettings } from '#settings';
import type { OptionSpec } from '../options/args.ts';
import { hubKinds, loadConnection, readOnlyClient } from '../process/hub.ts';

/** Options that select the settings for commands on local files. */
export const settingsOptions = {
  settings: {
    flag: 'settings',
    kind: 'string',
    help: 'File that contains the ConfigMap argocd-cm, for settings.',
  },
  kubeconfig: {
    flag: 'kubeconfig',
    kind: 'string',
    help: 'Path to the kubeconfig file of a cluster whose Argo CD settings to use, instead of --settings.',
  },
  context: { flag: 'context', kind: 'string', help: 'Name of the kubeconfig context to use.' },
  namespace: { flag: 'namespace', short: 'n', kind: 'string', help: 'Namespace of Argo CD.' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

interface SettingsSelection {
  readonly settings: string;
  readonly kubeconfig: string;
  readonly context: string;
  readonly namespace: string;
}

/**
 * Settings from `--settings`, from the cluster of `--kubeconfig` (read only), or the defaults.
 *
 * @throws UsageError if they cannot be read or an entry is malformed.
 */
export async function readSettings(
  source: SettingsSelection,
  readOne: (path: string) => KubeObject,
  signal: AbortSignal,
): Promise<Settings> {
  if (source.settings !== '' && source.kubeconfig !== '')
    throw new UsageError('--settings and --kubeconfig are mutually exclusive');
  if (source.settings !== '') return settingsOf(readOne(source.settings), source.settings);
  if (source.kubeconfig === '') {
    const idle = ['context', 'namespace'].find((flag) => source[flag as 'context' | 'namespace'] !== '');
    if (idle !== undefined) throw new UsageError(`--${idle} needs --kubeconfig FILE`);
    return defaultSettings;
  }
  return fromCluster(source, signal);
}

async function fromCluster(source: SettingsSelection, signal: AbortSignal): Promise<Settings> {
  const loaded = await loadConnection(source.kubeconfig, source.context);
  const namespace = source.namespace === '' ? loaded.namespace : source.namespace;
  const where = `ConfigMap argocd-cm of namespace ${namespace}`;
  const client = readOnlyClient(loaded.connection, 'driftless-settings');
  try {
    const found = await client.get(hubKinds.configMaps, { namespace, name: 'argocd-cm' }, { signal });
    return settingsOf(found, where);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (isNotFound(error)) throw new UsageError(`${where} not found: set the namespace of Argo CD with -n NAMESPACE`);
    throw new UsageError(`cannot read ${where}: ${outsideText('field', messageOf(error)).replaceAll('\n', ' ')}`, {
      cause: error,
    });
  } finally {
    await client.close();
  }
}

function settingsOf(configMap: KubeObject, where: string): Settings {
  const data = configMap['data'] ?? {};
  if (!isObject(data)) throw new UsageError(`${where}: expected a ConfigMap with data`);
  const { settings, problems } = parseSettings(data as Readonly<Record<string, string>>);
  const first = problems[0];
  if (first !== undefined) throw new UsageError(`${where}: ${first.message}`);
  return settings;
}
