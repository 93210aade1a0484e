import { annotationOf, finalizers, groupOf, isCompleted, isHook, isTrackable, resourceKey, versionOf } from '#model';
import type { GroupKind, KubeObject, OperationPhase, ResourceResult, ResultCode, SyncPhase } from '#model';
import { deletePolicies, phasesOf, waveOf } from './hooks.ts';
import { hasResourceOption } from './options.ts';
import type { SyncOptions, SyncRequest } from './types.ts';

/** One thing to do in a sync: apply `target`, or prune `live` when there is no target. */
export interface SyncTask {
  readonly phase: SyncPhase;
  wave: number;
  readonly target: KubeObject | null;
  live: KubeObject | null;
  readonly hook: boolean;
  readonly modified: boolean;
  /** It makes the destination namespace (CreateNamespace=true), as no manifest does. */
  readonly makesNamespace?: true;
  /** The kind is not there yet (its CRD comes with this sync): nothing to check before. */
  skipDryRun: boolean;
  status?: ResultCode;
  operationPhase?: OperationPhase;
  message?: string;
}

/**
 * Annotation of a hook that we made: the attempt that made it. A replica that died between creating a hook and recording it is followed by one that
 * finds the hook by this and waits for it, instead of deleting and running it a second time. Not in Argo CD.
 */
export const attemptAnnotation = 'driftless.io/operation';

const phaseOrder: Readonly<Record<SyncPhase, number>> = { PreSync: -1, Sync: 0, PostSync: 1, SyncFail: 2 };

/** Which kinds come first within a wave; a kind that is not listed comes last (gitops-engine/pkg/sync/sync_tasks.go). */
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

/** What a task is about: its target, or the live object to prune. */
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
 * The namespace of a task's result: targets without one count under the destination's, also those of the whole cluster, but not the Namespace
 * that the sync itself makes. So Argo CD records them.
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

/** As {@link resultKey}, from a recorded result. */
export function keyOfResult(result: ResourceResult): string {
  return `${resourceKey(result.group, result.kind, result.namespace, result.name)}:${result.syncPhase ?? 'Sync'}`;
}

/**
 * The tasks of an operation in order of execution: phase, wave, kind, name. Deterministic: equal inputs give the same list on every
 * replica. Prunes run in the opposite order of waves; with PruneLast after everything else.
 *
 * @param namespace the task that creates the destination namespace, when there is one.
 */
export function planTasks(request: SyncRequest, namespace: SyncTask | undefined): SyncTask[] {
  const tasks = [...resourceTasks(request), ...(request.options.skipHooks ? [] : hookTasks(request))];
  if (namespace !== undefined) tasks.push(namespace);
  reversePruneWaves(tasks);
  pruneLast(tasks, request.options);
  tasks.sort(byExecution);
  liftDependencies(tasks, request.destinationNamespace);
  attachResults(tasks, request);
  return tasks;
}

function resourceTasks(request: SyncRequest): SyncTask[] {
  const tasks: SyncTask[] = [];
  for (const { target, live, modified } of request.resources) {
    const object = target ?? live;
    if (object === null || isHook(object) || !request.selected(object)) continue;
    // The instances would go with it, those of others too.
    if (target === null && !isTrackable(object)) continue;
    for (const phase of phasesOf(object)) {
      tasks.push({ phase, wave: waveOf(object), target, live, hook: false, modified, skipDryRun: false });
    }
  }
  return tasks;
}

function hookTasks(request: SyncRequest): SyncTask[] {
  return request.hooks.flatMap((hook) =>
    phasesOf(hook).map((phase) => {
      const target = namedHook(hook, phase, request);
      return {
        phase,
        wave: waveOf(hook),
        target,
        live: liveHook(target, request),
        hook: true,
        modified: true,
        skipDryRun: false,
      };
    }),
  );
}

/**
 * A hook as it is created: with a name (generateName becomes `<prefix><revision>-<phase>-<start>`, so that each operation has its own) and
 * the finalizer that lets us see its end even if something else deletes it.
 */
function namedHook(hook: KubeObject, phase: SyncPhase, request: SyncRequest): KubeObject {
  const revision = request.revision.length >= 8 ? request.revision.slice(0, 7) : request.revision;
  const suffix = `${revision}-${phase}-${Math.floor(request.startedAt / 1000)}`.toLowerCase();
  const { generateName, ...metadata } = hook.metadata;
  const name = metadata.name !== undefined && metadata.name !== '' ? metadata.name : `${generateName ?? ''}${suffix}`;
  const kept = metadata.finalizers ?? [];
  return {
    ...hook,
    metadata: {
      ...metadata,
      name,
      annotations: { ...metadata.annotations, [attemptAnnotation]: request.attempt },
      finalizers: kept.includes(finalizers.hook) ? kept : [...kept, finalizers.hook],
    },
  };
}

