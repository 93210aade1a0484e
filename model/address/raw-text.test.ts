import { expect, it } from '@jest/globals';
import type { SourceAddress } from './index.ts';
import { addressOf } from '../testing/index.ts';

const dial = (address: SourceAddress): string => address.url;

it('text and look-alikes are no address: the type checker refuses these lines', () => {
  const real = addressOf('https://h/x');
  expect(dial(real)).toBe('https://h/x');
  // @ts-expect-error A text of a tenant is not parsed.
  expect(dial('https://h/x')).toBeUndefined();
  const copy = { ...real, url: 'https://other/x' };
  // @ts-expect-error A copy is no value of the class, so its members could be changed.
  expect(dial(copy)).toBe('https://other/x');
});
