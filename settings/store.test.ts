import { describe, expect, it } from '@jest/globals';
import { inClusterServer } from '#model';
import type { FakeHub } from './testing/fake-hub.ts';
import { cluster, settingsWorld, suspending } from './testing/settings-world.ts';
import type { CompileScripts } from './testing/settings-world.ts';
import type { SettingsStore, UnresolvedDestination } from './types.ts';

type Change = Parameters<Parameters<SettingsStore['onChange']>[0]>[0];

describe('createSettingsStore', () => {
  it('works without any configuration: defaults and the in-cluster destination', async () => {
    const { store, hub, changes, stop } = await settingsWorld();
    expect(store.settings().version).toBe('default');
    expect(store.clusters().map(({ server, connection }) => [server, connection.server])).toEqual([
      [inClusterServer, 'https://10.0.0.1'],
    ]);
    expect(store.repository('https://git/x', 'default').inheritedCreds).toBe(false);
    expect([store.problems(), changes]).toEqual([[], []]);
    expect(hub.asked.sort()).toEqual([
      'argocd argocd.argoproj.io/secret-type in (cluster,repo-creds,repository,repo-write-creds,repository-write,driftless-decryption)',
      'argocd metadata.name=argocd-cm',
      'argocd metadata.name=argocd-gpg-keys-cm',
    ]);
    await stop();
  });

  it('has read all objects when it is ready, and notifies once', async () => {
    const { store, changes, stop } = await settingsWorld((hub) => {
      hub.put('ConfigMap', 'argocd-cm', { installationID: 'x' });
      for (let i = 0; i < 50; i += 1) hub.put('Secret', `c${i}`, cluster(`c${i}`), { secretType: 'cluster' });
      hub.put('Secret', 'r', { url: 'https://git/x', username: 'u' }, { secretType: 'repository' });
    });
    expect(store.settings().tracking.installationId).toBe('x');
    expect(store.clusters()).toHaveLength(51);
    expect(store.repository('https://git/x.git', 'any').username).toBe('u');
    expect(changes.length).toBeLessThanOrEqual(2);
    expect(changes.some((change) => change.clusters && change.repositories)).toBe(true);
    await stop();
  });

  it('follows changes, and notifies only about those', async () => {
    const { store, hub, clock, changes, stop } = await settingsWorld((h) =>
      h.put('Secret', 'c', cluster('c'), { secretType: 'cluster' }),
    );
    const expectChange = async (act: () => void, expected: Partial<Change> | undefined): Promise<void> => {
      changes.length = 0;
      act();
      await clock.advance(1000);
      const all = { settings: false, clusters: false, repositories: false };
      expect(changes).toEqual(expected === undefined ? [] : [{ ...all, ...expected }]);
    };
    await expectChange(() => hub.put('Secret', 'c', cluster('c'), { secretType: 'cluster' }), undefined);
    await expectChange(() => hub.put('Secret', 'c', cluster('c', 'rotated'), { secretType: 'cluster' }), {
      clusters: true,
    });
    expect(store.resolve({ name: 'c' })).toMatchObject({ server: 'https://c' });
    await expectChange(() => hub.put('ConfigMap', 'argocd-cm', { installationID: 'b' }), { settings: true });
    await expectChange(() => hub.put('ConfigMap', 'argocd-cm', { installationID: 'b', url: 'x' }), undefined);
    const off = { 'cluster.inClusterEnabled': 'false' };
    await expectChange(() => hub.put('ConfigMap', 'argocd-cm', off), { settings: true, clusters: true });
    expect(store.clusters().map(({ name }) => name)).toEqual(['c']);
    await expectChange(
      () => hub.put('Secret', 'k', { url: 'https://git', password: 'p' }, { secretType: 'repo-creds' }),
      {
        repositories: true,
      },
    );
    expect(store.repository('https://git/x', '').password?.reveal()).toBe('p');
    await expectChange(() => hub.remove('Secret', 'c'), { clusters: true });
    expect(store.resolve({ name: 'c' })).toMatchObject({ error: 'there are no clusters with this name: c' });
    await expectChange(() => hub.remove('ConfigMap', 'argocd-cm'), undefined);
    expect(store.settings().inClusterEnabled).toBe(false);
    await stop();
  });

  it('writes with Secrets for writing only, and reads with the others only', async () => {
    const { store, hub, clock, stop } = await settingsWorld(() => undefined);
    hub.put('Secret', 'read', { url: 'https://git/a', password: 'reads' }, { secretType: 'repository' });
    hub.put(
      'Secret',
      'write',
      { url: 'https://git/b', password: 'writes', project: 'p' },
      { secretType: 'repository-write' },
    );
    hub.put('Secret', 'write-all', { url: 'https://git', password: 'template' }, { secretType: 'repo-write-creds' });
    await clock.settle();
    const passwords = (url: string, project: string): readonly (string | undefined)[] =>
      [store.repository(url, project), store.writeRepository(url, project)].map(({ password }) => password?.reveal());
    expect(passwords('https://git/a', 'p')).toEqual(['reads', 'template']);
    expect(passwords('https://git/b', 'p')).toEqual([undefined, 'writes']);
    expect(passwords('https://git/b', '')).toEqual([undefined, 'template']);
    await stop();
  });

  it('finds the same value of a repository until a Secret changes', async () => {
    const { store, hub, clock, stop } = await settingsWorld((h) =>
      h.put('Secret', 'r', { url: 'https://git/a' }, { secretType: 'repository' }),
    );
    const first = store.repository('https://git/a', 'p');
    expect(store.repository('https://git/a', 'p')).toBe(first);
    hub.put('Secret', 'c', { url: 'https://git', password: 'lent' }, { secretType: 'repo-creds' });
    await clock.settle();
    expect(store.repository('https://git/a', 'p').password?.reveal()).toBe('lent');
    hub.remove('Secret', 'c');
    await clock.settle();
    expect(store.repository('https://git/a', 'p').password).toBeUndefined();
    await stop();
  });

  it('skips a malformed Secret, names it, and keeps the others', async () => {
    const { store, hub, clock, stop } = await settingsWorld((h) => {
      h.put('Secret', 'good', cluster('good'), { secretType: 'cluster' });
      h.put('Secret', 'bad', { server: 'https://bad', config: '{"bearerToken":"hunter2' }, { secretType: 'cluster' });
      h.put('Secret', 'odd', { ...cluster('odd'), shard: 'x' }, { secretType: 'cluster' });
      h.put('ConfigMap', 'argocd-cm', { 'resource.exclusions': '{' });
    });
    expect(store.clusters().map(({ name }) => name)).toEqual(['in-cluster', 'good', 'odd']);
    expect(store.problems().map(({ object, message }) => `${object}: ${message}`)).toEqual([
      expect.stringMatching(/^ConfigMap argocd-cm: resource.exclusions: /),
      'Secret argocd/bad: the key "config" is not valid JSON',
      'Secret argocd/odd: the key "shard" is not an integer; it is ignored',
    ]);
    expect(JSON.stringify(store.problems())).not.toContain('hunter2');
    hub.put('Secret', 'bad', cluster('bad'), { secretType: 'cluster' });
    hub.put('ConfigMap', 'argocd-cm', { url: 'x' });
    await clock.settle();
    expect(store.problems()).toHaveLength(1);
    expect(store.clusters()).toHaveLength(4);
    await stop();
  });

  describe('about a destination without a usable cluster', () => {
    const label = 'argocd.argoproj.io/secret-type';
    const byServer = { server: 'https://dest' };
    const byName = { name: 'dest' };
    const gone = `Secret argocd/dest, which had this cluster, was deleted, or lost its label ${label}: cluster`;
    const renamed = 'Secret argocd/dest, which had this cluster, now has another server or name';
    const notJson = 'Secret argocd/dest cannot be read: the key "config" is not valid JSON';
    const noServer = 'Secret argocd/dest cannot be read: the key "server" is missing or empty';
    const withoutServer = { name: 'dest', config: '{}' };
    const twin = (hub: FakeHub): void =>
      hub.put('Secret', 'twin', { ...cluster('other'), name: 'dest' }, { secretType: 'cluster' });
    const named = (url: string, name: string, secret: string): string =>
      `the destination may mean cluster "${url}" with the name "${name}" (Secret ${secret})`;

    it.each<[string, object, (hub: FakeHub) => void, { readonly claim?: string; readonly former?: string }]>([
      [
        'config is truncated',
        byServer,
        (h) => h.put('Secret', 'dest', { ...cluster('dest'), config: '{"b' }, { secretType: 'cluster' }),
        { claim: notJson },
      ],
      [
        'config is truncated, by name',
        byName,
        (h) => h.put('Secret', 'dest', { ...cluster('dest'), config: '{"b' }, { secretType: 'cluster' }),
        { claim: notJson },
      ],
      [
        'server is missing',
        byServer,
        (h) => h.put('Secret', 'dest', withoutServer, { secretType: 'cluster' }),
        { claim: noServer, former: renamed },
      ],
      [
        'server is empty, by name',
        byName,
        (h) => h.put('Secret', 'dest', { ...withoutServer, server: '' }, { secretType: 'cluster' }),
        { claim: noServer, former: renamed },
      ],
      ['the Secret is deleted', byServer, (h) => h.remove('Secret', 'dest'), { former: gone }],
      [
        'the name is changed',
        byName,
        (h) => h.put('Secret', 'dest', { ...cluster('dest'), name: 'new' }, { secretType: 'cluster' }),
        { former: renamed },
      ],
      [
        'two Secrets have the name',
        byName,
        twin,
        {
          claim: `${named('https://dest', 'dest', 'dest')} or cluster "https://other" with the name "dest" (Secret twin)`,
        },
      ],
      [
        'it has a name and a server',
        { ...byName, ...byServer },
        () => undefined,
        { claim: named('https://dest', 'dest', 'dest') },
      ],
      [
        'its URL is in capitals',
        { server: 'HTTPS://Dest' },
        () => undefined,
        { claim: named('https://dest', 'dest', 'dest') },
      ],
      [
        'the in-cluster is disabled',
        { server: 'https://kubernetes.default.svc' },
        (h) => h.put('ConfigMap', 'argocd-cm', { 'cluster.inClusterEnabled': 'false' }),
        { claim: 'the key "cluster.inClusterEnabled" of ConfigMap argocd-cm is "false"' },
      ],
      ['it has neither', {}, () => undefined, {}],
      ['no Secret ever had it', { server: 'https://nowhere' }, () => undefined, {}],
      [
        'only another Secret is unreadable',
        byServer,
        (h) => {
          h.remove('Secret', 'dest');
          h.put('Secret', 'x', { ...cluster('x'), config: '[' }, { secretType: 'cluster' });
        },
        { former: gone },
      ],
    ])('names what may have it when %s', async (_title, destination, change, expected) => {
      const { store, hub, clock, stop } = await settingsWorld((h) =>
        h.put('Secret', 'dest', cluster('dest'), { secretType: 'cluster' }),
      );
      store.resolve(destination);
      change(hub);
      await clock.settle();
      const { error, ...found } = store.resolve(destination) as UnresolvedDestination;
      expect(found).toEqual(expected);
      const isUnreadable = expected.claim?.includes('cannot be read') === true;
      expect(error.endsWith(isUnreadable ? `; ${expected.claim ?? ''}` : error)).toBe(true);
      await stop();
    });

    it('forgets the claim when the Secret is readable again', async () => {
      const { store, hub, clock, stop } = await settingsWorld((h) =>
        h.put('Secret', 'dest', cluster('dest'), { secretType: 'cluster' }),
      );
      hub.remove('Secret', 'dest');
      hub.put('Secret', 'dest', cluster('dest'), { secretType: 'cluster' });
      await clock.settle();
      expect(store.resolve(byServer)).toMatchObject({ server: 'https://dest' });
      await stop();
    });
  });

  it('provides settings with the health scripts of the same overrides', async () => {
    const { store, hub, clock, stop } = await settingsWorld();
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: {} };
    expect(store.settings().healthScripts?.run('', pod)).toBeUndefined();
    hub.put('ConfigMap', 'argocd-cm', { 'resource.customizations.health.Pod': 'return nil' });
    await clock.settle();
    expect(store.settings().healthScripts?.run('', pod)).toEqual({ status: 'Suspended' });
    await stop();
  });

  describe('while the engine of the health scripts is loaded', () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: {} };
    const withScript = { installationID: 'new', 'resource.customizations.health.Pod': 'return nil' };
    /** Loads the engine when `finish` or `fail` is called. */
    const slowEngine = () => {
      const waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
      let ask = (): void => undefined;
      const asked = new Promise<void>((resolve) => (ask = resolve));
      const compile: CompileScripts = (overrides) => {
        if (overrides['Pod'] === undefined) return suspending(overrides);
        ask();
        return new Promise((resolve, reject) => {
          waiting.push({ resolve: () => resolve(suspending(overrides)), reject });
        });
      };
      const finish = (): void => waiting.splice(0).forEach(({ resolve }) => resolve());
      const fail = (): void => waiting.splice(0).forEach(({ reject }) => reject(new Error('no memory')));
      return { compile, finish, fail, asked };
    };

    it('is not ready before the scripts can run', async () => {
      const { compile, finish, asked } = slowEngine();
      let isReady = false;
      const starting = settingsWorld((hub) => hub.put('ConfigMap', 'argocd-cm', withScript), compile);
      void starting.then(() => (isReady = true));
      await asked;
      await new Promise((done) => setImmediate(done));
      expect(isReady).toBe(false);
      finish();
      const { store, stop } = await starting;
      expect(store.settings().healthScripts?.run('', pod)).toEqual({ status: 'Suspended' });
      await stop();
    });

    it('keeps the settings in effect, then uses and announces the new ones', async () => {
      const { compile, finish } = slowEngine();
      const { store, hub, clock, changes, stop } = await settingsWorld(() => undefined, compile);
      hub.put('ConfigMap', 'argocd-cm', withScript);
      await clock.settle();
      expect([store.settings().version, changes]).toEqual(['default', []]);
      finish();
      await clock.settle();
      expect(store.settings().tracking.installationId).toBe('new');
      expect(changes).toEqual([{ settings: true, clusters: false, repositories: false }]);
      await stop();
    });

    it('uses the last of several changes', async () => {
      const { compile, finish } = slowEngine();
      const { store, hub, clock, stop } = await settingsWorld(() => undefined, compile);
      hub.put('ConfigMap', 'argocd-cm', withScript);
      await clock.settle();
      hub.put('ConfigMap', 'argocd-cm', { installationID: 'last' });
      await clock.settle();
      finish();
      await clock.settle();
      expect(store.settings().tracking.installationId).toBe('last');
      await stop();
    });

    it('uses settings without scripts if the engine cannot be loaded', async () => {
      const { compile, fail } = slowEngine();
      const { store, hub, clock, stop } = await settingsWorld(() => undefined, compile);
      hub.put('ConfigMap', 'argocd-cm', withScript);
      await clock.settle();
      fail();
      await clock.settle();
      expect(store.settings()).toMatchObject({ tracking: { installationId: 'new' } });
      expect(store.settings().healthScripts).toBeUndefined();
      await stop();
    });
  });

  it('isolates listeners from each other', async () => {
    const { store, hub, clock, stop } = await settingsWorld();
    let heard = 0;
    store.onChange(() => {
      throw new Error('a bug');
    });
    const unsubscribe = store.onChange(() => (heard += 1));
    hub.put('Secret', 'c', cluster('c'), { secretType: 'cluster' });
    await clock.settle();
    unsubscribe();
    hub.put('Secret', 'd', cluster('d'), { secretType: 'cluster' });
    await clock.settle();
    expect(heard).toBe(1);
    await stop();
  });

  it('reads the keys of argocd-gpg-keys-cm, and notifies when they change', async () => {
    const { hub, store, clock, changes, stop } = await settingsWorld((h) =>
      h.put('ConfigMap', 'argocd-gpg-keys-cm', { A: 'a' }),
    );
    const signal = new AbortController().signal;
    expect(await store.gpgKeys(signal)).toEqual({ A: 'a' });
    expect(store.settings().version).toBe('default');
    changes.length = 0;
    hub.put('ConfigMap', 'argocd-gpg-keys-cm', { A: 'a', B: 'b' });
    await clock.settle();
    expect(await store.gpgKeys(signal)).toEqual({ A: 'a', B: 'b' });
    hub.put('ConfigMap', 'argocd-gpg-keys-cm', { A: 'a', B: 'b' });
    await clock.settle();
    hub.remove('ConfigMap', 'argocd-gpg-keys-cm');
    await clock.settle();
    expect(await store.gpgKeys(signal)).toEqual({});
    expect(changes).toEqual(Array(2).fill({ settings: false, clusters: false, repositories: true }));
    await stop();
  });

  it('blocks only callers that need GPG keys if these cannot be read', async () => {
    const { hub, store, clock, stop } = await settingsWorld((h) => {
      h.forbidden = 'argocd-gpg-keys-cm';
      h.put('ConfigMap', 'argocd-gpg-keys-cm', { A: 'a' });
    });
    const gone = new AbortController();
    const waiting = store.gpgKeys(gone.signal).catch((error: unknown) => (error as Error).message);
    gone.abort(new Error('gave up'));
    expect(await waiting).toBe('gave up');
    hub.forbidden = '';
    const keys = store.gpgKeys(new AbortController().signal);
    await clock.advance(60_000);
    expect(await keys).toEqual({ A: 'a' });
    await stop();
  });
});
