import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fullViewer, parseApiRequest, ReadApi } from '#api';
import { isObject, newAbortController, omit, systemClock } from '#base';
import type { Json } from '#base';
import type { Application, KubeObject, OperationState } from '#model';
import { eventually } from '#support';
import { automated, config } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture, Replica } from './world.ts';

/**
 * Every place of a secret gets a canary and a failure that could reveal it. The tests then search
 * everything that this process wrote, published, logged or would answer for all canaries in all
 * their encodings (T-SEC-1 to T-SEC-6).
 */
const places = [
  ...(['cluster-token', 'cluster-userinfo', 'cluster-exec', 'cluster-exec-arg', 'cluster-key'] as const),
  ...(['repo-password', 'repo-ssh-key', 'repo-token', 'repo-app-key', 'repo-url', 'plugin-env'] as const),
  ...(['helm-parameter', 'helm-values', 'secret-data', 'secret-string-data', 'secret-live', 'secret-refused'] as const),
  ...(['secret-ssd', 'secret-type', 'secret-alias', 'secret-cut', 'secret-json', 'secret-dropped'] as const),
] as const;
type CanaryPlace = (typeof places)[number];
const canary = (place: CanaryPlace): string => `c4nary-${place}-hunter2`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Pieces of base64, one of which occurs if the value is anywhere inside an encoded text. */
function piecesOf(value: string): string[] {
  return [0, 1, 2].map((shift) =>
    base64(`${'x'.repeat(shift)}${value}`)
      .slice(shift === 0 ? 0 : 4, -8)
      .slice(0, 20),
  );
}
const forms = (place: CanaryPlace): string[] => [canary(place), ...piecesOf(canary(place))];

/** A proxy before the simulated server whose refusals quote the object or the credentials. */
async function hostile(target: string): Promise<Server> {
  const relay = (asked: IncomingMessage, answer: ServerResponse): void => {
    const body: Buffer[] = [];
    asked.on('data', (chunk: Buffer) => body.push(chunk));
    asked.on('end', () => {
      const text = Buffer.concat(body).toString('utf8');
      const path = asked.url ?? '';
      const refuse = (message: string): void => {
        answer.writeHead(403, { 'content-type': 'application/json' });
        answer.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 403, message }));
      };
      if (text.includes('\"name\":\"refused')) {
        refuse(`admission webhook "w.example.com" denied the request: ${text}`);
        return;
      }
      if (text.includes('\"name\":\"echo\"')) {
        refuse(`the credentials ${String(asked.headers.authorization)} are not enough for ${path}`);
        return;
      }
      const { method, headers } = asked;
      const passed = request(new URL(path, target), { method, headers }, (got) => {
        answer.writeHead(got.statusCode ?? 500, got.headers);
        got.pipe(answer);
        got.on('error', () => answer.destroy());
      });
      passed.on('error', () => answer.destroy());
      answer.on('close', () => passed.destroy());
      passed.end(text);
    });
  };
  return listening(createServer(relay));
}

/** A Git server whose refusals repeat the credentials; git prints them. */
async function repeating(): Promise<Server> {
  return listening(
    createServer((asked, answer) => {
      answer.writeHead(500, { 'content-type': 'text/plain' });
      answer.end(`no: ${String(asked.headers.authorization)} for ${asked.url ?? ''}\n`);
    }),
  );
}

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

let world: World;
let repo: GitFixture;
let replica: Replica;
const servers: Server[] = [];

const secret = (name: string, body: string): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: { name: ${name} }\n${body}\n`;

function hubSecret(name: string, type: string, data: Record<string, string>): void {
  world.hub.store.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'argocd', labels: { 'argocd.argoproj.io/secret-type': type } },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)])),
  });
}

function clusters(port: number): void {
  const url = `http://127.0.0.1:${port}`;
  const cluster = (name: string, server: string, settings: object): void =>
    hubSecret(`cluster-${name}`, 'cluster', { name, server, config: JSON.stringify(settings) });
  cluster('token', `${url}/`, { bearerToken: canary('cluster-token') });
  cluster('userinfo', `http://admin:${canary('cluster-userinfo')}@localhost:${port}`, {});
  cluster('exec', 'http://127.0.0.1:1', {
    execProviderConfig: {
      command: '/bin/sh',
      args: ['-c', `echo "$KEY ${canary('cluster-exec-arg')} eyJ" >&2; echo "$KEY"; exit 7`],
      env: { KEY: canary('cluster-exec') },
      apiVersion: 'client.authentication.k8s.io/v1',
    },
  });
  const tlsClientConfig = { insecure: true, certData: base64('CERT'), keyData: base64(canary('cluster-key')) };
  cluster('key', 'https://127.0.0.1:1', { tlsClientConfig });
}

