// Writes desired/decrypt/testdata/sops-files.json: files that the real sops encrypted and decrypted,
// with keys made for it. Needs sops (npm run e2e:setup) and gpg.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { provideTools } from './e2e/provide.mjs';
import { tools } from './e2e/tools.mjs';
import { root } from './root.mjs';

const [sops] = (
  await provideTools(
    tools.filter(({ name }) => name === 'sops'),
    console.log,
  )
).found;
const folder = mkdtempSync(join(tmpdir(), 'sops-'));
const identity = await generateX25519Identity();
const env = { ...process.env, GNUPGHOME: folder, SOPS_AGE_KEY: identity };
const gpg = (...args) => execFileSync('gpg', ['--batch', '--quiet', ...args], { env, encoding: 'utf8' });
const other = await generateX25519Identity();
const age = await identityToRecipient(identity);
const make = (name, algorithm) => {
  gpg('--passphrase', '', '--quick-generate-key', `${name} <${name}@example.com>`, algorithm, 'default', 'never');
  const listed = gpg('--with-colons', '--list-secret-keys', name);
  const fingerprint = listed
    .split('\n')
    .find((line) => line.startsWith('fpr'))
    .split(':')[9];
  if (algorithm.startsWith('rsa')) gpg('--passphrase', '', '--quick-add-key', fingerprint, algorithm, 'encr', 'never');
  return { fingerprint, key: gpg('--armor', '--export-secret-keys', name) };
};

const secret = `# a comment
apiVersion: v1
kind: Secret
metadata:
    name: db
    labels:
        app: db
type: Opaque
stringData:
    # the password
    password: "p4ss: word #1"
    empty: ""
    number: "5432"
    text: |
        first line
        second line
    umlaut: "für Ä ∑"
`;
const types = `int: 42
negative: -7
big: 9007199254740993
float: 1.5
small: 1.0e-7
huge: 1.0e+22
exact: 3.0
"true": true
"no": false
nothing: null
date: 2026-01-02T03:04:05Z
list:
    - one
    - 2
    - # a comment in a list
      a: b
    - [x, [y]]
empty_list: []
empty_map: {}
plain_unencrypted: "stays 1"
deep:
    a:
        b:
            c: end
`;
const documents = `apiVersion: v1
kind: Secret
metadata:
    name: one
stringData:
    a: first
---
apiVersion: v1
kind: Secret
metadata:
    name: two
stringData:
    a: second
`;
const json = `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "j"}, "stringData": {"a": "b\\n", "c": "1"}, "n": [1, 2.5, true, null, "x"]}`;
const only = ['--encrypted-regex', '^(data|stringData)$'];
const files = [
  { path: 'secret.yaml', plain: secret },
  { path: 'regex.yaml', plain: secret, args: only },
  { path: 'mac-only.yaml', plain: secret, args: [...only, '--mac-only-encrypted'] },
  { path: 'suffix.yaml', plain: 'a_secret: x\nb: y\nc:\n    d_secret: z\n', args: ['--encrypted-suffix', '_secret'] },
  { path: 'unencrypted-regex.yaml', plain: secret, args: ['--unencrypted-regex', '^(apiVersion|kind|metadata|type)$'] },
  { path: 'types.yaml', plain: types },
  { path: 'documents.yaml', plain: documents, args: only },
  { path: 'secret.json', plain: json },
  { path: 'settings.env', plain: 'A=1\n# a comment\nB=two words\nC=x=y\nD=line\\nline\nE_unencrypted=plain\n' },
  { path: 'settings.ini', plain: '[db]\nuser = admin\npassword = s3cr=t\n\n[other]\nkey = "a b"\n' },
  { path: 'tls.key', plain: '-----BEGIN X-----\n\u0000\u0001binary\n' },
  { path: 'rsa.yaml', plain: secret, pgp: 'rsa' },
  { path: 'curve.yaml', plain: secret, pgp: 'curve' },
  { path: 'both.yaml', plain: secret, pgp: 'rsa', age: true },
  { path: 'shamir.yaml', plain: secret, args: ['--age', await identityToRecipient(other)], groups: true },
];

try {
  const pgp = { rsa: make('rsa', 'rsa3072'), curve: make('curve', 'future-default') };
  const recorded = files.map(({ path, plain, args = [], pgp: key, age: both = key === undefined, groups }) => {
    const at = join(folder, path);
    writeFileSync(at, plain);
    const recipients = [...(both ? ['--age', age] : []), ...(key === undefined ? [] : ['--pgp', pgp[key].fingerprint])];
    const run = (...more) => execFileSync(sops.path, [...more, at], { env, encoding: 'utf8' });
    if (groups !== true) {
      const encrypted = run('--encrypt', ...recipients, ...args);
      writeFileSync(at, encrypted);
      return { path, encrypted, decrypted: run('--decrypt') };
    }
    const config = join(folder, '.sops.yaml');
    const group = (recipient) => `      - age: [${recipient}]\n`;
    writeFileSync(config, `creation_rules:\n  - shamir_threshold: 2\n    key_groups:\n${group(age)}${group(args[1])}`);
    return { path, encrypted: run('--config', config, '--encrypt') };
  });
  const keys = { age: identity, otherAge: other, rsa: pgp.rsa.key, curve: pgp.curve.key };
  const target = join(root, 'desired/decrypt/testdata/sops-files.json');
  writeFileSync(target, `${JSON.stringify({ sops: sops.version, keys, files: recorded }, null, 2)}\n`);
  console.log(`${recorded.length} files of sops ${sops.version} in ${target}`);
} finally {
  execFileSync('gpgconf', ['--homedir', folder, '--kill', 'gpg-agent']);
  rmSync(folder, { recursive: true, force: true });
}
