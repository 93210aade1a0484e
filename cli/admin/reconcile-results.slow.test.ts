import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { deepEqual, UsageError } from '#base';
import type { Json } from '#base';
import type { ApplicationStatus } from '#model';
import { formatResults, parseResults, resultFormats, resultsOf, resultText } from './reconcile-results.ts';

const status = {
  health: { status: 'Degraded', message: 'not in the file', lastTransitionTime: '2026-11-25T12:00:00Z' },
  sync: {
    status: 'OutOfSync',
    comparedTo: {
      source: { repoURL: 'https://git.example.com/a&b.git', path: 'shop', targetRevision: 'main' },
      destination: { server: 'https://kubernetes.default.svc', namespace: 'shop' },
    },
    revision: 'a1b2c3',
    revisions: [],
  },
  conditions: [{ type: 'SyncError', message: 'on: <b>', lastTransitionTime: '2026-11-25T12:00:00Z', more: 1 }],
  resources: [{ kind: 'ConfigMap', version: 'v1', name: 'x' }],
} as unknown as ApplicationStatus;

/** The texts of Argo CD 3.6.1 for these two Applications, with the members of the JSON sorted. */
const json =
  '{"applications":[{"conditions":null,"health":"","name":"blog","sync":{"comparedTo":{"destination":{},' +
  '"source":{"repoURL":""}},"status":""}},{"conditions":[{"lastTransitionTime":"2026-11-25T12:00:00Z",' +
  '"message":"on: \\u003cb\\u003e","type":"SyncError"}],"health":"Degraded","name":"shop","sync":{"comparedTo":' +
  '{"destination":{"namespace":"shop","server":"https://kubernetes.default.svc"},"source":{"path":"shop",' +
  '"repoURL":"https://git.example.com/a\\u0026b.git","targetRevision":"main"}},"revision":"a1b2c3",' +
  '"status":"OutOfSync"}}]}';
const yaml = `applications:
- conditions: null
  health: ""
  name: blog
  sync:
    comparedTo:
      destination: {}
      source:
        repoURL: ""
    status: ""
- conditions:
  - lastTransitionTime: "2026-11-25T12:00:00Z"
    message: "on: <b>"
    type: SyncError
  health: Degraded
  name: shop
  sync:
    comparedTo:
      destination:
        namespace: shop
        server: https://kubernetes.default.svc
      source:
        path: shop
        repoURL: https://git.example.com/a&b.git
        targetRevision: main
    revision: a1b2c3
    status: OutOfSync
`;

const two = resultsOf([{ metadata: { name: 'shop' }, status }, { metadata: { name: 'blog' } }]);

describe('a results file', () => {
  it("has Argo CD's members, with and without a status", () => {
    expect(formatResults(two, 'json')).toBe(json);
    expect(formatResults(two, 'yaml')).toBe(yaml);
  });

  it('of an empty fleet is null, as Go writes it, and can be read', () => {
    expect(formatResults(resultsOf([]), 'json')).toBe('{"applications":null}');
    expect(parseResults('applications: null\n', 'a').size).toBe(0);
  });

  it('reads what it wrote in either format, whatever the texts contain', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('yes', '1e3', '- a', '\u001b[2J'),
    );
    const result = fc.record({ name: fc.uuid(), message: text, revision: text, health: text });
    fc.assert(
      fc.property(fc.uniqueArray(result, { selector: ({ name }) => name, maxLength: 3 }), (list) => {
        const results = resultsOf(
          list.map(({ name, message, revision, health }) => ({
            metadata: { name },
            status: {
              health: { status: health },
              sync: { status: 'Synced', revision },
              conditions: [{ type: 'SyncError', message }],
            } as unknown as ApplicationStatus,
          })),
        );
        for (const format of resultFormats) {
          const read = [...parseResults(formatResults(results, format), 'a').values()];
          expect(deepEqual(read as unknown as Json, (results.applications ?? []) as unknown as Json)).toBe(true);
        }
      }),
    );
  });

  it('of 10,000 Applications is read whole', () => {
    const many = Array.from({ length: 10_000 }, (_, i) => ({ metadata: { name: `app-${i}` }, status }));
    for (const format of resultFormats)
      expect(parseResults(formatResults(resultsOf(many), format), 'a').size).toBe(10_000);
  }, 60_000);
});

describe('a file that is no results file', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['is truncated JSON', json.slice(0, 400), /^file\.yaml: not a whole JSON or YAML file: /],
    ['is truncated YAML', `${yaml}  - "open`, /^file\.yaml: not a whole JSON or YAML file: line \d+/],
    ['is truncated before a value', yaml.slice(0, yaml.indexOf('name: shop') + 5), /application 2: "name" must be/],
    ['is empty', '', /it has no list "applications"/],
    ['is something else', 'kind: List\nitems: []\n', /it has no list "applications"/],
    ['is a list', '[]', /it has no list "applications"/],
    ['has several documents', `${yaml}---\n${yaml}`, /more than one document/],
    ['has an Application twice', '{"applications":[{"name":"a"},{"name":"a"}]}', /"a" is there twice/],
    ['has a text as an Application', '{"applications":["a"]}', /application 1: not an object/],
    [
      'has a sync status of an older release',
      '{"applications":[{"name":"a","sync":"Synced"}]}',
      /"sync" must be an object/,
    ],
    ['has the health of an older release', '{"applications":[{"name":"a","health":{}}]}', /"health" must be a text/],
    [
      'has conditions that are no list',
      '{"applications":[{"name":"a","conditions":{}}]}',
      /"conditions" must be a list/,
    ],
  ];
  it.each(cases)('is refused in one line: it %s', (_what, text, message) => {
    expect(() => parseResults(text, 'file.yaml')).toThrow(UsageError);
    expect(() => parseResults(text, 'file.yaml')).toThrow(message);
  });

  it('that was cut off anywhere is refused in one line, or read up to there if it is YAML', () => {
    for (let length = 0; length < yaml.length; length += 1) {
      let size = 0;
      try {
        size = parseResults(yaml.slice(0, length), 'file.yaml').size;
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
      }
      expect(size).toBeLessThanOrEqual(2);
    }
    for (let length = 0; length < json.length; length += 1)
      expect(() => parseResults(json.slice(0, length), 'file.json')).toThrow(UsageError);
  });
});

describe('the text that is compared', () => {
  it('is that of one Application, and empty without one', () => {
    expect(resultText(undefined)).toBe('');
    const [first] = parseResults(json, 'a').values();
    expect(resultText(first)).toBe(
      'conditions: null\nhealth: ""\nname: blog\nsync:\n  comparedTo:\n    destination: {}\n    source:\n      repoURL: ""\n  status: ""\n',
    );
  });
});
