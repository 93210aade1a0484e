import { hashJson, isObject, own, parseGoBool } from '#base';
import type { Json, JsonObject } from '#base';
import { faultsOfUpdates, unhiddenUpdates } from '#diff';
import { defaultSettings, serverPattern } from '#model';
import type { FilteredResource, Settings, TrackingMethod } from '#model';
import { parseOverrides } from './overrides.ts';
import { csv, strings, yamlValue } from './values.ts';
import type { Problem, Report } from './values.ts';

/**
 * The settings that the data of argocd-cm stands for (Argo CD: util/settings/settings.go). Never throws: a malformed entry keeps its
 * default and is named in `problems`. Difference from Argo CD: one bad `resource.customizations` key spoils itself, not every
 * comparison of every application.
 */
export function parseSettings(data: Readonly<Record<string, string>>): {
  readonly settings: Settings;
  readonly problems: readonly Problem[];
  /** What is in force, but does less than in Argo CD. */
  readonly notes: readonly Problem[];
} {
  if (Object.keys(data).length === 0) return { settings: defaultSettings, problems: [], notes: [] };
  const problems: Problem[] = [];
  const report: Report = (key, message) => {
    problems.push({ object: 'ConfigMap argocd-cm', message: `${key}: ${message}` });
  };
  const settings: Settings = {
    version: hashJson(data),
    tracking: {
      method: trackingMethod(data, report),
      labelKey: orDefault(data['application.instanceLabelKey'], defaultSettings.tracking.labelKey),
      installationId: data['installationID'] ?? '',
    },
    exclusions: filters(data, 'resource.exclusions', report),
    inclusions: filters(data, 'resource.inclusions', report),
    overrides: parseOverrides(data, report),
    ...compareOptions(data, report),
    ignoreResourceUpdatesEnabled: flag(data, 'resource.ignoreResourceUpdatesEnabled', true, report),
    respectRBAC: respectRBAC(data, report),
    sensitiveAnnotations: csv(data['resource.sensitive.mask.annotations']),
    allowedNodeLabels: csv(data['application.allowedNodeLabels']),
    inClusterEnabled: data['cluster.inClusterEnabled'] !== 'false',
    impersonation: {
      enabled: data['application.sync.impersonation.enabled'] === 'true',
      enforced: data['application.sync.impersonation.enforced'] !== 'false',
    },
    globalProjects: globalProjects(data, report),
    enabledSourceTypes: {
      Kustomize: enabled(data['kustomize.enable']),
      Helm: enabled(data['helm.enable']),
      Directory: enabled(data['jsonnet.enable']),
      Plugin: true,
    },
    raw: data,
  };
  for (const { where, rule, problem } of faultsOfUpdates(settings))
    report(where.replace(/^argocd-cm /, ''), `the ${rule} ${problem}`);
  const notes = unhiddenUpdates(settings).map(({ where, rule, problem }) => ({
    object: 'ConfigMap argocd-cm',
    message: `${where.replace(/^argocd-cm /, '')}: the ${rule} ${problem}`,
  }));
  return { settings, problems, notes };
}

function trackingMethod(data: Readonly<Record<string, string>>, report: Report): TrackingMethod {
  const text = data['application.resourceTrackingMethod'] ?? '';
  if (text === 'label' || text === 'annotation+label' || text === 'annotation') return text;
  if (text !== '')
    report('application.resourceTrackingMethod', `unknown method "${text}"; annotation tracking is used instead`);
  return 'annotation';
}

function filters(data: Readonly<Record<string, string>>, key: string, report: Report): readonly FilteredResource[] {
  return listOf(data, key, report).map((item) => ({
    apiGroups: strings(own(item, 'apiGroups')),
    kinds: strings(own(item, 'kinds')),
    clusters: strings(own(item, 'clusters')).map(serverPattern),
  }));
}

function listOf(data: Readonly<Record<string, string>>, key: string, report: Report): readonly JsonObject[] {
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
  report: Report,
): Pick<Settings, 'ignoreAggregatedRoles' | 'ignoreResourceStatusField' | 'ignoreDifferencesOnResourceUpdates'> {
  const key = 'resource.compareoptions';
  const value = yamlValue(data[key], key, report);
  const options = isObject(value) ? value : {};
  if (value !== undefined && !isObject(value)) report(key, 'must be a YAML map');
  const aggregated = own(options, 'ignoreAggregatedRoles');
  const onUpdates = own(options, 'ignoreDifferencesOnResourceUpdates');
  return {
    ignoreAggregatedRoles: aggregated === true,
    ignoreResourceStatusField: statusField(own(options, 'ignoreResourceStatusField'), report),
    ignoreDifferencesOnResourceUpdates: onUpdates === undefined || onUpdates === null ? true : onUpdates === true,
  };
}

/** YAML reads a bare `off` as false, so both spellings arrive here. */
function statusField(value: Json | undefined, report: Report): Settings['ignoreResourceStatusField'] {
  if (value === undefined || value === null || value === '' || value === 'all') return 'all';
  if (value === 'crd') return 'crd';
  if (value === 'none' || value === 'off' || value === 'false' || value === false) return 'none';
  report('resource.compareoptions', 'ignoreResourceStatusField must be all, crd or none; all is used');
  return 'all';
}

function respectRBAC(data: Readonly<Record<string, string>>, report: Report): Settings['respectRBAC'] {
  const key = 'resource.respectRBAC';
  const text = data[key] ?? '';
  if (text === 'normal' || text === 'strict') return text;
  if (text !== '') report(key, 'must be normal, strict or empty; nothing is left out');
  return 'off';
}

function globalProjects(data: Readonly<Record<string, string>>, report: Report): Settings['globalProjects'] {
  const key = 'globalProjects';
  const projects: { projectName: string; labelSelector: JsonObject }[] = [];
  for (const item of listOf(data, key, report)) {
    const projectName = own(item, 'projectName');
    const labelSelector = own(item, 'labelSelector') ?? {};
    if (typeof projectName === 'string' && projectName !== '' && isObject(labelSelector)) {
      projects.push({ projectName, labelSelector });
    } else report(key, 'every item needs projectName (a string) and labelSelector (a map)');
  }
  return projects;
}

function flag(data: Readonly<Record<string, string>>, key: string, fallback: boolean, report: Report): boolean {
  const text = data[key];
  if (text === undefined || text === '') return fallback;
  const value = parseGoBool(text);
  if (value === undefined) report(key, `must be true or false; ${fallback} is used`);
  return value ?? fallback;
}

function enabled(text: string | undefined): boolean {
  return text === undefined || text === '' || text === 'true';
}

function orDefault(text: string | undefined, fallback: string): string {
  return text === undefined || text === '' ? fallback : text;
}
