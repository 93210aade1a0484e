import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startGitServer, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { driftless, eventually, Program } from '#support';
import { freePorts, runCommandLine } from '../../cli/testing/index.ts';
import { GitFixture } from './world.ts';

const testTimeoutMs = 90_000;

let root: string;
let repo: GitFixture;
let cluster: SimCluster;
let running: Program[];
let archives: ReturnType<typeof createServer>;
let archive: Buffer;

function manifest(name: string, value: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {key: "${value}"}\n`;
}

function get(name: string, kind = 'ConfigMap'): KubeObject | undefined {
  return cluster.store.get('', kind, 'default', name);
}

const valueOf = (name: string): unknown => (get(name)?.['data'] as { readonly key?: string } | undefined)?.key;

function flags(...more: readonly string[]): readonly string[] {
  const kubeconfig = join(root, 'kubeconfig');
  return ['agent', '--kubeconfig', kubeconfig, '--cache-dir', join(root, 'cache'), '--metrics-port=0', ...more];
}

function start(...more: readonly string[]): Program {
  const program = new Program(flags('--interval=1s', ...more));
  running.push(program);
  return program;
}

const leaseOf = (name: string): KubeObject | undefined =>
  cluster.store.get('coordination.k8s.io', 'Lease', 'driftless-agent', `agent-${name}`);

/** Serves the repositories below `root`, and records when their refs are listed. */
async function countingGitServer(
  root: string,
): Promise<{ readonly url: string; readonly askedAt: number[]; close(): Promise<void> }> {
  const git = await startGitServer(root);
  const askedAt: number[] = [];
  const front = createServer((request, response) => {
    if (request.url?.includes('/info/refs') === true) askedAt.push(performance.now());
    const { method, headers } = request;
    const inner = forward(`${git.url}${request.url ?? ''}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    inner.on('error', () => response.destroy());
    request.pipe(inner);
  });
  await new Promise<void>((resolve) => void front.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    askedAt,
    close: async () => {
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
      await git.close();
    },
  };
}

const folder = (): readonly string[] => ['--repo', repo.url, '--path', 'app', '--revision', 'main'];

beforeAll(async () => {
  archives = createServer((_request, response) => response.end(archive));
  await new Promise<void>((resolve) => void archives.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void archives.close());

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'driftless-agent-'));
  repo = new GitFixture(root, 'repository');
  repo.commit({ 'app/one.yaml': manifest('one', '1'), 'app/two.yaml': manifest('two', '1') });
  cluster = await startSimCluster({ name: 'target', clock: systemClock, random: systemRandom });
  writeFileSync(join(root, 'kubeconfig'), kubeconfigFor([cluster]));
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((program) => program.stop('SIGTERM')));
  await cluster.close();
  rmSync(root, { recursive: true });
});

