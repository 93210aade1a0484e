import { annotations } from '#model';
import type { Cluster, ClusterConnection, Settings } from '#model';
import type { BodyFilter } from './types.ts';

/** Settings that decide which objects are watched and how they are read. */
export interface ClusterConfiguration {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly bodies: BodyFilter | undefined;
}

/** How to apply changed cluster or global settings to a running watch. */
export type ReconfigurationPlan =
  | { readonly act: 'rebuild' }
  | {
      readonly act: 'keep';
      readonly newCredentials: boolean;
      readonly reconfigure: boolean;
      readonly readAgain: boolean;
    };

/**
 * The cheapest way from one configuration to another. Argo CD relists the whole cluster for any
 * change.
 * - A changed connection or project needs a new client and a new cache.
 * - Credentials are swapped in place.
 * - Namespaces and filters start and stop single watches.
 * - Changed settings for tracking, health, ignored updates or custom labels, changed body filters,
 *   and refresh requests cause every object to be listed and read again.
 * - Changes of the cluster's labels, other annotations, shard and name need nothing.
 */
export function planReconfiguration(before: ClusterConfiguration, after: ClusterConfiguration): ReconfigurationPlan {
  const [a, b] = [before.cluster.connection, after.cluster.connection];
  // Writes that still use the client of one project must not continue with credentials of another.
  if (connectionKey(a) !== connectionKey(b) || before.cluster.project !== after.cluster.project)
    return { act: 'rebuild' };
  const bodies = (configuration: ClusterConfiguration): string => JSON.stringify(configuration.bodies ?? null);
  const readAgain =
    readSettingsKey(before.settings) !== readSettingsKey(after.settings) || bodies(before) !== bodies(after);
  const scope = (cluster: Cluster): string =>
    JSON.stringify([[...cluster.namespaces].sort(), cluster.clusterResources]);
  const filters = ({ exclusions, inclusions, respectRBAC }: Settings): string =>
    JSON.stringify([exclusions, inclusions, respectRBAC]);
  const asked =
    refreshRequest(after.cluster) !== '' && refreshRequest(before.cluster) !== refreshRequest(after.cluster);
  const reconfigure =
    scope(before.cluster) !== scope(after.cluster) || filters(before.settings) !== filters(after.settings);
  return {
    act: 'keep',
    newCredentials: credentialKey(a) !== credentialKey(b),
    reconfigure: reconfigure || readAgain || asked,
    readAgain: readAgain || asked,
  };
}

/** Time of the last "invalidate cache" request in the UI, an annotation of the cluster Secret. */
function refreshRequest({ annotations: given }: Cluster): string {
  return given[annotations.refresh] ?? '';
}

function connectionKey({ server, insecure, caData, tlsServerName, proxyUrl }: ClusterConnection): string {
  return JSON.stringify([server, insecure, caData, tlsServerName, proxyUrl]);
}

/** For comparison in memory only. */
function credentialKey({ credentials }: ClusterConnection): string {
  const { username, password, bearerToken, bearerTokenFile, certData, keyData, exec } = credentials;
  const secrets = [password, bearerToken, certData, keyData].map((secret) => secret?.reveal());
  return JSON.stringify([username, bearerTokenFile, exec, secrets]);
}

function readSettingsKey(settings: Settings): string {
  const { tracking, overrides, ignoreResourceStatusField, ignoreDifferencesOnResourceUpdates } = settings;
  const { ignoreAggregatedRoles, ignoreResourceUpdatesEnabled } = settings;
  const shown = settings.raw['resource.customLabels'];
  const rest = [ignoreResourceStatusField, ignoreDifferencesOnResourceUpdates, ignoreAggregatedRoles, shown];
  return JSON.stringify([tracking, overrides, ignoreResourceUpdatesEnabled, rest]);
}
