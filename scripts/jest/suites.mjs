// Suites of `npm test`: each loads test files of one folder into one module registry, because loading
// the modules anew for each file takes almost half of the CPU time. `npm test -- FILE` runs a file
// by itself.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../root.mjs';

/** Few enough that both processors are busy until the end. */
const maxFiles = 10;

/** Writes the suites of some test files into build/suites, and returns their paths. */
export function writeSuites(files) {
  const folder = join(root, 'build', 'suites');
  mkdirSync(folder, { recursive: true });
  const suites = suitesOf(files.map((file) => relative(root, file)));
  const names = new Set(suites.map(({ name }) => `${name}.suite.mjs`));
  for (const name of readdirSync(folder)) if (!names.has(name)) rmSync(join(folder, name));
  return suites.map(({ name, files: own }) => {
    const path = join(folder, `${name}.suite.mjs`);
    const text = suiteText(own);
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
    return path;
  });
}

/** The files of each top folder, in parts of similar size. */
export function suitesOf(files) {
  const folders = new Map();
  for (const file of [...files].sort()) {
    const [folder] = file.split('/');
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  return [...folders].flatMap(([folder, own]) => {
    const parts = Math.ceil(own.length / maxFiles);
    return Array.from({ length: parts }, (_, i) => ({
      name: `${folder}-${i + 1}`,
      files: own.filter((_file, at) => Math.floor((at * parts) / own.length) === i),
    }));
  });
}

/** A group for each file: hooks at its top stay within it (suite-environment.mjs). */
function suiteText(files) {
  return `import { describe, it } from '@jest/globals';

const { suiteGroup } = globalThis;
const top = suiteGroup.current();
const files = ${JSON.stringify(files, undefined, 2)};
for (const file of files) {
  describe(file, () => undefined);
  suiteGroup.enter(top.children.at(-1));
  try {
    await import(\`../../\${file}\`);
  } catch (error) {
    it('loads', () => {
      throw error;
    });
  }
  suiteGroup.enter(top);
}
`;
}
