import { expect, it } from '@jest/globals';
import { omit } from './omit.ts';
import { parseJson } from './json.ts';
import type { JsonObject } from './json.ts';

it('copies all members but the named ones, also those with odd names', () => {
  const value = parseJson('{"a":1,"__proto__":{"x":1},"constructor":2,"b":{}}') as JsonObject;
  const copy = omit(value, 'a');
  expect(Object.entries(copy)).toEqual([
    ['__proto__', { x: 1 }],
    ['constructor', 2],
    ['b', {}],
  ]);
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
});

it('does not read what it omits', () => {
  const value = {
    kept: 1,
    get omitted(): number {
      throw new Error('read');
    },
  };
  expect(omit(value, 'omitted')).toEqual({ kept: 1 });
});
