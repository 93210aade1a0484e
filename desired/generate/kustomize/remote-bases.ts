import { posix } from 'node:path';
import { outsideText } from '#base';
import { SizeLimitExceeded, SourcePathError, UnsupportedSource } from '../../errors.ts';
import { unreadFiles } from '../../fetch/files/staged-files.ts';
import type { UnreadFiles } from '../../fetch/files/staged-files.ts';
import { Selection } from '../../fetch/files/selection.ts';
import type { Snapshot } from '../../fetch/files/snapshot.ts';
import { checkAppPath } from '../../fetch/shared/input-checks.ts';
import type { DesiredLimits } from '../../limits.ts';
import type { RemoteRepository } from '../plan.ts';

/** Fields of a kustomization whose items may be other kustomizations. */
export const baseLists = ['resources', 'bases', 'components'] as const;
const maxBases = 32;

/** The address of a remote base. */
export interface BaseAddress extends RemoteRepository {
  readonly path: string;
}

/**
 * Parses the address of a base like kustomize (api/internal/git/repospec): a repository; then,
 * after `//`, `.git/`, `_git/<name>/` or (on known hosts) owner and name, a folder in it; `ref` or
 * `version` as query parameters. Undefined for a file on another server.
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

/** A remote base, with its new path in the kustomization. */
export interface AddedBase {
  readonly base: FetchedBase;
  readonly segments: readonly string[];
  /** Relative to the kustomization. */
  readonly path: string;
}

/** A fetched remote base, and the files of it that are needed. */
export interface FetchedBase {
  readonly snapshot: Snapshot;
  readonly selection: Selection;
  /** Relative to the staging folder. */
  readonly folder: string;
}

/**
 * Fetches the remote bases of an overlay like sources: permitted by the project, pinned, from the
 * mirrors. They lie beside the overlay's checkout, and its kustomizations name them by their path
 * there, so kustomize itself needs no network.
 */
export class RemoteBases {
  readonly #fetch: (repository: RemoteRepository, signal: AbortSignal) => Promise<Snapshot>;
  readonly #bases = new Map<string, FetchedBase>();

  constructor(fetch: (repository: RemoteRepository, signal: AbortSignal) => Promise<Snapshot>) {
    this.#fetch = fetch;
  }

  /**
   * Fetches a base.
   * @param from the kustomization that names it, with links resolved
   * @throws UnsupportedSource, SourcePathError, DesiredError
   */
  async add(
    from: { readonly folder: string; readonly segments: readonly string[] },
    text: string,
    signal: AbortSignal,
  ): Promise<AddedBase> {
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
    const at = base.selection.realPath(segments) ?? segments;
    const path = posix.relative([from.folder, ...from.segments].join('/'), [base.folder, ...at].join('/'));
    return { base, segments, path };
  }

  async #base(address: BaseAddress, signal: AbortSignal): Promise<FetchedBase> {
    const { url, revision } = address;
    const id = JSON.stringify([url, revision]);
    const known = this.#bases.get(id);
    if (known !== undefined) return known;
    if (this.#bases.size === maxBases)
      throw new SizeLimitExceeded(`the overlay has more than ${maxBases} remote bases`);
    const snapshot = await this.#fetch({ url, revision }, signal);
    const base = { snapshot, selection: new Selection(snapshot.tree), folder: `bases/${this.#bases.size}` };
    this.#bases.set(id, base);
    return base;
  }

  /** @throws SizeLimitExceeded */
  check(limits: DesiredLimits): void {
    for (const { selection } of this.#bases.values()) selection.check(limits);
  }

  /** Everything about the bases that affects the result. */
  key(): readonly string[] {
    return [...this.#bases].map(([id, { snapshot, selection }]) => `${id} ${snapshot.key} ${selection.key()}`);
  }

  /** The files of the bases, for the staging folder. */
  async unread(signal: AbortSignal): Promise<readonly UnreadFiles[]> {
    const bases = [...this.#bases.values()];
    return Promise.all(bases.map((base) => unreadFiles(base.snapshot, base.selection, base.folder, signal)));
  }
}
