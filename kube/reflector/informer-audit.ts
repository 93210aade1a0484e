import type { Clock, RandomSource } from '#base';
import { isAbort } from '#base';
import { groupKindName } from '#model';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { KubeApiError } from '../errors.ts';
import { ListBounds, listLimits } from './list-bounds.ts';
import type { ListLimits } from './list-bounds.ts';
import type { ReflectorTarget } from './reflector-types.ts';

export interface InformerAuditDeps {
  readonly target: ReflectorTarget;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly intervalMs: number;
  readonly keyOf: (object: KubeObject) => string;
  /** The cached objects by key; undefined if the cache is known not to be current. */
  readonly cachedObjects: () => ReadonlyMap<string, KubeObject> | undefined;
  /** UIDs of recent deletions. */
  readonly deletedUids: () => ReadonlySet<string>;
  /** Lists everything again. */
  readonly relist: () => void;
}

/**
 * Every twelfth round relists instead: metadata does not reveal that a restored server has reused a
 * version for another state.
 */
const relistEveryRounds = 12;
/** A watch may lag behind a list by this much. */
const graceMs = 10_000;
const pageSize = 500;
/** A list is rejected beyond twice the number of cached objects plus this many. */
const auditTolerance = 10_000;
const pageDeadlineMs = 60_000;

/**
 * Periodically compares an informer's cache with a metadata-only list of the server, and relists on
 * a difference: a watch may lose events unnoticed. Ignores differences that disappear within the
 * grace period, and keys that changed in the cache after the list began. Runs until `signal`
 * aborts; never rejects.
 */
export async function auditForever(deps: InformerAuditDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, intervalMs: everyMs, cachedObjects: held, relist, target } = deps;
  const what = { kind: groupKindName(target.resource), server: target.client.server };
  for (let round = 1; !signal.aborted; round += 1) {
    try {
      await clock.sleep(everyMs * (0.95 + 0.1 * random.next()), signal);
      if (held() === undefined) continue;
      const wrong = round % relistEveryRounds === 0 ? undefined : await findDifferences(deps, signal);
      if (wrong?.length === 0) continue;
      if (wrong !== undefined)
        logger.warn('The cache differs from the server; listing everything again', {
          ...what,
          objects: wrong.length,
          named: wrong.slice(0, maxNamedKeys),
        });
      relist();
    } catch (error) {
      if (isAbort(error)) return;
      // Not every server supports metadata-only lists.
      if (error instanceof KubeApiError && error.status === 406) relist();
      else logger.debug('A comparison with the server failed', { ...what, error });
    }
  }
}

const maxNamedKeys = 10;

/** Keys at which the cache is wrong. */
async function findDifferences(deps: InformerAuditDeps, signal: AbortSignal): Promise<readonly string[]> {
  const { clock, cachedObjects: held, deletedUids: buried } = deps;
  const before = new Map(held() ?? []);
  const goneBefore = new Set(buried());
  const differences = await listDifferences(deps, before, signal);
  if (differences.size === 0) return [];
  await clock.sleep(graceMs, signal);
  const now = held();
  if (now === undefined) return [];
  return [...differences]
    .filter(([key, uid]) => {
      if (objectVersion(now.get(key)) !== objectVersion(before.get(key))) return false;
      const wasDeleted = uid !== undefined && !goneBefore.has(uid) && buried().has(uid);
      return now.has(key) || !wasDeleted;
    })
    .map(([key]) => key);
}

/**
 * Returns the keys at which a list differs from the cache as it was before the request, with the
 * listed UID (undefined if the list lacks the key).
 */
async function listDifferences(
  { target, clock, keyOf }: InformerAuditDeps,
  before: ReadonlyMap<string, KubeObject>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string | undefined>> {
  const { client, resource, namespace, labelSelector, fieldSelector } = target;
  const scope = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
  // All listed keys stay in memory until the end, so an endless list must be bounded.
  const limits: ListLimits = {
    ...listLimits,
    maxItems: Math.min(listLimits.maxItems, 2 * before.size + auditTolerance),
  };
  const bounds = new ListBounds(`comparison of ${groupKindName(resource)}`, clock, limits);
  const options = { ...scope, limit: pageSize, deadlineMs: pageDeadlineMs, metadataOnly: true, signal };
  const seen = new Set<string>();
  const differences = new Map<string, string | undefined>();
  for (let token: string | undefined, more = true; more; more = token !== undefined) {
    const page = await client.list(resource, { ...options, ...(token === undefined ? {} : { continue: token }) });
    bounds.countItems(page.items.length);
    for (const item of page.items) {
      const key = keyOf(item);
      seen.add(key);
      if (objectVersion(item) !== objectVersion(before.get(key))) differences.set(key, item.metadata.uid);
    }
    token = bounds.next(page);
  }
  for (const key of before.keys()) if (!seen.has(key)) differences.set(key, undefined);
  return differences;
}

function objectVersion(object: KubeObject | undefined): string {
  return object === undefined ? '' : `${object.metadata.uid ?? ''} ${object.metadata.resourceVersion ?? ''}`;
}
