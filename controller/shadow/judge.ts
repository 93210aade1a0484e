import { deepEqual, defined, isObject, ownMember } from '#base';
import type { Json } from '#base';
import { isErrorCondition, keyOfStatus } from '#model';
import type { AppKey, Application, ApplicationCondition, ApplicationStatus, ResourceStatus } from '#model';
import type { Decisions } from '../decide/decide-refresh.ts';
import type { PassAssessment } from '../refresh/pass.ts';
import { droppedFields, pathsOf } from '../application/dropped-fields.ts';
import { normalizationPatch } from '../application/status-patch.ts';
import type { StatusDisagreement, PlannedWrite, ShadowVerdict } from '../application/verdict.ts';

/**
 * Compares the status in an Application with the result of a pass, and lists the writes that would
 * follow. Pure.
 *
 * Ignores what differs by design: list order, times, messages (of health and of conditions both
 * have), resource versions, sync waves, warnings, `status.summary`. Compares resources only if both
 * controllers know the sync status at the same revision, otherwise every resource would differ for
 * that one reason. Compares their health only if the status contains it (`resourceHealthSource` is
 * not `appTree`).
 * @param app as read, with the status of the other controller.
 */
export function judge(key: AppKey, app: Application, assessment: PassAssessment): ShadowVerdict {
  const { status, decisions } = assessment;
  const { sync, health } = codesOf(status);
  const theirs = codesOf(app.status);
  const ours = { sync: sync === '' ? 'Unknown' : sync, health: health === '' ? 'Unknown' : health } as const;
  return {
    key,
    app,
    theirs,
    ours,
    disagreements: [
      ...disagreementsIn({ field: 'sync', theirs: theirs.sync, ours: ours.sync }),
      ...disagreementsIn({ field: 'health', theirs: theirs.health, ours: ours.health }),
      ...compareRevisions(app.status, status, decisions),
      ...compareConditions(app.status?.conditions ?? [], status.conditions ?? []),
      ...(decisions !== undefined && hasSameBasis(app.status, status)
        ? compareResources(app.status ?? {}, decisions)
        : []),
    ],
    writes: plannedWrites(key, app, assessment),
    ...(decisions !== undefined && hasSameBasis(app.status, status) ? droppedIn(app.status, decisions) : {}),
    status: { ...defined({ sync: status.sync, health: status.health, conditions: status.conditions }) },
    conditions: verdictConditions(assessment),
  };
}

function codesOf(status: ApplicationStatus | undefined): ShadowVerdict['theirs'] {
  return { sync: status?.sync?.status ?? '', health: status?.health?.status ?? '' };
}

function disagreementsIn(
  what: Pick<StatusDisagreement, 'field' | 'resource' | 'theirs' | 'ours'> & { readonly paths?: readonly string[] },
): StatusDisagreement[] {
  return what.theirs === what.ours ? [] : [{ ...what, paths: what.paths ?? [] }];
}

/** An invalid spec or an unreadable source has no revision to compare. */
function compareRevisions(
  theirs: ApplicationStatus | undefined,
  ours: ApplicationStatus,
  decisions: Decisions | undefined,
): StatusDisagreement[] {
  if (decisions === undefined || decisions.comparison.failed || theirs?.sync === undefined) return [];
  return disagreementsIn({ field: 'revision', theirs: revisionText(theirs), ours: revisionText(ours) });
}

/** The revisions of a status, joined. */
export function revisionText(status: ApplicationStatus | undefined): string {
  const sync = status?.sync;
  return (sync?.revisions?.length ?? 0) > 0 ? (sync?.revisions ?? []).join(',') : (sync?.revision ?? '');
}

