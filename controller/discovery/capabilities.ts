import { outsideText } from '#base';
import type { Comparison } from '#compare';
import type { TargetCapabilities, GeneratorOptions } from '#desired';
import type { LiveCapabilities, LiveCluster } from '#live';
import type { ApplicationCondition } from '#model';
import { pruneCandidates } from '../admission/claims.ts';

/**
 * Sources were rendered with a list of API versions that may be incomplete, so resources missing
 * from their output may still be wanted.
 */
export interface IncompleteApis {
  /** Short form for results and reasons: `acme.io`, and how many more. */
  readonly groups: string;
  /** True: no complete list is known, so the sources may render less than they should. */
  readonly mayLack: boolean;
  /** For users: the groups, the reasons and the fix. */
  readonly message: string;
}

const maxShownGroups = 5;
const noCapabilities: LiveCapabilities = { apiVersions: [], missing: new Map(), hasCompleteList: true };

/** An unreachable cluster has no capabilities: its sources are rendered but not compared. */
export function capabilitiesOf(cluster: LiveCluster): LiveCapabilities {
  try {
    return cluster.capabilities();
  } catch {
    return noCapabilities;
  }
}

/** The capabilities passed to a manifest generator. */
export function generatorCapabilities(cluster: LiveCluster, { apiVersions }: LiveCapabilities): TargetCapabilities {
  return { kubeVersion: cluster.serverVersion() ?? '', apiVersions };
}

/**
 * Whether a source's output may depend on the cluster's API versions. Kustomize passes them to
 * charts that it inflates, only with --enable-helm; a repo-server's build options are unknown here.
 */
export function usesCapabilities(type: string, options: GeneratorOptions, isRemote: boolean): boolean {
  if (type === 'Helm' || type === 'Plugin') return true;
  if (type !== 'Kustomize') return false;
  const all = [options.kustomizeBuildOptions, ...Object.values(options.kustomizeVersionOptions ?? {})];
  return isRemote || all.some((text) => text.includes('enable-helm'));
}

/** Undefined: the list is complete. */
export function incompleteApis(
  server: string,
  { missing, hasCompleteList }: LiveCapabilities,
): IncompleteApis | undefined {
  const names = [...missing.keys()].sort();
  if (names.length === 0) return undefined;
  const shown = names.slice(0, maxShownGroups);
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : '';
  const reasons = shown
    .map((name) => `${groupLabel(name)}: ${outsideText('server', missing.get(name) ?? '')}`)
    .join('; ');
  const effect = hasCompleteList
    ? 'Its sources are rendered with the last complete list'
    : 'Its sources may render less than they should, because no complete list is known';
  const message =
    `Discovery of cluster ${server} is incomplete for API group ${reasons}${more}. ${effect}, ` +
    'and nothing is pruned meanwhile. Repair the API server of the group (kubectl get apiservices shows which are not Available); ' +
    'if the group is no longer needed, delete its APIService';
  return { groups: `${shown.map(groupLabel).join(', ')}${more}`, mayLack: !hasCompleteList, message };
}

/**
 * Blocks pruning while the list of API versions is incomplete. Adds a condition only when it
 * matters: something would be pruned, or a group was never known.
 */
export function withIncompleteApis(comparison: Comparison, apis: IncompleteApis | undefined): Comparison {
  if (apis === undefined || comparison.failed) return comparison;
  const { groups, mayLack, message } = apis;
  // Stored in results: `isPrunePostponed` of sync recognizes the first words.
  const pruneBlocked = `the API versions of the cluster are not fully known: ${groups}`;
  const hasEffect = mayLack || pruneCandidates(comparison).length > 0;
  const condition: ApplicationCondition = { type: 'IncompleteDiscoveryWarning', message };
  return {
    ...comparison,
    pruneBlocked,
    mayLack,
    conditions: hasEffect ? [...comparison.conditions, condition] : comparison.conditions,
  };
}

function groupLabel(group: string): string {
  if (group === '*') return 'any but core';
  return group === '' ? 'core' : outsideText('server', group);
}
