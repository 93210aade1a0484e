import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { newAbortController, Shutdown, systemClock, systemRandom } from '#base';
import type { Clock } from '#base';
import { silentLogger } from '#telemetry';
import { createRemoteRenderer } from '../render/remote.ts';
import { createRenderServer } from '../render/server.ts';
import { RenderService } from '../render/service.ts';
import type { RenderServiceDeps } from '../render/service.ts';
import type { Renderer, RenderRequest } from '../render/types.ts';

export interface TestRenderer {
  readonly renderer: Renderer;
  readonly socket: string;
  /** The folder of the staging folders. */
  readonly folder: string;
  readonly service: RenderService;
  /** The namespaces of programs, from the log. */
  readonly namespaces: () => string;
  readonly close: () => Promise<void>;
}

/**
 * A real renderer on a socket. Its `helm` is `sh`, and its `jsonnet` is `node`.
 * @param clock measures the deadlines of the client
 */
export async function startTestRenderer(
  over: Partial<RenderServiceDeps> = {},
  clock: Clock = systemClock,
): Promise<TestRenderer> {
  const root = mkdtempSync(join(tmpdir(), 'renderer-'));
  const stop = newAbortController();
  let namespaces = '';
  const note = (_message: string, fields?: Readonly<Record<string, unknown>>): void => {
    if (typeof fields?.['namespaces'] === 'string') namespaces = fields['namespaces'];
  };
  const folder = over.folder ?? join(root, 'staging');
  const service = new RenderService({
    clock: systemClock,
    random: systemRandom,
    logger: { ...silentLogger, info: note, warn: note },
    programs: (program) => {
      if (program === 'helm') return ['/bin/sh'];
      return program === 'jsonnet' ? [execPath] : undefined;
    },
    parallelism: 8,
    memoryBytes: 4 * 2 ** 30,
    isRoot: process.getuid?.() === 0,
    ...over,
    folder,
  });
  await service.open(stop.signal);
  mkdirSync(join(root, 'private'), { mode: 0o750 });
  const socket = join(root, 'private', 'render.sock');
  const address = { kind: 'unix', path: socket, text: `unix:${socket}` } as const;
  const identity = { version: 'v1', instance: 'i', maxRequestBytes: 2 ** 28 };
  const running = createRenderServer({ ...identity, service, logger: silentLogger, address }).run(stop.signal);
  const ownUid = process.getuid?.() ?? 0;
  const renderer = createRemoteRenderer({ clock, random: systemRandom, version: 'v1', address, ownUid });
  return {
    renderer,
    socket,
    folder,
    service,
    namespaces: () => namespaces,
    close: async () => {
      stop.abort(new Shutdown());
      await running;
      await service.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** A request that runs one script in `repo`, with the shell or node. */
export function scriptRequest(
  script: string,
  { program = 'helm', ...more }: Partial<RenderRequest> & { readonly program?: 'helm' | 'jsonnet' } = {},
): RenderRequest {
  const flag = program === 'helm' ? '-c' : '-e';
  return {
    files: [{ path: 'repo/a.txt', content: Buffer.from('content of a') }],
    links: [],
    steps: [{ program, args: [flag, script], cwd: 'repo', env: { PATH: '/usr/bin:/bin' } }],
    share: { project: 'p', repository: 'r' },
    timeoutMs: 20_000,
    maxOutputBytes: 128 * 1024 * 1024,
    maxMemoryBytes: 2 ** 31,
    ...more,
  };
}
