import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SecretValue, Shutdown, systemClock, systemRandom } from '#base';
import { createDesiredSource, createInProcessRunner, withPlugins } from '#desired';
import type { DesiredSource, DesiredSourceDeps, ManifestsRequest, SourceManifests } from '#desired';
import { bareRepository } from '#model';
import type { ApplicationSource, Repository } from '#model';
import { eventually } from '#support';
import { silentLogger } from '#telemetry';
import { renderOne, requestOf } from '../../desired/testing/index.ts';
import { TestApplication } from './applications.ts';
import { startPluginServer } from './support/commit-server.ts';
import type { ArgoServer } from './support/commit-server.ts';
import { startServers, temporaryFolder, toolsPath } from './support/index.ts';
import { startRepoServer } from './support/repo-server.ts';
import { startSshServer } from './support/ssh-server.ts';
import type { SshServer } from './support/ssh-server.ts';
import { UnderTest } from './under-test.ts';

// Config management plugins with Argo CD's own plugin server: what git in a plugin sees and may do,
// and plugins that stand beside Argo CD's repo-server.

let folder: ReturnType<typeof temporaryFolder>;
let ssh: SshServer;
let knownHosts: string;
const stops: AbortController[] = [];
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  folder = temporaryFolder('plugins');
  ssh = await startSshServer(join(folder.path, 'ssh'));
  knownHosts = join(folder.path, 'ssh_known_hosts');
  writeFileSync(knownHosts, ssh.knownHosts);
});
afterAll(async () => {
  for (const stop of stops) stop.abort(new Shutdown());
  for (const close of closing.reverse()) await close();
  await ssh.close();
  folder.remove();
});

const configMap = (name: string, data = '{}'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: ${data}\n`;

/** A plugin.yaml whose command prints the data of a ConfigMap; `data` is a shell command. */
function pluginYaml(name: string, data: string, spec: object = {}): string {
  const script = `set -e\nprintf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: made}\\ndata:\\n'\n${data}\n`;
  return JSON.stringify({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'ConfigManagementPlugin',
    metadata: { name },
    spec: { generate: { command: ['sh', '-c', script] }, ...spec },
  });
}

async function start(name: string, data: string, spec: object = {}): Promise<ArgoServer> {
  const own = mkdtempSync(join(folder.path, 'cmp-'));
  const server = await startPluginServer(own, { name, config: pluginYaml(name, data, spec) });
  closing.push(() => server.close());
  return server;
}

/** A repository on disk; returns its path. */
function repositoryOf(files: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(folder.path, 'repository-'));
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', path, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      encoding: 'utf8',
    });
  git('init', '--quiet', '--initial-branch=main');
  git('commit', '--quiet', '--allow-empty', '-m', 'before');
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), content);
    if (name.endsWith('.sh')) chmodSync(join(path, name), 0o755);
  }
  git('add', '--all');
  git('commit', '--quiet', '-m', 'the files');
  return path;
}

function source(sockets: string, more: Partial<DesiredSourceDeps> = {}): DesiredSource {
  const stop = new AbortController();
  stops.push(stop);
  const clock = systemClock;
  const desired = createDesiredSource({
    clock,
    random: systemRandom,
    logger: silentLogger,
    cacheDir: mkdtempSync(join(folder.path, 'cache-')),
    commands: createInProcessRunner({ clock, env: { PATH: toolsPath() } }),
    reach: { allowLocal: true },
    trust: { sshKnownHosts: knownHosts },
    plugins: withPlugins({ sockets, exclusions: [] }),
    ...more,
  });
  void desired.run(stop.signal);
  return desired;
}

async function render(
  desired: DesiredSource,
  repository: Repository,
  over: Partial<ApplicationSource> = {},
  more: Partial<ManifestsRequest> = {},
): Promise<SourceManifests> {
  const source = { repoURL: repository.url, path: 'app', ...over };
  const cache = { revision: 'current', manifests: 'cached' } as const;
  const request = requestOf(source, repository, { revision: 'main', cache, namespace: 'apps', ...more });
  return renderOne(desired, request, new AbortController().signal);
}

const dataOf = ({ objects }: SourceManifests): unknown => objects[0]?.['data'];
const keyed = (path: string): Repository => ({
  ...bareRepository(`${ssh.url}${path}`),
  sshPrivateKey: new SecretValue(ssh.privateKey),
});

