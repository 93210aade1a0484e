import { deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import { isEmptySelector, nonNegative, selectorMatches, validateSelector } from './names.ts';
import { validatePodTemplate } from './pod.ts';
import { anyMember, listMember, numberMember, objectMember, mapEntries, stringMember } from './read.ts';
import type { FieldErrorReport } from './report.ts';

/** Rules of apps/v1, batch/v1 and autoscalers (pkg/apis/apps/validation and related packages). */

export function validateDeployment(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const spec = objectMember(object, 'spec') ?? {};
  nonNegative(report, numberMember(spec, 'replicas'), 'spec.replicas');
  templateWithSelector(report, spec, 'deployment');
  validateStrategy(report, objectMember(spec, 'strategy') ?? {});
  nonNegative(report, numberMember(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  nonNegative(report, numberMember(spec, 'revisionHistoryLimit'), 'spec.revisionHistoryLimit');
  const deadline = numberMember(spec, 'progressDeadlineSeconds');
  nonNegative(report, deadline, 'spec.progressDeadlineSeconds');
  if (deadline !== undefined && deadline <= (numberMember(spec, 'minReadySeconds') ?? 0))
    report.invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds');
  requireImmutable(report, { object: spec, old: objectMember(old, 'spec'), keys: ['selector'], path: 'spec' });
  if (old !== undefined) deploymentStatus(report, objectMember(object, 'status'));
}

/**
 * The counts of a Deployment's status: none negative, no part greater than the whole
 * (ValidateDeploymentStatus).
 */
function deploymentStatus(report: FieldErrorReport, status: JsonObject | undefined): void {
  if (status === undefined) return;
  const count = (key: string): number => numberMember(status, key) ?? 0;
  for (const key of [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
  ])
    nonNegative(report, numberMember(status, key), `status.${key}`);
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

export function validateReplicaSet(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const spec = objectMember(object, 'spec') ?? {};
  nonNegative(report, numberMember(spec, 'replicas'), 'spec.replicas');
  nonNegative(report, numberMember(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  templateWithSelector(report, spec, 'deployment');
  requireImmutable(report, { object: spec, old: objectMember(old, 'spec'), keys: ['selector'], path: 'spec' });
}

export function validateDaemonSet(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const spec = objectMember(object, 'spec') ?? {};
  templateWithSelector(report, spec, 'daemonset');
  nonNegative(report, numberMember(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  nonNegative(report, numberMember(spec, 'revisionHistoryLimit'), 'spec.revisionHistoryLimit');
  requireImmutable(report, { object: spec, old: objectMember(old, 'spec'), keys: ['selector'], path: 'spec' });
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

export function validateStatefulSet(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const spec = objectMember(object, 'spec') ?? {};
  nonNegative(report, numberMember(spec, 'replicas'), 'spec.replicas');
  nonNegative(report, numberMember(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  templateWithSelector(report, spec, 'statefulset');
  const strategy = objectMember(spec, 'updateStrategy');
  const rolling = objectMember(strategy, 'rollingUpdate');
  if (stringMember(strategy, 'type') === 'OnDelete' && rolling !== undefined)
    report.invalid('spec.updateStrategy.rollingUpdate', rolling, "only allowed for updateStrategy 'RollingUpdate'");
  const before = objectMember(old, 'spec');
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

/** Validates selector and template together. `kind` is the name in the server's message. */
function templateWithSelector(report: FieldErrorReport, spec: JsonObject, kind: string): void {
  const selector = objectMember(spec, 'selector');
  const errors = report.errors.length;
  if (selector !== undefined) validateSelector(report, selector, 'spec.selector');
  const isReadable = report.errors.length === errors;
  if (selector === undefined) report.required('spec.selector');
  else {
    if (!isReadable && kind !== 'daemonset')
      report.invalid('spec.selector', selector, kind === 'deployment' ? 'invalid label selector' : '');
    if (isEmptySelector(selector)) report.invalid('spec.selector', selector, `empty selector is invalid for ${kind}`);
  }
  const template = objectMember(spec, 'template');
  const labels = objectMember(objectMember(template, 'metadata'), 'labels') ?? {};
  const matched = selector !== undefined && (isEmptySelector(selector) || selectorMatches(selector, labels));
  if (isReadable && !matched && (selector !== undefined || kind === 'deployment'))
    report.invalid(
      'spec.template.metadata.labels',
      objectMember(objectMember(template, 'metadata'), 'labels') ?? null,
      '`selector` does not match template `labels`',
    );
  validatePodTemplate(report, template, 'spec.template');
  alwaysRestarts(report, template);
}

function alwaysRestarts(report: FieldErrorReport, template: JsonObject | undefined): void {
  const policy = stringMember(objectMember(template, 'spec'), 'restartPolicy');
  if (policy !== '' && policy !== 'Always') report.notSupported('spec.template.spec.restartPolicy', policy, ['Always']);
  if (anyMember(objectMember(template, 'spec'), 'activeDeadlineSeconds') !== undefined)
    report.forbidden(
      'spec.template.spec.activeDeadlineSeconds',
      'activeDeadlineSeconds in ReplicaSet is not Supported',
    );
}

function validateStrategy(report: FieldErrorReport, value: JsonObject): void {
  const rolling = objectMember(value, 'rollingUpdate');
  if (stringMember(value, 'type') === 'Recreate' && rolling !== undefined)
    report.forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'");
  if (stringMember(value, 'type') !== 'RollingUpdate' || rolling === undefined) return;
  const path = 'spec.strategy.rollingUpdate';
  const unavailable = intOrPercent(report, anyMember(rolling, 'maxUnavailable'), `${path}.maxUnavailable`);
  const surge = intOrPercent(report, anyMember(rolling, 'maxSurge'), `${path}.maxSurge`);
  if (unavailable === 0 && surge === 0)
    report.invalid(`${path}.maxUnavailable`, anyMember(rolling, 'maxUnavailable'), 'may not be 0 when `maxSurge` is 0');
}

/** The number, or that of a percentage; undefined if it is neither. */
export function intOrPercent(report: FieldErrorReport, value: Json | undefined, path: string): number | undefined {
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

/** Reports changes of immutable members. */
export function requireImmutable(
  report: FieldErrorReport,
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
    if (!deepEqual(anyMember(object, key), anyMember(old, key)))
      report.invalid(path === '' ? key : `${path}.${key}`, anyMember(object, key), 'field is immutable');
}

export function validateReplicationController(report: FieldErrorReport, object: JsonObject): void {
  const spec = objectMember(object, 'spec') ?? {};
  nonNegative(report, numberMember(spec, 'replicas'), 'spec.replicas');
  nonNegative(report, numberMember(spec, 'minReadySeconds'), 'spec.minReadySeconds');
  const template = objectMember(spec, 'template');
  if (mapEntries(spec, 'selector').length === 0) report.required('spec.selector');
  if (template === undefined) {
    report.required('spec.template');
    return;
  }
  const labels = objectMember(objectMember(template, 'metadata'), 'labels') ?? {};
  if (mapEntries(spec, 'selector').some(([key, value]) => anyMember(labels, key) !== value))
    report.invalid('spec.template.metadata.labels', labels, '`selector` does not match template `labels`');
  validatePodTemplate(report, template, 'spec.template');
  alwaysRestarts(report, template);
}

export function validateJob(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const spec = objectMember(object, 'spec') ?? {};
  jobSpec(report, spec, 'spec');
  const before = objectMember(old, 'spec');
  if (before === undefined) return;
  requireImmutable(report, { object: spec, old: before, keys: ['completions', 'selector'], path: 'spec' });
  // The template of a job that never started may still change.
  const unstarted = before['suspend'] === true && anyMember(objectMember(old, 'status'), 'startTime') === undefined;
  if (!unstarted) requireImmutable(report, { object: spec, old: before, keys: ['template'], path: 'spec' });
  const keys = ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'];
  requireImmutable(report, { object: spec, old: before, keys, path: 'spec' });
}

function jobSpec(report: FieldErrorReport, spec: JsonObject, path: string): void {
  for (const key of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
  ])
    nonNegative(report, numberMember(spec, key), `${path}.${key}`);
  if (stringMember(spec, 'completionMode') === 'Indexed' && numberMember(spec, 'completions') === undefined)
    report.required(`${path}.completions`, 'when completion mode is Indexed');
  const success = objectMember(spec, 'successPolicy');
  if (success !== undefined && listMember(success, 'rules').length === 0)
    report.required(
      `${path}.successPolicy.rules`,
      'at least one rules must be specified when the successPolicy is specified',
    );
  validateSelector(report, objectMember(spec, 'selector'), `${path}.selector`);
  validatePodTemplate(report, objectMember(spec, 'template'), `${path}.template`);
  if (['Always', ''].includes(stringMember(objectMember(objectMember(spec, 'template'), 'spec'), 'restartPolicy')))
    report.required(`${path}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"');
}

const cronMacros = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);

export function validateCronJob(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const spec = objectMember(object, 'spec') ?? {};
  const schedule = stringMember(spec, 'schedule');
  if (schedule === '') report.required('spec.schedule');
  else if (schedule.includes('TZ'))
    report.invalid('spec.schedule', schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  else {
    const problem = cronProblem(schedule);
    if (problem !== undefined) report.invalid('spec.schedule', schedule, problem);
  }
  for (const key of ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'])
    nonNegative(report, numberMember(spec, key), `spec.${key}`);
  const name = stringMember(objectMember(object, 'metadata'), 'name');
  if (old === undefined && name.length > 52)
    report.invalid('metadata.name', name, 'must be no more than 52 characters');
  jobSpec(report, objectMember(objectMember(spec, 'jobTemplate'), 'spec') ?? {}, 'spec.jobTemplate.spec');
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

export function validateAutoscaler(report: FieldErrorReport, object: JsonObject): void {
  const spec = objectMember(object, 'spec') ?? {};
  const target = objectMember(spec, 'scaleTargetRef') ?? {};
  for (const key of ['kind', 'name'])
    if (stringMember(target, key) === '') report.required(`spec.scaleTargetRef.${key}`);
  const least = numberMember(spec, 'minReplicas');
  if (least !== undefined && least < 1) report.invalid('spec.minReplicas', least, 'must be greater than or equal to 1');
  const most = numberMember(spec, 'maxReplicas') ?? 0;
  if (most === 0) report.required('spec.maxReplicas', 'must be set and greater than 0');
  else if (most < 1) report.invalid('spec.maxReplicas', most, 'must be greater than 0');
  if (least !== undefined && most < least)
    report.invalid('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`');
  const group = stringMember(target, 'apiVersion').includes('/');
  if (!group && stringMember(target, 'kind') !== 'ReplicationController' && stringMember(target, 'apiVersion') === '')
    report.invalid('spec.scaleTargetRef.apiVersion', '', 'apiVersion must specify API group');
  scalingBehavior(report, spec);
}

function scalingBehavior(report: FieldErrorReport, spec: JsonObject): void {
  for (const direction of ['scaleUp', 'scaleDown']) {
    const rules = objectMember(objectMember(spec, 'behavior'), direction);
    if (rules !== undefined && listMember(rules, 'policies').length === 0)
      report.required(`spec.behavior.${direction}.policies`, 'must specify at least one Policy');
  }
}

export function validateDisruptionBudget(report: FieldErrorReport, object: JsonObject): void {
  const spec = objectMember(object, 'spec') ?? {};
  if (anyMember(spec, 'minAvailable') !== undefined && anyMember(spec, 'maxUnavailable') !== undefined)
    report.invalidText(
      'spec',
      JSON.stringify(internalBudget(spec)),
      'minAvailable and maxUnavailable cannot be both set',
    );
  for (const key of ['minAvailable', 'maxUnavailable']) intOrPercent(report, anyMember(spec, key), `spec.${key}`);
  validateSelector(report, objectMember(spec, 'selector'), 'spec.selector');
}

/** A budget in the form of the server's internal type. */
function internalBudget(spec: JsonObject): Json {
  return {
    MinAvailable: anyMember(spec, 'minAvailable') ?? null,
    Selector: anyMember(spec, 'selector') ?? null,
    MaxUnavailable: anyMember(spec, 'maxUnavailable') ?? null,
    UnhealthyPodEvictionPolicy: anyMember(spec, 'unhealthyPodEvictionPolicy') ?? null,
  };
}
