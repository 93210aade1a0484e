import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { valueAt, deepEqual } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { createSchemaBook } from './book.ts';
import { PatchError } from './json-patch.ts';
import * as samples from './samples.ts';
import { withChange, kindIn } from './samples.ts';

const book = createSchemaBook();
const kind = kindIn(book, 'Deployment');
const podPath = ['spec', 'template', 'spec'] as const;

function inPod(spec: Json): Json {
  return { spec: { template: { spec } } };
}

function patched(base: Json, patch: Json): Json | undefined {
  return valueAt(
    book.strategicMergePatch(kind, withChange(samples.deploymentSample, inPod(base)), inPod(patch)) as Json,
    ...podPath,
  );
}

const port = (containerPort: number, protocol: string): Json => ({ containerPort, protocol });
const ab: Json = {
  containers: [
    { name: 'a', image: '1' },
    { name: 'b', image: '2' },
  ],
};

describe('strategic merge patch', () => {
  it.each<[string, Json, Json, Json]>([
    [
      'merges items by key',
      ab,
      { containers: [{ name: 'b', image: '3' }] },
      {
        containers: [
          { name: 'a', image: '1' },
          { name: 'b', image: '3' },
        ],
      },
    ],
    [
      'puts new items first, as the real server does',
      ab,
      { containers: [{ name: 'c', image: '3' }] },
      {
        containers: [
          { name: 'c', image: '3' },
          { name: 'a', image: '1' },
          { name: 'b', image: '2' },
        ],
      },
    ],
    [
      'keeps equal keys of a list that the object lacks',
      { containers: [{ name: 'a', image: '1' }] },
      { containers: [{ name: 'a', ports: [port(80, 'TCP'), port(80, 'UDP')] }] },
      { containers: [{ name: 'a', image: '1', ports: [port(80, 'TCP'), port(80, 'UDP')] }] },
    ],
    [
      'deletes an item',
      ab,
      { containers: [{ $patch: 'delete', name: 'a' }] },
      { containers: [{ name: 'b', image: '2' }] },
    ],
    [
      'replaces a list',
      ab,
      { containers: [{ $patch: 'replace' }, { name: 'z', image: '9' }] },
      { containers: [{ name: 'z', image: '9' }] },
    ],
    [
      'deletes a member by null',
      { containers: [{ name: 'a', image: '1', command: ['x'] }] },
      { containers: [{ name: 'a', command: null }] },
      { containers: [{ name: 'a', image: '1' }] },
    ],
    ['deletes a list by null', { ...(ab as object), volumes: [{ name: 'v' }] }, { volumes: null }, ab],
    [
      'replaces lists without strategy',
      { containers: [{ name: 'a', command: ['x', 'y'] }] },
      { containers: [{ name: 'a', command: ['z'] }] },
      { containers: [{ name: 'a', command: ['z'] }] },
    ],
    [
      'replaces tolerations',
      { containers: [], tolerations: [{ key: 'a' }, { key: 'b' }] },
      { tolerations: [{ key: 'c' }] },
      { containers: [], tolerations: [{ key: 'c' }] },
    ],
    [
      'merges ports by containerPort alone',
      { containers: [{ name: 'a', ports: [{ containerPort: 1, name: 'x' }] }] },
      { containers: [{ name: 'a', ports: [{ containerPort: 1, name: 'y' }] }] },
      { containers: [{ name: 'a', ports: [{ containerPort: 1, name: 'y' }] }] },
    ],
    [
      'merges env inside containers',
      { containers: [{ name: 'a', env: [{ name: 'A', value: '1' }] }] },
      { containers: [{ name: 'a', env: [{ name: 'B', value: '2' }] }] },
      {
        containers: [
          {
            name: 'a',
            env: [
              { name: 'B', value: '2' },
              { name: 'A', value: '1' },
            ],
          },
        ],
      },
    ],
    [
      'orders by $setElementOrder',
      ab,
      { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }], containers: [{ name: 'a', image: '5' }] },
      {
        containers: [
          { name: 'b', image: '2' },
          { name: 'a', image: '5' },
        ],
      },
    ],
    [
      'keeps items unknown to the order in their place',
      { containers: [{ name: 's' }, { name: 'a' }, { name: 't' }, { name: 'b' }] },
      { '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }], containers: [] },
      { containers: [{ name: 's' }, { name: 'a' }, { name: 't' }, { name: 'b' }] },
    ],
    [
      'replaces a map',
      { containers: [], nodeSelector: { a: 'b' } },
      { nodeSelector: { $patch: 'replace', c: 'd' } },
      { containers: [], nodeSelector: { c: 'd' } },
    ],
    [
      'empties a map',
      { containers: [], nodeSelector: { a: 'b' } },
      { nodeSelector: { $patch: 'delete' } },
      { containers: [], nodeSelector: {} },
    ],
    [
      'keeps only retained keys',
      { containers: [], volumes: [{ name: 'v', emptyDir: {} }] },
      { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] },
      { containers: [], volumes: [{ name: 'v', hostPath: { path: '/x' } }] },
    ],
    [
      'leaves no directives in what is new',
      { containers: [] },
      {
        volumes: [{ name: 'v', $retainKeys: ['name', 'emptyDir'], emptyDir: {} }],
        securityContext: { runAsUser: null, fsGroup: 1 },
      },
      { containers: [], volumes: [{ name: 'v', emptyDir: {} }], securityContext: { fsGroup: 1 } },
    ],
  ])('%s', (_what, base, patch, expected) => {
    expect(patched(base, patch)).toEqual(expected);
  });

  const finalizers = (list: readonly string[], patch: Json): unknown =>
    book.strategicMergePatch(kind, withChange(samples.deploymentSample, { metadata: { finalizers: list } }), {
      metadata: patch,
    }).metadata.finalizers;

  it('merges lists of scalars as sets', () => {
    expect(finalizers(['a', 'b'], { finalizers: ['c', 'a'] })).toEqual(['c', 'a', 'b']);
    expect(finalizers(['a', 'b'], { '$deleteFromPrimitiveList/finalizers': ['a'] })).toEqual(['b']);
    expect(
      finalizers(['a', 'b'], {
        '$setElementOrder/finalizers': ['c', 'b'],
        '$deleteFromPrimitiveList/finalizers': ['a'],
        finalizers: ['c'],
      }),
    ).toEqual(['c', 'b']);
  });

  it('changes the member of a union with $retainKeys', () => {
    const live = withChange(samples.deploymentSample, {
      spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
    });
    const patch = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } };
    expect(valueAt(book.strategicMergePatch(kind, live, patch) as Json, 'spec', 'strategy')).toEqual({
      type: 'Recreate',
    });
  });

  it.each<[string, Json, RegExp]>([
    ['an unknown directive', { nodeSelector: { $patch: 'eat' } }, /unknown patch type: eat in map: map\[\$patch:eat\]/],
    ['an item without key', { containers: [{ image: 'x' }] }, /does not contain declared merge key: name/],
    [
      'merge as list directive',
      { containers: [{ $patch: 'merge', name: 'a' }] },
      /merging lists cannot yet be specified/,
    ],
    ['an order that is no list', { '$setElementOrder/containers': 1 }, /invalid patch format of setElementOrder list/],
    [
      'keys outside $retainKeys',
      { volumes: [{ name: 'v', $retainKeys: ['name'], emptyDir: {} }] },
      /retainKeys list doesn't contain all keys/,
    ],
    ['a scalar among objects', { containers: ['x'] }, /not a map/],
  ])('rejects %s', (_what, patch, text) => {
    const base = { containers: [{ name: 'a' }], nodeSelector: { a: 'b' }, volumes: [{ name: 'v' }] };
    expect(() => patched(base, patch)).toThrow(text);
    expect(() => patched(base, patch)).toThrow(PatchError);
  });

  it('rejects a patch that is not an object', () => {
    expect(() => book.strategicMergePatch(kind, samples.deploymentSample, [])).toThrow(PatchError);
  });

  it('turns any pod spec into any other by a two-way patch, which is idempotent', () => {
    fc.assert(
      fc.property(podSpecs, podSpecs, (from, to) => {
        const patch = twoWay(from, to);
        const once = patched(from, patch) as Json;
        expect(deepEqual(once, to as Json)).toBe(true);
        expect(deepEqual(patched(once, patch as Json), once)).toBe(true);
      }),
    );
  });
});

