import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { handleUnaryCall } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { newAbortController, OwnershipLost, SecretValue, systemClock } from '#base';
import { bareRepository } from '#model';
import { commitServerMethods } from '../remote/protocol.ts';
import { createHydrationTexts } from '../assembly.ts';
import { createCommitServerClient } from './commit-server.ts';
import type { HydrationCommit } from './types.ts';

// A real gRPC server with the messages of Argo CD's commit server.

const sha = 'a'.repeat(40);
const servers: Server[] = [];
const received: object[] = [];

async function serve(answer: handleUnaryCall<object, object>): Promise<string> {
  const server = new Server();
  servers.push(server);
  server.addService(commitServerMethods(), {
    CommitHydratedManifests: (call: Parameters<typeof answer>[0], done: Parameters<typeof answer>[1]) => {
      received.push(call.request);
      answer(call, done);
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return `127.0.0.1:${port}`;
}

const request = (over: Partial<HydrationCommit> = {}): HydrationCommit => ({
  repository: {
    ...bareRepository('https://git/wet'),
    secretData: { url: new SecretValue('https://git/wet'), password: new SecretValue('hunter2') },
  },
  syncBranch: 'env/prod',
  targetBranch: 'env/next',
  drySha: 'd'.repeat(40),
  dryCommit: {
    author: 'a <a@x>',
    authoredAt: 1,
    message: 's\n\nb',
    references: [{ sha: 'abcdef', repoURL: 'https://code' }],
  },
  dryUrl: 'https://git/dry',
  isDryDefaultBranch: false,
  message: 'm',
  readmeTemplate: 'r',
  project: 'default',
  author: { name: 'n', email: 'e' },
  paths: [{ path: 'app', objects: [{ kind: 'ConfigMap' }], commands: ['helm template .'] }],
  fenced: (send) => send({ signal: newAbortController().signal, beforeSend: () => undefined }),
  ...over,
});

function commit(address: string, order = request()): Promise<string> {
  const texts = createHydrationTexts({ clock: systemClock });
  const client = createCommitServerClient({ clock: systemClock, address, userAgent: 'test', texts, timeoutMs: 5000 });
  return client.commit(order, newAbortController().signal);
}

afterEach(() => {
  for (const server of servers.splice(0)) server.forceShutdown();
  received.length = 0;
});

describe('the commit server', () => {
  it('gets the fields of Argo CD, and answers with the commit', async () => {
    const address = await serve((_call, done) => done(null, { hydratedSha: sha }));
    expect(await commit(address)).toBe(sha);
    expect(received).toMatchObject([
      {
        repo: { repo: 'https://git/wet', password: 'hunter2' },
        syncBranch: 'env/prod',
        targetBranch: 'env/next',
        drySha: 'd'.repeat(40),
        commitMessage: 'm',
        readmeMessage: 'r',
        authorName: 'n',
        authorEmail: 'e',
        paths: [{ path: 'app', commands: ['helm template .'], manifests: [{ manifestJSON: '{"kind":"ConfigMap"}' }] }],
        dryCommitMetadata: {
          author: 'a <a@x>',
          message: 's\n\nb',
          date: { seconds: 1 },
          references: [{ commit: { sha: 'abcdef', repoUrl: 'https://code' } }],
        },
      },
    ]);
  });

  it('gets the default template of README.md if argocd-cm has none', async () => {
    const address = await serve((_call, done) => done(null, { hydratedSha: sha }));
    await commit(address, request({ readmeTemplate: '' }));
    expect(received).toMatchObject([{ readmeMessage: expect.stringContaining('git clone {{ .RepoURL }}') }]);
  });

  it.each([
    ['no commit', '', 'answered without a commit'],
    ['a branch', 'main', 'answered with main, which is no commit'],
  ])('that answers with %s is an error', async (_what, hydratedSha, message) => {
    const address = await serve((_call, done) => done(null, { hydratedSha }));
    await expect(commit(address)).rejects.toThrow(message);
  });

  it('that refuses shows its reason, without passwords', async () => {
    const address = await serve((_call, done) =>
      done({ code: status.UNKNOWN, details: 'failed to push: https://u:hunter2@git refused' }),
    );
    const refused = commit(address);
    await expect(refused).rejects.toThrow('rpc error: code = Unknown desc = failed to push');
    await expect(refused).rejects.not.toThrow('hunter2');
  });

  it('that is not there is reported with its address', async () => {
    await expect(commit('127.0.0.1:1')).rejects.toThrow('commit-server 127.0.0.1:1');
  });

  it('is not asked after the group went to another replica', async () => {
    const address = await serve((_call, done) => done(null, { hydratedSha: sha }));
    const beforeSend = (): void => {
      throw new OwnershipLost('the group');
    };
    const order = request({ fenced: (send) => send({ signal: newAbortController().signal, beforeSend }) });
    await expect(commit(address, order)).rejects.toThrow(OwnershipLost);
    expect(received).toEqual([]);
  });

  it('is not asked about a branch that git refuses', async () => {
    await expect(commit('127.0.0.1:1', request({ targetBranch: '-x' }))).rejects.toThrow('the branch "-x" is refused');
  });
});
