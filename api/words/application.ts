import type {
  Application,
  ApplicationResponse,
  FieldDifference,
  FieldWriter,
  IgnoredDifference,
  OperationBlocker,
  Pass,
  PassStages,
  ResourceDifference,
} from '../application-types.ts';
import type { ObjectName } from '../types.ts';
import { counted, joined } from './explanation.ts';
import type { Explanation, ExplanationSection, Verdict } from './explanation.ts';
import { RelativeTimes, shortDuration } from './times.ts';

/** How much of a long list the first screen shows; `-o json` has all. */
const maxResources = 5;
const maxFields = 3;
const maxObjects = 3;

export interface ExplainOptions {
  /** Where the reader finds what is left out. */
  readonly more?: string;
}

/** Explains one Application: who owns it, why it differs, what it waits for, what is degraded. */
export function explainApplication(
  { application: app, time, incomplete }: ApplicationResponse,
  { more = '-o json has all' }: ExplainOptions = {},
): Explanation {
  const times = new RelativeTimes(time);
  const [verdict, reason] = verdictOf(app, times);
  const operation = app.operation === '' ? undefined : `operation ${app.operation}`;
  const status = joined([app.sync === '' ? 'not compared yet' : app.sync, app.health, operation], ' · ');
  const sections: readonly ExplanationSection[] = [
    { label: 'Owner', lines: [ownerLine(app, times)] },
    { label: 'Destination', lines: [destinationLine(app)] },
    { label: 'Last pass', lines: passLines(app.lastPass, times) },
    { label: 'Differs', lines: differenceLines(app, times, more) },
    { label: 'Ignored', lines: ignoredLines(app) },
    { label: 'Health', lines: healthLines(app, times) },
    { label: 'Operation', lines: operationLines(app, times) },
    { label: 'Waits for', lines: waitingLines(app, times) },
    { label: 'Automation', lines: automationLines(app, times) },
    {
      label: 'Degraded',
      lines: app.degraded.map(({ subject, message, advice }) => `${subject}: ${message}; ${advice}`),
    },
    {
      label: 'Conditions',
      lines: app.conditions.map(({ type, message, since }) => joined([`${type}: ${message}`, times.ago(since)])),
    },
    { label: 'Incomplete', lines: incomplete.map(({ replica, reason: why }) => `${replica}: ${why}`) },
  ];
  return {
    verdict,
    title: `Application ${app.namespace}/${app.name}: ${status}`,
    ...(reason === undefined ? {} : { reason }),
    sections,
  };
}

function verdictOf(app: Application, times: RelativeTimes): readonly [Verdict, string | undefined] {
  const broken = brokenBecause(app);
  if (broken !== undefined) return ['broken', broken];
  const waiting = waitsBecause(app, times);
  return waiting === undefined ? ['healthy', undefined] : ['waiting', waiting];
}

function brokenBecause(app: Application): string | undefined {
  const error = app.conditions.find(({ type }) => type.endsWith('Error'));
  const [degraded] = app.degraded;
  if (degraded !== undefined) return `${degraded.subject}: ${degraded.message}`;
  if (error !== undefined) return `${error.type}: ${error.message}`;
  const { operation, health, healthDetails } = app;
  if (operation === 'Failed' || operation === 'Error')
    return `the last operation ended with ${operation}: ${app.lastOperation?.message ?? ''}`;
  if (health === 'Degraded' || health === 'Missing') return decisiveResource(healthDetails, health);
  return app.sync === 'Unknown' ? 'it could not be compared' : undefined;
}

function decisiveResource({ decidedBy, message }: Application['healthDetails'], health: string): string {
  if (decidedBy === undefined) return joined([health, message], ': ');
  return joined([`${objectText(decidedBy)} is ${decidedBy.status}`, decidedBy.message], ': ');
}

function waitsBecause(app: Application, times: RelativeTimes): string | undefined {
  const blocker = app.lastOperation?.blockedBy;
  if (blocker !== undefined && isUnderWay(app)) return blockerText(blocker, times);
  if (app.waiting !== undefined) return joined([app.waiting.what, times.until(app.waiting.until)]);
  if (isUnderWay(app)) return `the operation is ${app.operation}`;
  if (app.isDeleting) return 'it is being deleted';
  if (app.sync === '') return 'its first comparison';
  if (app.sync === 'OutOfSync') return automationReason(app);
  const isCalm = app.health === 'Healthy' || app.health === '';
  return isCalm ? undefined : decisiveResource(app.healthDetails, app.health);
}

