import { isObject, ownMember, parseGoBool, valueAt } from '#base';
import {
  annotationOf,
  annotations,
  asObject,
  csvAnnotation,
  hasSyncOption,
  isAutomated,
  isRefused,
  projectOf,
  readAddress,
  readSourceAddress,
  sourcesOf,
} from '#model';
import type { AppProject, Application, ApplicationSource, ResourceIgnoreDifferences } from '#model';
import { globalProjectFault, namespacePatternFault, projectFaults } from '#policy';
import type { ProjectFaultReason } from '#policy';
import { isSomething, isTrue, secretsFor } from './facts.ts';
import { ruleFeatures } from './ignore-rules.ts';
import type { InstallationFacts } from './facts.ts';
import { localDiff, rows } from './rows.ts';
import { destinationOf } from './selection.ts';
import type { UsedFeature } from './rows.ts';

export { installationFeatures } from './installation-features.ts';
export type { UsedFeature } from './rows.ts';

/**
 * Features of one Application that Driftless lacks or implements differently. A pure function of
 * the Application, its project and the settings. Problems that only rendering shows (a submodule,
 * an LFS pointer, a `.jsonnet` file) come from the comparison. A source without an explicit type
 * has the type that Argo CD detected (`status.sourceType`).
 */
export function applicationFeatures(app: Application, installation: InstallationFacts): readonly UsedFeature[] {
  const project = installation.projects.get(projectOf(app));
  return [
    ...sourceFeatures(app, installation),
    ...policyFeatures(app, installation),
    ...ignoreFeatures(app.spec.ignoreDifferences ?? []),
    ...placeFeatures(app, installation),
    ...(project === undefined ? [] : [...projectFeatures(project), ...globalFeatures(project, installation)]),
  ];
}

function sourceFeatures(app: Application, installation: InstallationFacts): readonly UsedFeature[] {
  const found: UsedFeature[] = [];
  if (app.spec.sourceHydrator !== undefined)
    found.push({
      feature:
        'source hydrator: enable it with hydrator.enabled; without commit.server, commits are made by the controller itself',
      where: 'spec.sourceHydrator',
      severity: 'info',
      row: rows.hydrator,
    });
  const dry = valueAt(app.spec.sourceHydrator ?? {}, 'drySource');
  if (isObject(dry) && typeof dry['repoURL'] === 'string') {
    const source: ApplicationSource = { ...dry, repoURL: dry['repoURL'] };
    const where = 'spec.sourceHydrator.drySource';
    found.push(...addressFeatures(source, where), ...programFeatures(source, where, undefined, installation.settings));
  }
  const sources = sourcesOf(app.spec);
  const multiple = sources.length > 1 || (app.spec.sources?.length ?? 0) > 0;
  sources.forEach((source, i) => {
    const where = multiple ? `spec.sources[${i}]` : 'spec.source';
    const seen = multiple ? app.status?.sourceTypes?.[i] : app.status?.sourceType;
    found.push(...typeFeatures(source, where, seen));
    found.push(...programFeatures(source, where, seen, installation.settings));
    found.push(...lenientFeatures(source, where));
    found.push(...addressFeatures(source, where));
    found.push(...repositoryFeatures(source.repoURL, projectOf(app), installation));
    if (/^[0-9a-f]{7,39}$/.test(source.targetRevision ?? ''))
      found.push({
        feature: 'a short commit SHA: the status will have the full one',
        where: `${where}.targetRevision`,
        severity: 'info',
        row: rows.shortSha,
      });
  });
  return found;
}

/** Addresses without a single reading. Files by address count, as far as the spec names them. */
function addressFeatures(source: ApplicationSource, where: string): readonly UsedFeature[] {
  const files = [...filesIn(source, 'valueFiles'), ...filesIn(source, 'fileParameters')];
  const readings = [
    { reading: readSourceAddress(source), field: `${where}.repoURL` },
    ...files
      .filter(({ text }) => /^https?:/i.test(text))
      .map(({ text, field }) => ({ reading: readAddress(text, 'web'), field: `${where}.${field}` })),
  ];
  return readings.flatMap(({ reading, field }): UsedFeature[] =>
    isRefused(reading)
      ? [
          {
            feature: `the address is refused: ${reading.refused}`,
            where: field,
            severity: 'refused',
            row: rows.addresses,
          },
        ]
      : [],
  );
}