function repositories(port: number): void {
  const url = (name: string): string => `http://127.0.0.1:${port}/${name}.git`;
  hubSecret('r1', 'repository', { url: url('password'), username: 'me', password: canary('repo-password') });
  hubSecret('r2', 'repository', { url: url('token'), bearerToken: canary('repo-token') });
  hubSecret('r3', 'repository', { url: 'ssh://git@127.0.0.1:1/x.git', sshPrivateKey: canary('repo-ssh-key') });
  hubSecret('r4', 'repository', {
    url: url('app'),
    githubAppID: '1',
    githubAppInstallationID: '2',
    githubAppPrivateKey: canary('repo-app-key'),
  });
  for (const name of ['password', 'token', 'app'])
    world.application(`repo-${name}`, repo.source({ repoURL: url(name) }));
  world.application('repo-ssh', repo.source({ repoURL: 'ssh://git@127.0.0.1:1/x.git' }));
  const named = `http://me:${canary('repo-url')}@127.0.0.1:${port}/named.git`;
  world.application('repo-url', repo.source({ repoURL: named }));
}

function sources(): void {
  repo.commit({
    'app/a.yaml': config('a'),
    'app/s.yaml': secret(
      'live',
      `stringData: { word: ${canary('secret-string-data')}, gone: ${canary('secret-dropped')} }`,
    ),
    'app/d.yaml': secret('data', `data: { word: ${base64(canary('secret-data'))} }`),
    'refused/s.yaml': secret('refused', `stringData: { word: ${canary('secret-refused')} }`),
    'ssd/s.yaml': secret('refused-dry-run', `stringData: { word: ${canary('secret-ssd')} }`),
    'type/s.yaml': secret('typed', `data: { word: "${canary('secret-type')}!!" }`),
    'alias/s.yaml': secret('alias', `stringData:\n  word: *${canary('secret-alias')}`),
    'cut/s.yaml': secret('cut', `stringData:\n  word: "${canary('secret-cut')}`),
    'json/s.json': `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"j"},"stringData":{"word":"${canary('secret-json')}"`,
    'echo/c.yaml': config('echo'),
    'chart/Chart.yaml': 'apiVersion: v2\nname: c\nversion: 1.0.0\n',
    'chart/templates/c.yaml': config('c'),
  });
  const helm = join(world.root, 'helm');
  writeFileSync(
    helm,
    '#!/bin/sh\n[ "$1" = version ] && echo v4.0.0 && exit\nprintf "\\033[31m%s\\n" "$*" >&2\ncat "$HOME/../values.yaml" >&2\nexit 1\n',
  );
  chmodSync(helm, 0o755);
  world.tools = (name) => (name === 'helm' ? helm : undefined);
}

