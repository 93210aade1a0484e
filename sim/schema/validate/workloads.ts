import { deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import { isEmptySelector, nonNegative, selects, validateSelector } from './names.ts';
import { validatePodTemplate } from './pod.ts';
import { get, num, obj, pairs, str } from './read.ts';
import type { Report } from './report.ts';

/** Rules of apps/v1 and batch/v1 and of autoscalers (pkg/apis/apps/validation and its sisters). */

export function deployment(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  nonNegative(report, num(spec, 'replicas'), 'spec.replicas');
  templateWithSelector(report, spec, 'deployment');
  strategy(report, obj(spec, 'strategy') ?? {});
  nonNegative(report, num(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  nonNegative(report, num(spec, 'revisionHistoryLimit'), 'spec.revisionHistoryLimit');
  const deadline = num(spec, 'progressDeadlineSeconds');
  nonNegative(report, deadline, 'spec.progressDeadlineSeconds');
  if (deadline !== undefined && deadline <= (num(spec, 'minReadySeconds') ?? 0))
    report.invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds');
  immutable(report, { object: spec, old: obj(old, 'spec'), keys: ['selector'], path: 'spec' });
  if (old !== undefined) deploymentStatus(report, obj(object, 'status'));
}

/** The counts of a Deployment's status: none below zero, no part above the whole (ValidateDeploymentStatus). */
function deploymentStatus(report: Report, status: JsonObject | undefined): void {
  if (status === undefined) return;
  const count = (key: string): number => num(status, key) ?? 0;
  for (const key of [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
  ])
    nonNegative(report, num(status, key), `status.${key}`);
  const above = (key: string, whole: string): void => {
    if (count(key) > count(whole))
      report.invalid(
        `status.${key}`,
        count(key),
        `cannot be greater than ${whole === 'replicas' ? 'status.' : ''}${whole}`,
      );
  };
  for (const key of ['updatedReplicas', 'readyReplicas', 'availableReplicas']) above(key, 'replicas');
  above('availableReplicas', 'readyReplicas');
}

export function replicaSet(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  nonNegative(report, num(spec, 'replicas'), 'spec.replicas');
  nonNegative(report, num(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  templateWithSelector(report, spec, 'deployment');
  immutable(report, { object: spec, old: obj(old, 'spec'), keys: ['selector'], path: 'spec' });
}

export function daemonSet(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  templateWithSelector(report, spec, 'daemonset');
  nonNegative(report, num(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  nonNegative(report, num(spec, 'revisionHistoryLimit'), 'spec.revisionHistoryLimit');
  immutable(report, { object: spec, old: obj(old, 'spec'), keys: ['selector'], path: 'spec' });
}

const changeableOfStatefulSet = new Set([
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]);

export function statefulSet(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  nonNegative(report, num(spec, 'replicas'), 'spec.replicas');
  nonNegative(report, num(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  templateWithSelector(report, spec, 'statefulset');
  const before = obj(old, 'spec');
  if (before === undefined) return;
  const keys = new Set([...Object.keys(spec), ...Object.keys(before)]);
  const changed = [...keys].some((key) => !changeableOfStatefulSet.has(key) && !deepEqual(spec[key], before[key]));
  if (changed)
    report.forbidden(
      'spec',
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
        "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    );
}

/** Selector, template and their agreement. `kind` as the server's text has it. */
function templateWithSelector(report: Report, spec: JsonObject, kind: string): void {
  const selector = obj(spec, 'selector');
  if (selector === undefined) report.required('spec.selector');
  else {
    validateSelector(report, selector, 'spec.selector');
    if (isEmptySelector(selector)) report.invalid('spec.selector', selector, `empty selector is invalid for ${kind}`);
  }
  const template = obj(spec, 'template');
  const labels = obj(obj(template, 'metadata'), 'labels') ?? {};
  const matched = selector !== undefined && (isEmptySelector(selector) || selects(selector, labels));
  if (!matched && (selector !== undefined || kind === 'deployment'))
    report.invalid(
      'spec.template.metadata.labels',
      obj(obj(template, 'metadata'), 'labels') ?? null,
      '`selector` does not match template `labels`',
    );
  validatePodTemplate(report, template, 'spec.template');
  alwaysRestarts(report, template);
}

function alwaysRestarts(report: Report, template: JsonObject | undefined): void {
  const policy = str(obj(template, 'spec'), 'restartPolicy');
  if (policy !== '' && policy !== 'Always') report.notSupported('spec.template.spec.restartPolicy', policy, ['Always']);
  if (get(obj(template, 'spec'), 'activeDeadlineSeconds') !== undefined)
    report.forbidden(
      'spec.template.spec.activeDeadlineSeconds',
      'activeDeadlineSeconds in ReplicaSet is not Supported',
    );
}

function strategy(report: Report, value: JsonObject): void {
  const rolling = obj(value, 'rollingUpdate');
  if (str(value, 'type') === 'Recreate' && rolling !== undefined)
    report.forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'");
  if (str(value, 'type') !== 'RollingUpdate' || rolling === undefined) return;
  const path = 'spec.strategy.rollingUpdate';
  const unavailable = intOrPercent(report, get(rolling, 'maxUnavailable'), `${path}.maxUnavailable`);
  const surge = intOrPercent(report, get(rolling, 'maxSurge'), `${path}.maxSurge`);
  if (unavailable === 0 && surge === 0)
    report.invalid(`${path}.maxUnavailable`, get(rolling, 'maxUnavailable'), 'may not be 0 when `maxSurge` is 0');
}

/** The number, of a percentage too; undefined when it is neither. */
export function intOrPercent(report: Report, value: Json | undefined, path: string): number | undefined {
  if (typeof value === 'string') {
    if (/^[0-9]+%$/.test(value)) return Number(value.slice(0, -1));
    report.invalid(
      path,
      value,
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    );
    return undefined;
  }
  nonNegative(report, typeof value === 'number' ? value : undefined, path);
  return typeof value === 'number' ? value : undefined;
}

/** Reports members that an update changes and may not. */
export function immutable(
  report: Report,
  what: {
    readonly object: JsonObject;
    readonly old: JsonObject | undefined;
    readonly keys: readonly string[];
    readonly path: string;
  },
): void {
  const { object, old, keys, path } = what;
  if (old === undefined) return;
  for (const key of keys)
    if (!deepEqual(get(object, key), get(old, key)))
      report.invalid(path === '' ? key : `${path}.${key}`, get(object, key), 'field is immutable');
}

export function replicationController(report: Report, object: JsonObject): void {
  const spec = obj(object, 'spec') ?? {};
  nonNegative(report, num(spec, 'replicas'), 'spec.replicas');
  nonNegative(report, num(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  const template = obj(spec, 'template');
  if (pairs(spec, 'selector').length === 0) report.required('spec.selector');
  if (template === undefined) {
    report.required('spec.template');
    return;
  }
  const labels = obj(obj(template, 'metadata'), 'labels') ?? {};
  if (pairs(spec, 'selector').some(([key, value]) => get(labels, key) !== value))
    report.invalid('spec.template.metadata.labels', labels, '`selector` does not match template `labels`');
  validatePodTemplate(report, template, 'spec.template');
  alwaysRestarts(report, template);
}

export function job(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  jobSpec(report, spec, 'spec');
  const before = obj(old, 'spec');
  if (before === undefined) return;
  immutable(report, { object: spec, old: before, keys: ['completions', 'selector'], path: 'spec' });
  // The pods of a job that never started may still be scheduled elsewhere.
  const unstarted = before['suspend'] === true && get(obj(old, 'status'), 'startTime') === undefined;
  if (!unstarted) immutable(report, { object: spec, old: before, keys: ['template'], path: 'spec' });
  const keys = ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'];
  immutable(report, { object: spec, old: before, keys, path: 'spec' });
}

function jobSpec(report: Report, spec: JsonObject, path: string): void {
  for (const key of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
  ])
    nonNegative(report, num(spec, key), `${path}.${key}`);
  if (str(spec, 'completionMode') === 'Indexed' && num(spec, 'completions') === undefined)
    report.required(`${path}.completions`, 'when completion mode is Indexed');
  validateSelector(report, obj(spec, 'selector'), `${path}.selector`);
  validatePodTemplate(report, obj(spec, 'template'), `${path}.template`);
  if (['Always', ''].includes(str(obj(obj(spec, 'template'), 'spec'), 'restartPolicy')))
    report.required(`${path}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"');
}

const cronMacros = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);

export function cronJob(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  const schedule = str(spec, 'schedule');
  if (schedule === '') report.required('spec.schedule');
  else if (schedule.includes('TZ'))
    report.invalid('spec.schedule', schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  else {
    const problem = cronProblem(schedule);
    if (problem !== undefined) report.invalid('spec.schedule', schedule, problem);
  }
  for (const key of ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'])
    nonNegative(report, num(spec, key), `spec.${key}`);
  const name = str(obj(object, 'metadata'), 'name');
  if (old === undefined && name.length > 52)
    report.invalid('metadata.name', name, 'must be no more than 52 characters');
  jobSpec(report, obj(obj(spec, 'jobTemplate'), 'spec') ?? {}, 'spec.jobTemplate.spec');
}

const cronRanges: readonly (readonly [number, number])[] = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
];

function cronProblem(schedule: string): string | undefined {
  if (cronMacros.has(schedule) || /^@every \S+$/.test(schedule)) return undefined;
  if (schedule.startsWith('@')) return `unrecognized descriptor: ${schedule}`;
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== 5) return `expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`;
  for (const [i, field] of fields.entries()) {
    const [low, high] = cronRanges[i] ?? [0, 0];
    for (const part of field.split(',')) {
      const problem = cronPartProblem(part, low, high);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function cronPartProblem(part: string, low: number, high: number): string | undefined {
  const [range = '', step] = part.split('/');
  if (step !== undefined && !/^[0-9]+$/.test(step))
    return `failed to parse int from ${step}: strconv.Atoi: parsing "${step}": invalid syntax`;
  if (range === '*' || range === '?') return undefined;
  for (const end of range.split('-')) {
    if (/^[A-Za-z]{3}$/.test(end)) continue;
    if (!/^[0-9]+$/.test(end)) return `failed to parse int from ${end}: strconv.Atoi: parsing "${end}": invalid syntax`;
    if (Number(end) < low) return `beginning of range (${end}) below minimum (${low}): ${part}`;
    if (Number(end) > high) return `end of range (${end}) above maximum (${high}): ${part}`;
  }
  return undefined;
}

export function autoscaler(report: Report, object: JsonObject): void {
  const spec = obj(object, 'spec') ?? {};
  const target = obj(spec, 'scaleTargetRef') ?? {};
  for (const key of ['kind', 'name']) if (str(target, key) === '') report.required(`spec.scaleTargetRef.${key}`);
  const least = num(spec, 'minReplicas');
  if (least !== undefined && least < 1) report.invalid('spec.minReplicas', least, 'must be greater than or equal to 1');
  const most = num(spec, 'maxReplicas') ?? 0;
  if (most === 0) report.required('spec.maxReplicas', 'must be set and greater than 0');
  else if (most < 1) report.invalid('spec.maxReplicas', most, 'must be greater than 0');
  if (least !== undefined && most < least)
    report.invalid('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`');
  const group = str(target, 'apiVersion').includes('/');
  if (!group && str(target, 'kind') !== 'ReplicationController' && str(target, 'apiVersion') === '')
    report.invalid('spec.scaleTargetRef.apiVersion', '', 'apiVersion must specify API group');
}

export function disruptionBudget(report: Report, object: JsonObject): void {
  const spec = obj(object, 'spec') ?? {};
  if (get(spec, 'minAvailable') !== undefined && get(spec, 'maxUnavailable') !== undefined)
    report.invalidText(
      'spec',
      JSON.stringify(internalBudget(spec)),
      'minAvailable and maxUnavailable cannot be both set',
    );
  for (const key of ['minAvailable', 'maxUnavailable']) intOrPercent(report, get(spec, key), `spec.${key}`);
  validateSelector(report, obj(spec, 'selector'), 'spec.selector');
}

/** A budget as the server's own type prints it. */
function internalBudget(spec: JsonObject): Json {
  return {
    MinAvailable: get(spec, 'minAvailable') ?? null,
    Selector: get(spec, 'selector') ?? null,
    MaxUnavailable: get(spec, 'maxUnavailable') ?? null,
    UnhealthyPodEvictionPolicy: get(spec, 'unhealthyPodEvictionPolicy') ?? null,
  };
}
