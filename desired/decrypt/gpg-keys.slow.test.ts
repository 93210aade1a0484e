import { describe, expect, it } from '@jest/globals';
import { parseYamlDocuments } from '#base';
import { failureOf } from '../testing/repository.ts';
import { decryptedText, keysOf, sopsFile, sopsTestData, testKeys } from '../testing/sops-files.ts';

describe('a file that sops encrypted for a PGP key', () => {
  it.each(['rsa.yaml', 'curve.yaml', 'both.yaml'])('is decrypted as by sops: %s', async (path) => {
    const { encrypted, decrypted = '' } = sopsFile(path);
    const plain = await decryptedText(path, encrypted, testKeys('rsa', 'curve'));
    expect(parseYamlDocuments(plain)).toEqual(parseYamlDocuments(decrypted));
  });

  it('is decrypted by the only one of several keys that fits', async () => {
    const { encrypted } = sopsFile('both.yaml');
    for (const key of ['age', 'rsa'] as const)
      expect(await decryptedText('both.yaml', encrypted, testKeys(key, 'curve', 'otherAge'))).toContain('p4ss: word');
  });

  it('names its key and those of the Secret if none fits, and shows none', async () => {
    const { message } = await failureOf(decryptedText('a.yaml', sopsFile('rsa.yaml').encrypted, testKeys('curve')));
    expect(message).toMatch(
      /encrypted for the PGP key [0-9A-F]{40}, and Secret sops-keys has [0-9A-F]{40}, [0-9A-F]{40}$/,
    );
    const broken = keysOf({ 'a.asc': sopsTestData.keys.rsa.slice(0, 400) });
    const failure = await failureOf(decryptedText('a.yaml', sopsFile('rsa.yaml').encrypted, broken));
    expect(failure.message).toContain('Secret sops-keys has no key of this kind');
  });
});
