import type {
  Application,
  ApplicationOperation,
  ApplicationResponse,
  ApplicationVerdict,
  FieldDifference,
  FieldWriter,
  FullQueue,
  IgnoredDifference,
  OperationBlocker,
  PassCause,
  PassStages,
  ReportedSource,
  ResourceDifference,
} from '../application-types.ts';
import { counted, joined } from './explanation.ts';
import type { Explanation, ExplanationSection } from './explanation.ts';
import { blockerText, decisiveResource, objectText, retryText } from './object-text.ts';
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
  const judged = (app as Partial<Application>).verdict ?? unjudged;
  const { verdict, reason, since, until, next } = judged;
  const stated =
    reason === undefined ? compared(judged, times) : joined([reason, times.since(since), times.until(until)]);
  const operation = app.operation === '' ? undefined : `operation ${app.operation}`;
  const status = joined([app.sync === '' ? 'not compared yet' : app.sync, app.health, operation], ' · ');
  const sections: readonly ExplanationSection[] = [
    { label: 'What to do', lines: next === undefined ? [] : [next] },
    { label: 'Owner', lines: [ownerLine(app, times)] },
    { label: 'Destination', lines: [destinationLine(app)] },
    { label: 'Last pass', lines: app.owner === '' ? [] : passLines(app, times) },
    { label: 'Differs', lines: differenceLines(app, times, more) },
    { label: 'Ignored', lines: ignoredLines(app) },
    { label: 'Health', lines: healthLines(app, times) },
    { label: 'Operation', lines: operationLines(app, times) },
    { label: 'Waits for', lines: waitingLines(app, times) },
    { label: 'Automation', lines: automationLines(app, times) },
    {
      label: 'Degraded',
      lines: app.degraded.map(({ subject, message, since, until, advice: what }) => {
        const state = joined([`${subject}: ${message}`, times.since(since), times.until(until)]);
        return what === next ? state : `${state}; ${what}`;
      }),
    },
    {
      label: 'Conditions',
      lines: app.conditions
        .filter(({ message }) => reason?.includes(message) !== true)
        .map(({ type, message, since }) => joined([`${type}: ${message}`, times.since(since)])),
    },
    {
      label: 'Incomplete',
      lines: incomplete.filter(({ replica }) => replica !== '').map(({ replica, reason: why }) => `${replica}: ${why}`),
    },
  ];
  return {
    verdict,
    title: `Application ${app.namespace}/${app.name}: ${status}`,
    ...(stated === '' ? {} : { reason: stated }),
    sections,
  };
}

/** For the page of a replica that is too old to judge. */
const unjudged: ApplicationVerdict = {
  verdict: 'waiting',
  cause: 'other',
  reason: 'a verdict, which the replica is too old to give',
  next: 'Upgrade the replicas of Driftless, or use the driftless command of their release',
  source: 'status',
};

/** How old a good verdict is, and who states it. */
function compared({ comparedAt, source, by = '' }: ApplicationVerdict, times: RelativeTimes): string {
  const age = times.ago(comparedAt);
  if (age === undefined) return '';
  if (source === 'status') return `by its status: compared ${age} or later`;
  return source === 'owner' ? `compared ${age} by ${by}` : `compared ${age}, before ${by} took it up`;
}

/** Whether an operation has begun and not ended. */
export function isUnderWay({ operation }: Pick<Application, 'operation'>): boolean {
  return operation === 'Running' || operation === 'Terminating';
}

function ownerLine({ ownership, owner, shard }: Application, times: RelativeTimes): string {
  const { since, reason, part, parts, pinnedTo, unownedSince } = ownership;
  const pin = pinnedTo === undefined ? undefined : `its cluster is pinned to shard ${pinnedTo}`;
  if (owner === '')
    return joined([`none: no replica holds shard ${shard ?? '(unknown)'}`, times.since(unownedSince), pin]);
  const place = joined([
    shard === undefined ? undefined : `shard ${shard}`,
    parts > 1 ? `part ${part + 1} of ${parts} of the cluster` : undefined,
  ]);
  return joined([`${owner}${place === '' ? '' : ` (${place})`}`, times.since(since), reason, pin]);
}

function destinationLine({ clusterName, server, destinationNamespace, project }: Application): string {
  const cluster = server === '' ? 'cannot be resolved' : joined([clusterName, server], ' · ');
  return joined([
    cluster,
    destinationNamespace === '' ? undefined : `namespace ${destinationNamespace}`,
    `project ${project}`,
  ]);
}

