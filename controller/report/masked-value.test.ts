import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import { shownManifest, shownValue } from './masked-value.ts';

const canary = 'c4nary';

// T-SEC-1
describe('a value for display', () => {
  it.each<[string, Json, readonly string[]]>([
    ['a list named like a credential', { passwords: [canary] }, ['passwords']],
    ['an object named like a credential', { credentials: { user: canary } }, ['credentials']],
    ['objects in a list named like a credential', { tokens: [{ v: canary }] }, ['tokens', '0']],
    ['a list below an object named like a credential', { spec: { secret: { all: [canary] } } }, ['spec']],
    ['a short name', { MYSQL_PWD: canary }, ['MYSQL_PWD']],
    ['another short name', { DB_PASS: canary }, ['DB_PASS']],
    ['a custom kind with stringData', { spec: { stringData: { a: canary } } }, ['spec', 'stringData', 'a']],
    ['a YAML file', { data: { 'a.yaml': `user: me\npassword: ${canary}\n` } }, ['data', 'a.yaml']],
    ['a block of a YAML file', { data: { 'a.yaml': `db_password: |\n  ${canary}\n` } }, ['data', 'a.yaml']],
    ['a JSON file', { data: { 'a.json': `{"api_key": "${canary}"}` } }, ['data']],
    ['a properties file', { data: { 'a.ini': `db.password = ${canary}\n` } }, ['data', 'a.ini']],
    ['credentials of a registry', { data: { '.dockerconfigjson': `{"auths":{"r":{"auth":"${canary}"}}}` } }, ['data']],
    ['credentials of a registry in a file', { data: { c: `{"auths":{"r":{"auth":"${canary}"}}}` } }, ['data', 'c']],
    ['the argument after an option', { args: ['--password', canary] }, ['args']],
    ['the argument after an option, alone', { args: ['--password', canary] }, ['args', '1']],
    ['a variable', { env: [{ name: 'DB_PASSWORD', value: canary }] }, ['env']],
    [
      'an annotation that repeats a manifest',
      { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"p":"${canary}"}}` } },
      ['annotations'],
    ],
  ])('shows no credential: %s', (_what, object, path) => {
    expect(shownValue(object, path)).toMatchObject({ isMasked: true });
    expect(shownValue(object, path)?.text).not.toContain(canary);
  });

  it('hides numbers that are credentials, and keeps switches', () => {
    expect(shownValue({ token: 123456, password: true }, ['token'])?.text).toBe('"++++++++"');
    expect(shownValue({ token: 123456, password: true }, ['password'])?.text).toBe('true');
  });

  it.each<[Json, readonly string[], string]>([
    [{ volumes: [{ secret: { secretName: 'tls' } }] }, ['volumes', '0', 'secret', 'secretName'], '"tls"'],
    [
      { valueFrom: { secretKeyRef: { name: 'db', key: 'a' } } },
      ['valueFrom'],
      '{"secretKeyRef":{"name":"db","key":"a"}}',
    ],
    [{ data: { 'a.yaml': 'replicas: 3\nbypass: none' } }, ['data', 'a.yaml'], '"replicas: 3\\nbypass: none"'],
    [{ replicas: 3 }, ['replicas'], '3'],
    [{ generation: 9007199254740993n }, ['generation'], '9007199254740993'],
    [{ args: ['--port', '80'] }, ['args', '1'], '"80"'],
  ])('shows names of Secrets and plain values: %#', (object, path, text) => {
    expect(shownValue(object, path)).toEqual({ text, isMasked: false });
  });
});

describe('a manifest for display', () => {
  const metadata = { name: 'a', namespace: 'apps', managedFields: [{ manager: 'kubectl' }] };

  it('is YAML without bookkeeping and credentials', () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { size: '3', token: canary } };
    expect(shownManifest(object)).toBe(
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: apps\ndata:\n  size: '3'\n  token: ++++++++\n",
    );
  });

  it('ends with a whole line, of an object of a megabyte', () => {
    const data = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key-${i}`, 'x'.repeat(40)]));
    const text = shownManifest({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
    expect(text.length).toBeLessThan(8200);
    expect(text).toMatch(/\n {2}key-\d+: x{40}\n…\n$/);
  });
});
