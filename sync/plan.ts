import { annotationOf, groupOf, isCompleted, isHook, isTrackable, resourceKey, versionOf } from '#model';
import type { GroupKind, KubeObject, OperationPhase, ResourceResult, ResultCode, SyncPhase } from '#model';
import { compareIntegers, largestInteger } from '#base';
import type { ExactInteger } from '#base';
import { deletePolicies, phasesOf, waveOf, withHookFinalizer } from './hooks.ts';
import { hasResourceOption } from './options.ts';
import type { SyncOptions, SyncRequest } from './types.ts';

/** One task of a sync: applies `target`, or prunes `live` if there is no target. */
export interface SyncTask {
  readonly phase: SyncPhase;
  wave: ExactInteger;
  readonly target: KubeObject | null;
  live: KubeObject | null;
  readonly isHook: boolean;
  readonly modified: boolean;
  /** Creates the destination namespace (CreateNamespace=true), which no manifest contains. */
  readonly makesNamespace?: true;
  /** The cluster does not serve the kind yet, so it cannot be checked. */
  skipDryRun: boolean;
  status?: ResultCode;
  operationPhase?: OperationPhase;
  message?: string;
}

/**
 * Annotation with the attempt that created a hook (not in Argo CD). If a replica dies between
 * creating and recording a hook, the next one recognizes it and waits instead of running it twice.
 */
export const attemptAnnotation = 'driftless.io/operation';

/** The value of {@link attemptAnnotation}. A hook of several phases runs in each of them. */
function attemptMark(attempt: string, hook: KubeObject, phase: SyncPhase): string {
  return phasesOf(hook).length > 1 ? `${attempt}/${phase}` : attempt;
}

/** Whether this attempt created the hook, in any phase. */
export function isOfAttempt(hook: KubeObject, attempt: string): boolean {
  const mark = annotationOf(hook, attemptAnnotation);
  return mark === attempt || mark?.startsWith(`${attempt}/`) === true;
}

const phaseOrder: Readonly<Record<SyncPhase, number>> = { PreSync: -1, Sync: 0, PostSync: 1, SyncFail: 2 };

/** Order of kinds within a wave; others come last (gitops-engine/pkg/sync/sync_tasks.go). */
const kindOrder: ReadonlyMap<string, number> = new Map(
  [
    'Namespace',
    'NetworkPolicy',
    'ResourceQuota',
    'LimitRange',
    'PodSecurityPolicy',
    'PodDisruptionBudget',
    'ServiceAccount',
    'Secret',
    'SecretList',
    'ConfigMap',
    'StorageClass',
    'PersistentVolume',
    'PersistentVolumeClaim',
    'CustomResourceDefinition',
    'ClusterRole',
    'ClusterRoleList',
    'ClusterRoleBinding',
    'ClusterRoleBindingList',
    'Role',
    'RoleList',
    'RoleBinding',
    'RoleBindingList',
    'Service',
    'DaemonSet',
    'Pod',
    'ReplicationController',
    'ReplicaSet',
    'Deployment',
    'HorizontalPodAutoscaler',
    'StatefulSet',
    'Job',
    'CronJob',
    'IngressClass',
    'Ingress',
    'APIService',
  ].map((kind, rank) => [kind, rank]),
);

/** The target of a task, or the live object to prune. */
export function objectOf(task: SyncTask): KubeObject {
  const object = task.target ?? task.live;
  if (object === null) throw new TypeError('a sync task has neither target nor live object');
  return object;
}

export function isPrune(task: SyncTask): boolean {
  return task.target === null;
}

export function isPending(task: SyncTask): boolean {
  return task.operationPhase === undefined;
}

export function isRunning(task: SyncTask): boolean {
  return task.operationPhase === 'Running';
}

export function isDone(task: SyncTask): boolean {
  return task.operationPhase !== undefined && isCompleted(task.operationPhase);
}

/**
 * The namespace of a task's result, as Argo CD records it. A target without a namespace, even a
 * cluster-scoped one, gets that of the destination, except for the Namespace that the sync itself
 * creates.
 */
function resultNamespace(task: SyncTask, destinationNamespace: string): string {
  const { namespace } = objectOf(task).metadata;
  return namespace ?? (task.target === null || task.makesNamespace === true ? '' : destinationNamespace);
}

/** Identity of a task's result. */
export function resultKey(task: SyncTask, destinationNamespace: string): string {
  const object = objectOf(task);
  const namespace = resultNamespace(task, destinationNamespace);
  return `${resourceKey(groupOf(object.apiVersion), object.kind, namespace, object.metadata.name ?? '')}:${task.phase}`;
}

/** {@link resultKey} of a recorded result. */
export function keyOfResult(result: ResourceResult): string {
  return `${resourceKey(result.group, result.kind, result.namespace, result.name)}:${result.syncPhase ?? 'Sync'}`;
}

/**
 * The tasks of an operation in execution order: phase, wave, kind, name. Equal inputs give the same
 * list on every replica. Prunes run in the reverse order of waves, or after all other tasks with
 * PruneLast.
 *
 * @param namespace the task that creates the destination namespace, if any.
 */
