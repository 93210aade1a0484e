import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, valueAt } from '#base';
import type { Json } from '#base';
import type { KubeObject, SourceDecryption } from '#model';
import { failureOf, renderBench } from '../testing/repository.ts';
import type { RenderBench, TestRepository } from '../testing/repository.ts';
import { keysOf, sopsFile, sopsTestData, testKeys } from '../testing/sops-files.ts';
import { refuseEncrypted } from './file-decryption.ts';

const secret = sopsFile('regex.yaml').encrypted;
const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n';
const refused = /^the Secret "db" is encrypted by SOPS and not applied: no keys are configured for the project/;

let bench: RenderBench;
let repository: TestRepository;
beforeEach(() => {
  bench = renderBench();
  repository = bench.repository({ 'a.yaml': configMap, 'secret.yaml': secret });
});
afterEach(() => bench.close());

const password = async (decryption?: SourceDecryption): Promise<Json | undefined> => {
  const more = decryption === undefined ? {} : { decryption };
  const { objects } = await bench.render(repository, { path: '.' }, more);
  return valueAt(objects[1] as unknown as Json, 'stringData', 'password');
};

describe('a directory with an encrypted manifest', () => {
  it('is rendered with the keys of its project, without the metadata', async () => {
    const { objects } = await bench.render(repository, { path: '.' }, { decryption: testKeys('age') });
    expect(objects.map(({ kind }) => kind)).toEqual(['ConfigMap', 'Secret']);
    expect(objects[1]).not.toHaveProperty('sops');
    expect(valueAt(objects[1] as unknown as Json, 'metadata', 'labels', 'app')).toBe('db');
  });

  it('is refused as a whole without keys, with the way out', async () => {
    const { message } = await failureOf(password());
    expect(message).toMatch(refused);
    expect(message).toContain('driftless.io/decryption');
  });

  it('is refused without keys as an item of a list, whose metadata is lost', async () => {
    const metadata = secret.slice(secret.indexOf('sops:'));
    const item = secret.replace(metadata, '').trimEnd().replaceAll('\n', '\n  ');
    repository.commit({ 'secret.yaml': `apiVersion: v1\nkind: List\nitems:\n- ${item}\n${metadata}` });
    expect((await failureOf(password())).message).toMatch(refused);
  });

  it('leaves out a file with the marker of Argo CD, which decryption would lose', async () => {
    repository.commit({ 'secret.yaml': `# +argocd:skip-file-rendering\n${secret}` });
    for (const more of [{}, { decryption: testKeys('age') }, { decryption: testKeys('otherAge') }]) {
      const { objects } = await bench.render(repository, { path: '.' }, more);
      expect(objects.map(({ kind }) => kind)).toEqual(['ConfigMap']);
    }
  });

  it('has nothing of one project in another, whose keys differ or are missing', async () => {
    expect(await password(testKeys('age'))).toBe('p4ss: word #1');
    expect((await failureOf(password())).message).toMatch(refused);
    expect((await failureOf(password(testKeys('otherAge')))).message).toContain('Secret sops-keys has age1');
    expect((await failureOf(password({ problem: 'no such Secret' }))).message).toContain('no such Secret');
  });

  it('is rendered again when keys change: a key that was removed decrypts nothing', async () => {
    const both = keysOf({ 'a.agekey': `# made\n${sopsTestData.keys.otherAge}\n${sopsTestData.keys.age}\n` });
    expect(await password(both)).toBe('p4ss: word #1');
    const one = keysOf({ 'a.agekey': sopsTestData.keys.otherAge });
    for (let i = 0; i < 2; i += 1)
      expect((await failureOf(password(one))).message).toMatch(
        /^(?:Manifest generation error \(cached\): )?secret\.yaml/,
      );
    expect(await password(testKeys('age'))).toBe('p4ss: word #1');
  });

  it('shows no key in the text of a request', () => {
    const decryption = testKeys('age', 'rsa');
    expect(JSON.stringify(decryption)).not.toMatch(/AGE-SECRET|PRIVATE/);
    expect(decryption.entries['age.agekey']).toBeInstanceOf(SecretValue);
  });
});

it('keeps objects that an operator decrypts in the cluster', async () => {
  const operated = secret.replace('kind: Secret', 'kind: SopsSecret');
  const sources = bench.repository({ 'a.yaml': operated });
  for (const more of [{}, { decryption: testKeys('age') }]) {
    const { objects } = await bench.render(sources, { path: '.' }, more);
    expect(objects[0]).toHaveProperty('sops');
  }
});

it('refuses what a plugin or a repo-server left encrypted', () => {
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, sops: { mac: 'ENC[x]' } };
  const refuse = (one: object, decryption?: SourceDecryption): void => refuseEncrypted([one as KubeObject], decryption);
  expect(() => refuse(object)).toThrow('no keys are configured');
  expect(() => refuse(object, testKeys('age'))).toThrow('only files that the source names are decrypted');
  const plain = { ...object, sops: { enabled: true } };
  expect(() => refuse(plain)).not.toThrow();
  const value = /ENC\[[^\]]*\]/.exec(secret)?.[0] ?? '';
  expect(() => refuse({ ...plain, stringData: { a: value } })).toThrow('no keys are configured');
  expect(() => refuse({ ...plain, data: { b: '', a: Buffer.from(value).toString('base64') } })).toThrow('no keys');
  expect(() => refuse({ ...plain, stringData: { file: secret, text: `see ${value}` } })).not.toThrow();
  expect(() => refuse({ ...plain, kind: 'ConfigMap', data: { a: value } })).not.toThrow();
});
