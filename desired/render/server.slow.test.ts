import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Shutdown, yieldToLoop } from '#base';
import { eventually, FakeClock } from '#support';
import { CommandError, RendererUnavailable, UnsafeInput } from '../errors.ts';
import { scriptRequest, startTestRenderer } from '../testing/render-service.ts';
import type { TestRenderer } from '../testing/render-service.ts';
import { failureOf } from '../testing/repository.ts';
import { framesOf, frameTypes, FrameWriter } from './frames.ts';
import { protocolVersion } from './messages.ts';
import type { RenderRequest } from './types.ts';

const never = new AbortController().signal;
let server: TestRenderer;
beforeAll(async () => {
  server = await startTestRenderer();
});
afterAll(() => server.close());

const textOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('utf8');
async function outputOf(request: RenderRequest): Promise<string> {
  const { steps } = await server.renderer.render(request, never);
  return textOf(steps.at(-1)?.stdout);
}

describe('a request', () => {
  it('returns each step up to the first failure, with paths relative to the source', async () => {
    const base = scriptRequest('');
    const step = (script: string) => ({ program: 'helm', args: ['-c', script], cwd: 'repo' }) as const;
    const { steps } = await server.renderer.render(
      { ...base, steps: [step('echo one'), step('echo "in $PWD/a.txt" >&2; exit 3'), step('echo never')] },
      never,
    );
    expect(steps.map(({ exitCode }) => exitCode)).toEqual([0, 3]);
    expect(steps[1]?.stderr).toBe('in a.txt\n');
  });

  it('carries files, empty files, links and input', async () => {
    const base = scriptRequest('cat a.txt b/link; wc -c < b/empty; cat', {
      files: [
        { path: 'repo/a.txt', content: Buffer.from('A') },
        { path: 'repo/b/empty', content: new Uint8Array() },
        { path: 'values/v', content: Buffer.from('V') },
      ],
      links: [{ path: 'repo/b/link', target: '../../values/v' }],
    });
    const [step] = base.steps;
    const request = { ...base, steps: step === undefined ? [] : [{ ...step, stdin: Buffer.from('input') }] };
    expect((await outputOf(request)).replaceAll(/\s+/g, ' ')).toBe('AV0 input');
  });

  it.each<[string, Partial<RenderRequest>]>([
    ['a path that leads out', { files: [{ path: '../../escape', content: Buffer.from('x') }] }],
    ['an absolute path', { files: [{ path: '/tmp/escape', content: Buffer.from('x') }] }],
    ['an empty segment', { files: [{ path: 'repo//escape', content: Buffer.from('x') }] }],
    ['a .git folder', { files: [{ path: 'repo/.git/config', content: Buffer.from('x') }] }],
    ['a link that leads out', { links: [{ path: 'repo/link', target: '../../../../etc/passwd' }] }],
    ['an absolute link', { links: [{ path: 'repo/link', target: '/etc/passwd' }] }],
    ['a link that is named twice', { links: ['x', 'y'].map((target) => ({ path: 'repo/link', target })) }],
    ['a folder that leads out', { steps: [{ program: 'helm', args: [], cwd: '../..' }] }],
    ['a binary that is no absolute path', { steps: [{ program: 'helm', binary: '../x', args: [], cwd: '' }] }],
  ])('with %s is refused, and leaves no files', async (_name, more) => {
    const error = await failureOf(server.renderer.render(scriptRequest('true', more), never));
    expect(error instanceof UnsafeInput || error instanceof RendererUnavailable).toBe(true);
    await eventually(() => expect(readdirSync(join(server.folder, 'incoming'))).toEqual([]));
  });

  it('that takes too long, prints too much or needs too much memory fails with the reason', async () => {
    const codeOf = async (script: string, more: Partial<RenderRequest>): Promise<string> => {
      const error = await failureOf(
        server.renderer.render(scriptRequest(script, { program: 'jsonnet', ...more }), never),
      );
      return error instanceof CommandError ? error.code : String(error);
    };
    expect(await codeOf('for(;;);', { timeoutMs: 300 })).toBe('COMMAND_TIMEOUT');
    expect(await codeOf('for(;;) process.stdout.write("x".repeat(9999))', { maxOutputBytes: 100_000 })).toBe(
      'COMMAND_OUTPUT',
    );
    const hungry = 'const a=[]; setInterval(()=>a.push(Buffer.alloc(2e7,1)),5)';
    expect(await codeOf(hungry, { maxMemoryBytes: 250_000_000 })).toBe('COMMAND_MEMORY');
  });

  it('with 64 MB of values does not block the event loop, in either direction', async () => {
    const big = Buffer.alloc(64 * 1024 * 1024, 'v');
    let turns = 0;
    const state = { isDone: false };
    const counting = (async () => {
      for (; !state.isDone; turns += 1) await yieldToLoop();
    })();
    const request = scriptRequest('cat values', { files: [{ path: 'repo/values', content: big }] });
    const { steps } = await server.renderer.render(request, never).finally(() => (state.isDone = true));
    await counting;
    expect(Buffer.compare(steps[0]?.stdout ?? Buffer.alloc(0), big)).toBe(0);
    expect(turns).toBeGreaterThan(200);
  });

  it('gets its own answer among a hundred concurrent ones', async () => {
    // Virtual time: on a busy machine a hundred greetings take longer than the deadline of one.
    const untimed = await startTestRenderer({}, new FakeClock());
    try {
      const requestOf = (i: number): RenderRequest =>
        scriptRequest('cat a.txt', {
          files: [{ path: 'repo/a.txt', content: Buffer.from(`request ${i}`) }],
          timeoutMs: 600_000,
        });
      const answers = await Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          const { steps } = await untimed.renderer.render(requestOf(i), never);
          return textOf(steps.at(-1)?.stdout);
        }),
      );
      expect(answers).toEqual(Array.from({ length: 100 }, (_, i) => `request ${i}`));
      await eventually(() => expect(readdirSync(join(untimed.folder, 'incoming'))).toEqual([]));
    } finally {
      await untimed.close();
    }
  }, 300_000);

  it('kills its programs when its caller aborts', async () => {
    const stop = new AbortController();
    const running = failureOf(server.renderer.render(scriptRequest('echo > started; sleep 600'), stop.signal));
    const started = (): boolean =>
      readdirSync(server.folder, { recursive: true, encoding: 'utf8' }).some((path) => path.endsWith('/started'));
    await eventually(() => expect(started()).toBe(true));
    stop.abort(new Shutdown('enough'));
    expect((await running).message).toBe('enough');
    await eventually(() => expect(started()).toBe(false));
  });
});

