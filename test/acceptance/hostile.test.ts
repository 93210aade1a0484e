import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import { eventually } from '#support';
import type { Application } from '#model';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

const levels = 5000;
const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

/**
 * A proxy before a simulated server that replaces the text `@deep@` in objects by 5,000 nested
 * levels, which the simulator cannot store.
 */
async function deepening(target: string): Promise<Server> {
  const relay = (asked: IncomingMessage, answer: ServerResponse): void => {
    const passed = request(
      new URL(asked.url ?? '/', target),
      { method: asked.method, headers: asked.headers },
      (got) => {
        answer.writeHead(got.statusCode ?? 500, omit(got.headers, 'content-length'));
        const replace = new Transform({
          transform: (chunk: Buffer, _encoding, done) =>
            done(null, chunk.toString('utf8').replaceAll('"@deep@"', deep)),
        });
        got.pipe(replace).pipe(answer);
        got.on('error', () => answer.destroy());
      },
    );
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  };
  const server = createServer(relay);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

let world: World;
let repo: GitFixture;
let server: Server;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
  server = await deepening(world.cluster.url);
  world.addCluster('deep', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterEach(async () => {
  await world.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('an object nested 5,000 levels deep', () => {
  const destination = { name: 'deep', namespace: 'apps' };
  const statusOf = (app: Application, name: string): string | undefined =>
    app.status?.resources?.find((resource) => resource.name === name)?.status;

  const started = async (): Promise<void> => {
    repo.commit({
      'app/a.yaml': config('a'),
      'app/z.yaml': config('z'),
      'bad/m.yaml': config('m'),
    });
    world.application('good', { ...repo.source(), ...automated, destination });
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    world.application('bad', { ...repo.source({ path: 'bad' }), ...automated, destination }, { finalizers });
    const first = await world.replica();
    await world.until('good', synced);
    await world.until('bad', synced);
    await first.stop();
    // By its name the object is between the objects of another Application in a list.
    world.tamper('', 'ConfigMap', 'm', { data: { key: '1', deep: '@deep@' } });
  };

  it('hides no other object of its list, and is not Missing itself', async () => {
    await started();
    const replica = await world.replica();
    world.refresh('good', 'hard');
    world.refresh('bad', 'hard');
    await eventually(() =>
      expect(world.app('good')?.metadata.annotations ?? {}).not.toHaveProperty('argocd.argoproj.io/refresh'),
    );
    await world.until('good', synced);
    const bad = await world.until('bad', (app) =>
      expect(JSON.stringify(app.status?.conditions ?? [])).toContain('nested deeper than 500 levels'),
    );
    expect(statusOf(bad, 'm')).toBe('Unknown');
    const kinds = replica.facts.watched().flatMap(({ info }) => info.kinds);
    expect(kinds.flatMap(({ message }) => message ?? [])).toEqual([
      expect.stringContaining('ConfigMap apps/m cannot be read: nested deeper than 500 levels'),
    ]);
    // The same by a watch: the event of this object does not hide that of the next one.
    world.tamper('', 'ConfigMap', 'm', { data: { key: '2', deep: '@deep@' } });
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'by hand' } });
    await eventually(() => expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '1' } }));
  });

  it('blocks a cascading deletion with a condition until it can be read', async () => {
    await started();
    await world.replica();
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'bad');
    await world.until('bad', (app) =>
      expect(app.status?.conditions).toContainEqual(
        expect.objectContaining({
          type: 'DeletionError',
          message: expect.stringContaining('nested deeper') as unknown,
        }),
      ),
    );
    expect(world.live('', 'ConfigMap', 'm')).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'm' } });
    world.tamper('', 'ConfigMap', 'm', { data: { key: '1' } });
    await eventually(() => {
      expect(world.app('bad')).toBeUndefined();
      expect(world.live('', 'ConfigMap', 'm')).toBeUndefined();
    }, 15_000);
    await world.until('good', synced);
  });
});