const scalars = fc.constantFrom('x', 'y', 'z');
const named = (extra: Record<string, fc.Arbitrary<MutableJson>>): fc.Arbitrary<MutableJsonObject[]> =>
  fc.uniqueArray(
    fc
      .tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.record(extra, { requiredKeys: [] }))
      .map(([name, rest]): MutableJsonObject => ({ name, ...rest })),
    { selector: (item) => item['name'], maxLength: 4 },
  );
const podSpecs = fc.record({
  containers: named({ image: scalars, command: fc.array(scalars, { maxLength: 2 }), env: named({ value: scalars }) }),
  nodeSelector: fc.dictionary(scalars, scalars),
  restartPolicy: scalars,
});

/**
 * The patch of a client such as kubectl: lists merged by item, with deletions and element order.
 */
function twoWay(from: MutableJsonObject, to: MutableJsonObject): MutableJsonObject {
  const patch: MutableJsonObject = {};
  for (const key of Object.keys(from)) if (to[key] === undefined) patch[key] = null;
  for (const [key, after] of Object.entries(to)) {
    const before = from[key];
    if (deepEqual(before, after)) continue;
    if ((key === 'containers' || key === 'env') && Array.isArray(before) && Array.isArray(after)) {
      Object.assign(patch, listPatch(key, before as MutableJsonObject[], after as MutableJsonObject[]));
    } else if (key === 'nodeSelector') {
      patch[key] = twoWay(before as MutableJsonObject, after as MutableJsonObject);
    } else patch[key] = after;
  }
  return patch;
}

function listPatch(key: string, before: MutableJsonObject[], after: MutableJsonObject[]): MutableJsonObject {
  const items: MutableJsonObject[] = [];
  for (const item of after) {
    const old = before.find((one) => one['name'] === item['name']);
    items.push(old === undefined ? item : { name: item['name'], ...twoWay(old, item) });
  }
  for (const item of before)
    if (!after.some((one) => one['name'] === item['name'])) items.push({ $patch: 'delete', name: item['name'] });
  return { [`$setElementOrder/${key}`]: after.map((item) => ({ name: item['name'] })), [key]: items };
}
