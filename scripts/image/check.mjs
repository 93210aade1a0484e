// `npm run image:check`: checks the Dockerfile against our rules (hadolint has the general ones),
// runs its steps on this machine as far as possible without a container engine (steps.mjs), and
// starts each command from the resulting files with the image's Node version, user and environment.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tools } from '../e2e/tools.mjs';
import { finish, runStages } from './steps.mjs';
import { pairsOf, parseDockerfile, stagesOf } from './dockerfile.mjs';
import { imageNode, nodeVersion } from './node.mjs';
import { root } from '../root.mjs';

const read = (name) => readFileSync(join(root, name), 'utf8');
const { version } = JSON.parse(read('package.json'));
const problems = [];
const dockerfile = stagesOf(parseDockerfile(read('Dockerfile')));
const everything = dockerfile.stages.flatMap(({ instructions }) => instructions);
const last = dockerfile.stages.at(-1);

checkBases();
checkVersions();
checkSteps();
checkLast();
checkLayers();
checkSystem();
checkContext();
if (problems.length === 0) await checkLayout();
for (const problem of problems) process.stderr.write(`image:check: ${problem}\n`);
if (problems.length === 0)
  process.stdout.write(`image:check: the rules, ${everything.length} instructions and the layout are good\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

function check(isGood, problem) {
  if (!isGood) problems.push(`Dockerfile: ${problem}`);
}

function all(name, of = everything) {
  return of.filter((one) => one.name === name).map(({ args }) => args);
}

function argument(name) {
  return [...dockerfile.head, ...everything]
    .flatMap((one) => (one.name === 'ARG' ? pairsOf(one.args) : []))
    .find(([key]) => key === name)?.[1];
}

function checkBases() {
  for (const { base } of dockerfile.stages.filter(({ base }) => base !== 'scratch')) {
    const name = /^\$\{(\w+)\}$/.exec(base)?.[1];
    const image = name === undefined ? undefined : argument(name);
    check(image !== undefined, `FROM ${base}: name the base by an ARG with a default, so that a digest can be given`);
    check(
      image === undefined || /:[\w.-]*\d+\.\d+\.\d+/.test(image) || image.includes('@sha256:'),
      `${name}=${image}: pin it by full version or digest`,
    );
  }
}

function checkVersions() {
  check(
    argument('NODE_IMAGE')?.startsWith(`node:${nodeVersion}-`),
    `NODE_IMAGE is not Node ${nodeVersion}, on which the tests run (scripts/image/node.mjs)`,
  );
  for (const name of ['helm', 'kustomize', 'jsonnet']) {
    const wanted = tools.find((tool) => tool.name === name)?.version;
    const given = argument(`${name.toUpperCase()}_VERSION`);
    check(given === wanted, `${name} ${given}, but e2e runs with ${wanted} (scripts/e2e/tools.mjs)`);
  }
  check(argument('VERSION') === version, `VERSION=${argument('VERSION')}, but package.json says ${version}`);
}

function checkSteps() {
  check(all('SHELL').length === 0 && all('ONBUILD').length === 0, 'no SHELL, no ONBUILD');
  for (const [name, text] of [...dockerfile.head, ...everything].map(({ name, args }) => [name, args])) {
    if (name === 'ENV' || name === 'ARG')
      check(
        !/(PASSW|TOKEN|SECRET|CREDENTIAL|_KEY)\w*/i.test(text),
        `${name} ${text}: no secrets, layers and history keep them`,
      );
    if (name === 'ENV')
      check(
        !/GO(NOSUMDB|PRIVATE|INSECURE)|GONOSUMCHECK|GOSUMDB=off/.test(text),
        `ENV ${text}: do not switch off Go's checksum database`,
      );
  }
  for (const text of all('RUN')) {
    const short = `RUN ${text.slice(0, 60)}…`;
    check(!/\b(curl|wget)\b/.test(text), `${short}: do not download without a checksum`);
    check(!/chmod (-R )?0?777/.test(text), `${short}: no mode 777`);
    check(!/npm (install|i)\b/.test(text), `${short}: use npm ci, which obeys the lock file`);
    check(!/npm ci/.test(text) || /--ignore-scripts/.test(text), `${short}: add --ignore-scripts`);
    check(!/go install/.test(text) || !/@(latest|main|master)/.test(text), `${short}: pin the version`);
  }
}

