import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { parseYamlDocuments, valueAt } from '#base';
import type { Json } from '#base';
import type { KubeObject, SourceDecryption } from '#model';
import { encryptedBySops } from '../testing/real-sops.ts';
import { failureOf, renderBench } from '../testing/repository.ts';
import type { RenderBench } from '../testing/repository.ts';
import { sopsFile, testKeys } from '../testing/sops-files.ts';
import { describeWithTool } from '../testing/with-tool.ts';

const password = 'p4ss: word #1';
const secret = sopsFile('regex.yaml').encrypted;
const other = sopsFile('rsa.yaml').encrypted;
const at = { path: 'app' };
const age = testKeys('age');

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench();
});
afterEach(() => bench.close());

const render = async (
  files: Readonly<Record<string, string>>,
  source: Parameters<RenderBench['render']>[1] = at,
  decryption: SourceDecryption | 'none' = age,
): Promise<readonly KubeObject[]> => {
  const made = await bench.render(bench.repository(files), source, decryption === 'none' ? {} : { decryption });
  return made.objects;
};
const at0 = (objects: readonly KubeObject[], ...path: readonly string[]): Json | undefined =>
  valueAt(objects[0] as unknown as Json, ...path);
const decoded = (value: Json | undefined): string =>
  Buffer.from(typeof value === 'string' ? value : '', 'base64').toString('utf8');

/** Whether a file below the folder contains the text. */
function isOnDisk(folder: string, text: string): boolean {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .some((path) => statSync(path).isFile() && readFileSync(path).includes(text));
}

