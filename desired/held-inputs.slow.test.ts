import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isAbort, Shutdown, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import { eventually } from '#support';
import { silentLogger } from '#telemetry';
import { createDesiredSource, withPlugins } from './assembly.ts';
import { createInProcessRunner } from './command/in-process.ts';
import type { CommandRunner } from './command/types.ts';
import type { DesiredLimits } from './limits.ts';
import { noRenderer } from './render/in-process.ts';
import type { Renderer, RenderRequest } from './render/types.ts';
import { startPlugin } from './testing/plugin-server.ts';
import type { TestPlugin } from './testing/plugin-server.ts';
import { failureOf, TestRepository } from './testing/repository.ts';
import { renderOne, requestOf } from './testing/request.ts';
import type { DesiredSource, SourceManifests } from './types.ts';

const unit = 256 * 1024;
const big = 'x'.repeat(unit);
const answer = Buffer.from('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: made\n');

const bytesOf = ({ files }: RenderRequest): number => files.reduce((sum, { content }) => sum + content.length, 0);

/** A renderer whose requests of the project `hostile` never end, unless the test fails them. */
class HangingRenderer {
  readonly hanging: { readonly bytes: number; readonly fail: (error: Error) => void }[] = [];
  readonly renderer: Renderer = {
    ...noRenderer,
    version: () => Promise.resolve('v3.18.0'),
    render: (request, signal) => {
      const result = { steps: [{ exitCode: 0, stdout: answer, stderr: '' }] };
      if (request.share.project !== 'hostile') return Promise.resolve(result);
      return new Promise((_resolve, reject) => {
        const entry = { bytes: bytesOf(request), fail: (error: Error) => leave(error) };
        const leave = (error: Error): void => {
          this.hanging.splice(this.hanging.indexOf(entry), 1);
          reject(error);
        };
        this.hanging.push(entry);
        signal.addEventListener('abort', () => leave(signal.reason as Error), { once: true });
      });
    },
  };

  get bytes(): number {
    return this.hanging.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

let root: string;
let bytesRead: number;
let stop: AbortController;
let running: Promise<unknown>[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'held-'));
  bytesRead = 0;
  stop = new AbortController();
  running = [];
});
afterEach(async () => {
  stop.abort(new Shutdown('the test is over'));
  await Promise.all(running);
  rmSync(root, { recursive: true, force: true });
});

function sourceWith(renderer: Renderer, limits: Partial<DesiredLimits>): DesiredSource {
  const inner = createInProcessRunner({ clock: systemClock, env });
  const commands: CommandRunner = {
    runCommand: async (argv, options) => {
      const result = await inner.runCommand(argv, options);
      if (argv.includes('cat-file')) bytesRead += result.stdout.length;
      return result;
    },
  };
  return createDesiredSource({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    commands,
    cacheDir: join(root, 'cache'),
    reach: { allowLocal: true },
    renderer,
    limits,
    plugins: withPlugins({ sockets: root, exclusions: [] }),
  });
}

/** A repository with charts of so many units, in folders by their index. */
function chartsOf(units: number, count: number): TestRepository {
  const files: Record<string, string> = {};
  for (let i = 0; i < count; i += 1) {
    files[`${i}/Chart.yaml`] = 'apiVersion: v2\nname: c\nversion: 1.0.0\n';
    for (let j = 0; j < units; j += 1) files[`${i}/files/${j}`] = `${i} ${j} ${big}`;
  }
  return new TestRepository(root, files);
}

interface RenderedApp {
  readonly repository: TestRepository;
  readonly project: string;
  readonly index: number;
  readonly plugin?: { readonly name: string };
}

function renderIn(source: DesiredSource, app: RenderedApp): Promise<SourceManifests> {
  const { repository, project, index, ...rest } = app;
  const spec = { repoURL: repository.path, path: `${index}`, ...rest };
  const appName = `${project}-${index}`;
  const result = renderOne(source, requestOf(spec, bareRepository(repository.path), { project, appName }), stop.signal);
  running.push(result.catch((error: unknown) => error));
  return result;
}

