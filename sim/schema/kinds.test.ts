import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { createSchemaBook } from './book.ts';
import { typeTable } from './tables/index.ts';
import { parseTypeTables } from './type-table.ts';
import type { StructType } from './type-table.ts';

const book = createSchemaBook();

describe('built-in kinds', () => {
  it('exist once per group, version and kind, each with a schema', () => {
    const names = book.builtinKinds().map(({ group, version, kind }) => `${group}/${version}/${kind}`);
    expect(new Set(names).size).toBe(names.length);
    expect(book.builtinKinds().filter(({ schema }) => schema === undefined)).toEqual([]);
  });

  it('prefer autoscaling/v2', () => {
    const versions = book
      .builtinKinds()
      .filter(({ group }) => group === 'autoscaling')
      .map(({ version }) => version);
    expect(versions).toEqual(['v2', 'v1']);
  });
});

/**
 * An independent witness: the models that the Kubernetes project generates for JavaScript from its
 * own OpenAPI documents.
 */
describe('the type table agrees with the generated models', () => {
  const models = new URL('../../node_modules/@kubernetes/client-node/dist/gen/models/', import.meta.url);
  const modelNames: Readonly<Record<string, string>> = { 'io.k8s.api.autoscaling.v2': 'V2' };
  const candidates = [...typeTable.values()].flatMap((type): [string, StructType, URL][] => {
    const home = type.fullName.slice(0, type.fullName.lastIndexOf('.'));
    const prefix = modelNames[home] ?? 'V1';
    const file = [`${prefix}${type.shortName}.js`, `${groupWord(home)}${prefix}${type.shortName}.js`]
      .map((name) => new URL(name, models))
      .find((url) => existsSync(url));
    return file === undefined ? [] : [[type.fullName, type, file]];
  });

  it('covers most of its types', () => {
    expect(candidates.length).toBeGreaterThan(typeTable.size * 0.9);
  });

  it.each(candidates)('%s', (_name, type, file) => {
    const text = readFileSync(file, 'utf8');
    const published = new Set([...text.matchAll(/"baseName": "([^"]+)"/g)].map(([, name]) => name ?? ''));
    const unknown = [...type.fields.keys()].filter(
      (name) => !published.has(name) && !goneSince.has(`${type.shortName}.${name}`),
    );
    expect(unknown).toEqual([]);
  });
});

/** Fields of the 1.36 API that the newer generated models have dropped. */
const goneSince = new Set<string>([]);

/** `Core` in CoreV1Event, `Admissionregistration` in AdmissionregistrationV1ServiceReference. */
function groupWord(home: string): string {
  const group = home.split('.').at(-2) ?? '';
  return group.charAt(0).toUpperCase() + group.slice(1);
}

describe('type tables', () => {
  it('name an invalid line', () => {
    expect(() => parseTypeTables([{ package: 'p.v1', types: 'A\n  broken\n' }])).toThrow(/p[.]v1.*broken/);
    expect(() => parseTypeTables([{ package: 'p.v1', types: 'A\n  a B\n' }])).toThrow(/no type B/);
  });

  it('have marks, options and descriptions', () => {
    const table = parseTypeTables([
      {
        package: 'p.v1',
        types: 'A atomic -- An a.\n  b?! []A keys=x,y patch=merge:x -- The bs.\n  c P(x|y) default="x"\n',
      },
    ]);
    expect(table.get('p.v1.A')).toMatchObject({ atomic: true, description: 'An a.', goName: 'v1.A' });
    expect(table.get('p.v1.A')?.fields.get('b')).toMatchObject({
      required: true,
      pointer: true,
      keys: ['x', 'y'],
      patchStrategy: 'merge',
      patchMergeKey: 'x',
      description: 'The bs.',
    });
    expect(table.get('p.v1.A')?.fields.get('c')).toMatchObject({
      default: 'x',
      type: { allowed: ['x', 'y'], goName: 'v1.P' },
    });
  });
});