describe('driftless agent', () => {
  it(
    'applies a folder of Git once, without any CRD of Argo CD in the cluster',
    async () => {
      const { code, stdout, stderr } = await driftless(flags('--once', ...folder()));
      expect([code, stderr]).toEqual([0, '']);
      expect([valueOf('one'), valueOf('two')]).toEqual(['1', '1']);
      expect(stdout).toMatch(/^Synced, Healthy at [0-9a-f]{8}; Succeeded: successfully synced/m);
      const kinds = cluster.store.list('apiextensions.k8s.io', 'CustomResourceDefinition');
      expect(kinds).toEqual([]);
    },
    testTimeoutMs,
  );

  it(
    'repairs drift, follows commits and prunes what is its own',
    async () => {
      cluster.store.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'foreign', namespace: 'default' },
        data: { key: 'theirs' },
      });
      start('--prune', '--self-heal', ...folder());
      await eventually(() => expect(valueOf('two')).toBe('1'));
      cluster.store.update({ ...get('one')!, data: { key: 'drift' } });
      await eventually(() => expect(valueOf('one')).toBe('1'));
      cluster.store.delete('', 'ConfigMap', 'default', 'two');
      await eventually(() => expect(valueOf('two')).toBe('1'));
      repo.commit({ 'app/one.yaml': manifest('one', '2'), 'app/two.yaml': null });
      await eventually(() => expect([valueOf('one'), get('two')]).toEqual(['2', undefined]));
      expect(valueOf('foreign')).toBe('theirs');
    },
    testTimeoutMs,
  );

  it(
    'neither prunes nor repairs unless it is asked to',
    async () => {
      const program = start(...folder());
      await eventually(() => expect(valueOf('two')).toBe('1'));
      cluster.store.update({ ...get('one')!, data: { key: 'drift' } });
      repo.commit({ 'app/two.yaml': null, 'app/three.yaml': manifest('three', '1') });
      await eventually(() => expect(valueOf('three')).toBe('1'));
      await eventually(() => expect(program.stdout).toContain('ConfigMap default/two: OutOfSync'));
      expect(valueOf('two')).toBe('1');
    },
    testTimeoutMs,
  );

  it(
    'follows a directory that is no repository',
    async () => {
      execFileSync('mkdir', ['-p', join(root, 'plain')]);
      writeFileSync(join(root, 'plain', 'one.yaml'), manifest('one', '1'));
      start('--repo', join(root, 'plain'));
      await eventually(() => expect(valueOf('one')).toBe('1'));
      writeFileSync(join(root, 'plain', 'one.yaml'), manifest('one', '2'));
      await eventually(() => expect(valueOf('one')).toBe('2'));
    },
    testTimeoutMs,
  );

  it(
    'applies an archive with the right digest, nothing of one with another, and the next version',
    async () => {
      archive = execFileSync('tar', ['-C', join(repo.path, 'app'), '-czf', '-', '.']);
      const digest = `sha256:${createHash('sha256').update(archive).digest('hex')}`;
      const url = `http://127.0.0.1:${(archives.address() as AddressInfo).port}/app.tgz`;
      const given = ['--once', '--name=shop', '--archive'];
      const wrong = await driftless(flags(...given, url, '--digest', `sha256:${'0'.repeat(64)}`));
      expect(wrong.code).toBe(1);
      expect(wrong.stderr).toContain(`the archive has the digest ${digest}, not sha256:000`);
      expect(get('one')).toBeUndefined();
      const right = await driftless(flags(...given, url, '--digest', digest));
      expect([right.code, valueOf('one')]).toEqual([0, '1']);
      repo.commit({ 'app/one.yaml': manifest('one', '2'), 'app/two.yaml': null });
      archive = execFileSync('tar', ['-C', join(repo.path, 'app'), '-czf', '-', '.']);
      const next = `sha256:${createHash('sha256').update(archive).digest('hex')}`;
      const later = await driftless(flags('--prune', ...given, `${url}?version=2`, '--digest', next));
      expect([later.code, valueOf('one'), get('two')]).toEqual([0, '2', undefined]);
    },
    testTimeoutMs,
  );

  it(
    'asks Git at each interval, and at once when its record is annotated',
    async () => {
      const git = await countingGitServer(root);
      try {
        const here = ['--repo', `${git.url}/repository`, '--path', 'app', '--revision', 'main'];
        const fast = start('--interval=3s', ...here);
        await eventually(() => expect(git.askedAt.length).toBeGreaterThan(7));
        await fast.stop('SIGTERM');
        const intervals = git.askedAt.slice(2).map((at, index) => (at - (git.askedAt[index + 1] ?? 0)) / 3000);
        expect(Math.max(...intervals)).toBeLessThan(1.6);
        start('--interval=10h', '--name=asked', ...here);
        await eventually(() => expect(leaseOf('asked')).toBeDefined());
        await eventually(() => expect(running.at(-1)?.stdout).toContain('Synced, Healthy'));
        repo.commit({ 'app/one.yaml': manifest('one', 'refreshed') });
        const { metadata, ...rest } = leaseOf('asked')!;
        const annotations = { ...metadata.annotations, 'driftless.io/refresh': 'now' };
        cluster.store.update({ ...rest, metadata: { ...metadata, annotations } });
        await eventually(() => expect(valueOf('one')).toBe('refreshed'));
      } finally {
        await git.close();
      }
    },
    testTimeoutMs,
  );

  it(
    'refuses a repository on loopback, and names a flag that it has',
    async () => {
      const env = { DRIFTLESS_ALLOW_LOCAL_SOURCES: '' };
      const local = ['--once', '--timeout=15s', '--repo', 'http://127.0.0.1:1/shop.git'];
      const { code, stderr } = await driftless(flags(...local), { env });
      expect([code, stderr]).toEqual([1, expect.stringContaining('--allow-local-sources permits it')]);
      const allowed = await driftless(flags('--allow-local-sources', ...local), { env });
      expect(allowed.stderr).not.toContain('is a loopback address');
    },
    testTimeoutMs,
  );

  it(
    'takes sync options, ignored differences, exclusions and health scripts from a file',
    async () => {
      const config = join(root, 'driftless-agent.yaml');
      const lines = [
        'syncOptions: [CreateNamespace=true]',
        'ignoreDifferences: [{kind: ConfigMap, name: one, jsonPointers: [/data/key]}]',
        'exclusions: [{kinds: [Secret]}]',
        'health:\n  ConfigMap: |\n    return {status = "Progressing", message = "by script"}',
      ];
      writeFileSync(config, lines.join('\n'));
      repo.commit({ 'app/secret.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: excluded}\n' });
      const program = start('--self-heal', '--namespace=made', '--config', config, ...folder());
      const inMade = (name: string, kind = 'ConfigMap'): KubeObject | undefined =>
        cluster.store.get('', kind, 'made', name);
      await eventually(() => expect(program.stdout).toContain('Synced, Progressing'));
      expect([inMade('one')?.['data'], inMade('excluded', 'Secret')]).toEqual([{ key: '1' }, undefined]);
      for (const name of ['one', 'two']) cluster.store.update({ ...inMade(name)!, data: { key: 'drift' } });
      await eventually(() => expect(inMade('two')?.['data']).toEqual({ key: '1' }));
      expect(inMade('one')?.['data']).toEqual({ key: 'drift' });
    },
    testTimeoutMs,
  );

  it(
    'answers its probes while another agent keeps the folder, and takes it over when that one stops',
    async () => {
      const first = start(...folder());
      await eventually(() => expect(valueOf('two')).toBe('1'));
      const [port = 0] = await freePorts(1);
      const second = start('--cache-dir', join(root, 'second'), `--metrics-port=${port}`, ...folder());
      const ask = async (path: string): Promise<string> => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`);
        return `${answer.status} ${await answer.text()}`;
      };
      const waiting = /waiting: agent \S+ keeps \S+ folder app in namespace default/;
      await eventually(async () => expect(await ask('/readyz')).toMatch(new RegExp(`^503 ${waiting.source}`)));
      expect(await ask('/healthz')).toMatch(new RegExp(`^200 ok\n${waiting.source}`));
      expect(await ask('/metrics')).toMatch(/^200 [^]*argocd_info/);
      expect([second.stderr, second.stdout]).toEqual([expect.stringMatching(waiting), '']);
      await first.stop('SIGTERM');
      await eventually(() => expect(second.stdout).toContain('Synced, Healthy'));
      await eventually(async () => expect(await ask('/readyz')).toMatch(/^200 ok/));
      expect(await ask('/metrics')).toContain('argocd_app_info{');
    },
    testTimeoutMs,
  );

  it(
    'repairs drift while its repository is away',
    async () => {
      const agent = start('--self-heal', ...folder());
      await eventually(() => expect(agent.stdout).toContain('Synced, Healthy'));
      renameSync(repo.path, `${repo.path}-away`);
      for (let n = 0; n < 2; n += 1) {
        cluster.store.update({ ...get('one')!, data: { key: 'drift' } });
        await eventually(() => expect(valueOf('one')).toBe('1'), 60_000);
      }
    },
    2 * testTimeoutMs,
  );

  it(
    'refuses a name under which another folder is kept, and applies nothing',
    async () => {
      await driftless(flags('--once', '--name=shop', ...folder()));
      repo.commit({ 'other/three.yaml': manifest('three', '1') });
      const other = ['--once', '--name=shop', '--prune', '--repo', repo.url, '--path', 'other', '--revision', 'main'];
      const { code, stderr } = await driftless(flags(...other));
      expect(code).toBe(1);
      expect(stderr).toContain('the name shop belongs to');
      expect([valueOf('one'), get('three')]).toEqual(['1', undefined]);
    },
    testTimeoutMs,
  );

  it(
    'names the reason where --once ends unsettled',
    async () => {
      const missing = ['--once', '--timeout=15s', '--repo', repo.url, '--path', 'nowhere', '--revision', 'main'];
      const { code, stderr } = await driftless(flags(...missing));
      expect(code).toBe(1);
      expect(stderr).toContain('not Synced and Healthy after 15s');
      expect(stderr).toContain('nowhere: app path does not exist');
    },
    testTimeoutMs,
  );

  it.each([
    ['no source', [], 'agent needs --repo URL or DIRECTORY, or --archive URL'],
    ['two sources', ['--repo=a', '--archive=https://a'], 'agent needs --repo URL or DIRECTORY'],
    ['an archive over http without a digest', ['--archive=http://a'], '--archive over http needs --digest sha256:HEX'],
    [
      'an archive without a name',
      ['--archive=https://a', `--digest=sha256:${'0'.repeat(64)}`],
      '--archive needs --name: pruning goes by it',
    ],
    ['an archive on disk', ['--archive=file:///a', `--digest=sha256:${'0'.repeat(64)}`], 'only http and https'],
    ['a digest that is none', ['--archive=https://a', '--digest=md5:1'], '--digest'],
    ['a revision of a directory', ['--repo=/a', '--revision=main'], '--revision needs a Git repository'],
    ['a namespace outside', ['--repo=https://a', '-n', 'x', '--namespaces=a,b'], 'is not one of --namespaces a,b'],
    ['a name that is none', ['--repo=https://a', '--name=A_b'], '--name'],
    ['an unreadable key', ['--repo=ssh://a', '--repo-ssh-key-file=/nowhere'], '--repo-ssh-key-file /nowhere'],
    ['an unreadable file', ['--repo=https://a', '--config=/nowhere'], '--config /nowhere: ENOENT'],
    ['an argument', ['--repo=https://a', 'x'], 'agent takes flags only, not "x"'],
  ])('refuses %s', async (_title, more, message) => {
    const errors: string[] = [];
    const output = { color: false, live: false, out: () => undefined, progress: () => undefined };
    const context = { env: {}, output: { ...output, err: (line: string) => void errors.push(line) } };
    const code = await runCommandLine(flags(...more), { ...context, signal: new AbortController().signal });
    expect([code, errors.join('')]).toEqual([2, expect.stringContaining(message)]);
  });
});
