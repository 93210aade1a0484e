import { hashJson, isObject, own, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import type { Repository } from '#model';
import { DesiredError, RepositoryError, UnsupportedSource } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import { digestOf } from './archives.ts';
import type { DiskCache } from './disk-cache.ts';
import { repositoryKey } from './repository-key.ts';
import type { Snapshot } from './snapshot.ts';
import { checkUrl } from './untrusted.ts';
import { expectOk } from './web.ts';
import type { Access, Web } from './web.ts';

export interface LfsDeps {
  readonly web: Web;
  readonly objects: DiskCache;
  readonly limits: DesiredLimits;
  readonly cacheDir: string;
  /** With the token that the repository's credentials get, where they are such. */
  readonly withToken: (repository: Repository, signal: AbortSignal) => Promise<Repository>;
}

const mediaType = 'application/vnd.git-lfs+json';
const first = Buffer.from('version https://git-lfs.github.com/spec/');
const maxAnswer = 4 * 1024 * 1024;

interface Pointer {
  readonly digest: string;
  readonly size: number;
}

/**
 * Files of Git LFS, by the API of LFS servers over HTTP(S): no program is needed. A file is downloaded when it is read, held to the digest in its
 * pointer, and kept on disk. User and password go to the repository's own server; to others only what the server says itself.
 */
export class Lfs {
  readonly #deps: LfsDeps;

  constructor(deps: LfsDeps) {
    this.#deps = deps;
  }

  /** The same files, with the contents that pointers stand for. */
  resolved(repository: Repository, snapshot: Snapshot): Snapshot {
    if (repository.lfs !== true) return snapshot;
    return {
      ...snapshot,
      key: `${snapshot.key} lfs`,
      read: async (blobs, signal) => {
        const contents = new Map(await snapshot.read(blobs, signal));
        const pointers = new Map<string, Pointer>();
        for (const [oid, content] of contents) {
          const pointer = pointerOf(content);
          if (pointer !== undefined) pointers.set(oid, pointer);
        }
        if (pointers.size === 0) return contents;
        const found = await this.#objects(repository, [...pointers.values()], signal);
        for (const [oid, { digest }] of pointers) contents.set(oid, found.get(digest) ?? new Uint8Array());
        return contents;
      },
    };
  }

  /** By digest. @throws RepositoryError, UnsupportedSource, DesiredError */
  async #objects(
    repository: Repository,
    pointers: readonly Pointer[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    const owner = repositoryKey(repository);
    const missing: Pointer[] = [];
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
    for (const { pointer, content } of await this.#download(repository, missing, signal)) {
      found.set(pointer.digest, content);
      await this.#deps.objects.set(hashJson([owner, pointer.digest]), content).catch(() => undefined);
    }
    return found;
  }

  async #download(
    repository: Repository,
    pointers: readonly Pointer[],
    signal: AbortSignal,
  ): Promise<{ readonly pointer: Pointer; readonly content: Buffer }[]> {
    const at = checkUrl(repository.url, this.#deps.cacheDir);
    if (at.transport !== 'http')
      throw new UnsupportedSource(
        'Git LFS of a repository that is not reached by https (name it by its https address)',
      );
    const access: Access = { repository: await this.#withLogin(repository, signal), at };
    const base = `${at.url.replace(/\/+$/, '').replace(/(?:\.git)?$/, '.git')}/info/lfs`;
    const actions = await this.#batch(`${base}/objects/batch`, access, pointers, signal);
    const all: { readonly pointer: Pointer; readonly content: Buffer }[] = [];
    for (const pointer of pointers) {
      const action = actions.get(pointer.digest);
      if (action === undefined)
        throw new RepositoryError(`the LFS server of the repository does not have the file ${pointer.digest}`);
      // What the server gives along is the permission; with none, it may be its own login that counts.
      const isBare = Object.keys(action.headers).length > 0;
      const asked = { url: action.href, headers: action.headers, maxBytes: pointer.size + 1, signal };
      const answer = await this.#deps.web.get(asked, isBare ? withoutLogin(access) : access);
      const content = expectOk(answer, `failed to download the LFS file ${pointer.digest}`);
      if (content.length !== pointer.size || digestOf(content) !== pointer.digest)
        throw new DesiredError('DESIRED_ARCHIVE', `the LFS file ${pointer.digest} is not what its pointer says`);
      all.push({ pointer, content });
    }
    return all;
  }

  async #batch(
    url: string,
    access: Access,
    pointers: readonly Pointer[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Action>> {
    const objects = pointers.map(({ digest, size }) => ({ oid: digest, size }));
    const body = JSON.stringify({ operation: 'download', transfers: ['basic'], hash_algo: 'sha256', objects });
    const headers = { accept: mediaType, 'content-type': mediaType };
    const answer = await this.#deps.web.get(
      { url, method: 'POST', body, headers, maxBytes: maxAnswer, signal },
      access,
    );
    if (answer.status === 404)
      throw new RepositoryError('the server of the repository has no Git LFS, but the repository has files of it');
    const text = expectOk(answer, 'failed to ask the LFS server').toString('utf8');
    const actions = new Map<string, Action>();
    let json: Json;
    try {
      json = parseJson(text);
    } catch {
      throw new RepositoryError('the LFS server gives no JSON');
    }
    const list = isObject(json) ? own(json, 'objects') : undefined;
    for (const one of Array.isArray(list) ? (list as readonly Json[]) : []) {
      const action = isObject(one) ? actionOf(one) : undefined;
      if (action !== undefined) actions.set(action.digest, action);
    }
    return actions;
  }

  /** Tokens of an App, of Google and of Azure are got as for git itself. */
  #withLogin(repository: Repository, signal: AbortSignal): Promise<Repository> {
    return this.#deps.withToken(repository, signal);
  }
}

interface Action {
  readonly digest: string;
  readonly href: string;
  readonly headers: Readonly<Record<string, string>>;
}

function actionOf(one: JsonObject): Action | undefined {
  const actions = own(one, 'actions');
  const download = actions !== undefined && isObject(actions) ? own(actions, 'download') : undefined;
  const digest = own(one, 'oid');
  const href = download !== undefined && isObject(download) ? own(download, 'href') : undefined;
  if (typeof digest !== 'string' || typeof href !== 'string' || download === undefined || !isObject(download))
    return undefined;
  const header = own(download, 'header');
  const headers: Record<string, string> = {};
  if (header !== undefined && isObject(header))
    for (const [name, value] of Object.entries(header))
      if (typeof value === 'string') headers[name.toLowerCase()] = value;
  return { digest, href, headers };
}

/** The server's certificates and proxy, but nobody's credentials. */
function withoutLogin({ repository, at }: Access): Access {
  const { url, type, insecure, inheritedCreds, proxy, noProxy } = repository;
  const bare: Repository = {
    url,
    type,
    insecure,
    inheritedCreds,
    ...(proxy === undefined ? {} : { proxy }),
    ...(noProxy === undefined ? {} : { noProxy }),
  };
  return { repository: bare, at: { url: at.url, transport: at.transport, host: at.host } };
}

/** What a file says that it stands for; undefined for one that is no pointer. */
export function pointerOf(content: Uint8Array): Pointer | undefined {
  if (content.length > 1024 || Buffer.compare(content.subarray(0, first.length), first) !== 0) return undefined;
  const text = Buffer.from(content).toString('utf8');
  const digest = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  return digest === undefined || size === undefined ? undefined : { digest, size: Number(size) };
}
