import { readFile, realpath, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { formatYaml, isObject, outsideText, own, parseYamlDocuments } from '#base';
import type { Json } from '#base';
import { SizeLimitExceeded, SourcePathError, UnsupportedSource } from '../errors.ts';
import { checkOut } from '../fetch/checkout.ts';
import { Selection } from '../fetch/selection.ts';
import type { Snapshot } from '../fetch/snapshot.ts';
import { checkAppPath } from '../fetch/untrusted.ts';
import type { DesiredLimits } from '../limits.ts';
import type { RemoteRepository } from './plan.ts';

/** Members of a kustomization whose entries may be other kustomizations. */
export const baseLists = ['resources', 'bases', 'components'] as const;
const mostBases = 32;

/** Where a remote base lies. */
export interface BaseAddress extends RemoteRepository {
  readonly path: string;
}

/**
 * What kustomize means by the address of a base (api/internal/git/repospec): a repository, behind it after `//`, `.git/`, `_git/<name>/` or, on
 * hosts that are known, after owner and name a folder in it; `ref` or `version` behind the question mark. Undefined: a file on another server.
 */
export function baseAddress(text: string): BaseAddress | undefined {
  const [whole = '', query = ''] = text.replace(/^git::/, '').split('?', 2);
  const url = whole
    .replace(/^gh:\/?/, 'https://github.com/')
    .replace(/^(?=(?:www\.)?(?:github|gitlab|bitbucket)\.(?:com|org)\/)/, 'https://');
  const parameters = new URLSearchParams(query);
  const revision = parameters.get('ref') ?? parameters.get('version') ?? '';
  const of = (repository: string, path: string): BaseAddress => ({
    url: repository,
    path: path.replace(/^\/+/, ''),
    revision,
  });
  const start = /^[a-z][a-z0-9+.-]*:\/\//i.exec(url)?.[0].length ?? 0;
  const split = /(?<=\.git)\/\/?|\/\//.exec(url.slice(start));
  if (split !== null) return of(url.slice(0, start + split.index), url.slice(start + split.index + split[0].length));
  const azure = /^(.*\/_git\/[^/]+)(?:\/(.*))?$/.exec(url);
  if (azure !== null) return of(azure[1] ?? '', azure[2] ?? '');
  const known =
    /^((?:https?:\/\/|ssh:\/\/|)(?:[^@/]+@)?(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)[/:][^/]+\/[^/]+)(?:\/(.*))?$/i.exec(
      url,
    );
  if (known !== null) return of(known[1] ?? '', known[2] ?? '');
  return /\.(?:ya?ml|json)$/i.test(url) && !parameters.has('ref') ? undefined : of(url, '');
}

/** A remote base that was fetched, and what of it is needed. */
export interface FetchedBase {
  readonly snapshot: Snapshot;
  readonly selection: Selection;
  /** In the folder of the render. */
  readonly folder: string;
}

interface Rewrite {
  readonly folder: string;
  readonly segments: readonly string[];
  readonly text: string;
  readonly to: FetchedBase;
  readonly at: readonly string[];
}

/**
 * Remote bases of an overlay, fetched as sources are (permitted by the project, pinned, from the mirrors) and put beside its checkout; the
 * kustomizations that name them are given the way there. kustomize itself needs no network.
 */
export class RemoteBases {
  readonly #fetch: (repository: RemoteRepository, signal: AbortSignal) => Promise<Snapshot>;
  readonly #bases = new Map<string, FetchedBase>();
  readonly #rewrites: Rewrite[] = [];
  readonly #seen = new Set<string>();

  constructor(fetch: (repository: RemoteRepository, signal: AbortSignal) => Promise<Snapshot>) {
    this.#fetch = fetch;
  }

  /**
   * Fetches what a kustomization names. Where in it the base lies, and whether that was not selected before.
   * @throws UnsupportedSource, SourcePathError, DesiredError
   */
  async add(
    from: { readonly folder: string; readonly segments: readonly string[] },
    text: string,
    signal: AbortSignal,
  ): Promise<{ readonly base: FetchedBase; readonly segments: readonly string[]; readonly isNew: boolean }> {
    const where = `the kustomization of ${from.segments.join('/') || '.'}`;
    const address = baseAddress(text);
    if (address === undefined)
      throw new UnsupportedSource(
        `${where} names a file on another server ("${outsideText('url', text)}", a copy in the repository works)`,
      );
    const base = await this.#base(address, signal);
    const segments = checkAppPath(address.path);
    const found = base.snapshot.tree.lookup(segments);
    if (found.kind !== 'found' || found.node.kind !== 'directory')
      throw new SourcePathError(
        `${where}: the remote base "${outsideText('url', text)}" has no folder "${address.path}"`,
      );
    this.#rewrites.push({ ...from, text, to: base, at: segments });
    const id = `${base.folder}/${segments.join('/')}`;
    const isNew = !this.#seen.has(id);
    this.#seen.add(id);
    return { base, segments, isNew };
  }

  async #base(address: BaseAddress, signal: AbortSignal): Promise<FetchedBase> {
    const { url, revision } = address;
    const id = JSON.stringify([url, revision]);
    const known = this.#bases.get(id);
    if (known !== undefined) return known;
    if (this.#bases.size === mostBases)
      throw new SizeLimitExceeded(`the overlay has more than ${mostBases} remote bases`);
    const snapshot = await this.#fetch({ url, revision }, signal);
    const base = { snapshot, selection: new Selection(snapshot.tree), folder: `bases/${this.#bases.size}` };
    this.#bases.set(id, base);
    return base;
  }

  /** @throws SizeLimitExceeded */
  check(limits: DesiredLimits): void {
    for (const { selection } of this.#bases.values()) selection.check(limits);
  }

  /** What of them decides the outcome. */
  key(): readonly string[] {
    return [...this.#bases].map(([id, { snapshot, selection }]) => `${id} ${snapshot.key} ${selection.key()}`);
  }

  /** Puts them into the folder of a render, where the overlay is already. */
  async checkOut(work: string, signal: AbortSignal): Promise<void> {
    for (const { snapshot, selection, folder } of this.#bases.values())
      await checkOut(snapshot, selection, join(work, folder), signal);
    for (const { folder, segments, text, to, at } of this.#rewrites) {
      const directory = await realpath(join(work, folder, ...segments));
      const target = relative(directory, await realpath(join(work, to.folder, ...at)));
      await rewrite(directory, text, target);
    }
  }
}

/** In every name that the file may have: kustomize takes one of them. */
async function rewrite(directory: string, text: string, target: string): Promise<void> {
  for (const name of ['kustomization.yaml', 'kustomization.yml', 'Kustomization']) {
    const path = join(directory, name);
    const content = await readFile(path, 'utf8').catch(() => undefined);
    if (content === undefined) continue;
    const [value] = parseYamlDocuments(content);
    if (value === undefined || !isObject(value)) continue;
    const file: Record<string, Json | undefined> = { ...value };
    for (const list of baseLists) {
      const entries = own(value, list);
      if (Array.isArray(entries))
        file[list] = (entries as readonly Json[]).map((entry) => (entry === text ? target : entry));
    }
    await writeFile(path, formatYaml(file));
  }
}
