import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Inputs of a reader that reached something new, in a folder if one is given. */
export class Corpus {
  #folder;

  /** @param folder of all readers; '': nothing is kept. */
  constructor(folder, reader) {
    if (folder === '') return;
    this.#folder = join(folder, reader.replace(/[^\w-]+/g, '_'));
    mkdirSync(this.#folder, { recursive: true });
  }

  stored() {
    if (this.#folder === undefined) return [];
    return readdirSync(this.#folder)
      .sort()
      .map((name) => readFileSync(join(this.#folder, name)));
  }

  add(input) {
    if (this.#folder === undefined) return;
    writeFileSync(join(this.#folder, createHash('sha256').update(input).digest('hex').slice(0, 20)), input);
  }
}
