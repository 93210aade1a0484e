import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import type { KubeObject, ResourceIgnoreDifferences, Settings } from '#model';
import { diffObjects, fingerprint } from './diff.ts';

const target = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'apps', labels: { team: 'x' } },
  data: { kept: '1', loose: 'git', other: 'git' },
} as KubeObject;
const live = { ...target, data: { kept: '1', loose: 'live', other: 'live' } } as KubeObject;
const same = { ...target, data: { kept: '1', loose: 'live', other: 'git' } } as KubeObject;

type Rules = Partial<ResourceIgnoreDifferences>;
const diff = (rules: Rules, present: KubeObject = live): ReturnType<typeof diffObjects> =>
  diffObjects(target, present, { settings: defaultSettings, ignoreDifferences: [{ kind: 'ConfigMap', ...rules }] });

/** jq programs that Argo CD runs, and that are beyond what is known here. */
const beyond = [
  '.data | limit(1; .[])',
  '.data.other as $x | .data.other',
  'def f: .data.other; f',
  'reduce .data[] as $x (.; .data.other)',
];
/** What nobody can read. */
const broken = ['.data[(((', '', '.data.', '| .a', '.data |', `.${'a'.repeat(5000)}`];
const large = `.data[] | select(test("${'a{1000}'.repeat(100)}"))`;