const indexes = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('the files of a source', () => {
  it('are not read before its render has a slot', async () => {
    const { renderer, hanging } = new HangingRenderer();
    const source = sourceWith(renderer, { toolParallelism: 2 });
    const repository = chartsOf(4, 6);
    for (const index of indexes(6)) void renderIn(source, { repository, project: 'hostile', index });
    await eventually(() => expect(hanging).toHaveLength(2));
    expect(bytesRead / unit).toBeGreaterThan(8);
    expect(bytesRead / unit).toBeLessThan(9);
    hanging[0]?.fail(new Error('it failed'));
    await eventually(() => expect(bytesRead / unit).toBeGreaterThan(12));
    await eventually(() => expect(hanging).toHaveLength(2));
    expect(bytesRead / unit).toBeLessThan(13);
  });

  it('of one project take half of the memory, and another project renders beside it', async () => {
    const renderer = new HangingRenderer();
    const source = sourceWith(renderer.renderer, { toolParallelism: 16, inputBytes: 32 * unit });
    const [many, few] = [chartsOf(5, 10), chartsOf(2, 4)];
    const hostile = indexes(10).map((index) => renderIn(source, { repository: many, project: 'hostile', index }));
    const results = hostile.map((one) => one.catch((error: unknown) => error as Error));
    await eventually(() => expect(renderer.hanging).toHaveLength(3));
    const modest = indexes(4).map((index) => renderIn(source, { repository: few, project: 'modest', index }));
    for (const one of modest) expect((await one).objects).toHaveLength(1);
    expect(renderer.bytes / unit).toBeLessThan(16);
    expect(bytesRead / unit).toBeLessThan(3 * 5 + 4 * 2 + 1);
    // A failure makes room for the next one.
    renderer.hanging[0]?.fail(new Error('it failed'));
    await eventually(() => expect(bytesRead / unit).toBeGreaterThan(4 * 5 + 4 * 2));
    await eventually(() => expect(renderer.hanging).toHaveLength(3));
    stop.abort(new Shutdown('enough'));
    const errors = await Promise.all(results);
    expect(errors.filter((error) => isAbort(error))).toHaveLength(9);
    expect(errors.filter((error) => error instanceof Error && error.message === 'it failed')).toHaveLength(1);
  });

  it('are refused if they need more than half of the memory', async () => {
    const source = sourceWith(new HangingRenderer().renderer, { inputBytes: 4 * unit });
    const error = await failureOf(renderIn(source, { repository: chartsOf(3, 1), project: 'modest', index: 0 }));
    expect(error).toMatchObject({ code: 'DESIRED_LIMIT' });
    expect(error.message).toMatch(/: split the source$/);
    expect(bytesRead / unit).toBeLessThan(1);
    const small = await renderIn(source, { repository: chartsOf(1, 1), project: 'modest', index: 0 });
    expect(small.objects).toHaveLength(1);
  });

  it('are not packed for a plugin beyond its share, and another project renders beside it', async () => {
    const plugin = await startPlugin(root, 'cmp', { manifests: () => undefined });
    const renderer = new HangingRenderer();
    const source = sourceWith(renderer.renderer, { inputBytes: 32 * unit });
    const [many, few] = [chartsOf(1, 5), chartsOf(2, 1)];
    for (const index of indexes(5))
      void renderIn(source, { repository: many, project: 'hostile', index, plugin: { name: 'cmp' } });
    await eventually(() => expect(generated(plugin)).toBe(3));
    const { objects } = await renderIn(source, { repository: few, project: 'modest', index: 0 });
    expect(objects).toHaveLength(1);
    expect(generated(plugin)).toBe(3);
    plugin.kill();
  });
});

function generated({ sent }: TestPlugin): number {
  return sent.filter(({ method }) => method === 'generate').length;
}
