import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readArgs } from '../options/args.ts';
import type { OptionSpec } from '../options/args.ts';
import { driftlessOptions } from '../options/driftless-options.ts';
import { renderingOptions } from '../options/rendering-options.ts';
import { runOptions } from '../options/run-options.ts';
import type { RunConfig } from '../options/run-options.ts';
import { settingsOf } from './effect-world.ts';
import { optionEffects } from './option-effects.ts';
import type { OptionEffect } from './effect-types.ts';
import { referenceFlags, referenceKeys, referenceVariables } from './reference-names.ts';
import { settingEffects } from './settings-effects.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/compatibility.md'), 'utf8');
const specs: Readonly<Record<string, OptionSpec>> = runOptions;
const effects = Object.entries(optionEffects);
const settings = Object.entries(settingEffects);

const configOf = (argv: readonly string[], env: Readonly<Record<string, string>> = {}): RunConfig =>
  readArgs(runOptions, argv, env).config;

/** A row with a verdict other than "same", or one that says in words what is missing. */
const hasRow = (subject: string): boolean => page.includes(`\n| ${subject} | `);

describe('the table of options', () => {
  it('has every option of Argo CD', () => {
    const ours = new Set([...Object.keys(driftlessOptions), ...Object.keys(renderingOptions), 'help']);
    expect(Object.keys(optionEffects).sort()).toEqual(
      Object.keys(specs)
        .filter((name) => !ours.has(name))
        .sort(),
    );
  });

  it.each(referenceFlags)('--%s is known', (flag) => {
    expect(Object.values(specs).map((spec) => spec.flag)).toContain(flag);
  });

  it.each(referenceVariables)('%s is known', (variable) => {
    expect(Object.values(specs).map((spec) => spec.env)).toContain(variable);
  });

  it.each(referenceKeys)('%s of argocd-cmd-params-cm is known', (key) => {
    expect(Object.values(specs).map((spec) => spec.key)).toContain(`P:${key}`);
  });
});

const withEffect = effects.flatMap(([name, effect]): (readonly [string, OptionSpec, OptionEffect])[] =>
  'observe' in effect ? [[name, specs[name]!, effect]] : [],
);

describe('options with an effect', () => {
  it.each(withEffect)('%s', async (_name, { flag, env }, effect) => {
    const { given, beside = [], observe, usual, changed } = effect;
    expect(await observe(configOf(beside))).toEqual(usual);
    expect(await observe(configOf([...beside, `--${flag}=${given}`]))).toEqual(changed);
    if (env !== undefined) expect(await observe(configOf(beside, { [env]: effect.env ?? given }))).toEqual(changed);
  });
});

const inert = effects.flatMap(([name, effect]): (readonly [string, OptionSpec, string, string])[] =>
  'row' in effect ? [[name, specs[name]!, effect.given, effect.row]] : [],
);

describe('options without an effect', () => {
  it.each(inert)('%s has a warning and a row', (name, spec, given, row) => {
    expect(hasRow(row)).toBe(true);
    if (name === 'disableCompression') return;
    expect(readArgs(runOptions, [`--${spec.flag}=${given}`], {}).warnings).toEqual([
      `--${spec.flag} has no effect: ${spec.noEffect ?? ''}`,
    ]);
  });

  it('are those that the options name', () => {
    const named = Object.entries(specs).filter(([, { noEffect }]) => noEffect !== undefined);
    const known = new Set([...inert.map(([name]) => name), ...Object.keys(renderingOptions), 'disableCompression']);
    expect(named.map(([name]) => name).filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('keys of argocd-cm', () => {
  it.each(settings.flatMap(([key, effect]) => ('observe' in effect ? [[key, effect] as const] : [])))(
    '%s',
    async (key, { given, beside = {}, observe, usual, changed }) => {
      expect(await observe(settingsOf(beside))).toEqual(usual);
      expect(await observe(settingsOf({ ...beside, [key]: given }))).toEqual(changed);
    },
  );

  it.each(settings.flatMap(([key, effect]) => ('row' in effect ? [[key, effect.row] as const] : [])))(
    '%s has a row',
    (_key, row) => {
      expect(hasRow(row)).toBe(true);
    },
  );
});

const elsewhere = [...effects, ...settings].flatMap(([name, effect]) =>
  'test' in effect ? [[name, effect.test, effect.names] as const] : [],
);

describe('effects that other tests prove', () => {
  it.each(elsewhere)('%s: %s', (_name, test, names) => {
    expect(existsSync(join(root, test))).toBe(true);
    expect(readFileSync(join(root, test), 'utf8')).toContain(names);
  });
});
