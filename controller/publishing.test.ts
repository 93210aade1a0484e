import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PublishTerms } from '#publish';
import { FakeClock } from '#support';
import { automated, configMap, FakeWorld } from './testing/fake-world.ts';
import { publisherAfter } from './testing/published.ts';

let clock: FakeClock;
let world: FakeWorld;
let isWaiting = false;
/** For each published tree: whether it may be delayed, and the number of writes before it. */
let published: { readonly mayWait: boolean; readonly writes: number }[];

const writes = (): number => world.writes().length;
const mayWait = (): readonly boolean[] => published.splice(0).map((one) => one.mayWait);
/** Whether the trees followed by a write may be delayed. */
const mayWaitThough = (): readonly boolean[] => {
  const total = writes();
  const all = published.splice(0);
  return all.filter((one, i) => (all[i + 1]?.writes ?? total) > one.writes).map((one) => one.mayWait);
};

beforeEach(async () => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  published = [];
  isWaiting = false;
  world.git.push('a'.repeat(40), [configMap('one'), configMap('two')]);
  world.application(automated);
  const publish = (_instance: string, terms: PublishTerms): void => {
    published.push({ mayWait: terms.mayWait === true, writes: writes() });
  };
  const publisher = publisherAfter(publish, undefined, () => isWaiting);
  world.replica({ publisher });
  await clock.advance(10_000);
});
afterEach(() => world.close(clock));

describe('published state', () => {
  it('is available before clients see the status written after it', () => {
    expect(published[0]).toEqual({ mayWait: false, writes: 0 });
    expect(mayWaitThough()).toEqual([false, false]);
    expect(world.app.status?.sync?.status).toBe('Synced');
  });

  it('may be delayed if only the cluster changed, and not the status', async () => {
    mayWait();
    const before = writes();
    for (let i = 0; i < 3; i += 1) {
      const live = world.dest.get('ConfigMap', 'one');
      if (live !== undefined) world.dest.put({ ...live, metadata: { ...live.metadata, labels: { touched: `${i}` } } });
      await clock.advance(1000);
    }
    expect(writes()).toBe(before);
    expect(mayWait()).toEqual([true, true, true]);
  });

  it('of a requested refresh is available before the request is answered, also if it waited', async () => {
    mayWait();
    isWaiting = true;
    const before = writes();
    world.annotate({ 'argocd.argoproj.io/refresh': 'normal', 'argocd.argoproj.io/refresh-timestamp': 'now' });
    await clock.advance(1000);
    expect(published.splice(0)).toEqual([{ mayWait: false, writes: before }]);
    expect(writes()).toBe(before + 1);
  });

  it('is not published again for a requested refresh if it stands', async () => {
    mayWait();
    world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await clock.advance(1000);
    expect(mayWait()).toEqual([]);
    expect(world.app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
  });

  it.each([
    ['with the record of its repair', {}, [false]],
    [
      'with the status that reports it, and again with its repair, if that is recorded first',
      { 'argocd.argoproj.io/sync-options': 'Replace=true' },
      [false, false],
    ],
  ])('of drift is available %s', async (_, added, awaited) => {
    mayWait();
    const { metadata, ...live } = world.dest.get('ConfigMap', 'one') ?? configMap('one');
    const annotations = { ...metadata.annotations, ...added };
    world.dest.put({ ...live, metadata: { ...metadata, annotations }, data: { key: 'by hand' } });
    await clock.advance(10_000);
    expect(world.dest.get('ConfigMap', 'one')?.['data']).toEqual({ key: '1' });
    expect(mayWaitThough()).toEqual(awaited);
  });
});