function automationReason({ automatedSync: { decision, reason }, isAutomated }: Application): string {
  if (!isAutomated) return 'a sync by a user: automated sync is switched off';
  return decision === 'none' ? 'automated sync' : reason;
}

function isUnderWay({ operation }: Application): boolean {
  return operation === 'Running' || operation === 'Terminating';
}

function ownerLine({ ownership }: Application, times: RelativeTimes): string {
  const { replica, shard, since, reason, part, parts } = ownership;
  const place = joined([
    shard === undefined ? undefined : `shard ${shard}`,
    parts > 1 ? `part ${part + 1} of ${parts} of the cluster` : undefined,
  ]);
  return joined([`${replica}${place === '' ? '' : ` (${place})`}`, times.since(since), reason]);
}

function destinationLine({ clusterName, server, destinationNamespace, project }: Application): string {
  const cluster = server === '' ? 'cannot be resolved' : joined([clusterName, server], ' · ');
  return joined([
    cluster,
    destinationNamespace === '' ? undefined : `namespace ${destinationNamespace}`,
    `project ${project}`,
  ]);
}

const levels = ['the tree only', 'known revisions', 'latest revisions', 'revisions resolved again'] as const;

function passLines(pass: Pass | undefined, times: RelativeTimes): readonly string[] {
  if (pass === undefined) return ['none since this replica became the owner'];
  const { at, durationMs, queuedMs, level, isHard, cause, result, message } = pass;
  const depth = `${levels[level]}${isHard ? ', manifests rendered again' : ''}`;
  const named = cause.objects.slice(0, maxObjects);
  const more = cause.objectsTotal - named.length;
  const objects = named.map(objectText).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return [
    joined([times.ago(at), `took ${shortDuration(durationMs)} after ${shortDuration(queuedMs)} in the queue`, depth]),
    `because ${joined([cause.message, objects], ': ')}`,
    ...stageLine(pass.stages),
    ...(result === 'completed' ? [] : [joined([result, message], ': ')]),
  ];
}

function stageLine(stages: PassStages): readonly string[] {
  const parts = Object.entries(stages).map(([name, ms]: [string, number]) => `${name} ${shortDuration(ms)}`);
  return parts.length === 0 ? [] : [`stages: ${parts.join(', ')}`];
}

function differenceLines(app: Application, times: RelativeTimes, whereAll: string): readonly string[] {
  const { resources, differences, differencesTotal } = app;
  if (differencesTotal === 0) return [];
  const all = resources.synced + resources.outOfSync + resources.unknown;
  const shown = differences.slice(0, maxResources);
  const more = differencesTotal - shown.length;
  return [
    `${differencesTotal} of ${counted(all, 'resource')}`,
    ...shown.flatMap((resource) => resourceLines(resource, times)),
    ...(more > 0 ? [`… and ${more} more: ${whereAll}`] : []),
  ];
}

const stateTexts: Readonly<Record<ResourceDifference['state'], string>> = {
  modified: 'differs',
  missing: 'is missing in the cluster',
  extra: 'is not in Git',
  unread: 'could not be read',
};

function resourceLines(resource: ResourceDifference, times: RelativeTimes): readonly string[] {
  const { fields, lastWriter, faults, ignored, contestedBy, state } = resource;
  const writer = lastWriter === undefined ? undefined : `last written by ${writerText(lastWriter, times)}`;
  const more = fields.length - maxFields;
  return [
    joined([`${objectText(resource)} ${stateTexts[state]}`, writer]),
    ...fields.slice(0, maxFields).map((field) => `  ${fieldText(field, times)}`),
    ...(more > 0 ? [`  … and ${counted(more, 'more field')}`] : []),
    ...(contestedBy === undefined ? [] : [`  ${contestedBy} undoes each repair`]),
    ...ignored.map((rule) => `  ignored: ${ruleText(rule)}`),
    ...faults.map((fault) => `  ${fault}`),
  ];
}

function fieldText({ path, desired, live, changedBy }: FieldDifference, times: RelativeTimes): string {
  const values = `${live ?? 'absent'} instead of ${desired ?? 'nothing'}`;
  const writer = changedBy === undefined ? undefined : `changed by ${writerText(changedBy, times)}`;
  return joined([`${path}: ${values}`, writer]);
}

