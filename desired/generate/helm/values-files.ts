import { ownMember } from '#base';
import type { JsonObject } from '#base';
import { DesiredError, SourcePathError, UnsafeInput } from '../../errors.ts';
import { Selection } from '../../fetch/files/selection.ts';
import type { Snapshot } from '../../fetch/files/snapshot.ts';
import { inByteOrder, walk } from '../../fetch/files/tree.ts';
import { buildEnvironment, substituteIn } from '../environment.ts';
import type { Substitute } from '../environment.ts';
import { compilePathGlob } from '../path-glob.ts';
import { listOf, textOf, wordsOf } from '../options.ts';
import type { RenderJob } from '../plan.ts';

/**
 * A repository whose files a chart uses, the files that it needs, and their folder in the checkout.
 */
export interface ValuesOrigin {
  readonly folder: string;
  readonly snapshot: Snapshot;
  readonly selection: Selection;
}

/** A values file or file parameter: in a repository, or by URL. */
export type ValuesFile =
  | { readonly kind: 'file'; readonly origin: ValuesOrigin; readonly segments: readonly string[] }
  | { readonly kind: 'url'; readonly url: string };

/**
 * The values files and file parameters of a chart (Argo CD: getResolvedValueFiles,
 * ResolveValueFilePathOrUrl). A path is relative to the application's directory, to the root of the
 * repository if it starts with a slash, or to the repository of another source (`$ref/…`). After
 * following links, the file must lie in the repository that the path belongs to.
 */
export class ValuesFiles {
  readonly #job: RenderJob;
  readonly #origins = new Map<string, ValuesOrigin>();
  readonly #substitute: Substitute;

  constructor(job: RenderJob) {
    this.#job = job;
    this.#substitute = substituteIn(buildEnvironment(job));
    this.own = { folder: 'repo', snapshot: job.snapshot, selection: new Selection(job.snapshot.tree) };
  }

  /** The repository of the source itself. */
  readonly own: ValuesOrigin;

