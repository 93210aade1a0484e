import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseJson, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { asApplication, deferredPartsOf, malformedStatusOf } from '#model';
import type { KubeObject } from '#model';
import { readDeferred } from './deferred-reader.ts';
import type { NamedObject } from '../types.ts';

const isChosen = (): { known: undefined } => ({ known: undefined });

function read(text: string, defers: Parameters<typeof readDeferred>[0]['defers'] = isChosen): KubeObject | undefined {
  const bytes = Buffer.from(`{"before":${text}}`);
  return readDeferred({ bytes, from: '{"before":'.length, to: bytes.length - 1, defers });
}

function textOf(change: JsonObject = {}, metadata: JsonObject = {}): string {
  return stringifyJson({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { managedFields: [{ manager: 'm' }], name: 'a', namespace: 'argocd', resourceVersion: '7', ...metadata },
    operation: { sync: {} },
    spec: { destination: { server: 'https://c' }, project: 'default' },
    status: { health: { status: 'Healthy' } },
    ...change,
  });
}

const tricky = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('metadata', 'status', '"status":{', '{[,:', '\\', '\\"', ']}', '€', '\u2028', '__proto__', '😀'),
);
const jsonValue = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    tricky,
    fc.integer(),
    fc.constantFrom(null, true, false, 1.5, -0.25, 1e300, 9_007_199_254_740_993n, 0),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(tricky, tie('json'), { maxKeys: 3 }),
  ),
})).json;
const jsonObject = fc.dictionary(tricky, jsonValue, { maxKeys: 4 });
const memberName = fc.constantFrom(
  'apiVersion',
  'kind',
  'metadata',
  'operation',
  'spec',
  'status',
  'meta\\u0064ata',
  'x',
);
const metaName = fc.constantFrom('name', 'namespace', 'managedFields', 'labels', 'manag\\u0065dFields', 'annotations');

/** Members as text, so that names may be written twice or with escapes. */
function members(name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const space = fc.constantFrom('', ' ', '\n\t', '\r');
  const member = fc.tuple(name, space, space, value).map(([of, a, b, text]) => `${a}"${of}"${b}:${a}${text}${b}`);
  return fc.array(member, { maxLength: 8 }).map((list) => `{${list.join(',')}}`);
}

const anyValue = jsonValue.map((value) => stringifyJson(value));
const metadataText = fc.oneof(
  { weight: 4, arbitrary: members(metaName, fc.oneof(fc.constantFrom('"a"', '[{"manager":"€"}]', '[]'), anyValue)) },
  anyValue,
);
const objectText = members(
  memberName,
  fc.oneof(
    fc.constantFrom('"v1"', '{}'),
    anyValue,
    metadataText,
    jsonObject.map((value) => stringifyJson(value)),
  ),
);
const wellFormed = fc
  .record({ spec: jsonObject, status: jsonObject, labels: jsonObject, fields: fc.array(jsonObject, { maxLength: 2 }) })
  .map(({ spec, status, labels, fields }) => textOf({ spec, status }, { labels, managedFields: fields }));

describe('an object whose status is kept as text', () => {
  it('equals the parsed object, whatever is in it, or is left to the parser', () => {
    fc.assert(
      fc.property(fc.oneof(wellFormed, objectText), (text) => {
        const found = read(text);
        if (found === undefined) return;
        expect({ ...found, metadata: { ...found.metadata } }).toEqual(parseJson(text));
        expect(parseJson(stringifyJson(found as unknown as Json))).toEqual(parseJson(text));
      }),
      { numRuns: 1000 },
    );
  });

  it('is read without the parser in the form that API servers write', () => {
    expect(Object.keys(deferredPartsOf(read(textOf()) ?? never()) ?? {})).toEqual([
      'status',
      'managedFields',
      'specText',
    ]);
    fc.assert(
      fc.property(jsonObject, (labels) => {
        const isPlain = !/[0-9]{16}|[0-9]e/.test(stringifyJson(labels).replaceAll(/"(?:[^"\\]|\\.)*"/g, ''));
        expect(read(textOf({}, { labels })) !== undefined).toBe(isPlain);
      }),
    );
  });

  it('is left to the parser if a text is not JSON, wherever it is cut or changed', () => {
    fc.assert(
      fc.property(wellFormed, fc.nat(), fc.string({ unit: 'binary', maxLength: 2 }), (text, cut, put) => {
        const at = cut % text.length;
        // A half of a character becomes a replacement character.
        const changed = Buffer.from(text.slice(0, at) + put + text.slice(at + 1)).toString();
        const found = read(changed);
        if (found !== undefined) expect(parseJson(stringifyJson(found as unknown as Json))).toEqual(parseJson(changed));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['another member', textOf({ data: {} })],
    ['a member twice', textOf().replace('"spec":', '"status":{},"spec":')],
    ['a name with an escape', textOf().replace('"status"', '"st\\u0061tus"')],
    ['managedFields twice', textOf().replace('"name"', '"managedFields":[],"name"')],
    ['a status that is no object', textOf({ status: null })],
    ['an operation that is no object', textOf({ operation: null })],
    ['no spec', textOf({ spec: undefined })],
    ['no kind', textOf({ kind: undefined })],
    ['no metadata', textOf({ metadata: undefined })],
    ['a number beyond a double', textOf({ status: { a: 1 } }).replace('"a":1', '"a":1e999')],
    ['an exact integer', textOf({ status: { a: 9_007_199_254_740_993n } })],
    ['deep nesting', textOf().replace('"health":', `"deep":${'['.repeat(600)}${']'.repeat(600)},"health":`)],
    ['a control character', textOf().replace('Healthy', 'He\u0001')],
    ['a wrong escape', textOf().replace('Healthy', String.raw`He\x`)],
    ['a comma too many', textOf().replace('{"status":"Healthy"}', '{"status":"Healthy",}')],
    ['a number with a leading zero', textOf({ status: { a: 1 } }).replace('"a":1', '"a":01')],
    ['something after it', `${textOf()} 1`],
    ['no end', textOf().slice(0, -1)],
  ])('%s: the object is left to the parser', (_what, text) => {
    expect(read(text)).toBeUndefined();
  });

  it('is chosen by namespace and name', () => {
    const asked: NamedObject[] = [];
    const owns = (object: NamedObject): undefined => void asked.push(object);
    expect(read(textOf(), owns)).toBeUndefined();
    expect(asked).toEqual([{ namespace: 'argocd', name: 'a' }]);
  });

  it('keeps the spec of the known version if its text is the same', () => {
    const known = read(textOf()) ?? never();
    const changed = textOf({ status: { health: { status: 'Degraded' } } }, { resourceVersion: '8' });
    const next = read(changed, () => ({ known })) ?? never();
    expect(next['spec']).toBe(known['spec']);
    expect(next).toEqual(parseJson(changed));
    expect(read(textOf({ spec: { project: 'b' } }), () => ({ known }))?.['spec']).toEqual({ project: 'b' });
  });

  it('is an Application whose malformed status is checked when it is read', () => {
    const text = textOf({ status: { health: { status: 7 }, reconciledAt: '2026-01-01T00:00:00Z' } });
    const whole = asApplication(parseJson(text) as unknown as KubeObject);
    const app = asApplication(read(text) ?? never());
    expect(malformedStatusOf(app)).toEqual(['health']);
    expect(app).toEqual(whole);
  });
});

function never(): never {
  throw new Error('the object was left to the parser');
}
