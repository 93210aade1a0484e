// The last release as users have it: its chart, and its files for the build of its image.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.mjs';

/** Its tag, or the commit where there is none. */
const revisions = ['v0.1.0', 'c6897f3594f86036518b4eb1fd18050c67b1b862'];

/** Extracts it below `folder`. Returns where, or undefined if this clone is too shallow to have it. */
export function extractLastRelease(folder) {
  const git = (...args) => spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });
  const commit = revisions
    .map((revision) => git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`).stdout.trim())
    .find((found) => found !== '');
  if (commit === undefined || git('cat-file', '-e', commit).status !== 0) return undefined;
  const target = join(folder, `release-${commit.slice(0, 12)}`);
  if (existsSync(target)) return target;
  const fresh = `${target}.${process.pid}`;
  mkdirSync(fresh);
  const archive = execFileSync('git', ['-C', root, 'archive', commit], { maxBuffer: 1e9 });
  execFileSync('tar', ['-x', '-C', fresh], { input: archive });
  renameSync(fresh, target);
  return target;
}
