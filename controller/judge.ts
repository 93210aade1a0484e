import type { ManagedPair } from '#compare';
import { isErrorCondition, keyOfStatus } from '#model';
import type { AppKey, Application, ApplicationCondition, ApplicationStatus, ResourceStatus } from '#model';
import type { Assessment, Found } from './refresh.ts';
import { normalizationPatch, statusPatch } from './status-patch.ts';
import type { Disagreement, PlannedWrite, Verdict } from './verdict.ts';

/**
 * What an Application's own status says against what a pass over it found out, and what the pass would have led to. Pure.
 *
 * Not compared, because they differ by design or say nothing about right and wrong: the order of lists, times, messages (of health and of
 * conditions of a type that both have), versions of resources, sync waves, warnings, `status.summary`. Resources are compared only when both
 * know the sync status and mean the same revision: otherwise each would differ for the one reason that stands there already. The health of a
 * resource only when the status holds it (`resourceHealthSource` is not `appTree`).
 *
 * @param app as it was read: the status in it is the other's word.
 */
export function judge(key: AppKey, app: Application, assessment: Assessment): Verdict {
  const { status, found } = assessment;
  const { sync, health } = codesOf(status);
  const theirs = codesOf(app.status);
  const ours = { sync: sync === '' ? 'Unknown' : sync, health: health === '' ? 'Unknown' : health } as const;
  return {
    key,
    app,
    theirs,
    ours,
    disagreements: [
      ...difference({ field: 'sync', theirs: theirs.sync, ours: ours.sync }),
      ...difference({ field: 'health', theirs: theirs.health, ours: ours.health }),
      ...revisions(app.status, status, found),
      ...conditions(app.status?.conditions ?? [], status.conditions ?? []),
      ...(found !== undefined && comparable(app.status, status) ? resources(app.status ?? {}, found) : []),
    ],
    writes: plannedWrites(key, app, assessment),
    conditions: said(assessment),
  };
}

function codesOf(status: ApplicationStatus | undefined): Verdict['theirs'] {
  return { sync: status?.sync?.status ?? '', health: status?.health?.status ?? '' };
}

function difference(
  what: Pick<Disagreement, 'field' | 'resource' | 'theirs' | 'ours'> & { readonly paths?: readonly string[] },
): Disagreement[] {
  return what.theirs === what.ours ? [] : [{ ...what, paths: what.paths ?? [] }];
}

/** An invalid spec and a source that cannot be read have no revision to speak of. */
function revisions(
  theirs: ApplicationStatus | undefined,
  ours: ApplicationStatus,
  found: Found | undefined,
): Disagreement[] {
  if (found === undefined || found.comparison.failed || theirs?.sync === undefined) return [];
  return difference({ field: 'revision', theirs: revisionText(theirs), ours: revisionText(ours) });
}

/** The revision of a status, or those of its sources. */
export function revisionText(status: ApplicationStatus | undefined): string {
  const sync = status?.sync;
  return (sync?.revisions?.length ?? 0) > 0 ? (sync?.revisions ?? []).join(',') : (sync?.revision ?? '');
}

/** Types of errors that only one side reports, with its texts. */
function conditions(
  theirs: readonly ApplicationCondition[],
  ours: readonly ApplicationCondition[],
): readonly Disagreement[] {
  const text = (list: readonly ApplicationCondition[], type: string): string =>
    list
      .filter((condition) => condition.type === type)
      .map(({ message }) => `${type}: ${message}`)
      .join('; ');
  const types = new Set([...theirs, ...ours].filter(isErrorCondition).map(({ type }) => type));
  return [...types].sort().flatMap((type): Disagreement[] => {
    const [left, right] = [text(theirs, type), text(ours, type)];
    return left !== '' && right !== '' ? [] : difference({ field: 'condition', theirs: left, ours: right });
  });
}

function comparable(theirs: ApplicationStatus | undefined, ours: ApplicationStatus): boolean {
  const known = (status: ApplicationStatus): boolean =>
    ['Synced', 'OutOfSync'].includes(status.sync?.status ?? 'Unknown');
  return theirs !== undefined && known(theirs) && known(ours) && revisionText(theirs) === revisionText(ours);
}

function resources(status: ApplicationStatus, { comparison }: Found): readonly Disagreement[] {
  const theirs = new Map((status.resources ?? []).map((resource) => [keyOfStatus(resource), resource]));
  const ours = new Map(comparison.resources.map((resource) => [keyOfStatus(resource), resource]));
  const pairs = new Map(comparison.pairs.map((pair) => [pair.key, pair]));
  const saysHealth =
    status.resourceHealthSource !== 'appTree' && (status.resources ?? []).some(({ health }) => health !== undefined);
  const keys = [...new Set([...theirs.keys(), ...ours.keys()])].sort();
  return keys.flatMap((resource): Disagreement[] => {
    const [left, right] = [theirs.get(resource), ours.get(resource)];
    const paths = pathsOf(pairs.get(resource));
    if (left === undefined)
      return difference({ field: 'resource-extra', resource, theirs: '', ours: listed(right), paths });
    if (right === undefined) return difference({ field: 'resource-missing', resource, theirs: listed(left), ours: '' });
    const health = { theirs: left.health?.status ?? '', ours: comparison.resourceHealth.get(resource)?.status ?? '' };
    return [
      ...difference({ field: 'resource-sync', resource, theirs: codeOf(left), ours: codeOf(right), paths }),
      ...(saysHealth ? difference({ field: 'resource-health', resource, ...health }) : []),
    ];
  });
}

function codeOf({ status, requiresPruning }: ResourceStatus): string {
  return requiresPruning === true ? `${status ?? ''} (requires pruning)` : (status ?? '');
}

/** Hooks and copies are listed without a status. */
function listed(resource: ResourceStatus | undefined): string {
  const code = resource === undefined ? '' : codeOf(resource);
  return code === '' ? 'listed' : code;
}

function pathsOf(pair: ManagedPair | undefined): readonly string[] {
  return pair?.live == null || pair.target === null ? [] : pair.diff.paths;
}

function plannedWrites(key: AppKey, app: Application, { status, found }: Assessment): readonly PlannedWrite[] {
  const spec = normalizationPatch(app)?.['spec'];
  const changed = Object.keys(statusPatch(app.status, status)?.['status'] ?? {});
  const fields = changed.filter((field) => field !== 'reconciledAt').sort();
  const target = String(key);
  return [
    ...(spec === undefined ? [] : [{ what: 'spec', target, reason: `normal form of ${names(spec)}` } as const]),
    ...(found?.finalizers === undefined
      ? []
      : [{ what: 'finalizers', target, reason: `delete hooks: ${found.finalizers.join(', ')}` } as const]),
    ...(fields.length === 0 ? [] : [{ what: 'status', target, reason: `differs in ${fields.join(', ')}` } as const]),
    ...(found === undefined ? [] : automatedWrites(target, found)),
  ];
}

function names(value: unknown): string {
  return Object.keys(value as object)
    .sort()
    .join(', ');
}

/** An automated sync, and the objects that it would touch for a reason; it applies the others as they are. */
function automatedWrites(target: string, { decision, comparison }: Found): readonly PlannedWrite[] {
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

/** What this pass says, and why automated sync would refuse. */
function said({ conditions: own, found }: Assessment): Verdict['conditions'] {
  const { decision } = found ?? {};
  const refusal = decision?.do === 'refuse' ? [{ type: 'SyncError', message: decision.message }] : [];
  return [...own, ...refusal].map(({ type, message }) => ({ type, message }));
}
