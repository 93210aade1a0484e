import { compileGlob, yieldToLoop } from '#base';
import type { DirectorySource, KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { DesiredError, ManifestError, SizeLimitExceeded } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import { submoduleError } from '../../fetch/files/snapshot.ts';
import { walk } from '../../fetch/files/tree.ts';
import type { DirectoryNode, FileNode, Tree, WalkedEntry } from '../../fetch/files/tree.ts';
import { checkCombinedSize, isSkipped } from '../documents.ts';
import type { ManifestFile } from '../documents.ts';
import { planJsonnet } from './jsonnet.ts';
import type { JsonnetPlan } from './jsonnet.ts';
import type { ManifestReader, ReadFile } from '../manifest-reader.ts';
import { withFiles } from '../held-files.ts';
import type { GeneratorDeps, RenderedManifests, RenderJob, RenderPlan } from '../plan.ts';
import { optionsHash } from '../source-type.ts';
import { unnamedIn } from '../unnamed.ts';
import type { UnnamedObject } from '../unnamed.ts';

/** A file that may hold manifests. Its content has not been read yet. */
interface ManifestCandidate {
  /** Relative to the application's directory. */
  readonly path: string;
  readonly name: string;
  readonly file: FileNode;
}

const manifestName = /\.(?:yaml|yml|json|jsonnet)$/;
const lfsPointer = Buffer.from('version https://git-lfs.github.com/spec/');

interface DirectoryScope {
  readonly tree: Tree;
  /**
   * The application's directory: its segments from the root as written (links allowed), and the
   * node they lead to.
   */
  readonly segments: readonly string[];
  readonly directory: DirectoryNode;
  readonly options: DirectorySource;
}

export interface DirectoryDeps extends GeneratorDeps {
  readonly logger: Logger;
}

/**
 * Plans a directory of manifests. It is read from the commit without a checkout, except for
 * Jsonnet, which a program evaluates.
 */
export async function planDirectory(job: RenderJob, deps: DirectoryDeps, signal: AbortSignal): Promise<RenderPlan> {
  const { snapshot, segments, directory } = job;
  const { limits, logger } = deps;
  const scope: DirectoryScope = { tree: snapshot.tree, segments, directory, options: job.source.directory ?? {} };
  const jsonnet = await jsonnetOf(job, scope, deps, signal);
  return {
    // Links may lead anywhere in the commit. Without links, the tree identifies the directory.
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
      // Files with the skip marker do not count, but must be read to find it. Far above the limit,
      // read nothing.
      checkCombinedSize(
        plain.map(({ file }) => file.size),
        limits.maxManifestBytes * 4,
      );
      const evaluated = await jsonnet?.render(inner);
      const nodes = plain.map(({ file }) => file);
      return withFiles({ job, inputs: deps.inputs, nodes }, inner, async (contents) => {
        const files: ManifestFile[] = [];
        for (const { path, name, file } of candidates) {
          const shown = [...segments, path].join('/');
          if (isJsonnet(name)) for (const one of evaluated?.get(path) ?? []) files.push(one);
          else {
            const written = contents.get(file.oid) ?? new Uint8Array();
            // Decryption would remove the marker, which is a comment.
            const content = isSkipped(written) ? written : await job.decryption.content(shown, written, inner);
            files.push({ path: shown, name, content });
          }
        }
        return manifestsOf(files, deps, inner);
      });
    },
  };
}

async function manifestsOf(
  files: readonly ManifestFile[],
  deps: DirectoryDeps,
  signal: AbortSignal,
): Promise<RenderedManifests> {
  const objects: KubeObject[] = [];
  const unnamed: UnnamedObject[] = [];
  const ignored: string[] = [];
  for await (const { file, objects: some, ignored: fault } of render(files, deps, signal)) {
    for (const object of some) objects.push(object);
    if (fault !== undefined) ignored.push(`${file.path}: ${fault}`);
    unnamed.push(...unnamedIn(some, file.path));
    await yieldToLoop();
    signal.throwIfAborted();
  }
  return { objects, unnamed, ignored, bytes: files.reduce((sum, { content }) => sum + content.length, 256) };
}

