import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fingerprint, updateContent } from '#diff';
import { ChangedPaths } from '#live';
import { resourceKey } from '#model';
import type { KubeObject } from '#model';
import { parseSettings } from '#settings';
import { formatYaml } from '#base';
import { proposeUpdateRules } from './update-rules.ts';
import type { UpdateRule } from '../types.ts';

const key = resourceKey('example.com', 'Widget', 'shop', 'w');
/** By default no change of a status counts. */
const base = { 'resource.compareoptions': 'ignoreResourceStatusField: none\n' };
const plain = parseSettings(base).settings;

function widget(parts: object): KubeObject {
  const metadata = { name: 'w', namespace: 'shop', ...(parts as { metadata?: object }).metadata };
  return { apiVersion: 'example.com/v1', kind: 'Widget', ...parts, metadata };
}

interface Version {
  readonly object: KubeObject;
  readonly health: string;
}

function recorded(versions: readonly Version[]): UpdateRule | undefined {
  const paths = new ChangedPaths();
  for (const { object, health } of versions) paths.observe(key, updateContent(object, plain), health, 0);
  return proposeUpdateRules('https://one', paths.report(0))[0];
}

/** Settings with the rule as a user copies it. */
function withRule({ setting, jsonPointers, jqPathExpressions }: UpdateRule): typeof plain {
  return parseSettings({
    ...base,
    [setting]: formatYaml({ jsonPointers: [...jsonPointers], jqPathExpressions: [...jqPathExpressions] }),
  }).settings;
}

const at = (object: object, health = 'Healthy'): Version => ({ object: widget(object), health });
const beats = (n: number, make: (i: number) => object): readonly Version[] =>
  Array.from({ length: n }, (_, i) => at(make(i)));

describe('a proposed rule', () => {
  it('hides an annotation that a leader renews', () => {
    const leader = 'control-plane.alpha.kubernetes.io/leader';
    const rule = recorded(beats(51, (i) => ({ metadata: { annotations: { [leader]: `beat ${i}`, keep: 'x' } } })));
    expect(rule).toEqual({
      server: 'https://one',
      group: 'example.com',
      kind: 'Widget',
      objects: 1,
      changes: 50,
      saved: 50,
      setting: 'resource.customizations.ignoreResourceUpdates.example.com_Widget',
      jsonPointers: ['/metadata/annotations/control-plane.alpha.kubernetes.io~1leader'],
      jqPathExpressions: [],
      notProposed: [],
    });
  });

  it('reaches into lists by a jq path, and stops at changes of health', () => {
    const versions = beats(10, (i) => ({ status: { conditions: [{ type: 'Ready', 'last-seen': i }] } }));
    const rule = recorded([
      ...versions,
      at({ status: { conditions: [{ type: 'Ready', 'last-seen': 99 }] } }, 'Degraded'),
    ]);
    expect(rule).toMatchObject({ changes: 10, saved: 9, jqPathExpressions: ['.status.conditions[]?."last-seen"'] });
  });

  it('leaves fields that may drift, and names them', () => {
    const rule = recorded(
      beats(5, (i) => ({ spec: { replicas: i }, metadata: { annotations: { 'argocd.argoproj.io/x': `${i}` } } })),
    );
    expect(rule).toMatchObject({ saved: 0, jsonPointers: [], jqPathExpressions: [] });
    expect(rule?.notProposed).toEqual(['/metadata/annotations/argocd.argoproj.io~1x', '/spec/replicas']);
  });

  it('hides a status of which many fields change as a whole', () => {
    const rule = recorded(beats(5, (i) => ({ status: Object.fromEntries([...'abcdefgh'].map((name) => [name, i])) })));
    expect(rule).toMatchObject({ changes: 4, saved: 4, jsonPointers: ['/status'] });
  });

  it('saves exactly the changes that it claims, whatever changes', () => {
    const name = fc.constantFrom('a', 'b', 'x/y', '~', 'k-"q"', 'é\n', '0', '#', '.', '*', '[]');
    const leaf = fc.oneof(fc.integer({ min: 0, max: 2 }), fc.constantFrom('', 'text', null, true));
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie('any'), { maxLength: 2 }),
        fc.dictionary(name, tie('any'), { maxKeys: 3, noNullPrototype: true }),
      ),
    })).any;
    const version = fc.record(
      {
        status: fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true }),
        spec: fc.record({ replicas: fc.constantFrom(1, 1, 1, 2) }),
        metadata: fc.record({
          annotations: fc.dictionary(name, fc.constantFrom('1', '2'), { maxKeys: 2, noNullPrototype: true }),
        }),
        health: fc.constantFrom('Healthy', 'Healthy', 'Healthy', 'Degraded'),
      },
      { requiredKeys: ['health'] },
    );
    fc.assert(
      fc.property(fc.array(version, { minLength: 2, maxLength: 12 }), (list) => {
        const all = list.map(({ health, ...parts }) => at(parts, health));
        // Only updates that count are recorded.
        const versions = all.filter(
          ({ object, health }, i) =>
            i === 0 ||
            health !== all[i - 1]?.health ||
            fingerprint(object, plain) !== fingerprint(all[i - 1]!.object, plain),
        );
        const rule = recorded(versions);
        if (rule === undefined) return;
        const settings = withRule(rule);
        let hidden = 0;
        for (const [i, { object, health }] of versions.entries()) {
          const before = versions[i - 1];
          if (before?.health !== health) continue;
          if (fingerprint(before.object, settings) === fingerprint(object, settings)) hidden += 1;
        }
        expect(rule.saved).toBeLessThanOrEqual(rule.changes);
        expect([rule.changes, hidden]).toEqual([versions.length - 1, rule.saved]);
      }),
      { numRuns: 150 },
    );
  });
});

