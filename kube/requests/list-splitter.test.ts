import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defined, parseJson } from '#base';
import type { Json } from '#base';
import { LineSplitter, ListSplitter, textIn } from './list-splitter.ts';

function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

function split(bytes: Buffer, cuts: readonly number[]): { items: Json[]; envelope: Json } {
  const items: Json[] = [];
  const splitter = new ListSplitter((item) => items.push(parseJson(textIn(item))));
  for (const piece of pieces(bytes, cuts)) splitter.push(piece);
  return { items, envelope: splitter.end() };
}

const tricky = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('items', '"items":[', '{[,:', '\\', '\\"', ']}', '9007199254740993'),
);
const value = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    tricky,
    fc.integer(),
    fc.constant(null),
    fc.boolean(),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(tricky, tie('json'), { maxKeys: 3 }),
  ),
})).json;

describe('ListSplitter', () => {
  it.each([
    ['an item', '{"items":[{"a":"', 'an object larger than the limit'],
    ['what comes before the items', '{"a":"', 'more around its items'],
  ])('%s that never ends is given up', (_what, head, message) => {
    const splitter = new ListSplitter(() => undefined, 10_000);
    splitter.push(Buffer.from(head));
    const endless = (): void => {
      for (let i = 0; i < 100; i += 1) splitter.push(Buffer.alloc(1000, 0x61));
    };
    expect(endless).toThrow(message);
  });

  it('rejects no list whose items are each within the limit', () => {
    const items = Array.from({ length: 100 }, (_, i) => ({ a: 'x'.repeat(5000), i }));
    const splitter = new ListSplitter(() => undefined, 10_000);
    expect(() => splitter.push(Buffer.from(JSON.stringify({ items })))).not.toThrow();
  });

  it('equals a whole parse, wherever the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.dictionary(tricky, value, { maxKeys: 3 }),
        fc.option(fc.array(value, { maxLength: 5 }), { nil: undefined }),
        fc.dictionary(tricky, value, { maxKeys: 3 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.constantFrom(undefined, 1, 3),
        (before, items, after, cuts, indent) => {
          delete before['items'];
          delete after['items'];
          const list = { ...before, ...defined({ items }), ...after };
          const bytes = Buffer.from(JSON.stringify(list, undefined, indent));
          const result = split(bytes, cuts);
          const whole = parseJson(bytes.toString('utf8')) as Record<string, Json>;
          expect(result.items).toEqual(whole['items'] ?? []);
          expect(result.envelope).toEqual('items' in whole ? { ...whole, items: [] } : whole);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('works if cut at every byte', () => {
    const bytes = Buffer.from('{"m":{"items":[1]},"items":[{"a":"€\\"]}"},[2],3 , "x"],"z":[[]]}');
    const result = split(bytes, Array.from(bytes.keys()));
    expect(result).toEqual({
      items: [{ a: '€"]}' }, [2], 3, 'x'],
      envelope: { m: { items: [1] }, items: [], z: [[]] },
    });
  });

  it('accepts null items and a name written with escapes', () => {
    expect(split(Buffer.from('{"items":null}'), []).items).toEqual([]);
    expect(split(Buffer.from('{"\\u0069tems":[7]}'), []).items).toEqual([7]);
  });

  it.each(['', '{', '{"items":[{}', '{"items":[{}]', '[]', '{"items":[{]}}', '}', '{"items":["a]}'])(
    '%j is an error',
    (text) => {
      expect(() => split(Buffer.from(text), [])).toThrow();
    },
  );
});

describe('LineSplitter', () => {
  it('returns the lines, wherever the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', maxLength: 10 }).map((line) => line.replaceAll('\n', ' '))),
        fc.array(fc.nat(), { maxLength: 10 }),
        (lines, cuts) => {
          const splitter = new LineSplitter();
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join('') + 'rest');
          const wanted = bytes.toString('utf8').split('\n').slice(0, -1);
          const got = pieces(bytes, cuts).flatMap((piece) => splitter.push(piece).map(textIn));
          expect(got).toEqual(wanted.filter((line) => line.trim() !== ''));
          expect(splitter.rest()).toBe('rest');
        },
      ),
    );
  });

  it('does not collect an endless line', () => {
    const splitter = new LineSplitter(10);
    splitter.push(Buffer.from('12345678'));
    expect(() => splitter.push(Buffer.from('9abc'))).toThrow('limit 10)');
  });
});
