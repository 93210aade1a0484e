import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { isObject, messageOf, ownMember, parseJson, stringifyJson } from '#base';
import type { Clock, Json, RandomSource } from '#base';
import type { Logger } from '#telemetry';
import type { ApiVersionLists, ClusterIdentity } from './capabilities.ts';

export interface ApiVersionFilesDeps {
  /** Must not be shared with other replicas. */
  readonly folder: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  /** Above this number, the least recently used files are removed. */
  readonly maxFiles?: number;
}

const format = 1;
const maxFileBytes = 4 * 1024 * 1024;
const defaultMaxFiles = 4096;
const temporary = '.new';

/**
 * One file per cluster, readable by its owner only and replaced atomically. Its name is derived
 * from the cluster's address and identity. Its content is checked against both and against its own
 * digest: truncated or changed files, and files of other clusters or users, are ignored with a log
 * line. A full or broken disk never fails a rendering.
 */
export class ApiVersionFiles implements ApiVersionLists {
  readonly #deps: ApiVersionFilesDeps;
  #isSwept = false;

  constructor(deps: ApiVersionFilesDeps) {
    this.#deps = deps;
  }

  async load(cluster: ClusterIdentity, signal: AbortSignal): Promise<readonly string[] | undefined> {
    signal.throwIfAborted();
    const { logger, clock } = this.#deps;
    const path = this.#path(cluster);
    try {
      const text = await readOwn(path);
      if (text === undefined) return undefined;
      const list = listIn(parseJson(text), cluster);
      const now = new Date(clock.now());
      await utimes(path, now, now).catch(() => undefined);
      return list;
    } catch (error) {
      const { server } = cluster;
      logger.warn('A stored list of API versions is ignored', { server, path, reason: messageOf(error) });
      return undefined;
    }
  }

  async save(cluster: ClusterIdentity, apiVersions: readonly string[]): Promise<void> {
    const { folder, random } = this.#deps;
    const { server, uid } = cluster;
    const text = stringifyJson({ format, server, uid, digest: digestOf(apiVersions), apiVersions: [...apiVersions] });
    if (text.length > maxFileBytes) throw new Error(`the list is longer than ${maxFileBytes} bytes`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await this.#sweep();
    const path = this.#path(cluster);
    const fresh = `${path}.${random.uuid()}${temporary}`;
    try {
      await writeFile(fresh, text, { mode: 0o600, flag: 'wx' });
      await rename(fresh, path);
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
    await this.#bound();
  }

  /** Removes temporary files of an earlier process, once. */
  async #sweep(): Promise<void> {
    if (this.#isSwept) return;
    this.#isSwept = true;
    const { folder } = this.#deps;
    for (const name of await readdir(folder))
      if (name.endsWith(temporary)) await rm(join(folder, name), { force: true, recursive: true });
  }

  async #bound(): Promise<void> {
    const { folder, maxFiles = defaultMaxFiles } = this.#deps;
    const names = (await readdir(folder)).filter((name) => !name.endsWith(temporary));
    if (names.length <= maxFiles) return;
    const used = async (name: string): Promise<readonly [string, number]> => [
      name,
      await stat(join(folder, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ];
    const byUse = (await Promise.all(names.map(used))).sort(([, a], [, b]) => a - b);
    for (const [name] of byUse.slice(0, names.length - maxFiles))
      await rm(join(folder, name), { force: true, recursive: true });
  }

  #path({ server, uid }: ClusterIdentity): string {
    const name = createHash('sha256').update(`${server}\n${uid}`).digest('hex');
    return join(this.#deps.folder, `${name}.json`);
  }
}

/** @throws if the file exists but is not trustworthy. */
async function readOwn(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      if ((error as { readonly code?: unknown }).code === 'ENOENT') return undefined;
      throw error;
    },
  );
  if (file === undefined) return undefined;
  try {
    const info = await file.stat();
    if (!info.isFile()) throw new Error('it is not a regular file');
    if (info.uid !== process.geteuid?.()) throw new Error('it belongs to another user');
    if ((info.mode & 0o077) !== 0) throw new Error('other users may read or write it');
    if (info.size > maxFileBytes) throw new Error(`it is larger than ${maxFileBytes} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** @throws if it is not the list of this cluster. */
function listIn(value: Json, { server, uid }: ClusterIdentity): readonly string[] {
  if (!isObject(value) || ownMember(value, 'format') !== format) throw new Error('its format is unknown');
  if (ownMember(value, 'server') !== server || ownMember(value, 'uid') !== uid)
    throw new Error('it belongs to another cluster');
  const found = ownMember(value, 'apiVersions');
  const list = Array.isArray(found) ? (found as readonly Json[]).filter(isApiVersion) : [];
  if (!Array.isArray(found) || list.length !== found.length || digestOf(list) !== ownMember(value, 'digest'))
    throw new Error('it is damaged');
  return list;
}

function isApiVersion(value: Json): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9.:_-]+(?:\/[A-Za-z0-9.:_-]+){0,2}$/.test(value);
}

function digestOf(list: readonly string[]): string {
  return createHash('sha256').update(list.join('\n')).digest('hex');
}
