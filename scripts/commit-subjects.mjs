// `node scripts/commit-subjects.mjs`: refuses commits whose subject is longer than 60 characters.
// Merge commits may be longer, and so are commits up to the one named here.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { root } from './root.mjs';

const last = 'b6e111722f03125aae9d06a2d7c5d69cc88acb06';
const maxLength = 60;

/** The lines `HASH SUBJECT` whose subject is too long. */
export function longSubjects(lines) {
  return lines.filter((line) => line.slice(line.indexOf(' ') + 1).length > maxLength);
}

function main() {
  const args = ['log', '--no-merges', '--format=%h %s', `${last}..HEAD`];
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) return [`NOT DONE: this clone lacks ${last.slice(0, 8)} (git fetch --unshallow)`];
  const commits = stdout.split('\n').filter((line) => line !== '');
  const long = longSubjects(commits);
  process.exitCode = Math.min(long.length, 1);
  if (long.length === 0) return [`${commits.length} commits, none over ${maxLength} characters`];
  return long.map((line) => `over ${maxLength} characters: ${line}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const line of main()) process.stdout.write(`commit subjects: ${line}\n`);