/** The depth of a pass, by its level. */
export const levelTexts = ['the tree only', 'known revisions', 'latest revisions', 'revisions resolved again'] as const;

function passLines({ lastPass: pass, waiting }: Application, times: RelativeTimes): readonly string[] {
  if (pass === undefined) return ['none since this replica became the owner'];
  const { at, durationMs, queuedMs, level, isHard, cause, result, message } = pass;
  const depth = `${levelTexts[level]}${isHard ? ', manifests rendered again' : ''}`;
  return [
    joined([times.ago(at), `took ${shortDuration(durationMs)} after ${shortDuration(queuedMs)} in the queue`, depth]),
    `because ${causeText(cause)}`,
    ...stageLine(pass.stages),
    ...(result === 'completed' || message === waiting?.what ? [] : [joined([result, message], ': ')]),
  ];
}

/** The message may name the first of the objects. */
function causeText({ message, objects, objectsTotal }: PassCause): string {
  const others = objects.filter(({ kind, name }) => !message.includes(kind) || !message.includes(name));
  const shown = others.slice(0, maxObjects);
  const more = objectsTotal - (objects.length - others.length) - shown.length;
  const list = shown.map(objectText).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return joined([message, list], others.length < objects.length ? ', also ' : ': ');
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
    ...shown.flatMap((resource) => resourceLines(resource, app, times)),
    ...(more > 0 ? [`… and ${more} more: ${whereAll}`] : []),
  ];
}

/** A replica of a newer release may name another state. */
const stateTexts: Readonly<Partial<Record<ResourceDifference['state'], string>>> = {
  modified: 'differs',
  missing: 'is missing in the cluster',
  extra: 'is not in Git',
  unread: 'could not be read',
  refused: 'is not permitted in its project',
};

function resourceLines(resource: ResourceDifference, app: Application, times: RelativeTimes): readonly string[] {
  const { fields, lastWriter, faults, ignored, contestedBy, state, liveAge } = resource;
  const writer = lastWriter === undefined ? undefined : `last written by ${writerText(lastWriter, times)}`;
  const more = fields.length - maxFields;
  return [
    joined([`${objectText(resource)} ${stateTexts[state] ?? `is ${state}`}`, writer]),
    ...fields.slice(0, maxFields).map((field) => `  ${fieldText(field, app, times)}`),
    ...(more > 0 ? [`  … and ${counted(more, 'more field')}`] : []),
    ...(liveAge === undefined ? [] : [`  ${liveAgeText(liveAge, times)}`]),
    ...(contestedBy === undefined ? [] : [`  ${contestedBy} undoes each repair`]),
    ...ignored.map((rule) => `  ignored: ${ruleText(rule)}`),
    ...faults.map((fault) => `  ${fault}`),
  ];
}

function liveAgeText({ listedAt, reason }: NonNullable<ResourceDifference['liveAge']>, times: RelativeTimes): string {
  const age = listedAt === undefined ? 'was not listed yet' : `was last listed ${times.ago(listedAt)}`;
  return `its live state may be old: its kind ${age}: ${reason}`;
}

function fieldText(
  { path, desired, live, changedBy }: FieldDifference,
  app: Application,
  times: RelativeTimes,
): string {
  const values = `${live ?? 'absent'} instead of ${desired ?? 'nothing'}`;
  return joined([`${path}: ${values}`, changedBy === undefined ? undefined : changeText(changedBy, app, times)]);
}

/**
 * The change that made a field differ. If this controller wrote the live value last, the desired
 * one has changed since then: in Git, or in the Application.
 */
export function changeText(
  writer: FieldWriter,
  { sources, lastOperation }: Pick<Application, 'sources' | 'lastOperation'>,
  times: RelativeTimes,
): string {
  if (!writer.isOurs) return `changed by ${writerText(writer, times)}`;
  const synced = lastOperation?.revisions ?? [];
  const moved = sources.filter(({ revision }) => revision !== '' && !synced.includes(revision));
  if (moved.length === 0) return 'changed in the Application since its last sync';
  return `changed in Git: ${moved.map((source) => commitText(source, times)).join('; ')}`;
}

const shortRevisionLength = 7;

function commitText({ revision, commit }: ReportedSource, times: RelativeTimes): string {
  const isCommit = /^[0-9a-f]{40,64}$/.test(revision);
  const name = isCommit ? `commit ${revision.slice(0, shortRevisionLength)}` : `version ${revision}`;
  return commit === undefined ? name : joined([`${name} by ${commit.author}`, times.ago(commit.at)], ' ');
}