describe('memory for all programs together', () => {
  it('is freed by killing the biggest program, and the others continue', async () => {
    const small = await startTestRenderer({ memoryBytes: 400_000_000 });
    try {
      const script = 'const a=[]; setInterval(()=>a.push(Buffer.alloc(2e7,1)),5)';
      const hungry = failureOf(small.renderer.render(scriptRequest(script, { program: 'jsonnet' }), never));
      const modest = small.renderer.render(scriptRequest('sleep 1; echo fine'), never);
      expect(await hungry).toMatchObject({ code: 'COMMAND_MEMORY' });
      expect(textOf((await modest).steps[0]?.stdout)).toBe('fine\n');
    } finally {
      await small.close();
    }
  });
});

describe('memory for one program', () => {
  it('is limited by the renderer, even if the request allows more', async () => {
    const small = await startTestRenderer({ maxProgramBytes: 250_000_000 });
    try {
      const script = 'const a=[]; setInterval(()=>a.push(Buffer.alloc(2e7,1)),5)';
      const hungry = failureOf(small.renderer.render(scriptRequest(script, { program: 'jsonnet' }), never));
      expect(await hungry).toMatchObject({
        code: 'COMMAND_MEMORY',
        message: 'jsonnet needed more than 250000000 bytes of memory',
      });
    } finally {
      await small.close();
    }
  });
});

const canMount = process.getuid?.() === 0;
(canMount ? describe : describe.skip)('a staging folder whose disk is full (needs root)', () => {
  it('fails the request with a clear message, and the next small one works', async () => {
    const disk = mkdtempSync(join(tmpdir(), 'disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', disk]);
    try {
      const small = await startTestRenderer({ folder: join(disk, 'staging') });
      try {
        const big = scriptRequest('true', { files: [{ path: 'repo/big', content: Buffer.alloc(2_000_000) }] });
        const error = await failureOf(small.renderer.render(big, never));
        expect(error).toBeInstanceOf(RendererUnavailable);
        expect(error.message).toContain('the disk of its staging folder is full');
        await eventually(() => expect(readdirSync(join(small.folder, 'incoming'))).toEqual([]));
        const { steps } = await small.renderer.render(scriptRequest('cat a.txt'), never);
        expect(textOf(steps[0]?.stdout)).toBe('content of a');
      } finally {
        await small.close();
      }
    } finally {
      execFileSync('umount', ['--lazy', disk]);
      rmSync(disk, { recursive: true });
    }
  });
});

describe('a client that breaks the protocol', () => {
  const greeting = { protocol: protocolVersion, version: 'v1', instance: '' };
  const cases: readonly (readonly [string, (socket: Socket, writer: FrameWriter) => unknown])[] = [
    ['sends garbage', (socket) => socket.write('GET / HTTP/1.1\r\n\r\n')],
    ['does not greet', (_socket, writer) => writer.sendJson(frameTypes.request, 1, { ask: 'check' })],
    ['has another version', (_socket, writer) => writer.sendJson(frameTypes.hello, 0, { ...greeting, version: 'v2' })],
    [
      'announces a huge frame',
      async (socket, writer) => {
        await writer.sendJson(frameTypes.hello, 0, greeting);
        socket.write(Buffer.from('ffffffff0200000001', 'hex'));
      },
    ],
    [
      'requests an unknown program',
      async (_socket, writer) => {
        await writer.sendJson(frameTypes.hello, 0, greeting);
        await writer.sendJson(frameTypes.request, 1, { ask: 'shell', command: 'id' });
        await writer.send(frameTypes.end, 1);
      },
    ],
    [
      'sends unannounced bytes',
      async (_socket, writer) => {
        await writer.sendJson(frameTypes.hello, 0, greeting);
        await writer.sendJson(frameTypes.request, 1, { ask: 'check' });
        await writer.send(frameTypes.data, 1, Buffer.from('x'));
      },
    ],
  ];
  it.each(cases)('and %s gets the reason, is disconnected, and does not affect others', async (_name, act) => {
    const socket = connect(server.socket);
    socket.on('error', () => undefined);
    await act(socket, new FrameWriter(socket));
    const types: number[] = [];
    for await (const { type } of framesOf(socket)) types.push(type);
    expect(types.at(-1)).toBe(frameTypes.failure);
    expect(await outputOf(scriptRequest('echo fine'))).toBe('fine\n');
  });
});
