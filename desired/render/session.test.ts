import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Shutdown, systemClock, systemRandom } from '#base';
import { FakeClock } from '#support';
import { RendererUnavailable } from '../errors.ts';
import { failureOf } from '../testing/repository.ts';
import { framesOf, frameTypes, FrameWriter, maxFrameBytes } from './frames.ts';
import type { RenderFrame } from './frames.ts';
import { protocolVersion } from './messages.ts';
import { createRemoteRenderer } from './remote.ts';
import type { RemoteRendererDeps } from './remote.ts';
import type { RenderRequest } from './types.ts';

const never = new AbortController().signal;
const request: RenderRequest = {
  files: [{ path: 'repo/a', content: Buffer.from('a') }],
  links: [],
  steps: [{ program: 'helm', args: ['template', '.'], cwd: 'repo' }],
  share: { project: 'p', repository: 'r' },
  timeoutMs: 1000,
  maxOutputBytes: 1000,
  maxMemoryBytes: 1000,
};
const hello = { protocol: protocolVersion, version: 'v1', instance: 'i' };

let folder = '';
const servers: Server[] = [];
const sockets = new Set<Socket>();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'session-'));
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  rmSync(folder, { recursive: true });
});

type Peer = (frame: RenderFrame, writer: FrameWriter, socket: Socket) => unknown;

/** A renderer that sends a hello message, and then handles each frame as the test wants. */
async function rendererThat(peer: Peer, greeting: unknown = hello, clock: RemoteRendererDeps['clock'] = systemClock) {
  const path = join(folder, 'render.sock');
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const writer = new FrameWriter(socket);
    void (async () => {
      for await (const frame of framesOf(socket))
        if (frame.type === frameTypes.hello) await writer.sendJson(frameTypes.hello, 0, greeting);
        else await peer(frame, writer, socket);
    })().catch(() => undefined);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const ownUid = process.getuid?.() ?? 0;
  const address = { kind: 'unix', path, text: `unix:${path}` } as const;
  return createRemoteRenderer({ clock, random: systemRandom, version: 'v1', address, ownUid });
}

const atEnd =
  (answer: Peer): Peer =>
  (frame, writer, socket) =>
    frame.type === frameTypes.end ? answer(frame, writer, socket) : undefined;

async function answer(writer: FrameWriter, id: number, stdout: string): Promise<void> {
  const step = { exitCode: 0, stderr: '', stdoutBytes: stdout.length };
  await writer.sendJson(frameTypes.result, id, { steps: [step] });
  await writer.sendAll(frameTypes.data, id, Buffer.from(stdout));
  await writer.send(frameTypes.end, id);
}

describe('a renderer that answers', () => {
  it('returns the output of each step', async () => {
    const renderer = await rendererThat(atEnd(({ id }, writer) => answer(writer, id, 'kind: A')));
    const { steps } = await renderer.render(request, never);
    expect(steps.map(({ stdout }) => Buffer.from(stdout).toString())).toEqual(['kind: A']);
  });
});