describe('git in a plugin', () => {
  const report = [
    `printf '  head: "%s"\\n' "$(git rev-parse HEAD)"`,
    `printf '  commits: "%s"\\n' "$(git rev-list --count HEAD)"`,
    `printf '  status: "%s"\\n' "$(git status --porcelain)"`,
    `printf '  ran: "%s"\\n' "$(./run.sh)"`,
  ].join('\n');

  it('sees the commit alone, without changes, and runs scripts of the repository', async () => {
    const server = await start('plain', report, { preserveFileMode: true });
    const path = repositoryOf({ 'app/run.sh': '#!/bin/sh\necho yes\n', 'other.txt': 'x' });
    const made = await render(source(server.address), bareRepository(path), { plugin: { name: 'plain' } });
    expect(made.sourceType).toBe('Plugin');
    expect(dataOf(made)).toEqual({ head: made.revision, commits: '1', status: '', ran: 'yes' });
  });

  it('reaches the repository by its ssh key during the call, and keeps nothing of it', async () => {
    const fetch = `git fetch --quiet --unshallow origin\nprintf '  commits: "%s"\\n' "$(git rev-list --count HEAD)"`;
    const server = await start('fetches', fetch, { provideGitCreds: true });
    const path = repositoryOf({ 'app/x': '' });
    const made = await render(source(server.address), keyed(path), { plugin: { name: 'fetches' } });
    expect(dataOf(made)).toEqual({ commits: '2' });
    expect(readdirSync(join(server.address, '.lent'))).toEqual([]);
    expect(server.log()).not.toContain(ssh.privateKey.split('\n')[1]);
  });

  it('does not get the key of another repository', async () => {
    const secret = repositoryOf({ 'app/x': 'secret' });
    const list = `git ls-remote "${ssh.url}${secret}" >/dev/null && printf '  read: "yes"\\n' || printf '  read: "no"\\n'`;
    const server = await start('curious', list, { provideGitCreds: true });
    const path = repositoryOf({ 'app/x': '' });
    const desired = source(server.address);
    expect(dataOf(await render(desired, keyed(secret), { plugin: { name: 'curious' } }))).toEqual({ read: 'yes' });
    const anonymous = await render(desired, bareRepository(path), { plugin: { name: 'curious' } });
    expect(dataOf(anonymous)).toEqual({ read: 'no' });
  });

  it('loses the key with a plugin that hangs', async () => {
    const server = await start('hangs', 'sleep 300', { provideGitCreds: true });
    const path = repositoryOf({ 'app/x': '' });
    const desired = source(server.address, { limits: { toolTimeoutMs: 5000 } });
    await expect(render(desired, keyed(path), { plugin: { name: 'hangs' } })).rejects.toThrow('the plugin hangs');
    await eventually(() => expect(readdirSync(join(server.address, '.lent'))).toEqual([]));
  });

  const isRoot = process.getuid?.() === 0;
  const asAnotherUser = `reads the key as another user of the same group${isRoot ? '' : ' (left out: needs root)'}`;
  (isRoot ? it : it.skip)(asAnotherUser, async () => {
    const drop = 'setpriv --reuid=998 --regid=997 --clear-groups';
    const list = `cd / && ${drop} git ls-remote "$ARGOCD_APP_SOURCE_REPO_URL" HEAD >/dev/null\nprintf '  read: "yes"\\n'`;
    const server = await start('dropped', list, { provideGitCreds: true });
    for (let at = server.address; at !== dirname(folder.path); at = dirname(at)) chmodSync(at, 0o755);
    chownSync(join(server.address, 'dropped.sock'), 998, 997);
    const path = repositoryOf({ 'app/x': '' });
    expect(dataOf(await render(source(server.address), keyed(path), { plugin: { name: 'dropped' } }))).toEqual({
      read: 'yes',
    });
  });

  it('gets the part of the repository that manifest-generate-paths needs', async () => {
    const list = `printf '  files: "%s"\\n' "$(cd .. && find . -type f | sort | tr '\\n' ' ')"`;
    const server = await start('lists', list);
    const path = repositoryOf({ 'team/app/x': '', 'team/base/y': '', 'other/z': '' });
    const plugins = withPlugins({ sockets: server.address, exclusions: [], usesGeneratePaths: true });
    const watched = { annotation: '.;../base', paths: [[]], synced: [''] };
    const over = { path: 'team/app', plugin: { name: 'lists' } };
    const made = await render(source(server.address, { plugins }), bareRepository(path), over, { watched });
    expect(dataOf(made)).toEqual({ files: './app/x ./base/y ' });
  });
});

