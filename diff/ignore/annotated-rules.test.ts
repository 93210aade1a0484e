import { describe, expect, it } from '@jest/globals';
import { annotations, defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { applyingRules, diffObjects, respectIgnored } from '../index.ts';
import type { DiffResult, DiffRules } from '../index.ts';

const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };

function deployment(replicas: number, value?: string, paused = false): KubeObject {
  const own = value === undefined ? {} : { [annotations.ignoreDifferences]: value };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'ns', annotations: own },
    spec: { replicas, paused, template: { spec: { containers: [{ name: 'a', image: 'a:1' }] } } },
  };
}

const replicas = 'jsonPointers:\n- /spec/replicas\n';

/** Compares 1 replica in Git, whose manifest has the annotation, with 5 live ones. */
function compared(value: string, over: Partial<DiffRules> = {}): DiffResult {
  return diffObjects(deployment(1, value), deployment(5, value), { ...rules, ...over });
}

describe('the annotation ignore-differences of a manifest', () => {
  it('ignores its JSON pointers, and nothing else', () => {
    expect(compared(replicas)).toMatchObject({ modified: false, faults: [], undecided: false });
    const paused = diffObjects(deployment(1, replicas), deployment(5, replicas, true), rules);
    expect(paused.modified).toBe(true);
  });

  it('adds to the rules of the Application and of the settings', () => {
    const rule = { group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/paused'] };
    const [target, live] = [deployment(1, replicas), deployment(5, replicas, true)];
    expect(diffObjects(target, live, { ...rules, ignoreDifferences: [rule] }).modified).toBe(false);
  });

  it('counts in the manifest only, not in the live object', () => {
    expect(diffObjects(deployment(1), deployment(5, replicas), rules).modified).toBe(true);
    expect(diffObjects(deployment(1, replicas), deployment(5), rules).paths).toEqual(['/metadata/annotations']);
  });

  it('keeps the live value in what is sent with RespectIgnoreDifferences', () => {
    const sent = respectIgnored(deployment(1, replicas), deployment(5, replicas), rules, 'server');
    expect(sent['spec']).not.toMatchObject({ replicas: 1 });
  });

  it.each([
    ['', []],
    ['JSONPointers: [/spec/replicas]\njqPathExpressions: [.spec]', [/ignores by jsonPointers only/]],
    ['jsonPointers: [spec/replicas]', [/does not start with/]],
    ['jsonPointers: []', [/must have a list of texts in jsonPointers/]],
    ['jsonPointers: /spec/replicas', [/must have a list of texts in jsonPointers/]],
    ['jsonPointers: [/spec/replicas, 3]', [/must have a list of texts in jsonPointers/]],
    ['jqPathExpressions: [.spec.replicas]', [/must have a list of texts in jsonPointers/]],
    ['- /spec/replicas', [/must be a map with jsonPointers/]],
    ['a: [', [/is not valid YAML/]],
  ])('%j is reported, and decides nothing if it cannot be read', (value, problems) => {
    const { modified, faults, undecided } = compared(value);
    expect(modified).toBe(!value.startsWith('JSONPointers'));
    expect(faults.map(({ where }) => where)).toEqual(problems.map(() => `annotation ${annotations.ignoreDifferences}`));
    expect(faults.map(({ problem }) => problem)).toEqual(problems.map((problem) => expect.stringMatching(problem)));
    expect(undecided).toBe(/must|YAML/.test(String(problems)));
  });

  it.each([
    [
      'too many pointers',
      `jsonPointers: [${Array.from({ length: 12_500 }, (_, i) => `/${i.toString(36)}`).join(',')}]`,
    ],
    ['a long text', `jsonPointers: [/spec/replicas]\n# ${'x'.repeat(70_000)}`],
  ])('does not guess for %s', (_title, value) => {
    expect(compared(value)).toMatchObject({ modified: true, undecided: true });
  });

  it('is named among the rules that apply', () => {
    const ref = { group: 'apps', kind: 'Deployment', namespace: 'ns', name: 'web' };
    expect(applyingRules(ref, [], defaultSettings, deployment(1, replicas))).toEqual([
      { origin: 'manifest', type: 'jsonPointer', rule: '/spec/replicas' },
    ]);
  });
});
