import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getuid } from 'node:process';

/** Only root may mount; tests that need it are skipped elsewhere, and say so in their titles. */
export const canMount = getuid?.() === 0;

/** A file system of a few megabytes that fills up, and becomes read-only, on request. */
export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'small-disk-'));
  readonly #ballast = join(this.path, 'ballast');

  constructor(size = '4m') {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', this.path]);
  }

  /** Leaves so many bytes, a multiple of 4096. */
  fill(leftBytes = 0): void {
    const file = openSync(this.#ballast, 'a', 0o600);
    const zeros = Buffer.alloc(4096);
    try {
      for (;;) writeSync(file, zeros);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      ftruncateSync(file, fstatSync(file).size - leftBytes);
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  setReadOnly(isReadOnly: boolean): void {
    execFileSync('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, this.path]);
  }

  close(): void {
    execFileSync('umount', ['--lazy', this.path]);
    rmSync(this.path, { recursive: true });
  }
}
