// `node scripts/release/scorecard.mjs`: the checks of OpenSSF Scorecard that need nothing but the
// repository. Prints one line for each; exit code 1 if one fails. Not checked, because they need
// the hosting service or the past: branch protection, code review, contributors, maintained,
// packaging, signed releases, webhooks, the badge of best practices. Known vulnerabilities:
// supply-chain.mjs.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../root.mjs';

/** Executables, archives of code and compiled code, by name and by their first bytes. */
const programs = /\.(?:exe|dll|so|dylib|a|o|class|jar|war|pyc|wasm|node|apk|dmg|deb|rpm|msi)$/i;
const magics = ['7f454c46', '4d5a', 'feedface', 'feedfacf', 'cffaedfe', 'cafebabe', '0061736d'];
const workflowPath = /^\.github\/workflows\/.+\.ya?ml$/;

/**
 * Each check with the reasons why it fails; none if it passes.
 * @param repository its files, and how to read them
 */
export function localChecks(repository) {
  return Object.entries(checks).map(([name, check]) => ({ name, faults: check(repository) }));
}

const checks = {
  'Binary-Artifacts': ({ files, bytes }) =>
    files.filter((path) => programs.test(path) || startsLikeProgram(bytes(path))).map((path) => `${path} is a program`),
  'Pinned-Dependencies': (repository) => [
    ...packageFaults(repository),
    ...lockFaults(repository),
    ...imageFaults(repository),
    ...workflowFaults(repository, /uses: *(?!\.\/)(?!.*@[0-9a-f]{40}\b)(.+)/g, 'uses an action without a commit'),
  ],
  'Dangerous-Workflow': (repository) => [
    ...workflowFaults(repository, /\b(pull_request_target|workflow_run)\b/g, 'runs with secrets for foreign code'),
    ...workflowFaults(
      repository,
      /run:.*(\$\{\{ *github\.(?:event|head_ref)[^}]*\}\})/g,
      'puts foreign text in a script',
    ),
  ],
  'Token-Permissions': (repository) => [
    ...workflowFaults(repository, /(permissions: *write-all|^ {0,2}[\w-]+: *write\b)/gm, 'may write to everything'),
    ...repository.files
      .filter((path) => workflowPath.test(path) && !/^permissions:/m.test(repository.text(path)))
      .map((path) => `${path}: has no permissions at the top level`),
  ],
  License: ({ files, text }) => {
    const { license } = json(text, 'package.json');
    if (!files.includes('LICENSE')) return ['there is no LICENSE'];
    const isApache = text('LICENSE').includes('Apache License') && license === 'Apache-2.0';
    return isApache ? [] : [`package.json names the licence ${license}, LICENSE has another`];
  },
  'Security-Policy': ({ files, text }) => {
    if (!files.includes('SECURITY.md')) return ['there is no SECURITY.md'];
    const policy = text('SECURITY.md');
    return [
      [/Report a vulnerability/, 'how to report a vulnerability'],
      [/^## Supported versions/m, 'the supported versions'],
      [/within \d+ days/, 'how soon a report is answered'],
    ].flatMap(([pattern, what]) => (pattern.test(policy) ? [] : [`SECURITY.md does not have ${what}`]));
  },
  SAST: ({ files, text }) => {
    const runs = files.includes('.ci/run') && /npm run lint/.test(text('.ci/run'));
    const config = files.find((path) => /^eslint\.config\.[cm]?js$/.test(path));
    const hasRules = config !== undefined && /typescript-eslint/.test(text(config));
    return runs && hasRules ? [] : ['continuous integration does not run a static analysis with types'];
  },
  Fuzzing: ({ files, text }) => {
    const isRun =
      json(text, 'package.json').scripts?.fuzz !== undefined && /main\.mjs/.test(text('scripts/nightly/main.mjs'));
    const readers = files.filter((path) => path.endsWith('/fuzz.test.ts'));
    return isRun && readers.length > 0 ? [] : ['the nightly run does not fuzz'];
  },
  'Dependency-Update-Tool': ({ files, text }) => {
    const path = files.find((one) => /^\.github\/(?:dependabot|renovate)\.(?:ya?ml|json)$/.test(one));
    if (path === undefined) return ['no tool proposes updates of dependencies'];
    return /npm/.test(text(path)) && /docker/.test(text(path)) ? [] : [`${path} does not cover npm and docker`];
  },
  'CI-Tests': ({ files, text }) =>
    files.includes('.ci/run') && /npm test/.test(text('.ci/run')) ? [] : ['continuous integration runs no tests'],
  SBOM: ({ text }) => (json(text, 'package.json').scripts?.sbom === undefined ? ['no script writes an SBOM'] : []),
};