function writerText({ manager, operation, subresource, time, isOurs }: FieldWriter, times: RelativeTimes): string {
  const how = joined([operation, subresource], ' ');
  return joined([`${isOurs ? 'Driftless' : manager}${how === '' ? '' : ` (${how})`}`, times.ago(time)], ' ');
}

function ignoredLines({ ignored, differences }: Application): readonly string[] {
  const shown = new Set(differences.slice(0, maxResources).map(objectText));
  const others = ignored.filter((resource) => !shown.has(objectText(resource)));
  const more = others.length - maxResources;
  return [
    ...others
      .slice(0, maxResources)
      .map((resource) => `${objectText(resource)}: ${resource.rules.map(ruleText).join(', ')}`),
    ...(more > 0 ? [`… and ${counted(more, 'more resource')}`] : []),
  ];
}

const ruleOrigins = { application: 'the Application', manifest: 'its annotation', settings: 'the settings' } as const;

function ruleText({ rule, origin }: IgnoredDifference): string {
  return `${rule} (by ${ruleOrigins[origin]})`;
}

function healthLines({ healthDetails }: Application, times: RelativeTimes): readonly string[] {
  const { status, decidedBy, since } = healthDetails;
  if (status === 'Healthy' || status === '') return [];
  return [joined([decisiveResource(healthDetails, status), decidedBy === undefined ? undefined : times.since(since)])];
}

function operationLines(app: Application, times: RelativeTimes): readonly string[] {
  const { lastOperation } = app;
  if (lastOperation === undefined) return [];
  const { type, phase, message, initiatedBy, startedAt, finishedAt, retries, retryLimit, syncPhase, wave } =
    lastOperation;
  const isRunning = finishedAt === undefined;
  const step = joined([
    syncPhase === undefined ? undefined : `phase ${syncPhase}`,
    wave === undefined ? undefined : `wave ${wave}`,
    retries === 0 ? undefined : `retry ${retries}${retryLimit === undefined ? '' : ` of ${retryLimit}`}`,
  ]);
  return [
    joined([
      `${type} by ${initiatedBy}: ${phase}`,
      isRunning ? times.lasting(startedAt) : times.ago(finishedAt),
      isRunning ? step : undefined,
    ]),
    ...(message === '' ? [] : [message]),
    ...(lastOperation.blockedBy === undefined ? [] : [`blocked by ${blockerText(lastOperation.blockedBy, times)}`]),
    ...(phase === 'Succeeded' ? [] : lastOperation.resources)
      .slice(0, maxResources)
      .map(
        (resource) =>
          `  ${joined([objectText(resource), joined([resource.status, resource.hookPhase], ' '), resource.message], ': ')}`,
      ),
  ];
}

function blockerText({ message, object, since, until }: OperationBlocker, times: RelativeTimes): string {
  const subject = object === undefined || message.includes(object.name) ? undefined : objectText(object);
  return joined([joined([subject, message], ': '), times.since(since), times.until(until)]);
}

function waitingLines({ waiting, lastOperation }: Application, times: RelativeTimes): readonly string[] {
  if (waiting === undefined || waiting.what === lastOperation?.blockedBy?.message) return [];
  return [joined([waiting.what, times.since(waiting.since), times.until(waiting.until)])];
}

function automationLines({ automatedSync, isAutomated, sync }: Application, times: RelativeTimes): readonly string[] {
  if (!isAutomated) return ['automated sync is switched off'];
  if (sync !== 'OutOfSync' || automatedSync.decision === 'start') return [];
  const { decision, reason, until, checks } = automatedSync;
  if (decision === 'none') return [];
  const failed = checks.filter(({ passes }) => !passes);
  return [
    joined([`automated sync did not start: ${reason}`, times.until(until)]),
    ...failed.filter(({ message }) => message !== reason).map(({ name, message }) => `  ${name}: ${message}`),
  ];
}

/** `Deployment default/web`, with the group where it is not one of Kubernetes' own. */
export function objectText({ group, kind, namespace, name }: ObjectName): string {
  const type = group === '' || group === 'apps' || group === 'batch' ? kind : `${kind}.${group}`;
  return `${type} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}
