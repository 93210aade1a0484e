import { valueAt, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { milliQuantity } from '#diff';
import type { KubeObject } from '#model';

/** The fields of a Pod that the UI shows, in compact form: there are many Pods. */
export interface PodFacts {
  readonly reason: string;
  readonly node: string;
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** Succeeded or failed, so it no longer reserves its requests. */
  readonly ended: boolean;
  readonly requests: ResourceAmounts;
}

/** Amounts in milli-units, by resource: cpu, memory, storage. */
export type ResourceAmounts = Readonly<Record<string, number>>;

/**
 * Counts and reasons as in `kubectl get pods`. Like Argo CD's populatePodInfo in
 * controller/cache/info.go.
 */
export function podFacts(pod: KubeObject): PodFacts {
  const spec = objectAt(pod, 'spec');
  const status = objectAt(pod, 'status');
  const phase = textAt(status, 'phase');
  const inits = initContainers(spec, status);
  const containers = inits.reason === undefined || isInitialized(status) ? regularContainers(status) : undefined;
  const outcome = containers?.reason ?? inits.reason ?? reasonBeforeStart(status);
  const running = outcome === 'Completed' && containers?.running === true ? 'Running' : outcome;
  return {
    reason: pod.metadata.deletionTimestamp === undefined ? running : reasonWhileDeleting(running, phase, status),
    node: textAt(spec, 'nodeName'),
    ready: inits.ready + (containers?.ready ?? 0),
    total: listAt(spec, 'containers').length + inits.sidecars,
    restarts: inits.restarts + (containers?.restarts ?? 0),
    ended: hasEnded(phase),
    requests: requestsOf(spec),
  };
}

function hasEnded(phase: string): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** The reason before any container has a status. */
function reasonBeforeStart(status: JsonObject): string {
  const gated = listAt(status, 'conditions').some(
    (condition) => textAt(condition, 'type') === 'PodScheduled' && textAt(condition, 'reason') === 'SchedulingGated',
  );
  if (gated) return 'SchedulingGated';
  const reason = textAt(status, 'reason');
  return reason === '' ? textAt(status, 'phase') : reason;
}

function reasonWhileDeleting(reason: string, phase: string, status: JsonObject): string {
  if (textAt(status, 'reason') === 'NodeLost') return 'Unknown';
  return hasEnded(phase) ? reason : 'Terminating';
}

function isInitialized(status: JsonObject): boolean {
  return listAt(status, 'conditions').some(
    (condition) => textAt(condition, 'type') === 'Initialized' && textAt(condition, 'status') === 'True',
  );
}

interface InitContainerSummary {
  /** Undefined if all init containers have completed. */
  readonly reason: string | undefined;
  readonly ready: number;
  readonly sidecars: number;
  readonly restarts: number;
}

function initContainers(spec: JsonObject, status: JsonObject): InitContainerSummary {
  const declared = listAt(spec, 'initContainers');
  const sidecars = new Set(declared.filter(isSidecar).map((container) => textAt(container, 'name')));
  const counts = { ready: 0, restarts: 0, sidecars: sidecars.size };
  for (const [i, container] of listAt(status, 'initContainerStatuses').entries()) {
    counts.restarts += numberAt(container, 'restartCount');
    const sidecar = sidecars.has(textAt(container, 'name'));
    if (sidecar && valueAt(container, 'started') === true) {
      if (valueAt(container, 'ready') === true) counts.ready += 1;
      continue;
    }
    const reason = initContainerReason(objectAt(container, 'state'), `Init:${i}/${declared.length}`);
    if (reason !== undefined) return { ...counts, reason };
  }
  return { ...counts, reason: undefined };
}

/** Undefined if it has succeeded. */
function initContainerReason(state: JsonObject, otherwise: string): string | undefined {
  const ended = objectIn(state, 'terminated');
  if (ended !== undefined) return numberAt(ended, 'exitCode') === 0 ? undefined : `Init:${terminationReason(ended)}`;
  const waiting = textAt(objectAt(state, 'waiting'), 'reason');
  return waiting === '' || waiting === 'PodInitializing' ? otherwise : `Init:${waiting}`;
}

function regularContainers(status: JsonObject): {
  readonly reason: string | undefined;
  readonly running: boolean;
  readonly ready: number;
  readonly restarts: number;
} {
  const found = { reason: undefined as string | undefined, running: false, ready: 0, restarts: 0 };
  for (const container of listAt(status, 'containerStatuses').toReversed()) {
    found.restarts += numberAt(container, 'restartCount');
    const state = objectAt(container, 'state');
    const waiting = textAt(objectAt(state, 'waiting'), 'reason');
    const ended = objectIn(state, 'terminated');
    if (waiting !== '') found.reason = waiting;
    else if (ended !== undefined) found.reason = terminationReason(ended);
    else if (valueAt(container, 'ready') === true && objectIn(state, 'running') !== undefined) {
      found.running = true;
      found.ready += 1;
    }
  }
  return found;
}

function terminationReason(ended: JsonObject): string {
  const reason = textAt(ended, 'reason');
  if (reason !== '') return reason;
  const signal = numberAt(ended, 'signal');
  return signal === 0 ? `ExitCode:${numberAt(ended, 'exitCode')}` : `Signal:${signal}`;
}

type MutableAmounts = Record<string, number>;

/**
 * Requests as the scheduler reserves them: containers plus sidecars, or the largest init container
 * if that is more; pod-level requests take precedence; plus overhead. Like resource.PodRequests of
 * k8s.io/component-helpers.
 */
function requestsOf(spec: JsonObject): Readonly<MutableAmounts> {
  const all: MutableAmounts = {};
  const sidecars: MutableAmounts = {};
  const most: MutableAmounts = {};
  const asked = (container: Json): Readonly<MutableAmounts> =>
    resourceAmounts(objectAt(objectAt(container, 'resources'), 'requests'));
  for (const container of listAt(spec, 'containers')) addAmounts(all, asked(container));
  for (const container of listAt(spec, 'initContainers')) {
    const own: MutableAmounts = { ...asked(container) };
    if (isSidecar(container)) {
      addAmounts(all, own);
      addAmounts(sidecars, own);
      raiseAmounts(most, sidecars);
    } else {
      addAmounts(own, sidecars);
      raiseAmounts(most, own);
    }
  }
  raiseAmounts(all, most);
  Object.assign(all, asked(spec));
  addAmounts(all, resourceAmounts(objectAt(spec, 'overhead')));
  return all;
}

function isSidecar(container: Json): boolean {
  return textAt(container, 'restartPolicy') === 'Always';
}

/** Only resources that the UI shows. */
export function resourceAmounts(list: JsonObject): MutableAmounts {
  const found: MutableAmounts = {};
  for (const name of ['cpu', 'memory', 'storage']) {
    const value = valueAt(list, name);
    const milli = typeof value === 'string' || typeof value === 'number' ? milliQuantity(value) : undefined;
    if (milli !== undefined && milli !== 0) found[name] = milli;
  }
  return found;
}

/** Adds amounts to a sum, in place. */
export function addAmounts(to: MutableAmounts, more: Readonly<MutableAmounts>): void {
  for (const [name, value] of Object.entries(more)) to[name] = (to[name] ?? 0) + value;
}

function raiseAmounts(to: MutableAmounts, least: Readonly<MutableAmounts>): void {
  for (const [name, value] of Object.entries(least)) to[name] = Math.max(to[name] ?? 0, value);
}

// Objects may be malformed: fields of an unexpected type are treated as missing.

export function objectIn(value: Json | KubeObject | undefined, name: string): JsonObject | undefined {
  const found = valueAt(value as Json | undefined, name);
  return isObject(found) ? found : undefined;
}

export function objectAt(value: Json | KubeObject | undefined, name: string): JsonObject {
  return objectIn(value, name) ?? {};
}

export function listAt(value: Json | undefined, name: string): readonly Json[] {
  const found = valueAt(value, name);
  return Array.isArray(found) ? (found as readonly Json[]) : [];
}

export function textAt(value: Json | undefined, name: string): string {
  const found = valueAt(value, name);
  return typeof found === 'string' ? found : '';
}

function numberAt(value: Json | undefined, name: string): number {
  const found = valueAt(value, name);
  return typeof found === 'number' ? found : 0;
}
