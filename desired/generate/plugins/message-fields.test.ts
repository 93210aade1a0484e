import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { countFields } from './message-fields.ts';
import { pluginMethods } from './plugin-client.ts';

const serialize = (manifests: readonly string[]): Buffer => {
  const method = pluginMethods()['GenerateManifest'];
  if (method === undefined) throw new Error('there is no such method');
  return method.responseSerialize({ manifests });
};

describe('counting the fields of a message', () => {
  it('counts each text once, and stops above the maximum', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 300 })), fc.nat(50), (texts, max) => {
        const count = countFields(serialize(texts), max);
        expect(count).toBe(Math.min(texts.length, max + 1));
      }),
    );
  });

  it('skips unknown fields of all types', () => {
    const unknown = [0x18, 0xff, 0x01, 0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x2d, 1, 2, 3, 4, 0x32, 2, 0x0a, 0];
    expect(countFields(Buffer.from([...unknown, 0x0a, 0x00]), 100)).toBe(5);
  });

  it.each<[string, readonly number[]]>([
    // Decoders use the lower 32 bits of such a length, which would be 0.
    ['a length of more than 32 bits', [0x0a, 0x80, 0x80, 0x80, 0x80, 0x10]],
    ['a length with needless bytes', [0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]],
    ['a length beyond the end', [0x0a, 0x7f, 0x0a]],
    ['a tag without a value', [0x0a]],
    ['a group', [0x0b, 0x0c]],
    ['a fixed field beyond the end', [0x2d, 1, 2]],
  ])('refuses %s', (_name, bytes) => {
    expect(() => countFields(Buffer.from([...bytes]), 100)).toThrow('it is malformed');
  });
});
