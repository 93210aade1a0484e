import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.mjs';

/**
 * Files below the folders that differ from the main branch, uncommitted and new ones included. All
 * files if there is no repository or no main branch.
 */
export function changedFiles(folders) {
  const paths = ['--', ...(folders.length > 0 ? folders : ['.'])];
  const base = ['origin/HEAD', 'origin/main', 'main']
    .map((name) => git('merge-base', 'HEAD', name)[0])
    .find((commit) => commit !== undefined);
  const tracked = base === undefined ? git('ls-files', ...paths) : git('diff', '--name-only', base, ...paths);
  const added = git('ls-files', '--others', '--exclude-standard', ...paths);
  return [...new Set([...tracked, ...added])].filter((path) => existsSync(join(root, path)));
}

/** The lines that a command prints; none if it fails. */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  return status === 0 ? stdout.split('\n').filter((line) => line !== '') : [];
}
