import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { applicationOf, describeCase, optionCases, settingsOf } from './cases.ts';
import { directoryOptions } from './directory-options.ts';
import { explainedDifferences } from './explained.ts';
import { helmOptions } from './helm-options.ts';
import { kustomizeOptions } from './kustomize-options.ts';
import { optionLayouts } from './layouts.ts';
import { mergeJson } from './option.ts';

const layouts = optionLayouts();

describe('the layouts whose options are tried', () => {
  it('are of every kind, each with the files that its options name', () => {
    for (const kind of ['kustomize', 'helm', 'directory'] as const)
      expect(layouts.filter((one) => one.kind === kind).length).toBeGreaterThan(30);
    const charts = layouts.filter(({ kind }) => kind === 'helm').map(({ layout }) => Object.keys(layout.files ?? {}));
    for (const paths of charts) expect(paths.some((path) => path.endsWith('templates/option-shown.yaml'))).toBe(true);
  });
});

describe('the cases', () => {
  it('are a sample of the larger run with the same seed, and none comes twice', () => {
    const names = (limit: number, seed = 1): string[] => optionCases(layouts, { limit, seed }).map(describeCase);
    const many = names(400);
    expect(new Set(many).size).toBe(400);
    expect(many.slice(0, 50)).toEqual(names(50));
    expect(names(50, 2)).not.toEqual(names(50));
  });

  it('try every option, each in a layout of its kind', () => {
    const singles = optionCases(layouts, { limit: 600, seed: 1 }).filter(({ options }) => options.length === 1);
    const tried = new Set(
      singles.filter(({ layout, options }) => options[0]?.kind === layout.kind).flatMap((one) => one.options),
    );
    for (const all of [kustomizeOptions, helmOptions, directoryOptions])
      expect(all.filter((option) => !tried.has(option))).toEqual([]);
  });

  it('add their options to those of the layout, which can be shrunk away', () => {
    const layout = layouts.find((one) => one.layout.name === 'kustomize-images');
    const source = { kustomize: { images: ['a:1'], namePrefix: 'p-' } };
    if (layout === undefined) throw new Error('the layout is gone');
    const settings = settingsOf({ layout, options: [{ name: 'x', kind: 'kustomize', source }] });
    expect(settings).toMatchObject({ kustomize: { namePrefix: 'p-' } });
    expect(applicationOf(layout, settings).source).toMatchObject({ path: 'kustomize-images/over', ...settings });
    expect(applicationOf(layout, {}).source).toEqual({ path: 'kustomize-images/over' });
  });
});

describe('an explained difference', () => {
  it('has a row in docs/compatibility.md', () => {
    const page = readFileSync('docs/compatibility.md', 'utf8');
    expect(Object.keys(explainedDifferences).filter((row) => !page.includes(`| ${row} | differs |`))).toEqual([]);
  });
});

describe('mergeJson', () => {
  it('merges maps, joins lists, and takes the last of other values', () => {
    expect(mergeJson({ a: { b: 1, c: [1] }, d: 'x' }, { a: { c: [2], e: null }, d: ['y'] })).toEqual({
      a: { b: 1, c: [1, 2], e: null },
      d: ['y'],
    });
  });
});
