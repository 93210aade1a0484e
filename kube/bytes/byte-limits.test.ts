import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { DeadlineExceeded } from '#base';
import { BytesInFlight, checkParsedSize } from './byte-limits.ts';
import type { ByteLimits } from './byte-limits.ts';
import { KubeApiError, KubeSizeError } from '../errors.ts';
import { clientFor, collect, configMaps, noSignal } from '../testing/fixtures.ts';
import { ScriptedServer } from '../testing/scripted-server.ts';
import type { Turn } from '../testing/scripted-server.ts';
import type { KubeClient } from '../types.ts';

const kib = 1024;
const bytes: ByteLimits = {
  objectBytes: 64 * kib,
  documentBytes: 256 * kib,
  responseBytes: 1024 * kib,
  inFlightBytes: 512 * kib,
};
const listHead = '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[';
const options = { signal: noSignal, deadlineMs: 15_000 };

describe('a server that sends endlessly', () => {
  let server: ScriptedServer | undefined;
  let client: KubeClient | undefined;

  afterEach(async () => {
    await client?.close();
    await server?.close();
  });

  /** Bytes sent per response until the client disconnected. */
  async function against(answer: (turn: Turn) => void): Promise<KubeClient> {
    server = await ScriptedServer.start(answer);
    client = clientFor(server, { limits: { bytes } });
    return client;
  }

  it.each([
    ['discovery', (c: KubeClient) => c.discover(options)],
    ['the index of its schemas', (c: KubeClient) => c.openApiIndex(options)],
    ['a schema', (c: KubeClient) => c.openApiDocument('api/v1', 'h', options)],
    ['its version', (c: KubeClient) => c.version(options)],
    ['an object', (c: KubeClient) => c.get(configMaps, { namespace: 'default', name: 'a' }, options)],
    ['an answer to a deletion', (c: KubeClient) => c.delete(configMaps, { namespace: 'default', name: 'a' }, options)],
  ])('costs no more than the limit for %s', async (_what, ask) => {
    const sent = { bytes: 0 };
    const asked = await against((turn) => pour(turn, '{"a":"', 'x'.repeat(16 * kib), sent));
    await expect(ask(asked)).rejects.toThrow(KubeSizeError);
  });

  it.each([
    ['one object of a list', `${listHead}{"metadata":{"name":"`, 'x'.repeat(16 * kib)],
    ['a list of empty space', listHead, ' '.repeat(16 * kib)],
    ['what is before the items of a list', '{"metadata":{"x":"', 'x'.repeat(16 * kib)],
    [
      'items before the version of their list',
      '{"items":[',
      `${JSON.stringify({ metadata: { name: 'a' }, data: 'x'.repeat(16 * kib) })},`,
    ],
  ])('costs no more than the limit for %s', async (_what, head, part) => {
    const asked = await against((turn) => pour(turn, head, part, { bytes: 0 }));
    await expect(asked.list(configMaps, options)).rejects.toThrow(KubeSizeError);
  });

  it('costs no more than the limit for one line of a watch', async () => {
    const asked = await against((turn) =>
      pour(turn, '{"type":"ADDED","object":{"a":"', 'x'.repeat(16 * kib), { bytes: 0 }),
    );
    await expect(collect(asked.watch(configMaps, { signal: noSignal, resourceVersion: '1' }))).rejects.toThrow(
      /watch=true.*an object larger than the limit of one \(/,
    );
  });

  it('costs no more than the shown part of an error body', async () => {
    const asked = await against((turn) => pour(turn, 'no', 'x'.repeat(16 * kib), { bytes: 0 }, 403));
    const failed = asked.get(configMaps, { namespace: 'default', name: 'a' }, options);
    await expect(failed).rejects.toThrow(KubeApiError);
    await expect(failed).rejects.not.toThrow(DeadlineExceeded);
  });

  it('is rejected if it compresses a response without a request for it', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * kib, 0x20));
    const asked = await against((turn) => pour(turn, bomb, bomb, { bytes: 0 }, 200, { 'content-encoding': 'gzip' }));
    await expect(asked.list(configMaps, { ...options, deadlineMs: 10_000 })).rejects.toThrow('is compressed (gzip)');
    await expect(asked.version({ ...options, deadlineMs: 10_000 })).rejects.toThrow('is compressed (gzip)');
  });
});

describe('a response that is small as text and large in memory', () => {
  it.each(['{},', '[],', '[[]],', '{"a":{}},'])('is refused: %s', (part) => {
    const text = Buffer.from(`[${part.repeat((60 * kib) / part.length)}0]`);
    const refuse = (size: number): KubeSizeError => KubeSizeError.of('object', 'list', size, 8 * kib);
    expect(() => checkParsedSize(text, 8 * kib, refuse)).toThrow(KubeSizeError);
  });

  it('is accepted if it is mostly text', () => {
    const text = Buffer.from(
      JSON.stringify({ data: Object.fromEntries([...Array(100).keys()].map((i) => [i, 'x'.repeat(600)])) }),
    );
    const refuse = (size: number): KubeSizeError => KubeSizeError.of('object', 'list', size, 64 * kib);
    expect(() => checkParsedSize(text, 64 * kib, refuse)).not.toThrow();
  });
});

describe('BytesInFlight', () => {
  it('rejects the response that exceeds the limit, and accepts it after others have ended', () => {
    const all = new BytesInFlight(100);
    const [first, second] = [all.open('one'), all.open('two')];
    first.set(60);
    expect(() => second.set(60)).toThrow(/two: the unfinished answers of this server are too large together/);
    second.release();
    first.release();
    expect(all.heldBytes).toBe(0);
    const third = all.open('three');
    expect(() => third.set(100)).not.toThrow();
  });
});

/** Sends a head, and then one part after the other until the client disconnects. */
function pour(
  turn: Turn,
  head: string | Uint8Array,
  part: string | Uint8Array,
  sent: { bytes: number },
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): void {
  turn.begin(status, headers);
  turn.write(head);
  const more = (): void => {
    if (turn.closed) return;
    // Each chunk that waits when the client leaves costs an error.
    if (!turn.isFull) {
      turn.write(part);
      sent.bytes += part.length;
    }
    setImmediate(more);
  };
  more();
}
