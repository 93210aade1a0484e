// Bundles the page of the dashboard into dist/dashboard/page: index.html and assets whose names
// contain a hash of their content. Fails above the size budget. `--json` prints the sizes.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { root } from '../root.mjs';

/** All scripts and styles, compressed. */
const maxCompressedBytes = 150_000;
const folder = join(root, 'dist', 'dashboard', 'page');

rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, 'assets'), { recursive: true });
const result = await build({
  entryPoints: [join(root, 'dashboard', 'ui', 'main.tsx')],
  outdir: join(folder, 'assets'),
  entryNames: 'driftless-[hash]',
  chunkNames: 'part-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: ['es2022'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
const outputs = Object.entries(result.metafile.outputs);
const nameOf = (ending) => {
  const found = outputs.find(([path, { entryPoint, cssBundle }]) =>
    ending === '.css'
      ? path.endsWith('.css')
      : entryPoint !== undefined &&
        !cssBundle?.startsWith('?') &&
        path.endsWith(ending) &&
        basename(path).startsWith('driftless-'),
  );
  if (found === undefined) throw new Error(`the bundle has no ${ending} file`);
  return basename(found[0]);
};
const page = readFileSync(join(root, 'dashboard', 'ui', 'page.html'), 'utf8')
  .replace('driftless.js', `assets/${nameOf('.js')}`)
  .replace('driftless.css', `assets/${nameOf('.css')}`);
writeFileSync(join(folder, 'index.html'), page);

const sizes = outputs.map(([path]) => {
  const content = readFileSync(join(root, path));
  return { file: basename(path), bytes: content.length, compressed: gzipSync(content, { level: 9 }).length };
});
const compressed = sizes.reduce((sum, size) => sum + size.compressed, gzipSync(page, { level: 9 }).length);
if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify({ compressed, sizes })}\n`);
if (compressed > maxCompressedBytes) {
  process.stderr.write(`the dashboard has ${compressed} bytes compressed, more than ${maxCompressedBytes}\n`);
  process.exit(1);
}
