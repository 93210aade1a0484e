import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatYaml } from '#base';
import type { Json } from '#base';
import { ManifestError } from '../errors.ts';
import { endOfJsonValue, isSkipped, objectsOf } from './documents.ts';

const file = (content: string | Uint8Array, name = 'a.yaml') => ({
  path: `app/${name}`,
  name,
  content: typeof content === 'string' ? Buffer.from(content) : content,
});
const names = (content: string | Uint8Array, name?: string) =>
  objectsOf(file(content, name)).map((object) => object.metadata.name);
const failure = (content: string | Uint8Array, name?: string): string => {
  try {
    objectsOf(file(content, name));
  } catch (error) {
    if (error instanceof ManifestError) return error.message;
    throw error;
  }
  return 'no error';
};
const cm = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;

describe('objectsOf reads YAML streams', () => {
  it.each([
    ['one', cm('a'), ['a']],
    ['many', `${cm('a')}---\n${cm('b')}---\n${cm('c')}`, ['a', 'b', 'c']],
    [
      'leading separator, comments, empty and null documents',
      `---\n# x\n---\n\n---\nnull\n---\n~\n--- # c\n${cm('a')}...\n`,
      ['a'],
    ],
    ['windows line ends', `${cm('a')}---\n${cm('b')}`.replaceAll('\n', '\r\n'), ['a', 'b']],
    ['a directive', `%YAML 1.1\n---\n${cm('a')}`, ['a']],
    ['content behind the separator', '--- {apiVersion: v1, kind: X, metadata: {name: a}}\n', ['a']],
    ['a separator inside a block scalar', `${cm('a')}data:\n  x: |\n    ---\n    y\n`, ['a']],
    ['JSON in a YAML file', '{"apiVersion":"v1","kind":"X","metadata":{"name":"a"}}', ['a']],
    [
      'JSON objects in a row',
      '{"apiVersion":"v1","kind":"X","metadata":{"name":"a"}}\n{"apiVersion":"v1","kind":"X","metadata":{"name":"b"}}',
      ['a', 'b'],
    ],
    ['flow style', '{apiVersion: v1, kind: X, metadata: {name: a}}', ['a']],
    ['a list', `apiVersion: v1\nkind: List\nitems:\n- ${cm('a').replaceAll('\n', '\n  ').trim()}\n`, ['a']],
    ['an empty list', 'apiVersion: v1\nkind: List\nitems: []\n', []],
    ['a list of null', 'apiVersion: v1\nkind: ConfigMapList\nitems:\nmetadata: {}\n', []],
    ['generateName', 'apiVersion: v1\nkind: Job\nmetadata: {generateName: a-}', [undefined]],
    ['no metadata', 'apiVersion: v1\nkind: X\n', [undefined]],
    ['null as metadata', 'apiVersion: v1\nkind: X\nmetadata:\n', [undefined]],
    ['no name', 'apiVersion: v1\nkind: X\nmetadata: {labels: {a: b}}\n', [undefined]],
    ['not a manifest: values', 'replicas: 3\nimage: x\n', []],
    ['not a manifest: broken', 'a: [', []],
    ['not a manifest: a template', '{{ if .x }}\na: 1\n{{ end }}', []],
    ['nothing', '', []],
  ])('%s', (_name, text, expected) => {
    expect(names(text)).toEqual(expected);
  });

  it('reads byte order marks', () => {
    const text = cm('ä');
    expect(names(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]))).toEqual(['ä']);
    expect(names(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]))).toEqual(['ä']);
    expect(names(Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()]))).toEqual(['ä']);
    expect(failure(Buffer.from([0x61, 0xff, 0x61]))).toBe(
      'Failed to unmarshal "app/a.yaml": the file is not UTF-8 text',
    );
  });

  it.each(['app/a.json', 'app/a.yaml'])('replaces halves of characters in JSON as Go does: %s', (path) => {
    const half = String.raw`{"\udc00k":"a\ud800\u0041 \ud83d\ude00 \\ud800","list":["\ud800\ud800"]}`;
    const text = `{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"spec":${half}}`;
    const [object] = objectsOf({ path, name: path.slice(4), content: Buffer.from(text) });
    expect(object?.['spec']).toEqual({ '\ufffdk': 'a\ufffdA \u{1f600} \\ud800', list: ['\ufffd\ufffd'] });
  });

  it('reads the byte order marks of files that were joined', () => {
    expect(names(`\ufeff${cm('a')}---\n\ufeff${cm('b')}---\r\n\ufeff${cm('c')}`)).toEqual(['a', 'b', 'c']);
    expect(names(`${cm('a')}---\n\ufeff{"apiVersion":"v1","kind":"X","metadata":{"name":"b"}}`)).toEqual(['a', 'b']);
  });

  it.each(['size: {{ .Values.size }}', 'spec: {size: {{ x }}}', 'list:\n- {{ x }}', 'a: {[x]}'])(
    'refuses the template %j in a manifest, with its line',
    (line) => {
      expect(failure(Buffer.from(`${cm('a')}${line}\n`))).toMatch(
        /^Failed to unmarshal "app\/a.yaml": document 1: line \d+, column \d+: .*a template such as \{\{ x \}\} needs a Helm chart/,
      );
    },
  );

  it('unfolds nested lists up to a depth', () => {
    const nest = (depth: number): string =>
      depth === 0
        ? '{"apiVersion":"v1","kind":"X","metadata":{"name":"a"}}'
        : `{"apiVersion":"v1","kind":"List","items":[${nest(depth - 1)}]}`;
    expect(names(nest(3))).toEqual(['a']);
    expect(failure(nest(40))).toContain('nested too deeply');
  });
});

