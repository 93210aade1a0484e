import { valueAt, DriftlessError, isAbort, isObject, messageOf, omit, OwnershipLost, withDeadline } from '#base';
import type { Clock } from '#base';
import { isAlreadyExists, isNotFound, KubeApiError } from '#kube';
import type { KubeClient, NamedObject } from '#kube';
import { groupOf, jsonOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { dryRunOnly } from './wrapped-clients.ts';
import type { FencedSend } from '../admission/ownership-guard.ts';

export interface RecreateDeps {
  readonly client: KubeClient;
  readonly fieldManager: string;
  readonly read: (resource: ApiResource, name: NamedObject, signal: AbortSignal) => Promise<KubeObject | null>;
  /** Sends a write through GuardedWriter's choke point. */
  readonly write: <T>(signal: AbortSignal, send: FencedSend<T>) => Promise<T>;
  readonly clock: Clock;
}

/** An object to delete and create again. */
export interface RecreateJob {
  readonly resource: ApiResource;
  readonly name: NamedObject;
  readonly target: KubeObject;
  readonly what: string;
}

/**
 * The object was deleted, the server refused its replacement, and the original could not be
 * restored: the object is lost.
 */
class RestoreFailed extends DriftlessError {
  constructor(refusal: unknown, failure: unknown) {
    super(
      'PUT_BACK_FAILED',
      `An error occurred force-replacing the existing object with the newly provided one:\n\n${messageOf(refusal)}.\n\nAdditionally, an error occurred attempting to restore the original object:\n\n${messageOf(failure)}`,
      { cause: refusal },
    );
  }
}

/**
 * Time limit for a deletion, shorter than kubectl's five minutes: it holds an operation processor,
 * and a tenant's finalizers must not block all of them. The next attempt continues from there.
 */
const deletionTimeoutMs = 30_000;
const deletionPollMs = 1000;
/** The refusal may be temporary: a quota being recounted, or a server starting. */
const maxRestoreAttempts = 5;
const restoreRetryMs = 1000;

/**
 * Deletes an object and creates `target`, or restores the original and throws the server's refusal.
 * Source: k8s.io/kubectl apply/patcher.go (deleteAndCreate), replace.go (forceReplace).
 * Differences: a dry run first ({@link tryCreate}), since a crash in between leaves the object
 * deleted until the next step; restores also after a forced replacement, with retries; deletes by
 * UID, so that a new object of the same name survives.
 * @throws the refusal if the original exists, {@link RestoreFailed} if it is lost, DeadlineExceeded
 * if the deletion takes too long (a finalizer, for example), and errors that prevent writing.
 */
export async function recreate(deps: RecreateDeps, job: RecreateJob, signal: AbortSignal): Promise<KubeObject> {
  await tryCreate(deps, job, signal);
  const original = await deps.read(job.resource, job.name, signal);
  if (original !== null) await deleteOriginal(deps, job, original, signal);
  try {
    return await createObject(deps, job, job.target, signal);
  } catch (error) {
    // Do not restore: nothing was deleted, another object exists, or the next owner must continue.
    if (original === null || isAlreadyExists(error) || hasLostWriteRight(error, signal)) throw error;
    throw await restoreOriginal(deps, job, { original, refusal: error }, signal);
  }
}

/**
 * Checks by dry run whether the server would create `target`. AlreadyExists comes after schema,
 * defaulting, admission and permissions, so it counts as success. A Service port held by the object
 * itself, and a webhook without dry-run support, make the check inconclusive.
 *
 * @throws KubeApiError, the refusal.
 */
export async function tryCreate(deps: RecreateDeps, job: RecreateJob, signal: AbortSignal): Promise<void> {
  try {
    await createObject({ ...deps, client: dryRunOnly(deps.client) }, job, job.target, signal);
  } catch (error) {
    if (!isAlreadyExists(error) && !isInconclusiveDryRun(error)) throw error;
  }
}

function isInconclusiveDryRun(error: unknown): boolean {
  if (!(error instanceof KubeApiError)) return false;
  if (error.status === 400) return error.message.includes('does not support dry run');
  return error.status === 422 && error.message.includes('is already allocated');
}

function hasLostWriteRight(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || isAbort(error) || error instanceof OwnershipLost;
}

function createObject(
  { client, fieldManager, write }: RecreateDeps,
  { resource }: RecreateJob,
  object: KubeObject,
  signal: AbortSignal,
): Promise<KubeObject> {
  return write(signal, (call) => client.create(resource, object, { ...call, fieldManager }));
}

async function deleteOriginal(
  deps: RecreateDeps,
  job: RecreateJob,
  original: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { uid } = original.metadata;
  try {
    await deps.write(signal, (call) =>
      deps.client.delete(job.resource, job.name, {
        ...call,
        propagationPolicy: 'Background',
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      }),
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const what = `waiting until ${job.what} is deleted`;
  await withDeadline(signal, { clock: deps.clock, limitMs: deletionTimeoutMs, what }, async (inner) => {
    for (;;) {
      const found = await deps.read(job.resource, job.name, inner);
      if (found === null || found.metadata.uid !== uid) return;
      await deps.clock.sleep(deletionPollMs, inner);
    }
  });
}

/** Returns the error to throw: the refusal, or that the original was refused too. */
async function restoreOriginal(
  deps: RecreateDeps,
  job: RecreateJob,
  { original, refusal }: { readonly original: KubeObject; readonly refusal: unknown },
  signal: AbortSignal,
): Promise<unknown> {
  const object = recreatableCopy(original);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await createObject(deps, job, object, signal);
      return refusal;
    } catch (error) {
      if (isAlreadyExists(error)) return refusal;
      if (hasLostWriteRight(error, signal)) throw error;
      // The object's own address or port may take a moment to be released.
      const hopeless = error instanceof KubeApiError && error.status === 422 && !isInconclusiveDryRun(error);
      if (hopeless || attempt === maxRestoreAttempts) return new RestoreFailed(refusal, error);
      await deps.clock.sleep(restoreRetryMs, signal);
    }
  }
}

/** The object without its server-set fields, ready to be created. Keeps its managed fields. */
function recreatableCopy(original: KubeObject): KubeObject {
  const metadata = omit(
    original.metadata,
    ...(['resourceVersion', 'uid', 'creationTimestamp', 'generation'] as const),
    ...(['deletionTimestamp', 'deletionGracePeriodSeconds'] as const),
  );
  const bare = { ...original, metadata };
  return groupOf(original.apiVersion) === 'batch' && original.kind === 'Job' ? withoutGeneratedSelector(bare) : bare;
}

const generatedLabels = [
  'controller-uid',
  'job-name',
  'batch.kubernetes.io/controller-uid',
  'batch.kubernetes.io/job-name',
];

/** A Job's selector contains its old UID: the server generates a new one and refuses any other. */
function withoutGeneratedSelector(job: KubeObject): KubeObject {
  const spec = valueAt(jsonOf(job), 'spec');
  if (!isObject(spec) || spec['manualSelector'] === true) return job;
  const template = valueAt(spec, 'template');
  const metadata = valueAt(template, 'metadata');
  const labels = valueAt(metadata, 'labels');
  const rest = omit(spec as Record<string, unknown>, 'selector') as typeof spec;
  if (!isObject(template) || !isObject(metadata) || !isObject(labels)) return { ...job, spec: rest };
  const kept = Object.fromEntries(Object.entries(labels).filter(([name]) => !generatedLabels.includes(name)));
  return { ...job, spec: { ...rest, template: { ...template, metadata: { ...metadata, labels: kept } } } };
}

/** The two lines that `kubectl replace --force` prints; `what` is the short name of the object. */
export function recreatedText({ metadata: { namespace } }: KubeObject, what: string): string {
  const [kind = '', name = ''] = what.split('/');
  return `${kind} "${name}" deleted${namespace === undefined ? '' : ` from ${namespace} namespace`}\n${what} replaced`;
}
