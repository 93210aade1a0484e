import { hashJson, isObject, messageOf, omit } from '#base';
import type { JsonObject } from '#base';
import type { ApplicationSource } from '#model';
import { DesiredError } from '../errors.ts';
import type { DirectoryNode, FileNode, Tree } from '../fetch/tree.ts';
import type { SourceType } from '../types.ts';
import { parseSmallYaml } from './manifest-reader.ts';
import { overridden } from './override.ts';

export const kustomizations: ReadonlySet<string> = new Set([
  'kustomization.yaml',
  'kustomization.yml',
  'Kustomization',
]);

/** Files beside the manifests that change the source, in the order in which they are applied. */
export interface OverrideFile {
  readonly name: string;
  readonly node: FileNode;
}

/** `.argocd-source.yaml` and `.argocd-source-<app>.yaml` of an application's directory, as far as they are there. */
export function overrideFiles(tree: Tree, directory: readonly string[], appName: string): readonly OverrideFile[] {
  const names = ['.argocd-source.yaml', ...(/^[\w.-]+$/.test(appName) ? [`.argocd-source-${appName}.yaml`] : [])];
  const files: OverrideFile[] = [];
  for (const name of names) {
    const found = tree.lookup([...directory, name]);
    if (found.kind === 'found' && found.node.kind === 'file') files.push({ name, node: found.node });
  }
  return files;
}

/**
 * Applies an override file, which may change all of a source but where it comes from (Argo CD: mergeSourceParameters).
 * @throws DesiredError
 */
export function withOverride(source: ApplicationSource, name: string, text: string): ApplicationSource {
  let merged: ApplicationSource;
  try {
    const patch = parseSmallYaml(text)[0] ?? null;
    if (patch === null) return source;
    if (!isObject(patch)) throw new DesiredError('DESIRED_SOURCE', 'it is not an object');
    merged = overridden(source as unknown as JsonObject, patch) as unknown as ApplicationSource;
  } catch (error) {
    throw new DesiredError('DESIRED_SOURCE', `error while parsing source parameters: ${name}: ${messageOf(error)}`);
  }
  return { ...omit(merged, ...origin), ...only(source, origin) } as unknown as ApplicationSource;
}

/**
 * What a source is: as it says, else by the files of its directory (Argo CD: GetAppSourceType, util/app/discovery). A type that the
 * administrators have switched off is read as plain files.
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

/** What the source itself says that it is. @throws DesiredError when several types are set at once */
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
    if (kustomizations.has(name) && enabledTypes['Kustomize'] !== false) return 'Kustomize';
    // A suffix, not a name: MyChart.yaml makes a chart too, as in Argo CD (util/app/discovery).
    if (name.endsWith('Chart.yaml')) chart = true;
  }
  return chart ? 'Helm' : 'Directory';
}

/** What a rendered directory depends on besides its files. */
export function optionsHash(source: ApplicationSource): string {
  return hashJson(omit(source, ...origin, 'ref', 'name') as JsonObject);
}

/** Where a source comes from: an override may not change it, and the cache knows it by the tree instead. */
const origin = ['repoURL', 'path', 'targetRevision', 'chart'] as const;

function only(source: ApplicationSource, members: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(source).filter(([name]) => members.includes(name)));
}
