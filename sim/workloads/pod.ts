import type { JsonObject } from '#base';
import { hashText } from '#base';
import { annotationOf } from '#model';
import type { KubeObject } from '#model';
import type { ReconcilerContext } from './engine.ts';
import {
  conditionFor,
  isDeleting,
  isFinished,
  isReady,
  objectListIn,
  specObjectOf,
  statusObjectOf,
  textIn,
} from './parts.ts';

/**
 * Annotation of a pod (or pod template) that makes it fail: `CrashLoopBackOff`, `ImagePullBackOff`,
 * `Pending` (never scheduled) or `Failed`. An image with the tag `does-not-exist` is never pulled,
 * even without the annotation.
 */
export const failAnnotation = 'sim.driftless.io/fail';

/** Annotation of a pod (or pod template) with its own delay in ms, for a slow rollout. */
export const delayAnnotation = 'sim.driftless.io/delay-ms';

/** Pods start after one delay; those of a Job finish after a second one. */
export function reconcilePod(pod: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(pod) || isFinished(pod)) return;
  const failure = failureOf(pod);
  if (failure === 'Pending') return;
  const age = context.knownFor(pod);
  const delayMs = Number(annotationOf(pod, delayAnnotation) ?? context.delayMs);
  const started = statusObjectOf(pod)['podIP'] !== undefined;
  const ofJob = pod.metadata.ownerReferences?.some((owner) => owner.kind === 'Job') === true;
  if (age < delayMs) {
    if (statusObjectOf(pod)['startTime'] === undefined) context.setStatus(pod, pendingStatus(pod, context.now()));
    context.again(pod, delayMs - age);
  } else if (!started) {
    context.setStatus(pod, firstStatus(pod, failure, context.now()));
    if (ofJob) context.again(pod, delayMs);
  } else if (ofJob && isReady(pod)) {
    if (age >= 2 * delayMs) context.setStatus(pod, endedStatus(pod, 'Succeeded', context.now()));
    else context.again(pod, 2 * delayMs - age);
  }
}

function firstStatus(pod: KubeObject, failure: string | undefined, now: string): JsonObject {
  if (failure === undefined) return runningStatus(pod, now);
  return failure === 'Failed' ? endedStatus(pod, 'Failed', now) : waitingStatus(pod, failure, now);
}

function failureOf(pod: KubeObject): string | undefined {
  const requested = annotationOf(pod, failAnnotation);
  if (requested !== undefined && requested !== '') return requested;
  const images = containersOf(pod).map((container) => textIn(container, 'image'));
  return images.some((image) => image.endsWith(':does-not-exist')) ? 'ImagePullBackOff' : undefined;
}

function containersOf(pod: KubeObject): readonly JsonObject[] {
  return objectListIn(specObjectOf(pod), 'containers');
}

function pendingStatus(pod: KubeObject, now: string): JsonObject {
  return {
    ...statusObjectOf(pod),
    phase: 'Pending',
    startTime: now,
    conditions: [podCondition(pod, 'PodScheduled', true, now)],
  };
}

function runningStatus(pod: KubeObject, now: string): JsonObject {
  return {
    ...statusObjectOf(pod),
    phase: 'Running',
    hostIP: '192.0.2.1',
    podIP: addressOf(pod),
    podIPs: [{ ip: addressOf(pod) }],
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) =>
      podCondition(pod, type, true, now),
    ),
    containerStatuses: containersOf(pod).map((container) =>
      containerStatus(container, { running: { startedAt: now } }, true),
    ),
  };
}

function waitingStatus(pod: KubeObject, reason: string, now: string): JsonObject {
  const message = reason === 'CrashLoopBackOff' ? 'back-off 10s restarting failed container' : 'Back-off pulling image';
  const restarts = reason === 'CrashLoopBackOff' ? 1 : 0;
  return {
    ...statusObjectOf(pod),
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
    containerStatuses: containersOf(pod).map((container) => ({
      ...containerStatus(container, { waiting: { reason, message } }, false),
      restartCount: restarts,
    })),
  };
}

function endedStatus(pod: KubeObject, phase: 'Succeeded' | 'Failed', now: string): JsonObject {
  const exitCode = phase === 'Succeeded' ? 0 : 1;
  const reason = phase === 'Succeeded' ? 'Completed' : 'Error';
  const terminated = { exitCode, reason, startedAt: statusObjectOf(pod)['startTime'] ?? now, finishedAt: now };
  return {
    ...statusObjectOf(pod),
    phase,
    conditions: [
      podCondition(pod, 'Initialized', true, now),
      { ...podCondition(pod, 'Ready', false, now), reason: phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed' },
      podCondition(pod, 'PodScheduled', true, now),
    ],
    containerStatuses: containersOf(pod).map((container) => containerStatus(container, { terminated }, false)),
  };
}

function podCondition(pod: KubeObject, type: string, ok: boolean, now: string): JsonObject {
  const { reason, message, ...rest } = conditionFor(
    pod,
    { type, status: ok ? 'True' : 'False', reason: '', message: '' },
    now,
  );
  const because =
    ok || type === 'PodScheduled' ? {} : { reason: 'ContainersNotReady', message: 'containers with unready status' };
  return { ...rest, ...(reason === '' ? {} : { reason }), ...(message === '' ? {} : { message }), ...because };
}

function containerStatus(container: JsonObject, state: JsonObject, ready: boolean): JsonObject {
  const image = textIn(container, 'image');
  return {
    name: textIn(container, 'name'),
    image,
    imageID: `sim://${hashText(image)}`,
    ready,
    restartCount: 0,
    started: ready,
    state,
    lastState: {},
  };
}

/** An address derived from the pod's UID: almost unique, and stable. */
function addressOf(pod: KubeObject): string {
  const hash = hashText(pod.metadata.uid ?? '');
  return `10.${Number.parseInt(hash.slice(0, 2), 16)}.${Number.parseInt(hash.slice(2, 4), 16)}.${Number.parseInt(hash.slice(4, 6), 16)}`;
}
