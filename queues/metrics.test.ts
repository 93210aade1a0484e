import { describe, expect, it } from '@jest/globals';
import { PromMetrics } from '#telemetry';
import { FakeClock } from '#support';
import { QueueMetrics } from './metrics.ts';
import { createWorkQueue } from './work-queue.ts';

const newSignal = (): AbortSignal => new AbortController().signal;

function setUp() {
  const clock = new FakeClock();
  const registry = new PromMetrics();
  const metrics = new QueueMetrics(registry);
  const make = (name: string) => createWorkQueue({ clock, name, metrics });
  /** Samples of one metric as {labels: value}. */
  const samples = async (metric: string): Promise<Record<string, number>> => {
    const lines = (await registry.expose()).split('\n').filter((line) => line.startsWith(`${metric}{`));
    return Object.fromEntries(
      lines.map((line) => [line.slice(metric.length, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
    );
  };
  return { clock, registry, metrics, make, samples };
}

const labels = '{name="app_reconciliation_queue",controller="app_reconciliation_queue"}';

describe('workqueue_* metrics', () => {
  it('count adds and retries as client-go does', async () => {
    const { clock, make, samples } = setUp();
    const queue = make('app_reconciliation_queue');
    expect(await samples('workqueue_adds_total')).toEqual({ [labels]: 0 });
    expect(await samples('workqueue_retries_total')).toEqual({ [labels]: 0 });
    queue.add('a');
    queue.add('a'); // merges: one add
    queue.add('b', { delayMs: 10 }); // not an add before it is due
    queue.addRateLimited('c');
    expect(await samples('workqueue_adds_total')).toEqual({ [labels]: 1 });
    expect(await samples('workqueue_retries_total')).toEqual({ [labels]: 2 });
    await clock.advance(10);
    expect(await samples('workqueue_adds_total')).toEqual({ [labels]: 3 });
  });

  it('count a key in the depth when it is due, even while it is processed', async () => {
    const { make, samples } = setUp();
    const queue = make('app_reconciliation_queue');
    const depth = async () => (await samples('workqueue_depth'))[labels.replace('}', ',priority=""}')];
    queue.add('a');
    queue.add('b');
    queue.add('later', { delayMs: 10 });
    expect(await depth()).toBe(2);
    await queue.take(newSignal());
    expect(await depth()).toBe(1);
    queue.add('a');
    expect(await depth()).toBe(2);
    queue.drop('a');
    queue.drop('b');
    expect(await depth()).toBe(0);
  });

  it('measure waits and work in seconds, in client-go’s buckets', async () => {
    const { clock, registry, make, samples } = setUp();
    const queue = make('app_reconciliation_queue');
    queue.add('a');
    queue.add('b');
    await clock.advance(250);
    await queue.take(newSignal());
    await clock.advance(1000);
    await queue.take(newSignal());
    await clock.advance(500);
    expect(await samples('workqueue_unfinished_work_seconds')).toEqual({ [labels]: 2 });
    expect(await samples('workqueue_longest_running_processor_seconds')).toEqual({ [labels]: 1.5 });
    queue.done('a');
    expect(await samples('workqueue_queue_duration_seconds_sum')).toEqual({ [labels]: 1.5 });
    expect(await samples('workqueue_queue_duration_seconds_count')).toEqual({ [labels]: 2 });
    expect(await samples('workqueue_work_duration_seconds_sum')).toEqual({ [labels]: 1.5 });
    expect(await samples('workqueue_unfinished_work_seconds')).toEqual({ [labels]: 0.5 });
    const bounds = [...(await registry.expose()).matchAll(/^workqueue_work_duration_seconds_bucket{le="([^"]+)"/gm)];
    expect(bounds.map((match) => Number(match[1]))).toEqual([
      1e-8,
      1e-7,
      1e-6,
      9.999999999999999e-6,
      9.999999999999999e-5,
      1e-3,
      0.01,
      0.1,
      1,
      10,
      100,
      1000,
      Number.NaN,
    ]);
  });

  it('share one set of families between all queues', async () => {
    const { registry, metrics, make, samples } = setUp();
    make('one').add('a');
    make('two');
    expect(Object.values(await samples('workqueue_depth'))).toEqual([1, 0]);
    expect((await registry.expose()).match(/^# TYPE workqueue_depth /gm)).toHaveLength(1);
    metrics.ended('one', 'failed');
    metrics.ended('one', 'failed');
    expect(await samples('driftless_workqueue_items_total')).toMatchObject({
      '{name="one",outcome="failed"}': 2,
      '{name="two",outcome="failed"}': 0,
    });
  });

  // An alert on "keys wait and none was finished" needs a rate of 0; a missing series has no rate.
  it('show zero items for a queue that has finished none', async () => {
    const { make, samples } = setUp();
    make('one').add('a');
    const counted = Object.entries(await samples('driftless_workqueue_items_total'));
    expect(counted.map(([labels]) => /outcome="(.*)"/.exec(labels)?.[1])).toEqual([
      'done',
      'requeued',
      'retried',
      'failed',
      'aborted',
    ]);
    expect(counted.every(([, value]) => value === 0)).toBe(true);
  });

  it('omit a queue without a name, and refuse a second queue of the same name', async () => {
    const { metrics, make, samples } = setUp();
    make('').add('a');
    make('');
    metrics.ended('', 'done');
    expect(await samples('workqueue_depth')).toEqual({});
    expect(await samples('driftless_workqueue_items_total')).toEqual({});
    make('x');
    expect(() => make('x')).toThrow('two work queues are named x');
  });
});
