import { valueAt, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { ageOf, humanDuration } from './duration-text.ts';
import { numberAt, fieldAt, itemsAt, stringOrEmpty, stringAt } from '../fields.ts';
import { conditionStatus, containerCells, selectorCell, textCell } from './printer.ts';
import type { KindPrinter } from './printer.ts';

const templatePath = ['spec', 'template', 'spec'] as const;

function selectorOf(object: KubeObject): string {
  return selectorCell(fieldAt(object, 'spec', 'selector'));
}

/** Workload kinds: pods and their controllers. */
export const workloadPrinters: Readonly<Record<string, KindPrinter>> = {
  '/Pod': {
    columns: 'Name | Ready | Status | Restarts | Age | IP* | Node* | Nominated Node* | Readiness Gates*',
    cells: podCells,
    conditions: podConditions,
  },
  'apps/ReplicaSet': {
    columns: 'Name | Desired:integer | Current:integer | Ready:integer | Age | Containers* | Images* | Selector*',
    cells: replicaCells,
  },
  'apps/Deployment': {
    columns: 'Name | Ready | Up-to-date | Available | Age | Containers* | Images* | Selector*',
    cells: (object) => [
      `${numberAt(object, ['status', 'readyReplicas'])}/${numberAt(object, ['spec', 'replicas'], 1)}`,
      numberAt(object, ['status', 'updatedReplicas']),
      numberAt(object, ['status', 'availableReplicas']),
      ...containerCells(object, ...templatePath),
      selectorOf(object),
    ],
  },
  'apps/StatefulSet': {
    columns: 'Name | Ready | Age | Containers* | Images*',
    cells: (object) => [
      `${numberAt(object, ['status', 'readyReplicas'])}/${numberAt(object, ['spec', 'replicas'], 1)}`,
      ...containerCells(object, ...templatePath),
    ],
  },
  'apps/DaemonSet': {
    columns:
      'Name | Desired:integer | Current:integer | Ready:integer | Up-to-date:integer | Available:integer | Node Selector | Age | ' +
      'Containers* | Images* | Selector*',
    cells: (object) => [
      numberAt(object, ['status', 'desiredNumberScheduled']),
      numberAt(object, ['status', 'currentNumberScheduled']),
      numberAt(object, ['status', 'numberReady']),
      numberAt(object, ['status', 'updatedNumberScheduled']),
      numberAt(object, ['status', 'numberAvailable']),
      selectorCell(fieldAt(object, ...templatePath, 'nodeSelector')),
      ...containerCells(object, ...templatePath),
      selectorOf(object),
    ],
  },
  'batch/Job': {
    columns: 'Name | Status | Completions | Duration | Age | Containers* | Images* | Selector*',
    cells: jobCells,
  },
  'batch/CronJob': {
    columns:
      'Name | Schedule | Timezone | Suspend:boolean | Active:integer | Last Schedule | Age | Containers* | Images* | Selector*',
    cells: (object, now) => [
      stringAt(object, 'spec', 'schedule'),
      textCell(object, ['spec', 'timeZone']),
      textCell(object, ['spec', 'suspend'], 'False').replace(/^t/, 'T').replace(/^f/, 'F'),
      itemsAt(object, 'status', 'active').length,
      fieldAt(object, 'status', 'lastScheduleTime') === undefined
        ? '<none>'
        : ageOf(fieldAt(object, 'status', 'lastScheduleTime'), now),
      ...containerCells(object, 'spec', 'jobTemplate', ...templatePath),
      selectorCell(fieldAt(object, 'spec', 'jobTemplate', 'spec', 'selector')),
    ],
  },
};

function replicaCells(object: KubeObject): readonly Json[] {
  return [
    numberAt(object, ['spec', 'replicas'], 1),
    numberAt(object, ['status', 'replicas']),
    numberAt(object, ['status', 'readyReplicas']),
    ...containerCells(object, ...templatePath),
    selectorOf(object),
  ];
}

function jobCells(object: KubeObject, now: number): readonly Json[] {
  const succeeded = numberAt(object, ['status', 'succeeded']);
  const completions = fieldAt(object, 'spec', 'completions');
  const parallelism = numberAt(object, ['spec', 'parallelism']);
  const of = typeof completions === 'number' ? String(completions) : parallelism > 1 ? `1 of ${parallelism}` : '1';
  const started = Date.parse(stringAt(object, 'status', 'startTime'));
  const ended = Date.parse(stringAt(object, 'status', 'completionTime'));
  const duration = Number.isNaN(started) ? '' : humanDuration((Number.isNaN(ended) ? now : ended) - started);
  return [
    jobStatus(object),
    `${succeeded}/${of}`,
    duration,
    ...containerCells(object, ...templatePath),
    selectorOf(object),
  ];
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
  const containers = itemsAt(pod, 'spec', 'containers').length;
  const statuses = itemsAt(pod, 'status', 'containerStatuses');
  const ready = statuses.filter((one) => one['ready'] === true).length;
  const restarts = statuses.reduce((sum, one) => sum + Number(one['restartCount'] ?? 0), 0);
  const gates = itemsAt(pod, 'spec', 'readinessGates');
  const open = gates.filter((gate) => conditionStatus(pod, stringOrEmpty(gate['conditionType'])) === 'True').length;
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

/** The pod's state in one word: the reason of the first unhealthy container, else the phase. */
function podReason(pod: KubeObject): string {
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating';
  let reason = stringAt(pod, 'status', 'reason') || stringAt(pod, 'status', 'phase');
  const initial = initReason(pod);
  if (initial !== undefined) return initial;
  for (const status of itemsAt(pod, 'status', 'containerStatuses').toReversed()) {
    const waiting = stringOrEmpty(valueAt(status, 'state', 'waiting', 'reason'));
    const terminated = valueAt(status, 'state', 'terminated');
    if (waiting !== '') reason = waiting;
    else if (isObject(terminated)) reason = terminatedReason(terminated);
  }
  const running = itemsAt(pod, 'status', 'containerStatuses').some((one) => one['ready'] === true);
  if (reason === 'Completed' && running) return conditionStatus(pod, 'Ready') === 'True' ? 'Running' : 'NotReady';
  return reason;
}

function terminatedReason(terminated: JsonObject): string {
  const reason = stringOrEmpty(terminated['reason']);
  if (reason !== '') return reason;
  const signal = Number(terminated['signal'] ?? 0);
  return signal === 0 ? `ExitCode:${Number(terminated['exitCode'] ?? 0)}` : `Signal:${signal}`;
}

function initReason(pod: KubeObject): string | undefined {
  const total = itemsAt(pod, 'spec', 'initContainers').length;
  const statuses = itemsAt(pod, 'status', 'initContainerStatuses');
  for (const [index, status] of statuses.entries()) {
    const terminated = valueAt(status, 'state', 'terminated');
    if (isObject(terminated) && Number(terminated['exitCode'] ?? 0) === 0) continue;
    if (isObject(terminated)) return `Init:${terminatedReason(terminated)}`;
    const waiting = stringOrEmpty(valueAt(status, 'state', 'waiting', 'reason'));
    return waiting !== '' && waiting !== 'PodInitializing' ? `Init:${waiting}` : `Init:${index}/${total}`;
  }
  return undefined;
}

/** kubectl uses these to hide terminated pods in some lists. */
function podConditions(pod: KubeObject): readonly Json[] | undefined {
  const phase = stringAt(pod, 'status', 'phase');
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined;
  const reason = phase === 'Succeeded' ? 'Succeeded' : 'Failed';
  const message = phase === 'Succeeded' ? 'The pod has completed successfully.' : 'The pod failed.';
  return [{ type: 'Completed', status: 'True', reason, message }];
}
