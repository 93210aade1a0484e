import { statSync } from 'node:fs';
import { connect as connectUnix, isIP } from 'node:net';
import { dirname } from 'node:path';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { untilAborted, messageOf, withDeadline } from '#base';
import { RendererUnavailable } from '../errors.ts';
import type { RenderAddress } from './address.ts';
import { headerOf } from './messages.ts';
import { RenderSession } from './session.ts';
import type { SessionDeps } from './session.ts';
import type { Renderer, RenderProgram, RenderRequest, RenderResult } from './types.ts';

export interface RemoteRendererDeps extends SessionDeps {
  readonly address: RenderAddress;
  /** The user that may own the socket, besides root and this process's own user. */
  readonly rendererUid?: number | undefined;
  readonly ownUid: number;
  /** Certificates for a TLS address; read for each connection, because they are renewed. */
  readonly tls?: () => { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer };
}

const connectLimitMs = 10_000;
const answerMarginMs = 30_000;
const versionLimitMs = 60_000;

/** A renderer in another container or pod. Each request has its own connection. */
export function createRemoteRenderer(deps: RemoteRendererDeps): Renderer {
  return new RemoteRenderer(deps);
}

/**
 * Checks that a renderer answers at its address, from inside its own container. Over TLS the
 * handshake is enough: its certificate is issued for the name of a Service, and may not be valid
 * for clients.
 * @throws RendererUnavailable
 */
export async function checkRenderer(deps: RemoteRendererDeps, signal: AbortSignal): Promise<void> {
  await new RemoteRenderer(deps).check(signal);
}

class RemoteRenderer implements Renderer {
  readonly name = 'renderer';
  readonly #deps: RemoteRendererDeps;
  readonly #versions = new InstanceVersions();

  constructor(deps: RemoteRendererDeps) {
    this.#deps = deps;
  }

  run(signal: AbortSignal): Promise<void> {
    return untilAborted(signal);
  }

  async render(request: RenderRequest, signal: AbortSignal): Promise<RenderResult> {
    return this.#withSession(signal, (session) => renderBy(session, request, signal));
  }

  async version(program: RenderProgram, binary: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    return this.#versions.of(program, binary, (known) =>
      this.#withSession(signal, (session) => known(session, signal)),
    );
  }

  async check(signal: AbortSignal): Promise<void> {
    if (this.#deps.address.kind === 'tls') {
      const stream = await this.#connect(signal, () => undefined);
      stream.destroy();
      return;
    }
    await this.#withSession(signal, (session) =>
      session.ask({ header: { ask: 'check' }, parts: [], maxOutputBytes: 0, limitMs: connectLimitMs }, signal),
    );
  }

  async #withSession<T>(signal: AbortSignal, body: (session: RenderSession) => Promise<T>): Promise<T> {
    const session = new RenderSession(await this.#connect(signal), this.#deps);
    try {
      const hello = await session.hello(signal);
      this.#versions.seen(hello.instance);
      return await body(session);
    } finally {
      session.close();
    }
  }

  async #connect(signal: AbortSignal, checkServerIdentity?: () => undefined): Promise<Duplex> {
    const { address, clock } = this.#deps;
    if (address.kind === 'unix') checkSocketOwner(address.path, this.#deps);
    const stream = this.#open(checkServerIdentity);
    const event = address.kind === 'unix' ? 'connect' : 'secureConnect';
    try {
      await withDeadline(signal, { clock, limitMs: connectLimitMs, what: `connecting to ${address.text}` }, () =>
        eventOf(stream, event),
      );
      return stream;
    } catch (error) {
      stream.on('error', () => undefined).destroy();
      if (signal.aborted) throw error;
      throw new RendererUnavailable(`cannot connect to ${address.text}: ${messageOf(error)}`, error);
    }
  }

  #open(checkServerIdentity?: () => undefined): Duplex {
    const { address, tls } = this.#deps;
    if (address.kind === 'unix') return connectUnix(address.path);
    if (tls === undefined)
      throw new RendererUnavailable('a tls: address needs --renderer-ca, --renderer-cert and --renderer-key');
    try {
      const { host, port } = address;
      const identity = checkServerIdentity === undefined ? {} : { checkServerIdentity };
      const servername = isIP(host) === 0 ? host : '';
      return connectTls({ host, port, servername, ...tls(), ...identity, minVersion: 'TLSv1.3' });
    } catch (error) {
      throw new RendererUnavailable(`the certificates for ${address.text} cannot be used: ${messageOf(error)}`, error);
    }
  }
}

function eventOf(stream: Duplex, event: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.once(event, () => resolve());
    stream.once('error', reject);
    stream.once('close', () => reject(new Error('the connection was closed')));
  });
}

/**
 * Another process of the machine may have created the socket: it would receive every tenant's
 * files, and could answer with objects of its own.
 * @throws RendererUnavailable, which names the owner
 */
export function checkSocketOwner(
  path: string,
  { ownUid, rendererUid }: Pick<RemoteRendererDeps, 'ownUid' | 'rendererUid'>,
): void {
  const trusted = [0, ownUid, ...(rendererUid === undefined ? [] : [rendererUid])];
  let found;
  try {
    found = { socket: statSync(path), folder: statSync(dirname(path)) };
  } catch (error) {
    throw new RendererUnavailable(`there is no socket at ${path}: ${messageOf(error)}`, error);
  }
  const { socket, folder } = found;
  if (!socket.isSocket()) throw new RendererUnavailable(`${path} is not a socket`);
  if (!trusted.includes(socket.uid))
    throw new RendererUnavailable(
      `the socket ${path} belongs to the user ${socket.uid}, and ${trusted.join(' or ')} is expected: set --renderer-uid if that is right`,
    );
  const isSticky = (folder.mode & 0o1000) !== 0;
  const mayOthersReplace = (folder.mode & 0o022) !== 0 && !isSticky;
  if (mayOthersReplace || !trusted.includes(folder.uid))
    throw new RendererUnavailable(
      `the folder of the socket ${path} belongs to the user ${folder.uid} with the mode ${(folder.mode & 0o7777).toString(8)}: others may put their own socket there`,
    );
}

/** Sends one render over a session. */
export async function renderBy(
  session: RenderSession,
  request: RenderRequest,
  signal: AbortSignal,
): Promise<RenderResult> {
  const { steps } = await session.ask(
    {
      header: headerOf(request),
      parts: [
        ...request.files.map(({ content }) => content),
        ...request.steps.flatMap(({ stdin }) => (stdin === undefined ? [] : [stdin])),
      ],
      maxOutputBytes: request.maxOutputBytes,
      limitMs: request.steps.length * request.timeoutMs + answerMarginMs,
    },
    signal,
  );
  return { steps };
}

type AskVersion = (session: RenderSession, signal: AbortSignal) => Promise<string | undefined>;

/** Caches the versions of a renderer's programs for the lifetime of its process. */
export class InstanceVersions {
  readonly #known = new Map<string, string>();
  #instance = '';

  /** Call this with the instance of each hello message. */
  seen(instance: string): void {
    if (instance !== this.#instance) this.#known.clear();
    this.#instance = instance;
  }

  async of(
    program: RenderProgram,
    binary: string | undefined,
    withSession: (ask: AskVersion) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    const key = JSON.stringify([program, binary]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const version = await withSession(async (session, signal) => {
      const header = { ask: 'version', program, binary: binary ?? null } as const;
      const result = await session.ask({ header, parts: [], maxOutputBytes: 0, limitMs: versionLimitMs }, signal);
      return result.version ?? undefined;
    });
    if (version !== undefined) this.#known.set(key, version);
    return version;
  }
}