export function planTasks(request: SyncRequest, namespace: SyncTask | undefined): SyncTask[] {
  const tasks = [...resourceTasks(request), ...(request.options.skipHooks ? [] : hookTasks(request))];
  if (namespace !== undefined) tasks.push(namespace);
  reversePruneWaves(tasks);
  pruneLast(tasks, request.options);
  tasks.sort(byExecution);
  orderDependencies(tasks, request.destinationNamespace);
  attachResults(tasks, request);
  return tasks;
}

function resourceTasks(request: SyncRequest): SyncTask[] {
  const tasks: SyncTask[] = [];
  for (const { target, live, modified } of request.resources) {
    const object = target ?? live;
    if (object === null || isHook(object) || !request.isSelected(object)) continue;
    // Pruning a CRD deletes all its instances, those of other owners too.
    if (target === null && !isTrackable(object) && request.prunesDefinitions === undefined) continue;
    for (const phase of phasesOf(object)) {
      tasks.push({ phase, wave: waveOf(object), target, live, isHook: false, modified, skipDryRun: false });
    }
  }
  return tasks;
}

function hookTasks(request: SyncRequest): SyncTask[] {
  return request.hooks.flatMap((hook) =>
    phasesOf(hook).map((phase) => {
      const target = hookToCreate(hook, phase, request);
      return {
        phase,
        wave: waveOf(hook),
        target,
        live: findLiveHook(target, request),
        isHook: true,
        modified: true,
        skipDryRun: false,
      };
    }),
  );
}

/**
 * The hook to create. One without a name gets one that is unique per operation:
 * `<generateName><revision>-<phase>-<start>`. It also gets the hook finalizer, so that we see how
 * it ended even if something else deletes it.
 */
function hookToCreate(hook: KubeObject, phase: SyncPhase, request: SyncRequest): KubeObject {
  const revision = request.revision.length >= 8 ? request.revision.slice(0, 7) : request.revision;
  const suffix = `${revision}-${phase}-${Math.floor(request.startedAt / 1000)}`.toLowerCase();
  const { generateName, ...metadata } = hook.metadata;
  const given = metadata.name ?? '';
  const name = given === '' ? `${generateName ?? ''}${suffix}` : given;
  const annotations = { ...metadata.annotations, [attemptAnnotation]: attemptMark(request.attempt, hook, phase) };
  return withHookFinalizer({ ...hook, metadata: { ...metadata, name, annotations } });
}

function findLiveHook(target: KubeObject, request: SyncRequest): KubeObject | null {
  const namespace = target.metadata.namespace ?? request.destinationNamespace;
  const found = request.liveHooks.find((live) => {
    const own = live.metadata.namespace ?? '';
    return (
      live.kind === target.kind &&
      groupOf(live.apiVersion) === groupOf(target.apiVersion) &&
      live.metadata.name === target.metadata.name &&
      (own === '' || own === namespace)
    );
  });
  return found ?? null;
}

/** Reverses the waves of prunes, so that objects of the last wave are pruned first. */
function reversePruneWaves(tasks: readonly SyncTask[]): void {
  const prunes = tasks.filter(isPrune);
  const waves = [...new Set(prunes.map((task) => task.wave))].sort(compareIntegers);
  const mirrored = new Map(waves.map((wave, i) => [wave, waves[waves.length - 1 - i] ?? wave]));
  for (const task of prunes) task.wave = mirrored.get(task.wave) ?? task.wave;
}

function pruneLast(tasks: readonly SyncTask[], options: SyncOptions): void {
  const waves = tasks.filter((task) => task.phase === 'Sync').map((task) => task.wave);
  const largest = largestInteger(waves, 0);
  const last = typeof largest === 'bigint' ? largest + 1n : largest + 1;
  for (const task of tasks) {
    if (isPrune(task) && (options.pruneLast || hasResourceOption(task.live, 'PruneLast=true'))) task.wave = last;
  }
}

function byExecution(a: SyncTask, b: SyncTask): number {
  return (
    phaseOrder[a.phase] - phaseOrder[b.phase] ||
    compareIntegers(a.wave, b.wave) ||
    rankOf(a) - rankOf(b) ||
    compareText(sortName(a), sortName(b))
  );
}

function rankOf(task: SyncTask): number {
  return kindOrder.get(objectOf(task).kind) ?? kindOrder.size;
}

/**
 * Sorts by name as in Argo CD, which leaves ties in any order; here kind, namespace and API version
 * break them.
 */
