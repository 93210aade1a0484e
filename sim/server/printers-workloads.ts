import { at, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { ageOf, humanDuration } from './duration-text.ts';
import { count, field, items, str, text } from './fields.ts';
import { conditionStatus, containerCells, selectorCell, textCell } from './printer.ts';
import type { Printer } from './printer.ts';

const template = ['spec', 'template', 'spec'] as const;

function selected(object: KubeObject): string {
  return selectorCell(field(object, 'spec', 'selector'));
}

/** Workload kinds: pods and everything that makes them. */
export const workloadPrinters: Readonly<Record<string, Printer>> = {
  '/Pod': {
    columns: 'Name | Ready | Status | Restarts | Age | IP* | Node* | Nominated Node* | Readiness Gates*',
    cells: podCells,
    conditions: podConditions,
  },
  '/ReplicationController': {
    columns: 'Name | Desired:integer | Current:integer | Ready:integer | Age | Containers* | Images* | Selector*',
    cells: replicaCells,
  },
  'apps/ReplicaSet': {
    columns: 'Name | Desired:integer | Current:integer | Ready:integer | Age | Containers* | Images* | Selector*',
    cells: replicaCells,
  },
  'apps/Deployment': {
    columns: 'Name | Ready | Up-to-date | Available | Age | Containers* | Images* | Selector*',
    cells: (object) => [
      `${count(object, ['status', 'readyReplicas'])}/${count(object, ['spec', 'replicas'], 1)}`,
      count(object, ['status', 'updatedReplicas']),
      count(object, ['status', 'availableReplicas']),
      ...containerCells(object, ...template),
      selected(object),
    ],
  },
  'apps/StatefulSet': {
    columns: 'Name | Ready | Age | Containers* | Images*',
    cells: (object) => [
      `${count(object, ['status', 'readyReplicas'])}/${count(object, ['spec', 'replicas'], 1)}`,
      ...containerCells(object, ...template),
    ],
  },
  'apps/DaemonSet': {
    columns:
      'Name | Desired:integer | Current:integer | Ready:integer | Up-to-date:integer | Available:integer | Node Selector | Age | ' +
      'Containers* | Images* | Selector*',
    cells: (object) => [
      count(object, ['status', 'desiredNumberScheduled']),
      count(object, ['status', 'currentNumberScheduled']),
      count(object, ['status', 'numberReady']),
      count(object, ['status', 'updatedNumberScheduled']),
      count(object, ['status', 'numberAvailable']),
      selectorCell(field(object, ...template, 'nodeSelector')),
      ...containerCells(object, ...template),
      selected(object),
    ],
  },
  'apps/ControllerRevision': {
    columns: 'Name | Controller | Revision | Age',
    cells: (object) => [controllerName(object), count(object, ['revision'])],
  },
  'batch/Job': {
    columns: 'Name | Status | Completions | Duration | Age | Containers* | Images* | Selector*',
    cells: jobCells,
  },
  'batch/CronJob': {
    columns:
      'Name | Schedule | Timezone | Suspend:boolean | Active:integer | Last Schedule | Age | Containers* | Images* | Selector*',
    cells: (object, now) => [
      text(object, 'spec', 'schedule'),
      textCell(object, ['spec', 'timeZone']),
      textCell(object, ['spec', 'suspend'], 'False').replace(/^t/, 'T').replace(/^f/, 'F'),
      items(object, 'status', 'active').length,
      field(object, 'status', 'lastScheduleTime') === undefined
        ? '<none>'
        : ageOf(field(object, 'status', 'lastScheduleTime'), now),
      ...containerCells(object, 'spec', 'jobTemplate', ...template),
      selectorCell(field(object, 'spec', 'jobTemplate', 'spec', 'selector')),
    ],
  },
};

function replicaCells(object: KubeObject): readonly Json[] {
  return [
    count(object, ['spec', 'replicas'], 1),
    count(object, ['status', 'replicas']),
    count(object, ['status', 'readyReplicas']),
    ...containerCells(object, ...template),
    selected(object),
  ];
}

function controllerName(object: KubeObject): string {
  const owner = (object.metadata.ownerReferences ?? []).find((one) => one.controller === true);
  if (owner === undefined) return '<none>';
  const group = owner.apiVersion.includes('/') ? `.${owner.apiVersion.split('/')[0] ?? ''}` : '';
  return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
}

function jobCells(object: KubeObject, now: number): readonly Json[] {
  const succeeded = count(object, ['status', 'succeeded']);
  const completions = field(object, 'spec', 'completions');
  const parallelism = count(object, ['spec', 'parallelism']);
  const of = typeof completions === 'number' ? String(completions) : parallelism > 1 ? `1 of ${parallelism}` : '1';
  const started = Date.parse(text(object, 'status', 'startTime'));
  const ended = Date.parse(text(object, 'status', 'completionTime'));
  const duration = Number.isNaN(started) ? '' : humanDuration((Number.isNaN(ended) ? now : ended) - started);
  return [jobStatus(object), `${succeeded}/${of}`, duration, ...containerCells(object, ...template), selected(object)];
}

function jobStatus(object: KubeObject): string {
  const is = (type: string): boolean => conditionStatus(object, type) === 'True';
  if (is('Complete')) return 'Complete';
  if (is('Failed')) return 'Failed';
  if (object.metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (is('Suspended')) return 'Suspended';
  if (is('FailureTarget')) return 'FailureTarget';
  return is('SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running';
}

function podCells(pod: KubeObject): readonly Json[] {
  const containers = items(pod, 'spec', 'containers').length;
  const statuses = items(pod, 'status', 'containerStatuses');
  const ready = statuses.filter((one) => one['ready'] === true).length;
  const restarts = statuses.reduce((sum, one) => sum + Number(one['restartCount'] ?? 0), 0);
  const gates = items(pod, 'spec', 'readinessGates');
  const open = gates.filter((gate) => conditionStatus(pod, str(gate['conditionType'])) === 'True').length;
  return [
    `${ready}/${containers}`,
    podReason(pod),
    String(restarts),
    textCell(pod, ['status', 'podIP']),
    textCell(pod, ['spec', 'nodeName']),
    textCell(pod, ['status', 'nominatedNodeName']),
    gates.length === 0 ? '<none>' : `${open}/${gates.length}`,
  ];
}

/** The one word for a pod's state: what the first container that is not fine says, else the phase. */
function podReason(pod: KubeObject): string {
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating';
  let reason = text(pod, 'status', 'reason') || text(pod, 'status', 'phase');
  const initial = initReason(pod);
  if (initial !== undefined) return initial;
  for (const status of items(pod, 'status', 'containerStatuses').toReversed()) {
    const waiting = str(at(status, 'state', 'waiting', 'reason'));
    const terminated = at(status, 'state', 'terminated');
    if (waiting !== '') reason = waiting;
    else if (isObject(terminated)) reason = terminatedReason(terminated);
  }
  const running = items(pod, 'status', 'containerStatuses').some((one) => one['ready'] === true);
  if (reason === 'Completed' && running) return conditionStatus(pod, 'Ready') === 'True' ? 'Running' : 'NotReady';
  return reason;
}

function terminatedReason(terminated: JsonObject): string {
  const reason = str(terminated['reason']);
  if (reason !== '') return reason;
  const signal = Number(terminated['signal'] ?? 0);
  return signal === 0 ? `ExitCode:${Number(terminated['exitCode'] ?? 0)}` : `Signal:${signal}`;
}

function initReason(pod: KubeObject): string | undefined {
  const total = items(pod, 'spec', 'initContainers').length;
  const statuses = items(pod, 'status', 'initContainerStatuses');
  for (const [index, status] of statuses.entries()) {
    const terminated = at(status, 'state', 'terminated');
    if (isObject(terminated) && Number(terminated['exitCode'] ?? 0) === 0) continue;
    if (isObject(terminated)) return `Init:${terminatedReason(terminated)}`;
    const waiting = str(at(status, 'state', 'waiting', 'reason'));
    return waiting !== '' && waiting !== 'PodInitializing' ? `Init:${waiting}` : `Init:${index}/${total}`;
  }
  return undefined;
}

/** kubectl hides ended pods in some lists by these. */
function podConditions(pod: KubeObject): readonly Json[] | undefined {
  const phase = text(pod, 'status', 'phase');
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined;
  const reason = phase === 'Succeeded' ? 'Succeeded' : 'Failed';
  const message = phase === 'Succeeded' ? 'The pod has completed successfully.' : 'The pod failed.';
  return [{ type: 'Completed', status: 'True', reason, message }];
}
