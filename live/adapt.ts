import { annotations } from '#model';
import type { Cluster, ClusterConnection, Settings } from '#model';
import type { BodyFilter } from './types.ts';

/** What decides which objects are watched and how they are read. */
export interface Configuration {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly bodies: BodyFilter | undefined;
}

/** What a changed cluster or changed settings ask of a running watch. */
export type Adaptation =
  | { readonly act: 'rebuild' }
  | {
      readonly act: 'keep';
      readonly newCredentials: boolean;
      readonly reconfigure: boolean;
      readonly readAgain: boolean;
    };

/**
 * The smallest step from one configuration to another (Argo CD lists the whole cluster again for any of them): another way to the server
 * needs a new client and a new cache; credentials are swapped in place; namespaces and filters start and stop single watches; how
 * objects are read (tracking, health, ignored updates, whose bodies) needs every object once more, and so does a request for that; labels, other annotations,
 * shard and name need nothing.
 */
export function adaptation(before: Configuration, after: Configuration): Adaptation {
  const [a, b] = [before.cluster.connection, after.cluster.connection];
  if (route(a) !== route(b)) return { act: 'rebuild' };
  const bodies = (configuration: Configuration): string => JSON.stringify(configuration.bodies ?? null);
  const readAgain = reading(before.settings) !== reading(after.settings) || bodies(before) !== bodies(after);
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
    newCredentials: credentialText(a) !== credentialText(b),
    reconfigure: reconfigure || readAgain || asked,
    readAgain: readAgain || asked,
  };
}

/** When somebody last asked for the cache to be made anew ("invalidate cache" in the UI): on the Secret of the cluster. */
function refreshRequest({ annotations: given }: Cluster): string {
  return given[annotations.refresh] ?? '';
}

function route({ server, insecure, caData, tlsServerName, proxyUrl }: ClusterConnection): string {
  return JSON.stringify([server, insecure, caData, tlsServerName, proxyUrl]);
}

/** For comparison in memory only. */
function credentialText({ credentials }: ClusterConnection): string {
  const { username, password, bearerToken, bearerTokenFile, certData, keyData, exec } = credentials;
  const secrets = [password, bearerToken, certData, keyData].map((secret) => secret?.reveal());
  return JSON.stringify([username, bearerTokenFile, exec, secrets]);
}

function reading(settings: Settings): string {
  const { tracking, overrides, ignoreResourceStatusField, ignoreDifferencesOnResourceUpdates } = settings;
  const { ignoreAggregatedRoles, ignoreResourceUpdatesEnabled } = settings;
  const shown = settings.raw['resource.customLabels'];
  const rest = [ignoreResourceStatusField, ignoreDifferencesOnResourceUpdates, ignoreAggregatedRoles, shown];
  return JSON.stringify([tracking, overrides, ignoreResourceUpdatesEnabled, rest]);
}
