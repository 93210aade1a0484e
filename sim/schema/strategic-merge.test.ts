import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { valueAt, deepEqual } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import { createSchemaBook } from './book.ts';
import { deploymentSample, kindIn, withChange } from './samples.ts';

const book = createSchemaBook();
const kind = kindIn(book, 'Deployment');
const podPath = ['spec', 'template', 'spec'] as const;

function inPod(spec: Json): Json {
  return { spec: { template: { spec } } };
}

function patched(base: Json, patch: Json): Json | undefined {
  return valueAt(
    book.strategicMergePatch(kind, withChange(deploymentSample, inPod(base)), inPod(patch)) as Json,
    ...podPath,
  );
}

/** test/conformance/scenarios/patches.ts has the patches of a real server. */
describe('strategic merge patch', () => {
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
