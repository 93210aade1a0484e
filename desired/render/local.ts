import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { execPath } from 'node:process';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { untilAborted } from '#base';
import type { ClockTimer } from '#base';
import type { Logger } from '#telemetry';
import { RendererUnavailable } from '../errors.ts';
import { InstanceVersions, renderBy } from './remote.ts';
import { RenderSession } from './session.ts';
import type { SessionDeps } from './session.ts';
import type { Renderer, RenderProgram, RenderRequest, RenderResult } from './types.ts';

/** The settings of the renderer's process, which has no environment. */
export interface LocalRendererSettings {
  readonly version: string;
  /** The folder of this renderer alone. */
  readonly folder: string;
  /**
   * Where to search helm, kustomize and jsonnet: a PATH, and folders with one subfolder per
   * version.
   */
  readonly path: string;
  readonly folders: readonly string[];
  readonly parallelism: number;
  readonly memoryBytes: number;
  readonly maxRequestBytes: number;
  readonly logLevel: 'info' | 'warn' | 'error';
  readonly logFormat: 'json' | 'text';
}

export interface LocalRendererDeps extends SessionDeps {
  readonly logger: Logger;
  readonly settings: Omit<LocalRendererSettings, 'version'>;
  /** The program: the built `desired/render-main.js`, unless a test uses its own. */
  readonly script?: string;
  /** The process starts with the first request, and ends after it was idle for this long. */
  readonly idleLimitMs?: number | undefined;
}

export interface LocalRenderer extends Renderer {
  /** The process ID; undefined while there is no process. */
  readonly pid: number | undefined;
}

/** The built program, even if this file runs from source. */
const builtScript = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/desired/render-main.js' : '../render-main.js', import.meta.url),
);

/** The file descriptor of the connection: an unnamed pair of sockets. */
export const inheritedDescriptor = 3;

/**
 * Starts a renderer as a child process immediately, unless `idleLimitMs` is set, while this process
 * is small: a fork blocks it in proportion to its memory. The child has no environment and no
 * address. If it dies, its requests fail with RendererUnavailable and the next request starts
 * another one. It ends when the signal of `run` aborts, or with this process.
 */
export function startLocalRenderer(deps: LocalRendererDeps): LocalRenderer {
  return new ChildRenderer(deps);
}

class ChildRenderer implements LocalRenderer {
  readonly name = 'renderer';
  readonly #deps: LocalRendererDeps;
  readonly #versions = new InstanceVersions();
  #child: ChildProcess | undefined;
  #session: RenderSession | undefined;
  #isStopped = false;
  #requests = 0;
  #idling: ClockTimer | undefined;

  constructor(deps: LocalRendererDeps) {
    this.#deps = deps;
    if (deps.idleLimitMs === undefined) this.#start();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#isStopped = true;
    this.#idling?.cancel();
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    });
    child.ref();
    this.#session?.close();
    await gone;
  }

  async render(request: RenderRequest, signal: AbortSignal): Promise<RenderResult> {
    return this.#withSession((session) => renderBy(session, request, signal));
  }

  async version(program: RenderProgram, binary: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    return this.#versions.of(program, binary, (ask) => this.#withSession((session) => ask(session, signal)));
  }

  async #withSession<T>(body: (session: RenderSession) => Promise<T>): Promise<T> {
    if (this.#isStopped) throw new RendererUnavailable('it has been stopped');
    this.#idling?.cancel();
    const session = this.#session?.isOpen === true ? this.#session : this.#start();
    // An idle renderer must not keep this process alive; a request that runs does.
    this.#requests += 1;
    streamOf(this.#child)?.ref();
    try {
      return await body(session);
    } finally {
      this.#requests -= 1;
      if (this.#requests === 0) this.#rest(session);
    }
  }

  /** No request runs: the renderer keeps this process no longer alive, and may end. */
  #rest(session: RenderSession): void {
    streamOf(this.#child)?.unref();
    const { clock, idleLimitMs } = this.#deps;
    if (idleLimitMs === undefined || this.#isStopped) return;
    this.#idling?.cancel();
    this.#idling = clock.timer(idleLimitMs, () => {
      if (this.#session !== session) return;
      this.#session = undefined;
      // The renderer exits when its connection closes. A request before that kills it.
      session.close();
    });
  }

  #start(): RenderSession {
    this.#child?.kill('SIGKILL');
    const { settings, version, script = builtScript } = this.#deps;
    const given: LocalRendererSettings = { ...settings, version };
    const child = spawn(execPath, ['--max-old-space-size=1024', script, JSON.stringify(given)], {
      env: {},
      cwd: '/',
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    });
    const stream = child.stdio[inheritedDescriptor] as Duplex;
    const session = new RenderSession(stream, this.#deps);
    this.#child = child;
    this.#session = session;
    child.once('error', () => this.#lost(child, session));
    child.once('exit', () => this.#lost(child, session));
    child.unref();
    streamOf(child)?.unref();
    this.#versions.seen(`${child.pid ?? 0}`);
    return session;
  }

  #lost(child: ChildProcess, session: RenderSession): void {
    session.close();
    if (this.#child !== child) return;
    const wasIdle = this.#session !== session;
    this.#child = undefined;
    this.#session = undefined;
    if (!this.#isStopped && !wasIdle)
      this.#deps.logger.warn('The renderer process ended; the next request starts a new one');
  }
}

/** The stream as a socket, which can be unreferenced to not keep the process alive. */
function streamOf(child: ChildProcess | undefined): { ref(): void; unref(): void } | undefined {
  return child?.stdio[inheritedDescriptor] as unknown as { ref(): void; unref(): void } | undefined;
}
