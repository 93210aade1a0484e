import { at, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { milliQuantity } from '#diff';
import type { KubeObject } from '#model';

/** What the UI tells of a pod, in few fields: there are many pods. */
export interface PodFacts {
  readonly reason: string;
  readonly node: string;
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** It has ended, well or not, and does not need what it asked for any more. */
  readonly ended: boolean;
  /** Requests in thousandths of the unit, by resource. */
  readonly requests: Amounts;
}

/** Amounts in thousandths of the unit, by resource: cpu, memory, storage. */
export type Amounts = Readonly<Record<string, number>>;

/** As `kubectl get pods` counts and words it. Source: Argo CD controller/cache/info.go populatePodInfo. */
export function podFacts(pod: KubeObject): PodFacts {
  const spec = objectAt(pod, 'spec');
  const status = objectAt(pod, 'status');
  const phase = textAt(status, 'phase');
  const inits = initContainers(spec, status);
  const containers = inits.reason === undefined || isInitialized(status) ? regularContainers(status) : undefined;
  const outcome = containers?.reason ?? inits.reason ?? early(status);
  const running = outcome === 'Completed' && containers?.running === true ? 'Running' : outcome;
  return {
    reason: pod.metadata.deletionTimestamp === undefined ? running : leaving(running, phase, status),
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

/** Before any container has something to say. */
function early(status: JsonObject): string {
  const gated = listAt(status, 'conditions').some(
    (condition) => textAt(condition, 'type') === 'PodScheduled' && textAt(condition, 'reason') === 'SchedulingGated',
  );
  if (gated) return 'SchedulingGated';
  const reason = textAt(status, 'reason');
  return reason === '' ? textAt(status, 'phase') : reason;
}

function leaving(reason: string, phase: string, status: JsonObject): string {
  if (textAt(status, 'reason') === 'NodeLost') return 'Unknown';
  return hasEnded(phase) ? reason : 'Terminating';
}

function isInitialized(status: JsonObject): boolean {
  return listAt(status, 'conditions').some(
    (condition) => textAt(condition, 'type') === 'Initialized' && textAt(condition, 'status') === 'True',
  );
}

interface Inits {
  /** Undefined: all are through. */
  readonly reason: string | undefined;
  readonly ready: number;
  readonly sidecars: number;
  readonly restarts: number;
}

function initContainers(spec: JsonObject, status: JsonObject): Inits {
  const declared = listAt(spec, 'initContainers');
  const sidecars = new Set(declared.filter(isSidecar).map((container) => textAt(container, 'name')));
  const counts = { ready: 0, restarts: 0, sidecars: sidecars.size };
  for (const [i, container] of listAt(status, 'initContainerStatuses').entries()) {
    counts.restarts += numberAt(container, 'restartCount');
    const sidecar = sidecars.has(textAt(container, 'name'));
    if (sidecar && at(container, 'started') === true) {
      if (at(container, 'ready') === true) counts.ready += 1;
      continue;
    }
    const reason = initReason(objectAt(container, 'state'), `Init:${i}/${declared.length}`);
    if (reason !== undefined) return { ...counts, reason };
  }
  return { ...counts, reason: undefined };
}

/** Undefined: it has ended well. */
function initReason(state: JsonObject, otherwise: string): string | undefined {
  const ended = objectIn(state, 'terminated');
  if (ended !== undefined) return numberAt(ended, 'exitCode') === 0 ? undefined : `Init:${endOf(ended)}`;
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
    else if (ended !== undefined) found.reason = endOf(ended);
    else if (at(container, 'ready') === true && objectIn(state, 'running') !== undefined) {
      found.running = true;
      found.ready += 1;
    }
  }
  return found;
}

function endOf(ended: JsonObject): string {
  const reason = textAt(ended, 'reason');
  if (reason !== '') return reason;
  const signal = numberAt(ended, 'signal');
  return signal === 0 ? `ExitCode:${numberAt(ended, 'exitCode')}` : `Signal:${signal}`;
}

type Requests = Record<string, number>;

/**
 * What the scheduler reserves: containers with sidecars, or the init container that needs most, where that is more; what the pod as a whole asks for
 * wins; and its overhead. Source: k8s.io/component-helpers resource.PodRequests.
 */
function requestsOf(spec: JsonObject): Readonly<Requests> {
  const all: Requests = {};
  const sidecars: Requests = {};
  const most: Requests = {};
  const asked = (container: Json): Readonly<Requests> =>
    amounts(objectAt(objectAt(container, 'resources'), 'requests'));
  for (const container of listAt(spec, 'containers')) add(all, asked(container));
  for (const container of listAt(spec, 'initContainers')) {
    const own: Requests = { ...asked(container) };
    if (isSidecar(container)) {
      add(all, own);
      add(sidecars, own);
      raise(most, sidecars);
    } else {
      add(own, sidecars);
      raise(most, own);
    }
  }
  raise(all, most);
  Object.assign(all, asked(spec));
  add(all, amounts(objectAt(spec, 'overhead')));
  return all;
}

function isSidecar(container: Json): boolean {
  return textAt(container, 'restartPolicy') === 'Always';
}

/** Of the resources that the UI shows. */
export function amounts(list: JsonObject): Requests {
  const found: Requests = {};
  for (const name of ['cpu', 'memory', 'storage']) {
    const value = at(list, name);
    const milli = typeof value === 'string' || typeof value === 'number' ? milliQuantity(value) : undefined;
    if (milli !== undefined && milli !== 0) found[name] = milli;
  }
  return found;
}

/** Adds amounts to a sum, in place. */
export function add(to: Requests, more: Readonly<Requests>): void {
  for (const [name, value] of Object.entries(more)) to[name] = (to[name] ?? 0) + value;
}

function raise(to: Requests, least: Readonly<Requests>): void {
  for (const [name, value] of Object.entries(least)) to[name] = Math.max(to[name] ?? 0, value);
}

// What an object holds may be anything: whatever is not of the wished type is as if it were not there.

export function objectIn(value: Json | KubeObject | undefined, name: string): JsonObject | undefined {
  const found = at(value as Json | undefined, name);
  return isObject(found) ? found : undefined;
}

export function objectAt(value: Json | KubeObject | undefined, name: string): JsonObject {
  return objectIn(value, name) ?? {};
}

export function listAt(value: Json | undefined, name: string): readonly Json[] {
  const found = at(value, name);
  return Array.isArray(found) ? (found as readonly Json[]) : [];
}

export function textAt(value: Json | undefined, name: string): string {
  const found = at(value, name);
  return typeof found === 'string' ? found : '';
}

function numberAt(value: Json | undefined, name: string): number {
  const found = at(value, name);
  return typeof found === 'number' ? found : 0;
}
