import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { driftless } from '#support';
import type { ProgramResult } from '#support';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';

const markAnnotation = 'argocd.argoproj.io/installation-id';
const testTimeoutMs = 120_000;

interface ConfigMap {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: { readonly value?: string };
}

const manifest = (name: string, value = '1', namespace?: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}${namespace === undefined ? '' : `, namespace: ${namespace}`}}\ndata: {value: "${value}"}\n---\n`;
const namespaceManifest = (name: string): string => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n---\n`;

describe('the identity of driftless agent on a real API server', () => {
  let world: Servers<'target'>;
  let target: Server;
  let double: ClusterDouble;
  let caches = 0;

  beforeAll(async () => {
    world = await startServers({ names: ['target'] });
    ({ target } = world.servers);
    double = await startDouble(target.access);
    for (const name of ['staging', 'prod', 'team']) await target.kubectl(['create', 'namespace', name]);
  }, testTimeoutMs);
  afterAll(async () => {
    await double.stop();
    await world.close();
  }, testTimeoutMs);

  /** Writes a folder anew. */
  function folder(name: string, files: Readonly<Record<string, string>>): string {
    const path = join(world.folder, name);
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path);
    for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
    return path;
  }

  function flags(path: string, more: readonly string[]): readonly string[] {
    caches += 1;
    const own = ['--cache-dir', join(world.folder, `cache-${caches}`), '--metrics-port=0', '--interval=1s', '--prune'];
    return ['agent', '--kubeconfig', target.kubeconfig, '--repo', path, ...own, ...more];
  }

  const once = (path: string, ...more: readonly string[]): Promise<ProgramResult> =>
    driftless(flags(path, ['--once', '--timeout=60s', ...more]));

  const read = (namespace: string, name: string): Promise<ConfigMap | undefined> =>
    target.api.get<ConfigMap>(`/api/v1/namespaces/${namespace}/configmaps/${name}`);
  const valueOf = async (namespace: string, name: string): Promise<unknown> =>
    (await read(namespace, name))?.data?.value;

  it(
    'refuses a name that is bound to another folder, and the printed command takes it over',
    async () => {
      expect(
        (await once(folder('a', { 'all.yaml': manifest('of-a') }), '--name=bound', '--namespace=staging')).code,
      ).toBe(0);
      const other = folder('b', { 'all.yaml': manifest('of-b') });
      const refused = await once(other, '--name=bound', '--namespace=prod');
      expect([refused.code, await valueOf('staging', 'of-a'), await read('prod', 'of-b')]).toEqual([1, '1', undefined]);
      const command = /kubectl (annotate .*)$/m.exec(refused.stderr)?.[1] ?? '';
      await target.kubectl(command.split(' '));
      expect((await once(other, '--name=bound', '--namespace=prod')).code).toBe(0);
      expect([await read('staging', 'of-a'), await valueOf('prod', 'of-b')]).toEqual([undefined, '1']);
    },
    testTimeoutMs,
  );

  it(
    'needs no cluster-wide rights but those to its record, and applies nothing without them',
    async () => {
      await target.kubectl(['create', 'serviceaccount', 'limited', '-n', 'team']);
      const bind = async (namespace: string, role: readonly string[]): Promise<void> => {
        await target.kubectl(['create', 'role', 'limited', '-n', namespace, ...role]);
        await target.kubectl([
          'create',
          'rolebinding',
          'limited',
          '-n',
          namespace,
          '--role=limited',
          '--serviceaccount=team:limited',
        ]);
      };
      await bind('team', ['--verb=*', '--resource=configmaps']);
      const kubeconfig = target.kubeconfigFor(await target.as('team', 'limited'));
      const limited = ['--namespaces=team', '--namespace=team', '--kubeconfig', kubeconfig];
      const path = folder('limited', { 'all.yaml': manifest('limited') });
      const refused = await once(path, ...limited);
      expect([refused.code, await read('team', 'limited')]).toEqual([1, undefined]);
      expect(refused.stderr).toMatch(
        /nothing was applied or pruned: .*forbidden.*The agent needs get, create and update on leases/,
      );
      await bind('driftless-agent', ['--verb=get,create,update', '--resource=leases.coordination.k8s.io']);
      expect([(await once(path, ...limited)).stderr, await valueOf('team', 'limited')]).toEqual(['', '1']);
    },
    testTimeoutMs,
  );

  // https://github.com/kubernetes-sigs/cli-utils/issues/274
  it(
    'keeps a Namespace that left the folder while the folder still has objects in it',
    async () => {
      const objects = manifest('kept', '1', 'inner');
      const path = folder('inner', { 'namespace.yaml': namespaceManifest('inner'), 'objects.yaml': objects });
      expect((await once(path, '--namespace=inner')).code).toBe(0);
      const { uid } = (await read('inner', 'kept'))!.metadata;
      folder('inner', { 'objects.yaml': objects });
      const result = await once(path, '--namespace=inner', '--timeout=15s');
      expect((await read('inner', 'kept'))?.metadata.uid).toBe(uid);
      expect(await target.kubectl(['get', 'namespace', 'inner', '-o', 'jsonpath={.status.phase}'])).toBe('Active');
      expect(result.stderr).toContain('inner');
    },
    testTimeoutMs,
  );

  // https://github.com/fluxcd/flux2/issues/3316
  it(
    'deletes nothing when the name of an agent changes',
    async () => {
      const path = folder('renamed', { 'all.yaml': manifest('renamed') });
      expect((await once(path, '--namespace=prod', '--name=before')).code).toBe(0);
      const before = await read('prod', 'renamed');
      expect((await once(path, '--namespace=prod', '--name=after')).code).toBe(0);
      const renamed = await read('prod', 'renamed');
      expect(renamed?.metadata.uid).toBe(before?.metadata.uid);
      expect(renamed?.metadata.annotations?.[markAnnotation]).toMatch(/^driftless-agent\/after\//);
      // The old name keeps its record, and must not prune what the new one has.
      folder('renamed', { 'other.yaml': manifest('other') });
      expect((await once(path, '--namespace=prod', '--name=before')).code).toBe(0);
      expect((await read('prod', 'renamed'))?.metadata.uid).toBe(before?.metadata.uid);
    },
    testTimeoutMs,
  );

  // https://github.com/fluxcd/kustomize-controller/issues/338
  it(
    'keeps an object that moves to the folder of another agent',
    async () => {
      const from = folder('from', { 'all.yaml': manifest('moved') + manifest('stays') });
      const to = folder('to', { 'all.yaml': manifest('other-one') });
      for (const path of [from, to]) expect((await once(path, '--namespace=prod')).code).toBe(0);
      const before = await read('prod', 'moved');
      folder('to', { 'all.yaml': manifest('moved') + manifest('other-one') });
      expect((await once(to, '--namespace=prod')).code).toBe(0);
      folder('from', { 'all.yaml': manifest('stays') });
      expect((await once(from, '--namespace=prod')).code).toBe(0);
      expect((await read('prod', 'moved'))?.metadata.uid).toBe(before?.metadata.uid);
    },
    testTimeoutMs,
  );

  it(
    'creates the namespace of its objects first, if the folder has it',
    async () => {
      const path = folder('fresh', {
        'z-namespace.yaml': namespaceManifest('fresh'),
        'all.yaml': manifest('in-fresh'),
      });
      const result = await once(path, '--namespace=fresh');
      expect([result.code, result.stderr, await valueOf('fresh', 'in-fresh')]).toEqual([0, '', '1']);
    },
    testTimeoutMs,
  );

  it('leaves nothing but records in its namespace', async () => {
    const names = await target.kubectl(['get', 'leases', '-n', 'driftless-agent', '-o', 'name']);
    const left = names
      .split('\n')
      .filter((name) => name !== '' && !name.startsWith('lease.coordination.k8s.io/agent-'));
    expect(left).toEqual([]);
  });
});
