import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAbortController, Shutdown, systemClock, systemRandom } from '#base';
import { silentLogger } from '#telemetry';
import { RendererUnavailable } from '../errors.ts';
import { selfSigned } from '../testing/identity.ts';
import { scriptRequest, startTestRenderer } from '../testing/render-service.ts';
import type { TestRenderer } from '../testing/render-service.ts';
import { failureOf } from '../testing/repository.ts';
import { checkRenderer, createRemoteRenderer } from './remote.ts';
import type { RemoteRendererDeps } from './remote.ts';
import { createRenderServer } from './server.ts';

const never = new AbortController().signal;
const root = mkdtempSync(join(tmpdir(), 'render-tls-'));
const identities = {
  server: selfSigned(root, 'server'),
  client: selfSigned(root, 'client'),
  other: selfSigned(root, 'other'),
};
const { server, client, other } = identities;
const hasCertificates = server !== undefined && client !== undefined && other !== undefined;

(hasCertificates ? describe : describe.skip)('a renderer in a pod of its own (needs openssl)', () => {
  const stop = newAbortController();
  let wall: TestRenderer;
  let running: Promise<void>;
  let port = 0;
  beforeAll(async () => {
    wall = await startTestRenderer();
    const tls = pem({ ...server, ca: client?.cert });
    port = await new Promise<number>((resolve) => {
      running = createRenderServer({
        service: wall.service,
        version: 'v1',
        instance: 'i',
        maxRequestBytes: 2 ** 20,
        logger: silentLogger,
        address: { kind: 'tls', host: '127.0.0.1', port: 0, text: 'tls:127.0.0.1:0' },
        tls,
        onListening: (address) => resolve((address as AddressInfo).port),
      }).run(stop.signal);
    });
  });
  afterAll(async () => {
    stop.abort(new Shutdown());
    await running;
    await wall.close();
    rmSync(root, { recursive: true });
  });

  const depsWith = (own: typeof client, ca: string | undefined): RemoteRendererDeps => ({
    clock: systemClock,
    random: systemRandom,
    version: 'v1',
    ownUid: 0,
    address: { kind: 'tls', host: '127.0.0.1', port, text: `tls:127.0.0.1:${port}` },
    tls: () => pem({ ...own, ca }),
  });

  it('answers a client with a certificate of the right CA', async () => {
    const renderer = createRemoteRenderer(depsWith(client, server?.cert));
    const { steps } = await renderer.render(scriptRequest('cat a.txt'), never);
    expect(Buffer.from(steps[0]?.stdout ?? []).toString('utf8')).toBe('content of a');
  });

  it('answers no other client', async () => {
    const renderer = createRemoteRenderer(depsWith(other, server?.cert));
    expect(await failureOf(renderer.render(scriptRequest('cat a.txt'), never))).toBeInstanceOf(RendererUnavailable);
  });

  it('is not trusted with a certificate of another CA', async () => {
    const renderer = createRemoteRenderer(depsWith(client, other?.cert));
    const error = await failureOf(renderer.render(scriptRequest('cat a.txt'), never));
    expect(error).toBeInstanceOf(RendererUnavailable);
    expect(error.message).toContain(`tls:127.0.0.1:${port}`);
  });

  it('is not trusted at an address that its certificate does not name', async () => {
    const deps = depsWith(client, server?.cert);
    const host = '::ffff:127.0.0.1';
    const renderer = createRemoteRenderer({ ...deps, address: { kind: 'tls', host, port, text: `tls:${host}` } });
    const error = await failureOf(renderer.render(scriptRequest('cat a.txt'), never));
    expect(error).toBeInstanceOf(RendererUnavailable);
    expect(error.message).toMatch(/does not match certificate's altnames/);
  });

  it('passes its own probe, which has only its certificate', async () => {
    await checkRenderer(depsWith(server, server?.cert), never);
  });

  it('refuses a request above its size limit', async () => {
    const renderer = createRemoteRenderer(depsWith(client, server?.cert));
    const big = scriptRequest('true', { files: [{ path: 'repo/a', content: Buffer.alloc(2 ** 21) }] });
    expect((await failureOf(renderer.render(big, never))).message).toContain(
      'raise --max-request-bytes of the renderer',
    );
  });
});

function pem(own: { readonly key?: string; readonly cert?: string; readonly ca: string | undefined }): {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
} {
  return { cert: Buffer.from(own.cert ?? ''), key: Buffer.from(own.key ?? ''), ca: Buffer.from(own.ca ?? '') };
}
