import type { Clock, Random } from '#base';
import { isAbort } from '#base';
import { groupKindName } from '#model';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { KubeApiError } from './errors.ts';
import { ListBounds } from './list-bounds.ts';
import type { ReflectorTarget } from './reflector-types.ts';

export interface InformerAuditDeps {
  readonly target: ReflectorTarget;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly everyMs: number;
  readonly keyOf: (object: KubeObject) => string;
  /** What is kept now, by key; undefined: it is not current, and says so itself. */
  readonly held: () => ReadonlyMap<string, KubeObject> | undefined;
  /** UIDs of recent deletions. */
  readonly buried: () => ReadonlySet<string>;
  /** Lists everything again. */
  readonly relist: () => void;
}

/** One time in so many everything is listed instead: numbers that are given out twice (a store that was set back) are not seen in metadata. */
const wholeEvery = 12;
/** A watch may be so far behind a list. */
const graceMs = 10_000;
const pageSize = 500;
const pageDeadlineMs = 60_000;

/**
 * Compares, now and then, what an informer keeps with what the server has, by a list of metadata of which nothing is kept, and lists everything again when
 * they differ: no watch says which events it has lost. Only such differences count that are still there after a while, and at whose place nothing has
 * moved since before the list was asked for. Runs until `signal` aborts; never rejects.
 */
export async function auditForever(deps: InformerAuditDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, everyMs, held, relist, target } = deps;
  const what = { kind: groupKindName(target.resource), server: target.client.server };
  for (let round = 1; !signal.aborted; round += 1) {
    try {
      await clock.sleep(everyMs * (0.95 + 0.1 * random.next()), signal);
      if (held() === undefined) continue;
      const wrong = round % wholeEvery === 0 ? undefined : await differing(deps, signal);
      if (wrong?.length === 0) continue;
      if (wrong !== undefined)
        logger.warn('What is kept differs from the server; listing everything again', {
          ...what,
          objects: wrong.length,
          named: wrong.slice(0, mostNamed),
        });
      relist();
    } catch (error) {
      if (isAbort(error)) return;
      // Not every server knows lists of metadata.
      if (error instanceof KubeApiError && error.status === 406) relist();
      else logger.debug('A comparison with the server failed', { ...what, error });
    }
  }
}

const mostNamed = 10;

/** The keys at which what is kept is wrong. */
async function differing(deps: InformerAuditDeps, signal: AbortSignal): Promise<readonly string[]> {
  const { clock, held, buried } = deps;
  const before = new Map(held() ?? []);
  const goneBefore = new Set(buried());
  const differences = await listed(deps, before, signal);
  if (differences.size === 0) return [];
  await clock.sleep(graceMs, signal);
  const now = held();
  if (now === undefined) return [];
  return [...differences]
    .filter(([key, uid]) => {
      if (textOf(now.get(key)) !== textOf(before.get(key))) return false;
      const wasDeleted = uid !== undefined && !goneBefore.has(uid) && buried().has(uid);
      return now.has(key) || !wasDeleted;
    })
    .map(([key]) => key);
}

/** Where a list differs from what was kept before it was asked for, with the UID that it shows there. */
async function listed(
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
  const bounds = new ListBounds(`comparison of ${groupKindName(resource)}`, clock);
  const options = { ...scope, limit: pageSize, deadlineMs: pageDeadlineMs, metadataOnly: true, signal };
  const seen = new Set<string>();
  const differences = new Map<string, string | undefined>();
  for (let token: string | undefined, more = true; more; more = token !== undefined) {
    const page = await client.list(resource, { ...options, ...(token === undefined ? {} : { continue: token }) });
    bounds.took(page.items.length);
    for (const item of page.items) {
      const key = keyOf(item);
      seen.add(key);
      if (textOf(item) !== textOf(before.get(key))) differences.set(key, item.metadata.uid);
    }
    token = bounds.next(page);
  }
  for (const key of before.keys()) if (!seen.has(key)) differences.set(key, undefined);
  return differences;
}

function textOf(object: KubeObject | undefined): string {
  return object === undefined ? '' : `${object.metadata.uid ?? ''} ${object.metadata.resourceVersion ?? ''}`;
}
