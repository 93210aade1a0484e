import type { JsonObject } from '#base';
import { diffDryRun, diffObjects, foldStringData, withUniqueItems } from '#diff';
import type { DiffResult, DiffRules } from '#diff';
import type { KubeObject, ResourceIgnoreDifferences, Settings } from '#model';
import { parseSettings } from '#settings';

/** A case of the areas `diff` and `dryrun`. */
export interface DiffCase {
  readonly target: JsonObject | null;
  readonly live: JsonObject | null;
  /** The answer to a dry run. */
  readonly predicted?: JsonObject;
  readonly includeMutations?: boolean;
  readonly ignoreDifferences: readonly JsonObject[];
  readonly configMap: Readonly<Record<string, string>>;
}

const settingsByData = new Map<string, Settings>();
const maxSettings = 2000;

function settingsFor(data: Readonly<Record<string, string>>): Settings {
  const key = JSON.stringify(data);
  const settings = settingsByData.get(key) ?? parseSettings(data).settings;
  if (settingsByData.size >= maxSettings) settingsByData.clear();
  settingsByData.set(key, settings);
  return settings;
}

function rulesOf({ configMap = {}, ignoreDifferences = [] }: Partial<DiffCase>): DiffRules {
  return {
    settings: settingsFor(configMap),
    ignoreDifferences: ignoreDifferences as unknown as readonly ResourceIgnoreDifferences[],
  };
}

export function compareCase(input: DiffCase): DiffResult {
  const { target = null, live = null } = input as Partial<DiffCase>;
  return diffObjects(target === null ? null : rendered(target), live as KubeObject | null, rulesOf(input));
}

/** A manifest as every comparison gets it from rendering. */
function rendered(target: JsonObject): KubeObject {
  return withUniqueItems(foldStringData(target) as unknown as KubeObject).object;
}

export function compareDryRun(input: DiffCase): DiffResult {
  const { target, live, predicted } = input as unknown as Readonly<Record<string, KubeObject>>;
  if (target === undefined || live === undefined || predicted === undefined) throw new TypeError('not a dry run');
  return diffDryRun(
    { target, live, predicted },
    rulesOf(input),
    input.includeMutations === true ? 'included' : 'excluded',
  );
}