describe('objectsOf names the file, document and fault', () => {
  it.each([
    ['no kind', `${cm('a')}---\napiVersion: v1\nmetadata: {name: b}\n`, `document 2: Object 'Kind' is missing`],
    ['no kind, alone', `apiVersion: v1\nkind: ''\nmetadata: {name: b}\n`, `document 1: Object 'Kind' is missing`],
    ['no apiVersion', 'kind: X\nmetadata: {name: b}\n', 'document 1 (X): apiVersion is missing'],
    ['metadata of another type', 'apiVersion: v1\nkind: X\nmetadata: [a]\n', 'document 1 (X): metadata is not a map'],
    ['a number as name', cm('1'), 'document 1 (ConfigMap): metadata.name is not a string'],
    [
      'a number as generateName',
      'apiVersion: v1\nkind: X\nmetadata: {generateName: 1}\n',
      'document 1 (X): metadata.generateName is not a string',
    ],
    ['a number as namespace', `${cm('a')}  namespace: 1\n`, 'metadata.namespace is not a string'],
    [
      'a boolean as annotation',
      `${cm('a')}  annotations: {x: yes}\n`,
      'metadata.annotations["x"] is not a string: put quotes around its value',
    ],
    ['labels as list', `${cm('a')}  labels: [x]\n`, 'metadata.labels is not a map'],
    [
      'an item',
      `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: X, metadata: {name: 1}}\n`,
      'document 1, items[0] (X): metadata.name is not a string',
    ],
    ['text after a good document', `${cm('a')}---\njust text\n`, 'document 2 is not an object'],
    ['broken after a good document', `${cm('a')}---\na: [\n`, 'document 2: line 7, column 1: '],
    ['broken, but surely a manifest', `apiVersion: v1\nkind: X\nmetadata: {name: [}\n`, 'document 1: line 3, column '],
  ])('%s', (_name, text, message) => {
    expect(failure(text)).toContain(`Failed to unmarshal "app/a.yaml": `);
    expect(failure(text)).toContain(message);
  });

  it('never shows the text of a document', () => {
    for (const text of [
      'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: "hunter2}\n',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: hunter2: x}\n',
      `${cm('a')}---\nhunter2\n`,
      'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n\tp: hunter2\n',
    ]) {
      expect(failure(text)).toContain('Failed to unmarshal');
      expect(failure(text)).not.toContain('hunter2');
    }
    expect(failure('{"kind":"Secret","data":{"p":"hunter2}', 's.json')).not.toContain('hunter2');
    expect(failure('{"kind":"Secret","data":{"p":hunter2}}', 's.json')).not.toContain('hunter2');
  });
});

