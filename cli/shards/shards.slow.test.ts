import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defined, parseYamlDocuments, systemClock, systemRandom } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { FaultRule, SimCluster } from '#sim';
import { driftless as spawned, eventually, Program } from '#support';
import type { ProgramResult } from '#support';
import { legacyVectors, roundRobinVectors } from '../../sharding/testing/index.ts';
import { runCommandLine } from '../driftless.ts';

interface Assignment {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly shard: number;
  readonly applications: number;
  readonly part: number;
  readonly parts: number;
  readonly standIn?: number;
}

interface Shown {
  readonly algorithm: string;
  readonly replicas: number;
  readonly assignments: readonly Assignment[];
  readonly load: readonly number[];
  readonly source: 'published' | 'computed';
  readonly fullestToAverage: number | null;
}

interface Figures {
  readonly moved: number;
  readonly movedApplications: number;
  readonly load: readonly number[];
  readonly fullestToAverage: number | null;
}

type PartMove = Pick<Assignment, 'id' | 'server' | 'name' | 'part' | 'parts' | 'applications'> & {
  readonly from: number;
  readonly to: number;
};

type Plan = Figures & {
  readonly moves: readonly PartMove[];
  readonly from: { readonly algorithm: string; readonly replicas: number; readonly source: string };
  readonly to: { readonly algorithm: string; readonly replicas: number };
  readonly algorithms: Readonly<Record<'legacy' | 'round-robin' | 'consistent-hashing', Figures>>;
};

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

const env = { HOME: '/nonexistent', KUBECONFIG: '', KUBERNETES_SERVICE_HOST: '' };

interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Runs the command in this process, which is faster; stdin needs a process of its own. */
async function driftless(args: readonly string[], { env: given, input }: Surroundings): Promise<ProgramResult> {
  if (input !== undefined) return spawned(args, { env: given, input });
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const err = (line: string): void => void stderr.push(`${line}\n`);
  const output = {
    color: false,
    live: false,
    out: (line: string) => void stdout.push(`${line}\n`),
    err,
    progress: err,
  };
  const context = { env: { ...process.env, ...given }, output, signal: new AbortController().signal };
  const code = await runCommandLine(args, context);
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

/** The CustomResourceDefinitions of Applications and AppProjects. */
function argoCrds(): KubeObject[] {
  return ['application', 'appproject'].flatMap(
    (name) => parseYamlDocuments(readFileSync(`manifests/crds/${name}-crd.yaml`, 'utf8')) as unknown as KubeObject[],
  );
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await driftless(['shards', ...args, '-o', 'json'], { env });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as T;
}

interface Noted<T> {
  readonly shown: T;
  readonly notes: readonly string[];
}

/** Runs a command that may also write to stderr. */
async function noted<T>(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Noted<T>> {
  const { code, stdout, stderr } = await driftless(['shards', ...args, '-o', 'json'], { env: { ...env, ...more } });
  expect([code, stderr.includes('    at ')]).toEqual([0, false]);
  const notes = stderr.split('\n').filter((line) => line !== '');
  expect(notes.every((line) => line.startsWith('driftless: '))).toBe(true);
  return { shown: JSON.parse(stdout) as T, notes: notes.map((line) => line.slice('driftless: '.length)) };
}

const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

const named = (ids: readonly string[]): object[] =>
  ids.map((id, i) => ({ id, server: `https://c${i}`, name: `c${i}` }));

describe('driftless shards', () => {
  it.each([
    ['legacy', legacyVectors],
    ['round-robin', roundRobinVectors],
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
      id: `id-${i}`,
      server: `https://c${i}`,
      name: `c${i}`,
      applications: 10,
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
    // No terminal sequences in a pipe.
    expect(stdout.includes('\u001B')).toBe(false);
  });

  it.each([
    ['no source', [], 'no clusters: name them with --clusters FILE, or a live hub with --kubeconfig FILE'],
    ['a file that is not there', ['--clusters', '/nonexistent'], '/nonexistent'],
    ['no array', ['--clusters', '{}'], 'expected a JSON array'],
    ['a cluster without a server', ['--clusters', '[{"id":"a"}]'], 'cluster 1: "server" must be'],
    ['a negative count', ['--clusters', '[{"server":"s","applications":-1}]'], '"applications" must be'],
    ['no replicas', ['--clusters', '[]', '--replicas', '0'], '--replicas: must be a whole number, at least 1, not "0"'],
    [
      'a negative number of replicas',
      ['--clusters', '[]', '--replicas', '-1'],
      '--replicas: must be a whole number, at least 1, not "-1"',
    ],
    ['a crowd', ['--clusters', '[]', '--replicas', '10001'], '--replicas: must be a whole number, at most'],
    ['an unknown format', ['--clusters', '[]', '-o', 'xml'], '--output: must be one of json, yaml, not "xml"'],
    [
      'a file and a hub at once',
      ['--clusters', '[]', '--kubeconfig', '/nonexistent'],
      '--clusters and --kubeconfig are mutually exclusive',
    ],
    ...['0', '65', '2.5', '"2"'].map(
      (split) =>
        [
          `a split into ${split}`,
          ['--clusters', `[{"server":"s","split":${split}}]`],
          'cluster 1: "split" must be a whole number from 1 to 64',
        ] as const,
    ),
    ['a plan to nowhere', ['plan', '--clusters', '[]', '--from-replicas', '2'], '--replicas'],
    ['words', ['now', '--clusters', '[]'], 'shards takes flags, "stats", "plan" and "watch" only, not "now"'],
    ['a plan from nowhere', ['plan', '--clusters', '[]', '--to-replicas', '2'], '--from-replicas'],
  ])('refuses %s in one line', async (_what, args, text) => {
    const i = args.indexOf('--clusters') + 1;
    const content = i === 0 ? undefined : args[i];
    const given = content?.startsWith('/') === false ? [...args].with(i, file('bad.json', content)) : args;
    const { code, stdout, stderr } = await driftless(['shards', ...given], { env });
    expect([code, stdout, stderr.trimEnd().split('\n').length]).toEqual([2, '', 1]);
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

describe('what a file may say', () => {
  const twins = [
    { id: 'b', server: 'https://twin/', name: 'second', applications: 30 },
    { id: 'a', server: 'https://twin', name: 'first', applications: 30, split: 3 },
    { id: 'c', server: 'https://other', name: 'other', applications: 6 },
  ];

  it('two Secrets with one URL are one cluster: the lowest id rules, and nothing is counted twice', async () => {
    const path = file('twins.json', twins);
    const shown = await json<Shown>('--clusters', path, '--replicas', '3', '--algorithm', 'round-robin');
    const rows = (name: string): readonly (readonly number[])[] =>
      shown.assignments
        .filter((each) => each.name.startsWith(`${name} (part`))
        .map(({ shard, applications, part, parts }) => [shard, applications, part, parts]);
    expect(rows('first')).toEqual([0, 1, 2].map((shard) => [shard, 10, shard + 1, 3]));
    expect(rows('second')).toEqual(rows('first'));
    expect(sum(shown.load)).toBe(36);
    const args = [
      'plan',
      '--clusters',
      path,
      '--from-replicas',
      '3',
      '--to-replicas',
      '1',
      '--algorithm',
      'round-robin',
    ];
    const plan = await json<Plan>(...args);
    expect(plan.moves.map(({ id, part }) => [id, part])).toEqual([
      ['a', 2],
      ['a', 3],
      ['c', 1],
    ]);
    expect([plan.movedApplications, plan.load]).toEqual([26, [36]]);
    const { stdout } = await driftless(['shards', ...args], { env });
    expect(stdout).toMatch(/round-robin[*] +3 \(75[.]0 %\) +26 \(72[.]2 %\)/);
  });

  it('a split: its Applications are shared out over the parts, and the flag splits those that say nothing', async () => {
    const clusters = [
      { id: 'a', server: 'https://a', name: 'big', applications: 10, split: 4 },
      { id: 'b', server: 'https://b', name: 'plain', applications: 5 },
    ];
    const args = ['--clusters', file('split.json', clusters), '--replicas', '4', '--algorithm', 'round-robin'];
    const shown = await json<Shown>(...args);
    expect(shown.assignments.map(({ name, shard, applications }) => [name, shard, applications])).toEqual([
      ['big (part 1 of 4)', 0, 3],
      ['big (part 2 of 4)', 1, 3],
      ['big (part 3 of 4)', 2, 2],
      ['big (part 4 of 4)', 3, 2],
      ['plain', 1, 5],
    ]);
    for (const flag of [{ args: ['--cluster-split', '2'] }, { args: [], env: { DRIFTLESS_CLUSTER_SPLIT: '2' } }]) {
      const { shown: more } = await noted<Shown>([...args, ...flag.args], flag.env);
      expect(more.assignments.filter(({ name }) => name.startsWith('plain (part'))).toHaveLength(2);
      expect(more.assignments.filter(({ name }) => name.startsWith('big (part'))).toHaveLength(4);
    }
  });

  it('says which pins do not hold, and which id stands for several clusters', async () => {
    const clusters = [
      { id: '1', server: 'https://a', name: 'far', shard: 3 },
      { id: '2', server: 'https://b', name: 'below', shard: -1 },
      { id: '3', server: 'https://c', name: 'fine', shard: 2 },
      { id: '3', server: 'https://d', name: 'copied' },
    ];
    const path = file('odd.json', clusters);
    const { shown, notes } = await noted<Shown>(['--clusters', path, '--replicas', '3']);
    expect(shown.assignments.map(({ shard }) => shard)[0]).toBe(0);
    expect(notes).toEqual([
      'the id "3" stands for 2 clusters: https://c, https://d; each needs its own',
      'pinned to a shard that is not there with 3 replicas, so on shard 0: far (3)',
      'pinned to a negative shard, which counts as no pin: below (-1)',
    ]);
    const plan = await noted<Plan>(['plan', '--clusters', path, '--from-replicas', '4', '--to-replicas', '2']);
    expect(plan.notes[1]).toContain('with 2 replicas, so on shard 0: far (3), fine (2)');
  });

  it('may begin with a byte order mark', async () => {
    const path = file('bom.json', `\uFEFF${JSON.stringify([{ id: '1', server: 'https://a' }])}`);
    expect((await json<Shown>('--clusters', path)).assignments).toHaveLength(1);
  });

  it('and the environment: what is wrong in it is said, 0 replicas are none named, KUBECONFIG yields to a file', async () => {
    const args = ['--clusters', file('env.json', [{ id: '1', server: 'https://a' }])];
    const bad = await noted<Shown>(args, { ARGOCD_CONTROLLER_REPLICAS: 'abc' });
    expect(bad.notes).toEqual(['ignoring ARGOCD_CONTROLLER_REPLICAS: must be a whole number, at least 0']);
    const zero = await noted<Shown>(args, { ARGOCD_CONTROLLER_REPLICAS: '0', KUBECONFIG: '/nonexistent' });
    expect([zero.shown.replicas, zero.notes]).toEqual([1, []]);
    const three = await noted<Shown>([...args, '--sharding-method', 'round-robin'], {
      ARGOCD_CONTROLLER_REPLICAS: '3',
    });
    expect([three.shown.replicas, three.shown.algorithm]).toEqual([3, 'round-robin']);
  });
});

describe('a reader that leaves early', () => {
  const many = Array.from({ length: 5000 }, (_, i) => ({ id: `id-${i}`, server: `https://cluster-${i}.example.com` }));

  it.each([
    ['JSON', ['-o', 'json']],
    ['a table', []],
  ])('ends the command as SIGPIPE would, without a word: %s', async (_what, format) => {
    const args = ['dist/cli/main.js', 'shards', '--clusters', file('5000.json', many), '--replicas', '9', ...format];
    const child = spawn(process.execPath, args.with(0, resolve('dist/cli/main.js')), {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk) => (stderr += String(chunk)));
    // The output is larger than a pipe buffer.
    child.stdout.once('data', () => child.stdout.destroy());
    const [code] = (await once(child, 'close')) as [number | null];
    expect([code, stderr]).toEqual([141, '']);
  });

  it.each([
    ['help', ['help']],
    ['plan', ['shards', 'plan', '--help']],
    ['sim, which would go on for ever', ['sim', '--kubeconfig', 'FILE']],
  ])('and any other: %s', async (_what, words) => {
    const args = words.map((word) => (word === 'FILE' ? join(folder, 'sim-kubeconfig') : word));
    const child = spawn(process.execPath, [resolve('dist/cli/main.js'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk) => (stderr += String(chunk)));
    const [code] = (await once(child, 'close')) as [number | null];
    expect([code, stderr.includes('    at '), stderr.includes('EPIPE')]).toEqual([141, false, false]);
  });
});

describe('driftless shards plan', () => {
  it('says what would move: much with round-robin, little with consistent hashing', async () => {
    const clusters = Array.from({ length: 200 }, (_, i) => ({
      id: `id-${String(i).padStart(3, '0')}`,
      server: `https://c${i}`,
      name: `c${i}`,
      applications: 5,
    }));
    const path = file('plan.json', clusters);
    const plan = (algorithm: string): Promise<Plan> =>
      json('plan', '--clusters', path, '--from-replicas', '10', '--to-replicas', '11', '--from-algorithm', algorithm);
    const [much, little] = [await plan('round-robin'), await plan('consistent-hashing')];
    expect(much.moves).toHaveLength(much.moved);
    expect(much.movedApplications).toBe(5 * much.moved);
    expect(little.moved * 4).toBeLessThan(much.moved);
    expect(little.moves.every(({ from, to }) => from !== to)).toBe(true);
    expect(sum(little.load)).toBe(1000);
    // The same change under each algorithm, including the requested one.
    expect(Object.keys(little.algorithms)).toEqual(['legacy', 'round-robin', 'consistent-hashing']);
    const { moved, movedApplications, load, fullestToAverage } = little;
    expect(little.algorithms['consistent-hashing']).toEqual({ moved, movedApplications, load, fullestToAverage });
    expect(fullestToAverage).toBe(Math.round((10_000 * Math.max(...load) * 11) / 1000) / 10_000);
  });

  it('names each move, by part, and takes another algorithm alone for a change', async () => {
    const clusters = [
      { id: 'a', server: 'https://a', name: 'big', applications: 7, split: 2 },
      { id: 'b', server: 'https://b', name: 'small', applications: 1 },
    ];
    const args = ['plan', '--clusters', file('moves.json', clusters), '--from-replicas', '2'];
    const plan = await json<Plan>(...args, '--to-replicas', '1', '--algorithm', 'round-robin');
    expect(plan.moves).toEqual([
      { id: 'a', server: 'https://a', name: 'big', part: 2, parts: 2, applications: 3, from: 1, to: 0 },
      { id: 'b', server: 'https://b', name: 'small', part: 1, parts: 1, applications: 1, from: 1, to: 0 },
    ]);
    expect([plan.moved, plan.movedApplications, plan.load, plan.fullestToAverage]).toEqual([2, 4, [8], 1]);
    const other = await json<Plan>(...args, '--algorithm', 'legacy', '--to-algorithm', 'round-robin');
    expect([other.from, other.to]).toEqual([
      { algorithm: 'legacy', replicas: 2, source: 'computed' },
      { algorithm: 'round-robin', replicas: 2 },
    ]);
  });
});

type Obj = Readonly<Record<string, unknown>>;

const namespaced = (apiVersion: string, kind: string, name: string, rest: Obj, namespace = 'argocd'): Obj => ({
  apiVersion,
  kind,
  metadata: { name, namespace },
  ...rest,
});
const secret = (name: string, more: { data?: Obj; annotations?: Obj } = {}): Obj => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name,
    namespace: 'argocd',
    annotations: more.annotations ?? {},
    labels: { 'argocd.argoproj.io/secret-type': 'cluster' },
  },
  stringData: { name, server: `https://${name}`, config: '{}', ...more.data },
});
const app = (name: string, destination: Obj, more: { namespace?: string; status?: Obj } = {}): Obj =>
  namespaced(
    'argoproj.io/v1alpha1',
    'Application',
    name,
    {
      spec: { project: 'default', source: { repoURL: 'https://git.example.com/r', path: '.' }, destination },
      ...defined({ status: more.status }),
    },
    more.namespace,
  );
const apps = (count: number, destination: Obj): readonly Obj[] =>
  Array.from({ length: count }, (_, i) =>
    app(`${String(destination['name'])}-${i}`, { ...destination, namespace: 'x' }),
  );
const configMap = (name: string, data: Obj): Obj => namespaced('v1', 'ConfigMap', name, { data });
const pods = { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: podSpec() } };
const workload = (kind: 'StatefulSet' | 'Deployment', replicas: number, name = 'argocd-application-controller'): Obj =>
  namespaced('apps/v1', kind, name, {
    spec: { ...pods, replicas, ...(kind === 'StatefulSet' ? { serviceName: 's' } : {}) },
  });
const table = (replicas: number, algorithm: string, clusters: Readonly<Record<string, Obj>>): Obj =>
  configMap('driftless-ownership', {
    table: JSON.stringify({ epoch: 7000, replicas, algorithm, slots: replicas, clusters }),
  });

function podSpec(): Obj {
  return { containers: [{ name: 'c', image: 'i' }] };
}

const hubs: SimCluster[] = [];
afterAll(async () => {
  await Promise.all(hubs.map((each) => each.close()));
});

/** Starts a hub with these objects and returns its flags. */
async function hubWith(objects: readonly Obj[]): Promise<{ hub: SimCluster; where: readonly string[] }> {
  const workloads = { enabled: false, delayMs: 0 };
  const deps = { name: 'hub', clock: systemClock, random: systemRandom, crds: argoCrds(), workloads };
  const hub = await startSimCluster(deps);
  hubs.push(hub);
  for (const name of ['argocd', 'team', 'empty'])
    hub.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  for (const object of objects) hub.store.create(object as unknown as KubeObject);
  const path = file(`kubeconfig-${hubs.length}`, kubeconfigFor([hub]));
  return { hub, where: ['--kubeconfig', path, '-n', 'argocd'] };
}

const clusterNames = ({ assignments }: Shown): readonly string[] => assignments.map(({ name }) => name).sort();
const shardsByName = ({ assignments }: Shown): Readonly<Record<string, number>> =>
  Object.fromEntries(assignments.map(({ name, shard }) => [name, shard]));

describe('a live hub', () => {
  it('is read without a change: Applications by server and by name, the cluster itself, the parts of a split one', async () => {
    const { hub, where } = await hubWith([
      secret('one'),
      secret('hot', { annotations: { 'driftless.io/split': '3' } }),
      app('by-server', { server: 'https://one', namespace: 'x' }),
      app('by-name', { name: 'one', namespace: 'x' }),
      app('here', { server: 'https://kubernetes.default.svc', namespace: 'x' }),
      ...apps(30, { name: 'hot' }),
    ]);
    const before = new Map(hub.requests());
    const shown = await json<Shown>(...where, '--replicas', '3', '--algorithm', 'round-robin');
    const rows = new Map(shown.assignments.map(({ name, applications }) => [name, applications]));
    expect([rows.get('one'), rows.get('in-cluster')]).toEqual([2, 1]);
    const parts = shown.assignments.filter(({ name }) => name.startsWith('hot (part'));
    expect(parts).toHaveLength(3);
    expect(sum(parts.map(({ applications }) => applications))).toBe(30);
    expect(new Set(parts.map(({ shard }) => shard)).size).toBe(3);
    const writes = [...hub.requests()].filter(
      ([key, count]) => before.get(key) !== count && !/^(list|get|watch)/.test(key),
    );
    expect(writes).toEqual([]);
  });

  it('without the cluster itself when argocd-cm disables it, even if a Secret names it', async () => {
    const own = secret('own', { data: { server: 'https://kubernetes.default.svc' } });
    const { hub, where } = await hubWith([secret('one'), own]);
    expect(clusterNames(await json<Shown>(...where))).toEqual(['one', 'own']);
    hub.store.create(configMap('argocd-cm', { 'cluster.inClusterEnabled': 'false' }) as unknown as KubeObject);
    expect(clusterNames(await json<Shown>(...where))).toEqual(['one']);
  });

  it('of two Secrets with one URL the oldest rules, then the lowest id, and their Applications count once', async () => {
    const split = (parts: string): { data: Obj; annotations: Obj } => ({
      data: { server: 'https://twin' },
      annotations: { 'driftless.io/split': parts },
    });
    const off = configMap('argocd-cm', { 'cluster.inClusterEnabled': 'false' });
    const twins = [secret('left', split('2')), secret('right', split('4'))];
    const { hub, where } = await hubWith([off, ...twins, ...apps(20, { name: 'left' })]);
    const age = (name: string): string => {
      const { creationTimestamp = '', uid = '' } = hub.store.get('', 'Secret', 'argocd', name)?.metadata ?? {};
      return `${creationTimestamp ?? ''} ${uid}`;
    };
    const [ruler, parts] = age('left') < age('right') ? ['left', 2] : ['right', 4];
    const shown = await json<Shown>(...where, '--replicas', '4', '--algorithm', 'round-robin');
    expect(shown.assignments).toHaveLength(2 * parts);
    expect(shown.assignments.every((each) => each.parts === parts)).toBe(true);
    expect(sum(shown.load)).toBe(20);
    const plan = await json<Plan>(
      'plan',
      ...where,
      '--from-replicas',
      '4',
      '--to-replicas',
      '1',
      '--algorithm',
      'legacy',
    );
    expect(plan.moved).toBeLessThanOrEqual(parts);
    expect(plan.movedApplications).toBeLessThanOrEqual(20);
    expect(new Set(plan.moves.map(({ name }) => name))).toEqual(new Set([ruler]));
  });

  it('says which Secret it leaves out, and what in one it ignores', async () => {
    const { where } = await hubWith([
      secret('broken', { data: { config: '{"bearerToken": "top-secret"' } }),
      secret('pinned', { data: { shard: 'two' } }),
      secret('torn', { annotations: { 'driftless.io/split': 'many' } }),
    ]);
    const { shown, notes } = await noted<Shown>([...where, '--replicas', '2']);
    expect(clusterNames(shown)).toEqual(['in-cluster', 'pinned', 'torn']);
    expect(notes.join('\n')).toContain('Secret argocd/broken is ignored');
    expect(notes.join('\n')).toContain('Secret argocd/pinned: the key "shard" is not an integer');
    expect(notes.join('\n')).toContain('cluster "torn": annotation driftless.io/split: "many" is not a number');
    expect(notes.join('\n')).not.toContain('top-secret');
  });

  it('is in the namespace argocd, as for all other commands, whatever the kubeconfig names', async () => {
    const { where } = await hubWith([secret('one')]);
    const file = where.slice(0, 2);
    expect(clusterNames((await noted<Shown>(file)).shown)).toEqual(clusterNames((await noted<Shown>(where)).shown));
    expect((await noted<Shown>([...file, '--controller-namespace', 'empty'])).notes).toEqual([
      expect.stringMatching(/^namespace empty has no /),
    ]);
  });

  it("warns of a namespace that does not look like the controller's", async () => {
    const { where } = await hubWith([secret('one')]);
    const { notes } = await noted<Shown>(where.with(-1, 'empty'));
    expect(notes).toEqual([expect.stringMatching(/^namespace empty has no .*: set the namespace of the controller/)]);
    expect((await noted<Shown>(where)).notes).toEqual([]);
  });

  it('counts the Applications that the controller watches', async () => {
    const elsewhere = app('there', { name: 'one', namespace: 'x' }, { namespace: 'team' });
    const { hub, where } = await hubWith([secret('one'), app('here', { name: 'one', namespace: 'x' }), elsewhere]);
    const count = async (...args: string[]): Promise<number> => sum((await json<Shown>(...where, ...args)).load);
    expect(await count()).toBe(1);
    expect(await count('--application-namespaces', 'te*')).toBe(2);
    const params = configMap('argocd-cmd-params-cm', { 'application.namespaces': 'team, other' });
    hub.store.create(params as unknown as KubeObject);
    expect(await count()).toBe(2);
  });

  it('splits and weighs as the controller was told to', async () => {
    const gone = {
      sync: { status: 'Unknown' },
      conditions: [{ type: 'ComparisonError', message: 'no route to host' }],
    };
    const lost = Array.from({ length: 40 }, (_, i) =>
      app(`lost-${i}`, { name: 'dead', namespace: 'x' }, { status: gone }),
    );
    const { where } = await hubWith([secret('dead'), secret('alive'), ...lost, ...apps(8, { name: 'alive' })]);
    const split = await noted<Shown>([...where, '--cluster-split', '3']);
    expect(split.shown.assignments).toHaveLength(9);
    expect((await noted<Shown>(where, { DRIFTLESS_CLUSTER_SPLIT: '2' })).shown.assignments).toHaveLength(6);
    const plain = ['--replicas', '2', '--algorithm', 'consistent-hashing', '--cluster-split', '4'];
    const measured = await json<Shown & { readonly weightLoad: readonly number[] }>(
      ...[...where, ...plain, '--cluster-weights', 'measured'],
    );
    // By Applications, the dead cluster would fill both replicas; by weight, the live one is split
    // evenly.
    expect(sum(measured.load)).toBe(48);
    expect(sum(measured.weightLoad)).toBeLessThan(10);
    const { shown } = await noted<{ clusterWeights: string }>(where, { DRIFTLESS_CLUSTER_WEIGHTS: 'measured' });
    expect(shown.clusterWeights).toBe('measured');
  });

  it('is the one that kubectl would ask when nothing is named', async () => {
    const { where } = await hubWith([secret('alive')]);
    const home = mkdtempSync(join(folder, 'home-'));
    mkdirSync(join(home, '.kube'));
    copyFileSync(where[where.indexOf('--kubeconfig') + 1] ?? '', join(home, '.kube', 'config'));
    const { shown } = await noted<Shown>(['-n', 'argocd'], { HOME: home });
    expect(shown.assignments.map(({ name }) => name).sort()).toEqual(['alive', 'in-cluster']);
  });

  it('weighs live events, as the replicas report them', async () => {
    const member = {
      slot: 0,
      holder: 'ctl-0',
      incarnation: 'p/0',
      renewals: 1,
      acked: 0,
      load: { 'https://alive': 32 },
    };
    const slots = configMap('argocd-app-controller-shard-cm', {
      shardControllerMapping: '[{"ShardNumber":0,"ControllerName":"ctl-0","HeartbeatTime":null}]',
      driftlessMembers: JSON.stringify([member]),
    });
    const { where } = await hubWith([secret('alive'), ...apps(8, { name: 'alive' }), slots]);
    const weightOf = async (weights: string): Promise<number> => {
      const { weightLoad } = await json<{ readonly weightLoad?: readonly number[] }>(
        ...where,
        '--cluster-weights',
        weights,
      );
      return sum(weightLoad ?? [0]);
    };
    expect(await weightOf('measured')).toBeGreaterThan(8 + 32);
    expect(await weightOf('applications')).toBe(0);
  });
});

describe('the number of replicas and the algorithm of a live hub', () => {
  it('are those of the workload and of argocd-cmd-params-cm', async () => {
    const { hub, where } = await hubWith([
      secret('one'),
      workload('Deployment', 4),
      workload('StatefulSet', 6, 'mine'),
    ]);
    const found = async (args: string[] = [], more = {}): Promise<readonly [number, string]> => {
      const { shown, notes } = await noted<Shown>([...where, ...args], more);
      expect(notes).toEqual([]);
      return [shown.replicas, shown.algorithm];
    };
    expect(await found()).toEqual([4, 'legacy']);
    expect(await found(['--controller-name', 'mine'])).toEqual([6, 'legacy']);
    expect(await found([], { ARGOCD_APPLICATION_CONTROLLER_NAME: 'none' })).toEqual([1, 'legacy']);
    const make = (object: Obj): void => void hub.store.create(object as unknown as KubeObject);
    make(workload('StatefulSet', 5));
    make(configMap('argocd-cmd-params-cm', { 'controller.sharding.algorithm': 'round-robin' }));
    expect(await found()).toEqual([5, 'round-robin']);
    expect(await found([], { ARGOCD_CONTROLLER_REPLICAS: '0' })).toEqual([5, 'round-robin']);
    expect(await found(['--replicas', '2', '--sharding-method', 'legacy'])).toEqual([2, 'legacy']);
    expect(await found([], { ARGOCD_CONTROLLER_REPLICAS: '3' })).toEqual([3, 'round-robin']);
    const plan = await json<Plan>('plan', ...where, '--to-replicas', '6');
    expect(plan.from).toEqual({ algorithm: 'round-robin', replicas: 5, source: 'computed' });
  });

  it('fall back to defaults where they may not be read, which is said in one line', async () => {
    const { hub, where } = await hubWith([secret('one'), workload('StatefulSet', 5)]);
    const forbidden = { kind: 'status', code: 403, message: 'forbidden: no' } as const;
    const rules: readonly FaultRule[] = ['configmaps', 'statefulsets', 'deployments'].map((resource) => ({
      verb: 'get',
      resource,
      fault: forbidden,
    }));
    for (const rule of rules) hub.addFault(rule);
    const { shown, notes } = await noted<Shown>(where);
    expect([shown.replicas, shown.algorithm, clusterNames(shown)]).toEqual([1, 'legacy', ['in-cluster', 'one']]);
    expect(notes).toEqual([
      expect.stringMatching(/^not permitted to read ConfigMap argocd-cm, .*driftless-ownership, StatefulSet .*: using/),
    ]);
    // A replica count from the flag is not read from the hub.
    expect((await noted<Shown>([...where, '--replicas', '3'])).notes.join()).not.toContain('StatefulSet');
  });

  it('but clusters that may not be read are an error', async () => {
    const { hub, where } = await hubWith([secret('one')]);
    const message =
      'secrets is forbidden: User "u" cannot list resource "secrets" in API group "" in the namespace "argocd"';
    hub.addFault({ resource: 'secrets', fault: { kind: 'status', code: 403, message } });
    const { code, stdout, stderr } = await driftless(['shards', ...where], { env });
    expect([code, stdout, stderr.trimEnd().split('\n')]).toEqual([1, '', [`driftless: ${message}`]]);
  });
});

describe('the table that the controller has published', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const off = configMap('argocd-cm', { 'cluster.inClusterEnabled': 'false' });
  const fleet = [off, ...names.map((name) => secret(name)), ...names.flatMap((name) => apps(4, { name }))];
  /** A table shaped by history: no fresh table has its clusters in this order. */
  const history = (shards: readonly number[], more: Obj = {}): Readonly<Record<string, Obj>> =>
    Object.fromEntries(names.map((name, i) => [`https://${name}`, { names: [name], shards: [shards[i]], ...more }]));
  const published = table(3, 'consistent-hashing', history([0, 1, 2, 0, 1, 2]));
  const asPublished = { a: 0, b: 1, c: 2, d: 0, e: 1, f: 2 };

  it('is what is shown, unless something else is asked for', async () => {
    const { where } = await hubWith([...fleet, workload('StatefulSet', 9), published]);
    const shown = await json<Shown>(...where);
    expect([shown.source, shown.replicas, shown.algorithm]).toEqual(['published', 3, 'consistent-hashing']);
    expect(shardsByName(shown)).toEqual(asPublished);
    const named = await json<Shown>(...where, '--replicas', '3', '--algorithm', 'consistent-hashing');
    expect([named.source, shardsByName(named)]).toEqual(['published', asPublished]);
    const more = await json<Shown>(...where, '--replicas', '4');
    expect([more.source, more.replicas, more.algorithm]).toEqual(['computed', 4, 'consistent-hashing']);
    const other = await json<Shown>(...where, '--algorithm', 'round-robin');
    expect([other.source, other.replicas, other.load]).toEqual(['computed', 3, [8, 8, 8]]);
  });

  it('is where a plan starts', async () => {
    const { where } = await hubWith([...fleet, published]);
    const plan = await json<Plan>('plan', ...where, '--to-replicas', '4');
    expect(plan.from).toEqual({ algorithm: 'consistent-hashing', replicas: 3, source: 'published' });
    const from = Object.fromEntries(plan.moves.map((move) => [move.name, move.from]));
    expect(asPublished).toMatchObject(from);
    // For another number, it shows the table that the controller would compute from its own.
    const more = await json<Shown>(...where, '--replicas', '4');
    const to = Object.fromEntries(plan.moves.map((move) => [move.name, move.to]));
    expect([plan.load, shardsByName(more)]).toEqual([more.load, { ...asPublished, ...to }]);
    const same = await json<Plan>('plan', ...where, '--to-replicas', '3');
    expect(same.moved).toBe(0);
    const named = await json<Plan>(
      ...['plan', ...where, '--from-replicas', '3', '--from-algorithm', 'consistent-hashing', '--to-replicas', '4'],
    );
    expect(named).toEqual(plan);
  });

  it('is named as such for people, or what was computed instead', async () => {
    const { hub, where } = await hubWith([...fleet, published]);
    const heading = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await driftless(['shards', ...args], { env });
      expect(code).toBe(0);
      return stderr.trimEnd();
    };
    expect(await heading(...where)).toBe(
      'driftless: the published table (ConfigMap argocd/driftless-ownership): consistent-hashing, 3 replicas',
    );
    expect(await heading(...where, '--replicas', '4')).toBe(
      'driftless: computed for consistent-hashing, 4 replicas: what the controller would make of the published table (consistent-hashing, 3 replicas)',
    );
    expect(await heading('plan', ...where, '--to-replicas', '4')).toContain('the published table (');
    hub.store.delete('', 'ConfigMap', 'argocd', 'driftless-ownership');
    expect(await heading(...where)).toBe(
      'driftless: computed for legacy, 1 replica: no table is published in namespace argocd',
    );
  });

  it('may lack a cluster, have parts as the controller was told, and stand-ins for a replica that is gone', async () => {
    const clusters = {
      'https://a': { names: ['a'], shards: [1, 1], homes: [1, 2] },
      'https://b': { names: ['b'], shards: [1] },
    };
    const { where } = await hubWith([...fleet, table(3, 'consistent-hashing', clusters)]);
    const shown = await json<Shown>(...where);
    expect(
      shown.assignments
        .slice()
        .sort((x, y) => (x.name < y.name ? -1 : 1))
        .slice(0, 3),
    ).toMatchObject([
      { name: 'a (part 1 of 2)', shard: 1 },
      { name: 'a (part 2 of 2)', shard: 2, standIn: 1 },
      { name: 'b', shard: 1 },
    ]);
    expect(shown.assignments).toHaveLength(7);
    expect(sum(shown.load)).toBe(24);
    const { stdout } = await driftless(['shards', ...where], { env });
    expect(stdout).toMatch(/^2 \(now with 1\) +a \(part 2 of 2\)/m);
  });

  it('when it is broken, is computed, and that is said', async () => {
    const { where } = await hubWith([...fleet, configMap('driftless-ownership', { table: '{"epoch":' })]);
    const { shown, notes } = await noted<Shown>(where);
    expect(shown.source).toBe('computed');
    expect(notes).toEqual([
      expect.stringMatching(/^ConfigMap argocd\/driftless-ownership cannot be read, computing the table: /),
    ]);
  });
});

describe('a controller that runs', () => {
  it('does what the plan said when it is scaled', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `c${i}`);
    const params = configMap('argocd-cmd-params-cm', { 'controller.sharding.algorithm': 'consistent-hashing' });
    const many = names.flatMap((name, i) => apps(1 + ((i * 7) % 5), { name }));
    const { hub, where } = await hubWith([
      params,
      workload('StatefulSet', 3),
      ...names.map((name) => secret(name)),
      ...many,
    ]);
    const program = new Program([
      ...['run', ...where, '--hostname', 'controller-0', '--sharding-method', 'consistent-hashing'],
      ...[
        '--metrics-port',
        '0',
        '--metrics-host',
        '127.0.0.1',
        '--api-port',
        '0',
        '--cache-dir',
        join(folder, 'cache'),
      ],
    ]);
    try {
      const publishedFor = (replicas: number): Promise<void> =>
        eventually(() => {
          const data = hub.store.get('', 'ConfigMap', 'argocd', 'driftless-ownership')?.['data'] ?? {};
          expect(JSON.stringify(data)).toContain(`\\"replicas\\":${replicas},`);
        }, 30_000);
      await publishedFor(3);
      const now = await json<Shown>(...where);
      expect([now.source, now.replicas, now.algorithm]).toEqual(['published', 3, 'consistent-hashing']);
      const plan = await json<Plan>('plan', ...where, '--to-replicas', '5');
      const set = hub.store.get('apps', 'StatefulSet', 'argocd', 'argocd-application-controller');
      hub.store.update({ ...set, spec: { ...(set?.['spec'] as Obj), replicas: 5 } } as unknown as KubeObject);
      await publishedFor(5);
      const then = await json<Shown>(...where);
      const to = Object.fromEntries(plan.moves.map((move) => [move.name, move.to]));
      expect(plan.moved).toBeGreaterThan(0);
      expect([then.source, shardsByName(then), then.load]).toEqual([
        'published',
        { ...shardsByName(now), ...to },
        plan.load,
      ]);
    } finally {
      await program.stop();
    }
  }, 90_000);
});
