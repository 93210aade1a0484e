import { describe, expect, it, jest } from '@jest/globals';
import { untilAborted } from '#base';
import { createMemoryPublisher } from '#publish';
import { automated, configMap } from '../testing/fake-world.ts';
import { wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

describe('a hand-over', () => {
  // T-OP-5
  it('in the middle of an operation: the old owner stops writing, the new one completes it', async () => {
    at.world.git.push('a'.repeat(40), [configMap('one', '1', wave(0)), configMap('two', '1', wave(1))]);
    at.world.application(automated);
    const late: string[] = [];
    const handOver = (call: string): void => {
      if (call === 'create ConfigMap one') at.world.handOver(1);
    };
    const watch = (call: string): void => {
      if (at.world.owner === 1 && /^(?:patch|replace|create|delete) /.test(call)) late.push(call);
    };
    at.world.replica({ index: 0, hub: { before: watch }, dest: { before: watch, after: handOver } });
    await at.start({ index: 1 });
    await at.clock.advance(60_000);
    expect(late.filter((call) => !call.includes(' Event '))).toEqual([]);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(at.world.app.status?.history).toHaveLength(1);
    expect(at.world.dest.calls.filter((call) => call.startsWith('create'))).toEqual([
      'create ConfigMap one',
      'create ConfigMap two',
    ]);
  });

  // The fence passed; then the request waited in the client (throttle, retry, connection).
  it.each([
    ['a managed object', 'create ConfigMap one'],
    ['a status', 'patch Application demo'],
  ])('while a write of %s waits in the client: it is not sent', async (_what, waiting) => {
    at.world.application(automated);
    let passed = 0;
    const handOver = (call: string): void => {
      if (call !== waiting || at.world.owner !== 0) return;
      passed += 1;
      at.world.handOver(1);
    };
    const sent = (): string[] => [...at.world.hub.calls, ...at.world.dest.calls].filter((call) => call === waiting);
    at.world.replica({ index: 0, hub: { before: handOver }, dest: { before: handOver } });
    await at.clock.advance(20_000);
    expect([passed, sent()]).toEqual([1, []]);
  });

  it('while a repository does not answer: after a quick return, the Application is compared at once', async () => {
    at.world.git.takes = (_request, signal) => {
      at.world.git.takes = undefined;
      return untilAborted(signal);
    };
    at.world.application();
    await at.start({});
    await at.clock.advance(5000);
    expect(at.world.app.status?.sync).toBeUndefined();
    at.world.handOver(1);
    await at.clock.advance(100);
    at.world.handOver(0);
    await at.clock.advance(2000);
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
  });

  it('invalidates what was published: it is not assumed to be in the store', async () => {
    at.world.application();
    const publisher = createMemoryPublisher();
    const forget = jest.spyOn(publisher, 'forget');
    await at.start({ publisher });
    await at.clock.advance(5000);
    expect(publisher.tree('demo')?.nodes.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(forget.mock.calls).toEqual([]);
    at.world.handOver(1);
    await at.clock.advance(5000);
    expect(forget.mock.calls).toEqual([['demo']]);
  });
});
