import { describe, expect, it } from '@jest/globals';
import { isObject, parseYamlDocuments, seededRandom } from '#base';
import type { Json } from '#base';
import type { SourceDecryption } from '#model';
import { CommandError, DecryptionFailed } from '../errors.ts';
import { failureOf } from '../testing/repository.ts';
import { decryptedText, keysOf, sopsFile, sopsTestData, testKeys } from '../testing/sops-files.ts';

const refusal = async (path: string, content: string, keys: SourceDecryption): Promise<string> =>
  (await failureOf(decryptedText(path, content, keys))).message;

describe('a file that sops encrypted', () => {
  const files = sopsTestData.files.filter(
    ({ decrypted, encrypted }) => decrypted !== undefined && !/pgp/i.test(encrypted),
  );
  it.each(files.map((file) => [file.path, file] as const))('is decrypted as by sops: %s', async (path, file) => {
    const plain = await decryptedText(path, file.encrypted, testKeys('age'));
    const expected = file.decrypted ?? '';
    if (/\.(?:ya?ml|json)$/.test(path)) expect(parseYamlDocuments(plain)).toEqual(parseYamlDocuments(expected));
    else if (path.endsWith('.env')) expect(plain).toBe(expected.replace('# a comment\n', ''));
    else if (path.endsWith('.ini')) expect(plain.replaceAll(/ *= */g, '=')).toBe(expected.replaceAll(/ *= */g, '='));
    else expect(plain).toBe(expected);
    expect(plain).not.toMatch(/ENC\[|sops/);
  });

  it('stays as it is without keys in the project, and in a file of another program', async () => {
    const { encrypted } = sopsFile('secret.yaml');
    expect(await decryptedText('secret.yaml', encrypted, undefined)).toBe(encrypted);
    const text = 'kind: ConfigMap\ndata:\n  readme: |\n    sops writes ENC[AES256_GCM,data:x]\n';
    expect(await decryptedText('a.yaml', text, testKeys('age'))).toBe(text);
  });

  it('stays as it is if an operator decrypts it in the cluster', async () => {
    const text = sopsFile('regex.yaml').encrypted.replace('kind: Secret', 'kind: SopsSecret');
    expect(await decryptedText('regex.yaml', text, testKeys('age'))).toBe(text);
  });

  it('is decrypted between documents that are not encrypted', async () => {
    const plain = 'kind: ConfigMap\nmetadata: {name: a}\n---\n';
    const [first, second] = [sopsFile('regex.yaml').encrypted, sopsFile('mac-only.yaml').encrypted];
    const nested = `${'['.repeat(400)}${'[],'.repeat(20_000)}[]${']'.repeat(400)}`;
    const deep = `a: ${nested}\n---\n`;
    const result = await decryptedText('a.yaml', `${deep}${plain}${first}---\n${second}`, testKeys('age'));
    expect(parseYamlDocuments(result)).toHaveLength(4);
    expect(result.length).toBeLessThan(deep.length * 2);
    expect(result.match(/p4ss: word #1/g)).toHaveLength(2);
  });
});

describe('a file that cannot be decrypted', () => {
  const { encrypted } = sopsFile('regex.yaml');

  it('names its keys, and those of the Secret', async () => {
    const message = await refusal('app/regex.yaml', encrypted, testKeys('otherAge'));
    expect(message).toMatch(
      /^app\/regex\.yaml is encrypted by SOPS and cannot be decrypted: it is encrypted for the age key age1\w+, and Secret sops-keys has age1\w+$/,
    );
    expect(await refusal('a.yaml', encrypted, keysOf({}))).toContain('Secret sops-keys has no key of this kind');
  });

  it('shows no part of a key that cannot be read', async () => {
    const message = await refusal('a.yaml', encrypted, keysOf({ 'a.agekey': 'AGE-SECRET-KEY-1WRONG', 'b.asc': 'x' }));
    expect(message).toContain('Its key a.agekey has a line that is no age key');
    expect(message).not.toContain('WRONG');
  });

  it('gives the reason why the project has no usable keys', async () => {
    const problem = 'the annotation cannot be read';
    expect(await refusal('a.yaml', encrypted, { problem })).toContain(problem);
  });

  it.each([
    ['a changed value', /password: ENC\[AES256_GCM,data:(.)/, /stringData\.password: it was changed, moved/],
    ['a plain value that was edited', /(app): db/, /its MAC does not match/],
    ['a value that is missing', / {4}number: .*\n()/, /its MAC does not match/],
    ['a changed data key', /enc: \|\n[^]*?AGE ENCRYPTED FILE-----\n[^\n]*\n *(.)/, /age key age1\w+ is damaged/],
  ])('is refused with %s', async (_title, pattern, expected) => {
    const match = pattern.exec(encrypted);
    const found = match?.[0] ?? '';
    const [letter = ''] = (match?.[1] ?? '') || ' ';
    const changed = found.endsWith('\n') ? '' : `${found.slice(0, -1)}${letter === 'A' ? 'B' : 'A'}`;
    const text = encrypted.replace(found, () => changed);
    expect(text).not.toBe(encrypted);
    const message = await refusal('a.yaml', text, testKeys('age'));
    expect(message).toMatch(expected);
    expect(message).not.toContain('p4ss');
  });

  it('is refused with two values exchanged', async () => {
    const [a, b] = ['number', 'umlaut'].map((key) => new RegExp(`${key}: (.*)`).exec(encrypted)?.[1] ?? '');
    const text = encrypted
      .replace(a ?? '', '@')
      .replace(b ?? '', a ?? '')
      .replace('@', b ?? '');
    expect(await refusal('a.yaml', text, testKeys('age'))).toContain('was changed, moved');
  });

  it('is refused by name if it needs what only a plugin has', async () => {
    expect(await refusal('a.yaml', sopsFile('shamir.yaml').encrypted, testKeys('age', 'otherAge'))).toContain(
      'several key groups (Shamir)',
    );
    const kms = encrypted.replace(/ {4}age:\n[^]*?(?= {4}lastmodified)/, '    kms:\n        - arn: arn:aws:kms:x\n');
    expect(await refusal('a.yaml', kms, testKeys('age'))).toContain(
      'it is encrypted for AWS KMS arn:aws:kms:x: services need a config management plugin',
    );
    const comments = encrypted.replace('encrypted_regex:', 'encrypted_comment_regex:');
    expect(await refusal('a.yaml', comments, testKeys('age'))).toContain('it has encrypted_comment_regex');
  });

  it('names the file if gpg is not installed', async () => {
    const commands = {
      runCommand: ([program]: readonly string[]) =>
        Promise.reject(new CommandError('COMMAND_NOT_FOUND', `no ${program ?? ''}`)),
    };
    const { encrypted: pgp } = sopsFile('rsa.yaml');
    const message = (await failureOf(decryptedText('a.yaml', pgp, testKeys('rsa'), commands))).message;
    expect(message).toMatch(/^a\.yaml is encrypted by SOPS .* gpg is not installed/);
  });

  it('has a message of limited length, without control characters', async () => {
    const json = sopsFile('secret.json').encrypted;
    const long = 'x'.repeat(100_000);
    const changed = [
      json.replace('"recipient": "', () => `"recipient": "\\u001b[31m${long}`),
      json.replace('{', () => `{"\\u001b[31m${long}": "ENC[x]",`),
    ];
    for (const text of changed) {
      const message = await refusal('a.json', text, testKeys('age'));
      expect(message.length).toBeLessThan(5000);
      expect(message).not.toContain('\u001b');
    }
  });

  it('is refused if aliases multiply its values', async () => {
    const lists = [1, 2, 3, 4, 5].map((i) => `  l${i}: &l${i} [${`*l${i - 1}, `.repeat(8)}]\n`);
    const plain = `plain:\n  l0: &l0 [${'x, '.repeat(8)}]\n${lists.join('')}`;
    expect(await refusal('a.yaml', plain + encrypted, testKeys('age'))).toContain('more than 10000 values');
  });

  it('is refused if aliases multiply its bytes', async () => {
    const plain = `plain:\n- &text ${'x'.repeat(100_000)}\n- [${'*text, '.repeat(9000)}]\n`;
    for (const text of [plain + encrypted, `${plain}---\n${encrypted}`])
      expect(await refusal('a.yaml', text, testKeys('age'))).toContain('aliases make more than 4194304 bytes of it');
  });

  it('is refused if its empty values, or its keys, are too many to be printed', async () => {
    const json = sopsFile('secret.json').encrypted;
    const withMember = (name: string, value: string): string => json.replace('{', () => `{"${name}": ${value},`);
    const indented = `${'['.repeat(400)}${'[],'.repeat(12_000)}[]${']'.repeat(400)}`;
    const all: readonly (readonly [string, string])[] = [
      [withMember('a', `[${'null,'.repeat(12_000)}null]`), 'more than 10000 values'],
      [withMember('a', indented), 'more than 10000 values'],
      [withMember('k'.repeat(3_000_000), `[${'[],'.repeat(20)}[]]`), 'its keys are too long'],
    ];
    for (const [text, expected] of all) expect(await refusal('a.json', text, testKeys('age'))).toContain(expected);
  });

  it('is refused without delay if its names or its pattern would take long', async () => {
    const name = `sops_${'x__list_1__map_'.repeat(60_000)}-`;
    const settings = `${sopsFile('settings.env').encrypted}\n${name}=x\n`;
    expect(await decryptedText('a.env', settings, testKeys('age'))).toContain('two words');
    const pattern = encrypted.replace(/encrypted_regex: .*/, 'encrypted_regex: (x?){900}y');
    const keys = Array.from({ length: 300 }, (_, i) => `k${i}${'x'.repeat(100)}: a\n`).join('');
    expect(await refusal('a.yaml', `${keys}${pattern}`, testKeys('age'))).toContain('would take too long for its keys');
  });

  it('names the value whose random start is too long', async () => {
    const text = encrypted.replace(/(password: .*iv:)[^,]*/, `$1${'AAAA'.repeat(60)}`);
    expect(await refusal('a.yaml', text, testKeys('age'))).toContain(
      'its value at stringData.password: it was changed',
    );
  });

  it('is refused if it is too big to be read here', async () => {
    const big = `${encrypted}\n# ${'x'.repeat(256 * 1024)}\n`;
    expect(await refusal('a.yaml', big, testKeys('age'))).toMatch(/it has \d+ bytes, more than 262144/);
    const huge = `${encrypted}\n# ${'x'.repeat(4 * 1024 * 1024)}\n`;
    expect(await refusal('a.bin', huge, testKeys('age'))).toMatch(/it has \d+ bytes, more than 4194304/);
  });
});

/** The values of a text in their order: SOPS does not protect the names of plain values. */
function valuesIn(path: string, text: string): readonly unknown[] {
  if (/\.(?:env|ini)$/.test(path))
    return text
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => line.slice(line.indexOf('=') + 1).trim());
  return path.endsWith('.key') ? [text] : parseYamlDocuments(text).flatMap(leaves);
}

function leaves(value: Json): readonly Json[] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(leaves);
  return isObject(value) ? Object.values(value).flatMap((member) => leaves(member ?? null)) : [value];
}

describe('an encrypted file with one changed character', () => {
  it.each(['secret.yaml', 'regex.yaml', 'types.yaml', 'secret.json', 'settings.env', 'settings.ini', 'tls.key'])(
    'is refused, unless its values are the same: %s',
    async (path) => {
      const random = seededRandom(path.length);
      const { encrypted, decrypted = '' } = sopsFile(path);
      const expected = valuesIn(path, await decryptedText(path, encrypted, testKeys('age')));
      expect(expected).toHaveLength(valuesIn(path, decrypted).length);
      for (let i = 0; i < 40; i += 1) {
        const at = Math.floor(random.next() * encrypted.length);
        const changed = '\n :#A{["0'[Math.floor(random.next() * 9)] ?? '';
        const text = encrypted.slice(0, at) + changed + encrypted.slice(at + 1);
        const result = await decryptedText(path, text, testKeys('age')).catch((error: unknown) => error);
        if (typeof result !== 'string') expect(result).toBeInstanceOf(DecryptionFailed);
        // No file of SOPS any more: nothing was decrypted.
        else if (result !== text) expect(valuesIn(path, result)).toEqual(expected);
      }
    },
    30_000,
  );
});
