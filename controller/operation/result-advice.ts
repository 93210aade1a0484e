import type { ApiDiscovery } from '#kube';
import type { ApiResource, ResourceResult } from '#model';

/**
 * Replaces or extends two unhelpful messages of API servers with advice (Argo CD: AugmentSyncMsg).
 * A message that has it already stays.
 */
export function adviceFor(
  result: ResourceResult,
  discovery: Pick<ApiDiscovery, 'preferred'>,
): { readonly message?: string } {
  const message = result.message ?? '';
  if (message.includes('the server could not find the requested resource'))
    return { message: missingKindAdvice(result, discovery.preferred) };
  if (message.includes('metadata.annotations: Too long: must have at most 262144 bytes') && !message.includes(infoMark))
    return { message: `${message}${infoMark}${tooLongAdvice}` };
  return {};
}

function missingKindAdvice(result: ResourceResult, preferred: readonly ApiResource[]): string {
  const { group, kind, version, namespace, name } = result;
  const which = `${group}/${kind} for requested resource ${namespace}/${name}`;
  const served = servedInstead(result, preferred);
  return served === undefined
    ? `The Kubernetes API could not find ${which}. Make sure the "${kind}" CRD is installed on the destination cluster.`
    : `The Kubernetes API could not find version "${version}" of ${which}. Version "${served.version}" of ${served.group}/${served.kind} is installed on the destination cluster.`;
}

/** The kind in its own group, else the first of that name in any group. */
function servedInstead({ group, kind }: ResourceResult, preferred: readonly ApiResource[]): ApiResource | undefined {
  const named = preferred.filter(
    (resource) => resource.kind === kind && resource.verbs.includes('list') && resource.verbs.includes('watch'),
  );
  return named.find((resource) => resource.group === group) ?? named[0];
}

const infoMark = ' \n -Additional Info: ';
const tooLongAdvice =
  'This error usually means that you are trying to add a large resource on client side. Consider using Server-side apply or syncing with replace enabled. Note: Syncing with Replace enabled is potentially destructive as it may cause resource deletion and re-creation.';
