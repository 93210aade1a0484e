import type { JsonObject } from '#base';
import { valueAt, hashJson } from '#base';
import { annotationOf } from '#model';
import type { KubeObject } from '#model';
import { createObject, replaceObject } from './engine.ts';
import type { ReconcilerContext } from './engine.ts';
import {
  conditionFor,
  isDeleting,
  isFinished,
  isReady,
  numberIn,
  ownedObjects,
  ownedBy,
  podFrom,
  specObjectOf,
  statusObjectOf,
  textIn,
} from './parts.ts';

const hashLabel = 'pod-template-hash';
const revisionAnnotation = 'deployment.kubernetes.io/revision';

/**
 * A Deployment keeps one ReplicaSet per template; the newest gets the replicas, the others scale to
 * 0 when it is ready.
 */
export function reconcileDeployment(deployment: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(deployment)) return;
  const spec = specObjectOf(deployment);
  const wanted = numberIn(spec, 1, 'replicas');
  const sets = ownedObjects(context.store, deployment, 'apps', 'ReplicaSet');
  const hash = hashJson(spec['template']).slice(0, 10);
  let newest = sets.find((set) => set.metadata.labels?.[hashLabel] === hash);
  if (newest === undefined && spec['paused'] !== true)
    newest = createObject(context, replicaSet(deployment, hash, sets, wanted));
  const old = sets.filter((set) => set.metadata.uid !== newest?.metadata.uid);
  if (newest !== undefined) {
    scaleReplicaSet(newest, wanted, context);
    const ready = numberIn(statusObjectOf(newest), 0, 'readyReplicas');
    if (ready >= wanted || textIn(spec, 'strategy', 'type') === 'Recreate')
      for (const set of old) scaleReplicaSet(set, 0, context);
    context.setStatus(deployment, deploymentStatus(deployment, newest, old, context));
    markRevision(deployment, newest, context);
  }
}

function replicaSet(deployment: KubeObject, hash: string, sets: readonly KubeObject[], replicas: number): KubeObject {
  const spec = specObjectOf(deployment);
  const labels = {
    ...(valueAt(spec, 'template', 'metadata', 'labels') as Readonly<Record<string, string>>),
    [hashLabel]: hash,
  };
  const template = spec['template'] as JsonObject;
  const revision = 1 + Math.max(0, ...sets.map((set) => Number(annotationOf(set, revisionAnnotation) ?? 0)));
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name ?? ''}-${hash}`,
      namespace: deployment.metadata.namespace ?? '',
      labels,
      annotations: { [revisionAnnotation]: String(revision) },
      ownerReferences: [ownedBy(deployment)],
    },
    spec: {
      replicas,
      selector: {
        matchLabels: { ...(valueAt(spec, 'selector', 'matchLabels') as JsonObject | undefined), [hashLabel]: hash },
      },
      template: { ...template, metadata: { ...(template['metadata'] as JsonObject | undefined), labels } },
    },
  };
}

function scaleReplicaSet(set: KubeObject, replicas: number, context: ReconcilerContext): void {
  if (numberIn(specObjectOf(set), 1, 'replicas') !== replicas)
    replaceObject(context, { ...set, spec: { ...specObjectOf(set), replicas } });
}

function markRevision(deployment: KubeObject, newest: KubeObject, context: ReconcilerContext): void {
  const revision = annotationOf(newest, revisionAnnotation) ?? '1';
  const current = context.store.get(
    'apps',
    'Deployment',
    deployment.metadata.namespace ?? '',
    deployment.metadata.name ?? '',
  );
  if (current === undefined || annotationOf(current, revisionAnnotation) === revision) return;
  replaceObject(context, {
    ...current,
    metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, [revisionAnnotation]: revision } },
  });
}

function deploymentStatus(
  deployment: KubeObject,
  newest: KubeObject,
  old: readonly KubeObject[],
  context: ReconcilerContext,
): JsonObject {
  const now = context.now();
  const wanted = numberIn(specObjectOf(deployment), 1, 'replicas');
  const count = (set: KubeObject, field: string): number => numberIn(statusObjectOf(set), 0, field);
  const total = (field: string): number => [newest, ...old].reduce((sum, set) => sum + count(set, field), 0);
  const updated = count(newest, 'replicas');
  const available = total('availableReplicas');
  const complete = updated >= wanted && count(newest, 'availableReplicas') >= wanted && total('replicas') === updated;
  const name = newest.metadata.name ?? '';
  const stuck = !complete && isStuck(deployment, newest, context);
  const progressing = complete
    ? {
        status: 'True' as const,
        reason: 'NewReplicaSetAvailable',
        message: `ReplicaSet "${name}" has successfully progressed.`,
      }
    : { status: 'True' as const, reason: 'ReplicaSetUpdated', message: `ReplicaSet "${name}" is progressing.` };
  const failed = {
    status: 'False' as const,
    reason: 'ProgressDeadlineExceeded',
    message: `ReplicaSet "${name}" has timed out progressing.`,
  };
  const enough = available >= wanted;
  const conditions = [
    conditionFor(
      deployment,
      {
        type: 'Available',
        status: enough ? 'True' : 'False',
        reason: enough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
        message: enough ? 'Deployment has minimum availability.' : 'Deployment does not have minimum availability.',
      },
      now,
    ),
    conditionFor(deployment, { type: 'Progressing', ...(stuck ? failed : progressing) }, now),
  ];
  return {
    observedGeneration: deployment.metadata.generation ?? 1,
    ...nonZero({
      replicas: total('replicas'),
      updatedReplicas: updated,
      readyReplicas: total('readyReplicas'),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, wanted - available),
    }),
    conditions,
  };
}

/** Incomplete and older than its progress deadline. */
function isStuck(deployment: KubeObject, newest: KubeObject, context: ReconcilerContext): boolean {
  const limitMs = 1000 * numberIn(specObjectOf(deployment), 600, 'progressDeadlineSeconds');
  const age = context.clock.now() - Date.parse(String(newest.metadata.creationTimestamp));
  if (age >= limitMs) return true;
  context.again(deployment, limitMs - age);
  return false;
}

/** Omits counters that are 0, like Go's omitempty. */
export function nonZero(counts: Readonly<Record<string, number>>): JsonObject {
  return Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== 0));
}

/** A ReplicaSet maintains its number of pods. */
export function reconcileReplicaSet(set: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(set)) return;
  const wanted = numberIn(specObjectOf(set), 1, 'replicas');
  const pods = ownedObjects(context.store, set, '', 'Pod').filter((pod) => !isDeleting(pod) && !isFinished(pod));
  for (let i = pods.length; i < wanted; i += 1) {
    pods.push(createObject(context, podFrom(set, `${set.metadata.name ?? ''}-${context.random.suffix(5)}`, {})));
  }
  for (const pod of pods.splice(wanted)) {
    context.store.delete('', 'Pod', pod.metadata.namespace ?? '', pod.metadata.name ?? '', {
      propagationPolicy: 'Background',
    });
  }
  const ready = pods.filter(isReady).length;
  context.setStatus(set, {
    replicas: pods.length,
    observedGeneration: set.metadata.generation ?? 1,
    ...nonZero({ fullyLabeledReplicas: pods.length, readyReplicas: ready, availableReplicas: ready }),
  });
}
