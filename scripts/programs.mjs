// Bundles the programs of dist/ into dist/programs: `driftless run` loads 20 files instead of 650,
// in a third of the CPU time. The compiled entry files only import the bundles, so that their paths
// and names stay the same. Stack traces name functions of the bundles.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
// @peculiar/x509 needs it, also when its exports are listed.
import 'reflect-metadata';
import { ownAddresses } from './own-addresses.mjs';
import { root } from './root.mjs';
import { withoutNameCalls } from './without-name-calls.mjs';
import { clientNode, withoutSideEffects } from './without-side-effects.mjs';

const entries = [
  'cli/argocd-application-controller',
  ...['cli', 'desired'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((path) => /(?:^|[/-])main\.ts$/.test(path))
      .map((path) => `${folder}/${path.slice(0, -'.ts'.length)}`),
  ),
];
const names = entries.map((entry) => basename(entry));
if (new Set(names).size < names.length) throw new Error(`two programs have the same file name: ${names.join(', ')}`);
/** These read files beside themselves, or are not installed. */
const external = ['jq-wasm', 'wasmoon', 'bufferutil', 'utf-8-validate'];
const folder = join(root, 'dist', 'programs');

/**
 * esbuild gives a CommonJS package that is imported on demand no named exports: they are listed
 * here, as Node finds them.
 */
const packagesOnDemand = {
  name: 'packages-on-demand',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./#]/ }, ({ path, kind, resolveDir }) =>
      kind === 'dynamic-import' && !external.includes(path)
        ? { path, namespace: 'on-demand', pluginData: resolveDir }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'on-demand' }, async ({ path, pluginData }) => {
      const found = Object.keys(await import(path));
      const names = found.filter((name) => /^(?!default$)[A-Za-z_$][\w$]*$/.test(name));
      const lines = names.map((name) => `export const ${name} = all.${name};`);
      if (found.includes('default')) lines.push('export default all.default;');
      const contents = `import * as all from '${path}';\n${lines.join('\n')}\n`;
      return { contents, resolveDir: pluginData };
    });
  },
};

rmSync(folder, { recursive: true, force: true });
await build({
  entryPoints: Object.fromEntries(entries.map((entry) => [basename(entry), join(root, `${entry}.ts`)])),
  outdir: folder,
  chunkNames: 'part-[hash]',
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  conditions: ['source'],
  external,
  legalComments: 'none',
  // Names of classes are read: ioredis derives the name of an error from that of its class.
  keepNames: true,
  // CommonJS modules in the bundles require modules of Node.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);",
  },
  plugins: [packagesOnDemand, withoutSideEffects(clientNode), ownAddresses('../')],
  logLevel: 'warning',
});
for (const name of readdirSync(folder)) {
  const path = join(folder, name);
  writeFileSync(path, inLatin1(withoutNameCalls(readFileSync(path, 'utf8'))));
}
for (const entry of entries) {
  const path = join(root, 'dist', `${entry}.js`);
  const bundle = relative(dirname(path), join(folder, `${basename(entry)}.js`));
  const start = entry.startsWith('cli/') && dirname(entry) === 'cli' ? '#!/usr/bin/env node\n' : '';
  writeFileSync(path, `${start}import '${bundle.startsWith('.') ? bundle : `./${bundle}`}';\n`);
}

/**
 * Escapes other characters. esbuild leaves them in comments and regular expressions, and V8 then
 * holds the whole text of the bundle in two bytes for each character.
 */
function inLatin1(text) {
  return text.replace(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