  get origins(): readonly ValuesOrigin[] {
    return [this.own, ...this.#origins.values()];
  }

  /**
   * In the order in which helm reads them. Each appears once; a file that is listed explicitly
   * stays at its own position.
   */
  async valueFiles(options: JsonObject, signal: AbortSignal): Promise<readonly ValuesFile[]> {
    const mayMiss = ownMember(options, 'ignoreMissingValueFiles') === true;
    const written = wordsOf(options, 'valueFiles');
    const entries = await Promise.all(written.map((raw) => this.#resolve(raw, signal)));
    const named = new Set(entries.filter((entry) => !isPattern(entry)).map(idOf));
    const found: ValuesFile[] = [];
    for (const [index, entry] of entries.entries()) {
      if (entry.kind === 'file' && isPattern(entry)) {
        const matches = matchesOf(entry);
        if (matches.length === 0 && !mayMiss)
          throw new DesiredError('DESIRED_SOURCE', `values file glob "${written[index] ?? ''}" matched no files`);
        found.push(...matches.filter((match) => !named.has(idOf(match))));
      } else if (!mayMiss || this.#exists(entry)) found.push(entry);
    }
    return [...new Map(found.map((entry) => [idOf(entry), entry])).values()].map((entry) => this.#selected(entry));
  }

  async fileParameters(
    options: JsonObject,
    signal: AbortSignal,
  ): Promise<readonly { readonly name: string; readonly file: ValuesFile }[]> {
    const all = listOf(options, 'fileParameters');
    return Promise.all(
      all.map(async (one) => ({
        name: textOf(one, 'name'),
        file: this.#selected(await this.#resolve(textOf(one, 'path'), signal)),
      })),
    );
  }

  #exists(entry: ValuesFile): boolean {
    return entry.kind === 'url' || entry.origin.snapshot.tree.lookup(entry.segments).kind !== 'missing';
  }

  /** @throws DesiredError for a missing file, with helm's text */
  #selected(entry: ValuesFile): ValuesFile {
    if (entry.kind === 'url') return entry;
    const found = entry.origin.snapshot.tree.lookup(entry.segments);
    const shown = entry.segments.join('/');
    if (found.kind === 'outside') throw outsideRoot(shown);
    if (found.kind === 'missing') throw new DesiredError('DESIRED_SOURCE', `open ${shown}: no such file or directory`);
    if (found.node.kind === 'directory') throw new DesiredError('DESIRED_SOURCE', `read ${shown}: is a directory`);
    entry.origin.selection.add(entry.segments);
    return entry;
  }

  async #resolve(raw: string, signal: AbortSignal): Promise<ValuesFile> {
    const { request, segments } = this.#job;
    if (raw.startsWith('$') && request.sources.length > 1) return this.#referenced(raw, signal);
    const text = this.#substitute(raw);
    const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
    if (scheme !== undefined) {
      if (!request.options.valuesFileSchemes.includes(scheme))
        throw new UnsafeInput(`the URL scheme '${scheme}' is not allowed`);
      if (scheme === 'http' || scheme === 'https') return { kind: 'url', url: text };
      throw new DesiredError(
        'DESIRED_HELM_PLUGIN',
        `the values file "${scheme}://…" needs a plugin of helm${scheme.startsWith('secrets') ? ' (helm-secrets)' : ''}, and helm runs without plugins here: render it with a config management plugin, or with the repo-server of Argo CD`,
        { retry: 'never' },
      );
    }
    const within = text.startsWith('/') ? [] : segments;
    return { kind: 'file', origin: this.own, segments: inside([...within, ...text.split('/')], text) };
  }

  async #referenced(raw: string, signal: AbortSignal): Promise<ValuesFile> {
    const [name = '', ...rest] = raw.split('/');
    const snapshot = await this.#job.fetchReferenced(name, signal);
    let origin = this.#origins.get(name);
    if (origin === undefined) {
      origin = { folder: `ref-${name.slice(1)}`, snapshot, selection: new Selection(snapshot.tree) };
      this.#origins.set(name, origin);
    }
    const text = this.#substitute(rest.join('/'));
    return { kind: 'file', origin, segments: inside(text.split('/'), raw) };
  }
}

/** Resolves "." and "..", and refuses a path that leaves the root on the way. */
function inside(segments: readonly string[], shown: string): readonly string[] {
  const clean: string[] = [];
  for (const segment of segments) {
    if (segment.includes('\0'))
      throw new UnsafeInput('the path of a values file is refused: it has control characters');
    if (segment === '..' && clean.pop() === undefined) throw outsideRoot(shown);
    if (segment !== '' && segment !== '.' && segment !== '..') clean.push(segment);
  }
  if (clean.length === 0) throw outsideRoot(shown);
  return clean;
}

function outsideRoot(shown: string): SourcePathError {
  return new SourcePathError(`file '${shown}' resolved to outside repository root`);
}

function isPattern(entry: ValuesFile): boolean {
  return entry.kind === 'file' && /[*?[]/.test(entry.segments.join('/'));
}

function idOf(entry: ValuesFile): string {
  return entry.kind === 'url' ? entry.url : `${entry.origin.folder}\0${entry.segments.join('/')}`;
}

/** Files in lexical order; the files of a directory come before those of its subdirectories. */
function matchesOf(entry: ValuesFile & { readonly kind: 'file' }): ValuesFile[] {
  const matches = compilePathGlob(entry.segments.join('/'));
  const paths: string[] = [];
  for (const { path, node } of walk(entry.origin.snapshot.tree.root, true))
    if (node.kind !== 'submodule' && matches(path)) paths.push(path);
  const order = new Map(inByteOrder(paths).map((path, i) => [path, i]));
  paths.sort((a, b) => {
    const [left, right] = [a, b].map((path) => path.slice(0, path.lastIndexOf('/') + 1));
    if (left !== right && (left ?? '').startsWith(right ?? '')) return 1;
    if (left !== right && (right ?? '').startsWith(left ?? '')) return -1;
    return (order.get(a) ?? 0) - (order.get(b) ?? 0);
  });
  return paths
    .map((path) => ({ ...entry, segments: path.split('/') }))
    .filter(({ segments }) => {
      const found = entry.origin.snapshot.tree.lookup(segments);
      if (found.kind === 'outside')
        throw new SourcePathError(`glob match "${segments.join('/')}" resolved to outside repository root`);
      return found.kind === 'found' && found.node.kind === 'file';
    });
}
