import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashJson, hashText } from './hash.ts';
import {
  valueAt,
  canonicalJson,
  cloneJson,
  deepEqual,
  goJson,
  isObject,
  JsonSyntaxError,
  ownMember,
  parseJson,
  setOwnMember,
  stringifyJson,
} from './json.ts';
import type { Json, MutableJsonObject } from './json.ts';

/** Rounds integers beyond 2^53 as JSON.parse does. */
function rounded(value: Json): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (!isObject(value)) return value;
  const result = {};
  for (const [key, member] of Object.entries(value))
    Object.defineProperty(result, key, { value: rounded(member ?? null), enumerable: true });
  return result;
}

/**
 * Any JSON value that parseJson returns for digits: exact integers of any size, odd keys, strings
 * full of digits and of our former marker.
 */
const keys = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('__proto__', 'constructor', 'toString', '', '0', 'a/b'),
);
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\u0000big0', '12345678901234567890', '"1234567890123456789"', '\\', '\u2028<>&'),
);
const numbers = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((value) => !Object.is(value, -0) && Number.isInteger(value) === Number.isSafeInteger(value)),
);
const bigs = fc
  .bigInt({ min: -(2n ** 80n), max: 2n ** 80n })
  .filter((value) => value > BigInt(Number.MAX_SAFE_INTEGER) || value < BigInt(Number.MIN_SAFE_INTEGER));
const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(fc.constant(null), fc.boolean(), numbers, bigs, texts),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(keys, tie('value')), { maxLength: 5 }).map((members) => {
      const object: MutableJsonObject = {};
      for (const [key, member] of members) setOwnMember(object, key, member as MutableJsonObject);
      return object;
    }),
  ),
})).value;

function holdsInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInfinity);
}

/** The same value with its keys in another order. */
function shuffled(value: Json, seed: number): Json {
  if (Array.isArray(value)) return value.map((item: Json) => shuffled(item, seed));
  if (!isObject(value)) return value;
  const result: MutableJsonObject = {};
  const entries = Object.entries(value);
  for (const [key, member] of [...entries.slice(seed % 5), ...entries.slice(0, seed % 5)].reverse())
    setOwnMember(result, key, shuffled(member ?? null, seed) as MutableJsonObject);
  return result;
}

