import { valueAt, isObject, outsideText, ownMember, splitUserInfo, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import {
  destinationNamespaceOf,
  hasMultipleSources,
  hydratorOf,
  isRefused,
  jsonOf,
  projectOf,
  readSourceAddress,
  sourcesOf,
} from '#model';
import type { Application, ApplicationCondition, ApplicationSource, AppProject, Cluster } from '#model';
import { isDestinationPermitted } from './project.ts';
import { isSourcePermitted } from './source-repos.ts';

/**
 * The destination cluster of an Application, or why it cannot be resolved (the text of the
 * condition).
 */
export type ResolvedCluster = Pick<Cluster, 'server' | 'name'> | { readonly error: string };

const singleRequired = 'spec.source.repoURL and either spec.source.path or spec.source.chart are required';
const multiRequired = 'spec.source.repoURL and either source.path, source.chart, or source.ref are required for source';
const nothingToRender =
  'spec.sources has only sources with a ref, which render nothing: at least one source needs a path or a chart';
const chartRevision = 'spec.source.targetRevision is required if the manifest source is a helm chart';

/**
 * Returns the InvalidSpecError conditions of an Application, none if it may be compared (Argo CD:
 * util/argo ValidatePermissions, with its order and early returns). `project` undefined: it does
 * not exist. Differences: an incomplete entry of `spec.sources` is shown as JSON instead of a Go
 * struct; sources that render nothing together (only `ref`), and a hydrator without
 * `syncSource.path`, are faults.
 * @param scopedClusters the clusters whose Secrets name the project.
 */
export function validateSpec(
  app: Application,
  project: AppProject | undefined,
  cluster: ResolvedCluster,
  scopedClusters: readonly Pick<Cluster, 'server' | 'name'>[] = [],
): readonly ApplicationCondition[] {
  if (project === undefined)
    return invalid([`Application referencing project ${app.spec.project ?? ''} which does not exist`]);
  const structure = structureFaults(app);
  if (structure.length > 0) return invalid(structure);
  const messages = [...sourceFaults(app, project)];
  if ('error' in cluster) return invalid([...messages, cluster.error]);
  const denied = destinationDenied(app, project, cluster, scopedClusters);
  return invalid(denied === undefined ? messages : [...messages, denied]);
}

/** Why the project denies the Application's destination; undefined if it is permitted. */
export function destinationDenied(
  app: Application,
  project: AppProject,
  cluster: Pick<Cluster, 'server' | 'name'>,
  scopedClusters: readonly Pick<Cluster, 'server' | 'name'>[] = [],
): string | undefined {
  const { destination } = app.spec;
  const namespace = destinationNamespaceOf(app);
  const place = { server: cluster.server, name: cluster.name, namespace };
  if (isDestinationPermitted(project, place, scopedClusters)) return undefined;
  const shown = (destination.name ?? '') === '' ? cluster.server : cluster.name;
  return `application destination server '${shown}' and namespace '${namespace}' do not match any of the allowed destinations in project '${nameOf(project, app)}'`;
}

/** Faults that end the checks. */
function structureFaults(app: Application): readonly string[] {
  const { spec } = app;
  const hydrator = hydratorOf(spec);
  if (hydrator !== undefined) return hydratorFaults(hydrator);
  if (hasMultipleSources(spec)) {
    for (const source of sourcesOf(spec)) {
      const fault = sourceFault(source);
      if (fault !== undefined) return [fault];
    }
    return sourcesOf(spec).every(isReferenceOnly) ? [nothingToRender] : [];
  }
  const source = isObject(spec.source) ? spec.source : undefined;
  if (source === undefined || empty(source.repoURL) || (empty(source.path) && empty(source.chart)))
    return [singleRequired];
  return empty(source.chart) || !empty(source.targetRevision) ? [] : [chartRevision];
}

/** Reports a source that only provides files to others (`ref`) and renders nothing itself. */
export function isReferenceOnly(source: ApplicationSource): boolean {
  return !empty(source.ref) && empty(source.path) && empty(source.chart);
}

function sourceFault(source: ApplicationSource): string | undefined {
  const fields = isObject(source) ? source : { repoURL: '' };
  if (empty(fields.repoURL) || (empty(fields.path) && empty(fields.chart) && empty(fields.ref)))
    return `${multiRequired} ${stringifyJson(jsonOf(source))}`;
  return !empty(source.chart) && empty(source.targetRevision) ? chartRevision : undefined;
}

function hydratorFaults(hydrator: JsonObject): readonly string[] {
  const faults: string[] = [];
  if (empty(valueAt(hydrator, 'drySource', 'repoURL')))
    faults.push('spec.sourceHydrator.drySource.repoURL is required');
  if (empty(valueAt(hydrator, 'syncSource', 'targetBranch')))
    faults.push('spec.sourceHydrator.syncSource.targetBranch is required');
  // The schema requires it; without it the whole branch would be rendered.
  if (empty(valueAt(hydrator, 'syncSource', 'path'))) faults.push('spec.sourceHydrator.syncSource.path is required');
  const hydrateTo = ownMember(hydrator, 'hydrateTo');
  if (isObject(hydrateTo) && empty(ownMember(hydrateTo, 'targetBranch')))
    faults.push('when spec.sourceHydrator.hydrateTo is set, spec.sourceHydrator.hydrateTo.targetBranch is required');
  return faults;
}

/** Why the source may not be used; undefined if the project permits its address. */
export function sourceDenied(
  project: AppProject,
  source: Pick<ApplicationSource, 'repoURL' | 'chart'>,
  projectName: string,
): string | undefined {
  const address = readSourceAddress(source);
  if (isRefused(address)) return `application repo ${shownAddress(source.repoURL)} is refused: ${address.refused}`;
  if (isSourcePermitted(project, address)) return undefined;
  return `application repo ${source.repoURL} is not permitted in project '${projectName}'`;
}

/** An address that cannot be read, for messages: on one line, without user and password. */
function shownAddress(text: string): string {
  return outsideText('url', JSON.stringify(splitUserInfo(text).url.slice(0, maxShownAddress)));
}

const maxShownAddress = 300;

/** Checks the rendered sources, and of a hydrator also its inputs. */
function sourceFaults(app: Application, project: AppProject): readonly string[] {
  const name = nameOf(project, app);
  const hydrator = hydratorOf(app.spec);
  const rendered = sourcesOf(app.spec);
  if (hydrator === undefined)
    return rendered.map((source) => sourceDenied(project, source, name)).filter((fault) => fault !== undefined);
  const dry = text(valueAt(hydrator, 'drySource', 'repoURL'));
  const elsewhere = rendered
    .filter(({ repoURL }) => repoURL !== dry)
    .map((source) => sourceDenied(project, source, name)?.replace(/^application/, 'sync source'));
  return [sourceDenied(project, { repoURL: dry }, name), ...elsewhere].filter((fault) => fault !== undefined);
}

function invalid(messages: readonly string[]): readonly ApplicationCondition[] {
  return messages.map((message) => ({ type: 'InvalidSpecError', message }));
}

function nameOf(project: AppProject, app: Application): string {
  return project.metadata.name ?? projectOf(app);
}

function empty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '';
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
