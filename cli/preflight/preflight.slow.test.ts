import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster, SimRequest } from '#sim';
import { seededRandom, systemClock } from '#base';
import { argoCrds, World } from '../../test/acceptance/world.ts';
import type { GitFixture } from '../../test/acceptance/world.ts';
import { runCommandLine } from '../driftless.ts';
import type { ApplicationReport, PreflightReport } from './report.ts';
import { renderingRows, rows } from './rows.ts';

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in this process: starting a process takes longer than most runs. */
async function driftless(args: readonly string[], signal = new AbortController().signal): Promise<Finished> {
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const err = (line: string): void => void stderr.push(`${line}\n`);
  const out = (line: string): void => void stdout.push(`${line}\n`);
  const output = { color: false, live: false, out, err, progress: err };
  const surroundings = { PATH: env['PATH'], HOME: '/nonexistent', DRIFTLESS_ALLOW_LOCAL_REPOSITORIES: 'true' };
  const code = await runCommandLine(['preflight', ...args], { env: surroundings, output, signal });
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

const canary = 'canary-3f9a1c';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const configMap = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {key: "${value}"}\n`;

/** Requests to a simulated API server that could change something. */
function writesOf(requests: readonly SimRequest[]): readonly SimRequest[] {
  return requests.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb));
}

describe('preflight', () => {
  let world: World;
  let repo: GitFixture;
  let kubeconfig: string;
  let requests: SimRequest[];

  /** Applications as a controller leaves them: synced by a replica that was stopped afterwards. */
  beforeAll(async () => {
    world = await World.start();
    kubeconfig = join(world.root, 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigFor([world.hub]));
    repo = world.repository('app');
    repo.commit({
      'plain/cm.yaml': configMap('plain', 'a'),
      'drifted/cm.yaml': configMap('drifted', 'from git'),
      'drifted/secret.yaml': `apiVersion: v1\nkind: Secret\nmetadata: {name: drifted}\nstringData: {token: ${canary}-git}\n`,
      'chart/.argocd-source.yaml': 'plugin: {name: cmp}\n',
      'encrypted/secret.yaml': `apiVersion: v1\nkind: Secret\nmetadata: {name: e}\nstringData: {a: "ENC[AES256_GCM,data:${canary}]"}\nsops: {mac: "ENC[AES256_GCM,data:x]"}\n`,
      'values/Chart.yaml': 'apiVersion: v2\nname: values\nversion: 1.0.0\n',
      'values/.argocd-source.yaml': 'helm: {valueFiles: ["secrets://a.yaml"]}\n',
    });
    const source = (path: string): object => ({ repoURL: repo.url, path, targetRevision: 'main' });
    for (const path of ['plain', 'drifted'])
      world.application(path, { source: source(path), syncPolicy: { automated: {} } });
    // As `driftless run` without Redis: the health is in the status.
    const replica = await world.replica({ persistResourceHealth: true });
    for (const name of ['plain', 'drifted'])
      await world.until(name, (app) => {
        expect([app.status?.sync?.status, app.status?.health?.status]).toEqual(['Synced', 'Healthy']);
        expect(app.status?.operationState?.phase).toBe('Succeeded');
      });
    await replica.stop();
    const collect = (cluster: SimCluster): void => void cluster.onRequest((request) => requests.push(request));
    collect(world.hub);
    collect(world.cluster);
  }, 60_000);

  afterAll(() => world.close());
  beforeEach(() => {
    requests = [];
  });

  const flags = (...more: readonly string[]): readonly string[] => [
    ...['--kubeconfig', kubeconfig, '-n', 'argocd', '--timeout', '20s'],
    ...more,
  ];

  async function report(...more: readonly string[]): Promise<Finished & { readonly report: PreflightReport }> {
    const finished = await driftless(flags('-o', 'json', ...more));
    return { ...finished, report: JSON.parse(finished.stdout) as PreflightReport };
  }

  const one = ({ applications }: PreflightReport, name: string): ApplicationReport =>
    applications.find((app) => app.name === name)!;

  it('nothing differs: exit 0, a table that says so, and not one write', async () => {
    const { code, stdout, stderr } = await driftless(flags('plain', 'drifted'));
    expect([code, stdout]).toEqual([0, expect.stringContaining('2 Applications: nothing differs')]);
    expect(stdout).toMatch(/argocd\/plain +Synced\/Healthy +Synced\/Healthy +0 +0 +0 +same/);
    // Progress goes to stderr in plain lines.
    expect(stderr).toMatch(/^driftless: reading argocd of http/);
    expect(stderr).toContain('driftless: 2 of 2 Applications compared');
    expect(stdout + stderr).not.toContain('\u001B');
    expect(requests.length).toBeGreaterThan(10);
    expect(writesOf(requests)).toEqual([]);
  });

  it('an installation with Redis would keep the health of resources there, as `run` does', async () => {
    const params = { name: 'argocd-cmd-params-cm', namespace: 'argocd' };
    world.hub.store.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: params,
      data: { 'redis.server': 'r:6379' },
    });
    const { report: withRedis } = await report('plain');
    world.hub.store.delete('', 'ConfigMap', 'argocd', 'argocd-cmd-params-cm');
    expect(one(withRedis, 'plain').writes).toEqual([
      {
        what: 'status',
        target: 'argocd/plain',
        reason: 'differs in resourceHealthSource',
      },
    ]);
  });

  it('what a controller keeps in the same cache folder stays as it is', async () => {
    const folder = join(world.root, 'shared-cache');
    const ring = join(folder, 'gpg', '1');
    mkdirSync(ring, { recursive: true });
    const { code } = await driftless(flags('plain', '--cache-dir', folder));
    expect([code, existsSync(ring), readdirSync(folder).sort()]).toEqual([0, true, ['gpg', 'preflight']]);
  });

  describe('an installation with Applications in every state', () => {
    let found: Finished & { readonly report: PreflightReport };
    let dead: SimCluster;

    beforeAll(async () => {
      requests = [];
      const live = structuredClone(world.cluster.store.get('', 'ConfigMap', 'apps', 'drifted'))!;
      world.cluster.store.update({ ...live, data: { key: `${canary}-drift` } });
      const secret = structuredClone(world.cluster.store.get('', 'Secret', 'apps', 'drifted'))!;
      world.cluster.store.update({ ...secret, data: { token: base64(`${canary}-live`) } });
      world.edit('drifted', (app) => {
        Object.assign(app['spec'] as object, { syncPolicy: { automated: { selfHeal: true } } });
      });
      const source = (path: string): object => ({ repoURL: repo.url, path, targetRevision: 'main' });
      for (const [name, path] of [
        ['charted', 'chart'],
        ['encrypted', 'encrypted'],
        ['valued', 'values'],
      ] as const)
        world.application(name, { source: source(path) });
      const skip = { annotations: { 'argocd.argoproj.io/skip-reconcile': 'true' } };
      world.application('skipped', { source: source('plain') }, skip);
      world.application('nowhere', { source: source('plain'), destination: { name: 'gone', namespace: 'apps' } });
      const missing = `file://${world.root}/none`;
      world.application('unread', { source: { repoURL: missing, path: 'a', targetRevision: 'main' } });
      dead = await startSimCluster({ clock: systemClock, random: seededRandom(3), name: 'dead' });
      await dead.close();
      world.addCluster('dead', dead.url);
      world.application('unreached', { source: source('plain'), destination: { server: dead.url, namespace: 'apps' } });
      world.hub.store.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'argocd-cm', namespace: 'argocd', labels: { 'app.kubernetes.io/part-of': 'argocd' } },
        data: {
          'resource.customizations.health.example.com_Widget': 'return {}',
          'helm.valuesFileSchemes': 'https,secrets',
        },
      });
      requests = [];
      found = await report();
    }, 60_000);

    it('exit 1, and no write request', () => {
      expect(found.code).toBe(1);
      expect(found.report.summary).toMatchObject({ applications: 9, same: 1, leftAlone: 1 });
      expect(writesOf(requests)).toEqual([]);
    });

    it('by resource, with the differing paths, and what would be written', () => {
      const drifted = one(found.report, 'drifted');
      expect(drifted).toMatchObject({
        state: 'differs',
        theirs: { sync: 'Synced', health: 'Healthy' },
        ours: { sync: 'OutOfSync', health: 'Healthy' },
      });
      expect(drifted.differences).toContainEqual({
        field: 'resource-sync',
        resource: '/ConfigMap/apps/drifted',
        theirs: 'Synced',
        ours: 'OutOfSync',
        paths: ['/data/key'],
      });
      expect(drifted.differences.find(({ resource }) => resource === '/Secret/apps/drifted')?.paths).toEqual([
        '/data/token',
      ]);
      expect(drifted.writes.map(({ what, target }) => `${what} ${target}`)).toEqual(
        expect.arrayContaining(['operation argocd/drifted', 'object /ConfigMap/apps/drifted']),
      );
    });

    it('no value of an object is in the output', async () => {
      const text = await driftless(flags());
      expect(found.stdout + found.stderr + text.stdout + text.stderr).not.toContain(canary);
      expect(found.stdout + text.stdout).not.toContain(base64(`${canary}-live`));
    });

    it('what only rendering finds is refused, and said', () => {
      const charted = one(found.report, 'charted');
      expect(charted.conditions).toContainEqual({
        type: 'ComparisonError',
        message: expect.stringContaining('could not find cmp-server plugin with name "cmp"'),
      });
      expect([charted.state, charted.ours?.sync]).toEqual(['differs', 'Unknown']);
      expect(charted.features).toEqual([
        expect.objectContaining({ severity: 'refused', row: 'config management plugins' }),
      ]);
    });

    it.each([
      ['encrypted', renderingRows.encrypted, 'the Secret "e" is encrypted by SOPS and not applied'],
      ['valued', rows.helmPlugins, 'the values file "secrets://…" needs a plugin of helm (helm-secrets)'],
    ])('a source that needs keys or a program is refused, with its row: %s', (name, row, text) => {
      expect(one(found.report, name)).toMatchObject({
        state: 'differs',
        ours: { sync: 'Unknown' },
        features: [{ severity: 'refused', row, feature: expect.stringContaining(text) }],
      });
    });

    it('a cluster and a repository that cannot be reached are told once, with what to do', () => {
      for (const [name, why] of [
        ['unreached', 'cluster dead could not be read'],
        ['unread', 'could not be read: failed to list refs: repository not found'],
      ] as const)
        expect(one(found.report, name)).toMatchObject({ state: 'notCompared', why: expect.stringContaining(why) });
      expect(found.report.clusters).toEqual([
        expect.objectContaining({
          name: 'dead',
          server: dead.url,
          applications: 1,
          hint: expect.stringContaining('from here'),
        }),
      ]);
      expect(found.report.repositories).toEqual([
        expect.objectContaining({ url: `file://${world.root}/none`, applications: 1 }),
      ]);
    });

    it('what is left alone is not compared, an unresolvable destination is', () => {
      expect(one(found.report, 'skipped')).toMatchObject({ state: 'leftAlone', ours: null });
      expect(one(found.report, 'nowhere').conditions).toContainEqual({
        type: 'InvalidSpecError',
        message: expect.stringContaining('there are no clusters with this name: gone'),
      });
    });

    it('features of the installation stand with their rows', () => {
      expect(found.report.features).toContainEqual({
        feature: 'health script of example.com/Widget: it runs in Lua 5.4 here',
        where: 'ConfigMap argocd-cm: resource.customizations of example.com/Widget',
        severity: 'info',
        row: 'health by Lua scripts',
      });
    });

    it('the shape of the JSON', () => {
      const shape = (value: object): readonly string[] => Object.keys(value).sort();
      expect(shape(found.report)).toEqual(
        [
          'version',
          'namespace',
          'server',
          'summary',
          'applications',
          'features',
          'clusters',
          'repositories',
          'tools',
          'notes',
        ].sort(),
      );
      expect(shape(found.report.summary)).toEqual(
        [
          'applications',
          'same',
          'differ',
          'notCompared',
          'leftAlone',
          'writes',
          'refused',
          'differing',
          'missingTools',
        ].sort(),
      );
      const members = [
        'namespace',
        'name',
        'project',
        'state',
        'why',
        'theirs',
        'ours',
        'differences',
        'writes',
        'conditions',
        'features',
      ];
      for (const app of found.report.applications) expect(shape(app)).toEqual(members.sort());
      expect(found.report.tools).toContainEqual({
        tool: 'git',
        neededBy: ['9 Applications with Git sources'],
        path: expect.stringContaining('/git'),
        version: expect.stringMatching(/^git version/),
        missing: false,
      });
      expect(found.report.version).toBe(1);
    });

    it('a table, then what differs, then what to do', async () => {
      const { code, stdout } = await driftless(flags());
      expect(code).toBe(1);
      expect(stdout).toMatch(/^APPLICATION +ARGO CD +DRIFTLESS +DIFFERENCES +WRITES +REFUSED +RESULT$/m);
      expect(stdout).toMatch(/^argocd\/plain .*same$/m);
      expect(stdout).toContain('ConfigMap apps/drifted, sync: Argo CD says Synced, Driftless OutOfSync, at /data/key');
      expect(stdout.trimEnd().split('\n').at(-1)).toContain('Do not switch before each of these is understood');
    });

    it('only some: by name, project and label', async () => {
      expect((await report('plain')).report.applications.map(({ name }) => name)).toEqual(['plain']);
      expect((await report('--project', 'other')).report.applications).toEqual([]);
      expect((await report('-l', 'team=a')).report.applications).toEqual([]);
      const missing = await driftless(flags('nobody'));
      expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('there is no Application nobody')]);
    });

    it('nothing could be compared: exit 2', async () => {
      const { code, report: only } = await report('unreached');
      expect([code, only.summary.notCompared]).toEqual([2, 1]);
    });
  });

  it.each([
    ['Secrets', { resource: 'secrets' }, 'no right to list secrets in namespace argocd'],
    ['Applications', { resource: 'applications' }, 'no right to list applications in namespace argocd'],
    ['projects', { resource: 'appprojects' }, 'no right to list appprojects in namespace argocd'],
  ])('a missing right is named: %s', async (_name, rule, text) => {
    const mend = world.hub.addFault({ ...rule, fault: { kind: 'status', code: 403 } });
    const { code, stdout, stderr } = await driftless(flags());
    mend();
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(text)]);
    expect(stderr).toContain('docs/migrate-from-argocd.md');
  });

  it('a right that is not needed for it is only noted', async () => {
    const mend = world.hub.addFault({ resource: 'statefulsets', fault: { kind: 'status', code: 403 } });
    const { code, report: found } = await report('plain');
    mend();
    expect(found.notes).toEqual([expect.stringContaining('not permitted to read StatefulSet')]);
    expect([code, one(found, 'plain').state]).toEqual([0, 'same']);
  });

  it.each([
    ['another namespace', ['-n', 'elsewhere'], 'set the namespace of Argo CD'],
    ['an unknown flag', ['--kubeconfg', 'x'], 'did you mean --kubeconfig?'],
    ['a context that is not there', ['--context', 'nowhere'], 'nowhere'],
    ['a selector that is none', ['-l', 'a in b'], '--selector: "a in b" is no requirement on labels'],
  ])('cannot compare, or bad usage: %s', async (_name, more, text) => {
    const { code, stdout, stderr } = await driftless(flags(...more));
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(text)]);
    expect(stderr).not.toContain('    at ');
  });

  it('without a cluster, and with one that does not answer: exit 2', async () => {
    const none = await driftless([]);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('no cluster configured')]);
    const hub = await startSimCluster({ clock: systemClock, random: seededRandom(4), name: 'hub', crds: argoCrds() });
    const path = join(world.root, 'gone');
    writeFileSync(path, kubeconfigFor([hub]));
    await hub.close();
    const gone = await driftless(['--kubeconfig', path, '-n', 'argocd']);
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining('cannot compare')]);
  }, 60_000);

  it('interrupted is not "nothing differs"', async () => {
    const stop = new AbortController();
    stop.abort(new Error('SIGINT'));
    expect(await driftless(flags(), stop.signal)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('interrupted'),
    });
  });

  it('the in-cluster address is reached through the kubeconfig of the hub', async () => {
    world.hub.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } });
    const source = { repoURL: repo.url, path: 'plain', targetRevision: 'main' };
    const destination = { server: 'https://kubernetes.default.svc', namespace: 'apps' };
    world.application('at-home', { source, destination });
    const { report: found } = await report('at-home');
    expect(found.clusters).toEqual([]);
    expect(one(found, 'at-home')).toMatchObject({ ours: { sync: 'OutOfSync', health: 'Missing' } });
    expect(writesOf(requests)).toEqual([]);
  });
});