function applications(): void {
  const to = (name: string): object => ({ destination: { name, namespace: 'apps' } });
  world.application('good', { ...repo.source(), ...automated });
  world.application('refused', { ...repo.source({ path: 'refused' }), ...automated, ...to('token') });
  const compared = { annotations: { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true' } };
  const ssd = { syncPolicy: { automated: {}, syncOptions: ['ServerSideApply=true'] } };
  world.application('ssd', { ...repo.source({ path: 'ssd' }), ...ssd, ...to('token') }, compared);
  world.application('type', { ...repo.source({ path: 'type' }), ...automated });
  for (const path of ['alias', 'cut', 'json']) world.application(path, repo.source({ path }));
  world.application('echo-token', { ...repo.source({ path: 'echo' }), ...automated, ...to('token') });
  world.application('echo-userinfo', { ...repo.source({ path: 'echo' }), ...automated, ...to('userinfo') });
  world.application('exec', { ...repo.source(), ...to('exec') });
  world.application('key', { ...repo.source(), ...to('key') });
  const parameters = [{ name: 'db.password', value: canary('helm-parameter') }];
  const values = `db:\n  rootPassword: ${canary('helm-values')}\n`;
  world.application('helm', repo.source({ path: 'chart', helm: { parameters, values } }));
  const env = [{ name: 'VAULT_TOKEN', value: canary('plugin-env') }];
  world.application('plugin', repo.source({ plugin: { name: 'none', env } }));
}

const conditionsOf = (app: Application): string => JSON.stringify(app.status?.conditions ?? []);
const operationOf = (app: Application): string => JSON.stringify(app.status?.operationState ?? {});

/** The message of each failure, which proves that the failure happened. */
const messages: Readonly<Record<string, (app: Application) => string>> = {
  refused: operationOf,
  type: operationOf,
  'echo-token': operationOf,
  'echo-userinfo': operationOf,
  ...Object.fromEntries(
    ['ssd', 'alias', 'cut', 'json', 'exec', 'key', 'helm', 'plugin'].map((name) => [name, conditionsOf]),
  ),
  ...Object.fromEntries(['password', 'token', 'app', 'ssh', 'url'].map((name) => [`repo-${name}`, conditionsOf])),
};

beforeAll(async () => {
  world = await World.start();
  world.log = [];
  repo = world.repository('sample');
  const [front, remote] = [await hostile(world.cluster.url), await repeating()];
  servers.push(front, remote);
  clusters(portOf(front));
  sources();
  repositories(portOf(remote));
  applications();
  // Argo CD and kubectl store values in the last-applied annotation. This Secret exists already.
  const live = { ...secretObject('live'), stringData: { word: canary('secret-live'), gone: canary('secret-dropped') } };
  const note = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(live) };
  world.cluster.store.create({ ...live, metadata: { ...live.metadata, annotations: note } });
  world.cluster.store.create({ ...secretObject('refused-dry-run'), data: { word: '' } });
  replica = await world.replica();
  // While an attempt of a sync is retried, its message is gone until the attempt fails.
  const silent = new Set(Object.keys(messages));
  await eventually(() => {
    for (const name of silent) {
      const app = world.app(name);
      if (app !== undefined && /Error|Failed|failed|refuse/.test(messages[name]?.(app) ?? '')) silent.delete(name);
    }
    expect([...silent]).toEqual([]);
  }, 120_000);
  await world.until('good', (app) => expect(app.status?.sync?.status).toBe('Synced'), 60_000);
  // OutOfSync, so that a difference is published.
  world.edit('good', (object) => Object.assign(object['spec'] as object, { syncPolicy: {} }));
  world.tamper('', 'Secret', 'data', { data: { word: base64(canary('secret-live')) } });
  await eventually(() => expect(differenceOf('data')).toBeDefined(), 30_000);
}, 240_000);

afterAll(async () => {
  await world.close();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

function secretObject(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'apps' } };
}

function differenceOf(name: string): unknown {
  return replica.publisher
    .managedResources('good')
    ?.find((one) => one.kind === 'Secret' && one.name === name && one.predictedLiveState !== one.normalizedLiveState);
}

const text = (value: unknown): string =>
  JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? String(member) : member));

/**
 * Removes copies of the spec: Argo CD stores sources in these fields unchanged and compares with
 * them.
 */
function withoutSpec(app: Application | undefined): unknown {
  const { status = {} } = app ?? {};
  const { sync, operationState } = status;
  return {
    metadata: app?.metadata,
    status: {
      ...omit(status, 'history'),
      sync: sync === undefined ? undefined : omit(sync, 'comparedTo'),
      operationState: operationState === undefined ? undefined : withoutSources(operationState),
    },
  };
}

function withoutSources({ syncResult, ...state }: OperationState): unknown {
  return {
    ...omit(state, 'operation'),
    syncResult: syncResult === undefined ? undefined : omit(syncResult, 'source', 'sources'),
  };
}

/** Pages of the read API, for a user with all rights. */
async function apiPages(): Promise<readonly object[]> {
  const api = new ReadApi({ facts: replica.facts, clock: systemClock, peers: () => [] });
  const apps = ['good', ...Object.keys(messages)].filter((name) => world.app(name) !== undefined);
  const details = apps.flatMap((name) => [`applications/argocd/${name}`, `applications/argocd/${name}/tree`]);
  const lists = ['applications', 'clusters', 'repositories', 'queues', 'events', 'replica', 'ownership'];
  const caller = { viewer: fullViewer, isPeer: false };
  const { signal } = newAbortController();
  return Promise.all(
    [...lists, ...details].map((path) => api.answer(parseApiRequest(`/api/v1/${path}`), caller, signal)),
  );
}

/** All outputs by place. Of Secrets only the metadata. */
async function outputs(): Promise<Readonly<Record<string, string>>> {
  const { hub, cluster } = world;
  const names = ['good', ...Object.keys(messages)];
  const { publisher, facts, metrics } = replica;
  return {
    Applications: text(names.map((name) => withoutSpec(world.app(name)))),
    Events: text(hub.store.list('', 'Event')),
    ConfigMaps: text([...hub.store.list('', 'ConfigMap'), ...cluster.store.list('', 'ConfigMap')]),
    'what Redis is given': text([
      names.map((name) => [publisher.tree(name), publisher.managedResources(name)]),
      facts.watched().map(({ info }) => publisher.clusterInfo(info.server)),
    ]),
    metrics: await metrics.expose(),
    'the read API': text(await apiPages()),
    log: (world.log ?? []).join(''),
    'metadata of Secrets': text(cluster.store.list('', 'Secret').map(({ metadata }) => metadata)),
  };
}