describe('a renderer that fails', () => {
  const cases: readonly (readonly [string, Peer, RegExp])[] = [
    [
      'is killed during the request',
      atEnd((_frame, _writer, socket) => socket.destroy()),
      /closed the connection before it answered/,
    ],
    [
      'closes early',
      (_frame, _writer, socket) => socket.end(),
      /closed the connection before it answered|connection broke/,
    ],
    [
      'answers an unknown request',
      atEnd(({ id }, writer) => answer(writer, id + 1, 'kind: Stolen')),
      /answered an unknown request/,
    ],
    ['answers garbage', atEnd((_frame, _writer, socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n')), /cannot be read/],
    [
      'announces a huge frame',
      atEnd((_frame, _writer, socket) => {
        const header = Buffer.alloc(9);
        header.writeUInt32BE(maxFrameBytes + 1, 0);
        header.writeUInt8(frameTypes.data, 4);
        return socket.write(header);
      }),
      /more than the maximum of 1048576/,
    ],
    [
      'sends more output than allowed',
      atEnd(({ id }, writer) => answer(writer, id, 'x'.repeat(1001))),
      /more output than allowed/,
    ],
    [
      'announces a wrong length',
      atEnd(async ({ id }, writer) => {
        await writer.sendJson(frameTypes.result, id, { steps: [{ exitCode: 0, stderr: '', stdoutBytes: 7 }] });
        await writer.send(frameTypes.end, id);
      }),
      /the announced length/,
    ],
    [
      'answers more steps than requested',
      atEnd(async ({ id }, writer) => {
        const step = { exitCode: 0, stderr: '', stdoutBytes: 0 };
        await writer.sendJson(frameTypes.result, id, { steps: [step, step] });
        await writer.send(frameTypes.end, id);
      }),
      /a result cannot be read/,
    ],
    [
      'sends empty frames without end',
      atEnd(async ({ id }, writer) => {
        for (let sent = 0; sent < 100; sent++) await writer.send(frameTypes.data, id);
      }),
      /too many small pieces/,
    ],
    [
      'sends its output byte by byte',
      atEnd(async ({ id }, writer) => {
        for (let sent = 0; sent < 100; sent++) await writer.send(frameTypes.data, id, Buffer.from('x'));
      }),
      /too many small pieces/,
    ],
    [
      'sends a result longer than any error text',
      atEnd(({ id }, writer) => writer.sendAll(frameTypes.result, id, Buffer.alloc(1_100_000, '['))),
      /a result is too long/,
    ],
    [
      'has a full disk',
      atEnd(({ id }, writer) =>
        writer.sendJson(frameTypes.failure, id, { code: 'DESIRED_RENDERER', message: 'the disk is full' }),
      ),
      /the disk is full/,
    ],
  ];
  it.each(cases)('and %s is reported as unavailable, and works again afterwards', async (_name, peer, message) => {
    let isBroken = true;
    const renderer = await rendererThat((frame, writer, socket) =>
      isBroken ? peer(frame, writer, socket) : atEnd(({ id }) => answer(writer, id, 'ok'))(frame, writer, socket),
    );
    const error = await failureOf(renderer.render(request, never));
    expect(error).toBeInstanceOf(RendererUnavailable);
    expect(error.message).toMatch(message);
    isBroken = false;
    expect((await renderer.render(request, never)).steps).toHaveLength(1);
  });

  it('because of another version names both versions and the fix', async () => {
    const renderer = await rendererThat(() => undefined, { ...hello, version: 'v2' });
    const error = await failureOf(renderer.render(request, never));
    expect(error).toBeInstanceOf(RendererUnavailable);
    expect(error.message).toMatch(/version v2.*version v1.*give both the same image/);
  });

  it('because it hangs is disconnected', async () => {
    const clock = new FakeClock();
    let ended: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => (ended = resolve));
    const renderer = await rendererThat(
      atEnd(() => ended()),
      hello,
      clock,
    );
    const failed = failureOf(renderer.render(request, never));
    await arrived;
    await clock.advance(31_001);
    const error = await failed;
    expect(error).toBeInstanceOf(RendererUnavailable);
    expect(error.message).toContain('took longer than 31 s');
    expect(clock.pending).toBe(0);
  });

  it('because nothing listens names the address', async () => {
    const renderer = await rendererThat(() => undefined);
    for (const server of servers.splice(0)) server.close();
    const error = await failureOf(renderer.render(request, never));
    expect(error).toBeInstanceOf(RendererUnavailable);
    expect(error.message).toContain(join(folder, 'render.sock'));
  });
});

describe('a caller that aborts', () => {
  it('closes the connection, so that its programs are killed', async () => {
    const stop = new AbortController();
    let closed: Promise<void> | undefined;
    let seen: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => (seen = resolve));
    const renderer = await rendererThat(
      atEnd((_frame, _writer, socket) => {
        closed = new Promise((resolve) => socket.once('close', () => resolve()));
        seen();
      }),
    );
    const running = failureOf(renderer.render(request, stop.signal));
    await arrived;
    stop.abort(new Shutdown('enough'));
    expect((await running).message).toBe('enough');
    await closed;
  });
});
