import { ignoreRuleFaults } from '#diff';
import type { UnreadableSetting } from '#model';
import { parseSettings } from './parse.ts';
import type { SettingsData } from './parse.ts';
import { isOwnKey } from './setting-table.ts';
import { notText } from './values.ts';

/** argocd-cm as the API server has it. */
export interface SettingsSource {
  readonly data: SettingsData;
  /** Keys under `binaryData`: values that are not UTF-8. */
  readonly binaryKeys: readonly string[];
  /** Whether an administrator confirmed, by an annotation, that it has no data on purpose. */
  readonly isEmptyOnPurpose: boolean;
}

/**
 * The settings that were last in force, from the memory of this process or from its ConfigMap.
 * `none`: there were none, so this is a first installation. `unknown`: not known (yet).
 */
export type LastSettings = SettingsData | 'none' | 'unknown';

/** The content of argocd-cm that is obeyed. */
export interface SettingsInForce {
  readonly data: SettingsData;
  /** Unreadable keys whose last readable value is in `data`. Others are found by parsing it. */
  readonly kept: readonly UnreadableSetting[];
  /** Why the settings are not those of argocd-cm. */
  readonly vanished?: 'deleted' | 'emptied';
}

/**
 * Decides which settings are in force. An edit holds at once, also one that removes
 * keys. A key that narrows and cannot be read keeps its last readable value. A missing or emptied
 * argocd-cm keeps the last settings as a whole.
 *
 * Without a last value an unreadable key stays as it is, and the parser reports it: then nothing
 * that it concerns is written. A key that was known to be absent has its default as the last value,
 * except for ignore rules: it is not known what a new one is to ignore.
 */
export function settingsInForce(source: SettingsSource | undefined, last: LastSettings): SettingsInForce {
  const known = typeof last === 'string' ? undefined : last;
  if (source === undefined) {
    if (known !== undefined) return { data: known, kept: [], vanished: 'deleted' };
    return { data: {}, kept: last === 'none' ? [] : [missing] };
  }
  const current = ownData(source);
  const isEmpty = Object.keys(source.data).length + source.binaryKeys.length === 0;
  if (isEmpty && !source.isEmptyOnPurpose && known !== undefined && Object.keys(known).length > 0)
    return { data: known, kept: [], vanished: 'emptied' };
  const data: Record<string, string> = {};
  const kept: UnreadableSetting[] = [];
  for (const [key, text] of Object.entries(current)) {
    const choice = chooseValue(key, text, known);
    if (choice.text !== undefined) data[key] = choice.text;
    kept.push(...choice.kept);
  }
  return { data, kept };
}

interface ChosenValue {
  /** Undefined: the key counts as absent. */
  readonly text: string | undefined;
  readonly kept: readonly UnreadableSetting[];
}

function chooseValue(key: string, text: string, known: SettingsData | undefined): ChosenValue {
  const faults = faultsOf(key, text);
  if (faults.length === 0 || known === undefined) return { text, kept: [] };
  const before = known[key];
  const isKept = before === undefined ? faults.every(({ kind }) => kind === undefined) : !faultsOf(key, before).length;
  return isKept ? { text: before, kept: faults.map((fault) => ({ ...fault, isKept })) } : { text, kept: [] };
}

const missing: UnreadableSetting = {
  key: 'argocd-cm',
  problem: 'it is missing, and the settings that were last in force cannot be read',
  isKept: false,
};

function ownData({ data, binaryKeys }: SettingsSource): SettingsData {
  const binary = binaryKeys.map((key): [string, string] => [key, notText]);
  return Object.fromEntries([...Object.entries(data), ...binary].filter(([key]) => isOwnKey(key)));
}

/** The unreadable part of one key that narrows. */
function faultsOf(key: string, text: string): readonly UnreadableSetting[] {
  const { settings } = parseSettings({ [key]: text });
  if (settings.unreadable.length > 0) return settings.unreadable;
  // The comparison of such a rule's kinds is undecided by itself: only a last value is better.
  return Object.entries(settings.overrides).flatMap(([kind, override]) =>
    ignoreRuleFaults({ ...settings, overrides: { [kind]: override } }).map(({ rule, problem }): UnreadableSetting => ({
      key,
      kind,
      problem: `the ${rule} ${problem}`,
      isKept: false,
    })),
  );
}
