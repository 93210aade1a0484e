import { outsideText } from '#base';
import type { ApplicationCondition, Cluster, ConditionType, Settings } from '#model';
import { unreadableText } from '#settings';

/** Condition types by the step of a pass that owns them: a step replaces its own and no others. */
export const ownedConditions = {
  spec: [
    'InvalidSpecError',
    'UnknownError',
    'HydrationWarning',
    'DuplicateClusterWarning',
    'SettingsError',
    'SettingsWarning',
  ],
  comparison: [
    'ComparisonError',
    'SharedResourceWarning',
    'RepeatedResourceWarning',
    'ExcludedResourceWarning',
    'StaleResourceWarning',
    'IncompleteDiscoveryWarning',
    'IgnoreRuleWarning',
    'RefusedChangeWarning',
    'LastAppliedWarning',
    'RepeatedItemWarning',
    'UnnamedResourceWarning',
    'IgnoredFileWarning',
    'ContestedResourceWarning',
    'KeptResourceWarning',
    'SourceUnavailableWarning',
    'UnownedClusterWarning',
  ],
  tree: ['OrphanedResourceWarning'],
  autosync: ['SyncError'],
  deletion: ['DeletionError'],
  quarantine: ['QuarantineWarning'],
  waits: ['WaitingWarning'],
} as const satisfies Record<string, readonly ConditionType[]>;

/**
 * Conditions after one step evaluated some types: other types stay, the fresh ones replace the
 * evaluated ones. A fresh condition with a known message keeps the time of its first appearance.
 *
 * Source: Argo CD types.go SetConditions. Difference: the message is looked up among all conditions
 * of the type, not only the first, so that several conditions of one type do not get a new time
 * (and a write) at each comparison. Passwords in URLs are removed from messages.
 */
export function setConditions(
  existing: readonly ApplicationCondition[] | undefined,
  fresh: readonly ApplicationCondition[],
  evaluated: readonly ConditionType[],
  now: string,
): readonly ApplicationCondition[] {
  const before = existing ?? [];
  const kept = before.filter((condition) => !evaluated.includes(condition.type));
  const known = (condition: ApplicationCondition): ApplicationCondition | undefined =>
    before.find((old) => old.type === condition.type && old.message === condition.message);
  const shown = fresh.map((condition) => ({ ...condition, message: outsideText('field', condition.message) }));
  const result = [...kept, ...shown.map((condition) => known(condition) ?? condition)];
  return dedupe(result.map((condition) => ({ lastTransitionTime: now, ...condition }))).sort(byText);
}

function dedupe(conditions: readonly ApplicationCondition[]): ApplicationCondition[] {
  const seen = new Map(conditions.map((condition) => [`${condition.type}/${condition.message}`, condition]));
  return [...seen.values()];
}

function byText(a: ApplicationCondition, b: ApplicationCondition): number {
  const [left, right] = [sortKey(a), sortKey(b)];
  return left < right ? -1 : Number(left > right);
}

function sortKey(condition: ApplicationCondition): string {
  return `${condition.type}/${condition.message}/${condition.lastTransitionTime ?? ''}`;
}

/** Warns when several Secrets describe the Application's cluster: names the one in use. */
export function conflictConditions({ conflict }: Pick<Cluster, 'conflict'>): readonly ApplicationCondition[] {
  return conflict === undefined ? [] : [{ type: 'DuplicateClusterWarning', message: conflict }];
}

/** Names the settings about every write that cannot be read, and whose last value is in force. */
function settingsConditions({ unreadable }: Pick<Settings, 'unreadable'>): readonly ApplicationCondition[] {
  return unreadable
    .filter(({ kind, isKept }) => kind === undefined && isKept)
    .map((setting) => ({ type: 'SettingsWarning', message: unreadableText(setting) }));
}

/** Warnings about the cluster and the settings of a valid Application. */
export function boundConditions(bound: {
  readonly cluster: Pick<Cluster, 'conflict'>;
  readonly settings: Pick<Settings, 'unreadable'>;
}): readonly ApplicationCondition[] {
  return [...conflictConditions(bound.cluster), ...settingsConditions(bound.settings)];
}

/** Why nothing may be written, whatever the Application; undefined: it may. */
export function settingsHold({ unreadable }: Pick<Settings, 'unreadable'>): string | undefined {
  const held = unreadable.filter(({ kind, isKept }) => kind === undefined && !isKept);
  return held.length === 0 ? undefined : held.map((setting) => unreadableText(setting)).join('. ');
}

/** Conditions as one line for an operation's message: `<Type>: <message>;<Type>: <message>`. */
export function formatConditions(conditions: readonly ApplicationCondition[]): string {
  return conditions.map((condition) => `${condition.type}: ${condition.message}`).join(';');
}
