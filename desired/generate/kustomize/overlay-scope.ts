import { hashJson, outsideText } from '#base';
import { SizeLimitExceeded, SourcePathError, UnsupportedSource } from '../../errors.ts';
import type { Selection } from '../../fetch/files/selection.ts';
import type { Snapshot } from '../../fetch/files/snapshot.ts';
import type { DirectoryNode, FileNode } from '../../fetch/files/tree.ts';
import { walk } from '../../fetch/files/tree.ts';
import { posix } from 'node:path';
import type { DownloadedFiles } from '../downloaded-files.ts';
import type { DownloadedCharts } from './downloaded-charts.ts';
import type { RemoteBases } from './remote-bases.ts';
import { outsideFolder } from './replaced-files.ts';
import type { ReplacedFiles } from './replaced-files.ts';

/** Matches an entry of a kustomization that may be remote. */
export const remotePattern =
  /:\/\/|^git@|^git::|^gh:|^(?:www\.)?(?:github\.com|bitbucket\.org|gitlab\.com|dev\.azure\.com)[/:]|^[\w.-]+@[\w.-]+:|[?&]ref=/i;

/** kustomize downloads whatever starts with this, even if a file of that name exists. */
export const webPattern = /^https?:/i;

/** The folder for single files of other servers, in the overlay that names them. */
const downloadsFolder = '.driftless-downloads';
const maxDownloads = 64;

export interface KustomizationScope {
  readonly snapshot: Snapshot;
  readonly selection: Selection;
  /** Helm charts may be inflated. */
  readonly helm: boolean;
  /** `--enable-alpha-plugins`: without it, kustomize itself refuses programs. */
  readonly withPlugins: boolean;
  /**
   * `LoadRestrictionsNone`: files may lie outside the overlay that names them, within the
   * repository.
   */
  readonly isUnrestricted: boolean;
  /** The snapshot's folder in the staging folder. */
  readonly folder: string;
  readonly remotes: RemoteBases;
  readonly charts: DownloadedCharts;
  /** Single files of other servers. */
  readonly files: DownloadedFiles;
  readonly replaced: ReplacedFiles;
  /** The staged files that kustomizations name. Only those are decrypted. */
  readonly named: Set<string>;
  readonly signal: AbortSignal;
}

/** A kustomization's folder: its segments from the root of the repository, without links. */
export interface OverlayContext {
  readonly scope: KustomizationScope;
  readonly here: readonly string[];
}

/** A local path of a kustomization, and its replacement text for kustomize. */
export interface LocalPath {
  readonly text: string;
  readonly found: { readonly at: readonly string[]; readonly node: FileNode | DirectoryNode } | undefined;
}

/**
 * Selects the file or directory that a path of a kustomization names. A path that does not exist is
 * left to kustomize.
 * @throws SourcePathError if it leaves the repository, UnsupportedSource if kustomize would
 * download it
 */
export function localPath({ scope, here }: OverlayContext, text: string): LocalPath {
  const where = overlayName(here);
  if (webPattern.test(text)) throw remoteFile(where, text);
  if (text.startsWith('/')) throw new SourcePathError(`${where}: the path "${text}" is absolute`);
  const segments = [...here, ...text.split('/')];
  const found = scope.snapshot.tree.lookup(segments);
  if (found.kind === 'outside' || isClimbing(segments))
    throw new SourcePathError(`${where}: the path "${text}" leads out of the repository`);
  if (found.kind === 'missing' && remotePattern.test(text)) throw remoteFile(where, text);
  if (found.kind === 'missing' || found.node.kind === 'submodule') {
    scope.selection.add(segments);
    return { text, found: undefined };
  }
  scope.selection.add(segments);
  const at = scope.selection.realPath(segments) ?? segments;
  if (found.node.kind === 'file' && scope.isUnrestricted && !isBelow(here, at)) {
    const copy = copyIntoOverlay({ scope, here }, at, found.node);
    scope.named.add(`${stagedFolder({ scope, here })}/${copy}`);
    return { text: copy, found: { at, node: found.node } };
  }
  if (found.node.kind === 'file') scope.named.add([scope.folder, ...at].join('/'));
  return { text, found: { at, node: found.node } };
}

/**
 * Requests a single file of another server, which our own client downloads. The file keeps its
 * name: a generator makes a key of it.
 * @returns its path for kustomize
 * @throws UnsupportedSource, SizeLimitExceeded
 */
export function webFile({ scope, here }: OverlayContext, text: string): string {
  const name = URL.canParse(text) ? posix.basename(new URL(text).pathname) : '';
  if (!/^\w[\w.-]{0,200}$/.test(name))
    throw new UnsupportedSource(
      `${overlayName(here)} names a file on another server without a plain name ("${outsideText('url', text)}")`,
    );
  const path = `${downloadsFolder}/${hashJson(text).slice(0, 16)}/${name}`;
  scope.files.add(`${stagedFolder({ scope, here })}/${path}`, text);
  scope.named.add(`${stagedFolder({ scope, here })}/${path}`);
  if (scope.files.count > maxDownloads)
    throw new SizeLimitExceeded(`the overlay has more than ${maxDownloads} files of other servers`);
  return path;
}

/**
 * Whether a resource is a single file of another server. kustomize requests each address first and
 * clones it if that fails; here its form decides.
 */
export function isWebFile(text: string): boolean {
  if (!webPattern.test(text) || !URL.canParse(text)) return false;
  const { pathname, searchParams } = new URL(text);
  if (!/\.(?:ya?ml|json)$/i.test(pathname) || searchParams.has('ref') || searchParams.has('version')) return false;
  return !/\/\/|\.git\/|\/_git\//.test(pathname);
}

/** Programs resolve ".." textually, without checking that the folder before it exists. */
export function isClimbing(segments: readonly string[]): boolean {
  let depth = 0;
  for (const segment of segments) {
    if (segment === '..') depth -= 1;
    else if (segment !== '' && segment !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

/**
 * Copies files from outside the overlay into it, because kustomize itself may never read outside.
 */
export function copyIntoOverlay(
  { scope, here }: OverlayContext,
  at: readonly string[],
  node: FileNode | DirectoryNode,
): string {
  const root = stagedFolder({ scope, here });
  const { snapshot, replaced } = scope;
  if (node.kind === 'file') return replaced.copy(root, at.join('/'), { snapshot, node });
  for (const entry of walk(node, true))
    if (entry.node.kind === 'file')
      replaced.copy(root, `${at.join('/')}/${entry.path}`, { snapshot, node: entry.node });
  return `${outsideFolder}/${at.join('/')}`;
}

export function isBelow(root: readonly string[], at: readonly string[]): boolean {
  return root.every((segment, i) => at[i] === segment);
}

export function stagedFolder({ scope, here }: OverlayContext): string {
  return [scope.folder, ...here].join('/');
}

export function overlayName(here: readonly string[]): string {
  return `the kustomization of ${here.join('/') || '.'}`;
}

function remoteFile(where: string, text: string): UnsupportedSource {
  return new UnsupportedSource(`${where} has a remote file ("${text.replace(/\/\/[^/@]*@/, '//')}")`);
}
