import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { driftless } from '#support';
import { argoCrds } from './world.ts';

interface Assignment {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly shard: number;
  readonly applications: number;
}

interface Shown {
  readonly algorithm: string;
  readonly replicas: number;
  readonly assignments: readonly Assignment[];
  readonly load: readonly number[];
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'driftless-shards-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const env = { KUBECONFIG: '', KUBERNETES_SERVICE_HOST: '' };

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await driftless(['shards', ...args, '-o', 'json'], { env });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as T;
}

/** Shards for 2, 3, 5 and 7 replicas: the reference's vectors (FNV-1a over UTF-8, cross-checked against Go). */
const legacy: readonly (readonly [string, number, number, number, number])[] = [
  ['5f2c1e7a-8b1d-4c55-9d0e-3a7b6f1c2d90', 1, 1, 3, 3],
  ['0b9f8a66-2f0e-4a0b-bb3e-7c5d4e3f2a10', 0, 2, 0, 5],
  ['https://mycluster.example.com:8443/k8s/clusters/c-m-abc', 0, 1, 2, 3],
  ['cluster-é', 0, 1, 3, 2],
  ['кластер-1', 1, 1, 3, 3],
  ['集群-東京', 1, 2, 2, 0],
  ['🚀-prod', 0, 1, 0, 0],
  ['', 0, 0, 0, 0],
];
const roundRobin: readonly (readonly [string, number, number, number, number])[] = [
  ['', 0, 0, 0, 0],
  ['00000000-0000-4000-8000-000000000001', 1, 1, 1, 1],
  ['0b9f8a66-2f0e-4a0b-bb3e-7c5d4e3f2a10', 0, 2, 2, 2],
  ['5f2c1e7a-8b1d-4c55-9d0e-3a7b6f1c2d90', 1, 0, 3, 3],
  ['7d444840-9dc0-11d1-b245-5ffdce74fad2', 0, 1, 4, 4],
  ['c3d9e1f2-6a5b-4c7d-8e9f-0a1b2c3d4e5f', 1, 2, 0, 5],
];
const named = (ids: readonly string[]): object[] =>
  ids.map((id, i) => ({ id, server: `https://c${i}`, name: `c${i}` }));

describe('driftless shards', () => {
  it.each([
    ['legacy', legacy],
    ['round-robin', roundRobin],
  ] as const)(
    'prints the shards of the reference: %s',
    async (algorithm, vectors) => {
      const path = file(`${algorithm}.json`, named(vectors.map(([id]) => id)));
      for (const [i, replicas] of [2, 3, 5, 7].entries()) {
        const shown = await json<Shown>('--clusters', path, '--algorithm', algorithm, '--replicas', String(replicas));
        expect({ algorithm: shown.algorithm, replicas: shown.replicas }).toEqual({ algorithm, replicas });
        const shards = new Map(shown.assignments.map(({ id, shard }) => [id, shard]));
        expect(vectors.map(([id]) => shards.get(id))).toEqual(vectors.map((row) => row[i + 1]));
      }
    },
    60_000,
  );

  it('keeps to the bound with consistent hashing, and adds up', async () => {
    const clusters = Array.from({ length: 40 }, (_, i) => ({
      ...{ id: `id-${i}`, server: `https://c${i}`, name: `c${i}`, applications: 10 },
    }));
    const path = file('many.json', clusters);
    const shown = await json<Shown>('--clusters', path, '--algorithm', 'consistent-hashing', '--replicas', '4');
    expect(shown.load.reduce((a, b) => a + b, 0)).toBe(400);
    expect(Math.max(...shown.load)).toBeLessThanOrEqual(Math.ceil(1.25 * 100));
    const loads = [0, 1, 2, 3].map((shard) =>
      shown.assignments.filter((each) => each.shard === shard).reduce((sum, { applications }) => sum + applications, 0),
    );
    expect(loads).toEqual(shown.load);
  });

  it('reads standard input, and prints a table for people', async () => {
    const input = JSON.stringify([
      { id: 'a', server: 'https://a', name: 'prod', applications: 3 },
      { id: 'b', server: 'https://b', name: 'pinned', shard: 1 },
    ]);
    const args = ['shards', '--clusters', '-', '--replicas', '2', '--algorithm', 'round-robin'];
    const { code, stdout, stderr } = await driftless(args, { env, input });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/shard +name +server +applications +id/i);
    expect(stdout).toMatch(/0 +prod +https:\/\/a +3 +a/);
    expect(stdout).toMatch(/1 +pinned +https:\/\/b +0 +b/);
    // Nothing for terminals in a pipe.
    expect(stdout.includes('\u001B')).toBe(false);
  });

  it.each([
    ['no source', ['shards'], 2, 'no clusters: name them with --clusters FILE, or a live hub with --kubeconfig FILE'],
    ['a file that is not there', ['shards', '--clusters', '/nonexistent'], 2, '/nonexistent'],
    ['no array', ['shards', '--clusters', '{}'], 2, 'expected a JSON array'],
    ['a cluster without a server', ['shards', '--clusters', '[{"id":"a"}]'], 2, 'cluster 1: "server" must be'],
    ['a negative count', ['shards', '--clusters', '[{"server":"s","applications":-1}]'], 2, '"applications" must be'],
    [
      'no replicas',
      ['shards', '--clusters', '[]', '--replicas', '0'],
      2,
      '--replicas: must be a whole number, at least 1, not "0"',
    ],
    ['words', ['shards', 'now', '--clusters', '[]'], 2, 'shards takes flags and "plan" only, not "now"'],
    ['a plan from nowhere', ['shards', 'plan', '--clusters', '[]', '--to-replicas', '2'], 2, '--from-replicas'],
  ])('refuses %s in one line', async (_what, args, exit, text) => {
    const i = args.indexOf('--clusters') + 1;
    const content = i === 0 ? undefined : args[i];
    const given = content?.startsWith('/') === false ? args.with(i, file('bad.json', content)) : args;
    const { code, stdout, stderr } = await driftless(given, { env });
    expect([code, stdout, stderr.trimEnd().split('\n').length]).toEqual([exit, '', 1]);
    expect(stderr).toContain(text);
  });

  it('warns of an unknown algorithm and uses legacy, as the controller does', async () => {
    const path = file('one.json', [{ id: '1', server: 'https://a', name: 'a' }]);
    const args = ['shards', '--clusters', path, '--algorithm', 'random', '--replicas', '5', '-o', 'json'];
    const { code, stdout, stderr } = await driftless(args, { env });
    expect([code, (JSON.parse(stdout) as Shown).algorithm]).toEqual([0, 'legacy']);
    expect(stderr).toMatch(/unknown algorithm "random": using legacy/);
  });
});

