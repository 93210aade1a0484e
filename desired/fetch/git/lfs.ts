import { hashJson, isObject, ownMember, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import type { Repository } from '#model';
import { DesiredError, RepositoryError } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import { digestOf } from '../files/archive-cache.ts';
import type { DiskCache } from '../shared/disk-cache.ts';
import { repositoryKey } from '../shared/repository-key.ts';
import type { Snapshot } from '../files/snapshot.ts';
import type { PermittedRepos } from '../shared/permitted.ts';
import { answerUrl } from '../shared/input-checks.ts';
import { expectOk, withoutLogin } from '../network/web-client.ts';
import type { WebClient } from '../network/web-client.ts';
import { findLfsEndpoint, headersIn, lfsUrlIn } from './lfs-endpoint.ts';
import type { LfsEndpoint, LfsEndpointDeps } from './lfs-endpoint.ts';
import { transferOverSsh } from './lfs-ssh.ts';

export interface LfsDeps extends LfsEndpointDeps {
  readonly web: WebClient;
  readonly objects: DiskCache;
  readonly limits: DesiredLimits;
}

const mediaType = 'application/vnd.git-lfs+json';
const pointerPrefix = Buffer.from('version https://git-lfs.github.com/spec/');
const maxPointerBytes = 1024;
const maxResponseBytes = 4 * 1024 * 1024;
const maxConfigBytes = 65_536;

interface LfsPointer {
  readonly digest: string;
  readonly size: number;
}

/**
 * Reads files of Git LFS through the HTTP(S) API of the LFS server, without git-lfs. A file is
 * downloaded when read, verified against the digest in its pointer, and cached on disk. User and
 * password go only to the repository's own server; other servers get only the headers that the LFS
 * server returned.
 */
export class Lfs {
  readonly #deps: LfsDeps;

  constructor(deps: LfsDeps) {
    this.#deps = deps;
  }

  /** Returns the same files with pointers replaced by their contents. */
  resolved(repository: Repository, snapshot: Snapshot, sourceRepos?: PermittedRepos): Snapshot {
    if (repository.lfs !== true) return snapshot;
    return {
      ...snapshot,
      key: `${snapshot.key} lfs`,
      measure: async (blobs, signal) => {
        const found = await snapshot.read(
          blobs.filter(({ size }) => size <= maxPointerBytes),
          signal,
        );
        const pointers = blobs.map(({ oid }) => pointerOf(found.get(oid) ?? new Uint8Array()));
        const others = blobs.filter((_blob, i) => pointers[i] === undefined);
        const bytes = (await snapshot.measure?.(others, signal)) ?? others.reduce((sum, { size }) => sum + size, 0);
        return pointers.reduce((sum, pointer) => sum + (pointer?.size ?? 0), bytes);
      },
      read: async (blobs, signal, near) => {
        const contents = new Map(await snapshot.read(blobs, signal, near));
        const pointers = new Map<string, LfsPointer>();
        for (const [oid, content] of contents) {
          const pointer = pointerOf(content);
          if (pointer !== undefined) pointers.set(oid, pointer);
        }
        if (pointers.size === 0) return contents;
        const found = await this.#objects({ repository, snapshot, sourceRepos }, [...pointers.values()], signal);
        for (const [oid, { digest }] of pointers) contents.set(oid, found.get(digest) ?? new Uint8Array());
        return contents;
      },
    };
  }

  /** Keyed by digest. @throws RepositoryError, UnsupportedSource, DesiredError */
  async #objects(
    from: LfsOrigin,
    pointers: readonly LfsPointer[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    const owner = repositoryKey(from.repository);
    const missing: LfsPointer[] = [];
    let total = 0;
    for (const pointer of pointers) {
      total += pointer.size;
      if (pointer.size > this.#deps.limits.maxArchiveBytes || total > this.#deps.limits.maxCheckoutBytes)
        throw new DesiredError('DESIRED_LIMIT', `files of Git LFS are too big: one has ${pointer.size} bytes`);
      const kept = await this.#deps.objects.get(hashJson([owner, pointer.digest]));
      if (kept === undefined) missing.push(pointer);
      else found.set(pointer.digest, kept.content);
    }
    if (missing.length === 0) return found;
    for (const { pointer, content } of await this.#download(from, missing, signal)) {
      found.set(pointer.digest, content);
      await this.#deps.objects.set(hashJson([owner, pointer.digest]), content).catch(() => undefined);
    }
    return found;
  }

  async #download(
    { repository, snapshot, sourceRepos }: LfsOrigin,
    pointers: readonly LfsPointer[],
    signal: AbortSignal,
  ): Promise<{ readonly pointer: LfsPointer; readonly content: Buffer }[]> {
    const configured = await configuredUrl(snapshot, signal);
    const endpoint = await findLfsEndpoint(repository, { configured, sourceRepos }, this.#deps, signal);
    if ('refusal' in endpoint) {
      const found = await transferOverSsh(endpoint, pointers, this.#deps.runOnServer, signal);
      return pointers.map((pointer) => ({ pointer, content: found.get(pointer.digest) ?? Buffer.alloc(0) }));
    }
    const { access } = endpoint;
    const actions = await this.#batch(endpoint, pointers, signal);
    const all: { readonly pointer: LfsPointer; readonly content: Buffer }[] = [];
    for (const pointer of pointers) {
      const action = actions.get(pointer.digest);
      if (action === undefined)
        throw new RepositoryError(`the LFS server of the repository does not have the file ${pointer.digest}`);
      // Headers of the LFS server grant access; without any, the repository's login may be needed.
      const isBare = Object.keys(action.headers).length > 0;
      const asked = {
        url: answerUrl(action.href, endpoint.url.url),
        originHeaders: action.headers,
        maxBytes: pointer.size + 1,
        signal,
      };
      const answer = await this.#deps.web.get(asked, isBare ? withoutLogin(access) : access);
      const content = expectOk(answer, `failed to download the LFS file ${pointer.digest}`);
      if (content.length !== pointer.size || digestOf(content) !== pointer.digest)
        throw new DesiredError('DESIRED_ARCHIVE', `the LFS file ${pointer.digest} does not match its pointer`);
      all.push({ pointer, content });
    }
    return all;
  }

  async #batch(
    { url, access, headers: granted }: LfsEndpoint,
    pointers: readonly LfsPointer[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, LfsDownload>> {
    const objects = pointers.map(({ digest, size }) => ({ oid: digest, size }));
    const body = JSON.stringify({ operation: 'download', transfers: ['basic'], hash_algo: 'sha256', objects });
    const headers = { accept: mediaType, 'content-type': mediaType };
    const answer = await this.#deps.web.get(
      {
        url: answerUrl(`${url.url}/objects/batch`, url.url),
        method: 'POST',
        body,
        headers,
        originHeaders: granted,
        maxBytes: maxResponseBytes,
        signal,
      },
      access,
    );
    if (answer.status === 404)
      throw new RepositoryError('the server of the repository has no Git LFS, but the repository has files of it');
    const text = expectOk(answer, 'failed to ask the LFS server').toString('utf8');
    const actions = new Map<string, LfsDownload>();
    let json: Json;
    try {
      json = parseJson(text);
    } catch {
      throw new RepositoryError('the LFS server returned no JSON');
    }
    const list = isObject(json) ? ownMember(json, 'objects') : undefined;
    for (const one of Array.isArray(list) ? (list as readonly Json[]) : []) {
      const action = isObject(one) ? actionOf(one) : undefined;
      if (action !== undefined) actions.set(action.digest, action);
    }
    return actions;
  }
}

/** The repository of pointers, and its files. */
interface LfsOrigin {
  readonly repository: Repository;
  readonly snapshot: Snapshot;
  readonly sourceRepos: PermittedRepos;
}

/** The address in the repository's `.lfsconfig`; "" without one. */
async function configuredUrl(snapshot: Snapshot, signal: AbortSignal): Promise<string> {
  const found = snapshot.tree.lookup(['.lfsconfig']);
  if (found.kind !== 'found' || found.node.kind !== 'file' || found.node.size > maxConfigBytes) return '';
  return lfsUrlIn((await snapshot.read([found.node], signal)).get(found.node.oid) ?? new Uint8Array());
}

interface LfsDownload {
  readonly digest: string;
  readonly href: string;
  readonly headers: Readonly<Record<string, string>>;
}

function actionOf(one: JsonObject): LfsDownload | undefined {
  const actions = ownMember(one, 'actions');
  const download = actions !== undefined && isObject(actions) ? ownMember(actions, 'download') : undefined;
  const digest = ownMember(one, 'oid');
  const href = download !== undefined && isObject(download) ? ownMember(download, 'href') : undefined;
  if (typeof digest !== 'string' || typeof href !== 'string' || download === undefined || !isObject(download))
    return undefined;
  return { digest, href, headers: headersIn(ownMember(download, 'header')) };
}

/** Parses an LFS pointer; undefined for any other content. */
export function pointerOf(content: Uint8Array): LfsPointer | undefined {
  if (
    content.length > maxPointerBytes ||
    Buffer.compare(content.subarray(0, pointerPrefix.length), pointerPrefix) !== 0
  )
    return undefined;
  const text = Buffer.from(content).toString('utf8');
  const digest = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  return digest === undefined || size === undefined ? undefined : { digest, size: Number(size) };
}
