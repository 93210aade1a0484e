import { isObject, messageOf, omit } from '#base';
import type { JsonObject } from '#base';
import type { ApplicationSource } from '#model';
import { DesiredError } from '../errors.ts';
import type { Snapshot } from '../fetch/files/snapshot.ts';
import type { FileNode, Tree } from '../fetch/files/tree.ts';
import { checkCombinedSize } from './documents.ts';
import { mergeOverride } from './override.ts';
import { parseSmallYaml } from './small-yaml.ts';
import { originFields } from './source-type.ts';

/** A file beside the manifests that changes the source. */
interface OverrideFile {
  readonly name: string;
  readonly node: FileNode;
}

/** The directory of an application. */
export interface OverriddenDirectory {
  readonly snapshot: Snapshot;
  readonly segments: readonly string[];
  readonly appName: string;
}

/**
 * The source with the override files of its directory applied.
 * @throws DesiredError for a file that cannot be applied; SizeLimitExceeded
 */
export async function withOverrideFiles(
  spec: ApplicationSource,
  { snapshot, segments, appName }: OverriddenDirectory,
  maxBytes: number,
  signal: AbortSignal,
): Promise<ApplicationSource> {
  const files = overrideFiles(snapshot.tree, segments, appName);
  const nodes = files.map((file) => file.node);
  checkCombinedSize(
    nodes.map((node) => node.size),
    maxBytes,
  );
  const contents = await snapshot.read(nodes, signal);
  let source = spec;
  for (const { name, node } of files)
    source = withOverride(source, name, Buffer.from(contents.get(node.oid) ?? []).toString('utf8'));
  return source;
}

/** `.argocd-source.yaml`, then `.argocd-source-<app>.yaml`, where they exist. */
function overrideFiles(tree: Tree, directory: readonly string[], appName: string): readonly OverrideFile[] {
  const names = ['.argocd-source.yaml', ...(/^[\w.-]+$/.test(appName) ? [`.argocd-source-${appName}.yaml`] : [])];
  const files: OverrideFile[] = [];
  for (const name of names) {
    const found = tree.lookup([...directory, name]);
    if (found.kind === 'found' && found.node.kind === 'file') files.push({ name, node: found.node });
  }
  return files;
}

/**
 * Applies one override file. It may change everything but the origin of the source (Argo CD:
 * mergeSourceParameters).
 * @throws DesiredError
 */
export function withOverride(source: ApplicationSource, name: string, text: string): ApplicationSource {
  let merged: ApplicationSource;
  try {
    const patch = parseSmallYaml(text)[0] ?? null;
    if (patch === null) return source;
    if (!isObject(patch)) throw new DesiredError('DESIRED_SOURCE', 'it is not an object');
    merged = mergeOverride(source as unknown as JsonObject, patch) as unknown as ApplicationSource;
  } catch (error) {
    throw new DesiredError('DESIRED_SOURCE', `error while parsing source parameters: ${name}: ${messageOf(error)}`);
  }
  return { ...omit(merged, ...originFields), ...only(source, originFields) } as unknown as ApplicationSource;
}

function only(source: ApplicationSource, members: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(source).filter(([name]) => members.includes(name)));
}
