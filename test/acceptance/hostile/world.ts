import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { Server } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { JsonObject } from '#base';
import { ApiClient, eventually, Program, serversOf } from '#support';
import type { HostileAttempt, RepositoryFile, HostileTargets } from './attempt.ts';

/** Folders with the real helm, kustomize and jsonnet; undefined if one is missing. */
export function realPrograms(): string | undefined {
  const root = join(homedir(), '.cache', 'driftless', 'e2e');
  const folders = ['helm', 'kustomize', 'jsonnet'].map((tool) => {
    const entries = existsSync(root) ? readdirSync(root) : [];
    return entries.map((entry) => join(root, entry)).find((folder) => existsSync(join(folder, tool)));
  });
  return folders.includes(undefined) ? undefined : folders.join(delimiter);
}

/** Canaries that must not occur in anything that is published. */
export const canaries = ['cache', 'private', 'token', 'environment', 'web', 'socket', 'hub'].map(
  (name) => `CANARY-${name}-7f3e9b`,
);
const canary = (name: string): string => canaries.find((text) => text.includes(`-${name}-`)) ?? '';

/** The canaries in a text, plain or in base64. */
export function canariesIn(text: string): readonly string[] {
  return canaries.filter((secret) => [secret, ...base64Of(secret)].some((form) => text.includes(form)));
}

/** The base64 forms that a text can have inside a longer encoded text. */
function base64Of(text: string): readonly string[] {
  return [0, 1, 2].map((shift) => {
    const encoded = Buffer.from('\0'.repeat(shift) + text).toString('base64');
    return encoded.slice(shift === 0 ? 0 : 4, -4);
  });
}

