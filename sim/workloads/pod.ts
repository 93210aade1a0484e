import type { JsonObject } from '#base';
import { hashText } from '#base';
import { annotationOf } from '#model';
import type { KubeObject } from '#model';
import type { World } from './engine.ts';
import { condition, isDeleting, isFinished, isReady, listAt, specOf, statusOf, textAt } from './parts.ts';

/**
 * Annotation of a pod (or pod template) that makes it fail: `CrashLoopBackOff`, `ImagePullBackOff`, `Pending` (never scheduled) or `Failed`.
 * An image with the tag `does-not-exist` cannot be pulled, without any annotation.
 */
export const failAnnotation = 'sim.driftless.io/fail';

/** Pods start after one delay; those of a Job end after another. */
export function reconcilePod(pod: KubeObject, world: World): void {
  if (isDeleting(pod) || isFinished(pod)) return;
  const failure = failureOf(pod);
  if (failure === 'Pending') return;
  const age = world.knownFor(pod);
  const started = statusOf(pod)['podIP'] !== undefined;
  const ofJob = pod.metadata.ownerReferences?.some((owner) => owner.kind === 'Job') === true;
  if (age < world.delayMs) {
    if (statusOf(pod)['startTime'] === undefined) world.setStatus(pod, pendingStatus(pod, world.now()));
    world.again(pod, world.delayMs - age);
  } else if (!started) {
    world.setStatus(pod, firstStatus(pod, failure, world.now()));
    if (ofJob) world.again(pod, world.delayMs);
  } else if (ofJob && isReady(pod)) {
    if (age >= 2 * world.delayMs) world.setStatus(pod, endedStatus(pod, 'Succeeded', world.now()));
    else world.again(pod, 2 * world.delayMs - age);
  }
}

function firstStatus(pod: KubeObject, failure: string | undefined, now: string): JsonObject {
  if (failure === undefined) return runningStatus(pod, now);
  return failure === 'Failed' ? endedStatus(pod, 'Failed', now) : waitingStatus(pod, failure, now);
}

function failureOf(pod: KubeObject): string | undefined {
  const told = annotationOf(pod, failAnnotation);
  if (told !== undefined && told !== '') return told;
  const images = containers(pod).map((container) => textAt(container, 'image'));
  return images.some((image) => image.endsWith(':does-not-exist')) ? 'ImagePullBackOff' : undefined;
}

function containers(pod: KubeObject): readonly JsonObject[] {
  return listAt(specOf(pod), 'containers');
}

function pendingStatus(pod: KubeObject, now: string): JsonObject {
  return {
    ...statusOf(pod),
    phase: 'Pending',
    startTime: now,
    conditions: [podCondition(pod, 'PodScheduled', true, now)],
  };
}

function runningStatus(pod: KubeObject, now: string): JsonObject {
  return {
    ...statusOf(pod),
    phase: 'Running',
    hostIP: '192.0.2.1',
    podIP: addressOf(pod),
    podIPs: [{ ip: addressOf(pod) }],
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) =>
      podCondition(pod, type, true, now),
    ),
    containerStatuses: containers(pod).map((container) =>
      containerStatus(container, { running: { startedAt: now } }, true),
    ),
  };
}

function waitingStatus(pod: KubeObject, reason: string, now: string): JsonObject {
  const message = reason === 'CrashLoopBackOff' ? 'back-off 10s restarting failed container' : 'Back-off pulling image';
  const restarts = reason === 'CrashLoopBackOff' ? 1 : 0;
  return {
    ...statusOf(pod),
    phase: reason === 'CrashLoopBackOff' ? 'Running' : 'Pending',
    hostIP: '192.0.2.1',
    podIP: addressOf(pod),
    podIPs: [{ ip: addressOf(pod) }],
    conditions: [
      podCondition(pod, 'Initialized', true, now),
      podCondition(pod, 'Ready', false, now),
      podCondition(pod, 'ContainersReady', false, now),
      podCondition(pod, 'PodScheduled', true, now),
    ],
    containerStatuses: containers(pod).map((container) => ({
      ...containerStatus(container, { waiting: { reason, message } }, false),
      restartCount: restarts,
    })),
  };
}

function endedStatus(pod: KubeObject, phase: 'Succeeded' | 'Failed', now: string): JsonObject {
  const exitCode = phase === 'Succeeded' ? 0 : 1;
  const reason = phase === 'Succeeded' ? 'Completed' : 'Error';
  const terminated = { exitCode, reason, startedAt: statusOf(pod)['startTime'] ?? now, finishedAt: now };
  return {
    ...statusOf(pod),
    phase,
    conditions: [
      podCondition(pod, 'Initialized', true, now),
      { ...podCondition(pod, 'Ready', false, now), reason: phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed' },
      podCondition(pod, 'PodScheduled', true, now),
    ],
    containerStatuses: containers(pod).map((container) => containerStatus(container, { terminated }, false)),
  };
}

function podCondition(pod: KubeObject, type: string, ok: boolean, now: string): JsonObject {
  const { reason, message, ...rest } = condition(
    pod,
    { type, status: ok ? 'True' : 'False', reason: '', message: '' },
    now,
  );
  const because =
    ok || type === 'PodScheduled' ? {} : { reason: 'ContainersNotReady', message: 'containers with unready status' };
  return { ...rest, ...(reason === '' ? {} : { reason }), ...(message === '' ? {} : { message }), ...because };
}

function containerStatus(container: JsonObject, state: JsonObject, ready: boolean): JsonObject {
  const image = textAt(container, 'image');
  return {
    name: textAt(container, 'name'),
    image,
    imageID: `sim://${hashText(image)}`,
    ready,
    restartCount: 0,
    started: ready,
    state,
    lastState: {},
  };
}

/** An address that is the pod's own as far as chance allows, the same at every look. */
function addressOf(pod: KubeObject): string {
  const hash = hashText(pod.metadata.uid ?? '');
  return `10.${Number.parseInt(hash.slice(0, 2), 16)}.${Number.parseInt(hash.slice(2, 4), 16)}.${Number.parseInt(hash.slice(4, 6), 16)}`;
}
