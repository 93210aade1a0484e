import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { annotations, finalizers, labels } from '#model';
import { markEffects } from './annotation-effects.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/compatibility.md'), 'utf8');
const isArgoName = (name: string): boolean => /argoproj\.io|helm\.sh|managed-by|last-applied/.test(name);

describe('annotations, labels and finalizers of Argo CD', () => {
  it.each(Object.entries(markEffects))('%s has a test, a row or another reader', (_name, effect) => {
    if ('reader' in effect) return;
    if ('row' in effect) {
      expect(page).toContain(`\n| ${effect.row} | `);
      return;
    }
    const path = join(root, effect.test);
    expect(existsSync(path) ? readFileSync(path, 'utf8') : '').toContain(effect.names);
  });

  it('the table has each name that the controller reads', () => {
    const names = Object.values({ ...annotations, ...labels, ...finalizers });
    expect(names.filter(isArgoName).filter((name) => !Object.hasOwn(markEffects, name))).toEqual([]);
  });

  it('each name without another reader occurs in the sources', () => {
    const sources = ['model/annotations.ts', 'health/pod.ts', 'live/objects/details.ts', 'live/objects/networking.ts'];
    const text = sources.map((path) => readFileSync(join(root, path), 'utf8')).join('\n');
    // The recommended tracking label is a value of the setting.
    const read = Object.entries(markEffects).filter(
      ([name, effect]) => 'test' in effect && !name.endsWith('/instance'),
    );
    expect(read.map(([name]) => name).filter((name) => !text.includes(name))).toEqual([]);
  });
});
