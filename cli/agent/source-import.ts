import { createHash } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock, withDeadline } from '#base';
import { commitFiles, readDirectory } from '#desired';
import type { LocalFile } from '#desired';
import { download, readArchive, shownUrl, sourceBounds } from './local-source.ts';
import type { AgentSource } from './plan.ts';

const downloadMs = 120_000;

/** Copies a directory or an archive into a repository that the controller reads. */
export class SourceImport {
  readonly #source: AgentSource;
  /** Path of the bare repository. */
  readonly #folder: string;
  #etag = '';
  #content = '';

  constructor(source: AgentSource, folder: string) {
    this.#source = source;
    this.#folder = folder;
  }

  /** Whether the source is copied at all: a Git repository is read where it is. */
  get isLocal(): boolean {
    return this.#source.kind !== 'git';
  }

  /** Copies what is there now. False: nothing has changed since the last time. */
  async update(signal: AbortSignal): Promise<boolean> {
    const files = await this.#read(signal);
    if (files === undefined) return false;
    const content = contentOf(files);
    if (content === this.#content) return false;
    if (this.#content === '') await this.#replaceCopy(files, signal);
    else await commitFiles(this.#folder, files, signal);
    this.#content = content;
    return true;
  }

  /** The commit of the copy on disk; undefined if there is none, or it is unreadable. */
  async revision(): Promise<string | undefined> {
    const text = await readFile(join(this.#folder, 'refs', 'heads', 'main'), 'utf8').catch(() => undefined);
    return text?.trim();
  }

  /** A copy that an earlier process left may be damaged. */
  async #replaceCopy(files: readonly LocalFile[], signal: AbortSignal): Promise<void> {
    const next = `${this.#folder}.next`;
    await rm(next, { recursive: true, force: true });
    await commitFiles(next, files, signal);
    await rm(this.#folder, { recursive: true, force: true });
    await rename(next, this.#folder);
  }

  /** Undefined: as at the last time. */
  async #read(signal: AbortSignal): Promise<readonly LocalFile[] | undefined> {
    const source = this.#source;
    if (source.kind === 'git') return undefined;
    if (source.kind === 'directory') return readDirectory(source.url, sourceBounds);
    const { url, digest } = source;
    const options = { etag: this.#etag, allowsRedirects: digest !== '' };
    const deadline = { clock: systemClock, limitMs: downloadMs, what: `downloading ${shownUrl(url)}` };
    const answer = await withDeadline(signal, deadline, (own) => download(url, options, own));
    if (answer === undefined) return undefined;
    const files = await readArchive(answer.content, digest);
    this.#etag = answer.etag;
    return files;
  }
}

function contentOf(files: readonly LocalFile[]): string {
  const hash = createHash('sha256');
  for (const { path, mode, content } of files)
    hash.update(JSON.stringify([path, mode, content.length])).update(content);
  return hash.digest('hex');
}
