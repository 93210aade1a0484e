import type { JsonObject } from '#base';
import { at, hashJson } from '#base';
import { annotationOf } from '#model';
import type { KubeObject } from '#model';
import { create, replace } from './engine.ts';
import type { World } from './engine.ts';
import {
  condition,
  isDeleting,
  isFinished,
  isReady,
  numberAt,
  owned,
  ownedBy,
  podFrom,
  specOf,
  statusOf,
  textAt,
} from './parts.ts';

const hashLabel = 'pod-template-hash';
const revisionAnnotation = 'deployment.kubernetes.io/revision';

/** A Deployment keeps one ReplicaSet per template; the newest gets the replicas, the others go when it is ready. */
export function reconcileDeployment(deployment: KubeObject, world: World): void {
  if (isDeleting(deployment)) return;
  const spec = specOf(deployment);
  const wanted = numberAt(spec, 1, 'replicas');
  const sets = owned(world.store, deployment, 'apps', 'ReplicaSet');
  const hash = hashJson(spec['template']).slice(0, 10);
  let newest = sets.find((set) => set.metadata.labels?.[hashLabel] === hash);
  if (newest === undefined && spec['paused'] !== true)
    newest = create(world, replicaSet(deployment, hash, sets, wanted));
  const old = sets.filter((set) => set.metadata.uid !== newest?.metadata.uid);
  if (newest !== undefined) {
    scale(newest, wanted, world);
    const ready = numberAt(statusOf(newest), 0, 'readyReplicas');
    if (ready >= wanted || textAt(spec, 'strategy', 'type') === 'Recreate') for (const set of old) scale(set, 0, world);
    world.setStatus(deployment, deploymentStatus(deployment, newest, old, world));
    markRevision(deployment, newest, world);
  }
}

function replicaSet(deployment: KubeObject, hash: string, sets: readonly KubeObject[], replicas: number): KubeObject {
  const spec = specOf(deployment);
  const labels = {
    ...(at(spec, 'template', 'metadata', 'labels') as Readonly<Record<string, string>>),
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
        matchLabels: { ...(at(spec, 'selector', 'matchLabels') as JsonObject | undefined), [hashLabel]: hash },
      },
      template: { ...template, metadata: { ...(template['metadata'] as JsonObject | undefined), labels } },
    },
  };
}

function scale(set: KubeObject, replicas: number, world: World): void {
  if (numberAt(specOf(set), 1, 'replicas') !== replicas) replace(world, { ...set, spec: { ...specOf(set), replicas } });
}

function markRevision(deployment: KubeObject, newest: KubeObject, world: World): void {
  const revision = annotationOf(newest, revisionAnnotation) ?? '1';
  const current = world.store.get(
    'apps',
    'Deployment',
    deployment.metadata.namespace ?? '',
    deployment.metadata.name ?? '',
  );
  if (current === undefined || annotationOf(current, revisionAnnotation) === revision) return;
  replace(world, {
    ...current,
    metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, [revisionAnnotation]: revision } },
  });
}

function deploymentStatus(
  deployment: KubeObject,
  newest: KubeObject,
  old: readonly KubeObject[],
  world: World,
): JsonObject {
  const now = world.now();
  const wanted = numberAt(specOf(deployment), 1, 'replicas');
  const count = (set: KubeObject, field: string): number => numberAt(statusOf(set), 0, field);
  const total = (field: string): number => [newest, ...old].reduce((sum, set) => sum + count(set, field), 0);
  const updated = count(newest, 'replicas');
  const available = total('availableReplicas');
  const complete = updated >= wanted && count(newest, 'availableReplicas') >= wanted && total('replicas') === updated;
  const name = newest.metadata.name ?? '';
  const stuck = !complete && isStuck(deployment, newest, world);
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
    condition(
      deployment,
      {
        type: 'Available',
        status: enough ? 'True' : 'False',
        reason: enough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
        message: enough ? 'Deployment has minimum availability.' : 'Deployment does not have minimum availability.',
      },
      now,
    ),
    condition(deployment, { type: 'Progressing', ...(stuck ? failed : progressing) }, now),
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

/** Older than its progress deadline and still not complete. */
function isStuck(deployment: KubeObject, newest: KubeObject, world: World): boolean {
  const limitMs = 1000 * numberAt(specOf(deployment), 600, 'progressDeadlineSeconds');
  const age = world.clock.now() - Date.parse(String(newest.metadata.creationTimestamp));
  if (age >= limitMs) return true;
  world.again(deployment, limitMs - age);
  return false;
}

/** Counters that are 0 are not in the object, as Go's omitempty leaves them out. */
export function nonZero(counts: Readonly<Record<string, number>>): JsonObject {
  return Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== 0));
}

/** A ReplicaSet keeps its number of pods. */
export function reconcileReplicaSet(set: KubeObject, world: World): void {
  if (isDeleting(set)) return;
  const wanted = numberAt(specOf(set), 1, 'replicas');
  const pods = owned(world.store, set, '', 'Pod').filter((pod) => !isDeleting(pod) && !isFinished(pod));
  for (let i = pods.length; i < wanted; i += 1) {
    pods.push(create(world, podFrom(set, `${set.metadata.name ?? ''}-${world.random.suffix(5)}`, {})));
  }
  for (const pod of pods.splice(wanted)) {
    world.store.delete('', 'Pod', pod.metadata.namespace ?? '', pod.metadata.name ?? '', {
      propagationPolicy: 'Background',
    });
  }
  const ready = pods.filter(isReady).length;
  world.setStatus(set, {
    replicas: pods.length,
    observedGeneration: set.metadata.generation ?? 1,
    ...nonZero({ fullyLabeledReplicas: pods.length, readyReplicas: ready, availableReplicas: ready }),
  });
}
