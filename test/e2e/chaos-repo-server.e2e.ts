import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import { eventually } from '#support';
import { TestApplication } from './applications.ts';
import { startPluginServer } from './support/commit-server.ts';
import type { ArgoServer } from './support/commit-server.ts';
import { startDouble, startServers, toolsPath } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { startRepoServer } from './support/repo-server.ts';
import type { RepoServer } from './support/repo-server.ts';
import { UnderTest } from './under-test.ts';

const limitMs = 90_000;
/** Deadline of one call to the repo-server. */
const callSeconds = 5;

/** A plugin beside the repo-server that prints the manifests of its folder. */
const plugin = `apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata: {name: printed}
spec:
  generate: {command: [sh, -c, cat *.yaml]}
`;

/** Three waves, so that a sync takes seconds and a fault hits it in its middle. */
const files = (colour: string): Record<string, string> =>
  Object.fromEntries(
    ['a', 'b', 'c'].map((name, wave) => [
      `${name}.yaml`,
      `---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, annotations: {argocd.argoproj.io/sync-wave: "${wave}"}}\ndata: {colour: ${colour}}\n`,
    ]),
  );

describe('a repo-server that stops in the middle of a sync', () => {
  let world: Servers<'hub'>;
  let hub: Server;
  let double: ClusterDouble;
  let plugins: ArgoServer;
  let repoServer: RepoServer;
  let controller: UnderTest;
  /** Rendered by the repo-server, and by the controller itself. */
  let remote: TestApplication;
  let own: TestApplication;

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
    double = await startDouble(hub.access);
    plugins = await startPluginServer(subfolder('plugin'), { name: 'printed', config: plugin });
    const folder = subfolder('repo-server');
    const env = { ARGOCD_PLUGINSOCKFILEPATH: plugins.address };
    repoServer = await startRepoServer({ folder, sshData: folder, tlsData: folder, env });
    const values = {
      rbac: { clusterWrite: true },
      controller: { heartbeatTime: 2, env: [{ name: 'PATH', value: toolsPath() }] },
      repoServer: { address: repoServer.address, pluginsOnly: true },
      configs: {
        params: {
          'controller.repo.server.plaintext': 'true',
          'controller.repo.server.timeout.seconds': String(callSeconds),
          'controller.self.heal.backoff.timeout.seconds': '0',
        },
      },
    };
    controller = await UnderTest.install({ server: hub, folder: world.folder, values });
    remote = await create('remote', { plugin: { name: 'printed' } });
    own = await create('own', { directory: { recurse: true } });
  }, 120_000);

  afterAll(async () => {
    await controller.stop();
    await Promise.all([double.stop(), repoServer.close(), plugins.close()]);
    await world.close();
  });

  function subfolder(name: string): string {
    const path = join(world.folder, name);
    mkdirSync(path);
    return path;
  }

  async function create(name: string, source: object): Promise<TestApplication> {
    const syncPolicy = { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true'] };
    const app = await TestApplication.create({ hub, folder: world.folder }, name, {
      files: files('first'),
      spec: { syncPolicy },
    });
    await hub.api.patch(app.path, { spec: { source } });
    return app;
  }

  const tail = (): string => `${controller.pods.tail()}\n--- repo-server\n${repoServer.log()}`;
  const isGood = (app: TestApplication, commit: string): Promise<void> =>
    app.isGood(commit, { withinMs: limitMs, tail });

  /** Commits, and requests a refresh as a webhook does. */
  async function push(app: TestApplication, colour: string): Promise<string> {
    const commit = app.git.commit(files(colour));
    await hub.api.patch(app.path, { metadata: { annotations: { 'argocd.argoproj.io/refresh': 'normal' } } });
    return commit;
  }

  async function coloursOf({ name }: TestApplication): Promise<readonly unknown[]> {
    const maps = await hub.api.list<{ metadata: { name: string }; data?: { colour?: string } }>(
      `/api/v1/namespaces/${name}/configmaps`,
    );
    return maps.filter(({ metadata }) => metadata.name.length === 1).map(({ data }) => data?.colour);
  }

  /** Resolves in the middle of a sync: its first wave is applied, its last one is not. */
  async function syncIsHalfDone(app: TestApplication, colour: string): Promise<void> {
    await eventually(async () => {
      const colours = await coloursOf(app);
      if (colours[0] !== colour || colours[2] === colour) throw new Error(`${colours.join()}\n${tail()}`);
    }, limitMs);
  }

  /** The running sync ends with its true result while the repo-server is stopped. */
  async function syncEnds(app: TestApplication, commit: string, colour: string): Promise<void> {
    const state = await eventually(async () => {
      const { operationState } = (await app.read()).status ?? {};
      if (operationState?.finishedAt === undefined || operationState.syncResult?.revision !== commit)
        throw new Error(`${JSON.stringify(operationState)}\n${tail()}`);
      return operationState;
    }, limitMs);
    expect([state.phase, await coloursOf(app)]).toEqual(['Succeeded', [colour, colour, colour]]);
  }

  /** A push that needs the repo-server is reported, and what is deployed stays. */
  async function pushIsReported(app: TestApplication, deployed: string, reason: string): Promise<string> {
    const commit = await push(app, `${deployed}-next`);
    const begun = systemClock.monotonic();
    await eventually(async () => {
      const { conditions = [], sync } = (await app.read()).status ?? {};
      const message = expect.stringMatching(new RegExp(reason.replace('ADDRESS', repoServer.address)));
      expect([sync?.status, conditions]).toEqual([
        'Unknown',
        [
          expect.objectContaining({ type: 'ComparisonError', message }),
          expect.objectContaining({ type: 'SourceUnavailableWarning' }),
        ],
      ]);
    }, limitMs);
    // One call has its deadline, and three attempts are made; the rest is for a busy machine.
    expect(systemClock.monotonic() - begun).toBeLessThan(12 * callSeconds * 1000);
    expect(await coloursOf(app)).toEqual([deployed, deployed, deployed]);
    return commit;
  }

  /** Drift is repaired and a push is synced, both without the repo-server. */
  async function goesOn(app: TestApplication, colour: string): Promise<void> {
    await hub.api.patch(`/api/v1/namespaces/${app.name}/configmaps/b`, { data: { colour: 'by hand' } });
    await eventually(async () => expect((await coloursOf(app))[1]).not.toBe('by hand'), limitMs);
    await isGood(app, await push(app, colour));
    expect(await coloursOf(app)).toEqual([colour, colour, colour]);
  }

  it('frozen: the sync ends, a push is reported, others go on, and it is synced afterwards', async () => {
    for (const app of [remote, own]) await app.isGood(undefined, { withinMs: limitMs, tail });
    const commit = await push(remote, 'one');
    await syncIsHalfDone(remote, 'one');
    process.kill(repoServer.pid, 'SIGSTOP');
    try {
      await syncEnds(remote, commit, 'one');
      const [next] = await Promise.all([
        pushIsReported(remote, 'one', 'by the repo-server ADDRESS took longer than 5 s$'),
        goesOn(own, 'one'),
      ]);
      process.kill(repoServer.pid, 'SIGCONT');
      await isGood(remote, next);
    } finally {
      process.kill(repoServer.pid, 'SIGCONT');
    }
  }, 200_000);

  it('killed: the sync ends, a push is reported, others go on, and it is synced after its restart', async () => {
    const pid = controller.pods.all()[0]?.pid;
    const commit = await push(remote, 'two');
    await syncIsHalfDone(remote, 'two');
    await repoServer.kill();
    await syncEnds(remote, commit, 'two');
    const [next] = await Promise.all([
      pushIsReported(remote, 'two', 'code = Unavailable desc = .*repo-server ADDRESS$'),
      goesOn(own, 'two'),
    ]);
    await repoServer.restart();
    await isGood(remote, next);
    expect([pid, controller.pods.all()[0]?.isRunning]).toEqual([controller.pods.all()[0]?.pid, true]);
    const pruned = hub
      .audit()
      .filter(({ verb, objectRef }) => verb === 'delete' && objectRef?.resource === 'configmaps');
    expect(pruned).toEqual([]);
  }, 200_000);
});