/** Error condition types that only one side has, with their messages. */
function compareConditions(
  theirs: readonly ApplicationCondition[],
  ours: readonly ApplicationCondition[],
): readonly StatusDisagreement[] {
  const text = (list: readonly ApplicationCondition[], type: string): string =>
    list
      .filter((condition) => condition.type === type)
      .map(({ message }) => `${type}: ${message}`)
      .join('; ');
  const types = new Set([...theirs, ...ours].filter(isErrorCondition).map(({ type }) => type));
  return [...types].sort().flatMap((type): StatusDisagreement[] => {
    const [left, right] = [text(theirs, type), text(ours, type)];
    return left !== '' && right !== '' ? [] : disagreementsIn({ field: 'condition', theirs: left, ours: right });
  });
}

function hasSameBasis(theirs: ApplicationStatus | undefined, ours: ApplicationStatus): boolean {
  const known = (status: ApplicationStatus): boolean =>
    ['Synced', 'OutOfSync'].includes(status.sync?.status ?? 'Unknown');
  return theirs !== undefined && known(theirs) && known(ours) && revisionText(theirs) === revisionText(ours);
}

function compareResources(status: ApplicationStatus, { comparison }: Decisions): readonly StatusDisagreement[] {
  const theirs = new Map((status.resources ?? []).map((resource) => [keyOfStatus(resource), resource]));
  const ours = new Map(comparison.resources.map((resource) => [keyOfStatus(resource), resource]));
  const pairs = new Map(comparison.pairs.map((pair) => [pair.key, pair]));
  const hasHealth =
    status.resourceHealthSource !== 'appTree' && (status.resources ?? []).some(({ health }) => health !== undefined);
  const keys = [...new Set([...theirs.keys(), ...ours.keys()])].sort();
  return keys.flatMap((resource): StatusDisagreement[] => {
    const [left, right] = [theirs.get(resource), ours.get(resource)];
    const paths = pathsOf(pairs.get(resource));
    if (left === undefined)
      return disagreementsIn({ field: 'resource-extra', resource, theirs: '', ours: listedCode(right), paths });
    if (right === undefined)
      return disagreementsIn({ field: 'resource-missing', resource, theirs: listedCode(left), ours: '' });
    const health = { theirs: left.health?.status ?? '', ours: comparison.resourceHealth.get(resource)?.status ?? '' };
    return [
      ...disagreementsIn({ field: 'resource-sync', resource, theirs: codeOf(left), ours: codeOf(right), paths }),
      ...(hasHealth ? disagreementsIn({ field: 'resource-health', resource, ...health }) : []),
    ];
  });
}

function codeOf({ status, requiresPruning }: ResourceStatus): string {
  return requiresPruning === true ? `${status ?? ''} (requires pruning)` : (status ?? '');
}

/** Hooks and copies are listed without a sync status. */
function listedCode(resource: ResourceStatus | undefined): string {
  const code = resource === undefined ? '' : codeOf(resource);
  return code === '' ? 'listed' : code;
}

function droppedIn(theirs: ApplicationStatus | undefined, { comparison }: Decisions): Pick<ShadowVerdict, 'dropped'> {
  const dropped = droppedFields(theirs, comparison);
  return dropped.length === 0 ? {} : { dropped };
}

function plannedWrites(key: AppKey, app: Application, { patch, decisions }: PassAssessment): readonly PlannedWrite[] {
  const spec = normalizationPatch(app)?.['spec'];
  const changed = Object.keys(patch?.['status'] ?? {});
  const isChange = (field: string): boolean => field !== 'conditions' || !differsByCacheOnly(app, patch);
  const fields = changed.filter((field) => field !== 'reconciledAt' && isChange(field)).sort();
  const target = String(key);
  return [
    ...(spec === undefined ? [] : [{ what: 'spec', target, reason: `normal form of ${keyNames(spec)}` } as const]),
    ...(decisions?.finalizers === undefined
      ? []
      : [{ what: 'finalizers', target, reason: `delete hooks: ${decisions.finalizers.join(', ')}` } as const]),
    ...(fields.length === 0 ? [] : [{ what: 'status', target, reason: statusReason(app, patch, fields) } as const]),
    ...(decisions === undefined ? [] : automatedWrites(target, decisions)),
  ];
}

