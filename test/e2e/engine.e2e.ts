import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { eventually, makePackageUser } from '#support';
import { openCache } from '../../engine/live.ts';
import { openWriter, runSync } from '../../engine/sync.ts';
import { isBy, startDouble, startServers, toolPath } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';

/** Stands in for the door `sim`: the examples then run unchanged against a real API server. */
const realCluster = `
import { spawnSync } from 'node:child_process';

const kubectl = (args, object) => {
  const { stdout, stderr, status } = spawnSync(process.env.KUBECTL, args, { input: JSON.stringify(object) });
  if (status !== 0 && !args.includes('--ignore-not-found')) throw new Error(String(stderr));
  return String(stdout);
};
export const kubeConfigOf = () => process.env.KUBECONFIG;
export const startCluster = () => Promise.resolve({
  store: {
    create: (object) => {
      kubectl(['create', '-f', '-'], object);
      if (object.kind === 'CustomResourceDefinition')
        kubectl(['wait', '--for=condition=Established', 'crd/' + object.metadata.name]);
    },
    update: (object) => kubectl(['replace', '-f', '-'], object),
    get: (group, kind, namespace, name) => {
      const found = kubectl(['get', kind + '.' + group, name, '-n', namespace, '-o', 'json', '--ignore-not-found']);
      return found === '' ? undefined : JSON.parse(found);
    },
    delete: (group, kind, namespace, name) => kubectl(['delete', kind + '.' + group, name, '-n', namespace, '--wait=false']),
  },
  close: () => Promise.resolve(),
});
`;

describe('the engine as a package, on a real API server', () => {
  let world: Servers<'target'>;
  let target: Server;
  let double: ClusterDouble;
  let folder: string;

  beforeAll(async () => {
    world = await startServers({ names: ['target'] });
    ({ target } = world.servers);
    double = await startDouble(target.access);
    folder = join(world.folder, 'user');
    makePackageUser(folder);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'real-cluster.js'), realCluster);
  }, 120_000);

  afterAll(async () => {
    await double.stop();
    await world.close();
  }, 60_000);

  it.each(['live', 'sync', 'operator'])(
    'examples/engine/%s.mjs prints what it prints on the simulator',
    async (name) => {
      const code = readFileSync(join('examples', 'engine', `${name}.mjs`), 'utf8');
      const used = code.replace("'@driftless/engine/sim'", "'./real-cluster.js'");
      expect(used).not.toBe(code);
      writeFileSync(join(folder, `${name}.mjs`), used);
      const env = { ...process.env, KUBECONFIG: target.kubeconfig, KUBECTL: toolPath('kubectl') };
      const { stdout } = await promisify(execFile)(process.execPath, [`${name}.mjs`], {
        cwd: folder,
        env,
        timeout: 90_000,
      });
      expect(stdout).toBe(readFileSync(join('examples', 'engine', `${name}.txt`), 'utf8'));
    },
  );

  describe('with an account of one namespace', () => {
    let kubeConfig: KubeConfig;

    beforeAll(async () => {
      for (const namespace of ['team', 'other']) await target.kubectl(['create', 'namespace', namespace]);
      await target.kubectl(['create', 'serviceaccount', 'limited', '-n', 'team']);
      const rights = ['--verb=get,list,watch,create,patch,delete', '--resource=configmaps'];
      await target.kubectl(['create', 'role', 'limited', '-n', 'team', ...rights]);
      await target.kubectl([
        ...['create', 'rolebinding', 'limited', '-n', 'team'],
        ...['--role=limited', '--serviceaccount=team:limited'],
      ]);
      await target.kubectl(['create', 'configmap', 'secretive', '-n', 'other']);
      kubeConfig = new KubeConfig();
      kubeConfig.loadFromFile(target.kubeconfigFor(await target.as('team', 'limited')));
    }, 60_000);

    it('the cache has its namespace, and names what it may not read', async () => {
      const cache = await openCache({ kubeConfig, namespaces: ['team', 'other'], include: [{ groups: [''] }] });
      const created: string[] = [];
      cache.subscribe({ created: ({ namespace, name }) => created.push(`${namespace}/${name}`) });
      await target.kubectl(['create', 'configmap', 'new', '-n', 'team']);
      await eventually(() => expect(created).toContain('team/new'));
      const kinds = [
        { group: '', kind: 'ConfigMap' },
        { group: '', kind: 'Secret' },
      ];
      const { objects, incomplete } = await cache.list({ kinds });
      expect(objects.map(({ namespace }) => namespace)).not.toContain('other');
      expect(incomplete.map(({ kind, reason }) => [kind, reason.includes('is forbidden')])).toEqual([
        ['ConfigMap', true],
        ['Secret', true],
      ]);
      await cache.close();
    });

    it('one request lists and watches a kind of a namespace', async () => {
      const requests = (): string[] =>
        target
          .audit()
          .filter((event) => isBy(event, 'team', 'limited') && event.objectRef?.resource === 'configmaps')
          .filter(({ verb, stage }) => verb === 'list' || (verb === 'watch' && stage === 'ResponseStarted'))
          .map(({ verb, requestURI }) => `${verb} ${/sendInitialEvents=true/.exec(requestURI)?.[0] ?? ''}`);
      for (const name of ['stays', 'leaves']) await target.kubectl(['create', 'configmap', name, '-n', 'team']);
      const before = requests().length;
      const include = [{ groups: [''], kinds: ['ConfigMap'] }];
      const cache = await openCache({ kubeConfig, namespaces: ['team'], include });
      const deleted: string[] = [];
      cache.subscribe({ deleted: ({ name }) => deleted.push(name) });
      const { objects, incomplete } = await cache.list();
      expect(objects.map(({ name }) => name)).toEqual(expect.arrayContaining(['stays', 'leaves']));
      expect(incomplete).toEqual([]);
      await target.kubectl(['delete', 'configmap', 'leaves', '-n', 'team']);
      await eventually(() => expect(deleted).toEqual(['leaves']));
      expect(requests().slice(before)).toEqual(['watch sendInitialEvents=true']);
      await cache.close();
    });

    it('a sync applies and prunes there, and refuses another namespace before it writes', async () => {
      const configMap = (name: string, namespace: string): Parameters<typeof runSync>[0]['targets'][number] => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace },
        data: { a: 'b' },
      });
      const writer = await openWriter({ kubeConfig });
      const both = [configMap('mine', 'team'), configMap('secretive', 'other')];
      await expect(runSync({ targets: both, writer })).rejects.toMatchObject({ code: 'LIVE_STATE' });
      expect(await target.api.get('/api/v1/namespaces/team/configmaps/mine')).toBeUndefined();
      for (const serverSideApply of [false, true]) {
        const own = [configMap('mine', 'team')];
        const applied = await runSync({ targets: own, writer, options: { serverSideApply } });
        expect(applied.phase).toBe('Succeeded');
        expect(await target.api.get('/api/v1/namespaces/team/configmaps/mine')).toBeDefined();
        await runSync({ targets: [], known: own, writer, options: { prune: true } });
        // The prune is in the foreground: the object leaves after the collection of garbage.
        await eventually(async () =>
          expect(await target.api.get('/api/v1/namespaces/team/configmaps/mine')).toBeUndefined(),
        );
      }
      await writer.close();
    });
  });
});