function isJsonnet(name: string): boolean {
  return name.endsWith('.jsonnet');
}

/**
 * Undefined if there is no Jsonnet, or if administrators disabled it (`jsonnet.enable`): such files
 * are then ignored.
 */
async function jsonnetOf(
  job: RenderJob,
  scope: DirectoryScope,
  deps: DirectoryDeps,
  signal: AbortSignal,
): Promise<JsonnetPlan | undefined> {
  if (job.request.options.enabledTypes['Directory'] === false) return undefined;
  if (!hasJsonnet(scope.directory, scope.options.recurse === true)) return undefined;
  const candidates = candidatesOf(scope, deps.logger).filter(({ name }) => isJsonnet(name));
  const nodes = candidates.map(({ file }) => file);
  const files = await withFiles({ job, inputs: deps.inputs, nodes }, signal, (contents) =>
    candidates.filter(({ file }) => !isSkipped(contents.get(file.oid) ?? new Uint8Array())),
  );
  return files.length === 0 ? undefined : planJsonnet(job, files, deps, signal);
}

/** Checked before every render, even of cached manifests, so the answer is kept with the tree. */
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
 * The files of a directory source in lexical order (Argo CD: getPotentiallyValidManifests). Filters
 * in this order: extension, link inside the repository, regular file, exclude, include. Globs match
 * the path relative to the application's directory; `*` also matches `/`.
 * @throws DesiredError for a link that leaves the repository; SourcePathError for a submodule
 */
function candidatesOf(scope: DirectoryScope, logger: Logger): ManifestCandidate[] {
  const { options } = scope;
  const excluded = globOf(options.exclude);
  const included = globOf(options.include);
  const candidates: ManifestCandidate[] = [];
  for (const entry of walk(scope.directory, options.recurse === true)) {
    if (entry.node.kind === 'submodule') {
      if (options.recurse === true) throw submoduleError(entry.path, entry.node);
      continue;
    }
    if (options.disableExtensionFilter !== true && !manifestName.test(entry.name)) continue;
    const file = fileOf(scope, entry, logger);
    if (file === undefined || excluded?.(entry.path) === true || included?.(entry.path) === false) continue;
    candidates.push({ path: entry.path, name: entry.name, file });
  }
  return candidates;
}

/**
 * Undefined if the pattern is not set. A pattern that cannot be compiled matches nothing, as in
 * Argo CD.
 */
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

/** The objects of the files, in file order. @throws ManifestError, SizeLimitExceeded */
async function* render(
  files: readonly ManifestFile[],
  { limits, reader }: { readonly limits: DirectoryLimits; readonly reader: ManifestReader },
  signal: AbortSignal,
): AsyncGenerator<ReadFile> {
  const kept = files.filter((file) => !isSkipped(file.content));
  checkCombinedSize(
    kept.filter(({ strict }) => strict !== true).map((file) => file.content.length),
    limits.maxManifestBytes,
  );
  let count = 0;
  for await (const read of reader.read(withoutLfsPointers(kept), signal)) {
    count += read.objects.length;
    if (count > limits.maxObjects) throw new SizeLimitExceeded(`the source has more than ${limits.maxObjects} objects`);
    yield read;
  }
}

function* withoutLfsPointers(files: readonly ManifestFile[]): Generator<ManifestFile> {
  for (const file of files) {
    if (isLfsPointer(file.content))
      throw new ManifestError(
        `Failed to unmarshal "${file.path}": it is a Git LFS pointer, and LFS is not enabled for this repository (enableLfs in its Secret)`,
      );
    yield file;
  }
}

type DirectoryLimits = Pick<DesiredLimits, 'maxManifestBytes' | 'maxObjects'>;

function isLfsPointer(content: Uint8Array): boolean {
  return Buffer.compare(content.subarray(0, lfsPointer.length), lfsPointer) === 0;
}
