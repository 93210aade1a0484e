import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { kill } from 'node:process';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newAbortController, Shutdown, systemClock, systemRandom } from '#base';
import { eventually, FakeClock } from '#support';
import { createLogger, silentLogger } from '#telemetry';
import { RendererUnavailable } from '../errors.ts';
import { failureOf } from '../testing/repository.ts';
import { startLocalRenderer } from './local.ts';
import type { LocalRenderer, LocalRendererDeps } from './local.ts';
import type { RenderRequest } from './types.ts';

const script = resolve('dist/desired/render-main.js');
const never = new AbortController().signal;
const manifest = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';
const parse = (text: string): RenderRequest => ({
  files: [],
  links: [],
  steps: [
    {
      program: 'parse',
      args: [],
      cwd: '',
      stdin: Buffer.from(`${JSON.stringify({ path: 'a.yaml', name: 'a.yaml', strict: false })}\n${text}`),
    },
  ],
  share: { project: 'p', repository: 'r' },
  timeoutMs: 60_000,
  maxOutputBytes: 128 * 1024 * 1024,
  maxMemoryBytes: 2 ** 31,
});

const settings = (): LocalRendererDeps['settings'] => ({
  folder: join(root, 'render'),
  path: '/nonexistent',
  folders: [],
  parallelism: 4,
  memoryBytes: 2 ** 32,
  maxRequestBytes: 2 ** 30,
  logLevel: 'error',
  logFormat: 'text',
});

let root = '';
let stop: AbortController;
let renderer: LocalRenderer;
let running: Promise<void>;
beforeAll(() => {
  if (!existsSync(script)) throw new Error('dist/ is missing: run npm run build before this test');
});
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'local-'));
  stop = newAbortController();
  renderer = startLocalRenderer({
    clock: systemClock,
    random: systemRandom,
    version: 'v1',
    logger: silentLogger,
    script,
    settings: settings(),
  });
  running = renderer.run(stop.signal);
});
afterEach(async () => {
  stop.abort(new Shutdown());
  await running;
  rmSync(root, { recursive: true, force: true });
});

describe('the renderer as a child process', () => {
  it('parses big files, has no environment, and removes its folder when it is stopped', async () => {
    const { steps } = await renderer.render(parse(manifest), never);
    expect(JSON.parse(Buffer.from(steps[0]?.stdout ?? []).toString('utf8'))).toMatchObject({
      object: { kind: 'ConfigMap' },
    });
    const pid = renderer.pid ?? 0;
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toBe('');
    stop.abort(new Shutdown());
    await running;
    expect(existsSync(join(root, 'render'))).toBe(false);
    await eventually(() => expect(existsSync(`/proc/${pid}`)).toBe(false));
  });

  it('reports a program that is not installed', async () => {
    expect(await renderer.version('helm', undefined, never)).toBeUndefined();
    expect(
      await failureOf(renderer.render({ ...parse(''), steps: [{ program: 'helm', args: [], cwd: '' }] }, never)),
    ).toMatchObject({
      code: 'COMMAND_NOT_FOUND',
    });
  });

  it('fails its requests when it is killed, and a new process serves the next one', async () => {
    await renderer.render(parse(manifest), never);
    const first = renderer.pid ?? 0;
    const many = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n${Array.from({ length: 300_000 }, (_, i) => `  k${i}: v`).join('\n')}\n`;
    const lost = failureOf(renderer.render(parse(many), never));
    await eventually(() => expect(readdirSync(join(root, 'render', 'incoming'))).not.toEqual([]));
    kill(first, 'SIGKILL');
    expect(await lost).toBeInstanceOf(RendererUnavailable);
    const { steps } = await renderer.render(parse(manifest), never);
    expect(steps[0]?.exitCode).toBe(0);
    expect(renderer.pid).not.toBe(first);
    await eventually(() => expect(readdirSync(join(root, 'render', 'incoming'))).toEqual([]));
  });

  it('serves the next request although its folder was removed meanwhile', async () => {
    await renderer.render(parse(manifest), never);
    rmSync(join(root, 'render'), { recursive: true });
    const outcomes: unknown[] = [];
    for (let i = 0; i < 3; i += 1)
      outcomes.push(await renderer.render(parse(manifest), never).then(({ steps }) => steps[0]?.exitCode, String));
    expect(outcomes).toEqual([0, 0, 0]);
  });

  it('continues other requests when one is aborted', async () => {
    const leave = newAbortController();
    const big = `${manifest}data: {a: "${'x'.repeat(30_000_000)}"}\n`;
    const left = failureOf(renderer.render(parse(big), leave.signal));
    const other = renderer.render(parse(manifest), never);
    leave.abort(new Shutdown('enough'));
    expect((await left).message).toBe('enough');
    expect((await other).steps[0]?.exitCode).toBe(0);
    expect((await renderer.render(parse(manifest), never)).steps[0]?.exitCode).toBe(0);
    expect(renderer.pid).toBeGreaterThan(0);
  });
});

describe('a renderer with an idle limit', () => {
  const idleLimitMs = 10_000;
  let clock: FakeClock;
  let lines: string[];
  let idle: LocalRenderer;
  beforeEach(() => {
    clock = new FakeClock();
    lines = [];
    const logger = createLogger({ level: 'warn', format: 'json', destination: { write: (line) => lines.push(line) } });
    const deps = { clock, random: systemRandom, version: 'v1', script, idleLimitMs, logger };
    idle = startLocalRenderer({ ...deps, settings: { ...settings(), folder: join(root, 'idle') } });
  });

  it('starts with the first request, ends after the last one, and starts again', async () => {
    const ending = idle.run(stop.signal);
    expect(idle.pid).toBeUndefined();
    await idle.render(parse(manifest), never);
    const first = idle.pid ?? 0;
    await clock.advance(idleLimitMs - 1);
    await idle.render(parse(manifest), never);
    await clock.advance(idleLimitMs - 1);
    expect(idle.pid).toBe(first);
    await clock.advance(1);
    await eventually(() => expect(idle.pid).toBeUndefined());
    await eventually(() => expect(existsSync(`/proc/${first}`)).toBe(false));
    expect(existsSync(join(root, 'idle'))).toBe(false);
    const { steps } = await idle.render(parse(manifest), never);
    expect([steps[0]?.exitCode, lines]).toEqual([0, []]);
    stop.abort(new Shutdown());
    await ending;
    expect(clock.pending).toBe(0);
  });

  it('serves a request that arrives while the idle process ends', async () => {
    const ending = idle.run(stop.signal);
    await idle.render(parse(manifest), never);
    const first = idle.pid;
    await clock.advance(idleLimitMs);
    const { steps } = await idle.render(parse(manifest), never);
    expect([steps[0]?.exitCode, lines]).toEqual([0, []]);
    expect(idle.pid).not.toBe(first);
    stop.abort(new Shutdown());
    await ending;
  });
});
