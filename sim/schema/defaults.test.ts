import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { isObject } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import { widgetKind } from './samples.ts';

const book = createSchemaBook();
const kindOf = ({ apiVersion, kind }: KubeObject) =>
  book
    .builtinKinds()
    .find((one) => one.kind === kind && apiVersion === [one.group, one.version].join('/').replace(/^[/]/, ''));

/** With values where the recordings hide those that differ between runs. */
function unmasked(text: string): string {
  const values = { '"<nodePort>"': '30000', '<address>': '10.96.0.9', '<suffix>': 'abcde', '<uid>': 'u1' };
  return Object.entries(values).reduce((all, [mask, value]) => all.replaceAll(mask, value), text);
}

/** All objects of built-in kinds in the recorded answers of a real server. */
const recorded = new Map<string, KubeObject[]>();
const folder = new URL('../../test/conformance/recorded/', import.meta.url);
for (const file of readdirSync(folder)) {
  const { scenarios } = JSON.parse(unmasked(readFileSync(new URL(file, folder), 'utf8'))) as {
    readonly scenarios: Readonly<Record<string, readonly { readonly answer: Json }[]>>;
  };
  for (const { answer } of Object.values(scenarios).flat()) {
    const object = answer as unknown as KubeObject;
    if (!isObject(answer) || !isObject(answer['metadata']) || kindOf(object) === undefined) continue;
    recorded.set(object.kind, [...(recorded.get(object.kind) ?? []), object]);
  }
}

/** test/conformance/scenarios/defaults.ts has what the server fills in. */
describe('the objects of a real server', () => {
  it.each([...recorded.keys()])('get no further defaults, have no problem, and are not changed: %s', (kind) => {
    for (const object of recorded.get(kind) ?? []) {
      const before = JSON.stringify(object);
      const definition = kindOf(object)!;
      expect(book.applyDefaults(definition, object)).toEqual(object);
      expect(book.validate(definition, object, object)).toEqual([]);
      expect(JSON.stringify(object)).toBe(before);
    }
  });
});

describe('defaults of custom resources', () => {
  it('add nothing inside an absent object', () => {
    const bare = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'x' } };
    expect(book.applyDefaults(widgetKind, bare)).toEqual(bare);
  });
});
