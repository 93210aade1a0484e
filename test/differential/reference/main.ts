import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stringifyJson } from '#base';
import type { Json } from '#base';
import { root } from '../root.ts';
import { changesBetween, reportOfChanges } from './changes.ts';
import { factsOf } from './facts.ts';
import type { SourceTree } from './facts.ts';

/*
 * `npm run differential -- reference` (scripts/differential.mjs): what changes between two versions
 * of Argo CD for what we follow. `--before` and `--after` name the folders of a version.
 */
const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '' },
    to: { type: 'string', default: '' },
    before: { type: 'string', multiple: true, default: [] },
    after: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
  },
});
const changes = changesBetween(factsOf(treeOf(values.before)), factsOf(treeOf(values.after)), ourSources());
stdout.write(values.json ? `${stringifyJson(changes as unknown as Json)}\n` : reportOfChanges(changes, values));

/** Folders as `PREFIX=FOLDER`; the prefix may be empty. */
function treeOf(folders: readonly string[]): SourceTree {
  const places = new Map<string, string>();
  for (const each of folders) {
    const [prefix, folder] = [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)];
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) {
        const place = join(entry.parentPath, entry.name);
        places.set(`${prefix}${place.slice(folder.length + 1)}`, place);
      }
  }
  return { paths: [...places.keys()], read: (path) => readFileSync(places.get(path) ?? path, 'utf8') };
}

/** Product files of this repository, and its chart. */
function ourSources(): ReadonlyMap<string, string> {
  const cwd = fileURLToPath(root);
  const apart = /^(test|bench|scripts|docs)\/|\/(testdata|testing)\/|\.test\.ts$/;
  const paths = execFileSync('git', ['ls-files', '*.ts', '*.yaml', '*.json'], { cwd, encoding: 'utf8' }).split('\n');
  const products = paths.filter((path) => path !== '' && !apart.test(path));
  return new Map(products.map((path) => [path, readFileSync(join(cwd, path), 'utf8')]));
}