function filesIn(source: ApplicationSource, list: 'valueFiles' | 'fileParameters'): readonly NamedFile[] {
  const items: unknown = ownMember(source.helm ?? {}, list);
  return (Array.isArray(items) ? (items as readonly unknown[]) : []).flatMap((item, i) => {
    const text = isObject(item) ? item['path'] : item;
    return typeof text === 'string' ? [{ text, field: `helm.${list}[${i}]` }] : [];
  });
}

interface NamedFile {
  readonly text: string;
  readonly field: string;
}

/** At most one feature per source: something outside this controller that the source needs. */
function typeFeatures(source: ApplicationSource, where: string, seen: string | undefined): readonly UsedFeature[] {
  const isNamed = source.plugin !== undefined && (source.plugin as unknown) !== null;
  if (!isNamed && seen !== 'Plugin') return [];
  const feature =
    'config management plugin source: the sidecar of the plugin must stand beside this controller, or beside the repo-server of --repo-server-plugins-only';
  return [{ feature, where: `${where}.${isNamed ? 'plugin' : 'path'}`, severity: 'differs', row: rows.otherTypes }];
}

/** Sources that Argo CD cannot render: a switch may create their objects. */
function lenientFeatures(source: ApplicationSource, where: string): readonly UsedFeature[] {
  const found: UsedFeature[] = [];
  const add = (feature: string, field: string, row: UsedFeature['row']): void => {
    found.push({
      feature: `${feature}: its objects may be created`,
      where: `${where}.${field}`,
      severity: 'differs',
      row,
    });
  };
  if (source.chart === undefined && /^(?:heads|tags|remotes)\//.test(source.targetRevision ?? ''))
    add('a revision that Argo CD does not resolve is rendered', 'targetRevision', rows.shortRefs);
  for (const { text, field } of filesIn(source, 'valueFiles'))
    if (/(?:^|\/)\*\*$/.test(text))
      add('a pattern that matches directories, where helm fails in Argo CD, is rendered', field, rows.valuePatterns);
  return found;
}

/**
 * Programs that kustomize and helm start. A kustomization is read only when it is rendered, so that
 * is where its generators are named.
 */
function programFeatures(
  source: ApplicationSource,
  where: string,
  seen: string | undefined,
  { raw }: InstallationFacts['settings'],
): readonly UsedFeature[] {
  const values = [...filesIn(source, 'valueFiles'), ...filesIn(source, 'fileParameters')]
    .filter(({ text }) => /^(?!https?:)[a-z][a-z0-9+.-]*:\/\//i.test(text))
    .map(({ text, field }): UsedFeature => ({
      feature: `values by a plugin of helm (${text.slice(0, text.indexOf(':'))}): use a config management plugin, or --repo-server`,
      where: `${where}.${field}`,
      severity: 'refused',
      row: rows.helmPlugins,
    }));
  const options = Object.entries(raw).filter(([key]) => /^kustomize\.buildOptions(?:\.|$)/.test(key));
  const hasPlugins = options.some(([, text]) => /--enable[-_]alpha[-_]plugins(?!=(?:0|f|false)\b)/i.test(text));
  if (!hasPlugins || (source.kustomize === undefined && seen !== 'Kustomize')) return values;
  return [
    ...values,
    {
      feature:
        'plugins of kustomize are on: a generator that runs a program (KSOPS) is refused, and its comparison names it',
      where: `${where}.path`,
      severity: 'differs',
      row: rows.execPlugins,
    },
  ];
}

const azure = ['azureServicePrincipalClientSecret', 'azureServicePrincipalClientId', 'azureServicePrincipalClientID'];

function repositoryFeatures(url: string, project: string, { repositories }: InstallationFacts): readonly UsedFeature[] {
  const found: UsedFeature[] = [];
  for (const { secret, keys, on } of secretsFor(url, project, repositories)) {
    const add = (feature: string, severity: UsedFeature['severity'], row: UsedFeature['row']): void => {
      found.push({ feature, where: `Secret ${secret}`, severity, row });
    };
    const isGit = /^(?:https?:\/\/|ssh:\/\/|[^/]*@[^/]*:)/.test(url);
    const isAzure = azure.some((key) => keys.has(key)) || on.has('useAzureWorkloadIdentity');
    if (isAzure && !isGit) add('Azure credentials for a registry', 'refused', rows.credentials);
    if (on.has('useAzureWorkloadIdentity') && isGit)
      add('Azure workload identity: the pods of this controller need it, too', 'differs', rows.credentials);
  }
  return found;
}

function policyFeatures(app: Application, installation: InstallationFacts): readonly UsedFeature[] {
  return [...optionFeatures(app), ...policyMembers(app), ...impersonation(app, installation)];
}

/** Sync options and their annotation equivalents. */
function optionFeatures(app: Application): readonly UsedFeature[] {
  const found: UsedFeature[] = [];
  const options = app.spec.syncPolicy?.syncOptions;
  const has = (option: string): boolean => hasSyncOption(options, option);
  const annotationPath = (name: string): string => `metadata.annotations["${name}"]`;
  if (csvAnnotation(asObject(app), annotations.compareOptions).includes('ServerSideDiff=true'))
    found.push({
      feature: localDiff,
      where: annotationPath(annotations.compareOptions),
      severity: 'info',
      row: rows.serverSideDiff,
    });
  const info = (feature: string, row: UsedFeature['row']): void => {
    found.push({ feature, where: 'spec.syncPolicy.syncOptions', severity: 'info', row });
  };
  if (has('RespectIgnoreDifferences=true'))
    info('RespectIgnoreDifferences: lists of custom resources are merged item by item', rows.respectIgnore);
  if (has('Replace=true'))
    info('Replace=true: what Git drops is a difference; in Argo CD such an object stays Synced', rows.replace);
  else if (has('ServerSideApply=true') && !has('ClientSideApplyMigration=false'))
    info(
      'ServerSideApply=true: fields of earlier client-side applies are taken over, also of objects that were replaced',
      rows.migration,
    );
  return found;
}

function policyMembers(app: Application): readonly UsedFeature[] {
  const found: UsedFeature[] = [];
  const { managedNamespaceMetadata } = app.spec.syncPolicy ?? {};
  const info = (feature: string, where: string, row: UsedFeature['row']): void => {
    found.push({ feature, where, severity: 'info', row });
  };
  if (managedNamespaceMetadata !== undefined)
    info(
      'metadata of the destination Namespace: the right to change it is needed',
      'spec.syncPolicy.managedNamespaceMetadata',
      rows.namespaceMetadata,
    );
  if (isAutomated(app.spec) && parseGoBool(app.metadata.annotations?.[annotations.retryLatestRevision]) === true)
    info(
      'retries of an automated sync take the latest revision',
      `metadata.annotations["${annotations.retryLatestRevision}"]`,
      rows.retries,
    );
  if (app.status?.resources?.some(({ hook }) => hook === true) === true)
    info('hooks: each gets an annotation of ours when it is made', 'status.resources', rows.hooks);
  return found;
}

function impersonation(app: Application, { settings, projects }: InstallationFacts): readonly UsedFeature[] {
  const accounts = projects.get(projectOf(app))?.spec.destinationServiceAccounts ?? [];
  if (!settings.impersonation.enabled || accounts.length === 0) return [];
  return [
    {
      feature: 'impersonation: the right to impersonate is needed (rbac.impersonation of the chart)',
      where: `AppProject ${projectOf(app)}: spec.destinationServiceAccounts`,
      severity: 'info',
      row: rows.impersonation,
    },
  ];
}

/** Invalid JSON pointers, and jq programs that are not path expressions. */
function ignoreFeatures(list: readonly ResourceIgnoreDifferences[]): readonly UsedFeature[] {
  return list.flatMap((rule, i) => ruleFeatures(rule, `spec.ignoreDifferences[${i}]`));
}

/** Namespace, destination, and skip-reconcile. */
function placeFeatures(app: Application, installation: InstallationFacts): readonly UsedFeature[] {
  const found: UsedFeature[] = [];
  const { namespace } = installation;
  const target = destinationOf(app, installation);
  if ('error' in target)
    found.push({
      feature: target.error,
      where: 'spec.destination',
      severity: target.refused === true ? 'refused' : 'info',
      row: target.refused === true ? rows.scopedCluster : rows.destination,
    });
  if (isTrue(annotationOf(asObject(app), annotations.skipReconcile)))
    found.push({
      feature: 'left alone by both controllers (skip-reconcile); compared here all the same',
      where: `metadata.annotations["${annotations.skipReconcile}"]`,
      severity: 'info',
      row: rows.skipReconcile,
    });
  const own = app.metadata.namespace ?? namespace;
  if (own !== namespace)
    found.push({
      feature:
        'in another namespace than the controller: rights are needed there (rbac.applicationNamespaces of the chart)',
      where: `metadata.namespace: ${own}`,
      severity: 'info',
      row: rows.namespaces,
    });
  return found;
}

const faultFeatures: Readonly<Record<ProjectFaultReason, Pick<UsedFeature, 'feature' | 'row'>>> = {
  denyGlob: {
    feature: 'a deny entry that is no glob: it denies everything; in Argo CD it allows everything',
    row: rows.denyGlob,
  },
  denyAddress: {
    feature: 'a deny entry that no address of a source matches: such addresses are refused',
    row: rows.addresses,
  },
  deniedName: {
    feature: 'a denied name of a cluster: it is denied in every namespace, not only in those of the entry',
    row: rows.deniedName,
  },
  meaningless: {
    feature: 'a window with an unknown kind, or a pattern that is no glob: no sync; in Argo CD it has no effect',
    row: rows.meaninglessWindow,
  },
  neverOpen: { feature: 'an allow window that never opens; in Argo CD it is always open', row: rows.neverOpen },
  tooLong: { feature: 'a window that is too long to be read: it blocks every sync', row: rows.longWindow },
  unreadable: {
    feature: 'a value that cannot be read: it permits nothing; in Argo CD no AppProject is read then',
    row: rows.unreadableProject,
  },
};

function globalFeatures(project: AppProject, { settings, projects }: InstallationFacts): readonly UsedFeature[] {
  const { globalProjects } = settings;
  const fault = globalProjectFault(project, { globalProjects, lookup: (name) => projects.get(name) });
  if (fault === undefined) return [];
  return [
    {
      feature: `${fault}: its Applications are not written; in Argo CD nothing is inherited then`,
      where: `AppProject ${project.metadata.name ?? ''}`,
      severity: 'differs',
      row: rows.missingGlobal,
    },
  ];
}

function projectFeatures(project: AppProject): readonly UsedFeature[] {
  const found: UsedFeature[] = [];
  const name = project.metadata.name ?? '';
  const spec = project.spec as Readonly<Record<string, unknown>>;
  if ((project.spec.syncWindows?.length ?? 0) > 0)
    found.push({
      feature: 'sync windows: they do not hold up a termination',
      where: `AppProject ${name}: spec.syncWindows`,
      severity: 'info',
      row: rows.windows,
    });
  for (const member of ['signatureKeys', 'sourceIntegrity'])
    if (isSomething(spec[member]))
      found.push({
        feature: 'signatures are verified with gpg, where the controller runs',
        where: `AppProject ${name}: spec.${member}`,
        severity: 'info',
        row: rows.signatures,
      });
  for (const { reason, field } of projectFaults(project))
    found.push({ ...faultFeatures[reason], where: `AppProject ${name}: ${field}`, severity: 'differs' });
  for (const pattern of Array.isArray(project.spec.sourceNamespaces) ? project.spec.sourceNamespaces : []) {
    const fault = typeof pattern === 'string' ? namespacePatternFault(pattern) : undefined;
    if (fault !== undefined)
      found.push({
        feature: `a pattern of namespaces that matches nothing: ${fault}`,
        where: `AppProject ${name}: spec.sourceNamespaces: ${pattern}`,
        severity: 'differs',
        row: rows.namespacePatterns,
      });
  }
  return found;
}