function startsLikeProgram(bytes) {
  const start = Buffer.from(bytes.subarray(0, 4)).toString('hex');
  return magics.some((magic) => start.startsWith(magic));
}

function json(text, path) {
  return JSON.parse(text(path));
}

function packageFaults({ text }) {
  const { dependencies, devDependencies, overrides } = json(text, 'package.json');
  return Object.entries({ ...devDependencies, ...dependencies, ...overrides })
    .filter(([, version]) => !/^(?:npm:[@\w/.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
    .map(([name, version]) => `package.json: ${name} has the version range ${version}`);
}

/** A development package of another platform has no hash until it is installed there. */
function lockFaults({ text }) {
  return Object.entries(json(text, 'package-lock.json').packages)
    .filter(([path, { integrity, link, dev, optional }]) => {
      const needsNone = path === '' || link === true || (dev === true && optional === true);
      return !needsNone && !/^sha(?:512|256)-/.test(integrity ?? '');
    })
    .map(([path]) => `package-lock.json: ${path} has no hash`);
}

function imageFaults({ files, text }) {
  return files
    .filter((path) => /(?:^|\/)Dockerfile(?:\.\w+)?$/.test(path))
    .flatMap((path) => {
      const content = text(path);
      const images = [
        ...content.matchAll(/^(?:ARG \w*IMAGE=|FROM (?:--\S+ )?)(?!--)([\w./-]+(?::[\w.-]+)?(?:@\S+)?)/gm),
      ].map(([, image]) => image);
      const stages = new Set(['scratch', ...[...content.matchAll(/^FROM .* AS (\w+)/gm)].map(([, name]) => name)]);
      const loose = images.filter((image) => !stages.has(image) && !/@sha256:|:\d+\.\d+\.\d+/.test(image));
      const loads = [...content.matchAll(/\b(npm install|curl [^\n]*\| *(?:ba)?sh|wget [^\n]*\| *(?:ba)?sh)/g)];
      return [
        ...loose.map((image) => `${path}: ${image} has no full version and no digest`),
        ...loads.map(([what]) => `${path}: "${what}" installs what nothing pins`),
      ];
    });
}

function workflowFaults({ files, text }, pattern, what) {
  return files
    .filter((path) => workflowPath.test(path))
    .flatMap((path) => [...text(path).matchAll(pattern)].map(([, found]) => `${path}: ${what}: ${found.trim()}`));
}

function readRepository() {
  const { status, stdout, stderr } = spawnSync('git', ['ls-files', '-z'], { cwd: root, maxBuffer: 1 << 26 });
  if (status !== 0) throw new Error(`git ls-files: ${String(stderr).trim()}`);
  const bytes = (path) => readFileSync(join(root, path));
  const files = String(stdout)
    .split('\0')
    .filter((path) => path !== '');
  return { files, bytes, text: (path) => bytes(path).toString() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const results = localChecks(readRepository());
  for (const { name, faults } of results) {
    process.stdout.write(`${faults.length === 0 ? 'pass' : 'FAIL'} ${name}\n`);
    for (const fault of faults) process.stdout.write(`     ${fault}\n`);
  }
  process.exitCode = results.every(({ faults }) => faults.length === 0) ? 0 : 1;
}
