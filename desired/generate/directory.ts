import { compileGlob, yieldToLoop } from '#base';
import type { DirectorySource, KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { DesiredError, ManifestError, SizeLimitExceeded } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import { notThere } from '../fetch/snapshot.ts';
import { walk } from '../fetch/tree.ts';
import type { DirectoryNode, FileNode, Tree, WalkedEntry } from '../fetch/tree.ts';
import { isSkipped } from './documents.ts';
import type { ManifestFile } from './documents.ts';
import { planJsonnet } from './jsonnet.ts';
import type { JsonnetPlan } from './jsonnet.ts';
import type { KustomizeDeps } from './kustomize.ts';
import type { ManifestReader } from './manifest-reader.ts';
import type { Job, Plan } from './plan.ts';
import { optionsHash } from './source-type.ts';

/** A file that may hold manifests; its content has not been read yet. */
export interface Candidate {
  /** Relative to the application's directory. */
  readonly path: string;
  readonly name: string;
  readonly file: FileNode;
}

const manifestName = /\.(?:yaml|yml|json|jsonnet)$/;
const lfsPointer = Buffer.from('version https://git-lfs.github.com/spec/');

export interface DirectoryScope {
  readonly tree: Tree;
  /** The application's directory: segments from the root as written (links allowed), and the node where they end. */
  readonly segments: readonly string[];
  readonly directory: DirectoryNode;
  readonly options: DirectorySource;
}

export interface DirectoryDeps extends KustomizeDeps {
  readonly logger: Logger;
}

/** How a directory of manifests is rendered: from the commit, without a checkout, but for Jsonnet, which a program evaluates. */
export async function planDirectory(job: Job, deps: DirectoryDeps, signal: AbortSignal): Promise<Plan> {
  const { snapshot, segments, directory } = job;
  const { limits, logger } = deps;
  const scope: DirectoryScope = { tree: snapshot.tree, segments, directory, options: job.source.directory ?? {} };
  const jsonnet = await jsonnetOf(job, scope, deps, signal);
  return {
    // Links may lead anywhere in the commit; without any, a directory is its tree.
    key: [
      snapshot.tree.links.length > 0 || directory.oid === '' ? snapshot.revision : directory.oid,
      ...[
        segments,
        optionsHash(job.source),
        job.request.options.enabledTypes['Directory'] ?? true,
        jsonnet?.key ?? null,
      ],
    ],
    async render(inner) {
      const candidates = candidatesOf(scope, logger).filter(({ name }) => jsonnet !== undefined || !isJsonnet(name));
      const plain = candidates.filter(({ name }) => !isJsonnet(name));
      // Files that ask not to be rendered do not count, but must be read to know: so far beyond the limit nothing is read at all.
      checkSize(
        plain.map(({ file }) => file.size),
        limits.maxManifestBytes * 4,
      );
      const contents = await snapshot.read(
        plain.map(({ file }) => file),
        inner,
      );
      const evaluated = await jsonnet?.render(inner);
      const files = candidates.flatMap(({ path, name, file }): readonly ManifestFile[] =>
        isJsonnet(name)
          ? (evaluated?.get(path) ?? [])
          : [{ path: [...segments, path].join('/'), name, content: contents.get(file.oid) ?? new Uint8Array() }],
      );
      const objects: KubeObject[] = [];
      for await (const some of render(files, deps, inner)) {
        for (const object of some) objects.push(object);
        await yieldToLoop();
        inner.throwIfAborted();
      }
      return { objects, bytes: files.reduce((sum, { content }) => sum + content.length, 256) };
    },
  };
}

function isJsonnet(name: string): boolean {
  return name.endsWith('.jsonnet');
}

/** Undefined where there is no Jsonnet, or where the administrators switched it off: such files are then none (`jsonnet.enable`). */
async function jsonnetOf(
  job: Job,
  scope: DirectoryScope,
  deps: DirectoryDeps,
  signal: AbortSignal,
): Promise<JsonnetPlan | undefined> {
  if (job.request.options.enabledTypes['Directory'] === false) return undefined;
  if (!hasJsonnet(scope.directory, scope.options.recurse === true)) return undefined;
  const candidates = candidatesOf(scope, deps.logger).filter(({ name }) => isJsonnet(name));
  const contents = await job.snapshot.read(
    candidates.map(({ file }) => file),
    signal,
  );
  const files = candidates.filter(({ file }) => !isSkipped(contents.get(file.oid) ?? new Uint8Array()));
  return files.length === 0 ? undefined : planJsonnet(job, files, deps, signal);
}

/** Looked at before every render, also of what is cached: so it is remembered with the tree. */
function hasJsonnet(directory: DirectoryNode, recurse: boolean): boolean {
  const known = jsonnetIn.get(directory);
  if (known?.recurse === recurse) return known.found;
  let found = false;
  for (const { name } of walk(directory, recurse)) found ||= isJsonnet(name);
  jsonnetIn.set(directory, { recurse, found });
  return found;
}

const jsonnetIn = new WeakMap<DirectoryNode, { readonly recurse: boolean; readonly found: boolean }>();

/**
 * The files of a directory source by name, in lexical order (Argo CD: getPotentiallyValidManifests). Order of the rules: extension, link
 * inside the repository, regular file, exclude, include. Globs run over the path relative to the application's directory, `*` crosses `/`.
 * @throws DesiredError for a link that leaves the repository; UnsupportedSource for submodules in the way
 */
export function candidatesOf(scope: DirectoryScope, logger: Logger): Candidate[] {
  const { options } = scope;
  const excluded = globOf(options.exclude);
  const included = globOf(options.include);
  const candidates: Candidate[] = [];
  for (const entry of walk(scope.directory, options.recurse === true)) {
    if (entry.node.kind === 'submodule') {
      if (options.recurse === true) throw notThere(entry.path, entry.node);
      continue;
    }
    if (options.disableExtensionFilter !== true && !manifestName.test(entry.name)) continue;
    const file = fileOf(scope, entry, logger);
    if (file === undefined || excluded?.(entry.path) === true || included?.(entry.path) === false) continue;
    if (entry.name.endsWith('.libsonnet')) continue;
    candidates.push({ path: entry.path, name: entry.name, file });
  }
  return candidates;
}

/** Undefined for a pattern that is not set. One that cannot be compiled matches nothing, as in Argo CD. */
function globOf(pattern: string | undefined): ((path: string) => boolean) | undefined {
  if (pattern === undefined || pattern === '') return undefined;
  return compileGlob(pattern) ?? (() => false);
}

function fileOf(scope: DirectoryScope, entry: WalkedEntry, logger: Logger): FileNode | undefined {
  if (entry.node.kind === 'file') return entry.node;
  const found = scope.tree.lookup([...scope.segments, ...entry.path.split('/')]);
  if (found.kind === 'outside')
    throw new DesiredError(
      'DESIRED_PATH',
      `failed to get potentially valid manifests: illegal filepath in symlink at "${entry.path}"`,
    );
  if (found.kind === 'found' && found.node.kind === 'file') return found.node;
  logger.warn('Ignoring a link that does not lead to a file', { path: entry.path });
  return undefined;
}

/** @throws SizeLimitExceeded when the files together are larger than `limit` (0 = no limit). */
export function checkSize(sizes: Iterable<number>, limit: number): void {
  let sum = 0;
  for (const size of sizes) sum += size;
  if (limit > 0 && sum > limit)
    throw new SizeLimitExceeded('failed to get potentially valid manifests: exceeded max combined manifest file size');
}

/**
 * The objects of the candidates, in file order. Contents have been fetched.
 * @throws ManifestError, SizeLimitExceeded
 */
export async function* render(
  files: readonly ManifestFile[],
  { limits, reader }: { readonly limits: DirectoryLimits; readonly reader: ManifestReader },
  signal: AbortSignal,
): AsyncGenerator<readonly KubeObject[]> {
  const kept = files.filter((file) => !isSkipped(file.content));
  checkSize(
    kept.filter(({ strict }) => strict !== true).map((file) => file.content.length),
    limits.maxManifestBytes,
  );
  let count = 0;
  for (const file of kept) {
    if (isLfsPointer(file.content))
      throw new ManifestError(
        `Failed to unmarshal "${file.path}": it is a Git LFS pointer, and LFS is not enabled for this repository (enableLfs in its Secret)`,
      );
    const objects = await reader.objectsOf(file, signal);
    count += objects.length;
    if (count > limits.maxObjects) throw new SizeLimitExceeded(`the source has more than ${limits.maxObjects} objects`);
    yield objects;
  }
}

type DirectoryLimits = Pick<DesiredLimits, 'maxManifestBytes' | 'maxObjects'>;

function isLfsPointer(content: Uint8Array): boolean {
  return Buffer.compare(content.subarray(0, lfsPointer.length), lfsPointer) === 0;
}
