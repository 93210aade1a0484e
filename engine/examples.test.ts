import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const folder = join('examples', 'engine');
const examples = readdirSync(folder).filter((name) => name.endsWith('.mjs'));
const { exports: doors } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};
const names = Object.keys(doors)
  .filter((name) => name !== './package.json')
  .map((name) => name.slice(2));

describe('the doors of the engine', () => {
  it.each(names)('driftless/%s has an example and a page', (name) => {
    expect(examples).toContain(`${name}.mjs`);
    expect(existsSync(join('docs', 'engine', `${name}.md`))).toBe(true);
  });

  it.each(examples)('examples/engine/%s is short and prints what is expected', async (name) => {
    const path = join(folder, name);
    // The agent is a whole program.
    expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(name === 'agent.mjs' ? 150 : 41);
    const { stdout } = await promisify(execFile)(process.execPath, [path]);
    expect(stdout).toBe(readFileSync(path.replace('.mjs', '.txt'), 'utf8'));
  });

  it.each(['health', 'diff'])('driftless/%s is one file that loads nothing that opens a socket', (name) => {
    const code = readFileSync(join('dist', 'engine', `${name}.js`), 'utf8');
    const loaded = [...code.matchAll(/^import\b[^"']*["']([^"']+)["'];$/gm)].map(([, path]) => path);
    const harmless = ['js-yaml', 're2js', 'node:crypto'];
    expect(loaded.filter((path) => !harmless.includes(path ?? ''))).toEqual([]);
    expect([...code.matchAll(/\bimport\(["']([^"']+)["']\)/g)].map(([, path]) => path)).toEqual(
      name === 'health' ? ['wasmoon'] : [],
    );
  });
});
