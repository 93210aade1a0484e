import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { parseWarnings, rememberWarnings, warningsOf } from './warnings.ts';

const object = (): KubeObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } });
const warned = (warning: string | readonly string[], kind = 'ConfigMap'): readonly string[] => {
  const found = object();
  rememberWarnings(found, { headers: { warning } }, kind);
  return warningsOf(found);
};

describe('the header Warning', () => {
  it.each([
    ['299 - "unknown field \\"spec.a\\""', ['unknown field "spec.a"']],
    ['299 - "one, with a comma", 299 - "two"', ['one, with a comma', 'two']],
    ['299 agent/1.0 "one" "Wed, 21 Oct 2015 07:28:00 GMT",299 - "two"', ['one', 'two']],
    ['110 - "Response is stale", 299 - "two"', ['two']],
    ['299 - "back\\\\slash"', ['back\\slash']],
    ['', []],
    ['nonsense "299 - "', []],
    ['299 - "not ended', []],
  ])('%s has %j', (header, texts) => {
    expect(parseWarnings(header)).toEqual(texts);
  });

  it('keeps each warning of a response once, up to a number', () => {
    expect(warned(['299 - "a"', '299 - "b"', '299 - "a"'])).toEqual(['a', 'b']);
    expect(warned(Array.from({ length: 100 }, (_, i) => `299 - "${i}"`))).toHaveLength(20);
    expect(warningsOf(object())).toEqual([]);
  });

  it('does not show what a server says about a Secret', () => {
    expect(warned('299 - "the value hunter2 is weak"', 'Secret')).toEqual([
      'the server warned about this Secret: kubectl shows the text',
    ]);
  });
});
