import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ServerCredentials, status } from '@grpc/grpc-js';
import { SecretValue, Shutdown, sleepOn, systemClock } from '#base';
import type { Clock, ClockTimer } from '#base';
import { bareRepository } from '#model';
import { eventually } from '#support';
import { createRemoteSource } from '../index.ts';
import type { DesiredSource, Manifests, ManifestsRequest, RemoteSourceDeps } from '../index.ts';
import { selfSigned } from '../testing/identity.ts';
import { commit, failure, rendered, startRepoServer } from '../testing/repo-server.ts';
import type { RepoServerBehaviour, TestRepoServer } from '../testing/repo-server.ts';
import { requestOf } from '../testing/request.ts';

const never = new AbortController().signal;
const url = 'https://git.example.com/team/app.git';
let cleanups: (() => void)[];
let clock: HastyClock;

/**
 * The system clock, except that pauses are recorded instead of awaited and time can be advanced.
 */
class HastyClock implements Clock {
  readonly pauses: number[] = [];
  ahead = 0;

  now(): number {
    return systemClock.now();
  }

  monotonic(): number {
    return systemClock.monotonic() + this.ahead;
  }

  timer(delayMs: number, fire: () => void): ClockTimer {
    return systemClock.timer(delayMs, fire);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    this.pauses.push(delayMs);
    return sleepOn(this, 0, signal);
  }
}

beforeEach(() => {
  cleanups = [];
  clock = new HastyClock();
});
afterEach(() => {
  for (const clean of cleanups.reverse()) clean();
});

async function serve(behaviour: RepoServerBehaviour = {}): Promise<TestRepoServer> {
  const server = await startRepoServer(behaviour);
  cleanups.push(() => server.kill());
  return server;
}

function source(address: string, more: Partial<RemoteSourceDeps> = {}): { desired: DesiredSource; stop: () => void } {
  const controller = new AbortController();
  const desired = createRemoteSource({
    clock,
    address,
    timeoutMs: 60_000,
    maxMessageBytes: 100 << 20,
    serviceConfigFromDns: false,
    userAgent: 'test',
    ...more,
  });
  void desired.run(controller.signal);
  const stop = (): void => controller.abort(new Shutdown());
  cleanups.push(stop);
  return { desired, stop };
}

function ask(path = 'p', more: Partial<ManifestsRequest> = {}): ManifestsRequest {
  return requestOf({ repoURL: url, path, targetRevision: 'main' }, bareRepository(url), more);
}

const pathOf = (message: unknown): unknown =>
  (message as { readonly applicationSource: { readonly path: string } }).applicationSource.path;
const revisionsOf = ({ sources }: Manifests): readonly string[] => sources.map(({ revision }) => revision);
/** The result of a request: the revisions, or the error message. */
const outcome = (asked: Promise<Manifests>): Promise<unknown> =>
  asked.then(revisionsOf, (error: unknown) => (error instanceof Error ? error.message : error));

const deadline = (address: string): string =>
  `rpc error: code = DeadlineExceeded desc = context deadline exceeded: repo-server ${address} did not answer within 1.5 s`;

describe('an unresponsive repo-server', () => {
  // T-REPO-2
  it("fails at the deadline with Go's text and does not disturb other requests", async () => {
    const server = await serve();
    server.answer = (_method, message) => (pathOf(message) === 'hangs' ? undefined : rendered());
    const { desired } = source(server.address, { timeoutMs: 1500 });
    const hanging = outcome(desired.manifests(ask('hangs'), never));
    for (let i = 0; i < 20; i += 1) expect(await outcome(desired.manifests(ask(), never))).toEqual([commit]);
    expect(await hanging).toBe(deadline(server.address));
    // No retry after a timeout.
    expect(server.calls.filter(({ message }) => pathOf(message) === 'hangs')).toHaveLength(1);
    // The server was notified of the cancellation.
    await eventually(() => expect(server.cancelled.count).toBe(1));
  });

  it('is awaited without a deadline until the request ends, which cancels the call', async () => {
    const server = await serve();
    server.answer = () => undefined;
    const { desired } = source(server.address, { timeoutMs: 0 });
    const controller = new AbortController();
    const asked = desired.manifests(ask(), controller.signal);
    await eventually(() => expect(server.calls).toHaveLength(1));
    const reason = new Shutdown('no longer needed');
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await eventually(() => expect(server.cancelled.count).toBe(1));
    expect(clock.pauses).toEqual([]);
  });

  it('holds no request that ends while the connection is opened', async () => {
    const server = await serve();
    server.answer = () => undefined;
    const { desired } = source(server.address, { timeoutMs: 0 });
    const reason = new Shutdown('no longer needed');
    for (let ticks = 0; ticks < 20; ticks += 1) {
      const controller = new AbortController();
      const asked = expect(desired.manifests(ask(), controller.signal)).rejects.toBe(reason);
      for (let i = 0; i < ticks; i += 1) await Promise.resolve();
      controller.abort(reason);
      await asked;
    }
  });

  it('does not delay the end of the process', async () => {
    const server = await serve();
    server.answer = () => undefined;
    const { desired, stop } = source(server.address);
    const asked = expect(desired.manifests(ask(), never)).rejects.toBeInstanceOf(Shutdown);
    await eventually(() => expect(server.calls).toHaveLength(1));
    stop();
    await asked;
    await eventually(() => expect(server.cancelled.count).toBe(1));
    await expect(desired.manifests(ask(), never)).rejects.toBeInstanceOf(Shutdown);
    expect(server.calls).toHaveLength(1);
  });
});

