import { hashJson, omit } from '#base';
import type { JsonObject } from '#base';
import type { ApplicationSource } from '#model';
import { DesiredError } from '../errors.ts';
import type { DirectoryNode } from '../fetch/files/tree.ts';
import type { SourceType } from '../types.ts';

/** The names that a kustomization may have, in the order in which kustomize looks for them. */
export const kustomizationNames: ReadonlySet<string> = new Set([
  'kustomization.yaml',
  'kustomization.yml',
  'Kustomization',
]);

/**
 * Where a source comes from. An override cannot change it, and the cache identifies it by the tree
 * instead.
 */
export const originFields = ['repoURL', 'path', 'targetRevision', 'chart'] as const;

/**
 * The type of a source: the one it sets, otherwise by the files of its directory (Argo CD:
 * GetAppSourceType, util/app/discovery). A type that administrators disabled is read as plain
 * files.
 * @throws DesiredError when several types are set at once
 */
export function sourceTypeOf(
  source: ApplicationSource,
  directory: DirectoryNode,
  enabledTypes: Readonly<Record<string, boolean>>,
): SourceType {
  const type = explicitType(source) ?? discoveredType(directory, enabledTypes);
  return enabledTypes[type] === false ? 'Directory' : type;
}

/** The type that the source itself sets. @throws DesiredError when several types are set at once */
export function explicitType(source: ApplicationSource): SourceType | undefined {
  const set: SourceType[] = [];
  if (isSet(source.kustomize)) set.push('Kustomize');
  if (isSet(source.helm)) set.push('Helm');
  if (isSet(source.directory)) set.push('Directory');
  if (isSet(source.plugin)) set.push('Plugin');
  if (set.length > 1)
    throw new DesiredError('DESIRED_SOURCE', `multiple application sources defined: ${set.join(',')}`, {
      retry: 'never',
    });
  return set[0];
}

/** An empty object counts, null does not. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function discoveredType(directory: DirectoryNode, enabledTypes: Readonly<Record<string, boolean>>): SourceType {
  let chart = false;
  for (const [name, node] of directory.children) {
    if (node.kind === 'directory') continue;
    if (kustomizationNames.has(name) && enabledTypes['Kustomize'] !== false) return 'Kustomize';
    // The suffix counts, not the name: MyChart.yaml makes a chart too, as in Argo CD
    // (util/app/discovery).
    if (name.endsWith('Chart.yaml')) chart = true;
  }
  return chart ? 'Helm' : 'Directory';
}

/** A hash of the options that the result depends on, besides the files. */
export function optionsHash(source: ApplicationSource): string {
  return hashJson(omit(source, ...originFields, 'ref', 'name') as JsonObject);
}
