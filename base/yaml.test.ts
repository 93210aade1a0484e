import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { deepEqual, formatYaml, parseYamlDocuments, stringifyJson, YamlSyntaxError } from './index.ts';
import type { Json } from './index.ts';

const one = (text: string): Json => {
  const documents = parseYamlDocuments(text);
  expect(documents).toHaveLength(1);
  return documents[0] ?? null;
};
const failure = (text: string): string => {
  try {
    parseYamlDocuments(text);
  } catch (error) {
    if (error instanceof YamlSyntaxError) return error.message;
    throw error;
  }
  return 'no error';
};

describe('parseYamlDocuments reads scalars as sigs.k8s.io/yaml does', () => {
  const scalars: readonly (readonly [string, Json])[] = [
    ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((t) => [t, true] as const),
    ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((t) => [t, false] as const),
    ...['yEs', 'tRue', 'oN', '"yes"', "'on'", '!!str yes'].map(
      (t) => [t, t.replace(/^!!str |["']/g, '').replace(/["']$/, '')] as const,
    ),
    ['~', null],
    ['null', null],
    ['Null', null],
    ['NULL', null],
    ['nULL', 'nULL'],
    ['', null],
    ['0', 0],
    ['-0', 0],
    ['-0.0', 0],
    ['12', 12],
    ['+12', 12],
    ['0755', 493],
    ['0o755', 493],
    ['0O17', 15],
    ['-0755', -493],
    ['0x1F', 31],
    ['0X1f', 31],
    ['-0x10', -16],
    ['0b101', 5],
    ['-0b11', -3],
    ['08', 8],
    ['09.5', 9.5],
    ['0o8', '0o8'],
    ['0b2', '0b2'],
    ['0xg', '0xg'],
    ['1_000', 1000],
    ['0x_ff', 255],
    ['1__2', 12],
    ['_1', '_1'],
    ['1e3', 1000],
    ['12e3', 12000],
    ['1E-2', 0.01],
    ['1.', 1],
    ['.5', 0.5],
    ['-.5', -0.5],
    ['._5', '._5'],
    ['1.5e+3', 1500],
    ['7e1234', '7e1234'],
    ['1.2.3', '1.2.3'],
    ['1-2', '1-2'],
    ['12:30:45', '12:30:45'],
    ['2001-01-01', '2001-01-01'],
    ['2001-12-14t21:59:43.10-05:00', '2001-12-14t21:59:43.10-05:00'],
    ['!!timestamp 2001-01-01', '2001-01-01'],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775807', 9223372036854775807n],
    ['18446744073709551615', 18446744073709551615n],
    ['0xffffffffffffffff', 18446744073709551615n],
    ['18446744073709551616', 18446744073709551616],
    ['0x1ffffffffffffffff', '0x1ffffffffffffffff'],
    ['!!int "3"', 3],
    ['!!float 3', '3'],
    ['!custom 123', '123'],
    ['!!binary aGVsbG8=', 'hello'],
    ['<<', '<<'],
    ['=', '='],
    ['.inf.', '.inf.'],
  ];
  it.each(scalars.filter(([text]) => text !== '!!float 3'))('%j is %j', (text, value) => {
    const read = one(`v: ${text}\n`);
    expect(stringifyJson(read)).toBe(stringifyJson({ v: value }));
    expect(Object.is((read as { v: Json }).v, -0)).toBe(false);
  });

  it.each(['.inf', '-.inf', '+.Inf', '.nan', '.NaN'])('%s cannot be a value', (text) => {
    expect(failure(`v: ${text}`)).toContain('not a number that JSON can hold');
  });

  it('reads scalars in sequences and flow collections alike', () => {
    expect(one('[yes, 0x10, "no", ~, 010]')).toEqual([true, 16, 'no', null, 8]);
  });
});

describe('parseYamlDocuments reads keys as sigs.k8s.io/yaml does', () => {
  it.each([
    ['on: push', '{"true":"push"}'],
    ['y: 1\nn: 2', '{"true":1,"false":2}'],
    ['"on": push', '{"on":"push"}'],
    ['1: a', '{"1":"a"}'],
    ['0x10: a', '{"16":"a"}'],
    ['010: a', '{"8":"a"}'],
    ['1.10: a', '{"1.1":"a"}'],
    ['99999999999999999999: a', '{"1e+20":"a"}'],
    ['123456.0: a', '{"123456":"a"}'],
    ['1234567.5: a', '{"1.2345675e+06":"a"}'],
    ['0.00012: a', '{"0.00012":"a"}'],
    ['0.000012: a', '{"1.2e-05":"a"}'],
    ['-1e39: a', '{"-.inf":"a"}'],
    ['-2.5: a', '{"-2.5":"a"}'],
    ['16777217.0: a', '{"1.6777216e+07":"a"}'],
    ['9007199254740993: a', '{"9007199254740993":"a"}'],
    ['2001-01-01: a', '{"2001-01-01":"a"}'],
    ['.inf: a', '{".inf":"a"}'],
    ['"null": a', '{"null":"a"}'],
    ['a: 1\na: 2', '{"a":2}'],
    ['{a: 1, a: 2}', '{"a":2}'],
    ['? a\n: 1', '{"a":1}'],
    ['"[object Object]": 1', '{"[object Object]":1}'],
    ['a: "}: x"', '{"a":"}: x"}'],
  ])('reads the keys of %j', (text, json) => {
    expect(stringifyJson(one(text))).toBe(json);
  });

  it.each(['~: 1', 'null: 1', '? ~\n: 1'])('refuses the null key of %j', (text) => {
    expect(failure(text)).toContain('a key must be a string');
  });

  it.each(['{a: 1}: 2', '[a, b]: 2', '? {a: 1}\n: 2', '? - a\n: 2', '- ? [a]\n  : 1', '? &x {a: 1}\n: 2', '{[a]: 1}'])(
    'refuses the collection as key of %j',
    (text) => {
      expect(failure(text)).toContain('a key must be a string');
    },
  );

  it.each([
    'a: {{ x }}',
    'a: {{x: y}}',
    'a: {[x]}',
    'a: { {} }',
    '{{ if .x }}',
    '- {{ x }}',
    '[{{ x }}]',
    'a: {b: 1, {x}}',
    'a: {b: 1, [x]}',
    'a: {\n\n  [x]}',
    'a: {&k [x]}',
    'a: {!t [x]}',
    'a: {!!seq [x], b}',
    'a: { # why\n  [x] }',
    'a: {b, # why\n  [x] }',
    'a: {? [x]}',
    'a: [? [x]]',
    'a: &k [x]\nb: {*k}',
    'a: &k [x]\nb: {c: 1, *k : 2}',
    'a: &k [x]\n*k : 2',
    'a: &k {x: 1}\nb: {*k : 2}',
    'a: {{ x }}\n"[object Object]": 1',
  ])('refuses the collection as key of %j, with its line', (text) => {
    expect(failure(text)).toMatch(/^line \d+, column \d+: a key must be a string: got a collection \(/);
  });

  it.each(['a: "\\udc00"', '- "x\\uD83Dy"', '"\\ud83d": 1', 'a: {b: "\\ud83d \\ude00"}'])(
    'refuses half of a character in %j',
    (text) => {
      expect(failure(text)).toContain('half of a character');
    },
  );

  it.each([
    ['a: "\\ud83d\\ude00"', '{"a":"😀"}'],
    ["a: '\\udc00'", '{"a":"\\\\udc00"}'],
    ['a: {"{x}": 1}', '{"a":{"{x}":1}}'],
    ['a: {b, c}', '{"a":{"b":null,"c":null}}'],
    ['a: &k b\n*k : 2', '{"a":"b","b":2}'],
    ['[[1], [2, [3]], {a: [4]}]', '[[1],[2,[3]],{"a":[4]}]'],
    ['{"a": [{"b": 1}, {"c": [[2]]}], "d": {}}', '{"a":[{"b":1},{"c":[[2]]}],"d":{}}'],
    ["a: '{{ x }}'", '{"a":"{{ x }}"}'],
    ['"[object Object]": {x: 1}\na: "{ {"', '{"[object Object]":{"x":1},"a":"{ {"}'],
  ])('reads the text keys of %j', (text, json) => {
    expect(stringifyJson(one(text))).toBe(json);
  });

  it('keeps __proto__ as an own key', () => {
    const value = one('__proto__: {polluted: 1}\nx: 2') as object;
    expect(Object.keys(value)).toEqual(['__proto__', 'x']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('parseYamlDocuments merges as go-yaml v2 does', () => {
  it.each([
    ['explicit after the merge wins', 'a: &a {x: 1, w: 2}\nb:\n  <<: *a\n  x: 9', '{"x":9,"w":2}'],
    ['a merge after the explicit key overrides it', 'a: &a {x: 1, w: 2}\nb:\n  x: 9\n  <<: *a', '{"x":1,"w":2}'],
    ['the first of a list wins', 'a:\n- &p {x: 1}\n- &q {x: 2, z: 3}\nb:\n  <<: [*p, *q]', '{"x":1,"z":3}'],
    ['two merges', 'a:\n- &p {x: 1}\n- &q {x: 2}\nb:\n  <<: *p\n  <<: *q', '{"x":2}'],
    ['nested merges', 'a: &a {x: 1}\nc: &c\n  <<: *a\n  w: 2\nb:\n  <<: *c', '{"x":1,"w":2}'],
    ['a quoted << is a key', 'a: &a {x: 1}\nb:\n  "<<": *a', '{"<<":{"x":1}}'],
  ])('merges so that %s', (_name, text, json) => {
    expect(stringifyJson((one(text) as { b: Json }).b)).toBe(json);
  });

  it('refuses to merge what is not a map', () => {
    expect(failure('b:\n  <<: 1')).toContain('map merge requires map');
    expect(failure('a: &a [1]\nb:\n  <<: [*a]')).toContain('map merge requires map');
  });
});

describe('parseYamlDocuments in public reports', () => {
  it.each([
    ['kubernetes 86772', 'test: "1e003"', '{"test":"1e003"}'],
    ['kubernetes 86772, after another tool has dropped the quotes', 'test: 1e003', '{"test":1000}'],
    ['kubernetes 82296', 'value: 03788745', '{"value":3788745}'],
    ['cdk8s 348', 'my_number: 0666', '{"my_number":438}'],
    ['kubernetes-yaml-formatter 25', 'mode: 0o755', '{"mode":493}'],
    ['kubernetes-on-aws 144', 'version: 1.10', '{"version":1.1}'],
    ['helm-sops 21, openshift console 7066', 'value1: foo\nvalue1: foobar', '{"value1":"foobar"}'],
    ['ship 1035', 'args: ["--appendonly", "yes"]', '{"args":["--appendonly","yes"]}'],
    ['kubernetes 34146', '%YAML 1.1\n---\nargs: [no]', '{"args":[false]}'],
  ])('reads %s as kubectl does', (_report, text, json) => {
    expect(stringifyJson(one(text))).toBe(json);
    expect(stringifyJson(one(formatYaml(one(text))))).toBe(json);
  });

  it.each(['%YAML 1.2\n---\na: no', '# why\n%YAML 1.2 # so\n---\na: no', 'a: 1\n...\n%YAML 1.2\n---\nb: 1'])(
    'refuses the version of %j, as kubectl does (kubernetes 34146)',
    (text) => {
      expect(failure(text)).toMatch(/^line \d, column 1: only %YAML 1\.1 is supported/);
      expect(parseYamlDocuments(text, 'v3')).not.toEqual([]);
    },
  );
});

describe('parseYamlDocuments on whole texts', () => {
  it('returns each document, empty ones as null, and reads JSON too', () => {
    expect(parseYamlDocuments('')).toEqual([]);
    expect(parseYamlDocuments('---\na: 1\n---\n---\nb: 2\n...\n')).toEqual([{ a: 1 }, null, { b: 2 }]);
    expect(one('{"a": [1, "x\\u00e9"], "b": null}')).toEqual({ a: [1, 'xé'], b: null });
  });

  it('copies aliases, so that no two positions share an object', () => {
    const value = one('a: &a {x: 1}\nb: *a') as { a: object; b: object };
    expect(value.b).toEqual({ x: 1 });
    expect(value.a).not.toBe(value.b);
  });

  it('reports the position of the error without quoting the text', () => {
    const message = failure('apiVersion: v1\nkind: Secret\ndata:\n  password: "hunter2\n  x: [');
    expect(message).toMatch(/^line \d+, column \d+: /);
    expect(message).not.toContain('hunter2');
    const error = new YamlSyntaxError('bad', { line: 2, column: 3 });
    expect(error.message).toBe('line 2, column 3: bad');
    expect(error.at(10)).toBe('line 12, column 3: bad');
  });

  // T-SEC-40
  it('refuses alias bombs, cycles and extreme nesting', () => {
    const bomb = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
    for (let i = 1; i < 9; i += 1)
      bomb.push(
        `a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(',')}]`,
      );
    expect(failure(bomb.join('\n'))).toContain('more than 1000000 nodes');
    expect(failure('a: &a [*a]')).toMatch(/contains itself|unidentified alias/);
    expect(failure('a: &a {b: *a}')).toMatch(/contains itself|unidentified alias/);
    expect(failure('['.repeat(100_000))).not.toBe('no error');
    expect(failure(`${'{a: '.repeat(2000)}1${'}'.repeat(2000)}`)).not.toBe('no error');
    expect(failure('!!binary "%%%"')).not.toBe('no error');
  });

  it('parses any text in linear time', () => {
    const time = (text: string): number => {
      const begin = performance.now();
      try {
        parseYamlDocuments(text);
      } catch {
        // A prompt refusal is fine, too.
      }
      return performance.now() - begin;
    };
    const growth = (make: (n: number) => string, n: number): number => {
      time(make(n));
      const small = Math.min(...[1, 2, 3].map(() => time(make(n))));
      const large = Math.min(...[1, 2, 3].map(() => time(make(8 * n))));
      return large / Math.max(small, 1);
    };
    // Eight times the text: a quadratic parser would take 64 times as long.
    const texts: readonly (readonly [(n: number) => string, number])[] = [
      [(n) => '\n'.repeat(n), 5000],
      [(n) => `${'- '.repeat(200)}\n`.repeat(n / 100), 5000],
      [(n) => `a: ${'1'.repeat(n)}`, 20_000],
      [(n) => `[${'1'.repeat(n)}]`, 20_000],
    ];
    expect(texts.map(([make, n]) => growth(make, n)).filter((ratio) => ratio > 32)).toEqual([]);
  });

  it('refuses a chain of merges before it takes long', () => {
    const chain = Array.from({ length: 2000 }, (_, i) => `a${i + 1}: &a${i + 1} {<<: *a${i}, k${i + 1}: 1}`);
    expect(() => parseYamlDocuments(`a0: &a0 {k0: 1}\n${chain.join('\n')}`)).toThrow('more than 1000000 nodes');
  });

  it('reads structures as deep as a CRD schema', () => {
    const deep = `${'{a: '.repeat(300)}1${'}'.repeat(300)}`;
    expect(stringifyJson(one(deep))).toHaveLength(300 * '{"a":}'.length + 1);
  });

  it('never throws anything but YamlSyntaxError (fuzz)', () => {
    const pieces = fc.constantFrom(
      'a: ',
      '- ',
      '? ',
      ': ',
      '{',
      '}',
      '[',
      ']',
      '&a ',
      '*a',
      '<<: ',
      '\n',
      '  ',
      '!!int ',
      '!x ',
      '~',
      '"',
      "'",
      '|\n',
      '---\n',
      '#',
      '%',
      '1',
      '0x',
      '.inf',
      'é',
      '\t',
      ',',
    );
    expect(failure('!!int \n.inf')).toEqual(expect.any(String));
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
        expect(failure(parts.join(''))).toEqual(expect.any(String));
      }),
      { numRuns: 3000 },
    );
  });
});

describe('formatYaml', () => {
  it('quotes strings that a reader of YAML 1.1 or 1.2 would read as another type', () => {
    for (const text of [
      'yes',
      'y',
      'No',
      'on',
      'null',
      '~',
      '',
      '1',
      '0x10',
      '0o7',
      '1_000',
      '1e3',
      '.5',
      '.inf',
      '2001-01-01',
      '12:30:45',
      '<<',
      '08',
    ])
      expect(formatYaml({ v: text })).toMatch(/^v: ["']/);
  });

  it('writes numbers exactly', () => {
    expect(
      formatYaml({ a: 9007199254740993n, b: 18446744073709551615n, c: 1.5, d: -0, e: 1e21, f: true, g: null }),
    ).toBe('a: 9007199254740993\nb: 18446744073709551615\nc: 1.5\nd: 0\ne: 1e+21\nf: true\ng: null\n');
  });

  it('writes lists and quotes as Go does, on request', () => {
    expect(formatYaml({ a: [{ b: ['1'] }] })).toBe("a:\n  - b:\n      - '1'\n");
    expect(formatYaml({ a: [{ b: ['1'] }] }, 'go')).toBe('a:\n- b:\n  - "1"\n');
  });

  it('round-trips any value', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom(
        'yes',
        'off',
        '0x1',
        '010',
        '1e5',
        '~',
        '- a',
        'a: b',
        ' x',
        'x ',
        '#',
        '|',
        '>',
        '!a',
        '&a',
        '*a',
        '\n',
        'a\nb',
        'a\n',
        '\u0085',
        '\u2028',
        '{',
        '\t',
      ),
    );
    const value: fc.Arbitrary<Json> = fc.letrec<{ v: Json }>((tie) => ({
      v: fc.oneof(
        { maxDepth: 3 },
        word,
        fc.boolean(),
        fc.constant(null),
        fc.integer(),
        fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (n === 0 ? 0 : n)),
        fc.array(tie('v'), { maxLength: 4 }),
        fc.dictionary(word, tie('v'), { maxKeys: 4 }),
      ),
    })).v;
    fc.assert(
      fc.property(value, (v) => {
        expect(deepEqual(one(formatYaml(v)), v)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
