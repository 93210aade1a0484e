// As users: packs the engine, installs the tarball into empty folders, and tries it there: its examples,
// ESM, CommonJS, bundles of esbuild and webpack, strict types, its links. Needs the registry.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { root } from '../root.mjs';
import { doors, packageFolder, packageName } from './doors.mjs';

const maxPackages = 40;
const maxMegabytes = 40;
const webpackVersion = '5.113.0';
const webpackProgram = `
import webpack from 'webpack';
import config from './webpack.config.mjs';
webpack(config, (error, stats) => {
  const failed = error ?? (stats.hasErrors() || stats.hasWarnings() ? stats.toString('errors-warnings') : undefined);
  if (failed === undefined) return;
  console.error(failed);
  process.exitCode = 1;
});
`;
/** An operator in strict TypeScript, as the pages of the package describe it. */
const typedProgram = `
import { openCache } from '@driftless/engine/live';
import type { ObjectMeta, ResourceRef } from '@driftless/engine/live';
import { openWriter, runSync } from '@driftless/engine/sync';
import type { HookType, OperationPhase, ResultCode, SyncInventory, SyncPhase } from '@driftless/engine/sync';

interface SiteStatus {
  readonly phase: OperationPhase;
  readonly inventory?: SyncInventory;
}
export async function reconcile(kubeConfig: string | undefined, signal?: AbortSignal, context?: string) {
  const cache = await openCache({ kubeConfig, context, keep: ({ kind, spec }) => (kind === 'Site' ? spec.replicas : 0) });
  const writer = await openWriter({ kubeConfig, context, dryRun: undefined });
  const owners: ResourceRef[] = [];
  cache.subscribe({ deleted: ({ owners: named, labels }) => void (labels['site'] && owners.push(...named)) });
  const { objects: [site] } = await cache.read(owners, signal);
  await cache.waitFor(owners[0]!, 'gone', { signal, deadlineMs: undefined });
  await cache.list({ kinds: undefined, scope: undefined });
  const { phase, inventory, results } = await runSync({ targets: [], writer, cache, signal, namespace: undefined });
  const codes: (ResultCode | undefined)[] = results.map(({ status }) => status);
  const phases: (SyncPhase | HookType | undefined)[] = results.map(({ syncPhase }) => syncPhase);
  const metadata: ObjectMeta | undefined = site?.metadata;
  const status: SiteStatus = { phase, inventory };
  await writer.patchStatus(site!, status, signal ?? new AbortController().signal);
  return { codes, phases, metadata, stored: await writer.patchStatus(site!, { phase, inventory }, AbortSignal.timeout(1)) };
}
`;
const examples = join(root, 'examples', 'engine');
const names = readdirSync(examples)
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => file.slice(0, -'.mjs'.length));
/** It has a file of WebAssembly beside itself. */
const readsItsOwnFiles = ['wasmoon'];
/** Every door but `desired`, which starts programs of the package: a bundle does not contain them. */
const bundled = ['diff', 'fleet', 'health', 'operator'];

/** Texts with flags that no option of the package leads to. */
const unreachable = [
  'exclude it from plugins with --plugin-tar-exclude=.git',
  'is not among the programs that --credential-plugins permits',
  '--heartbeat-seconds',
  '--certificate-authority and --insecure-skip-tls-verify exclude each other',
  '--client-certificate needs its key',
];

const top = mkdtempSync(join(tmpdir(), 'driftless-engine-'));
try {
  say(run(process.execPath, [join(root, 'scripts', 'engine', 'pack.mjs')], root).trim());
  run('npm', ['publish', '--dry-run', '--loglevel=error'], packageFolder);
  say('npm publish --dry-run: ok');
  const alone = installed('alone');
  checkSize(alone);
  checkLinks(join(alone, 'node_modules', packageName));
  checkTexts(join(alone, 'node_modules', packageName, 'lib'));
  const user = installed('user', '@types/node@20', `webpack@${webpackVersion}`);
  runExamples(user);
  checkModules(user);
  await checkBundles(user);
  checkTypes(user);
} finally {
  rmSync(top, { recursive: true });
}

function say(text) {
  process.stdout.write(`engine: ${text}\n`);
}