function writerText({ manager, operation, subresource, time, isOurs }: FieldWriter, times: RelativeTimes): string {
  const how = joined([operation, subresource], ' ');
  const who = `${isOurs ? 'Driftless' : manager}${how === '' ? '' : ` (${how})`}`;
  return `${who} ${times.ago(time) ?? 'at an unknown time'}`;
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
  return [
    joined([decisiveResource(healthDetails, status), decidedBy === undefined ? undefined : times.since(since)]),
    ...culpritLines(decidedBy?.culprit),
  ];
}

function operationLines(app: Application, times: RelativeTimes): readonly string[] {
  const { lastOperation } = app;
  if (lastOperation === undefined) return [];
  const { type, phase, initiatedBy, startedAt, finishedAt, syncPhase, wave, blockedBy } = lastOperation;
  const isRunning = finishedAt === undefined;
  const step = joined([
    syncPhase === undefined ? undefined : `phase ${syncPhase}`,
    wave === undefined ? undefined : `wave ${wave}`,
    blockedBy?.type === 'retry' ? undefined : retryText(lastOperation),
  ]);
  return [
    joined([
      `${type} by ${initiatedBy}: ${phase}`,
      isRunning ? times.lasting(startedAt) : times.ago(finishedAt),
      isRunning ? step : undefined,
    ]),
    ...blockedLines(app, lastOperation, times),
    ...resultLines(lastOperation),
  ];
}

/** What blocks the operation, or its message. */
function blockedLines(
  { healthDetails }: Application,
  operation: ApplicationOperation,
  times: RelativeTimes,
): readonly string[] {
  const { blockedBy, message } = operation;
  if (blockedBy === undefined) return message === '' ? [] : [message];
  // The culprit of the health is named with it.
  const isNamed = blockedBy.culprit?.name === healthDetails.decidedBy?.culprit?.name;
  const culprit = isNamed ? [] : culpritLines(blockedBy.culprit);
  return [`waits for ${blockerText(operation, blockedBy, times)}`, ...culprit];
}

/** Results that are not good. A running hook is no news while the operation runs. */
function resultLines({ phase, finishedAt, resources }: ApplicationOperation): readonly string[] {
  if (phase === 'Succeeded') return [];
  return resources
    .filter(({ hookPhase }) => finishedAt !== undefined || hookPhase !== 'Running')
    .slice(0, maxResources)
    .map((resource) => {
      const result = joined([resource.status, resource.hookPhase], ' ');
      return `  ${joined([objectText(resource), result, resource.message], ': ')}`;
    });
}

function culpritLines(culprit: OperationBlocker['culprit']): readonly string[] {
  return culprit === undefined ? [] : [`  ${objectText(culprit)} is ${culprit.status}: ${culprit.message}`];
}

function waitingLines(app: Application, times: RelativeTimes): readonly string[] {
  const { waiting, lastOperation, operation, automatedSync, conditions } = app;
  if (waiting === undefined) return [];
  const { what, since, until, queue } = waiting;
  // What a running operation waits for is shown with it, and so is the wait of automated sync.
  const isShown = what === lastOperation?.blockedBy?.message || what === automatedSync.reason;
  if (isShown || (queue === undefined && operation === 'Running')) return [];
  const isCondition = conditions.some(({ message }) => message === what);
  return [
    joined([isCondition ? 'the next attempt' : what, isCondition ? undefined : times.since(since), times.until(until)]),
    ...queueLines(queue, times),
  ];
}

function queueLines(queue: FullQueue | undefined, times: RelativeTimes): readonly string[] {
  const { longest } = queue ?? {};
  if (longest === undefined) return [];
  const name = longest.key === '' ? 'an Application that you may not read' : longest.key;
  return [`  the longest at work is ${joined([name, times.since(longest.since)])}`];
}

function automationLines(app: Application, times: RelativeTimes): readonly string[] {
  const { automatedSync, isAutomated, sync } = app;
  if (!isAutomated) return ['automated sync is switched off'];
  if (sync !== 'OutOfSync' || automatedSync.decision === 'start' || isUnderWay(app)) return [];
  const { decision, reason, until, checks } = automatedSync;
  if (decision === 'none') return [];
  const failed = checks.filter(
    ({ passes, name, message }) => !passes && name !== 'window' && !message.startsWith(reason),
  );
  return [
    joined([`automated sync did not start: ${reason}`, times.until(until)]),
    ...failed.map(({ name, message }) => `  ${name}: ${message}`),
  ];
}
