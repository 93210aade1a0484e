import { compileGlob, hashJson, isObject, outsideText, ownMember, parseGoBool } from '#base';
import type { Json, JsonObject } from '#base';
import { updateRuleFaults, updateRulesOnlyForJq } from '#diff';
import { defaultSettings, isLabelKey, serverPattern } from '#model';
import type { FilteredResource, Settings, TrackingMethod, UnreadableSetting } from '#model';
import { parseOverrides } from './overrides.ts';
import { lineOf, notText, splitCommaList, textList, yamlValue } from './values.ts';
import type { Narrowed, SettingsNote, SettingsProblem, ReportProblem } from './values.ts';

/**
 * Parses the data of argocd-cm (Argo CD: util/settings/settings.go). Never throws: a malformed
 * entry keeps its default and is listed in `problems`, and in `settings.unreadable` if it narrows
 * what the controller does. Difference: one bad `resource.customizations` key affects only its
 * kinds; in Argo CD it fails every comparison of every Application.
 */
export function parseSettings(data: SettingsData): {
  readonly settings: Settings;
  readonly problems: readonly SettingsProblem[];
  /** Entries that do less than in Argo CD. */
  readonly notes: readonly SettingsNote[];
} {
  if (Object.keys(data).length === 0) return { settings: defaultSettings, problems: [], notes: [] };
  const problems: SettingsProblem[] = [];
  const unreadable: UnreadableSetting[] = [];
  const report: ReportProblem = (where, message, narrowed) => {
    problems.push({ object: 'ConfigMap argocd-cm', message: `${where}: ${message}` });
    if (narrowed !== undefined) unreadable.push(unreadableSetting(where, message, narrowed));
  };
  const settings: Settings = {
    version: hashJson(data),
    tracking: {
      method: trackingMethod(data, report),
      labelKey: instanceLabelKey(data, report),
      installationId: installationId(data, report),
    },
    exclusions: parseFilters(data, 'resource.exclusions', report),
    inclusions: parseFilters(data, 'resource.inclusions', report),
    overrides: parseOverrides(data, report),
    ...compareOptions(data, report),
    ignoreResourceUpdatesEnabled: parseFlag(data, 'resource.ignoreResourceUpdatesEnabled', true, report),
    respectRBAC: respectRBAC(data, report),
    sensitiveAnnotations: splitCommaList(data['resource.sensitive.mask.annotations']),
    allowedNodeLabels: splitCommaList(data['application.allowedNodeLabels']),
    inClusterEnabled: narrowingSwitch(data, 'cluster.inClusterEnabled', true, report),
    impersonation: {
      enabled: narrowingSwitch(data, 'application.sync.impersonation.enabled', false, report),
      enforced: narrowingSwitch(data, 'application.sync.impersonation.enforced', true, report),
    },
    globalProjects: globalProjects(data, report),
    eventLabelKeys: {
      include: labelKeyGlobs(data, 'resource.includeEventLabelKeys', report),
      exclude: labelKeyGlobs(data, 'resource.excludeEventLabelKeys', report),
    },
    enabledSourceTypes: {
      Kustomize: isEnabled(data['kustomize.enable']),
      Helm: isEnabled(data['helm.enable']),
      Directory: isEnabled(data['jsonnet.enable']),
      Plugin: true,
    },
    unreadable,
    raw: data,
  };
  for (const { where, rule, problem } of updateRuleFaults(settings))
    report(where.replace(/^argocd-cm /, ''), `the ${rule} ${problem}`);
  return { settings, problems, notes: settingsNotes(settings) };
}

const unusedKeys: Readonly<Record<string, Pick<SettingsNote, 'reason' | 'message'>>> = {
  'resource.selectors': {
    reason: 'selectors',
    message: 'has no effect: objects of a kind are watched whatever their labels are',
  },
  'resource.manifest.compression.enabled': {
    reason: 'unused',
    message: 'has no effect: live objects are kept as text',
  },
  'resource.manifest.compression': { reason: 'unused', message: 'has no effect: live objects are kept as text' },
  'resource.manifest.storage': { reason: 'unused', message: 'has no effect: live objects are kept as text' },
};

