import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject } from '#base';
import { statusOfObject } from '../requests/answers.ts';
import { isTooLargeVersion, KubeApiError } from '../errors.ts';
import { compareVersions, isOlderVersion } from './version.ts';

describe('compareVersions', () => {
  it('orders numbers of any length as numbers, and nothing else', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 70n }), fc.bigInt({ min: 0n, max: 2n ** 70n }), (a, b) => {
        const order = compareVersions(String(a), String(b));
        expect(Math.sign(order ?? NaN)).toBe(a < b ? -1 : Number(a > b));
      }),
    );
    expect(compareVersions('a', 'b')).toBeUndefined();
    expect(compareVersions('', '5')).toBeUndefined();
    expect(compareVersions('007', '7')).toBeUndefined();
    expect(compareVersions('x', 'x')).toBe(0);
  });

  it('is older only if known to be older', () => {
    expect(isOlderVersion('9', '10')).toBe(true);
    expect(isOlderVersion('10', '10')).toBe(false);
    expect(isOlderVersion('x', '10')).toBe(false);
  });
});

it('recognizes from the response that the server does not know a version yet', () => {
  const answer = {
    kind: 'Status',
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: Too large resource version: 9, current: 5',
    details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
  };
  const asked = { request: 'GET x', verb: 'watch', kind: 'ConfigMap', hidden: [] };
  const errorOf = (status: JsonObject): KubeApiError => new KubeApiError(statusOfObject(status, asked), 'GET x');
  expect(isTooLargeVersion(errorOf(answer))).toBe(true);
  for (const causes of [undefined, 'odd', [{}], [{ reason: 'FieldValueInvalid' }]])
    expect(isTooLargeVersion(errorOf({ ...answer, details: { causes } }))).toBe(false);
  expect(isTooLargeVersion(new Error('Too large resource version'))).toBe(false);
});
