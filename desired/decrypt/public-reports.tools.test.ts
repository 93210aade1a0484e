import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { parseYamlDocuments, valueAt } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { encryptedBySops } from '../testing/real-sops.ts';
import { failureOf, renderBench } from '../testing/repository.ts';
import type { RenderBench } from '../testing/repository.ts';
import { testKeys } from '../testing/sops-files.ts';
import { describeWithTool, itWithTool } from '../testing/with-tool.ts';

const decryption = testKeys('age');
const forSecrets = ['--encrypted-regex', '^(data|stringData)$'];

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench();
});
afterEach(() => bench.close());

async function render(files: Readonly<Record<string, string>>): Promise<readonly KubeObject[]> {
  const made = await bench.render(bench.repository(files), { path: 'app' }, { decryption });
  return made.objects;
}

const secret = (stringData: string): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: ${stringData}\n`;
const encryptedFile = (name: string, text: string, options = forSecrets): string =>
  encryptedBySops({ [name]: text }, options).encrypted[name] ?? '';
const valuesOf = (objects: readonly KubeObject[]): Json | undefined =>
  valueAt(objects[0] as unknown as Json, 'stringData');
const generated = (objects: readonly KubeObject[], key: string): string => {
  const value = valueAt(objects[0] as unknown as Json, 'data', key);
  return Buffer.from(typeof value === 'string' ? value : '', 'base64').toString('utf8');
};

// Each title has the public report that it tries.
describeWithTool('sops', 'files that the real sops encrypted', () => {
  itWithTool('kustomize', 'are variables of a generator (kustomize-controller 1271, flux2 2671)', async () => {
    const objects = await render({
      'app/kustomization.yaml': 'secretGenerator: [{name: a, envs: [podinfo.env]}]\n',
      'app/podinfo.env': encryptedFile('podinfo.env', 'ROUTER_PASSWORD=admin\nDB_PASSWORD=x=y\n', []),
    });
    expect([generated(objects, 'ROUTER_PASSWORD'), generated(objects, 'DB_PASSWORD')]).toEqual(['admin', 'x=y']);
  });

  itWithTool(
    'kustomize',
    'are a base and its patch, each decrypted once (kustomize-controller 1371, 1382)',
    async () => {
      const objects = await render({
        'app/kustomization.yaml': 'resources: [../base]\npatches: [{path: patch.yaml}]\n',
        'app/patch.yaml': encryptedFile('patch.yaml', secret('{token: glagent-1}')),
        'base/kustomization.yaml': 'resources: [secret.yaml]\n',
        'base/secret.yaml': encryptedFile('secret.yaml', secret('{token: "", user: u}')),
      });
      expect(valuesOf(objects)).toEqual({ token: 'glagent-1', user: 'u' });
    },
  );

  itWithTool('kustomize', 'are JSON that was encrypted as a whole (kustomize-controller 421)', async () => {
    const realm = '{\n  "id": "example",\n  "notBefore": 0\n}\n';
    const objects = await render({
      'app/kustomization.yaml': 'secretGenerator: [{name: a, files: [realm.json=realm.json.encrypted]}]\n',
      'app/realm.json.encrypted': encryptedFile('realm.json.encrypted', realm, ['--input-type', 'binary']),
    });
    expect(generated(objects, 'realm.json')).toBe(realm);
  });

  it('may stand beside plain documents (sops 1058)', async () => {
    const plain = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {a: b}\n';
    const objects = await render({ 'app/a.yaml': `${encryptedFile('a.yaml', secret('{a: hidden}'))}---\n${plain}` });
    expect(objects.map(({ kind }) => kind)).toEqual(['Secret', 'ConfigMap']);
    expect(valuesOf(objects)).toEqual({ a: 'hidden' });
  });

  it('may have other plain values with mac_only_encrypted, and no other encrypted ones (sops 1512)', async () => {
    const text = encryptedFile('a.yaml', secret('{a: hidden, b: also}'), [...forSecrets, '--mac-only-encrypted']);
    const objects = await render({ 'app/a.yaml': text.replace('name: db', 'name: renamed') });
    expect([objects[0]?.metadata.name, valuesOf(objects)]).toEqual(['renamed', { a: 'hidden', b: 'also' }]);
    const without = text.replace(/\n {4}b: ENC.*/, '');
    expect(without).not.toBe(text);
    expect((await failureOf(render({ 'app/a.yaml': without }))).message).toContain('its MAC does not match');
  });

  it('may have comments on items of lists (sops 2243)', async () => {
    const text = 'apiVersion: v1\nkind: A\nmetadata: {name: a}\ndata:\n  items:\n    # - one\n    - two\n';
    const objects = await render({ 'app/a.yaml': encryptedFile('a.yaml', text) });
    expect(valueAt(objects[0] as unknown as Json, 'data', 'items')).toEqual(['two']);
  });

  it('with fields in another order are refused (sops 833)', async () => {
    const text = encryptedFile('a.yaml', secret('{a: first, b: second}'));
    const swapped = text.replace(/( {4}a: ENC.*\n)( {4}b: ENC.*\n)/, '$2$1');
    expect(swapped).not.toBe(text);
    expect((await failureOf(render({ 'app/a.yaml': swapped }))).message).toContain('its MAC does not match');
  });

  it('do not protect nulls, as in sops itself (sops 828)', async () => {
    const text = encryptedFile('a.yaml', secret('{a: hidden}'));
    const objects = await render({ 'app/a.yaml': text.replace('stringData:', 'immutable: null\nstringData:') });
    expect(valuesOf(objects)).toEqual({ a: 'hidden' });
  });

  it('with encrypted comments are refused by name (sops 2281)', async () => {
    const text = '# sops:enc\napiVersion: v1\nkind: A\nmetadata: {name: a}\n';
    const encrypted = encryptedFile('a.yaml', text, ['--encrypted-comment-regex', 'sops:enc']);
    expect((await failureOf(render({ 'app/a.yaml': encrypted }))).message).toContain('encrypted_comment_regex');
  });

  it('are plain manifests of a folder (argo-cd 3990)', async () => {
    const value = '{number: "0123", multi: "a\\nb\\n", empty: ""}';
    const objects = await render({ 'app/a.yaml': encryptedFile('a.yaml', secret(value)) });
    expect(valuesOf(objects)).toEqual(parseYamlDocuments(value)[0]);
  });
});
