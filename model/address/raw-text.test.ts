import { expect, it } from '@jest/globals';
import type { SourceAddress } from './index.ts';
import { addressOf } from '../testing/index.ts';

const dial = (address: SourceAddress): string => address.url;

it('a text is no address: the type checker refuses it', () => {
  const real = addressOf('https://h/x');
  expect(dial(real)).toBe('https://h/x');
  // @ts-expect-error A text of a tenant is not parsed.
  expect(dial('https://h/x')).toBeUndefined();
});
