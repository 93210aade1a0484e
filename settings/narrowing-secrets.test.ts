import { describe, expect, it } from '@jest/globals';
import { annotations, inClusterServer } from '#model';
import { configShape } from './cluster-config.ts';
import { vacancyMs } from './cluster-secrets.ts';
import { clusterKeys } from './clusters.ts';
import { repositoryKeys } from './repositories.ts';
import { FakeHub } from './testing/fake-hub.ts';
import { isNoWider, put, seen, start, url } from './testing/tried-secret.ts';
import type { RunningStore, TriedSecret } from './testing/tried-secret.ts';
import { isSameValue } from './values.ts';

type Data = Readonly<Record<string, string>>;

/** One key of a Secret, beside the others of a whole Secret. */
interface SecretRow extends TriedSecret {
  readonly key: string;
  /** Texts of the key that cannot be read. */
  readonly unreadable: readonly string[];
}

const pem = (kind: string): string => Buffer.from(`-----BEGIN ${kind}-----\n`).toString('base64');

const otherServer = { server: 'https://a', name: 'a', config: '{"bearerToken":"limited"}' };
const ownCluster = { server: inClusterServer, name: 'own', config: '{"bearerToken":"limited"}' };
const clusterRow = (key: string, data: Data, unreadable: readonly string[]): SecretRow => ({
  type: 'cluster',
  key,
  narrow: { ...ownCluster, ...data },
  unreadable,
});

/** Values of another type for each member of `config`. */
function configRows(shape: object, path: readonly string[], valid: object): readonly SecretRow[] {
  const nest = (value: unknown): string =>
    JSON.stringify({
      bearerToken: 'limited',
      ...(path.reduceRight((inner, name) => ({ [name]: inner }), value) as object),
    });
  return Object.entries(shape).flatMap(([name, member]: [string, unknown]) => {
    const others = [5, 'text', true, ['a'], { a: 'b' }, [5], { a: 5 }].filter((value) => !isValid(member, value));
    const unreadable = [...others.map((value) => nest({ [name]: value })), nest({ [name.toUpperCase()]: 'x' })];
    const row = { ...clusterRow(`config.${[...path, name].join('.')}`, {}, unreadable) };
    return typeof member === 'object' && member !== null ? [row, ...configRows(member, [...path, name], valid)] : [row];
  });
}

function isValid(shape: unknown, value: unknown): boolean {
  if (shape === 'text') return typeof value === 'string';
  if (shape === 'switch') return typeof value === 'boolean';
  const isText = (one: unknown): boolean => typeof one === 'string';
  if (shape === 'texts') return Array.isArray(value) && value.every(isText);
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (shape === 'map of texts') return isMap && Object.values(value).every(isText);
  return isMap && !Object.hasOwn(value, 'a');
}

const clusterRows: readonly SecretRow[] = [
  clusterRow('server', {}, ['', '  ', '\n']),
  clusterRow('name', {}, []),
  clusterRow('namespaces', { namespaces: 'red' }, [',', ' ', ' , ,', '\n']),
  clusterRow('clusterResources', { namespaces: 'red', clusterResources: 'false' }, [
    'True',
    'TRUE',
    '1',
    'yes',
    'true\n',
  ]),
  clusterRow('project', { project: 'team' }, []),
  clusterRow('shard', { shard: '1' }, ['one', '1.5', ' 1']),
  clusterRow('config', {}, [
    '{',
    '[]',
    'text',
    '{"bearerToken":"limited"',
    '{"proxyUrl":"ftp://x"}',
    '{"proxyUrl":"x"}',
  ]),
  ...configRows(configShape, [], {}),
  {
    ...clusterRow('config.tlsClientConfig', {}, []),
    narrow: { ...otherServer, config: JSON.stringify({ tlsClientConfig: { caData: pem('CERTIFICATE') } }) },
    unreadable: [
      JSON.stringify({ tlsClientConfig: { caData: 'no PEM' } }),
      JSON.stringify({ tlsClientConfig: { caData: pem('CERTIFICATE'), insecure: true } }),
      JSON.stringify({ tlsClientConfig: { certData: pem('CERTIFICATE') } }),
      JSON.stringify({ tlsClientConfig: [] }),
    ],
  },
  {
    ...clusterRow('@skip-reconcile', {}, ['True ', 'yes', 'ture', 'on']),
    marks: { [annotations.skipReconcile]: 'true' },
  },
];

