import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makePackageUser } from '#support';

const examples = join('examples', 'engine');
const programs = readdirSync(examples).filter((name) => name.endsWith('.mjs'));
const wholePrograms = ['agent.mjs', 'fleet.mjs', 'operator.mjs'];
const { exports: doors } = JSON.parse(readFileSync(join('dist', 'package', 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};
const names = Object.keys(doors)
  .filter((name) => name !== './package.json')
  .map((name) => name.slice(2));

describe('the doors of the engine', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'driftless-user-'));
    makePackageUser(folder);
    for (const name of programs) cpSync(join(examples, name), join(folder, name));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(names)('@driftless/engine/%s has an example and a page', (name) => {
    expect(programs).toContain(`${name}.mjs`);
    expect(existsSync(join('docs', 'engine', `${name}.md`))).toBe(true);
  });

  it.each(programs)('examples/engine/%s is short and prints what is expected', async (name) => {
    const lines = readFileSync(join(examples, name), 'utf8').split('\n').length;
    expect(lines).toBeLessThan(wholePrograms.includes(name) ? 150 : 41);
    const { stdout } = await promisify(execFile)(process.execPath, [name], { cwd: folder });
    expect(stdout).toBe(readFileSync(join(examples, name.replace('.mjs', '.txt')), 'utf8'));
  });

  it.each(['health', 'diff'])('@driftless/engine/%s is one file that loads nothing that opens a socket', (name) => {
    const code = readFileSync(join('dist', 'package', 'lib', `${name}.js`), 'utf8');
    const loaded = [...code.matchAll(/^import\b[^"']*["']([^"']+)["'];$/gm)].map(([, path]) => path);
    const harmless = ['js-yaml', 're2js', 'node:crypto'];
    expect(loaded.filter((path) => !harmless.includes(path ?? ''))).toEqual([]);
    expect([...code.matchAll(/\bimport\(["']([^"']+)["']\)/g)].map(([, path]) => path)).toEqual(
      name === 'health' ? ['wasmoon'] : [],
    );
  });
});