describe('8.1.12: an odd ignore rule spoils itself only', () => {
  it.each([...beyond, ...broken, large])('8.1.12: the others work beside %s, and what differs is undecided', (odd) => {
    const rules = { jqPathExpressions: [odd, '.data.loose'], jsonPointers: ['/nothing'] };
    const differs = diff(rules);
    expect(differs).toMatchObject({ modified: true, undecided: true, paths: ['/data/other'] });
    expect(differs.faults).toHaveLength(1);
    expect(differs.faults[0]).toMatchObject({ where: 'spec.ignoreDifferences[0]', undecided: true });
    expect(differs.faults[0]?.rule.startsWith(`jqPathExpression "${odd.slice(0, 100)}`)).toBe(true);
    expect(differs.faults[0]?.rule.length).toBeLessThan(150);
    // Nothing but what the other rules ignore differs: no rule could say otherwise.
    expect(diff(rules, same)).toMatchObject({ modified: false, undecided: false });
  });

  it.each([
    ['another kind', { kind: 'Secret' }],
    ['another group', { group: 'apps' }],
    ['another name', { name: 'b' }],
    ['another namespace', { namespace: 'elsewhere' }],
  ])('8.1.12: a rule for %s is not noticed', (_what, over) => {
    const result = diff({ jqPathExpressions: broken, jsonPointers: ['spec'], ...over });
    expect(result).toMatchObject({ modified: true, undecided: false, faults: [] });
  });

  // github.com/evanphx/json-patch, findObject: the text before the first slash is not looked at.
  it.each([
    ['data', true, 'names nothing, because it does not start with "/"'],
    ['', true, 'names nothing, because it does not start with "/"'],
    ['data/other', true, 'does not start with "/", so its first step is left out'],
    ['spec/data/other', false, 'does not start with "/", so its first step is left out'],
  ])('8.1.12: the pointer "%s" does what it does in Argo CD, with a warning', (pointer, modified, problem) => {
    const result = diff({ jsonPointers: [pointer, '/data/loose'] });
    expect(result).toMatchObject({ modified, undecided: false });
    const fault = { where: 'spec.ignoreDifferences[0]', rule: `jsonPointer "${pointer}"`, problem, undecided: false };
    expect(result.faults).toEqual([fault]);
  });

  it('8.1.12: a malformed pattern does nothing, as in Argo CD, with a warning', () => {
    const result = diff({ jqPathExpressions: ['.data.other | select(test("(?=x)"))', '.data.loose'] });
    expect(result).toMatchObject({ modified: true, undecided: false });
    expect(result.faults[0]?.problem).toContain('"(?=x)" is not a regular expression: ');
  });

  it.each(['.data | map_values(1)', '.data.other as $x | $x', '.data | @json', '.data.other |= 1'])(
    '12.4: %s names no place: it does nothing, which is told, and nothing is undecided',
    (odd) => {
      const result = diff({ jqPathExpressions: [odd] });
      expect(result).toMatchObject({ modified: true, undecided: false });
      expect(result.faults.map(({ problem }) => problem)).toEqual(['names no place in an object, so it does nothing']);
    },
  );

  it('8.1.12: patterns with several repeats work', () => {
    const pattern = '.data | walk(.)';
    expect(diff({ jqPathExpressions: [pattern] }).undecided).toBe(true);
    const fine = '.data[] | select(test("^(l+i*)+v+.*e.*$"))';
    // live's values go, the target's ("git") do not match and stay
    expect(diff({ jqPathExpressions: [fine] })).toMatchObject({ modified: true, undecided: false, faults: [] });
    const both = '.data.other | select(test("^((g|l).*i.*)+(t|v)?e*.*$"))';
    expect(diff({ jqPathExpressions: [both, '.data.loose'] })).toMatchObject({ modified: false, faults: [] });
  });

  it('8.1.12: a rule that is too much work on this object is a fault of this object', () => {
    const many = { ...live, data: Object.fromEntries(Array.from({ length: 2000 }, (_x, i) => [`k${i}`, 'v'])) };
    // The target alone would be no problem: but then the rule would be in force for one side only.
    const rules = { jqPathExpressions: ['select(.data[] == .data[]) | .data'] };
    expect(diff(rules).faults).toEqual([]);
    const result = diff(rules, many);
    expect(result).toMatchObject({ modified: true, undecided: true });
    expect(result.faults[0]?.problem).toBe('takes too much work on this object');
  });

  it('8.1.12: many programs together have a limit, which is one fault, and pointers go on working', () => {
    const jqPathExpressions = Array.from({ length: 5000 }, (_x, i) => `.data | .. | .. | .. | .missing${i}?`);
    const rules = { kind: 'ConfigMap', jqPathExpressions, jsonPointers: ['/data/loose'] };
    const work = { left: 10_000 };
    const all = { settings: defaultSettings, ignoreDifferences: [rules], work };
    const result = diffObjects(target, live, all);
    expect(result).toMatchObject({ modified: true, undecided: true, paths: ['/data/other'] });
    expect(result.faults.map(({ problem }) => problem)).toEqual([
      'and the other jq programs take too much work together',
    ]);
    // No more than one more step for each try: nothing is run any more.
    expect(work.left).toBeGreaterThan(-10);
    expect(diffObjects(target, same, all)).toMatchObject({ modified: false, undecided: false });
    expect(work.left).toBeGreaterThan(-20);
    const enough = { ...all, work: { left: 10_000_000 } };
    expect(diffObjects(target, live, enough)).toMatchObject({ faults: [], undecided: false });
  });

  it.each<[Settings['raw'], string]>([
    [
      { 'resource.customizations.ignoreDifferences.ConfigMap': '' },
      'argocd-cm resource.customizations.ignoreDifferences.ConfigMap',
    ],
    [{ 'resource.customizations': '' }, 'argocd-cm resource.customizations (ConfigMap, ignoreDifferences)'],
  ])('8.1.12: names the key of argocd-cm: %j', (raw, where) => {
    const overrides = {
      ConfigMap: {
        useOpenLibs: false,
        knownTypeFields: [],
        ignoreDifferences: { jqPathExpressions: ['.data | map(1)'] },
      },
    };
    const settings = { ...defaultSettings, overrides, raw };
    expect(diffObjects(target, live, { settings, ignoreDifferences: [] }).faults).toMatchObject([{ where }]);
  });

  it('8.1.12: what counts as an update is judged by the rules that work', () => {
    const overrides = {
      ConfigMap: {
        useOpenLibs: false,
        knownTypeFields: [],
        ignoreResourceUpdates: { jqPathExpressions: ['.data | map(1)', '.data.loose'], jsonPointers: ['/data/other'] },
      },
    };
    const settings = { ...defaultSettings, overrides };
    expect(fingerprint(live, settings)).toBe(fingerprint(target, settings));
    expect(fingerprint({ ...live, data: {} }, settings)).not.toBe(fingerprint(target, settings));
  });

  it('8.1.12: no value of an object is in the paths and faults that conditions show', () => {
    const secret = (value: string): KubeObject => ({
      ...target,
      kind: 'Secret',
      data: { password: value, list: [value], [`k`]: { deep: value } },
    });
    const rules = ['.data.password | select(test(.))', '.data.password | map(1)', '.data | select(.password < {})'];
    const result = diffObjects(secret('(c2VjcmV0'), secret('(b3RoZXI='), {
      settings: defaultSettings,
      ignoreDifferences: [{ kind: 'Secret', jqPathExpressions: rules }],
    });
    expect(result.paths).toEqual(['/data/password', '/data/list/0', '/data/k/deep']);
    expect(result.faults).not.toHaveLength(0);
    expect(JSON.stringify([result.paths, result.faults])).not.toMatch(/c2VjcmV0|b3RoZXI/);
  });
});