function settingsNotes(settings: Settings): readonly SettingsNote[] {
  const object = 'ConfigMap argocd-cm';
  const rules = updateRulesOnlyForJq(settings).map(({ where, rule, problem }) => ({
    reason: 'jq' as const,
    object,
    message: `${where.replace(/^argocd-cm /, '')}: the ${rule} ${problem}`,
  }));
  const unused = Object.entries(unusedKeys)
    .filter(([key]) => !['', undefined].includes(settings.raw[key]?.trim()))
    .map(([key, { reason, message }]) => ({ reason, object, message: `${key}: ${message}` }));
  return [...rules, ...unused];
}

/** The data of a ConfigMap. */
export type SettingsData = Readonly<Record<string, string>>;

function unreadableSetting(where: string, message: string, narrowed: Narrowed): UnreadableSetting {
  // Keys of ConfigMaps contain no colon.
  const [key = '', ...inside] = where.split(': ');
  const problem = [...inside, message].join(': ');
  return { key, problem, isKept: false, ...(narrowed === 'every write' ? {} : narrowed) };
}

function trackingMethod(data: SettingsData, report: ReportProblem): TrackingMethod {
  const key = 'application.resourceTrackingMethod';
  const text = data[key] ?? '';
  if (text === 'label' || text === 'annotation+label' || text === 'annotation') return text;
  if (text !== '') report(key, `unknown method "${outsideText('field', text)}"`, 'every write');
  return 'annotation';
}

function instanceLabelKey(data: SettingsData, report: ReportProblem): string {
  const key = 'application.instanceLabelKey';
  const text = orDefault(data[key], defaultSettings.tracking.labelKey);
  if (!isLabelKey(text)) report(key, 'must be the key of a label', 'every write');
  return text;
}

/** Any text is valid; a value under `binaryData` arrives as this character. */
function installationId(data: SettingsData, report: ReportProblem): string {
  const text = data['installationID'] ?? '';
  if (text.includes(notText)) report('installationID', 'is not UTF-8', 'every write');
  return text;
}

/** Difference: Argo CD takes any other text for one of the two values. */
function narrowingSwitch(data: SettingsData, key: string, fallback: boolean, report: ReportProblem): boolean {
  const text = data[key] ?? '';
  if (text === 'true' || text === 'false') return text === 'true';
  if (text !== '') report(key, 'must be true or false', 'every write');
  return fallback;
}

const filterMembers = ['apiGroups', 'kinds', 'clusters'] as const;

/** An empty list matches everything, so a list that is not readable must not become one. */
function parseFilters(data: SettingsData, key: string, report: ReportProblem): readonly FilteredResource[] {
  const text = data[key] ?? '';
  return parseList(data, key, report).map((item) => {
    const lists = Object.fromEntries(
      filterMembers.map((member) => [
        member,
        textList(item, member, (message) => report(key, `${lineOf(text, member)}${message}`, 'every write')),
      ]),
    );
    for (const member of Object.keys(item))
      if (!filterMembers.some((name) => name === member))
        report(key, `${lineOf(text, member)}unknown member "${outsideText('field', member)}"`, 'every write');
    const { apiGroups = [], kinds = [], clusters = [] } = lists;
    if (![...apiGroups, ...clusters].every((pattern) => compileGlob(pattern) !== undefined))
      report(key, 'apiGroups and clusters must be globs', 'every write');
    return { apiGroups, kinds, clusters: clusters.map(serverPattern) };
  });
}

function parseList(data: SettingsData, key: string, report: ReportProblem): readonly JsonObject[] {
  const reportHere = (message: string): void => report(key, message, 'every write');
  const value = yamlValue(data[key], reportHere);
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    reportHere('must be a YAML list');
    return [];
  }
  const items = value as readonly Json[];
  if (!items.every(isObject)) reportHere('every item must be a map');
  return items.filter(isObject);
}