describe('an unavailable repo-server', () => {
  it('is tried three times, a second apart, and named in the error', async () => {
    const gone = await startRepoServer();
    gone.kill();
    const { desired } = source(gone.address);
    const text = await outcome(desired.manifests(ask(), never));
    expect(text).toMatch(/^rpc error: code = Unavailable desc = connection error: desc = ".*ECONNREFUSED.*": /);
    expect(text).toContain(`repo-server ${gone.address}`);
    expect(clock.pauses).toEqual([1000, 1000]);
  });

  it('is used again after it died during a call and came back', async () => {
    const server = await serve();
    const { desired } = source(server.address);
    expect(await outcome(desired.manifests(ask(), never))).toEqual([commit]);
    server.answer = () => {
      setImmediate(() => server.kill());
      return undefined;
    };
    expect(await outcome(desired.manifests(ask(), never))).toMatch(/^rpc error: code = Unavailable desc = /);
    const again = await serve({ port: server.port });
    expect(await outcome(desired.manifests(ask(), never))).toEqual([commit]);
    expect(again.calls).toHaveLength(1);
  });

  it('that died during a call is replaced within the call', async () => {
    const first = await serve();
    const { desired } = source(first.address);
    let second: Promise<TestRepoServer> | undefined;
    first.answer = () => {
      first.kill();
      second = serve({ port: first.port });
      return undefined;
    };
    expect(await outcome(desired.manifests(ask(), never))).toEqual([commit]);
    expect((await second)?.calls).toHaveLength(1);
  });

  it.each([
    [status.UNAVAILABLE, 'overloaded', 3],
    [status.RESOURCE_EXHAUSTED, 'too many requests', 3],
    [status.UNAUTHENTICATED, 'who are you', 1],
    [status.UNKNOWN, 'failed', 1],
  ])('is retried for code %i as often as by Argo CD', async (code, details, times) => {
    const server = await serve();
    server.answer = () => failure(code, details);
    await outcome(source(server.address).desired.manifests(ask(), never));
    expect(server.calls).toHaveLength(times);
  });

  it('that is overloaded is retried', async () => {
    const server = await serve();
    server.answer = () => (server.calls.length < 3 ? failure(status.UNAVAILABLE, 'overloaded') : rendered());
    expect(await outcome(source(server.address).desired.manifests(ask(), never))).toEqual([commit]);
  });
});

describe('errors', () => {
  it.each([
    [status.UNKNOWN, 'Unknown'],
    [status.NOT_FOUND, 'NotFound'],
    [status.INTERNAL, 'Internal'],
    [status.UNAUTHENTICATED, 'Unauthenticated'],
    [status.PERMISSION_DENIED, 'PermissionDenied'],
    [status.FAILED_PRECONDITION, 'FailedPrecondition'],
    [status.INVALID_ARGUMENT, 'InvalidArgument'],
    [status.UNIMPLEMENTED, 'Unimplemented'],
  ])('print code %i as Go does: %s', async (code, name) => {
    const server = await serve();
    server.answer = () => failure(code, '`helm template` failed exit status 1');
    const text = await outcome(source(server.address).desired.manifests(ask(), never));
    expect(text).toBe(`rpc error: code = ${name} desc = \`helm template\` failed exit status 1`);
  });

  it('contain no credentials, however they are quoted', async () => {
    const server = await serve();
    const password = new SecretValue('p/4+"CANARY"');
    const key = new SecretValue('-----BEGIN KEY-----\nCANARY\n-----END KEY-----\n');
    const repository = { ...bareRepository(url), username: 'u', password, sshPrivateKey: key };
    const lent = {
      ...bareRepository('https://charts'),
      type: 'helm' as const,
      bearerToken: new SecretValue('tok-CANARY'),
    };
    server.answer = () =>
      failure(
        status.UNKNOWN,
        `git fetch https://u:${encodeURIComponent(password.reveal())}@git: ${password.reveal()} ${JSON.stringify({ password: password.reveal() })} ${key.reveal()} tok-CANARY https://x:CANARY@y`,
      );
    const request = requestOf({ repoURL: url, path: 'p' }, repository, {
      repositories: { repositories: [], credentials: [lent] },
    });
    const text = await outcome(source(server.address).desired.manifests(request, never));
    expect(text).toBe(
      'rpc error: code = Unknown desc = git fetch https://***@git: *** {"password":"***"} ***\n *** https://***@y',
    );
  });

  it('truncate a long message', async () => {
    const server = await serve();
    server.answer = () => failure(status.UNKNOWN, 'x'.repeat(7_000));
    const text = await outcome(source(server.address).desired.manifests(ask(), never));
    expect(String(text)).toHaveLength('rpc error: code = Unknown desc = '.length + 7_000);
  });
});

