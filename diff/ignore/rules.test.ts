import { describe, expect, it } from '@jest/globals';
import { defaultSettings, refOf } from '#model';
import type { KubeObject, ResourceIgnoreDifferences, Settings } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import { fingerprint } from '../comparison/prepare.ts';
import { applyingRules } from './applying-rules.ts';

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

/** jq programs that Argo CD runs and our evaluator does not support. */
const unsupported = [
  '.data | limit(1; .[])',
  '.data.other as $x | .data.other',
  'def f: .data.other; f',
  'reduce .data[] as $x (.; .data.other)',
];
/** Programs with syntax errors. */
const broken = ['.data[(((', '', '.data.', '| .a', '.data |', `.${'a'.repeat(5000)}`];
const large = `.data[] | select(test("${'a{1000}'.repeat(100)}"))`;

describe('a faulty ignore rule affects only itself', () => {
  it.each([...unsupported, ...broken, large])(
    '%s leaves other rules in force and makes a difference undecided',
    (odd) => {
      const rules = { jqPathExpressions: [odd, '.data.loose'], jsonPointers: ['/nothing'] };
      const differs = diff(rules);
      expect(differs).toMatchObject({ modified: true, undecided: true, paths: ['/data/other'] });
      expect(differs.faults).toHaveLength(1);
      expect(differs.faults[0]).toMatchObject({ where: 'spec.ignoreDifferences[0]', undecided: true });
      expect(differs.faults[0]?.rule.startsWith(`jqPathExpression "${odd.slice(0, 100)}`)).toBe(true);
      expect(differs.faults[0]?.rule.length).toBeLessThan(150);
      // The other rules ignore the only difference, so the faulty rule cannot matter.
      expect(diff(rules, same)).toMatchObject({ modified: false, undecided: false });
    },
  );

  it.each([
    ['another kind', { kind: 'Secret' }],
    ['another group', { group: 'apps' }],
    ['another name', { name: 'b' }],
    ['another namespace', { namespace: 'elsewhere' }],
  ])('a rule for %s adds no fault', (_what, over) => {
    const result = diff({ jqPathExpressions: broken, jsonPointers: ['spec'], ...over });
    expect(result).toMatchObject({ modified: true, undecided: false, faults: [] });
  });

  // github.com/evanphx/json-patch, findObject: the text before the first slash is skipped.
  it.each([
    ['data', true, 'names nothing, because it does not start with "/"'],
    ['', true, 'names nothing, because it does not start with "/"'],
    ['data/other', true, 'does not start with "/", so its first step is left out'],
    ['spec/data/other', false, 'does not start with "/", so its first step is left out'],
  ])('the pointer "%s" has the same effect as in Argo CD, with a warning', (pointer, modified, problem) => {
    const result = diff({ jsonPointers: [pointer, '/data/loose'] });
    expect(result).toMatchObject({ modified, undecided: false });
    const fault = { where: 'spec.ignoreDifferences[0]', rule: `jsonPointer "${pointer}"`, problem, undecided: false };
    expect(result.faults).toEqual([fault]);
  });

  it.each<[object, string]>([
    [{ jsonPointers: '/data/loose' }, 'jsonPointers is not a list of texts'],
    [{ jsonPointers: ['/data/loose', 5] }, 'jsonPointers is not a list of texts'],
    [{ jqPathExpressions: { a: 1 } }, 'jqPathExpressions is not a list of texts'],
    [{ managedFieldsManagers: 'operator' }, 'managedFieldsManagers is not a list of texts'],
    [{ kind: 5, jsonPointers: ['/data/loose'] }, 'kind is not a text'],
    [{ kind: '[Config', jsonPointers: ['/data/loose'] }, 'group or kind is no glob'],
  ])('an entry that cannot be read decides nothing: %j', (entry, problem) => {
    const result = diff(entry);
    expect(result).toMatchObject({ modified: true, undecided: true });
    expect(result.faults.map(({ problem: text }) => text)).toEqual([`cannot be read: ${problem}`]);
  });

  it.each<[string, KubeObject | null, KubeObject | null]>([
    ['is not created yet', target, null],
    ['is no longer in Git', null, live],
  ])('an entry that cannot be read is reported for an object that %s', (_what, wanted, present) => {
    const modified = present === null;
    const ignoreDifferences = [5, { kind: 'ConfigMap' }] as unknown as readonly ResourceIgnoreDifferences[];
    const result = diffObjects(wanted, present, { settings: defaultSettings, ignoreDifferences });
    expect(result).toMatchObject({ modified, undecided: false });
    const where = 'spec.ignoreDifferences[0]';
    expect(result.faults).toEqual([
      { where, rule: 'value', problem: 'cannot be read: it is not an object', undecided: true },
    ]);
  });

  it('entries that cannot be read are not among the applying rules', () => {
    const odd = [null, 5, { kind: 5, jsonPointers: [5] }, { kind: 'ConfigMap', jsonPointers: '/data' }];
    const list = [...odd, { kind: 'ConfigMap', jsonPointers: ['/data/loose'] }] as ResourceIgnoreDifferences[];
    expect(applyingRules(refOf(live), list, defaultSettings)).toEqual([
      { origin: 'application', type: 'jsonPointer', rule: '/data/loose' },
    ]);
  });

  it('a malformed pattern has no effect, as in Argo CD, with a warning', () => {
    const result = diff({ jqPathExpressions: ['.data.other | select(test("(?=x)"))', '.data.loose'] });
    expect(result).toMatchObject({ modified: true, undecided: false });
    expect(result.faults[0]?.problem).toContain('"(?=x)" is not a regular expression: ');
  });

  it.each(['.data | map_values(1)', '.data.other as $x | $x', '.data | @json', '.data.other |= 1'])(
    '%s selects no path: it has no effect, with a warning',
    (odd) => {
      const result = diff({ jqPathExpressions: [odd] });
      expect(result).toMatchObject({ modified: true, undecided: false });
      expect(result.faults.map(({ problem }) => problem)).toEqual([
        'selects no path of the object, so it has no effect',
      ]);
    },
  );

  it('evaluates patterns with nested repetitions', () => {
    const pattern = '.data | walk(.)';
    expect(diff({ jqPathExpressions: [pattern] }).undecided).toBe(true);
    const fine = '.data[] | select(test("^(l+i*)+v+.*e.*$"))';
    // Live's values are removed; the target's ("git") do not match and stay.
    expect(diff({ jqPathExpressions: [fine] })).toMatchObject({ modified: true, undecided: false, faults: [] });
    const both = '.data.other | select(test("^((g|l).*i.*)+(t|v)?e*.*$"))';
    expect(diff({ jqPathExpressions: [both, '.data.loose'] })).toMatchObject({ modified: false, faults: [] });
  });

  it('reports a rule that is too expensive on this object', () => {
    const many = { ...live, data: Object.fromEntries(Array.from({ length: 2000 }, (_x, i) => [`k${i}`, 'v'])) };
    // The rule would succeed on the target, but must then be skipped on both sides.
    const rules = { jqPathExpressions: ['select(.data[] == .data[]) | .data'] };
    expect(diff(rules).faults).toEqual([]);
    const result = diff(rules, many);
    expect(result).toMatchObject({ modified: true, undecided: true });
    expect(result.faults[0]?.problem).toBe('takes too much work on this object');
  });

  it('limits all programs together, with one fault, and keeps pointers in force', () => {
    const jqPathExpressions = Array.from({ length: 5000 }, (_x, i) => `.data | .. | .. | .. | .missing${i}?`);
    const rules = { kind: 'ConfigMap', jqPathExpressions, jsonPointers: ['/data/loose'] };
    const work = { left: 10_000 };
    const all = { settings: defaultSettings, ignoreDifferences: [rules], work };
    const result = diffObjects(target, live, all);
    expect(result).toMatchObject({ modified: true, undecided: true, paths: ['/data/other'] });
    expect(result.faults.map(({ problem }) => problem)).toEqual([
      'and the other ignore rules take too much work together',
    ]);
    // At most one more step for each attempt: nothing runs any more.
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
  ])('names the key of argocd-cm in a fault: %j', (raw, where) => {
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

  it('fingerprints with the rules that can be run', () => {
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

  it('shows no value of an object in paths and faults', () => {
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