/** The kind that `ignoreAggregatedRoles` is about. */
const clusterRole = { kind: 'rbac.authorization.k8s.io/ClusterRole' };
const compareMembers = ['ignoreAggregatedRoles', 'ignoreResourceStatusField', 'ignoreDifferencesOnResourceUpdates'];

function compareOptions(
  data: SettingsData,
  report: ReportProblem,
): Pick<Settings, 'ignoreAggregatedRoles' | 'ignoreResourceStatusField' | 'ignoreDifferencesOnResourceUpdates'> {
  const key = 'resource.compareoptions';
  const reportHere = (message: string): void => report(key, message, clusterRole);
  const value = yamlValue(data[key], reportHere);
  const options = isObject(value) ? value : {};
  if (value !== undefined && !isObject(value)) reportHere('must be a YAML map');
  for (const member of Object.keys(options))
    if (!compareMembers.includes(member))
      reportHere(`${lineOf(data[key] ?? '', member)}unknown member "${outsideText('field', member)}"`);
  const aggregated = ownMember(options, 'ignoreAggregatedRoles') ?? false;
  if (typeof aggregated !== 'boolean') reportHere('ignoreAggregatedRoles must be true or false');
  const onUpdates = ownMember(options, 'ignoreDifferencesOnResourceUpdates');
  return {
    ignoreAggregatedRoles: aggregated === true,
    ignoreResourceStatusField: statusField(ownMember(options, 'ignoreResourceStatusField'), report),
    ignoreDifferencesOnResourceUpdates: onUpdates === undefined || onUpdates === null ? true : onUpdates === true,
  };
}

/** YAML parses a bare `off` as false, so both spellings arrive here. The default ignores most. */
function statusField(value: Json | undefined, report: ReportProblem): Settings['ignoreResourceStatusField'] {
  if (value === undefined || value === null || value === '' || value === 'all') return 'all';
  if (value === 'crd') return 'crd';
  if (value === 'none' || value === 'off' || value === 'false' || value === false) return 'none';
  report('resource.compareoptions', 'ignoreResourceStatusField must be all, crd or none; all is used');
  return 'all';
}

function respectRBAC(data: SettingsData, report: ReportProblem): Settings['respectRBAC'] {
  const key = 'resource.respectRBAC';
  const text = data[key] ?? '';
  if (text === 'normal' || text === 'strict') return text;
  if (text !== '') report(key, 'must be normal, strict or empty', 'every write');
  return 'off';
}

function globalProjects(data: SettingsData, report: ReportProblem): Settings['globalProjects'] {
  const key = 'globalProjects';
  const projects: { projectName: string; labelSelector: JsonObject }[] = [];
  for (const item of parseList(data, key, report)) {
    const projectName = ownMember(item, 'projectName');
    const labelSelector = ownMember(item, 'labelSelector') ?? {};
    if (typeof projectName === 'string' && projectName !== '' && isObject(labelSelector)) {
      projects.push({ projectName, labelSelector });
    } else report(key, 'every item needs projectName (a string) and labelSelector (a map)', 'every write');
  }
  return projects;
}

function parseFlag(data: SettingsData, key: string, fallback: boolean, report: ReportProblem): boolean {
  const text = data[key];
  if (text === undefined || text === '') return fallback;
  const value = parseGoBool(text);
  if (value === undefined) report(key, `must be true or false; ${fallback} is used`);
  return value ?? fallback;
}

/** A comma-separated list of globs. All spaces are removed, and invalid globs left out. */
function labelKeyGlobs(data: SettingsData, key: string, report: ReportProblem): readonly string[] {
  const globs = (data[key] ?? '').replaceAll(' ', '').split(',').filter(Boolean);
  return globs.filter((glob) => {
    const isReadable = compileGlob(glob) !== undefined;
    if (!isReadable) report(key, `"${glob}" is not a glob; it matches no label`);
    return isReadable;
  });
}

function isEnabled(text: string | undefined): boolean {
  return text === undefined || text === '' || text === 'true';
}

function orDefault(text: string | undefined, fallback: string): string {
  return text === undefined || text === '' ? fallback : text;
}
