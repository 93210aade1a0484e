import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from './root.mjs';

/**
 * A plugin of esbuild: a module of ours finds other files from where its compiled file would be,
 * `folder` below the folder of the bundle, and not from the bundle. Not by `new URL`, in which other
 * bundlers see a file to copy.
 */
export function ownAddresses(folder) {
  return {
    name: 'own-addresses',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        if (path.includes('node_modules') || !text.includes('import.meta.url')) return undefined;
        const compiled = `${folder}${relative(root, path).replace(/\.ts$/, '.js')}`;
        const address = `import.meta.url.replace(/[^/]*$/, ${JSON.stringify(compiled)})`;
        return { contents: text.replaceAll('import.meta.url', address), loader: 'ts' };
      });
    },
  };
}
