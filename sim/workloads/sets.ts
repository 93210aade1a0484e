import type { JsonObject } from '#base';
import { hashJson } from '#base';
import type { KubeObject } from '#model';
import { create } from './engine.ts';
import type { World } from './engine.ts';
import { isDeleting, isReady, listAt, numberAt, owned, podFrom, specOf, textAt } from './parts.ts';
import { nonZero } from './replicas.ts';

const revisionLabel = 'controller-revision-hash';

/** A StatefulSet: pods by ordinal, one after the other unless it is Parallel, replaced from the last when the template changes. */
export function reconcileStatefulSet(set: KubeObject, world: World): void {
  if (isDeleting(set)) return;
  const spec = specOf(set);
  const name = set.metadata.name ?? '';
  const wanted = numberAt(spec, 1, 'replicas');
  const revision = `${name}-${hashJson(spec['template']).slice(0, 10)}`;
  const pods = new Map(owned(world.store, set, '', 'Pod').map((pod) => [pod.metadata.name ?? '', pod]));
  const parallel = spec['podManagementPolicy'] === 'Parallel';
  for (let ordinal = 0; ordinal < wanted; ordinal += 1) {
    const podName = `${name}-${ordinal}`;
    const pod = pods.get(podName);
    if (pod === undefined) pods.set(podName, createOrdinal(set, ordinal, revision, world));
    if (!parallel && !(pod !== undefined && isReady(pod))) break;
  }
  removeSurplus(pods, name, wanted, world);
  replaceOutdated(set, pods, revision, world);
  world.setStatus(set, statefulSetStatus(set, [...pods.values()], revision));
}

function createOrdinal(set: KubeObject, ordinal: number, revision: string, world: World): KubeObject {
  const name = `${set.metadata.name ?? ''}-${ordinal}`;
  for (const claim of listAt(specOf(set), 'volumeClaimTemplates')) createClaim(set, claim, name, world);
  return create(world, podFrom(set, name, { [revisionLabel]: revision, 'statefulset.kubernetes.io/pod-name': name }));
}

/** Claims outlive their pods: one that is there is used again. */
function createClaim(set: KubeObject, template: JsonObject, pod: string, world: World): void {
  const namespace = set.metadata.namespace ?? '';
  const name = `${textAt(template, 'metadata', 'name')}-${pod}`;
  if (world.store.get('', 'PersistentVolumeClaim', namespace, name) !== undefined) return;
  const labels = (template['metadata'] as { readonly labels?: Readonly<Record<string, string>> }).labels;
  const spec = template['spec'] ?? {};
  create(world, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
    spec,
  });
}

function removeSurplus(pods: Map<string, KubeObject>, name: string, wanted: number, world: World): void {
  for (const [podName, pod] of pods) {
    if (Number(podName.slice(name.length + 1)) < wanted) continue;
    pods.delete(podName);
    remove(pod, world);
  }
}

/** RollingUpdate: one outdated pod at a time, highest ordinal first, and only while all others are ready. */
function replaceOutdated(set: KubeObject, pods: ReadonlyMap<string, KubeObject>, revision: string, world: World): void {
  if (textAt(specOf(set), 'updateStrategy', 'type') === 'OnDelete') return;
  const outdated = [...pods.values()].filter((pod) => pod.metadata.labels?.[revisionLabel] !== revision);
  const last = outdated.at(-1);
  if (last !== undefined && [...pods.values()].every((pod) => pod === last || isReady(pod))) remove(last, world);
}

function remove(pod: KubeObject, world: World): void {
  if (isDeleting(pod)) return;
  world.store.delete('', 'Pod', pod.metadata.namespace ?? '', pod.metadata.name ?? '', {
    propagationPolicy: 'Background',
  });
}

function statefulSetStatus(set: KubeObject, all: readonly KubeObject[], revision: string): JsonObject {
  const pods = all.filter((pod) => !isDeleting(pod));
  const updated = pods.filter((pod) => pod.metadata.labels?.[revisionLabel] === revision).length;
  const ready = pods.filter(isReady).length;
  const wanted = numberAt(specOf(set), 1, 'replicas');
  const finished = updated === wanted && ready === wanted;
  const before = textAt(set as unknown as JsonObject, 'status', 'currentRevision');
  return {
    observedGeneration: set.metadata.generation ?? 1,
    replicas: pods.length,
    availableReplicas: ready,
    currentRevision: finished || before === '' ? revision : before,
    updateRevision: revision,
    collisionCount: 0,
    ...nonZero({
      readyReplicas: ready,
      currentReplicas: finished ? updated : pods.length - updated,
      updatedReplicas: updated,
    }),
  };
}

/** A DaemonSet: one pod per node. */
export function reconcileDaemonSet(set: KubeObject, world: World): void {
  if (isDeleting(set)) return;
  const revision = hashJson(specOf(set)['template']).slice(0, 10);
  const nodes = world.store.list('', 'Node').map((node) => node.metadata.name ?? '');
  const pods = owned(world.store, set, '', 'Pod').filter((pod) => !isDeleting(pod));
  const current = pods.filter((pod) => pod.metadata.labels?.[revisionLabel] === revision);
  for (const pod of pods) if (!current.includes(pod)) remove(pod, world);
  for (const node of nodes) {
    if (current.some((pod) => specOf(pod)['nodeName'] === node)) continue;
    const name = `${set.metadata.name ?? ''}-${world.random.suffix(5)}`;
    current.push(create(world, podFrom(set, name, { [revisionLabel]: revision }, node)));
  }
  const ready = current.filter(isReady).length;
  world.setStatus(set, {
    currentNumberScheduled: current.length,
    numberMisscheduled: 0,
    desiredNumberScheduled: nodes.length,
    numberReady: ready,
    observedGeneration: set.metadata.generation ?? 1,
    ...nonZero({
      updatedNumberScheduled: current.length,
      numberAvailable: ready,
      numberUnavailable: nodes.length - ready,
    }),
  });
}
