// Bundles the pure doors of the engine (driftless/health, driftless/diff) over their compiled files:
// unbundled, driftless/health loads 70 files and the packages of #base, ten times the CPU.
import { join } from 'node:path';
import { build } from 'esbuild';
import { root } from '../root.mjs';

const isPackage = /^[^./#]/;

/** No module of the engine has effects when it is loaded: what is not used can go, imports too. */
const withoutSideEffects = {
  name: 'without-side-effects',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /.*/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === 'resolved' || from.kind === 'entry-point') return undefined;
      if (isPackage.test(path)) return { path, external: true, sideEffects: false };
      const found = await resolve(path, { ...from, pluginData: 'resolved' });
      return { ...found, sideEffects: false };
    });
  },
};

for (const name of ['health', 'diff'])
  await build({
    entryPoints: [join(root, 'engine', `${name}.ts`)],
    outfile: join(root, 'dist', 'engine', `${name}.js`),
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    legalComments: 'none',
    plugins: [withoutSideEffects],
    logLevel: 'warning',
  });
