import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { TestApplication } from './applications.ts';
import { startServers } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';
import { refreshed, UnderTest } from './under-test.ts';

const values = { rbac: { clusterWrite: true }, controller: { heartbeatTime: 2 } };
const path = '/api/v1/namespaces/shared';
const map = (name: string): Readonly<Record<string, string>> => ({
  'map.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`,
});
const managing = (labels: object, annotations: object = {}): object => ({
  destination: { server: 'https://kubernetes.default.svc', namespace: 'shared' },
  syncPolicy: {
    automated: { selfHeal: true },
    syncOptions: ['CreateNamespace=true'],
    managedNamespaceMetadata: { labels, annotations },
  },
});

interface Namespace {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

describe('managedNamespaceMetadata of two Applications for one namespace', () => {
  let world: Servers<'hub'>;
  let hub: Server;
  let controller: UnderTest;

  const create = (name: string, spec: object): Promise<TestApplication> =>
    TestApplication.create({ hub, folder: world.folder }, name, { files: map(name), spec });
  const tail = (): string => controller.pods.tail();
  const metadata = async (): Promise<Namespace['metadata']> => {
    const live = await hub.api.get<Namespace>(path);
    if (live === undefined) throw new Error('the Namespace is not there');
    return live.metadata;
  };
  const warningsOf = async (app: TestApplication): Promise<readonly string[]> =>
    ((await app.read()).status?.conditions ?? []).flatMap(({ type, message }) =>
      type === 'SharedResourceWarning' ? [message] : [],
    );

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
    controller = await UnderTest.install({ server: hub, folder: world.folder, values });
  }, 120_000);
  afterAll(async () => {
    await controller.stop();
    await world.close();
  });

  it('keeps the keys of both, heals a label that was removed by hand, and warns of two values', async () => {
    const one = await create('one', managing({ one: '1' }, { note: 'one' }));
    await one.isGood(undefined, { tail });
    const two = await create('two', managing({ two: '2' }));
    await two.isGood(undefined, { tail });
    for (const app of [one, two]) {
      await refreshed(hub, app.path, 'hard');
      await app.isGood(undefined, { tail });
    }
    expect((await metadata()).labels).toMatchObject({ one: '1', two: '2' });
    expect((await metadata()).annotations).toMatchObject({ note: 'one' });
    expect(await warningsOf(one)).toEqual([]);

    // A removed label is drift, whichever of the two owns it.
    for (const name of ['one', 'two']) {
      await hub.kubectl(['label', 'namespace', 'shared', `${name}-`]);
      await eventually(async () => {
        const { labels } = await metadata();
        if (labels?.['one'] !== '1' || labels['two'] !== '2') throw new Error(`${JSON.stringify(labels)}\n${tail()}`);
      }, 60_000);
    }

    // Two values for one key: one warning that names both Applications, and the labels rest.
    await hub.api.patch(two.path, {
      spec: { syncPolicy: { managedNamespaceMetadata: { labels: { two: '2', one: 'other' } } } },
    });
    await eventually(async () => {
      const messages = await warningsOf(two);
      if (messages.length === 0) throw new Error(`no warning\n${tail()}`);
      expect(messages).toEqual([expect.stringMatching(/argocd\/two.*argocd\/one.*metadata\.labels\.one/)]);
    }, 60_000);
    for (const app of [one, two]) await refreshed(hub, app.path, 'hard');
    const settled = (await metadata()).labels;
    for (const app of [one, two]) await refreshed(hub, app.path, 'hard');
    expect((await metadata()).labels).toEqual(settled);
    expect(settled).toMatchObject({ one: '1', two: '2' });
  }, 300_000);
});
