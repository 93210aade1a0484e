// `npm run image:check`: holds the Dockerfile to our rules, and runs its steps on this machine as far as they go without an engine: production
// packages from the lock file, the build, the layout of the image, and each command started from there.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tools } from './e2e-tools.mjs';
import { nodeVersion } from './image.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const problems = [];
const instructions = parse(readFileSync(join(root, 'Dockerfile'), 'utf8'));
checkRules();
if (problems.length === 0) runSteps();
for (const problem of problems) process.stderr.write(`image:check: ${problem}\n`);
process.stdout.write(
  problems.length === 0 ? `image:check: ${instructions.length} instructions and the layout are good\n` : '',
);
process.exit(problems.length === 0 ? 0 : 1);

/** Instructions with their arguments, continued lines joined, comments dropped. */
function parse(text) {
  const joined = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n/g, ' ');
  return joined
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => ({ name: line.split(/\s+/, 1)[0].toUpperCase(), args: line.replace(/^\S+\s+/, '').trim() }));
}

function check(isGood, problem) {
  if (!isGood) problems.push(`Dockerfile: ${problem}`);
}

function all(name) {
  return instructions.filter((one) => one.name === name).map(({ args }) => args);
}

function checkRules() {
  const args = new Map(all('ARG').map((text) => text.split('=', 2)));
  for (const from of all('FROM')) {
    const base = /^\$\{(\w+)\}/.exec(from)?.[1];
    check(base !== undefined && args.has(base), `FROM ${from}: name the base by an ARG, so that a digest can be given`);
    const image = args.get(base) ?? '';
    check(
      /:[\w.-]*\d+\.\d+\.\d+/.test(image) || image.includes('@sha256:'),
      `${base}=${image}: pin it by full version or digest`,
    );
  }
  check(
    args.get('NODE_IMAGE')?.includes(`:${nodeVersion}-`),
    `NODE_IMAGE is not Node ${nodeVersion}, on which the tests run (scripts/image.mjs)`,
  );
  for (const name of ['helm', 'kustomize']) {
    const { version } = tools.find((tool) => tool.name === name);
    const given = args.get(`${name.toUpperCase()}_VERSION`);
    check(given === version, `${name} ${given}, but e2e runs with ${version} (scripts/e2e-tools.mjs)`);
  }
  const last = instructions.slice(instructions.map(({ name }) => name).lastIndexOf('FROM'));
  const final = (name) => last.filter((one) => one.name === name).map((one) => one.args);
  check(/^[1-9]\d*$/.test(final('USER').at(-1) ?? ''), 'the last USER must be a number, and not 0');
  check(
    final('ENTRYPOINT').at(-1)?.startsWith('["/usr/bin/tini"'),
    'ENTRYPOINT must be tini in exec form: signals and orphans',
  );
  check(final('CMD').at(-1)?.startsWith('["/usr/local/bin/driftless"'), 'CMD must be driftless in exec form');
  check(all('ADD').length === 0, 'ADD fetches and unpacks: use COPY');
  for (const text of [...all('ENV'), ...all('ARG')])
    check(!/(PASSWORD|TOKEN|SECRET|KEY)\w*=/i.test(text), `${text}: no secrets in layers`);
  for (const text of all('RUN')) {
    check(!/curl|wget/.test(text), `RUN ${text.slice(0, 60)}…: nothing is fetched without a checksum`);
    if (/apt-get install/.test(text))
      check(
        /--no-install-recommends/.test(text) && /rm -rf \/var\/lib\/apt\/lists/.test(text),
        'apt-get install: without recommends and lists',
      );
    if (/npm ci/.test(text) && final('RUN').includes(text)) check(false, 'the last stage must not install packages');
  }
  check(
    all('RUN').some((text) => /npm ci .*--omit=dev/.test(text)),
    'the packages of the image must be those of production',
  );
  check(
    !all('COPY').some((text) => /^--from=build .*node_modules/.test(text)),
    'node_modules of the build has development packages',
  );
}

function runSteps() {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-image-'));
  try {
    const [source, image] = [join(folder, 'src'), join(folder, 'opt', 'driftless')];
    mkdirSync(source, { recursive: true });
    mkdirSync(image, { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) cpSync(join(root, name), join(source, name));
    if (!run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'], source)) return;
    cpSync(join(source, 'node_modules'), join(image, 'node_modules'), { recursive: true, verbatimSymlinks: true });
    for (const copied of all('COPY').filter((text) => text.startsWith('--from=build'))) {
      const [target, ...paths] = copied.split(/\s+/).slice(1).reverse();
      for (const path of paths) {
        const to = target.endsWith('/') ? join(folder, target, path.replace(/^.*\//, '')) : join(folder, target);
        cpSync(join(root, path.replace('/src/', '')), to, { recursive: true });
      }
    }
    start(folder, image);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As the image does: an executable file on PATH that links to the program, and a user's home that is the only place to write. */
function start(folder, image) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const [name, file] of [
    ['driftless', 'main.js'],
    ['argocd-application-controller', 'argocd-application-controller.js'],
  ]) {
    chmodSync(join(image, 'dist', 'cli', file), 0o755);
    symlinkSync(join(image, 'dist', 'cli', file), join(bin, name));
  }
  const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Running}\n';
  writeFileSync(join(folder, 'pod.yaml'), pod);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(bin, ['driftless', 'version'], version);
  expect(bin, ['driftless', 'help'], 'shards');
  expect(bin, ['argocd-application-controller', '--help'], '--status-processors');
  expect(bin, ['driftless', 'health', '-f', join(folder, 'pod.yaml'), '-o', 'json'], '"kind":"Pod"');
  expect(bin, ['driftless', 'demo', '--once', '-o', 'json', '--timeout', '90s'], '"applications":9');
}

function expect(bin, [name, ...args], text) {
  const { status, stdout, stderr } = spawnSync(join(bin, name), args, {
    encoding: 'utf8',
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: bin, NODE_ENV: 'production' },
  });
  if (status !== 0 || !stdout.includes(text))
    problems.push(
      `${[name, ...args].join(' ')}: exit ${status}, without ${JSON.stringify(text)}:\n${stdout.slice(-500)}${stderr.slice(-500)}`,
    );
}

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) problems.push(`${command} ${args.join(' ')}: exit ${status}`);
  return status === 0;
}