const full: Data = {
  url,
  type: 'git',
  name: 'app',
  project: 'team',
  proxy: 'http://proxy:1',
  noProxy: 'none.example.com',
  username: 'u',
  password: 'p',
  enableLfs: 'true',
  insecure: 'false',
};
const badTexts: Readonly<Record<string, readonly string[]>> = {
  url: [''],
  type: ['svn', 'Git', 'git\n'],
};
const isSwitch = (key: string): boolean => /^(insecure|enable|force|useAzure)/.test(key);
const repositoryRows = (['repository', 'repo-creds', 'repository-write', 'repo-write-creds'] as const).flatMap((type) =>
  repositoryKeys.map((key): SecretRow => ({
    type,
    key,
    narrow: { ...full, [key]: full[key] ?? (isSwitch(key) ? 'false' : 'x') },
    unreadable: badTexts[key] ?? (isSwitch(key) ? ['maybe', 'yes', 'true\n'] : []),
  })),
);

const rows = [...clusterRows, ...repositoryRows];

interface SecretFault {
  readonly title: string;
  readonly act: (hub: FakeHub) => void;
  /** A replica that starts then takes it for an edit: a deletion, and a Secret without a URL. */
  readonly isEdit: boolean;
}

function faultsOf(row: SecretRow): readonly SecretFault[] {
  const { key, narrow, unreadable, type } = row;
  const field = key.split('.')[0] ?? '';
  const encoded = Object.fromEntries(Object.entries(narrow).map(([name, text]) => [name, btoa(text)]));
  const isNamed = type === 'cluster';
  const fault = (title: string, act: (hub: FakeHub) => void, isEdit = false): SecretFault => ({ title, act, isEdit });
  if (key.startsWith('@'))
    return unreadable.map((text) =>
      fault(JSON.stringify(text), (hub) => put(hub, { ...row, marks: { [annotations.skipReconcile]: text } }, narrow)),
    );
  const raw =
    (value: unknown): SecretFault['act'] =>
    (hub) =>
      put(hub, row, {}, { data: { ...encoded, [field]: value } });
  const whole = [
    fault('emptied', (hub) => put(hub, row, {}), !isNamed),
    fault('without data', (hub) => put(hub, row, {}, { data: undefined }), !isNamed),
    fault('data of another type', (hub) => put(hub, row, {}, { data: 'text' }), !isNamed),
    fault('deleted', (hub) => hub.remove('Secret', 's'), true),
    fault(
      'of another type',
      (hub) => put(hub, { ...row, type: type === 'cluster' ? 'repository' : 'cluster' }, narrow),
      true,
    ),
  ];
  return [
    ...unreadable.map((text) =>
      fault(JSON.stringify(text), (hub) => put(hub, row, { ...narrow, [field]: text }), key === 'url'),
    ),
    ...[5, {}, '/w==', '%%%'].map((value) => fault(`raw ${JSON.stringify(value)}`, raw(value), key === 'url')),
    ...(key === 'url' || isNamed ? whole : []),
  ];
}

const combinations = rows.flatMap((row) => faultsOf(row).map((fault) => [row, fault] as const));

describe('a key of a Secret that narrows what is written', () => {
  it('has a row here for each key that is read', () => {
    const tested = new Set(rows.map(({ type, key }) => `${type} ${key}`));
    const leaves = (shape: object, path: string): readonly string[] =>
      Object.entries(shape).flatMap(([name, member]: [string, unknown]) => [
        `${path}.${name}`,
        ...(typeof member === 'object' && member !== null ? leaves(member, `${path}.${name}`) : []),
      ]);
    for (const key of [...clusterKeys, ...leaves(configShape, 'config')]) expect(tested).toContain(`cluster ${key}`);
    for (const type of ['repository', 'repo-creds', 'repository-write', 'repo-write-creds'])
      for (const key of repositoryKeys) expect(tested).toContain(`${type} ${key}`);
  });

  it(`never permits more (${combinations.length} faults, at run time, at a hand-over and after a restart)`, async () => {
    const wider: string[] = [];
    for (const [row, fault] of combinations) {
      const hub = new FakeHub();
      put(hub, row, row.narrow);
      const first = await start(hub);
      const before = seen(first.store, row);
      const check = (when: string, { store }: RunningStore): void => {
        if (!isNoWider(before, seen(store, row))) wider.push(`${row.type} ${row.key} ${fault.title} ${when}`);
      };
      fault.act(hub);
      await first.clock.settle();
      check('at run time', first);
      if (!isSameValue(before, seen(first.store, row)) && first.store.problems().length === 0 && !fault.isEdit)
        wider.push(`${row.type} ${row.key} ${fault.title}: no problem is reported`);
      const second = await start(hub);
      if (!fault.isEdit) check('at a hand-over', second);
      await first.stop();
      const restarted = await start(hub);
      if (!fault.isEdit) check('after a restart', restarted);
      put(hub, row, row.narrow);
      await restarted.clock.settle();
      // It recovers.
      expect(isSameValue(before, seen(restarted.store, row))).toBe(true);
      await restarted.clock.advance(vacancyMs);
      await Promise.all([second.stop(), restarted.stop()]);
    }
    expect(wider).toEqual([]);
  }, 120_000);
});