describe('message size', () => {
  const limit = { maxMessageBytes: 1 << 20 };
  const big = 'x'.repeat(2 << 20);

  it('refuses an answer beyond the limit and names the setting to raise', async () => {
    const server = await serve();
    server.answer = () => ({ manifests: [big], revision: commit, sourceType: 'Directory' });
    const text = await outcome(source(server.address, limit).desired.manifests(ask(), never));
    expect(text).toMatch(
      /^rpc error: code = ResourceExhausted desc = grpc: .*larger than max.*ARGOCD_GRPC_MAX_SIZE_MB/,
    );
    expect(server.calls).toHaveLength(1);
  });

  it('refuses a request beyond the limit', async () => {
    const server = await serve();
    const text = await outcome(source(server.address, limit).desired.manifests(ask('p', { appName: big }), never));
    expect(text).toMatch(/^rpc error: code = ResourceExhausted desc = grpc: .*ARGOCD_GRPC_MAX_SIZE_MB/);
    expect(server.calls).toEqual([]);
  });

  it("permits messages beyond gRPC's own default", async () => {
    const server = await serve();
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { big } };
    const three = Array.from({ length: 3 }, () => JSON.stringify(object));
    server.answer = () => ({ manifests: three, revision: commit, sourceType: 'Directory' });
    const { sources } = await source(server.address).desired.manifests(ask(), never);
    expect(sources[0]?.objects).toHaveLength(3);
  });
});

describe('several endpoints', () => {
  it('share the work, except a dead one', async () => {
    const [one, two] = [await serve(), await serve()];
    const { desired } = source(`ipv4:${one.address},${two.address}`);
    const all = async (): Promise<readonly unknown[]> =>
      Promise.all(Array.from({ length: 20 }, () => outcome(desired.manifests(ask(), never))));
    await eventually(async () => {
      expect(await all()).toEqual(Array.from({ length: 20 }, () => [commit]));
      expect(Math.min(one.calls.length, two.calls.length)).toBeGreaterThan(0);
    });
    one.kill();
    const before = two.calls.length;
    expect(await all()).toEqual(Array.from({ length: 20 }, () => [commit]));
    expect(two.calls).toHaveLength(before + 20);
  });

  it('work if one was never available', async () => {
    const [dead, alive] = [await startRepoServer(), await serve()];
    dead.kill();
    const { desired } = source(`ipv4:${dead.address},${alive.address}`);
    for (let i = 0; i < 5; i += 1) expect(await outcome(desired.manifests(ask(), never))).toEqual([commit]);
    expect(clock.pauses).toEqual([]);
  });

  it('are used over several connections, which are replaced after a minute', async () => {
    const server = await serve();
    server.answer = () => undefined;
    const { desired } = source(server.address);
    const peers = (): number => new Set(server.peers).size;
    const controllers = Array.from({ length: 12 }, () => new AbortController());
    const asked = controllers.map(({ signal }) => outcome(desired.manifests(ask(), signal)));
    await eventually(() => expect(server.calls).toHaveLength(12));
    expect(peers()).toBe(8);
    for (const controller of controllers) controller.abort(new Shutdown());
    await Promise.all(asked);
    server.answer = () => rendered();
    await desired.manifests(ask(), never);
    expect(peers()).toBe(8);
    clock.ahead = 60_000;
    await desired.manifests(ask(), never);
    expect(peers()).toBe(9);
  });
});

const folder = mkdtempSync(join(tmpdir(), 'repo-server-'));
const [identity, , client] = ['server', 'stranger', 'client'].map((name) => selfSigned(folder, name));
const describeWithTls = identity === undefined ? describe.skip : describe;