/** A simulated hub, a controller started like `driftless run`, and the targets of attempts. */
export class HostileWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'driftless-hostile-'));
  /** Requests that reached the listener and the socket. */
  readonly visits: string[] = [];
  targets!: HostileTargets;
  controller!: Program;
  api!: ApiClient;
  #sim: Program | undefined;
  readonly #servers: { close(): unknown }[] = [];

  async start(programs: string): Promise<void> {
    const kubeconfig = join(this.folder, 'kubeconfig');
    this.#sim = new Program(['sim', '--kubeconfig', kubeconfig]);
    await eventually(() => expectTruth(this.#sim?.stdout.includes('"ready":true')), 30_000);
    const server = serversOf(kubeconfig).get('sim-0') ?? '';
    this.api = new ApiClient({ server });
    const files = this.#writeFiles();
    const port = await this.#listen();
    await this.#createObjects(server);
    const flags = [
      '--namespace',
      'argocd',
      '--replicas',
      '1',
      '--hostname',
      'hostile-0',
      '--allow-local-sources=false',
      '--metrics-port',
      '0',
      '--metrics-host',
      '127.0.0.1',
      '--api-port',
      '0',
    ];
    this.controller = new Program(
      ['run', '--kubeconfig', kubeconfig, '--token', canary('hub'), '--cache-dir', files.cacheFolder, ...flags],
      [],
      {
        PATH: [programs, process.env['PATH'] ?? ''].join(delimiter),
        HOSTILE_SECRET: canary('environment'),
        ARGOCD_EXEC_TIMEOUT: '120s',
      },
    );
    const repository = this.#commit('honest', {
      'dir-ok/cm.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ok}\n',
      'helm-ok/Chart.yaml': 'apiVersion: v2\nname: ok\nversion: 1.0.0\n',
      'helm-ok/templates/cm.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ok}\ndata: {v: "{{ toYaml .Values | b64enc }}"}\n',
    });
    const pid = this.controller.child.pid ?? 0;
    this.targets = { ...files, pid, environmentName: 'HOSTILE_SECRET', port, repository };
  }

  /** Creates the repository and the Application of the attempt. */
  async apply({ name, files = {}, source = {}, sources }: HostileAttempt): Promise<void> {
    const repoURL = this.#commit(name, files);
    const own = { repoURL, targetRevision: 'main' };
    const path = source['chart'] === undefined ? { path: '.' } : {};
    const spec = sources === undefined ? { source: { ...own, ...path, ...source } } : {};
    const list = sources === undefined ? {} : { sources: sources.map((item) => ({ ...own, ...item })) };
    await this.api.exchange({
      method: 'POST',
      path: '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications',
      body: {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Application',
        metadata: { name, namespace: 'argocd' },
        spec: {
          project: 'tenant',
          destination: { name: 'here', namespace: name },
          syncPolicy: { automated: {}, syncOptions: ['CreateNamespace=true'], retry: { limit: 0 } },
          ...spec,
          ...list,
        },
      },
    });
  }

  applications(): Promise<JsonObject[]> {
    return this.api.list<JsonObject>('/apis/argoproj.io/v1alpha1/applications');
  }

  /**
   * Everything that a tenant can see: objects of the hub, Events, and the output of the controller.
   */
  async published(): Promise<Readonly<Record<string, string>>> {
    const lists = [
      '/apis/argoproj.io/v1alpha1/applications',
      '/api/v1/configmaps',
      '/api/v1/secrets',
      '/api/v1/events',
    ];
    const texts = await Promise.all(
      lists.map(async (path) => [path, (await this.api.exchange({ method: 'GET', path })).text] as const),
    );
    return { ...Object.fromEntries(texts), log: `${this.controller.stdout}${this.controller.stderr}` };
  }

  async stop(): Promise<void> {
    await this.controller.stop('SIGTERM');
    await this.api.close();
    await this.#sim?.stop('SIGTERM');
    for (const server of this.#servers) server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #writeFiles(): Pick<HostileTargets, 'cacheFolder' | 'cacheFile' | 'privateFile' | 'tokenFile' | 'socket'> {
    const [cacheFolder, secrets] = [join(this.folder, 'cache'), join(this.folder, 'secrets')];
    mkdirSync(cacheFolder, { mode: 0o700 });
    mkdirSync(secrets, { mode: 0o755 });
    const [cacheFile, privateFile] = [join(cacheFolder, 'canary.yaml'), join(secrets, 'private')];
    const manifest = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen}\n';
    writeFileSync(cacheFile, `${manifest}data: {stolen: ${canary('cache')}}\n`);
    writeFileSync(privateFile, `stolen: ${canary('private')}\n`, { mode: 0o600 });
    writeFileSync(join(secrets, 'token'), canary('token'));
    const socket = join(secrets, 'api.sock');
    const server = createServer((connection) => {
      this.visits.push('socket');
      connection.end(canary('socket'));
    });
    this.#servers.push(server.listen(socket));
    return { cacheFolder, cacheFile, privateFile, tokenFile: join(secrets, 'token'), socket };
  }

  async #listen(): Promise<number> {
    const server: Server = createHttpServer((request, response) => {
      this.visits.push(`${request.method} ${request.url}`);
      response.end(`stolen: ${canary('web')}\n`);
    });
    this.#servers.push(server);
    await new Promise<void>((done) => server.listen(0, '::', done));
    return (server.address() as AddressInfo).port;
  }

  async #createObjects(server: string): Promise<void> {
    const labels = { 'argocd.argoproj.io/secret-type': 'cluster' };
    const metadata = (name: string): JsonObject => ({ name, namespace: 'argocd' });
    await this.api.create('/api/v1/namespaces', { metadata: { name: 'argocd' } });
    await this.api.create('/api/v1/namespaces/argocd/configmaps', { metadata: metadata('argocd-cm') });
    await this.api.create('/api/v1/namespaces/argocd/secrets', {
      metadata: { ...metadata('here'), labels },
      stringData: { name: 'here', server, config: '{}' },
    });
    await this.api.create('/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects', {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'AppProject',
      metadata: metadata('tenant'),
      spec: {
        sourceRepos: ['*'],
        destinations: [{ name: 'here', server: '*', namespace: '*' }],
        clusterResourceWhitelist: [{ group: '', kind: 'Namespace' }],
      },
    });
  }

  /** A bare repository with one commit on main, created without git's checks of names and links. */
  #commit(name: string, files: Readonly<Record<string, RepositoryFile>>): string {
    const folder = join(this.folder, 'repositories', name);
    const template = join(this.folder, 'repositories', '.template');
    if (!existsSync(template)) execFileSync('git', ['init', '-q', '--bare', '-b', 'main', template]);
    cpSync(template, folder, { recursive: true });
    const all = { README: name, ...files };
    const changes = Object.entries(all).flatMap(([path, file]) => fileChange(path, file));
    const head = 'commit refs/heads/main\ncommitter t <t@example.com> 1700000000 +0000\ndata 1\nx\n';
    execFileSync('git', ['fast-import', '--quiet'], {
      cwd: folder,
      input: Buffer.concat([Buffer.from(head), ...changes]),
    });
    return `file://${folder}`;
  }
}

function fileChange(path: string, file: RepositoryFile): readonly Buffer[] {
  const quoted = JSON.stringify(path);
  if (typeof file === 'object' && 'submodule' in file) return [Buffer.from(`M 160000 ${file.submodule} ${quoted}\n`)];
  const isLink = typeof file === 'object' && 'link' in file;
  const body = Buffer.isBuffer(file) ? file : Buffer.from(isLink ? file.link : file);
  return [
    Buffer.from(`M ${isLink ? '120000' : '100644'} inline ${quoted}\ndata ${body.length}\n`),
    body,
    Buffer.from('\n'),
  ];
}

function expectTruth(value: unknown): void {
  if (value !== true) throw new Error('not yet');
}
