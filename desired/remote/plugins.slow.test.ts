import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, Shutdown, systemClock } from '#base';
import { bareRepository } from '#model';
import type { ApplicationSource } from '#model';
import { withPlugins } from '../assembly.ts';
import { defaultLimits } from '../limits.ts';
import { startPlugin } from '../testing/plugin-server.ts';
import { commit, failure, rendered, startRepoServer } from '../testing/repo-server.ts';
import type { ReceivedMessage, TestRepoServer } from '../testing/repo-server.ts';
import { failureOf, renderBench } from '../testing/repository.ts';
import type { RenderBench, TestRepository } from '../testing/repository.ts';
import { currentRevision, renderedAgain, renderOne, requestOf } from '../testing/request.ts';
import type { SourceManifests } from '../types.ts';

const missing = failure(
  status.UNKNOWN,
  'plugin sidecar failed. error getting manifests: could not find plugin supporting the given repository',
);

let server: TestRepoServer;
let bench: RenderBench;
let sockets = '';
let repository: TestRepository;
let stop: AbortController;
/** The answers of the repo-server. */
let plugins: readonly string[];
let generate: (message: ReceivedMessage) => object | Error | undefined;

beforeEach(async () => {
  server = await startRepoServer();
  plugins = ['elsewhere'];
  generate = ({ revision }) => plugged(revision as string);
  server.answer = (method, message) => {
    if (method === 'ListPlugins') return { items: plugins.map((name) => ({ name })) };
    return method === 'GenerateManifest' ? generate(message) : failure(status.UNIMPLEMENTED, method);
  };
  sockets = mkdtempSync(join(tmpdir(), 'cmp-'));
  open();
  repository = bench.repository({ 'app/a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n' });
});
afterEach(() => {
  stop.abort(new Shutdown());
  bench.close();
  server.kill();
  rmSync(sockets, { recursive: true, force: true });
});

function open(timeoutMs = 30_000, deadlineMs = defaultLimits.deadlineMs): void {
  stop = new AbortController();
  const { address } = server;
  const connection = { clock: systemClock, maxMessageBytes: 1 << 24, serviceConfigFromDns: false, userAgent: 'test' };
  bench = renderBench({
    plugins: withPlugins({ sockets, exclusions: [] }, { ...connection, address, timeoutMs }),
    limits: { deadlineMs },
  });
  void bench.desired.run(stop.signal);
}

const plugged = (revision: string, ...names: readonly string[]): object => ({
  ...rendered(revision, ...names),
  sourceType: 'Plugin',
});
const render = (source: Partial<ApplicationSource> = {}): Promise<SourceManifests> =>
  bench.render(repository, { path: 'app', ...source }, { cache: currentRevision });
const names = ({ objects }: SourceManifests): unknown => objects.map(({ metadata }) => metadata.name);
const asked = (): readonly ReceivedMessage[] =>
  server.calls.filter(({ method }) => method === 'GenerateManifest').map(({ message }) => message);

describe('plugins beside the repo-server', () => {
  it('render the sources that name them, at the resolved commit and with the credentials of the repository', async () => {
    const revision = repository.git('rev-parse', 'HEAD');
    const access = { ...bareRepository(repository.path), username: 'me', password: new SecretValue('hunter2') };
    const plugin = { name: 'elsewhere', env: [{ name: 'A', value: 'b' }] };
    const request = requestOf({ repoURL: repository.path, path: 'app', plugin }, access);
    const made = await renderOne(bench.desired, request, new AbortController().signal);
    expect(made).toMatchObject({ sourceType: 'Plugin', revision });
    expect(names(made)).toEqual(['one']);
    expect(asked()).toHaveLength(1);
    expect(asked()[0]).toMatchObject({
      revision,
      appLabelKey: '',
      repo: { repo: repository.path, username: 'me', password: 'hunter2' },
      applicationSource: { path: 'app', plugin: { name: 'elsewhere', env: [{ name: 'A', value: 'b' }] } },
    });
    // Rendered once for one commit.
    await renderOne(bench.desired, request, new AbortController().signal);
    expect(asked()).toHaveLength(1);
  });

  it('are not asked for sources with another type, nor for a plugin with a socket here', async () => {
    const local = await startPlugin(sockets, 'here', {
      manifests: () => ['apiVersion: v1\nkind: ConfigMap\nmetadata: {name: here}\n'],
    });
    expect(names(await render({ directory: {} }))).toEqual(['plain']);
    expect(names(await render({ plugin: { name: 'here' } }))).toEqual(['here']);
    expect(asked()).toEqual([]);
    local.kill();
  });

  it('are offered sources without a type, once per commit, before these are rendered here', async () => {
    expect(names(await render())).toEqual(['one']);
    expect(asked()).toHaveLength(1);
    expect(asked()[0]).toMatchObject({ applicationSource: { plugin: { name: '' } } });
    // A hard refresh asks once, too.
    await bench.render(repository, { path: 'app' }, { cache: renderedAgain });
    expect(asked()).toHaveLength(2);
    generate = () => missing;
    repository.commit({ 'app/b.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n' });
    const count = asked().length;
    expect(await render()).toMatchObject({ sourceType: 'Directory' });
    expect(names(await render({ directory: { recurse: true } }))).toEqual(['plain', 'other']);
    await render();
    expect(asked()).toHaveLength(count + 1);
  });

  it('are not asked if there are none', async () => {
    plugins = [];
    expect(names(await render())).toEqual(['plain']);
    expect(asked()).toEqual([]);
  });

  it.each<[string, () => object | Error | undefined, RegExp]>([
    ['another commit', () => plugged(commit), /got those of a{40}$/],
    ['no plugin', () => rendered(repository.git('rev-parse', 'HEAD')), /type "Directory" instead of Plugin/],
    ['an error', () => failure(status.UNKNOWN, 'the plugin says no'), /^rpc error: code = Unknown .* says no$/],
    [
      'more objects than allowed',
      () => plugged(repository.git('rev-parse', 'HEAD'), ...tooMany),
      /more than \d+ objects/,
    ],
  ])('fail a source if the repo-server answers with %s', async (_title, answer, expected) => {
    generate = answer;
    expect((await failureOf(render({ plugin: { name: 'elsewhere' } }))).message).toMatch(expected);
    expect((await failureOf(render())).message).toMatch(expected);
  });

  it('are named if they do not answer within the deadline of the source', async () => {
    stop.abort(new Shutdown());
    bench.close();
    open(30_000, 1500);
    repository = bench.repository({ 'app/a.yaml': '' });
    const revision = repository.git('rev-parse', 'HEAD');
    generate = () => undefined;
    const failing = (source: Partial<ApplicationSource>): Promise<Error> => failureOf(render(source));
    const expected = `rendering app at ${revision} by the repo-server ${server.address} took longer than 1.5 s`;
    expect((await failing({ plugin: { name: 'elsewhere' } })).message).toBe(expected);
    expect((await failing({})).message).toBe(expected);
  });

  it('fail a source without a type if they do not answer: it could be theirs', async () => {
    stop.abort(new Shutdown());
    bench.close();
    open(300);
    repository = bench.repository({ 'app/a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n' });
    generate = () => undefined;
    expect((await failureOf(render())).message).toContain('DeadlineExceeded');
    server.kill();
    expect((await failureOf(render())).message).toContain('Unavailable');
    expect(names(await render({ directory: {} }))).toEqual(['plain']);
  });
});

const tooMany = Array.from({ length: defaultLimits.maxObjects + 1 }, (_, i) => `n${i}`);
