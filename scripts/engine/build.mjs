// Builds the package of the engine in dist/package: the bundles of its doors and of the programs that
// they start, and a package.json with what the bundles import. `pack.mjs` adds types and pages.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ownAddresses } from '../own-addresses.mjs';
import { root } from '../root.mjs';
import { withoutNameCalls } from '../without-name-calls.mjs';
import { doors, packageFolder, packageName } from './doors.mjs';

/** Bundles of their own: each is one file, which loads in a fraction of the time of the shared parts. */
const pureDoors = ['diff', 'health'];
const programs = ['command-helper-main', 'parse-main', 'render-main', 'ssh-proxy-main'];
/** The parts of client-node that read a kubeconfig, bundled before. */
const clientNode = join(root, 'dist', 'kube', 'config', 'client-node.js');
const isPackage = /^[^./#]/;
/** Only for keys of SOPS files, which no entry point of the engine accepts yet. */
const optional = ['age-encryption'];

/** No module of the engine has effects when it is loaded: what is not used can go, imports too. */
const withoutSideEffects = {
  name: 'without-side-effects',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /.*/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === 'resolved' || from.kind === 'entry-point') return undefined;
      if (isPackage.test(path)) return { path, external: true, sideEffects: false };
      if (path === './client-node.ts') return { path: clientNode, sideEffects: false };
      const found = await resolve(path, { ...from, pluginData: 'resolved' });
      return { ...found, sideEffects: false };
    });
  },
};

async function bundle(names, splitting) {
  const entries = names.map((name) =>
    programs.includes(name)
      ? [`desired/${name}`, join(root, 'desired', `${name}.ts`)]
      : [name, join(root, 'engine', `${name}.ts`)],
  );
  const { metafile } = await build({
    entryPoints: Object.fromEntries(entries),
    outdir: join(packageFolder, 'lib'),
    chunkNames: 'part-[hash]',
    absWorkingDir: root,
    bundle: true,
    splitting,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    legalComments: 'none',
    // Errors have the names of their classes.
    keepNames: true,
    plugins: [withoutSideEffects, ownAddresses('')],
    metafile: true,
    logLevel: 'warning',
  });
  for (const name of Object.keys(metafile.outputs)) {
    const path = join(root, name);
    writeFileSync(path, withoutNameCalls(readFileSync(path, 'utf8')));
  }
  return Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
}

rmSync(packageFolder, { recursive: true, force: true });
const shared = [...doors.filter((name) => !pureDoors.includes(name)), ...programs];
const imported = await Promise.all([bundle(shared, true), ...pureDoors.map((name) => bundle([name], false))]);

const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { version, license, engines, repository, dependencies } = own;
const isUsed = new Set(imported.flat());
const description = {
  name: packageName,
  version,
  description: 'GitOps as a library: health, diff, a live cache, rendering, syncs with waves and hooks, and sharding',
  keywords: ['kubernetes', 'gitops', 'argo-cd', 'server-side-apply', 'drift', 'sync', 'health', 'informer', 'sharding'],
  license,
  ...(repository === undefined ? {} : { repository }),
  type: 'module',
  sideEffects: false,
  engines,
  publishConfig: { access: 'public' },
  exports: {
    ...Object.fromEntries(
      doors.map((name) => [`./${name}`, { types: `./types/engine/${name}.d.ts`, default: `./lib/${name}.js` }]),
    ),
    './package.json': './package.json',
  },
  // A library shares packages with its user: their newest fitting version, and not one of its own.
  dependencies: Object.fromEntries(
    Object.entries(dependencies)
      .filter(([name]) => isUsed.has(name) && !optional.includes(name))
      .map(([name, exact]) => [name, `^${exact}`]),
  ),
};
writeFileSync(join(packageFolder, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
