import { SizeLimitExceeded } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import type { RenderFile } from '../render/types.ts';
import type { RenderJob } from './plan.ts';

const maxBytesByUrl = 32 * 1024 * 1024;

/**
 * Files that a source names by URL. They are downloaded while their memory counts as held, and
 * their sizes are unknown before, so all of one source together have a limit.
 */
export class DownloadedFiles {
  files: readonly RenderFile[] = [];
  readonly #job: RenderJob;
  /** Name of the files in messages, in the plural. */
  readonly #what: string;
  /** URLs by path. */
  readonly #wanted = new Map<string, string>();
  readonly #limitBytes: number;

  constructor(job: RenderJob, what: string, { inputBytes }: DesiredLimits) {
    this.#job = job;
    this.#what = what;
    this.#limitBytes = Math.min(maxBytesByUrl, Math.floor(inputBytes / 8));
  }

  /** Memory that all of them may take. */
  get maxBytes(): number {
    return this.#wanted.size === 0 ? 0 : this.#limitBytes;
  }

  get count(): number {
    return this.#wanted.size;
  }

  add(path: string, url: string): void {
    this.#wanted.set(path, url);
  }

  /** @throws SizeLimitExceeded, DesiredError */
  async fetch(signal: AbortSignal): Promise<void> {
    let left = this.#limitBytes;
    const files: RenderFile[] = [];
    for (const [path, url] of this.#wanted) {
      const content = await this.#job.downloadFile(url, left, signal).catch((error: unknown) => {
        throw error instanceof SizeLimitExceeded ? this.#tooMany() : error;
      });
      left -= content.length;
      files.push({ path, content });
    }
    this.files = files;
  }

  #tooMany(): SizeLimitExceeded {
    return new SizeLimitExceeded(
      `the ${this.#what} by URL have more than ${this.#limitBytes} bytes together: put big ones into the repository`,
    );
  }

  /** Frees the memory of the files, when it no longer counts as held. */
  forget(): void {
    this.files = [];
  }
}
