// `node scripts/release/release.mjs`: checks that this commit can be tagged as a release. With the
// tag as argument, in .github/workflows/release.yml: that it is the one of this commit's version.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../root.mjs';

/** The changelog's text below the heading of a version; undefined without such a heading. */
export function changelogEntry(changelog, version) {
  const lines = changelog.split('\n');
  const heading = `## ${version} - `;
  const from = lines.findIndex(
    (line) => line.startsWith(heading) && /^\d{4}-\d{2}-\d{2}$/.test(line.slice(heading.length)),
  );
  if (from < 0) return undefined;
  const to = lines.findIndex((line, i) => i > from && line.startsWith('## '));
  return lines
    .slice(from + 1, to < 0 ? undefined : to)
    .join('\n')
    .trim();
}

/** Reasons why a commit cannot be released, one line each; empty if it can. */
export function releaseProblems({ version, lockVersion, chart, changelog, changedFiles, tags, tag }) {
  const problems = [];
  if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version))
    problems.push(`package.json: "${version}" is not a semantic version`);
  if (lockVersion !== version)
    problems.push(`package-lock.json: version ${lockVersion} differs from ${version} of package.json`);
  for (const field of ['version', 'appVersion']) {
    const found = chartField(chart, field);
    if (found !== version)
      problems.push(
        `charts/driftless/Chart.yaml: ${field} ${found ?? '(missing)'} differs from ${version} of package.json`,
      );
  }
  const entry = changelogEntry(changelog, version);
  if (entry === undefined) problems.push(`CHANGELOG.md: add a heading "## ${version} - YYYY-MM-DD"`);
  else if (entry === '') problems.push(`CHANGELOG.md: the entry of ${version} is empty`);
  if (changedFiles.length > 0)
    problems.push(`the working tree is not clean: commit or remove ${changedFiles.slice(0, 5).join(', ')}`);
  if (tag !== undefined && tag !== `v${version}`) problems.push(`the tag ${tag} differs from version ${version}`);
  if (tag === undefined && tags.includes(`v${version}`))
    problems.push(`the tag v${version} exists: choose the next version`);
  return problems;
}

function chartField(chart, field) {
  return new RegExp(`^${field}: *["']?([^"'\\n]+?)["']? *$`, 'm').exec(chart)?.[1];
}

const readText = (path) => readFileSync(join(root, path), 'utf8');

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr.trim()}`);
  return stdout.split('\n').filter((line) => line !== '');
}

function readFacts(tag) {
  return {
    tag,
    version: JSON.parse(readText('package.json')).version,
    lockVersion: JSON.parse(readText('package-lock.json')).version,
    chart: readText('charts/driftless/Chart.yaml'),
    changelog: readText('CHANGELOG.md'),
    changedFiles: git('status', '--porcelain').map((line) => line.slice(3)),
    tags: git('tag', '--list'),
  };
}

function main(tag) {
  const facts = readFacts(tag);
  const problems = releaseProblems(facts);
  for (const problem of problems) process.stderr.write(`release: ${problem}\n`);
  if (problems.length > 0) return 1;
  process.stdout.write(`release: this commit can be released as v${facts.version}\n`);
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main(process.argv[2]);