/** Argo CD's repo-server with a plugin beside it that discovers folders with a file `plugged`. */
async function repoServerWithPlugin(): Promise<string> {
  const discover = { discover: { fileName: './plugged' } };
  const server = await start('elsewhere', `printf '  by: "%s"\\n' "$ARGOCD_ENV_WHO"`, discover);
  const own = mkdtempSync(join(folder.path, 'repo-server-'));
  const env = { ARGOCD_PLUGINSOCKFILEPATH: server.address };
  const repoServer = await startRepoServer({ folder: own, sshData: own, tlsData: own, env });
  closing.push(() => repoServer.close());
  return repoServer.address;
}

describe('plugins beside the repo-server', () => {
  it('render the sources that name them or that they discover; others are rendered here', async () => {
    const elsewhere = {
      clock: systemClock,
      address: await repoServerWithPlugin(),
      timeoutMs: 60_000,
      maxMessageBytes: 100 << 20,
      serviceConfigFromDns: false,
      userAgent: 'driftless-e2e',
    };
    const sockets = join(folder.path, 'no-sockets');
    const desired = source(sockets, { plugins: withPlugins({ sockets, exclusions: [] }, elsewhere) });
    const path = `file://${repositoryOf({ 'app/plugged': '', 'plain/cm.yaml': configMap('plain') })}`;
    const env1 = [{ name: 'WHO', value: 'the repo-server' }];
    const named = await render(desired, bareRepository(path), { plugin: { name: 'elsewhere', env: env1 } });
    expect(named.sourceType).toBe('Plugin');
    expect(named.objects).toEqual([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made' }, data: { by: 'the repo-server' } },
    ]);
    const discovered = await render(desired, bareRepository(path));
    expect([discovered.sourceType, dataOf(discovered)]).toEqual(['Plugin', { by: '' }]);
    const plain = await render(desired, bareRepository(path), { path: 'plain' });
    expect([plain.sourceType, plain.objects[0]?.metadata.name]).toEqual(['Directory', 'plain']);
    await expect(render(desired, bareRepository(path), { plugin: { name: 'nowhere' } })).rejects.toThrow(
      'find cmp-server plugin with name "nowhere"',
    );
  });

  it('are used by the controller, which renders all other Applications', async () => {
    const servers = await startServers({ names: ['hub'] });
    const { hub } = servers.servers;
    closing.push(() => servers.close());
    const values = {
      rbac: { clusterWrite: true },
      controller: { env: [{ name: 'PATH', value: toolsPath() }] },
      repoServer: { address: await repoServerWithPlugin(), pluginsOnly: true },
      configs: { params: { 'controller.repo.server.plaintext': 'true' } },
    };
    const controller = await UnderTest.install({ server: hub, folder: servers.folder, values });
    closing.push(() => controller.stop());
    const where = { hub, folder: servers.folder };
    const plain = { 'cm.yaml': configMap('plain') };
    const apps = [
      await TestApplication.create(where, 'plugged', { files: { ...plain, plugged: '' } }),
      await TestApplication.create(where, 'plain', { files: plain }),
      await TestApplication.create(where, 'overlay', {
        files: { ...plain, 'kustomization.yaml': 'resources: [cm.yaml]' },
      }),
    ];
    const types = { plugged: 'Plugin', plain: 'Directory', overlay: 'Kustomize' };
    await eventually(async () => {
      const found = await Promise.all(apps.map(async (app) => [app.name, await app.read()] as const));
      const shown = Object.fromEntries(found.map(([name, { status }]) => [name, status?.sourceType]));
      const conditions = found.flatMap(([, { status }]) => status?.conditions ?? []);
      expect([shown, conditions]).toEqual([types, []]);
    }, 60_000);
  });
});