describe('driftless shards plan', () => {
  interface Plan {
    readonly moved: number;
    readonly movedApplications: number;
    readonly moves: readonly { readonly id: string; readonly from: number; readonly to: number }[];
  }

  it('says what would move: much with round-robin, little with consistent hashing', async () => {
    const clusters = Array.from({ length: 200 }, (_, i) => ({
      ...{ id: `id-${String(i).padStart(3, '0')}`, server: `https://c${i}`, name: `c${i}`, applications: 5 },
    }));
    const path = file('plan.json', clusters);
    const plan = (algorithm: string): Promise<Plan> =>
      json('plan', '--clusters', path, '--from-replicas', '10', '--to-replicas', '11', '--from-algorithm', algorithm);
    const [much, little] = [await plan('round-robin'), await plan('consistent-hashing')];
    expect(much.moves).toHaveLength(much.moved);
    expect(much.movedApplications).toBe(5 * much.moved);
    expect(little.moved * 4).toBeLessThan(much.moved);
    expect(little.moves.every(({ from, to }) => from !== to)).toBe(true);
  });
});

describe('a live hub', () => {
  let hub: SimCluster;
  beforeAll(async () => {
    const workloads = { enabled: false, delayMs: 0 };
    hub = await startSimCluster({ name: 'hub', clock: systemClock, random: systemRandom, crds: argoCrds(), workloads });
    const make = (object: object): void => void hub.store.create(object as KubeObject);
    make({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } });
    const secret = (name: string, annotations: object): object => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'argocd', labels: { 'argocd.argoproj.io/secret-type': 'cluster' }, annotations },
      stringData: { name, server: `https://${name}`, config: '{}' },
    });
    make(secret('one', {}));
    make(secret('hot', { 'driftless.io/split': '3' }));
    const app = (name: string, destination: object): object => ({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace: 'argocd' },
      spec: { project: 'default', source: { repoURL: 'https://git.example.com/r', path: '.' }, destination },
    });
    make(app('by-server', { server: 'https://one', namespace: 'x' }));
    make(app('by-name', { name: 'one', namespace: 'x' }));
    make(app('here', { server: 'https://kubernetes.default.svc', namespace: 'x' }));
    for (let i = 0; i < 30; i += 1) make(app(`hot-${i}`, { name: 'hot', namespace: 'x' }));
  });
  afterAll(() => hub.close());

  it('is read without a change: Applications by server and by name, the cluster itself, the parts of a split one', async () => {
    const path = file('kubeconfig', kubeconfigFor([hub]));
    const before = new Map(hub.requests());
    const shown = await json<Shown>(
      '--kubeconfig',
      path,
      '-n',
      'argocd',
      '--replicas',
      '3',
      '--algorithm',
      'round-robin',
    );
    const rows = new Map(shown.assignments.map(({ name, applications }) => [name, applications]));
    expect([rows.get('one'), rows.get('in-cluster')]).toEqual([2, 1]);
    const parts = shown.assignments.filter(({ name }) => name.startsWith('hot (part'));
    expect(parts).toHaveLength(3);
    expect(parts.reduce((sum, { applications }) => sum + applications, 0)).toBe(30);
    expect(new Set(parts.map(({ shard }) => shard)).size).toBe(3);
    const writes = [...hub.requests()].filter(
      ([key, count]) => before.get(key) !== count && !/^(list|get|watch)/.test(key),
    );
    expect(writes).toEqual([]);
  });
});