describe('the record of changed paths', () => {
  const observe = (paths: ChangedPaths, name: string, value: object, now = 0): void =>
    paths.observe(resourceKey('', 'ConfigMap', 'a', name), value as never, '', now);

  it('is bounded in objects, and a quiet object makes room', () => {
    const paths = new ChangedPaths();
    for (let i = 0; i < 100; i += 1) for (const v of [1, 2]) observe(paths, `cm-${i}`, { status: v });
    expect(paths.report(0)).toHaveLength(20);
    for (const v of [1, 2]) observe(paths, 'late', { status: v }, 60_000);
    expect(paths.report(60_000).map(({ key: k }) => k)).toContain('/ConfigMap/a/late');
  });

  it('is bounded in sets and in the size of an object; what it leaves out is counted', () => {
    const paths = new ChangedPaths();
    for (let i = 0; i < 100; i += 1) observe(paths, 'hostile', { status: { [`k${i}${'x'.repeat(500)}`]: 1 } });
    expect(paths.report(0)[0]?.sets.length).toBeLessThanOrEqual(16);
    const [hostile] = paths.report(0);
    expect((hostile?.unrecorded ?? 0) + (hostile?.sets ?? []).reduce((sum, { changes }) => sum + changes, 0)).toBe(99);
    const huge = new ChangedPaths();
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]));
    for (const v of [1, 2, 3]) observe(huge, 'huge', { ...many, v });
    for (const v of ['a', 'b']) observe(huge, 'long', { v: v.repeat(300_000) });
    expect(huge.report(0).map(({ sets, unrecorded }) => [sets.length, unrecorded])).toEqual([
      [0, 2],
      [0, 1],
    ]);
  });

  it('keeps no value', () => {
    const paths = new ChangedPaths();
    for (const v of ['canary-1', 'canary-2']) observe(paths, 'secret', { data: { token: v } });
    expect(JSON.stringify(paths.report(0))).toContain('token');
    expect(JSON.stringify(paths.report(0))).not.toContain('canary');
  });

  it('forgets changes after an hour', () => {
    const paths = new ChangedPaths();
    for (const v of [1, 2]) observe(paths, 'cm', { status: v });
    expect(paths.report(3_000_000)).toHaveLength(1);
    expect(paths.report(3_700_000)).toEqual([]);
  });
});