function run(command, args, cwd) {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

/** A folder with the tarball and other packages, without overrides. */
function installed(name, ...packages) {
  const folder = join(top, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
  const tarball = readdirSync(join(root, 'dist')).find((file) => file.endsWith('.tgz'));
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  run('npm', ['install', ...quiet, join(root, 'dist', tarball), ...packages], folder);
  return folder;
}

function checkSize(folder) {
  const packages = run('npm', ['ls', '--all', '--parseable'], folder).trim().split('\n').length - 1;
  const megabytes = bytesOf(join(folder, 'node_modules')) / 1e6;
  say(`installed: ${packages} packages, ${megabytes.toFixed(1)} MB`);
  if (packages >= maxPackages || megabytes >= maxMegabytes)
    throw new Error(`the install must stay below ${maxPackages} packages and ${maxMegabytes} MB`);
}

function bytesOf(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + readFileSync(join(entry.parentPath, entry.name)).length, 0);
}

/** Every link of the pages leads to a file of the package. */
function checkLinks(folder) {
  const pages = ['README.md', ...readdirSync(join(folder, 'docs')).map((name) => join('docs', name))];
  for (const page of pages)
    for (const [, link] of readFileSync(join(folder, page), 'utf8').matchAll(/\]\(([^)#]+)/g))
      if (!/^[a-z]+:/.test(link) && !existsSync(join(folder, dirname(page), link)))
        throw new Error(`${page} links to ${link}, which is not in the package`);
  say(`links of ${pages.length} pages: ok`);
}

/** No message names a flag of the controller: users of the package have options. */
function checkTexts(folder) {
  const flags = readFileSync(join(root, 'docs', 'options.md'), 'utf8').matchAll(/^\| `(--[a-z0-9-]+)/gm);
  const known = new Set([...flags].map(([, flag]) => flag));
  const found = readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'))
    .filter((line) => !/^\s*(?:\/\*|\*|\/\/)/.test(line))
    .flatMap((line) => [...line.matchAll(/[ (](--[a-z][a-z0-9-]+)/g)].map(([, flag]) => [flag, line.trim()]))
    .filter(([flag, line]) => known.has(flag) && !unreachable.some((text) => line.includes(text)));
  if (found.length > 0)
    throw new Error(`texts name flags of the controller:\n${found.map(([, line]) => line).join('\n')}`);
  say('flags of the controller in texts: none');
}

function runExamples(folder) {
  for (const name of names) {
    cpSync(join(examples, `${name}.mjs`), join(folder, `${name}.mjs`));
    runExample(name, folder, `${name}.mjs`);
  }
  say(`examples ${names.join(', ')}: ok`);
}

function runExample(name, folder, file) {
  const output = run(process.execPath, [file], folder);
  const expected = readFileSync(join(examples, `${name}.txt`), 'utf8');
  if (output !== expected) throw new Error(`${file} printed:\n${output}\ninstead of:\n${expected}`);
}

function checkModules(folder) {
  writeFileSync(
    join(folder, 'all.mjs'),
    namesOf((door) => `await import('${door}')`),
  );
  writeFileSync(
    join(folder, 'all.cjs'),
    namesOf((door) => `require('${door}')`),
  );
  const [esm, commonJs] = ['all.mjs', 'all.cjs'].map((file) => run(process.execPath, [file], folder));
  if (esm !== commonJs || !esm.includes('health healthOf function')) throw new Error(`${esm}\nis not\n${commonJs}`);
  say('import() and require() of every door: ok');
}

/** A program that prints what every door exports. */
function namesOf(load) {
  const print = (name) => `([key, value]) => console.log('${name}', key, typeof value)`;
  return doors.map((name) => `Object.entries(${load(`${packageName}/${name}`)}).forEach(${print(name)});`).join('\n');
}

async function checkBundles(folder) {
  const entry = Object.fromEntries(bundled.map((name) => [name, join(folder, `${name}.mjs`)]));
  await build({
    entryPoints: entry,
    outdir: join(folder, 'esbuild'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: readsItsOwnFiles,
    // CommonJS packages in the bundle require modules of Node.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'warning',
  });
  const config = {
    mode: 'none',
    target: 'node20',
    entry,
    externals: Object.fromEntries(readsItsOwnFiles.map((name) => [name, `import ${name}`])),
    output: { path: join(folder, 'webpack'), filename: '[name].mjs', module: true, chunkFormat: 'module' },
    experiments: { outputModule: true },
  };
  writeFileSync(join(folder, 'webpack.config.mjs'), `export default ${JSON.stringify(config)};`);
  writeFileSync(join(folder, 'webpack.mjs'), webpackProgram);
  run(process.execPath, ['webpack.mjs'], folder);
  for (const bundler of ['esbuild', 'webpack'])
    for (const name of bundled) runExample(name, folder, join(bundler, `${name}.mjs`));
  say(`bundles of esbuild and webpack, ${bundled.join(', ')}: ok`);
}

function checkTypes(folder) {
  const uses = doors.map((door, i) => `import * as d${i} from '${packageName}/${door}';\nconsole.log(d${i});`);
  const status = `import { healthOf } from '${packageName}/health';
const status: string | undefined = healthOf({ apiVersion: 'v1', kind: 'Pod', metadata: {} })?.status;
console.log(status);
`;
  writeFileSync(join(folder, 'user.ts'), `${uses.join('\n')}\n${status}${typedProgram}`);
  writeFileSync(join(folder, 'user.cts'), status);
  const native = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false', '--types', 'node'];
  const target = ['--target', 'es2022', '--lib', 'es2023', '--module', 'nodenext'];
  run(process.execPath, [native, ...strict, ...target, 'user.ts', 'user.cts'], folder);
  say(`strict types of ${doors.length} doors, ESM and CommonJS: ok`);
}