function checkLast() {
  const final = (name) => all(name, last.instructions);
  const user = final('USER').at(-1);
  check(/^[1-9]\d*$/.test(user ?? ''), 'the last USER must be a number, and not 0');
  check(
    final('ENTRYPOINT').at(-1) === '["/usr/bin/tini", "--"]',
    'ENTRYPOINT must be tini in exec form: it forwards signals and reaps orphans',
  );
  check(final('CMD').at(-1)?.startsWith('["/usr/local/bin/'), 'CMD must start a command of ours, in exec form');
  check(
    !final('RUN').some((text) => /npm ci|tsc|go install/.test(text)),
    'the last stage must not build or install packages',
  );
  const modules = final('COPY').filter((text) => /node_modules /.test(text));
  check(
    modules.length === 1 && isProduction(/--from=(\S+)/.exec(modules[0])?.[1]),
    'node_modules must come from a stage that installs with --omit=dev only',
  );
  const labels = final('LABEL').join(' ');
  for (const name of ['title', 'description', 'version', 'revision', 'licenses'])
    check(labels.includes(`org.opencontainers.image.${name}=`), `LABEL org.opencontainers.image.${name} is missing`);
}

/** The last stage starts empty: every layer of it takes space, and one changes with our code. */
function checkLayers() {
  const copies = all('COPY', last.instructions);
  check(last.base === 'scratch', 'the last stage must begin with scratch: what a base image has, no step can remove');
  check(
    copies.every((text) => /--from=\w/.test(text)) && copies.filter((text) => /--from=build /.test(text)).length === 1,
    'what changes with our code must be one COPY --from=build of the last stage',
  );
  const names = last.instructions.filter(({ name }) => name === 'COPY' || name === 'RUN');
  check(
    names.at(-1)?.args.includes('--from=build ') === true,
    'COPY --from=build must be the last layer: later ones would change with it',
  );
  const platform = read('Dockerfile').match(/^FROM .*$/gm) ?? [];
  check(
    platform.every((line) =>
      /--platform=\$\{BUILDPLATFORM\} .* AS (tools|build|dependencies)$|^FROM \$\{NODE_IMAGE\} AS system$|^FROM scratch$/.test(
        line,
      ),
    ) && !/\b(amd64|x86_64|arm64|aarch64)\b/.test(everything.map(({ args }) => args).join('\n')),
    'only the stage "system" may run on the target platform, and no step may name a processor',
  );
}

/** The stage whose files become the system of the image. */
function checkSystem() {
  const system = dockerfile.stages.find(({ name }) => name === 'system')?.instructions ?? [];
  const run = all('RUN', system);
  check(
    run.findIndex((text) => /useradd/.test(text)) <= run.findIndex((text) => /apt-get install/.test(text)) &&
      !run.some((text) => /apt-get install.*useradd/.test(text)),
    'create the user before packages are installed: they may take its number',
  );
  const packages = run.flatMap((text) => /apt-get install ([^&]*)/.exec(text)?.[1]?.split(/\s+/) ?? []);
  for (const name of [
    'ca-certificates',
    'git',
    'gpg',
    'gpg-agent',
    'libatomic1',
    'libnss-wrapper',
    'openssh-client',
    'tini',
  ])
    check(packages.includes(name), `apt-get install ${name} is missing: the controller runs it`);
  const user = all('USER', last.instructions).at(-1);
  const wanted = /runAsUser: (\d+)/.exec(read('charts/driftless/values.yaml'))?.[1];
  check(user === wanted, `USER ${user}, but the chart runs it as ${wanted}`);
}

function isProduction(name) {
  const runs = all('RUN', dockerfile.stages.find((stage) => stage.name === name)?.instructions ?? []);
  return (
    runs.some((text) => /npm ci/.test(text)) && runs.every((text) => !/npm ci/.test(text) || /--omit=dev/.test(text))
  );
}

/** .dockerignore must be an allow list: no stray file of a checkout gets into a layer. */
function checkContext() {
  const rules = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  check(rules[0] === '*', '.dockerignore must begin with *, so that it lists what belongs into the image');
  const folders = Object.values(JSON.parse(read('package.json')).imports).map(({ source }) => source.split('/')[1]);
  for (const name of folders.filter((name) => name !== 'test'))
    check(rules.includes(`!${name}`), `.dockerignore lacks !${name}, a folder of package.json's imports`);
}

