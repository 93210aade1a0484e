import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * A repository `<name>.git` that a Git server serves from `root`. Hashes depend only on the
 * committed files: the same commits have the same hashes in both worlds, so that outputs can be
 * compared.
 */
export class ServedRepository {
  readonly name: string;
  readonly #bare: string;
  readonly #tree: string;

  constructor(root: string, trees: string, name: string) {
    this.name = name;
    this.#bare = join(root, `${name}.git`);
    this.#tree = join(trees, name);
    mkdirSync(this.#tree, { recursive: true });
    this.#git('init', '--quiet', '--bare', '--initial-branch=main', this.#bare);
    this.#git('init', '--quiet', '--initial-branch=main');
  }

  /** Writes files (null removes one), commits and pushes; returns the commit. */
  commit(files: Readonly<Record<string, string | null>>): string {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.#tree, name);
      mkdirSync(dirname(path), { recursive: true });
      if (content === null) rmSync(path, { recursive: true });
      else writeFileSync(path, content);
    }
    this.#git('add', '--all');
    this.#git('commit', '--quiet', '--allow-empty', '--message', 'change');
    this.#git('push', '--quiet', this.#bare, 'HEAD:main');
    return this.#git('rev-parse', 'HEAD');
  }

  #git(...args: string[]): string {
    const date = '2026-01-01T00:00:00Z';
    return execFileSync('git', ['-C', this.#tree, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: this.#tree,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'a',
        GIT_AUTHOR_EMAIL: 'a@example.com',
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_NAME: 'a',
        GIT_COMMITTER_EMAIL: 'a@example.com',
        GIT_COMMITTER_DATE: date,
      },
    }).trim();
  }
}
