import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

describe('several sources', () => {
  it('are merged: the later one wins for the same object, and each has its revision', async () => {
    const other = world.repository('other');
    const first = repo.commit({ 'app/a.yaml': config('a', 'first'), 'app/b.yaml': config('b', 'first') });
    const second = other.commit({ 'more/b.yaml': config('b', 'second'), 'more/c.yaml': config('c', 'second') });
    await world.replica();
    world.application('demo', {
      ...automated,
      sources: [
        { repoURL: repo.url, path: 'app', targetRevision: 'main' },
        { repoURL: other.url, path: 'more', targetRevision: 'main' },
      ],
    });
    const app = await world.until('demo', (now) => {
      expect([now.status?.sync?.status, now.status?.health?.status]).toEqual(['Synced', 'Healthy']);
    });
    expect(app.status?.sync?.revisions).toEqual([first, second]);
    const values = ['a', 'b', 'c'].map((name) => (world.live('', 'ConfigMap', name)?.['data'] as { key: string }).key);
    expect(values).toEqual(['first', 'second', 'second']);
    expect(app.status?.conditions?.map(({ type }) => type)).toEqual(['RepeatedResourceWarning']);
  });
});

describe('a folder', () => {
  it('is read with subfolders if it recurses, and without excluded files', async () => {
    repo.commit({
      'app/a.yaml': config('a'),
      'app/deep/b.yaml': config('b'),
      'app/deep/c.json': JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }),
      'app/deep/skip.yaml': config('skipped'),
    });
    await world.replica();
    world.application('flat', { ...repo.source(), ...automated });
    await world.until('flat', synced);
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'flat');
    world.application('deep', {
      ...repo.source({ directory: { recurse: true, exclude: 'deep/skip.yaml' } }),
      ...automated,
    });
    const app = await world.until('deep', synced);
    expect(app.status?.resources?.map((row) => row.name)).toEqual(['a', 'b', 'c']);
  });
});

describe('a commit outside the path of an Application', () => {
  it('changes only its revision', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'docs/readme.md': '1' });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    const version = world.live('', 'ConfigMap', 'a')?.metadata.resourceVersion;
    const second = repo.commit({ 'docs/readme.md': '2' });
    world.refresh('demo');
    const app = await world.until('demo', (now) => {
      expect(now.status?.sync?.revision).toBe(second);
      synced(now);
    });
    expect(world.live('', 'ConfigMap', 'a')?.metadata.resourceVersion).toBe(version);
    expect(app.status?.history).toHaveLength(1);
  });
});

/** Accepts connections and never answers. */
class SilentServer {
  readonly sockets: Socket[] = [];
  readonly #server: Server = createServer((socket) => {
    this.sockets.push(socket);
    socket.on('error', () => undefined);
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => void this.#server.close(resolve));
  }
}

describe('repositories that never answer', () => {
  it('do not delay other Applications, even if there are more of them than status processors', async () => {
    const server = new SilentServer();
    const url = await server.start();
    try {
      repo.commit({ 'app/a.yaml': config('a') });
      await world.replica({ statusProcessors: 4 });
      for (let i = 0; i < 8; i += 1)
        world.application(`hangs-${i}`, { source: { repoURL: `${url}/repo-${i}.git`, path: 'app' } });
      await eventually(() => expect(server.sockets).toHaveLength(8));
      world.application('demo', { ...repo.source(), ...automated });
      await world.until('demo', synced);
      const second = repo.commit({ 'app/a.yaml': config('a', 'second') });
      world.refresh('demo');
      await world.until('demo', (now) => expect(now.status?.sync?.revision).toBe(second));
      expect(server.sockets).toHaveLength(8);
    } finally {
      await server.stop();
    }
  });
});