describeWithTls('TLS (left out where there is no openssl)', () => {
  const file = (name: string): string => join(folder, name);
  const pair = { cert_chain: Buffer.from(identity?.cert ?? ''), private_key: Buffer.from(identity?.key ?? '') };
  const open = (): RepoServerBehaviour => ({ credentials: ServerCredentials.createSsl(null, [pair], false) });
  const mutual = (): RepoServerBehaviour => ({
    credentials: ServerCredentials.createSsl(Buffer.from(client?.cert ?? ''), [pair], true),
  });
  const asked = (server: TestRepoServer, tls: RemoteSourceDeps['tls']): Promise<unknown> => {
    const { desired } = source(server.address, tls === undefined ? {} : { tls });
    return outcome(desired.manifests(ask(), never));
  };

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('accepts a self-signed certificate by default', async () => {
    expect(await asked(await serve(open()), {})).toEqual([commit]);
  });

  it('strict: accepts a trusted certificate', async () => {
    const authorities = [file('missing.crt'), file('server.crt')];
    expect(await asked(await serve(open()), { authorities })).toEqual([commit]);
  });

  it('strict: sends nothing to an untrusted server', async () => {
    const server = await serve(open());
    expect(await asked(server, { authorities: [file('stranger.crt')] })).toMatch(
      /^rpc error: code = Unavailable desc = .*self-signed certificate/,
    );
    expect(server.calls).toEqual([]);
  });

  it('strict: sends nothing to a server with a certificate for another host', async () => {
    const server = await serve(open());
    const { desired } = source(`localhost:${server.port}`, { tls: { authorities: [file('server.crt')] } });
    expect(await outcome(desired.manifests(ask(), never))).toMatch(/^rpc error: code = Unavailable .*localhost/);
    expect(server.calls).toEqual([]);
  });

  it('strict: sends nothing to an IP address whose certificate names only the usual host', async () => {
    const named = selfSigned(folder, 'named', 'DNS:argocd-repo-server,IP:127.0.0.9');
    const keys = { cert_chain: Buffer.from(named?.cert ?? ''), private_key: Buffer.from(named?.key ?? '') };
    const server = await serve({ credentials: ServerCredentials.createSsl(null, [keys], false) });
    expect(await asked(server, { authorities: [file('named.crt')] })).toMatch(
      /^rpc error: code = Unavailable .*127\.0\.0\.1 is not in the cert's list/,
    );
    expect(server.calls).toEqual([]);
  });

  it('strict: fails without any CA file', async () => {
    const server = await serve(open());
    const authorities = [file('missing.crt'), file('gone.crt')];
    const text = `cannot verify the certificate of the repo-server: no CA file exists among ${authorities.join(', ')}`;
    expect(await asked(server, { authorities })).toBe(text);
    writeFileSync(file('broken.crt'), 'no certificate');
    expect(await asked(server, { authorities: [file('broken.crt')] })).toMatch(/broken\.crt is not a PEM certificate$/);
    expect(server.calls).toEqual([]);
  });

  it('mutual: sends the client certificate', async () => {
    const known = { certificate: file('client.crt'), key: file('client.key') };
    expect(await asked(await serve(mutual()), { identity: known })).toEqual([commit]);
  });

  it.each([
    ['nobody', { certificate: 'missing.crt', key: 'missing.key' }],
    ['somebody else', { certificate: 'stranger.crt', key: 'stranger.key' }],
  ])('mutual: %s is refused by the server', async (_name, { certificate, key }) => {
    const server = await serve(mutual());
    const text = await asked(server, { identity: { certificate: file(certificate), key: file(key) } });
    expect(text).toMatch(/^rpc error: code = Unavailable /);
    expect(server.calls).toEqual([]);
  });

  it('mutual: fails if the certificate has no key', async () => {
    const known = { certificate: file('client.crt'), key: file('missing.key') };
    expect(await asked(await serve(mutual()), { identity: known })).toBe(
      `${known.certificate} has no key: there is no file ${known.key}`,
    );
  });

  it('mutual: uses certificates that are mounted or renewed later, without a restart', async () => {
    const server = await serve(mutual());
    const known = { certificate: file('later.crt'), key: file('later.key') };
    const { desired } = source(server.address, { tls: { identity: known } });
    expect(await outcome(desired.manifests(ask(), never))).toMatch(/^rpc error: code = Unavailable /);
    writeFileSync(known.certificate, client?.cert ?? '');
    writeFileSync(known.key, client?.key ?? '');
    expect(await outcome(desired.manifests(ask(), never))).toEqual([commit]);
    for (const path of Object.values(known)) writeFileSync(path, 'spoilt');
    clock.ahead = 60_000;
    expect(await outcome(desired.manifests(ask(), never))).toMatch(
      /^the certificates for the repo-server cannot be used/,
    );
  });

  it('fails between plain text and TLS in both directions', async () => {
    expect(await asked(await serve(open()), undefined)).toMatch(/^rpc error: code = Unavailable /);
    expect(await asked(await serve(), {})).toMatch(/^rpc error: code = Unavailable /);
  });
});
