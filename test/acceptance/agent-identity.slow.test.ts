import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { driftless, eventually, Program } from '#support';
import { GitFixture } from './world.ts';

const testTimeoutMs = 120_000;

let root: string;
let repo: GitFixture;
let cluster: SimCluster;
let deleted: string[];
let running: Program[];

const manifest = (name: string, value = '1'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {key: "${value}"}\n`;

const get = (namespace: string, name: string): KubeObject | undefined =>
  cluster.store.get('', 'ConfigMap', namespace, name);
const valueOf = (namespace: string, name: string): unknown =>
  (get(namespace, name)?.['data'] as { readonly key?: string } | undefined)?.key;

const markAnnotation = 'argocd.argoproj.io/installation-id';
const markOf = (name: string): RegExp => new RegExp(`^driftless-agent/${name}/[0-9a-f]{16}$`);

let caches = 0;

function flags(...more: readonly string[]): readonly string[] {
  caches += 1;
  const own = ['--cache-dir', join(root, `cache-${caches}`), '--metrics-port=0', '--interval=1s'];
  return ['agent', '--kubeconfig', join(root, 'kubeconfig'), ...own, ...more];
}

function start(...more: readonly string[]): Program {
  const program = new Program(flags('--prune', '--self-heal', ...more));
  running.push(program);
  return program;
}

const folder = (path: string): readonly string[] => ['--repo', repo.url, '--path', path, '--revision', 'main'];

async function startCluster(): Promise<SimCluster> {
  const started = await startSimCluster({ name: 'target', clock: systemClock, random: systemRandom });
  for (const name of ['staging', 'prod'])
    started.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return started;
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'driftless-agent-'));
  repo = new GitFixture(root, 'repository');
  repo.commit({
    'app/one.yaml': manifest('one'),
    'app/two.yaml': manifest('two'),
    'other/three.yaml': manifest('three'),
  });
  cluster = await startCluster();
  deleted = [];
  cluster.store.subscribe(({ type, object: { kind, metadata } }) => {
    if (type === 'DELETED') deleted.push(`${kind} ${metadata.namespace ?? ''}/${metadata.name ?? ''}`);
  });
  writeFileSync(join(root, 'kubeconfig'), kubeconfigFor([cluster]));
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((program) => program.stop('SIGTERM')));
  await cluster.close();
  rmSync(root, { recursive: true });
});

describe('the identity of an agent', () => {
  it(
    'keeps one folder in two namespaces without a deletion in either',
    async () => {
      start(...folder('app'), '--namespace=staging');
      start(...folder('app'), '--namespace=prod');
      for (const version of ['1', '2', '3']) {
        repo.commit({ 'app/one.yaml': manifest('one', version), 'app/added.yaml': manifest(`added-${version}`) });
        for (const namespace of ['staging', 'prod'])
          await eventually(() =>
            expect([
              valueOf(namespace, 'one'),
              valueOf(namespace, 'two'),
              valueOf(namespace, `added-${version}`),
            ]).toEqual([version, '1', '1']),
          );
      }
      const pruned = ['staging', 'prod'].flatMap((each) => [`ConfigMap ${each}/added-1`, `ConfigMap ${each}/added-2`]);
      await eventually(() =>
        expect(deleted.filter((each) => each.startsWith('ConfigMap')).sort()).toEqual(pruned.sort()),
      );
    },
    testTimeoutMs,
  );

  it(
    'refuses a name of another namespace and folder, deletes nothing, and names the command that takes it over',
    async () => {
      expect((await driftless(flags('--once', '--name=shop', ...folder('app'), '--namespace=staging'))).code).toBe(0);
      const other = ['--once', '--prune', '--name=shop', ...folder('other'), '--namespace=prod'];
      const { code, stderr } = await driftless(flags(...other));
      expect([deleted, code]).toEqual([[], 1]);
      expect(stderr).toContain('the name shop belongs to');
      expect(valueOf('prod', 'three')).toBeUndefined();
      runAnnotate(/kubectl annotate .*$/m.exec(stderr)?.[0] ?? '');
      expect((await driftless(flags(...other))).code).toBe(0);
      // Taken over on purpose: this folder has other objects.
      expect(deleted.sort()).toEqual(['ConfigMap staging/one', 'ConfigMap staging/two']);
      expect(valueOf('prod', 'three')).toBe('1');
    },
    testTimeoutMs,
  );

  it(
    'belongs to one cluster: two clusters have an agent each',
    async () => {
      const second = await startCluster();
      try {
        writeFileSync(join(root, 'second'), kubeconfigFor([second]));
        start('--name=shop', ...folder('app'), '--namespace=prod');
        start('--name=shop', ...folder('app'), '--namespace=prod', '--kubeconfig', join(root, 'second'));
        for (const { store } of [cluster, second])
          await eventually(() => expect(store.get('', 'ConfigMap', 'prod', 'two')).toBeDefined());
        const marks = [cluster, second].map(
          ({ store }) => store.get('', 'ConfigMap', 'prod', 'two')?.metadata.annotations?.[markAnnotation],
        );
        expect(marks).toEqual([expect.stringMatching(markOf('shop')), expect.stringMatching(markOf('shop'))]);
        expect(new Set(marks).size).toBe(2);
      } finally {
        await Promise.all(running.map((program) => program.stop('SIGTERM')));
        await second.close();
      }
    },
    testTimeoutMs,
  );

  it(
    'takes over the objects of version 0.2 without a prune, and prunes its own from then on',
    async () => {
      formerInstallation('prod', ['one', 'two', 'left-behind']);
      const agent = start('--name=shop', ...folder('app'), '--namespace=prod');
      await eventually(() => expect(agent.stdout).toContain('Synced, Healthy'));
      const marks = ['one', 'two'].map((name) => get('prod', name)?.metadata.annotations?.[markAnnotation]);
      expect(marks).toEqual([expect.stringMatching(markOf('shop')), expect.stringMatching(markOf('shop'))]);
      expect(cluster.store.get('coordination.k8s.io', 'Lease', 'prod', 'driftless-agent-shop')).toBeUndefined();
      repo.commit({ 'app/two.yaml': null });
      await eventually(() => expect(get('prod', 'two')).toBeUndefined());
      expect(deleted).toEqual(['Lease prod/driftless-agent-shop', 'ConfigMap prod/two']);
      expect(get('prod', 'left-behind')?.metadata.deletionTimestamp).toBeUndefined();
      expect(get('prod', 'left-behind')?.metadata.name).toBe('left-behind');
    },
    testTimeoutMs,
  );

  it(
    'ends its agent when the record is deleted, deletes nothing, and continues under the same mark',
    async () => {
      const agent = start(...folder('app'), '--namespace=prod', '--name=shop');
      await eventually(() => expect(agent.stdout).toContain('Synced, Healthy'));
      const mark = get('prod', 'two')?.metadata.annotations?.[markAnnotation];
      cluster.store.delete('coordination.k8s.io', 'Lease', 'driftless-agent', 'agent-shop');
      const { code, stderr } = await agent.ended;
      expect(code).toBe(1);
      expect(stderr).toContain('lost lease/agent-shop in namespace driftless-agent (it was deleted)');
      expect(deleted).toEqual(['Lease driftless-agent/agent-shop']);
      repo.commit({ 'app/one.yaml': null });
      start(...folder('app'), '--namespace=prod', '--name=shop');
      await eventually(() => expect(get('prod', 'one')).toBeUndefined());
      expect(get('prod', 'two')?.metadata.annotations?.[markAnnotation]).toBe(mark);
    },
    testTimeoutMs,
  );

  it(
    'is lost by a frozen process, which writes nothing when it thaws',
    async () => {
      const frozen = start(...folder('app'), '--namespace=prod', '--name=shop');
      await eventually(() => expect(frozen.stdout).toContain('Synced, Healthy'));
      frozen.child.kill('SIGSTOP');
      try {
        start(...folder('app'), '--namespace=prod', '--name=shop');
        repo.commit({ 'app/one.yaml': manifest('one', '2'), 'app/new.yaml': manifest('new') });
        await eventually(() => expect([valueOf('prod', 'one'), valueOf('prod', 'new')]).toEqual(['2', '1']));
        const { resourceVersion } = get('prod', 'new')!.metadata;
        frozen.child.kill('SIGCONT');
        const { code, stderr } = await frozen.ended;
        expect([code, stderr]).toEqual([1, expect.stringContaining('lost lease/agent-shop')]);
        expect([get('prod', 'new')?.metadata.resourceVersion, deleted]).toEqual([resourceVersion, []]);
      } finally {
        frozen.child.kill('SIGCONT');
      }
    },
    testTimeoutMs,
  );

  it(
    'is not in reach of its own folder: its record and their namespace are never pruned',
    async () => {
      const lease = (name: string): string =>
        `apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: ${name}, namespace: driftless-agent}\nspec: {holderIdentity: thief}\n`;
      const namespace = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: driftless-agent, labels: {team: one}}\n';
      const own = { 'own/lease.yaml': lease('agent-shop'), 'own/namespace.yaml': namespace };
      repo.commit({ ...own, 'own/one.yaml': manifest('one') });
      const agent = start(...folder('own'), '--namespace=prod', '--name=shop');
      const labelsOf = (): unknown => cluster.store.get('', 'Namespace', '', 'driftless-agent')?.metadata.labels;
      await eventually(() =>
        expect([valueOf('prod', 'one'), labelsOf()]).toEqual(['1', expect.objectContaining({ team: 'one' })]),
      );
      repo.commit({ 'own/lease.yaml': null, 'own/namespace.yaml': null, 'own/one.yaml': manifest('one', '2') });
      await eventually(() => expect(valueOf('prod', 'one')).toBe('2'));
      await eventually(() => expect(agent.stdout).toMatch(/driftless-agent.*(?:Prune|not pruned)/i));
      const record = cluster.store.get('coordination.k8s.io', 'Lease', 'driftless-agent', 'agent-shop');
      expect(record?.['spec']).not.toMatchObject({ holderIdentity: 'thief' });
      expect([deleted, agent.child.exitCode]).toEqual([[], null]);
    },
    testTimeoutMs,
  );
});

/** The Lease and objects of version 0.2. The folder no longer has all of them. */
function formerInstallation(namespace: string, names: readonly string[]): void {
  const { store } = cluster;
  store.create({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: 'driftless-agent-shop',
      namespace,
      annotations: { 'driftless.io/agent-source': `${repo.url}#app` },
    },
    spec: { holderIdentity: '', leaseDurationSeconds: 30 },
  });
  for (const name of names)
    store.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name,
        namespace,
        annotations: {
          'argocd.argoproj.io/tracking-id': `shop:/ConfigMap:${namespace}/${name}`,
          [markAnnotation]: 'driftless-agent-shop',
        },
      },
      data: { key: '1' },
    });
}

/** Carries out the `kubectl annotate` of a message. */
function runAnnotate(command: string): void {
  const [, namespace = '', name = '', rest = ''] = /-n (\S+) lease\/(\S+) (.*)$/.exec(command) ?? [];
  const found = cluster.store.get('coordination.k8s.io', 'Lease', namespace, name);
  const added = Object.fromEntries(
    rest.split(' ').map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  );
  expect(Object.keys(added)).toHaveLength(3);
  cluster.store.update({
    ...found!,
    metadata: { ...found!.metadata, annotations: { ...found!.metadata.annotations, ...added } },
  });
}