/**
 * A source that fails several times is paused, and its error is then marked as cached: when that
 * begins differs between two controllers.
 */
function differsByCacheOnly({ status }: Application, patch: PassAssessment['patch']): boolean {
  const texts = (conditions: unknown): readonly string[] =>
    (Array.isArray(conditions) ? (conditions as readonly ApplicationCondition[]) : [])
      .map(({ type, message }) => `${type}: ${message.replace(cachedError, '')}`)
      .sort();
  const changed = patch?.['status'];
  const [before, after] = [
    texts(status?.conditions),
    texts(isObject(changed) ? ownMember(changed, 'conditions') : undefined),
  ];
  return before.length === after.length && before.every((text, i) => text === after[i]);
}

const cachedError = /Manifest generation error \(cached\): /;

const maxNamedRows = 3;

/** Names the changed members of a status; of `resources` the first rows and their fields. */
function statusReason(app: Application, patch: PassAssessment['patch'], fields: readonly string[]): string {
  const rows = changedRows(app.status?.resources, patch?.['status']);
  const named = rows.slice(0, maxNamedRows).join('; ');
  const more = rows.length > maxNamedRows ? `; and ${rows.length - maxNamedRows} more` : '';
  const shown = fields.map((field) =>
    field === 'resources' && rows.length > 0 ? `${field} (${named}${more})` : field,
  );
  return `differs in ${shown.join(', ')}`;
}

/** Each row that differs: `/v1/ConfigMap/n/c: status, syncWave`. */
function changedRows(before: readonly ResourceStatus[] | undefined, status: unknown): readonly string[] {
  const after = (status as { readonly resources?: readonly ResourceStatus[] | null } | undefined)?.resources;
  const [theirs, ours] = [before ?? [], after ?? []].map((list) => new Map(list.map((row) => [keyOfStatus(row), row])));
  return [...new Set([...(theirs?.keys() ?? []), ...(ours?.keys() ?? [])])].sort().flatMap((key) => {
    const [left, right] = [theirs?.get(key), ours?.get(key)];
    if (left === undefined) return [`${key}: added`];
    if (right === undefined) return [`${key}: removed`];
    const names = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort() as (keyof ResourceStatus)[];
    const changed = names.filter((name) => !deepEqual(left[name] as Json, right[name] as Json));
    return changed.length === 0 ? [] : [`${key}: ${changed.join(', ')}`];
  });
}

function keyNames(value: unknown): string {
  return Object.keys(value as object)
    .sort()
    .join(', ');
}

/** An automated sync and the objects it would change. */
function automatedWrites(target: string, { decision, comparison }: Decisions): readonly PlannedWrite[] {
  if (decision?.do !== 'start') return [];
  const prunes = decision.operation.sync?.prune === true;
  const pairs = new Map(comparison.pairs.map((pair) => [pair.key, pair]));
  const objects = comparison.resources
    .filter(({ status, requiresPruning }) => status === 'OutOfSync' && (requiresPruning !== true || prunes))
    .map((resource): PlannedWrite => {
      const object = keyOfStatus(resource);
      const pair = pairs.get(object);
      const paths = pathsOf(pair).join(', ');
      const differs = pair?.live === null ? 'creates it' : `applies it${paths === '' ? '' : `: ${paths}`}`;
      return { what: 'object', target: object, reason: resource.requiresPruning === true ? 'prunes it' : differs };
    });
  return [{ what: 'operation', target, reason: `automated sync: ${decision.reason}` }, ...objects];
}

/** The conditions of this pass, with the refusal of automated sync. */
function verdictConditions({ conditions: own, decisions }: PassAssessment): ShadowVerdict['conditions'] {
  const { decision } = decisions ?? {};
  const refusal = decision?.do === 'refuse' ? [{ type: 'SyncError', message: decision.message }] : [];
  return [...own, ...refusal].map(({ type, message }) => ({ type, message }));
}