async function checkLayout() {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-image-'));
  chmodSync(folder, 0o755);
  const say = (text) => process.stderr.write(`image:check: ${text}\n`);
  try {
    const node = imageNode();
    const image = runStages(dockerfile, { folder, context: root, ignore: read('.dockerignore'), node, say });
    finish(image, node, all('USER', last.instructions).at(-1));
    if (image.skipped.length > 0) say(`skipped, needs a container engine: ${[...new Set(image.skipped)].join(', ')}`);
    checkFiles(image.root);
    startAll(image);
  } catch (error) {
    problems.push(error.message);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkFiles(image) {
  const there = (path) => existsSync(join(image, path));
  const pod = ['_pod.tpl', '_renderer.tpl'].map((name) => read(`charts/driftless/templates/${name}`)).join('\n');
  for (const [, path] of pod.matchAll(/^ *- (\/usr\/local\/bin\/\S+)/gm))
    check(there(path), `the chart starts ${path}, which is missing`);
  // The container runtime creates the folder of the ServiceAccount token.
  for (const [, path] of pod.matchAll(/mountPath: (?!\/var\/run\/secrets\/)(\/\S+)/g))
    check(
      there(path) && statSync(join(image, path)).isDirectory(),
      `the chart mounts ${path}, which is not a folder in the image`,
    );
  for (const name of ['typescript', 'typescript-native', 'jest', 'eslint', 'fast-check', '@swc/core'])
    check(!there(`/opt/driftless/node_modules/${name}`), `${name} is a development package, but is in the image`);
  for (const path of ['dist/test', 'dist/bench', 'dist/.tsbuildinfo'])
    check(!there(`/opt/driftless/${path}`), `${path} does not belong in the image`);
  const bom = JSON.parse(readFileSync(join(image, 'opt/driftless/sbom.json'), 'utf8'));
  const installed = bom.components.filter(({ purl }) => purl.startsWith('pkg:npm/'));
  const known = new Set(installed.map(({ name }) => name));
  const listed = spawnSync(
    'find',
    [join(image, 'opt/driftless/node_modules'), '-path', '*/node_modules/*/package.json'],
    {
      encoding: 'utf8',
      maxBuffer: 64e6,
    },
  ).stdout.split('\n');
  for (const path of listed) {
    const name = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(path)?.[1];
    if (name !== undefined) check(known.has(name), `${name} is installed, but not in the SBOM`);
  }
}

/**
 * Starts each command as a pod does: as the image's user, with only home and /tmp writable, and
 * without the environment of this machine.
 */
function startAll(image) {
  const pod = join(image.root, 'tmp', 'pod.yaml');
  writeFileSync(pod, 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Running}\n');
  chmodSync(pod, 0o644);
  const start = (command, text) => expect(image, command, text);
  start(['driftless', 'version'], version);
  start(['driftless', '--help'], 'shards');
  start(['argocd-application-controller', '--help'], '--status-processors');
  start(['driftless', 'health', '-f', pod, '-o', 'json'], '"kind":"Pod"');
  start(['driftless', 'demo', '--once', '-o', 'json', '--timeout', '120s'], '"applications":');
  for (const name of ['helm', 'kustomize', 'jsonnet'])
    if (existsSync(join(image.root, 'usr/local/bin', name)))
      start(
        [name, name === 'jsonnet' ? '--version' : 'version'],
        `v${tools.find((tool) => tool.name === name).version}`,
      );
}

function expect({ root: image, env }, [name, ...args], text) {
  const own = Object.entries(env).map(([key, value]) => [key, value.startsWith('/') ? join(image, value) : value]);
  const bin = join(image, 'usr/local/bin');
  const user = Number(all('USER', last.instructions).at(-1));
  const { status, error, stdout, stderr } = spawnSync(join(bin, name), args, {
    encoding: 'utf8',
    timeout: 180_000,
    cwd: join(image, 'home/argocd'),
    env: { ...Object.fromEntries(own), PATH: `${bin}:/usr/bin:/bin` },
    ...(process.getuid?.() === 0 ? { uid: user, gid: user } : {}),
  });
  if (status !== 0 || !stdout.includes(text))
    problems.push(
      `${[name, ...args].join(' ')}: ${error?.message ?? `exit ${status}`}, without ${JSON.stringify(text)}:\n${stdout?.slice(-500)}${stderr?.slice(-500)}`,
    );
}
