import { compileGlob, hashJson, isObject, outsideText, ownMember, parseGoBool } from '#base';
import type { Json, JsonObject } from '#base';
import { updateRuleFaults, updateRulesOnlyForJq } from '#diff';
import { defaultSettings, serverPattern } from '#model';
import type { FilteredResource, Settings, TrackingMethod } from '#model';
import { parseOverrides } from './overrides.ts';
import { splitCommaList, stringItems, yamlValue } from './values.ts';
import type { SettingsNote, SettingsProblem, ReportProblem } from './values.ts';

/**
 * Parses the data of argocd-cm (Argo CD: util/settings/settings.go). Never throws: a malformed
 * entry keeps its default and is listed in `problems`. Difference: one bad
 * `resource.customizations` key affects only itself; in Argo CD it fails every comparison of every
 * Application.
 */
export function parseSettings(data: Readonly<Record<string, string>>): {
  readonly settings: Settings;
  readonly problems: readonly SettingsProblem[];
  /** Entries that do less than in Argo CD. */
  readonly notes: readonly SettingsNote[];
} {
  if (Object.keys(data).length === 0) return { settings: defaultSettings, problems: [], notes: [] };
  const problems: SettingsProblem[] = [];
  const report: ReportProblem = (key, message) => {
    problems.push({ object: 'ConfigMap argocd-cm', message: `${key}: ${message}` });
  };
  const settings: Settings = {
    version: hashJson(data),
    tracking: {
      method: trackingMethod(data, report),
      labelKey: orDefault(data['application.instanceLabelKey'], defaultSettings.tracking.labelKey),
      installationId: data['installationID'] ?? '',
    },
    exclusions: parseFilters(data, 'resource.exclusions', report),
    inclusions: parseFilters(data, 'resource.inclusions', report),
    overrides: parseOverrides(data, report),
    ...compareOptions(data, report),
    ignoreResourceUpdatesEnabled: parseFlag(data, 'resource.ignoreResourceUpdatesEnabled', true, report),
    respectRBAC: respectRBAC(data, report),
    sensitiveAnnotations: splitCommaList(data['resource.sensitive.mask.annotations']),
    allowedNodeLabels: splitCommaList(data['application.allowedNodeLabels']),
    inClusterEnabled: data['cluster.inClusterEnabled'] !== 'false',
    impersonation: {
      enabled: data['application.sync.impersonation.enabled'] === 'true',
      enforced: data['application.sync.impersonation.enforced'] !== 'false',
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

function trackingMethod(data: Readonly<Record<string, string>>, report: ReportProblem): TrackingMethod {
  const text = data['application.resourceTrackingMethod'] ?? '';
  if (text === 'label' || text === 'annotation+label' || text === 'annotation') return text;
  if (text !== '')
    report(
      'application.resourceTrackingMethod',
      `unknown method "${outsideText('field', text)}"; annotation tracking is used instead`,
    );
  return 'annotation';
}

function parseFilters(
  data: Readonly<Record<string, string>>,
  key: string,
  report: ReportProblem,
): readonly FilteredResource[] {
  return parseList(data, key, report).map((item) => ({
    apiGroups: stringItems(ownMember(item, 'apiGroups')),
    kinds: stringItems(ownMember(item, 'kinds')),
    clusters: stringItems(ownMember(item, 'clusters')).map(serverPattern),
  }));
}

function parseList(data: Readonly<Record<string, string>>, key: string, report: ReportProblem): readonly JsonObject[] {
  const value = yamlValue(data[key], key, report);
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    report(key, 'must be a YAML list');
    return [];
  }
  const items = value as readonly Json[];
  if (!items.every(isObject)) report(key, 'every item must be a map; the others are ignored');
  return items.filter(isObject);
}

function compareOptions(
  data: Readonly<Record<string, string>>,
  report: ReportProblem,
): Pick<Settings, 'ignoreAggregatedRoles' | 'ignoreResourceStatusField' | 'ignoreDifferencesOnResourceUpdates'> {
  const key = 'resource.compareoptions';
  const value = yamlValue(data[key], key, report);
  const options = isObject(value) ? value : {};
  if (value !== undefined && !isObject(value)) report(key, 'must be a YAML map');
  const aggregated = ownMember(options, 'ignoreAggregatedRoles');
  const onUpdates = ownMember(options, 'ignoreDifferencesOnResourceUpdates');
  return {
    ignoreAggregatedRoles: aggregated === true,
    ignoreResourceStatusField: statusField(ownMember(options, 'ignoreResourceStatusField'), report),
    ignoreDifferencesOnResourceUpdates: onUpdates === undefined || onUpdates === null ? true : onUpdates === true,
  };
}

/** YAML parses a bare `off` as false, so both spellings arrive here. */
function statusField(value: Json | undefined, report: ReportProblem): Settings['ignoreResourceStatusField'] {
  if (value === undefined || value === null || value === '' || value === 'all') return 'all';
  if (value === 'crd') return 'crd';
  if (value === 'none' || value === 'off' || value === 'false' || value === false) return 'none';
  report('resource.compareoptions', 'ignoreResourceStatusField must be all, crd or none; all is used');
  return 'all';
}

function respectRBAC(data: Readonly<Record<string, string>>, report: ReportProblem): Settings['respectRBAC'] {
  const key = 'resource.respectRBAC';
  const text = data[key] ?? '';
  if (text === 'normal' || text === 'strict') return text;
  if (text !== '') report(key, 'must be normal, strict or empty; nothing is left out');
  return 'off';
}

function globalProjects(data: Readonly<Record<string, string>>, report: ReportProblem): Settings['globalProjects'] {
  const key = 'globalProjects';
  const projects: { projectName: string; labelSelector: JsonObject }[] = [];
  for (const item of parseList(data, key, report)) {
    const projectName = ownMember(item, 'projectName');
    const labelSelector = ownMember(item, 'labelSelector') ?? {};
    if (typeof projectName === 'string' && projectName !== '' && isObject(labelSelector)) {
      projects.push({ projectName, labelSelector });
    } else report(key, 'every item needs projectName (a string) and labelSelector (a map)');
  }
  return projects;
}

function parseFlag(
  data: Readonly<Record<string, string>>,
  key: string,
  fallback: boolean,
  report: ReportProblem,
): boolean {
  const text = data[key];
  if (text === undefined || text === '') return fallback;
  const value = parseGoBool(text);
  if (value === undefined) report(key, `must be true or false; ${fallback} is used`);
  return value ?? fallback;
}

/** A comma-separated list of globs. All spaces are removed, and invalid globs left out. */
function labelKeyGlobs(data: Readonly<Record<string, string>>, key: string, report: ReportProblem): readonly string[] {
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