describe('canaries in all places, through all failures', () => {
  // T-SEC-1
  it('no canary is in any output', async () => {
    const found = Object.entries(await outputs()).flatMap(([where, output]) =>
      places
        .filter((place) => forms(place).some((form) => output.includes(form)))
        .map((place) => `${place} in ${where}`),
    );
    expect(found).toEqual([]);
    // Searching an empty output would prove nothing.
    for (const [where, output] of Object.entries(await outputs()))
      expect([where, output.length > 100]).toEqual([where, true]);
  });

  // T-SEC-1
  it('the messages of the failures still say what happened and where', async () => {
    const reports = (name: string, ...parts: readonly string[]): Promise<void> =>
      eventually(() => {
        const app = world.app(name);
        const message = app === undefined ? '' : (messages[name]?.(app) ?? '');
        for (const part of parts) expect([name, message]).toEqual([name, expect.stringContaining(part)]);
      });
    await reports('refused', 'the admission webhook w.example.com refuses this Secret with HTTP 403');
    await reports('ssd', 'the admission webhook w.example.com refuses this Secret with HTTP 403');
    await reports('type', 'the API server refuses this Secret with HTTP 400 (BadRequest; data: illegal base64)');
    await reports('echo-token', 'the credentials Bearer *** are not enough');
    await reports('echo-userinfo', 'the credentials Basic *** are not enough');
    await reports('alias', 's.yaml', 'unidentified alias ***');
    await reports('cut', 's.yaml', 'line ');
    await reports('json', 's.json', 'not valid JSON');
    await reports('exec', 'credential plugin \\"sh\\" failed with exit code 7');
    await reports('helm', 'helm template', 'db.password=***');
    await reports('repo-password', '127.0.0.1');
    await reports('repo-app', 'its private key cannot be read');
  });

  // T-SEC-2
  it('the difference of a Secret is published with masks on both sides', () => {
    const difference = text(differenceOf('data'));
    expect(difference).toContain('++++++++');
    expect(difference).toContain('++++++++++++');
    for (const place of places) for (const form of forms(place)) expect(difference).not.toContain(form);
  });

  // T-SEC-3
  it('what is applied leaves no value in a note, and takes away the one that was there', () => {
    const live = world.live('', 'Secret', 'live');
    expect(live?.['data']).toEqual({
      word: base64(canary('secret-string-data')),
      gone: base64(canary('secret-dropped')),
    });
    const note = live?.metadata.annotations?.['kubectl.kubernetes.io/last-applied-configuration'] ?? '';
    const noted = JSON.parse(note) as KubeObject;
    expect(noted['data']).toEqual({ word: '', gone: '' });
    expect(noted).not.toHaveProperty('stringData');
  });

  // T-SEC-4
  it('credentials print as ***, and addresses have no user', async () => {
    const {
      log = '',
      metrics = '',
      Applications: applications_ = '',
    } = await eventually(async () => {
      const found = await outputs();
      expect(found['Applications']).toContain('Basic *** are not enough');
      return found;
    });
    for (const output of [log, metrics, applications_]) expect(output).not.toMatch(/:\/\/(?!\*\*\*@)[^/\s"@]*@/);
    expect(metrics).toMatch(/server="http:\/\/localhost:\d+"/);
  });

  // T-SEC-5
  it('no internal answer has a field for credentials', async () => {
    const credentials = /^(?:.*password|.*token|.*privateKey|keyData|certData|credentials|exec|config)$/i;
    const walk = (value: Json): string[] => {
      if (Array.isArray(value)) return (value as readonly Json[]).flatMap(walk);
      if (!isObject(value)) return [];
      return Object.entries(value).flatMap(([key, member]) => [
        ...(credentials.test(key) ? [key] : []),
        ...walk(member ?? null),
      ]);
    };
    const { facts, publisher } = replica;
    const servers_ = facts.watched().map(({ info }) => publisher.clusterInfo(info.server) ?? null);
    expect(walk(JSON.parse(text([await apiPages(), servers_])) as Json)).toEqual([]);
  });

  // T-SEC-6
  it('an Application has of secrets what its own spec has, and nothing of a Secret', () => {
    const ofSpec: readonly CanaryPlace[] = ['helm-parameter', 'helm-values', 'plugin-env', 'repo-url'];
    const whole = text(world.hub.store.list('argoproj.io', 'Application'));
    const found = places.filter((place) => forms(place).some((form) => whole.includes(form)));
    expect(found.filter((place) => !ofSpec.includes(place))).toEqual([]);
    // comparedTo is the unchanged source, as in Argo CD: otherwise the Application would be
    // compared without end.
    const app = world.app('repo-url');
    expect(app?.status?.sync?.comparedTo?.source.repoURL).toBe(app?.spec.source?.repoURL);
  });
});
