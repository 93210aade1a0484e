import { describe, expect, it } from '@jest/globals';
import { settingsInForce } from './in-force.ts';
import type { LastSettings, SettingsSource } from './in-force.ts';

const exclusions = 'resource.exclusions';
const ignored = 'resource.customizations.ignoreDifferences.ConfigMap';
const source = (data: SettingsSource['data'], more: Partial<SettingsSource> = {}): SettingsSource => ({
  data,
  binaryKeys: [],
  isEmptyOnPurpose: false,
  ...more,
});

describe('without argocd-cm', () => {
  it.each<[string, LastSettings, object]>([
    ['the last settings hold', { url: 'x' }, { data: { url: 'x' }, kept: [], vanished: 'deleted' }],
    ['a first installation has the defaults', 'none', { data: {}, kept: [] }],
  ])('%s', (_what, last, expected) => {
    expect(settingsInForce(undefined, last)).toEqual(expected);
  });

  it('nothing is written while the last settings are not known', () => {
    const { kept } = settingsInForce(undefined, 'unknown');
    expect(kept).toEqual([expect.objectContaining({ key: 'argocd-cm', isKept: false })]);
    expect(kept[0]).not.toHaveProperty('kind');
  });
});

it('an argocd-cm without data is empty only on purpose', () => {
  const last = { [exclusions]: '[]' };
  expect(settingsInForce(source({}), last)).toEqual({ data: last, kept: [], vanished: 'emptied' });
  expect(settingsInForce(source({}, { isEmptyOnPurpose: true }), last)).toEqual({ data: {}, kept: [] });
  expect(settingsInForce(source({}, { binaryKeys: ['logo'] }), last)).toEqual({ data: {}, kept: [] });
});

describe('a key that cannot be read', () => {
  it('and was absent has its default, but an ignore rule is left to the parser: it would ignore something', () => {
    const faulty = { [exclusions]: '- kinds: Secret', [ignored]: 'jsonPointers: /data/a' };
    const { data, kept } = settingsInForce(source(faulty), {});
    expect(data).toEqual({ [ignored]: faulty[ignored] });
    expect(kept).toEqual([expect.objectContaining({ key: exclusions, isKept: true })]);
  });

  it('and never could be read is left to the parser', () => {
    const faulty = { [exclusions]: '- kinds: Secret' };
    expect(settingsInForce(source(faulty), 'none')).toEqual({ data: faulty, kept: [] });
    expect(settingsInForce(source(faulty), faulty)).toEqual({ data: faulty, kept: [] });
  });
});

it('keys of other programs are not among the settings', () => {
  expect(settingsInForce(source({ 'dex.config': 'secret', [exclusions]: '[]' }), 'none').data).toEqual({
    [exclusions]: '[]',
  });
});