function liveHook(target: KubeObject, request: SyncRequest): KubeObject | null {
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

/** What was created last is pruned first: distinct waves of the prunes are mirrored. */
function reversePruneWaves(tasks: readonly SyncTask[]): void {
  const prunes = tasks.filter(isPrune);
  const waves = [...new Set(prunes.map((task) => task.wave))].sort((a, b) => a - b);
  const mirrored = new Map(waves.map((wave, i) => [wave, waves[waves.length - 1 - i] ?? wave]));
  for (const task of prunes) task.wave = mirrored.get(task.wave) ?? task.wave;
}

function pruneLast(tasks: readonly SyncTask[], options: SyncOptions): void {
  const last = Math.max(0, ...tasks.filter((task) => task.phase === 'Sync').map((task) => task.wave)) + 1;
  for (const task of tasks) {
    if (isPrune(task) && (options.pruneLast || hasResourceOption(task.live, 'PruneLast=true'))) task.wave = last;
  }
}

function byExecution(a: SyncTask, b: SyncTask): number {
  return (
    phaseOrder[a.phase] - phaseOrder[b.phase] ||
    a.wave - b.wave ||
    rankOf(a) - rankOf(b) ||
    compareText(sortName(a), sortName(b))
  );
}

function rankOf(task: SyncTask): number {
  return kindOrder.get(objectOf(task).kind) ?? kindOrder.size;
}

/** Name first as upstream; kind, namespace and group decide ties, which upstream leaves to chance. */
function sortName(task: SyncTask): string {
  const object = objectOf(task);
  return `${object.metadata.name ?? ''} ${object.kind} ${object.metadata.namespace ?? ''} ${object.apiVersion}`;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A Namespace goes before the first object in it, a CRD before the first object of its kind, whatever their waves say. */
function liftDependencies(tasks: SyncTask[], destinationNamespace: string): void {
  lift(
    tasks,
    (task) => (isKind(task, '', 'Namespace') ? (task.target?.metadata.name ?? '') : undefined),
    (task) =>
      task.target === null || isKind(task, '', 'Namespace')
        ? undefined
        : (task.target.metadata.namespace ?? destinationNamespace),
  );
  lift(
    tasks,
    (task) => (task.target === null ? undefined : crdGroupKind(task.target)),
    (task) =>
      task.target === null
        ? undefined
        : groupKindText({ group: groupOf(task.target.apiVersion), kind: task.target.kind }),
  );
}

function lift(
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

/** `group/kind` that a CustomResourceDefinition defines, undefined for anything else. */
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
    if (result?.hookPhase === undefined) adopt(task, request.attempt);
    if (result === undefined) continue;
    if (result.status !== undefined) task.status = result.status;
    if (result.hookPhase !== undefined) task.operationPhase = result.hookPhase;
    if (result.message !== undefined) task.message = result.message;
  }
}

/** A hook of this very attempt that nobody recorded is running, not left over from another one. */
function adopt(task: SyncTask, attempt: string): void {
  if (!task.hook || task.live === null || annotationOf(task.live, attemptAnnotation) !== attempt) return;
  task.status = 'Synced';
  task.operationPhase = 'Running';
}

/** A new result record for a task (gitops-engine sync_context.go, setResourceResult). */
export function recordOf(task: SyncTask, destinationNamespace: string): ResourceResult {
  const object = objectOf(task);
  return {
    group: groupOf(object.apiVersion),
    version: versionOf(object.apiVersion),
    kind: object.kind,
    namespace: resultNamespace(task, destinationNamespace),
    name: object.metadata.name ?? '',
    ...(task.status === undefined ? {} : { status: task.status }),
    ...(task.message === undefined || task.message === '' ? {} : { message: task.message }),
    ...(task.hook ? { hookType: task.phase } : {}),
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
 * True of a result that says: not pruned for now, because nobody could be sure that the live state of its kind is up to date, or because another
 * application has it, too.
 */
export function wasHeldBack({ status, message = '' }: ResourceResult): boolean {
  return status === 'PruneSkipped' && /^ignored \((?:the live state of|application) /.test(message);
}

/** True if the hook goes away by `policy`. */
export function hasPolicy(task: SyncTask, policy: 'HookSucceeded' | 'HookFailed' | 'BeforeHookCreation'): boolean {
  return task.hook && deletePolicies(objectOf(task)).includes(policy);
}
