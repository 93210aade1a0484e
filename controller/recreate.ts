import { at, DriftlessError, isAbort, isObject, messageOf, omit, OwnershipLost, withDeadline } from '#base';
import type { Clock } from '#base';
import { isAlreadyExists, isNotFound, KubeApiError } from '#kube';
import type { KubeClient, NamedObject } from '#kube';
import { fieldManager, groupOf, jsonOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import type { Send } from './ownership-guard.ts';

export interface RecreateDeps {
  readonly client: KubeClient;
  readonly read: (resource: ApiResource, name: NamedObject, signal: AbortSignal) => Promise<KubeObject | null>;
  /** Sends a write through the choke point. */
  readonly write: <T>(signal: AbortSignal, send: Send<T>) => Promise<T>;
  readonly clock: Clock;
}

/** One object that is to be deleted and made anew. */
export interface Recreation {
  readonly resource: ApiResource;
  readonly name: NamedObject;
  readonly target: KubeObject;
  readonly what: string;
}

/** The object was deleted, what should take its place was refused, and the original could not be made again: it is gone. */
export class PutBackFailed extends DriftlessError {
  constructor(refusal: unknown, failure: unknown) {
    super(
      'PUT_BACK_FAILED',
      `An error occurred force-replacing the existing object with the newly provided one:\n\n${messageOf(refusal)}.\n\nAdditionally, an error occurred attempting to restore the original object:\n\n${messageOf(failure)}`,
      { cause: refusal },
    );
  }
}

/**
 * How long it may take until a deleted object is gone, and how often to look. kubectl waits five minutes; here an operation processor waits, and a
 * tenant's finalizers must not hold all of them. The next try goes on from there.
 */
const goneMs = 30_000;
const goneEveryMs = 1000;
/** What keeps the original from coming back may pass (a quota that is counted anew, a server that starts). */
const putBackTries = 5;
const putBackEveryMs = 1000;

/**
 * Deletes an object, waits until it is gone, and creates `target` in its place; what comes back is what the server made of it. When the
 * server refuses `target` after all, the original is created again and the refusal is thrown. Source: k8s.io/kubectl apply/patcher.go
 * (deleteAndCreate), replace.go (forceReplace).
 *
 * Whoever dies between deletion and creation leaves nothing behind that could put the original back: the next step of the operation finds the
 * object missing and creates `target`. That is why the server is asked beforehand whether it would take it, see {@link tryCreate}.
 *
 * Differences: the question beforehand; the original comes back after a forced replacement too, and is tried more than once; it is deleted
 * by its UID, so that a namesake that somebody has made meanwhile stays.
 *
 * @throws the server's refusal, after which the original is there (never deleted, or put back); {@link PutBackFailed} when it is not;
 * DeadlineExceeded when the original does not go, for example because of a finalizer; what keeps us from writing at all.
 */
export async function recreate(deps: RecreateDeps, job: Recreation, signal: AbortSignal): Promise<KubeObject> {
  await tryCreate(deps, job, signal);
  const original = await deps.read(job.resource, job.name, signal);
  if (original !== null) await remove(deps, job, original, signal);
  try {
    return await create(deps, job, { object: job.target }, signal);
  } catch (error) {
    // Something is there, or putting it back is for whoever goes on with the operation.
    if (original === null || isAlreadyExists(error) || mayNotWrite(error, signal)) throw error;
    throw await putBack(deps, job, { original, refusal: error }, signal);
  }
}

/**
 * Asks the server whether it would create `target`, without changing anything. That an object of this name exists is the last thing that a
 * server looks at: this answer says that schema, defaults, admission and permissions are all in order.
 *
 * A port of a Service that the object itself holds is said to be taken, and a webhook that takes no part in dry runs says nothing: then
 * nobody can tell.
 * @throws KubeApiError, the refusal.
 */
export async function tryCreate(deps: RecreateDeps, job: Recreation, signal: AbortSignal): Promise<void> {
  try {
    await create(deps, job, { object: job.target, dryRun: true }, signal);
  } catch (error) {
    if (!isAlreadyExists(error) && !cannotTell(error)) throw error;
  }
}

function cannotTell(error: unknown): boolean {
  if (!(error instanceof KubeApiError)) return false;
  if (error.status === 400) return error.message.includes('does not support dry run');
  return error.status === 422 && error.message.includes('is already allocated');
}

function mayNotWrite(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || isAbort(error) || error instanceof OwnershipLost;
}

function create(
  deps: RecreateDeps,
  { resource }: Recreation,
  { object, dryRun = false }: { readonly object: KubeObject; readonly dryRun?: boolean },
  signal: AbortSignal,
): Promise<KubeObject> {
  return deps.write(signal, (inner) =>
    deps.client.create(resource, object, {
      signal: inner,
      fieldManager,
      ...(dryRun ? { dryRun } : {}),
    }),
  );
}

async function remove(deps: RecreateDeps, job: Recreation, original: KubeObject, signal: AbortSignal): Promise<void> {
  const { uid } = original.metadata;
  try {
    await deps.write(signal, (inner) =>
      deps.client.delete(job.resource, job.name, {
        signal: inner,
        propagationPolicy: 'Background',
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      }),
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const what = `waiting until ${job.what} is deleted`;
  await withDeadline(signal, { clock: deps.clock, limitMs: goneMs, what }, async (inner) => {
    for (;;) {
      const found = await deps.read(job.resource, job.name, inner);
      if (found === null || found.metadata.uid !== uid) return;
      await deps.clock.sleep(goneEveryMs, inner);
    }
  });
}

/** Returns what is to be thrown: the refusal, or that even the original was refused. */
async function putBack(
  deps: RecreateDeps,
  job: Recreation,
  { original, refusal }: { readonly original: KubeObject; readonly refusal: unknown },
  signal: AbortSignal,
): Promise<unknown> {
  const object = reborn(original);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await create(deps, job, { object }, signal);
      return refusal;
    } catch (error) {
      if (isAlreadyExists(error)) return refusal;
      if (mayNotWrite(error, signal)) throw error;
      // An address or port that the object itself held may be given back a moment later.
      const hopeless = error instanceof KubeApiError && error.status === 422 && !cannotTell(error);
      if (hopeless || attempt === putBackTries) return new PutBackFailed(refusal, error);
      await deps.clock.sleep(putBackEveryMs, signal);
    }
  }
}

/** A live object as it can be created: without what the server gave it. Who manages which field stays on record. */
function reborn(original: KubeObject): KubeObject {
  const metadata = omit(
    original.metadata,
    ...(['resourceVersion', 'uid', 'creationTimestamp', 'generation'] as const),
    ...(['deletionTimestamp', 'deletionGracePeriodSeconds'] as const),
  );
  const bare = { ...original, metadata };
  return groupOf(original.apiVersion) === 'batch' && original.kind === 'Job' ? withoutSelector(bare) : bare;
}

const generatedLabels = [
  'controller-uid',
  'job-name',
  'batch.kubernetes.io/controller-uid',
  'batch.kubernetes.io/job-name',
];

/** A Job's selector is the UID of the one that is gone: the server makes a new one, and refuses any other. */
function withoutSelector(job: KubeObject): KubeObject {
  const spec = at(jsonOf(job), 'spec');
  if (!isObject(spec) || spec['manualSelector'] === true) return job;
  const template = at(spec, 'template');
  const metadata = at(template, 'metadata');
  const labels = at(metadata, 'labels');
  const rest = omit(spec as Record<string, unknown>, 'selector') as typeof spec;
  if (!isObject(template) || !isObject(metadata) || !isObject(labels)) return { ...job, spec: rest };
  const kept = Object.fromEntries(Object.entries(labels).filter(([name]) => !generatedLabels.includes(name)));
  return { ...job, spec: { ...rest, template: { ...template, metadata: { ...metadata, labels: kept } } } };
}
