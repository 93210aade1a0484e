import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `git commit` starts no maintenance: a process for each commit. */
const config = `[core]
	repositoryformatversion = 0
	bare = false
[gc]
	auto = 0
[maintenance]
	auto = false
`;

/**
 * Makes a folder an empty Git repository with the branch main, as `git init` does, without a
 * process: tests create hundreds, and each fork of a large process takes long.
 */
export function initRepository(folder: string): void {
  const git = join(folder, '.git');
  for (const name of ['objects', join('refs', 'heads')]) mkdirSync(join(git, name), { recursive: true });
  writeFileSync(join(git, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(git, 'config'), config);
}

/** The commit of HEAD, right after `git commit` wrote its branch. */
export function headOf(folder: string): string {
  const git = join(folder, '.git');
  const head = readFileSync(join(git, 'HEAD'), 'utf8').trim();
  return head.startsWith('ref: ') ? readFileSync(join(git, head.slice('ref: '.length)), 'utf8').trim() : head;
}
