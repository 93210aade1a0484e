import { parseGoBool } from '#base';
import { annotationOf, annotations, asObject } from '#model';
import type { Application, Cluster, ObjectName } from '#model';
import type { UnresolvedDestination } from '#settings';
import { DeletionBlocked } from '../shared/errors.ts';
import { parseTime } from '../shared/kube-time.ts';

/** The next step of a deletion whose destination cluster cannot be resolved. */
export type UnresolvedVerdict =
  | { readonly do: 'give up' }
  | { readonly do: 'report'; readonly message: string }
  | { readonly do: 'wait'; readonly what: string };

/**
 * Gives up only if a user asks for it, or if nothing has claimed the cluster for `graceMs` and no
 * resource of the status may exist there: a Secret that is unreadable, renamed, or deleted and
 * created again must not orphan resources.
 * @param unclaimedMs for how long nothing has claimed the cluster; undefined: something does.
 */
export function judgeUnresolved(
  app: Application,
  unresolved: UnresolvedDestination,
  { unclaimedMs, graceMs }: { readonly unclaimedMs: number | undefined; readonly graceMs: number },
): UnresolvedVerdict {
  if (leavesResources(app)) return { do: 'give up' };
  const count = countResources(app);
  if (count === 0 && unclaimedMs !== undefined)
    return unclaimedMs >= graceMs
      ? { do: 'give up' }
      : { do: 'wait', what: `waiting for the Secret of the destination cluster: ${unresolved.error}` };
  const { error, claim, former } = unresolved;
  const why = [error, claim !== undefined && !error.includes(claim) ? claim : undefined, former];
  const what = count === 0 ? 'Resources' : `${count} resource${count === 1 ? '' : 's'} of its last comparison`;
  return {
    do: 'report',
    message: `The destination cluster cannot be resolved: ${why.filter((part) => part !== undefined).join('; ')}. ${what} may still exist there. Repair the Secret or the destination. ${leaveAdvice}`,
  };
}

const leaveAdvice = `To delete the Application and leave such resources behind, set its annotation ${annotations.leaveResources}: "true"`;

/** Whether a user permits the deletion to end although resources may be left behind. */
function leavesResources(app: Application): boolean {
  return parseGoBool(annotationOf(asObject(app), annotations.leaveResources)) === true;
}

/** Resources of the last comparison, or of a first sync that no comparison has followed. */
function countResources({ status }: Application): number {
  const resources = (status?.resources ?? []).filter(({ hook }) => hook !== true);
  return Math.max(resources.length, status?.operationState?.syncResult?.resources?.length ?? 0);
}

/** Whether the namespaces that the cluster is limited to include that of an object. */
export function isInReach({ metadata }: ObjectName, { namespaces, clusterResources }: Cluster): boolean {
  const { namespace = '' } = metadata;
  if (namespaces.length === 0) return true;
  return namespace === '' ? clusterResources : namespaces.includes(namespace);
}

/** When the last sync ended (wall time); Infinity if that is unknown. */
export function lastSyncOf({ status }: Application): number {
  const last = status?.operationState?.finishedAt ?? status?.history?.at(-1)?.deployedAt;
  return parseTime(last) ?? Infinity;
}

/**
 * Blocks the end of a cascade that would leave objects behind although nobody has decided that.
 * @param unmarked objects without a mark, as text; "": none
 * @param unreachable objects outside of the namespaces of the cluster, as text
 * @throws DeletionBlocked
 */
export function refuseToLeave(app: Application, unmarked: string, unreachable: string): void {
  if ((unmarked === '' && unreachable === '') || leavesResources(app)) return;
  const parts = [
    unmarked === '' ? '' : `Resources of its last comparison without a mark of this Application: ${unmarked}.`,
    unreachable === '' ? '' : `Resources outside of the namespaces of its cluster Secret: ${unreachable}.`,
  ];
  throw new DeletionBlocked(
    `${parts.filter((part) => part !== '').join(' ')} They are not deleted; delete them yourself. ${leaveAdvice}`,
  );
}