describe('parse and write', () => {
  it('refuses at once an integer that Go refuses', () => {
    expect(() => parseJson(`{"a":${'9'.repeat(1_000_000)}}`)).toThrow('number too large');
    expect(parseJson(`[${'9'.repeat(300)}]`)).toEqual([BigInt('9'.repeat(300))]);
  });

  it('round-trip values, bigints and odd keys included, at any indentation', () => {
    fc.assert(
      fc.property(json, fc.integer({ min: 0, max: 4 }), (value, indent) => {
        const back = parseJson(stringifyJson(value, indent));
        expect(deepEqual(back, value)).toBe(true);
        expect(canonicalJson(back)).toBe(canonicalJson(value));
      }),
      { numRuns: 500 },
    );
  });

  it('write like JSON.stringify where it can write the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 4 }), (value, indent) => {
        expect(stringifyJson(value as Json, indent)).toBe(JSON.stringify(value, undefined, indent));
        // The path for bigints uses the same layout: compare around one.
        const wrapped = [value as Json, 1n];
        expect(stringifyJson(wrapped, indent)).toBe(JSON.stringify([value, 1], undefined, indent));
      }),
    );
  });

  it('accepts and refuses in the exact parser what JSON.parse does, with the same value', () => {
    const document = fc.jsonValue().map((value) => JSON.stringify(value));
    const broken = fc
      .tuple(
        document,
        fc.nat(),
        fc.nat(3),
        fc.constantFrom('', ',', '"', '}', ']', '\\', '0', '-', '.', 'e', '\n', '\u00a0', 'tru'),
      )
      .map(
        ([text, where, cut, put]) =>
          text.slice(0, where % (text.length + 1)) + put + text.slice((where % (text.length + 1)) + cut),
      );
    fc.assert(
      fc.property(fc.oneof(document, broken), (text) => {
        // The second forces the exact parser.
        for (const whole of [text, `[12345678901234567890,${text}\n]`]) {
          let plain: unknown;
          try {
            plain = JSON.parse(whole);
          } catch {
            expect(() => parseJson(whole)).toThrow(JsonSyntaxError);
            continue;
          }
          if (holdsInfinity(plain)) expect(() => parseJson(whole)).toThrow('number too large');
          else expect(rounded(parseJson(whole))).toEqual(plain);
        }
      }),
      { numRuns: 400, examples: [['[9318681295878303e+294]'], ['1e400'], ['-1E+309 '], ['{"a":1e0400}']] },
    );
  });

  it.each(['1e400', '[-1e309]', '{"a": 1E+999 }', `${'1'.repeat(250)}e99`, `[${'1'.repeat(400)}.5]`])(
    'refuses %s, which would come back as null',
    (text) => {
      expect(() => parseJson(text)).toThrow('number too large');
      expect(() => parseJson(`["1e400",${text}]`)).toThrow('number too large');
    },
  );

  it('reads numbers with long exponents that a double holds, and ignores such strings', () => {
    expect(parseJson('[1e-400,1e+0010,"1e400",0e999]')).toEqual([0, 1e10, '1e400', 0]);
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740993', -9007199254740993n],
    ['18446744073709551615', 18446744073709551615n],
    ['12345678901234567890.5', 12345678901234567890.5],
    ['12345678901234567890e0', 12345678901234567000],
    ['1e21', 1e21],
    ['0.12345678901234567890', 0.12345678901234568],
    ['"12345678901234567890"', '12345678901234567890'],
    ['"\\"12345678901234567890"', '"12345678901234567890'],
  ])('reads %s exactly', (text, value) => {
    expect(parseJson(text)).toBe(value);
    expect((parseJson(` [ ${text} ,12345678901234567890]`) as Json[])[0]).toBe(value);
  });

  it('keeps a number beyond 2^53 unchanged', () => {
    const text = '{"spec":{"big":9007199254740993,"list":[-18446744073709551615],"name":"\\u0000big0"}}';
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  it('keeps the last of duplicate keys, and __proto__ as a plain key, on both paths', () => {
    for (const big of ['1', '12345678901234567890']) {
      const value = parseJson(`{"a":1,"__proto__":{"polluted":true},"a":2,"n":${big}}`);
      expect(isObject(value) && Object.keys(value)).toEqual(['a', '__proto__', 'n']);
      expect(valueAt(value, 'a')).toBe(2);
      expect(valueAt(value, '__proto__', 'polluted')).toBe(true);
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
      expect(stringifyJson(value)).toContain('"__proto__":{"polluted":true}');
    }
  });

  it.each([
    ['', 'line 1, column 1: unexpected end of text'],
    ['{"a":1,}', 'line 1, column 8: expected a quoted key'],
    ['{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: expected ',' or '}'"],
    ['{"a" 1}', "line 1, column 6: expected ':' after the key"],
    ['[1 2]', "line 1, column 4: expected ',' or ']'"],
    ['[1] x', 'line 1, column 5: unexpected text after the value'],
    ['{"password":"hunter2\n"}', 'line 1, column 13: unterminated string'],
    ['{"password": hunter2}', 'line 1, column 14: expected a value'],
    ['[01]', "line 1, column 3: expected ',' or ']'"],
  ])('reports the position of the error in %j without quoting the text', (text, message) => {
    let thrown: unknown;
    try {
      parseJson(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(JsonSyntaxError);
    const error = thrown as JsonSyntaxError;
    expect(error.message).toContain(`not valid JSON at ${message}`);
    expect(error.code).toBe('JSON_SYNTAX');
    expect(`${error.message}${String(error.cause)}`).not.toContain('hunter2');
  });

  it('parses any text in linear time, quotes and numbers included', () => {
    const time = (text: string): number => {
      const begin = performance.now();
      try {
        parseJson(text);
      } catch {
        // A prompt refusal is fine, too.
      }
      return performance.now() - begin;
    };
    // Eight times the text: a quadratic parser would take 64 times as long.
    const growth = (make: (n: number) => string): number => {
      const least = (n: number): number => Math.min(...[1, 2, 3].map(() => time(make(n))));
      least(20_000);
      return least(160_000) / Math.max(least(20_000), 1);
    };
    const texts: readonly ((n: number) => string)[] = [
      (n) => '"'.repeat(n),
      (n) => `["${'\\"'.repeat(n)}"]`,
      (n) => `["${'\\\\'.repeat(n)}`,
      (n) => `["${'\\"'.repeat(n / 4)} 1234567890123456`,
      (n) => `["${'\\"'.repeat(n / 4)} 1234567890123456\\`,
      (n) => `[${'"1.0e9",'.repeat(n)}1.0]`,
      (n) => `[${'1.0,'.repeat(n)}12345678901234567890]`,
    ];
    expect(texts.map(growth).filter((ratio) => ratio > 32)).toEqual([]);
  });

  it.each(['1', '12345678901234567890'])('refuses nesting that would overflow the stack, around %s', (leaf) => {
    const lists = (levels: number): string => `${'['.repeat(levels)}${leaf}${']'.repeat(levels)}`;
    const maps = (levels: number): string => `${'{"a":'.repeat(levels)}${leaf}${'}'.repeat(levels)}`;
    for (const nested of [lists, maps]) {
      expect(() => parseJson(nested(500))).not.toThrow();
      for (const levels of [501, 5_000, 100_000])
        expect(() => parseJson(nested(levels))).toThrow('nested deeper than 500 levels');
    }
    expect(() => parseJson(`[${Array.from({ length: 5_000 }, () => '{}').join(',')}]`)).not.toThrow();
  });

  it('drops undefined members and writes null for undefined values', () => {
    expect(stringifyJson(undefined)).toBe('null');
    expect(stringifyJson({ a: undefined, b: 1 })).toBe('{"b":1}');
    expect(stringifyJson({ a: undefined, b: 1n, c: [undefined as unknown as Json] })).toBe('{"b":1,"c":[null]}');
    expect(stringifyJson({ a: {}, b: [], c: 1n }, 2)).toBe('{\n  "a": {},\n  "b": [],\n  "c": 1\n}');
  });
});

describe('canonicalJson', () => {
  it('does not depend on the order of keys, and distinguishes different values', () => {
    fc.assert(
      fc.property(json, json, fc.nat(), (one, other, seed) => {
        const same = shuffled(one, seed);
        expect(canonicalJson(same)).toBe(canonicalJson(one));
        expect(hashJson(same)).toBe(hashJson(one));
        expect(deepEqual(same, one)).toBe(true);
        expect(canonicalJson(one) === canonicalJson(other)).toBe(deepEqual(one, other));
      }),
      { numRuns: 500 },
    );
  });

  it('is the same for a number and a bigint of the same value', () => {
    for (const value of [0, 1, -7, 2 ** 53, 2 ** 60, 1e21, -1e300]) {
      expect(deepEqual(value, BigInt(value))).toBe(true);
      expect(canonicalJson(value)).toBe(canonicalJson(BigInt(value)));
    }
    expect(deepEqual(1.5, 1n)).toBe(false);
    expect(deepEqual('1', 1n)).toBe(false);
  });

  it('treats an undefined member as absent, but keeps null', () => {
    expect(canonicalJson({ a: undefined, b: null })).toBe('{"b":null}');
    expect(deepEqual({ a: undefined }, {})).toBe(true);
    expect(deepEqual({}, { a: undefined })).toBe(true);
    expect(deepEqual({ a: null }, {})).toBe(false);
    expect(canonicalJson(undefined)).toBe('null');
  });

  it('never mistakes an inherited member for an own one', () => {
    expect(deepEqual({ toString: {} }, {})).toBe(false);
    expect(deepEqual(JSON.parse('{"__proto__":{}}') as Json, {})).toBe(false);
    expect(ownMember({}, 'constructor')).toBeUndefined();
  });

  it('hashes to 32 hexadecimal digits', () => {
    expect(hashText('')).toBe('e3b0c44298fc1c149afbf4c8996fb924');
    expect(hashJson({ b: [1, 2n], a: null })).toBe(hashText('{"a":null,"b":[1,2]}'));
  });
});

describe('goJson', () => {
  it('escapes the characters that Go escapes and sorts keys', () => {
    expect(goJson({ b: '<a href="x">&</a>\u2028', a: 1n })).toBe(
      '{"a":1,"b":"\\u003ca href=\\"x\\"\\u003e\\u0026\\u003c/a\\u003e\\u2028"}',
    );
    expect(goJson([1e21, 1e-7, 0.000001, 100000000000000000000])).toBe('[1e+21,1e-7,0.000001,100000000000000000000]');
  });

  it('parses back to the same value', () => {
    fc.assert(fc.property(json, (value) => expect(deepEqual(parseJson(goJson(value)), value)).toBe(true)));
  });
});

describe('cloneJson and at', () => {
  it('copies deeply', () => {
    fc.assert(
      fc.property(json, (value) => {
        const copy = cloneJson(value);
        expect(deepEqual(copy, value)).toBe(true);
        if (isObject(value)) expect(copy).not.toBe(value);
      }),
    );
    const original = { list: [{ a: 1 }], gone: undefined };
    const copy = cloneJson(original);
    (copy.list[0] as { a: number }).a = 2;
    expect(original).toEqual({ list: [{ a: 1 }], gone: undefined });
    expect(Object.keys(copy)).toEqual(['list']);
  });

  it('follows keys and indexes only', () => {
    const value: Json = { a: [{ b: 'c' }], '0': 'zero' };
    expect(valueAt(value, 'a', 0, 'b')).toBe('c');
    expect(valueAt(value, 'a', '0', 'b')).toBe('c');
    expect(valueAt(value, '0')).toBe('zero');
    expect(valueAt(value)).toBe(value);
    for (const path of [['a', 1], ['a', -1], ['a', ''], ['a', 'length'], ['a', ' 0'], ['toString'], ['a', 0, 'b', 'c']])
      expect(valueAt(value, ...path)).toBeUndefined();
  });
});
