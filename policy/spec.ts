import { at, isObject, own, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { hasMultipleSources, jsonOf, projectOf, sourcesOf } from '#model';
import type { Application, ApplicationCondition, ApplicationSource, AppProject, Cluster } from '#model';
import { isDestinationPermitted, isSourcePermitted } from './project.ts';

/** The destination cluster of an Application, or why it cannot be resolved (the text of the condition). */
export type ResolvedCluster = Pick<Cluster, 'server' | 'name'> | { readonly error: string };

const singleRequired = 'spec.source.repoURL and either spec.source.path or spec.source.chart are required';
const multiRequired = 'spec.source.repoURL and either source.path, source.chart, or source.ref are required for source';
const chartRevision = 'spec.source.targetRevision is required if the manifest source is a helm chart';

/**
 * What is wrong with the spec of an Application: its InvalidSpecError conditions, none when it may be compared (Argo CD: util/argo
 * ValidatePermissions, with its order and its early ends). `project` undefined: it does not exist.
 *
 * Difference: an incomplete entry of `spec.sources` is shown as JSON, where upstream prints a Go struct.
 *
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
  const { destination } = app.spec;
  const namespace = destination.namespace ?? '';
  if (!isDestinationPermitted(project, { server: cluster.server, name: cluster.name, namespace }, scopedClusters)) {
    const shown = (destination.name ?? '') === '' ? cluster.server : cluster.name;
    messages.push(
      `application destination server '${shown}' and namespace '${namespace}' do not match any of the allowed destinations in project '${nameOf(project, app)}'`,
    );
  }
  return invalid(messages);
}

/** Faults after which nothing else is looked at. */
function structureFaults(app: Application): readonly string[] {
  const { spec } = app;
  if (spec.sourceHydrator !== undefined) return hydratorFaults(spec.sourceHydrator);
  if (hasMultipleSources(spec)) {
    for (const source of sourcesOf(spec)) {
      const fault = sourceFault(source);
      if (fault !== undefined) return [fault];
    }
    return [];
  }
  const source = isObject(spec.source) ? spec.source : undefined;
  if (source === undefined || empty(source.repoURL) || (empty(source.path) && empty(source.chart)))
    return [singleRequired];
  return empty(source.chart) || !empty(source.targetRevision) ? [] : [chartRevision];
}

function sourceFault(source: ApplicationSource): string | undefined {
  const fields = isObject(source) ? source : { repoURL: '' };
  if (empty(fields.repoURL) || (empty(fields.path) && empty(fields.chart) && empty(fields.ref)))
    return `${multiRequired} ${stringifyJson(jsonOf(source))}`;
  return !empty(source.chart) && empty(source.targetRevision) ? chartRevision : undefined;
}

function hydratorFaults(hydrator: JsonObject): readonly string[] {
  const faults: string[] = [];
  if (empty(at(hydrator, 'drySource', 'repoURL'))) faults.push('spec.sourceHydrator.drySource.repoURL is required');
  if (empty(at(hydrator, 'syncSource', 'targetBranch')))
    faults.push('spec.sourceHydrator.syncSource.targetBranch is required');
  const hydrateTo = own(hydrator, 'hydrateTo');
  if (isObject(hydrateTo) && empty(own(hydrateTo, 'targetBranch')))
    faults.push('when spec.sourceHydrator.hydrateTo is set, spec.sourceHydrator.hydrateTo.targetBranch is required');
  return faults;
}

function sourceFaults(app: Application, project: AppProject): readonly string[] {
  const name = nameOf(project, app);
  const refused = (url: string): string => `application repo ${url} is not permitted in project '${name}'`;
  const hydrator = app.spec.sourceHydrator;
  if (hydrator === undefined)
    return sourcesOf(app.spec)
      .filter((source) => !isSourcePermitted(project, source.repoURL))
      .map((source) => refused(source.repoURL));
  const dry = text(at(hydrator, 'drySource', 'repoURL'));
  const synced = text(at(hydrator, 'syncSource', 'repoURL'));
  const faults = isSourcePermitted(project, dry) ? [] : [refused(dry)];
  if (synced !== '' && synced !== dry && !isSourcePermitted(project, synced))
    faults.push(`sync source repo ${synced} is not permitted in project '${name}'`);
  return faults;
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