describeWithTool('kustomize', 'an overlay with encrypted files', () => {
  it('gets resources, patches, files and variables decrypted, and no other file', async () => {
    const files = {
      'app/kustomization.yaml': `resources: [../base, secret.yaml]
patches: [{path: patch.yaml}]
secretGenerator:
- name: files
  files: [tls.key, settings.ini]
- name: variables
  envs: [settings.env]
generatorOptions: {disableNameSuffixHash: true}
`,
      'app/secret.yaml': secret,
      'app/patch.yaml': sopsFile('mac-only.yaml').encrypted,
      'app/tls.key': sopsFile('tls.key').encrypted,
      'app/settings.ini': sopsFile('settings.ini').encrypted,
      'app/settings.env': sopsFile('settings.env').encrypted,
      'app/unused.yaml': other,
      'base/kustomization.yaml': 'resources: [two.yaml]\n',
      'base/two.yaml': sopsFile('documents.yaml').encrypted,
    };
    const objects = await render(files);
    const byName = new Map(objects.map((object) => [object.metadata.name, object as unknown as Json]));
    expect([...byName.keys()].sort()).toEqual(['db', 'files', 'one', 'two', 'variables']);
    expect(valueAt(byName.get('db'), 'stringData', 'password')).toBe(password);
    expect(valueAt(byName.get('two'), 'stringData', 'a')).toBe('second');
    expect(decoded(valueAt(byName.get('files'), 'data', 'tls.key'))).toBe(sopsFile('tls.key').decrypted);
    expect(decoded(valueAt(byName.get('variables'), 'data', 'B'))).toBe('two words');
    expect(JSON.stringify(objects)).not.toMatch(/ENC\[|"sops/);
  });

  it('gets files of a permitted folder outside decrypted', async () => {
    const options = { kustomizeBuildOptions: '--load-restrictor LoadRestrictionsNone' };
    const made = await bench.render(
      bench.repository({ 'app/kustomization.yaml': 'resources: [../secret.yaml]\n', 'secret.yaml': secret }),
      at,
      { decryption: age, options: { ...options, kustomizeVersions: {}, valuesFileSchemes: [], enabledTypes: {} } },
    );
    expect(at0(made.objects, 'stringData', 'password')).toBe(password);
  });

  it('shows no decrypted value when kustomize fails', async () => {
    const plain = 'apiVersion: v1\nkind: Secret\nmetadata:\n    name: db\nstringData: {a: hidden-text}\n';
    const { encrypted } = encryptedBySops({ 'patch.yaml': plain.replace('name: db', 'nome: hidden-name-x') });
    const { message } = await failureOf(
      render({
        'app/kustomization.yaml': 'resources: [a.yaml]\npatches: [{path: patch.yaml}]\n',
        'app/a.yaml': plain,
        'app/patch.yaml': encrypted['patch.yaml'] ?? '',
      }),
    );
    expect(message).toMatch(/kustomize build/);
    expect(message).not.toMatch(/hidden-(?:text|name)/);
  });
});

describeWithTool('kustomize', 'an overlay with an encrypted configuration', () => {
  const generator = `apiVersion: builtin
kind: SecretGenerator
metadata: {name: a}
files: ["b=http://127.0.0.1:9/x"]
`;
  it.each([
    ['a file', 'g.yaml', 'app/g.yaml'],
    ['a directory', 'g', 'app/g/g.yaml'],
  ])('is refused, because its paths could not be checked: %s', async (_title, entry, path) => {
    const { encrypted } = encryptedBySops({ 'g.yaml': generator });
    const files = {
      'app/kustomization.yaml': `generators: [${entry}]\n`,
      'app/g/kustomization.yaml': 'resources: [g.yaml]\n',
      [path]: encrypted['g.yaml'] ?? '',
    };
    const { message } = await failureOf(render(files));
    expect(message).toContain(`${path} is encrypted by SOPS, which is refused for a configuration of kustomize`);
    // The name of a member of YAML may be written in other ways.
    const hidden = { ...files, [path]: files[path]?.replace('\nsops:', '\n"sop\\u0073":') ?? '' };
    expect((await failureOf(render(hidden))).message).toContain('refused for a configuration');
  });
});

describeWithTool('helm', 'a chart with encrypted values', () => {
  const chart = {
    'app/Chart.yaml': 'apiVersion: v2\nname: app\nversion: 1.0.0\n',
    'app/templates/a.yaml': `apiVersion: v1
kind: Secret
metadata: {name: a}
stringData:
  password: {{ .Values.stringData.password | quote }}
  other: {{ .Files.Get "secrets.prod.yaml" | quote }}
`,
    'app/secrets.yaml': secret,
    'app/secrets.prod.yaml': other,
  };
  const helm = { valueFiles: ['secrets.yaml'] };

  it('gets only the files that options name decrypted', async () => {
    const objects = await render(chart, { ...at, helm });
    expect(at0(objects, 'stringData', 'password')).toBe(password);
    expect(at0(objects, 'stringData', 'other')).toContain('ENC[AES256_GCM');
    const { message } = await failureOf(render(chart, { ...at, helm: { valueFiles: ['secrets.prod.yaml'] } }));
    expect(message).toMatch(/^app\/secrets\.prod\.yaml is encrypted by SOPS .* for the PGP key/);
  });

  it('gets file parameters decrypted, also through a link', async () => {
    const repository = bench.repository({
      ...chart,
      'app/templates/a.yaml': 'kind: A\napiVersion: v1\nmetadata: {name: a}\ndata: {{ .Values.key | quote }}\n',
      'keys/tls.key': sopsFile('tls.key').encrypted,
    });
    repository.link('app/tls.key', '../keys/tls.key');
    const source = { ...at, helm: { fileParameters: [{ name: 'key', path: 'tls.key' }] } };
    const made = await bench.render(repository, source, { decryption: age });
    expect(at0(made.objects, 'data')).toContain('binary');
  });

  it('is refused without keys in the project: the password would become ciphertext', async () => {
    const { message } = await failureOf(render(chart, { ...at, helm }, 'none'));
    expect(message).toMatch(/^app\/secrets\.yaml is encrypted by SOPS .* no keys are configured for the project/);
  });

  it('has its own values decrypted too', async () => {
    const objects = await render({ ...chart, 'app/values.yaml': secret, 'app/secrets.yaml': '' }, at);
    expect(at0(objects, 'stringData', 'password')).toBe(password);
    const linked = bench.repository({ ...chart, 'app/secrets.yaml': '', 'shared/db.yaml': secret });
    linked.link('app/values.yaml', '../shared/db.yaml');
    const made = await bench.render(linked, at, { decryption: age });
    expect(at0(made.objects, 'stringData', 'password')).toBe(password);
    expect((await failureOf(bench.render(linked, at))).message).toMatch(/^shared\/db\.yaml is encrypted by SOPS/);
  });

  it('shows no decrypted value when a template fails', async () => {
    const failing = '{{ fail (printf "%q %s %s" .Values.stringData.password (b64enc .Values.stringData.text) "x") }}\n';
    const files = { ...chart, 'app/templates/a.yaml': failing };
    const { message } = await failureOf(render(files, { ...at, helm }));
    expect(message).toContain('execution error at (app/templates/a.yaml');
    expect(message).not.toMatch(/p4ss|Zmlyc3Q|first line/);
    const lines = encryptedBySops({ 'secrets.yaml': 'settings: |\n  user: me\n  pw: hidden\n' }).encrypted;
    const whole = { ...chart, 'app/templates/a.yaml': '{{ fail (toYaml .Values) }}\n' };
    const shown = await failureOf(
      render({ ...whole, 'app/secrets.yaml': lines['secrets.yaml'] ?? '' }, { ...at, helm }),
    );
    expect(shown.message).toContain('settings: |');
    expect(shown.message).not.toContain('hidden');
  });
});

describeWithTool('jsonnet', 'a program that imports encrypted files', () => {
  it('gets them decrypted', async () => {
    const files = {
      'app/a.jsonnet':
        'local s = import "lib/s.json"; {apiVersion: "v1", kind: "A", metadata: {name: s.stringData.c}}\n',
      'app/lib/s.json': sopsFile('secret.json').encrypted,
    };
    expect(at0(await render(files), 'metadata', 'name')).toBe('1');
  });

  it('is refused if the encrypted files are programs that import others', async () => {
    const { encrypted } = encryptedBySops({
      'a.jsonnet': '{apiVersion: "v1", kind: "A", metadata: {name: std.md5(importstr "/etc/hostname")}}\n',
    });
    const program = encrypted['a.jsonnet'] ?? '';
    const expected = 'is encrypted by SOPS and imports other files, which is refused';
    expect((await failureOf(render({ 'app/a.jsonnet': program }))).message).toContain(`app/a.jsonnet ${expected}`);
    const repository = bench.repository({ 'app/a.jsonnet': '(import "b.libsonnet")\n', 'lib/b': program });
    repository.link('app/b.libsonnet', '../lib/b');
    const { message } = await failureOf(bench.render(repository, at, { decryption: age }));
    expect(message).toContain(`lib/b ${expected}`);
  });
});

describeWithTool('kustomize', 'decrypted manifests', () => {
  it('are kept in memory and not on disk, and plain ones on disk', async () => {
    const repository = bench.repository({
      'app/a.yaml': secret,
      'plain/a.yaml': 'apiVersion: v1\nkind: A\nmetadata: {name: a}\n',
    });
    for (let i = 0; i < 2; i += 1) await bench.render(repository, at, { decryption: age });
    await bench.render(repository, { path: 'plain' }, { decryption: age });
    expect(isOnDisk(bench.root, 'p4ss')).toBe(false);
    expect(readdirSync(join(bench.root, 'cache', 'rendered'), { recursive: true }).length).toBeGreaterThan(0);
  });
});

describeWithTool('sops', 'random files', () => {
  it('are decrypted as by sops', async () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
    const scalars = [
      'x',
      '',
      'a: b',
      '- c',
      '#d',
      '1',
      'yes',
      'line\nline\n',
      ' x ',
      '"q"',
      "'",
      '☃',
      '0x1',
      '~',
      'a\tb',
    ];
    const value = (depth: number): unknown => {
      const kind = random(depth > 3 ? 5 : 8);
      if (kind < 2) return scalars[random(scalars.length)];
      if (kind === 2) return random(1_000_000) - 500_000;
      if (kind === 3) return random(1000) / 8;
      if (kind === 4) return [true, false, null][random(3)];
      const members = Array.from({ length: random(4) }, () => value(depth + 1));
      return kind === 5 ? members : Object.fromEntries(members.map((one, i) => [`k${'abc'[i % 3]}${i}`, one]));
    };
    const names = Array.from({ length: 20 }, (_, i) => `${i}.${i % 2 === 0 ? 'yaml' : 'json'}`);
    const plain = Object.fromEntries(
      names.map((name) => [name, JSON.stringify({ a: value(0), b: value(1), c: 'end' })]),
    );
    const { encrypted, decrypted } = encryptedBySops(plain);
    for (const name of names) {
      const files = { 'app/kustomization.yaml': `configMapGenerator: [{name: a, files: [${name}]}]\n` };
      const objects = await render({ ...files, [`app/${name}`]: encrypted[name] ?? '' });
      const made = at0(objects, 'data', name);
      expect(parseYamlDocuments(typeof made === 'string' ? made : '')).toEqual(
        parseYamlDocuments(decrypted[name] ?? ''),
      );
    }
  });
});
