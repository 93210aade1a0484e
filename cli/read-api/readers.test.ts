import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '#base';
import type { PodProxyAnswer } from '#kube';
import { replicasWithApi } from './connect.ts';
import { ProxyReader } from './proxy-reader.ts';
import { SocketReader } from './socket-reader.ts';

const signal = new AbortController().signal;
const pod = (name: string): { namespace: string; name: string; port: number } => ({
  namespace: 'argocd',
  name,
  port: 8085,
});
/** The data of the slots' ConfigMap: holders, and where their API listens. */
function slotsData(holders: readonly (readonly [string, string | undefined])[]): Readonly<Record<string, string>> {
  const members = holders.map(([holder, address], slot) => ({
    ...{ slot, holder, incarnation: `${holder}/0`, renewals: 1, acked: 1 },
    ...(address === undefined ? {} : { api: { address, fingerprint: 'a'.repeat(64) } }),
  }));
  const mapping = holders.map(([ControllerName], ShardNumber) => ({
    ShardNumber,
    ControllerName,
    HeartbeatTime: '2026-11-25T12:00:00Z',
  }));
  return { shardControllerMapping: JSON.stringify(mapping), driftlessMembers: JSON.stringify(members) };
}

const ownError = (code: number, message: string): PodProxyAnswer => ({
  status: code,
  body: { apiVersion: 'driftless.io/v1', kind: 'Error', code, message },
});
const notWatched: PodProxyAnswer = {
  status: 404,
  body: {
    ...(ownError(404, 'namespace web is not watched: add it').body as JsonObject),
    reason: 'NamespaceNotWatched',
  },
};
const status = (code: number, message: string): PodProxyAnswer => ({
  status: code,
  body: { kind: 'Status', apiVersion: 'v1', message },
});

describe('pages through the pod proxy', () => {
  /** Reads one page from two replicas that answer like this. */
  async function read(...answers: readonly (PodProxyAnswer | Error)[]): Promise<{ page: unknown; asked: string[] }> {
    const asked: string[] = [];
    const proxy = {
      get: ({ name }: { readonly name: string }, path: string): Promise<PodProxyAnswer> => {
        const answer = answers[asked.length];
        asked.push(`${name} ${path}`);
        return answer === undefined || answer instanceof Error
          ? Promise.reject(answer ?? new Error('asked too often'))
          : Promise.resolve(answer);
      },
    };
    const reader = new ProxyReader({ proxy, pods: [pod('a'), pod('b')], token: undefined, signal });
    return { page: await reader.get('/queues'), asked };
  }

  it('come from the first replica that answers', async () => {
    const page: Json = { kind: 'Queues' };
    expect(await read(new Error('connection refused'), { status: 200, body: page })).toEqual({
      page,
      asked: ['a /api/v1/queues', 'b /api/v1/queues'],
    });
  });

  it('that do not exist are undefined', async () => {
    expect((await read(ownError(404, 'no such Application'))).page).toBeUndefined();
  });

  it.each<[string, readonly (PodProxyAnswer | Error)[], string]>([
    [
      'a forbidden proxy names the right',
      [status(403, 'pods "a" is forbidden')],
      'pods "a" is forbidden: you need get on pods/proxy in namespace argocd',
    ],
    [
      'a refusal of the replica says which right is missing',
      [ownError(403, 'you may not get applications')],
      'you may not get applications',
    ],
    ['a namespace that is not watched', [notWatched], 'namespace web is not watched: add it'],
    [
      'credentials that are not accepted',
      [status(401, 'Unauthorized')],
      'the API server does not accept your credentials: Unauthorized',
    ],
    [
      'every replica fails',
      [status(404, 'pods "a" not found'), ownError(503, 'the API server does not answer')],
      'no replica answers: a: pods "a" not found; b: the API server does not answer',
    ],
  ])('%s', async (_what, answers, message) => {
    await expect(read(...answers)).rejects.toThrow(message);
  });
});

describe('replicas with a read API', () => {
  const reading = (data: Readonly<Record<string, string>>): Parameters<typeof replicasWithApi>[0] => ({
    get: () => Promise.resolve({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data }),
  });

  it('are found in the slots, with their ports', async () => {
    const data = slotsData([
      ['ctl-0', '10.0.0.1:8085'],
      ['ctl-1', undefined],
      ['ctl-2', '[fd00::1]:9000'],
    ]);
    expect(await replicasWithApi(reading(data), 'argocd', signal)).toEqual([
      { namespace: 'argocd', name: 'ctl-0', port: 8085 },
      { namespace: 'argocd', name: 'ctl-2', port: 9000 },
    ]);
  });

  it('that are too old, or not there, are told apart', async () => {
    await expect(replicasWithApi(reading(slotsData([['ctl-0', undefined]])), 'argocd', signal)).rejects.toThrow(
      'no replica in namespace argocd serves the read API',
    );
    await expect(replicasWithApi(reading({}), 'argocd', signal)).rejects.toThrow('is --controller-namespace right?');
  });
});

describe('pages over the Unix socket', () => {
  let folder = '';
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'read-api-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('are JSON; a page that does not exist is undefined, a refusal its message', async () => {
    const server = createServer((request, response) => {
      const code =
        request.url === '/api/v1/queues' ? 200 : request.url?.startsWith('/api/v1/none') === true ? 404 : 400;
      const body = { kind: 'Queues', message: 'unknown query parameter "x"' };
      const isNotWatched = request.url === '/api/v1/none/web';
      response.writeHead(code).end(JSON.stringify(isNotWatched ? notWatched.body : body));
    });
    const path = join(folder, 'state.sock');
    await new Promise<void>((resolve) => void server.listen(path, resolve));
    const reader = new SocketReader(path, signal);
    expect(await reader.get('/queues')).toMatchObject({ kind: 'Queues' });
    expect(await reader.get('/none')).toBeUndefined();
    await expect(reader.get('/none/web')).rejects.toThrow('namespace web is not watched: add it');
    await expect(reader.get('/queues?x=1')).rejects.toThrow('unknown query parameter "x"');
    await new Promise((resolve) => server.close(resolve));
  });

  it('name the socket where no controller answers', async () => {
    const path = join(folder, 'none.sock');
    await expect(new SocketReader(path, signal).get('/queues')).rejects.toThrow(`no controller answers at ${path}`);
  });
});
