// `node scripts/release/release.mjs [--dry-run]`: checks that this commit can be released, packs
// chart, package, SBOM and image into build/release, states their provenance and creates the tag.
// It reports all problems before the first step, and pushes nothing.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../root.mjs';
import { releasePlatforms } from './image-archive.mjs';

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
export function releaseProblems({ version, lockVersion, chart, changelog, changedFiles, tags }) {
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
  if (tags.includes(`v${version}`)) problems.push(`the tag v${version} exists: choose the next version`);
  return problems;
}

function chartField(chart, field) {
  return new RegExp(`^${field}: *["']?([^"'\\n]+?)["']? *$`, 'm').exec(chart)?.[1];
}

/**
 * The steps of a release in order. The tag comes last, so that it exists only if packing succeeded.
 */
export function releaseSteps(version, revision) {
  return [
    { name: 'chart', command: ['helm', 'package', 'charts/driftless', '--destination', 'build/release'] },
    { name: 'package', command: ['npm', 'pack', '--silent', '--pack-destination', 'build/release/package'] },
    { name: 'SBOM', command: ['npm', 'run', '--silent', 'sbom'], copy: ['build/sbom.json', 'build/release/sbom.json'] },
    { name: 'image', command: imageCommand(version, revision) },
    {
      name: 'image check',
      command: ['node', 'scripts/release/image-archive.mjs', imageArchive(version), version, revision],
    },
    { name: 'provenance', command: ['node', 'scripts/release/provenance.mjs', version, revision] },
    { name: 'tag', command: ['git', 'tag', '--annotate', `v${version}`, '--message', `Driftless ${version}`] },
  ];
}

const imageArchive = (version) => `build/release/driftless-${version}.tar`;

/**
 * One OCI archive for all platforms. BuildKit attaches an SBOM of the packages in the image, and the
 * provenance of the build, to each platform.
 */
function imageCommand(version, revision) {
  const build = ['docker', 'buildx', 'build', '--pull', '--platform', releasePlatforms.join()];
  const attestations = ['--attest', 'type=sbom', '--attest', 'type=provenance,mode=max'];
  const stamp = ['--build-arg', `VERSION=${version}`, '--build-arg', `REVISION=${revision}`];
  const output = `type=oci,dest=${imageArchive(version)},name=driftless:${version}`;
  return [...build, ...attestations, ...stamp, '--output', output, '.'];
}

/** One line for each missing program, with the steps that need it. */
export function missingPrograms(steps, hasProgram) {
  const programs = [...new Set(steps.map(({ command }) => command[0]))].filter((program) => !hasProgram(program));
  return programs.map((program) => {
    const needing = steps.filter(({ command }) => command[0] === program).map(({ name }) => name);
    return `${program} is not on PATH: install it (needed for ${needing.join(', ')})`;
  });
}

const readText = (path) => readFileSync(join(root, path), 'utf8');
const hasProgram = (program) => spawnSync(program, ['--help'], { stdio: 'ignore' }).error === undefined;

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr.trim()}`);
  return stdout.split('\n').filter((line) => line !== '');
}

function readFacts() {
  return {
    version: JSON.parse(readText('package.json')).version,
    lockVersion: JSON.parse(readText('package-lock.json')).version,
    chart: readText('charts/driftless/Chart.yaml'),
    changelog: readText('CHANGELOG.md'),
    changedFiles: git('status', '--porcelain').map((line) => line.slice(3)),
    tags: git('tag', '--list'),
  };
}

function runStep({ name, command, copy }) {
  process.stdout.write(`${name}: ${command.join(' ')}\n`);
  const { status, error } = spawnSync(command[0], command.slice(1), { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${name} failed: ${error?.message ?? `exit code ${status}`}`);
  if (copy !== undefined) copyFileSync(join(root, copy[0]), join(root, copy[1]));
}

function main(isDryRun) {
  const facts = readFacts();
  const steps = releaseSteps(facts.version, git('rev-parse', 'HEAD')[0]);
  const problems = [...releaseProblems(facts), ...missingPrograms(steps, hasProgram)];
  for (const problem of problems) process.stderr.write(`release: ${problem}\n`);
  if (isDryRun) for (const { name, command } of steps) process.stdout.write(`${name}: ${command.join(' ')}\n`);
  if (problems.length > 0) return 1;
  if (isDryRun) return 0;
  mkdirSync(join(root, 'build', 'release', 'package'), { recursive: true });
  for (const step of steps) runStep(step);
  process.stdout.write(
    `release: v${facts.version} is tagged, and its files are in build/release; push them when ready\n`,
  );
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = main(process.argv.includes('--dry-run'));
  } catch (error) {
    process.stderr.write(`release: ${error.message}\n`);
    process.exitCode = 1;
  }
}
