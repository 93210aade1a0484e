import { SizeLimitExceeded } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import type { RenderFile } from '../../render/types.ts';
import type { RenderJob } from '../plan.ts';

const maxValuesBytes = 32 * 1024 * 1024;

/**
 * Values files and file parameters by URL. They are downloaded while their memory counts as held,
 * and their sizes are unknown before, so all of one source together have a limit.
 */
export class DownloadedValues {
  files: readonly RenderFile[] = [];
  readonly #job: RenderJob;
  readonly #wanted: { readonly path: string; readonly url: string }[] = [];
  readonly #limitBytes: number;

  constructor(job: RenderJob, { inputBytes }: DesiredLimits) {
    this.#job = job;
    this.#limitBytes = Math.min(maxValuesBytes, Math.floor(inputBytes / 8));
  }

  /** Memory that all of them may take. */
  get maxBytes(): number {
    return this.#wanted.length === 0 ? 0 : this.#limitBytes;
  }

  add(path: string, url: string): void {
    this.#wanted.push({ path, url });
  }

  /** @throws SizeLimitExceeded, DesiredError */
  async fetch(signal: AbortSignal): Promise<void> {
    let left = this.#limitBytes;
    const files: RenderFile[] = [];
    for (const { path, url } of this.#wanted) {
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
      `the values files by URL have more than ${this.#limitBytes} bytes together: put big ones into the repository`,
    );
  }

  /** Frees the memory of the files, when it no longer counts as held. */
  forget(): void {
    this.files = [];
  }
}
