import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import * as samples from './samples.ts';
import { kindIn, widgetKind } from './samples.ts';

const book = createSchemaBook();
const defaulted = (object: KubeObject): Json =>
  book.applyDefaults(
    kindIn(book, object.kind, object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : ''),
    object,
  ) as Json;
/** test/conformance/scenarios/defaults.ts has the defaults of a real server. */
describe('defaults of built-in kinds', () => {
  it.each(
    Object.entries(samples).filter(
      ([, value]) => typeof value === 'object' && 'apiVersion' in value && value.kind !== 'Widget',
    ),
  )('are idempotent and leave the argument unchanged: %s', (_name, value) => {
    const base = value as KubeObject;
    const before = JSON.stringify(base);
    const once = defaulted(base);
    expect(defaulted(once as unknown as KubeObject)).toEqual(once);
    expect(JSON.stringify(base)).toBe(before);
  });
});

describe('defaults of custom resources', () => {
  it('add nothing inside an absent object', () => {
    const bare = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'x' } };
    expect(book.applyDefaults(widgetKind, bare)).toEqual(bare);
  });
});
