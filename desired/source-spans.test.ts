import { afterEach, describe, expect, it } from '@jest/globals';
import { Shutdown, systemClock } from '#base';
import { bareRepository } from '#model';
import { RecordingTracer } from '../telemetry/testing/index.ts';
import { createRemoteSource } from './index.ts';
import { commit, rendered, startRepoServer } from './testing/repo-server.ts';
import { requestOf } from './testing/request.ts';
import {
  configMapYaml,
  GitFixture,
  neverAborted,
  removeTemporaryFolders,
  sourceBench,
} from './testing/source-bench.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0).reverse()) clean();
  removeTemporaryFolders();
});

describe('spans of the embedded generator', () => {
  it('are one for the source, and one for its render only if it is rendered', async () => {
    const tracer = new RecordingTracer();
    const repo = new GitFixture();
    const sha = repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const { render } = sourceBench({}, undefined, systemClock, tracer);
    await tracer.trace('pass', {}, () => render(repo.path, { revision: sha }));
    await tracer.trace('pass', {}, () => render(repo.path, { revision: sha }));
    const [first, second] = tracer.named('controller.GetRepoObjs.source');
    expect(first?.attributes).toMatchObject({
      'argocd.source.index': 0,
      'argocd.source.repo_url': repo.path,
      'argocd.revision': sha,
      'argocd.resolved_revision': sha,
      'argocd.source.type': 'Directory',
    });
    expect(tracer.children(first)).toEqual(['desired.render']);
    expect(tracer.children(second)).toEqual([]);
  });
});

describe('spans of the repo-server', () => {
  it('are one for each call, which carries its trace context', async () => {
    const tracer = new RecordingTracer();
    const server = await startRepoServer();
    cleanups.push(() => server.kill());
    const controller = new AbortController();
    const source = createRemoteSource({
      clock: systemClock,
      tracer,
      address: server.address,
      timeoutMs: 10_000,
      maxMessageBytes: 1 << 20,
      serviceConfigFromDns: false,
      userAgent: 'test',
    });
    void source.run(controller.signal);
    cleanups.push(() => controller.abort(new Shutdown()));
    const url = 'https://git.example.com/team/app.git';
    const secretUrl = 'https://robot:canary-7f3a@git.example.com/team/app.git';
    const request = requestOf({ repoURL: secretUrl, path: 'p', targetRevision: 'main' }, bareRepository(url), {});
    server.answer = () => rendered(commit);
    await tracer.trace('pass', {}, () => source.manifests(request, neverAborted)).catch(() => undefined);
    await source.manifests(request, neverAborted).catch(() => undefined);
    const [one] = tracer.named('controller.GetRepoObjs.source');
    const calls = tracer.named('repository.RepoServerService/GenerateManifest');
    expect(calls).toMatchObject([{ parent: one, isEnded: true }]);
    expect(server.traceparents).toEqual([calls[0]?.traceparent, undefined]);
    expect(JSON.stringify(tracer.spans.map(({ attributes }) => attributes))).not.toContain('canary');
  });
});