function sortName(task: SyncTask): string {
  const object = objectOf(task);
  return `${object.metadata.name ?? ''} ${object.kind} ${object.metadata.namespace ?? ''} ${object.apiVersion}`;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Moves a Namespace before its first object and a CRD before its first instance, in any wave. */
function orderDependencies(tasks: SyncTask[], destinationNamespace: string): void {
  moveBeforeDependants(
    tasks,
    (task) => (isKind(task, '', 'Namespace') ? (task.target?.metadata.name ?? '') : undefined),
    (task) =>
      task.target === null || isKind(task, '', 'Namespace')
        ? undefined
        : (task.target.metadata.namespace ?? destinationNamespace),
  );
  moveBeforeDependants(
    tasks,
    (task) => (task.target === null ? undefined : crdGroupKind(task.target)),
    (task) =>
      task.target === null
        ? undefined
        : groupKindText({ group: groupOf(task.target.apiVersion), kind: task.target.kind }),
  );
}

function moveBeforeDependants(
  tasks: SyncTask[],
  provides: (task: SyncTask) => string | undefined,
  needs: (task: SyncTask) => string | undefined,
): void {
  for (const provider of tasks.filter((task) => task.target !== null && provides(task) !== undefined)) {
    const provided = provides(provider);
    const from = tasks.indexOf(provider);
    const to = tasks.findIndex((task) => task !== provider && needs(task) === provided);
    const user = tasks[to];
    if (user === undefined || to > from) continue;
    tasks.splice(from, 1);
    tasks.splice(to, 0, { ...provider, phase: user.phase, wave: user.wave });
  }
}

function isKind(task: SyncTask, group: string, kind: string): boolean {
  return task.target !== null && task.target.kind === kind && groupOf(task.target.apiVersion) === group;
}

/** The `group/kind` that a CustomResourceDefinition defines; undefined for other objects. */
export function crdGroupKind(object: KubeObject): string | undefined {
  if (object.kind !== 'CustomResourceDefinition' || groupOf(object.apiVersion) !== 'apiextensions.k8s.io')
    return undefined;
  const spec = object['spec'] as { readonly group?: string; readonly names?: { readonly kind?: string } } | undefined;
  return groupKindText({ group: spec?.group ?? '', kind: spec?.names?.kind ?? '' });
}

export function groupKindText(gk: GroupKind): string {
  return `${gk.group}/${gk.kind}`;
}

function attachResults(tasks: readonly SyncTask[], request: SyncRequest): void {
  const known = new Map(request.results.map((result) => [keyOfResult(result), result]));
  for (const task of tasks) {
    const result = known.get(resultKey(task, request.destinationNamespace));
    if (result?.hookPhase === undefined) adoptUnrecordedHook(task, request.attempt);
    if (result === undefined) continue;
    if (result.status !== undefined) task.status = result.status;
    if (result.hookPhase !== undefined) task.operationPhase = result.hookPhase;
    if (result.message !== undefined) task.message = result.message;
  }
}

/** Marks an unrecorded live hook as running if this phase created it, so that it runs once. */
function adoptUnrecordedHook(task: SyncTask, attempt: string): void {
  if (!task.isHook || task.live === null) return;
  if (annotationOf(task.live, attemptAnnotation) !== attemptMark(attempt, objectOf(task), task.phase)) return;
  task.status = 'Synced';
  task.operationPhase = 'Running';
}

/** The result to record for a task (gitops-engine sync_context.go, setResourceResult). */
export function resultOf(task: SyncTask, destinationNamespace: string): ResourceResult {
  const object = objectOf(task);
  return {
    group: groupOf(object.apiVersion),
    version: versionOf(object.apiVersion),
    kind: object.kind,
    namespace: resultNamespace(task, destinationNamespace),
    name: object.metadata.name ?? '',
    ...(task.status === undefined ? {} : { status: task.status }),
    ...(task.message === undefined || task.message === '' ? {} : { message: task.message }),
    ...(task.isHook ? { hookType: task.phase } : {}),
    ...(task.operationPhase === undefined ? {} : { hookPhase: task.operationPhase }),
    syncPhase: task.phase,
    ...imagesOf(object),
  };
}

function imagesOf(object: KubeObject): { readonly images?: readonly string[] } {
  const images: string[] = [];
  const paths = [['spec'], ['spec', 'template', 'spec'], ['spec', 'jobTemplate', 'spec', 'template', 'spec']];
  for (const path of paths) {
    let here: unknown = object;
    for (const step of path) here = (here as Readonly<Record<string, unknown>> | undefined)?.[step];
    const containers = (here as { readonly containers?: unknown } | null | undefined)?.containers;
    if (!Array.isArray(containers)) continue;
    for (const container of containers as readonly { readonly image?: unknown }[]) {
      if (typeof container.image === 'string') images.push(container.image);
    }
  }
  return images.length > 0 ? { images } : {};
}

/**
 * Whether the result records a postponed prune: the live state of the kind or the API versions of
 * the cluster were not known for certain, or another Application also manages the object.
 */
export function isPrunePostponed({ status, message = '' }: ResourceResult): boolean {
  return status === 'PruneSkipped' && /^ignored \((?:the live state of|the API versions of|application) /.test(message);
}

/** Whether the task is a hook with this delete policy. */
export function hasDeletePolicy(
  task: SyncTask,
  policy: 'HookSucceeded' | 'HookFailed' | 'BeforeHookCreation',
): boolean {
  return task.isHook && deletePolicies(objectOf(task)).includes(policy);
}