describe('objectsOf reads JSON files', () => {
  const json = '{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"spec":{"n":9007199254740993}}';

  it('accepts exactly one value', () => {
    expect(objectsOf(file(`\n${json}\n`, 'a.json'))[0]?.['spec']).toEqual({ n: 9007199254740993n });
    expect(names('', 'a.json')).toEqual([]);
    expect(names('null', 'a.json')).toEqual([]);
  });

  it('refuses anything else, even if a YAML file may hold it', () => {
    expect(failure(`${json}${json}`, 'a.json')).toBe(
      'Found multiple objects in "app/a.json". Only single objects are allowed in JSON files.',
    );
    expect(failure('{"a":', 'a.json')).toContain('Failed to unmarshal "app/a.json": the file is not valid JSON');
    expect(failure('{"a": 1}', 'a.json')).toContain("Object 'Kind' is missing");
    expect(failure('{a: 1}', 'a.json')).toContain('not valid JSON');
    expect(failure('[1]', 'a.json')).toContain('is not an object');
  });

  it('finds the end of the first value', () => {
    expect(endOfJsonValue('{"a":"}\\"}"} {')).toBe(12);
    expect(endOfJsonValue('["]"]x')).toBe(5);
    expect(endOfJsonValue('{"a')).toBe(3);
    expect(endOfJsonValue('{"a\\')).toBe(4);
    // A quadratic search would take minutes for this.
    const unclosed = `{"${'\\"'.repeat(500_000)}`;
    expect(endOfJsonValue(unclosed)).toBe(unclosed.length);
  });
});

describe('properties', () => {
  const word = fc
    .stringMatching(/^[a-z][a-z0-9-]{0,8}$/)
    .filter((text) => !/^(?:y|n|on|off|yes|no|true|false|null)$/.test(text));

  it('round-trips a stream of objects with any text', () => {
    const object = fc.record({ name: word, text: fc.string(), n: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }) });
    fc.assert(
      fc.property(fc.array(object, { maxLength: 5 }), (objects) => {
        const text = objects
          .map(({ name, text, n }) =>
            formatYaml({
              apiVersion: 'v1',
              kind: 'X',
              metadata: { name },
              data: { text, n: Number(n) < 2 ** 53 ? Number(n) : n } as Json,
            }),
          )
          .join('---\n');
        const read = objectsOf(file(text));
        expect(read.map((o) => [o.metadata.name, (o['data'] as { text: string }).text])).toEqual(
          objects.map(({ name, text }) => [name, text]),
        );
        expect(read.map((o) => BigInt((o['data'] as { n: bigint | number }).n))).toEqual(objects.map(({ n }) => n));
      }),
    );
  });

  it('gives objects or a ManifestError for any bytes (fuzz)', () => {
    const piece = fc.constantFrom(
      'apiVersion: v1\n',
      'kind: X\n',
      'metadata: {name: a}\n',
      '---\n',
      '--- ',
      '- ',
      '{',
      '}',
      '"',
      'items:\n',
      '- ',
      '%YAML',
      '\n',
      '  ',
      '\u0000',
      '...\n',
      '#',
      '&a ',
      '*a',
      ': ',
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.array(piece, { maxLength: 20 }).map((parts) => Buffer.from(parts.join(''))),
    );
    fc.assert(
      fc.property(bytes, fc.constantFrom('a.yaml', 'a.json'), (content, name) => {
        expect(failure(content, name)).toEqual(expect.any(String));
      }),
      { numRuns: 2000 },
    );
  });

  it('skips a file with the marker anywhere in it', () => {
    expect(isSkipped(Buffer.from('x\n# +argocd:skip-file-rendering\n'))).toBe(true);
    expect(isSkipped(Buffer.from('x\n# argocd:skip-file-rendering\n'))).toBe(false);
  });
});
