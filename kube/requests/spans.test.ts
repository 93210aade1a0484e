import { describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import type { Json } from '#base';
import { RecordingTracer } from '../../telemetry/testing/index.ts';
import type { KubeClient } from '../index.ts';
import { clientFor, closedAfterEach, configMaps, noSignal, object, ScriptedServer } from '../testing/index.ts';
import type { Turn } from '../testing/index.ts';

const at = { namespace: 'default', name: 'a' };
const stored = { ...object('a', '1') } as unknown as Json;
const open = closedAfterEach();
async function connect(
  tracer: RecordingTracer | undefined,
  play: (turn: Turn) => void,
): Promise<{ readonly server: ScriptedServer; readonly client: KubeClient }> {
  const server = await ScriptedServer.start(play);
  const client = clientFor(server, tracer === undefined ? {} : { tracer });
  open.push(server, client);
  return { server, client };
}

describe('calls to an API server', () => {
  it('have a span in a traced pass, and carry its trace context', async () => {
    const tracer = new RecordingTracer();
    const { server, client } = await connect(tracer, (turn) => turn.reply(200, stored));
    await tracer.trace('pass', {}, () => client.get(configMaps, at, { signal: noSignal }));
    const [call] = tracer.named('kube.request');
    expect(call).toMatchObject({
      parent: tracer.spans[0],
      isEnded: true,
      attributes: {
        'k8s.request.verb': 'get',
        'k8s.request.kind': 'ConfigMap',
        'server.address': server.url.replace('http://', ''),
        'http.response.status_code': 200,
        'http.request.resend_count': 0,
      },
    });
    expect(server.turns.map(({ headers }) => headers['traceparent'])).toEqual([call?.traceparent]);
  });

  it('record the failure and the status of the last attempt', async () => {
    const tracer = new RecordingTracer();
    const { client } = await connect(tracer, (turn) => turn.status(404, 'NotFound', 'configmaps "a" not found'));
    const pass = tracer.trace('pass', {}, () => client.get(configMaps, at, { signal: noSignal }));
    await expect(pass).rejects.toThrow('not found');
    expect(tracer.named('kube.request')).toMatchObject([
      { failure: expect.stringContaining('not found'), attributes: { 'http.response.status_code': 404 } },
    ]);
  });

  it('count the attempts of one call in one span', async () => {
    const tracer = new RecordingTracer();
    let attempts = 0;
    const { client } = await connect(tracer, (turn) => {
      attempts += 1;
      if (attempts === 1) turn.status(503, 'ServiceUnavailable', 'starting');
      else turn.reply(200, stored);
    });
    await tracer.trace('pass', {}, () => client.get(configMaps, at, { signal: noSignal }));
    expect(tracer.named('kube.request')).toMatchObject([{ attributes: { 'http.request.resend_count': 1 } }]);
  });

  it('have no span and no trace context outside a pass, without a tracer, and for watches', async () => {
    const tracer = new RecordingTracer();
    const traced = await connect(tracer, (turn) => turn.reply(200, stored));
    await traced.client.get(configMaps, at, { signal: noSignal });
    const plain = await connect(undefined, (turn) => turn.reply(200, stored));
    await tracer.trace('pass', {}, () => plain.client.get(configMaps, at, { signal: noSignal }));
    const watched = await connect(tracer, (turn) => turn.begin());
    const stop = new AbortController();
    await tracer.trace('pass', {}, async () => {
      const events = watched.client.watch(configMaps, { resourceVersion: '1', signal: stop.signal });
      const first = events[Symbol.asyncIterator]().next();
      await eventually(() => expect(watched.server.turns).toHaveLength(1));
      stop.abort();
      await first.catch(() => undefined);
    });
    expect(tracer.spans.map(({ name }) => name)).toEqual(['pass', 'pass']);
    for (const { server } of [traced, plain, watched])
      expect(server.turns[0]?.headers).not.toHaveProperty('traceparent');
  });
});
