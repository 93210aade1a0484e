import { describe, expect, it } from '@jest/globals';
import { seededRandom, Shutdown } from '#base';
import { annotations, inClusterServer, isReconcileSkipped } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { configShape } from './cluster-config.ts';
import { vacancyMs } from './cluster-secrets.ts';
import { clusterKeys } from './clusters.ts';
import { repositoryKeys } from './repositories.ts';
import { createSettingsStore } from './store.ts';
import { FakeHub } from './testing/fake-hub.ts';
import type { SettingsStore } from './types.ts';
import { isSameValue } from './values.ts';

type Data = Readonly<Record<string, string>>;

/** One key of a Secret, beside the others of a whole Secret. */
interface SecretRow {
  readonly type: 'cluster' | 'repository' | 'repo-creds' | 'repository-write' | 'repo-write-creds';
  readonly key: string;
  /** A whole Secret with a value of the key that narrows what is written. */
  readonly narrow: Data;
  readonly marks?: Data;
  /** Texts of the key that cannot be read. */
  readonly unreadable: readonly string[];
}

const url = 'https://git.example.com/team/app';
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

/** What is known of the cluster or repository that the Secret is about. */
function seen(store: SettingsStore, { type, narrow }: SecretRow): object {
  const { project = '', server, name } = narrow;
  if (type === 'cluster') {
    const found = [store.resolve({ server: server ?? '' }, project), store.resolve({ name: name ?? '' }, project)];
    const others = store.resolve({ server: server ?? '' }, 'other');
    return { found: [...found, others].map(clusterFacts) };
  }
  return type.includes('write') ? store.writeRepository(url, project) : store.repository(url, project);
}

function clusterFacts(found: ReturnType<SettingsStore['resolve']>): object {
  if ('error' in found) return { error: true };
  const { server, namespaces, clusterResources, project, connection, annotations: marks } = found;
  return { server, namespaces, clusterResources, project, connection, isSkipped: isReconcileSkipped(marks) };
}

/** As before, or nothing is written: the cluster is not found, the repository not fetched. */
function isNoWider(before: object, now: object): boolean {
  if (isSameValue(before, now) || 'fault' in now) return true;
  if (!('found' in now) || !('found' in before)) return false;
  const pairs = zip(before.found as object[], now.found as object[]);
  return pairs.every(([was = {}, is = {}]) => 'error' in is || isSameValue(was, is));
}

const zip = (a: readonly object[], b: readonly object[]): readonly (readonly object[])[] =>
  a.map((one, i) => [one, b[i] ?? {}]);

interface RunningStore {
  readonly store: SettingsStore;
  readonly clock: FakeClock;
  readonly stop: () => Promise<void>;
}

async function start(hub: FakeHub): Promise<RunningStore> {
  const clock = new FakeClock();
  const inClusterConnection = { server: 'https://10.0.0.1', insecure: false, credentials: {} };
  const deps = { client: hub.client(), namespace: 'argocd', clock, random: seededRandom(1), logger: silentLogger };
  const store = createSettingsStore({ ...deps, inClusterConnection });
  const controller = new AbortController();
  const running = store.run(controller.signal);
  const ready = store.ready?.(controller.signal);
  await clock.advance(1000);
  await ready;
  const stop = async (): Promise<void> => {
    controller.abort(new Shutdown());
    await running;
    expect(clock.pending).toBe(0);
  };
  return { store, clock, stop };
}

interface SecretFault {
  readonly title: string;
  readonly act: (hub: FakeHub) => void;
  /** A replica that starts then takes it for an edit: a deletion, and a Secret without a URL. */
  readonly isEdit: boolean;
}

const put = (hub: FakeHub, { type, marks }: SecretRow, data: Data, more: object = {}): void => {
  hub.put('Secret', 's', data, { secretType: type, createdAt: '2026-01-01T00:00:00Z', more });
  const object = hub.find('Secret', 's');
  if (marks !== undefined && object !== undefined) {
    const metadata = { ...object.metadata, annotations: marks };
    hub.put('Secret', 's', data, { secretType: type, more: { metadata, ...more } });
  }
};

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
  return [
    ...unreadable.map((text) =>
      fault(JSON.stringify(text), (hub) => put(hub, row, { ...narrow, [field]: text }), key === 'url'),
    ),
    ...[5, true, {}, [], '/w==', '/////w=='].map((value) =>
      fault(`raw ${JSON.stringify(value)}`, raw(value), key === 'url'),
    ),
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
