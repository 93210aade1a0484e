import type { JsonObject } from '#base';
import { hashJson } from '#base';
import type { KubeObject } from '#model';
import { createObject } from './engine.ts';
import type { ReconcilerContext } from './engine.ts';
import { isDeleting, isReady, objectListIn, numberIn, ownedObjects, podFrom, specObjectOf, textIn } from './parts.ts';
import { nonZero } from './replicas.ts';

const revisionLabel = 'controller-revision-hash';

/**
 * A StatefulSet: pods in ordinal order, one at a time unless it is Parallel, replaced from the last
 * when the template changes.
 */
export function reconcileStatefulSet(set: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(set)) return;
  const spec = specObjectOf(set);
  const name = set.metadata.name ?? '';
  const wanted = numberIn(spec, 1, 'replicas');
  const revision = `${name}-${hashJson(spec['template']).slice(0, 10)}`;
  const pods = new Map(ownedObjects(context.store, set, '', 'Pod').map((pod) => [pod.metadata.name ?? '', pod]));
  const parallel = spec['podManagementPolicy'] === 'Parallel';
  for (let ordinal = 0; ordinal < wanted; ordinal += 1) {
    const podName = `${name}-${ordinal}`;
    const pod = pods.get(podName);
    if (pod === undefined) pods.set(podName, createOrdinal(set, ordinal, revision, context));
    if (!parallel && !(pod !== undefined && isReady(pod))) break;
  }
  removeSurplus(pods, name, wanted, context);
  replaceOutdated(set, pods, revision, context);
  context.setStatus(set, statefulSetStatus(set, [...pods.values()], revision));
}

function createOrdinal(set: KubeObject, ordinal: number, revision: string, context: ReconcilerContext): KubeObject {
  const name = `${set.metadata.name ?? ''}-${ordinal}`;
  for (const claim of objectListIn(specObjectOf(set), 'volumeClaimTemplates')) createClaim(set, claim, name, context);
  return createObject(
    context,
    podFrom(set, name, { [revisionLabel]: revision, 'statefulset.kubernetes.io/pod-name': name }),
  );
}

/** Claims outlive their pods: an existing one is reused. */
function createClaim(set: KubeObject, template: JsonObject, pod: string, context: ReconcilerContext): void {
  const namespace = set.metadata.namespace ?? '';
  const name = `${textIn(template, 'metadata', 'name')}-${pod}`;
  if (context.store.get('', 'PersistentVolumeClaim', namespace, name) !== undefined) return;
  const labels = (template['metadata'] as { readonly labels?: Readonly<Record<string, string>> }).labels;
  const spec = template['spec'] ?? {};
  createObject(context, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
    spec,
  });
}

function removeSurplus(pods: Map<string, KubeObject>, name: string, wanted: number, context: ReconcilerContext): void {
  for (const [podName, pod] of pods) {
    if (Number(podName.slice(name.length + 1)) < wanted) continue;
    pods.delete(podName);
    deletePod(pod, context);
  }
}

/**
 * RollingUpdate: replaces one outdated pod at a time, highest ordinal first, only while all others
 * are ready.
 */
function replaceOutdated(
  set: KubeObject,
  pods: ReadonlyMap<string, KubeObject>,
  revision: string,
  context: ReconcilerContext,
): void {
  if (textIn(specObjectOf(set), 'updateStrategy', 'type') === 'OnDelete') return;
  const outdated = [...pods.values()].filter((pod) => pod.metadata.labels?.[revisionLabel] !== revision);
  const last = outdated.at(-1);
  if (last !== undefined && [...pods.values()].every((pod) => pod === last || isReady(pod))) deletePod(last, context);
}

function deletePod(pod: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(pod)) return;
  context.store.delete('', 'Pod', pod.metadata.namespace ?? '', pod.metadata.name ?? '', {
    propagationPolicy: 'Background',
  });
}

function statefulSetStatus(set: KubeObject, all: readonly KubeObject[], revision: string): JsonObject {
  const pods = all.filter((pod) => !isDeleting(pod));
  const updated = pods.filter((pod) => pod.metadata.labels?.[revisionLabel] === revision).length;
  const ready = pods.filter(isReady).length;
  const wanted = numberIn(specObjectOf(set), 1, 'replicas');
  const finished = updated === wanted && ready === wanted;
  const before = textIn(set as unknown as JsonObject, 'status', 'currentRevision');
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
export function reconcileDaemonSet(set: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(set)) return;
  const revision = hashJson(specObjectOf(set)['template']).slice(0, 10);
  const nodes = context.store.list('', 'Node').map((node) => node.metadata.name ?? '');
  const pods = ownedObjects(context.store, set, '', 'Pod').filter((pod) => !isDeleting(pod));
  const current = pods.filter((pod) => pod.metadata.labels?.[revisionLabel] === revision);
  for (const pod of pods) if (!current.includes(pod)) deletePod(pod, context);
  for (const node of nodes) {
    if (current.some((pod) => specObjectOf(pod)['nodeName'] === node)) continue;
    const name = `${set.metadata.name ?? ''}-${context.random.suffix(5)}`;
    current.push(createObject(context, podFrom(set, name, { [revisionLabel]: revision }, node)));
  }
  const ready = current.filter(isReady).length;
  context.setStatus(set, {
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
