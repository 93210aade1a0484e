import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { KubeObject } from '#model';
import { maskSecrets } from './mask.ts';

const key = 'kubectl.kubernetes.io/last-applied-configuration';
function secret(data: object, annotations?: Record<string, string>, rest: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', ...(annotations === undefined ? {} : { annotations }) },
    data,
    ...rest,
  };
}
const plus = (n: number): string => '+'.repeat(n);

describe('maskSecrets', () => {
  it('gives equal values equal masks and each other value of the key a longer one', () => {
    const { target, live } = maskSecrets(
      secret({ a: 'x', b: 'y', c: 'z' }),
      secret({ a: 'x', b: 'other', d: 'new' }),
      [],
    );
    expect(target?.['data']).toEqual({ a: plus(8), b: plus(8), c: plus(8) });
    expect(live?.['data']).toEqual({ a: plus(8), b: plus(12), d: plus(8) });
  });

  it('masks the last-applied annotation with the same masks', () => {
    const old = JSON.stringify(secret({ a: 'third', b: 'y' }));
    const { live } = maskSecrets(secret({ a: 'x' }), secret({ a: 'second' }, { [key]: old }), []);
    const before = JSON.parse(live?.metadata.annotations?.[key] ?? '') as KubeObject;
    expect(live?.['data']).toEqual({ a: plus(12) });
    expect(before['data']).toEqual({ a: plus(16), b: plus(8) });
  });

  it('masks everything that it cannot parse', () => {
    expect(maskSecrets(null, secret({}, { [key]: '{"data":{"a":"hid' }), []).live?.metadata.annotations?.[key]).toBe(
      plus(8),
    );
    const named = maskSecrets(null, secret({ a: 'x' }, { [key]: JSON.stringify(secret({ a: 'x' })) }), [key]);
    expect(named.live?.metadata.annotations?.[key]).toBe(plus(8));
    expect(maskSecrets(secret('text' as unknown as object), null, []).target?.['data']).toBe(plus(8));
  });

  it('masks stringData, named annotations, and nothing else', () => {
    const pair = maskSecrets(
      secret({}, { token: 't', other: 'o' }, { stringData: { a: 'x' }, data: undefined }),
      secret({ a: 'eA==' }, { token: 'u' }),
      ['token', 'absent'],
    );
    expect(pair.target).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', annotations: { token: plus(8), other: 'o' } },
      data: { a: plus(8) },
    });
    expect(pair.live?.['data']).toEqual({ a: plus(8) });
    expect(pair.live?.metadata.annotations).toEqual({ token: plus(12) });
  });

  it('changes neither other kinds nor its arguments', () => {
    const map = { ...secret({ a: 'x' }), kind: 'ConfigMap' };
    expect(maskSecrets(map, null, []).target).toBe(map);
    const sealed = { ...secret({ a: 'x' }), apiVersion: 'bitnami.com/v1' };
    expect(maskSecrets(sealed, sealed, []).live).toBe(sealed);
    const argument = secret({ a: 'x' });
    maskSecrets(argument, null, []);
    expect(argument['data']).toEqual({ a: 'x' });
    expect(maskSecrets(secret({ a: 'x' }, undefined, { data: null }), null, []).target?.['data']).toBeNull();
  });

  it('never shows a value', () => {
    const value = fc.stringMatching(/^[a-z]{6,10}$/).map((text) => `VALUE${text}`);
    const data = fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), value);
    fc.assert(
      fc.property(data, data, data, data, (a, b, c, d) => {
        const target = secret(a, { [key]: JSON.stringify(secret(c)) }, { stringData: d });
        const masked = maskSecrets(target, secret(b, { [key]: JSON.stringify({ ...secret(c), stringData: d }) }), []);
        const shown = JSON.stringify(masked);
        expect(shown).not.toContain('VALUE');
        for (const text of Object.values(d)) expect(shown).not.toContain(Buffer.from(text).toString('base64'));
      }),
    );
  });
});

describe('base64 with line breaks in a Secret', () => {
  it('has the same mask as on one line', () => {
    const secret = (a: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      data: { a },
    });
    const { target, live } = maskSecrets(secret('YWJj\nZGVm\n'), secret('YWJjZGVm'), []);
    expect(target).toEqual(live);
    expect(target).toEqual(secret('++++++++'));
  });
});
