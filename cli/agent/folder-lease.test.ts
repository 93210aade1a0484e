import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { FolderLease } from './folder-lease.ts';

function refusal(code: number, reason: string): KubeApiError {
  return new KubeApiError({ code, reason, message: reason }, 'the lease');
}

function takenBy(holder: string, lease: KubeObject): KubeObject {
  return { ...lease, metadata: { ...lease.metadata, resourceVersion: '99' }, spec: { holderIdentity: holder } };
}

/** One Lease, as an API server stores it. */
class LeaseStore {
  lease: KubeObject | undefined;
  failure: Error | undefined;
  readFailure: Error | undefined;
  /** Stores the write, and loses its answer. */
  losesAnswer = false;
  #version = 0;

  readonly client = {
    get: (): Promise<KubeObject> => {
      const failure = this.failure ?? this.readFailure;
      if (failure !== undefined) return Promise.reject(failure);
      return this.lease === undefined ? Promise.reject(refusal(404, 'NotFound')) : Promise.resolve(this.lease);
    },
    create: (_resource: unknown, object: KubeObject): Promise<KubeObject> => {
      if (this.lease !== undefined) return Promise.reject(refusal(409, 'AlreadyExists'));
      return Promise.resolve(this.#store(object));
    },
    replace: (_resource: unknown, object: KubeObject): Promise<KubeObject> => {
      if (this.failure !== undefined) return Promise.reject(this.failure);
      if (this.lease === undefined) return Promise.reject(refusal(404, 'NotFound'));
      if (object.metadata.resourceVersion !== this.lease.metadata.resourceVersion)
        return Promise.reject(refusal(409, 'Conflict'));
      const stored = this.#store(object);
      return this.losesAnswer ? Promise.reject(new Error('no answer')) : Promise.resolve(stored);
    },
  };

  get holder(): unknown {
    return (this.lease?.['spec'] as JsonObject | undefined)?.['holderIdentity'];
  }

  #store(object: KubeObject): KubeObject {
    this.#version += 1;
    this.lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    return this.lease;
  }
}

let store: LeaseStore;
let clock: FakeClock;
let stop: AbortController;
let held: string[];

beforeEach(() => {
  store = new LeaseStore();
  clock = new FakeClock();
  stop = new AbortController();
  held = [];
});

function lease(holder: string, source = 'https://git/shop#.'): FolderLease {
  return new FolderLease({
    client: store.client,
    clock,
    namespace: 'shop',
    name: 'shop',
    holder,
    source,
    onHeld: (other) => held.push(other),
  });
}

/** The outcome of a wait, after `ms` of virtual time. */
async function after(ms: number, work: Promise<unknown>): Promise<string> {
  let outcome = 'waits';
  work.then(
    () => (outcome = 'done'),
    (error: unknown) => (outcome = (error as Error).message),
  );
  await clock.advance(ms);
  return outcome;
}

describe('the lease of a folder', () => {
  it('is taken at once where there is none, or where it was given up', async () => {
    const first = lease('a');
    expect(await after(0, first.acquire(stop.signal))).toBe('done');
    expect(store.holder).toBe('a');
    // A MicroTime has six fractional digits: the API server refuses others.
    expect(store.lease?.['spec']).toMatchObject({ renewTime: expect.stringMatching(/T\d\d:\d\d:\d\d\.\d{6}Z$/) });
    await first.release(stop.signal);
    expect(store.holder).toBe('');
    expect(await after(0, lease('b').acquire(stop.signal))).toBe('done');
    expect(store.holder).toBe('b');
  });

  it('makes a second agent wait while the first renews, and names the first one once', async () => {
    const first = lease('a');
    await first.acquire(stop.signal);
    const keeping = first.keep(stop.signal);
    expect(await after(120_000, lease('b').acquire(stop.signal))).toBe('waits');
    expect(store.holder).toBe('a');
    expect(held).toEqual(['a']);
    stop.abort();
    await keeping;
  });

  it('is taken over when it was not renewed for its duration, by the clock of the waiting agent', async () => {
    await lease('a').acquire(stop.signal);
    const next = lease('b').acquire(stop.signal);
    expect(await after(30_000, next)).toBe('waits');
    expect(await after(3000, next)).toBe('done');
    expect(store.holder).toBe('b');
  });

  it('refuses a name that belongs to another folder, even if no process holds it', async () => {
    const first = lease('a');
    await first.acquire(stop.signal);
    await first.release(stop.signal);
    const outcome = await after(0, lease('b', 'https://git/other#.').acquire(stop.signal));
    expect(outcome).toContain('the name shop belongs to https://git/shop#., not to https://git/other#.');
    expect(store.holder).toBe('');
  });

  it('ends the agent whose lease another one took', async () => {
    const first = lease('a');
    await first.acquire(stop.signal);
    const keeping = first.keep(stop.signal);
    store.lease = takenBy('b', store.lease!);
    expect(await after(10_000, keeping)).toContain('lost lease/driftless-agent-shop (another process has it)');
  });

  it('goes on after a renewal that landed without its answer', async () => {
    const first = lease('a');
    await first.acquire(stop.signal);
    const keeping = first.keep(stop.signal);
    store.losesAnswer = true;
    expect(await after(10_000, keeping)).toBe('waits');
    store.losesAnswer = false;
    expect(await after(40_000, keeping)).toBe('waits');
    stop.abort();
    await keeping;
  });

  it('goes on after a conflict while the lease cannot be read, and ends when it was taken', async () => {
    const first = lease('a');
    await first.acquire(stop.signal);
    const keeping = first.keep(stop.signal);
    store.lease = takenBy('b', store.lease!);
    store.readFailure = new Error('unreachable');
    expect(await after(10_000, keeping)).toBe('waits');
    store.readFailure = undefined;
    expect(await after(10_000, keeping)).toContain('another process has it');
  });

  it('ends the agent before the lease expires while the API server does not answer', async () => {
    const first = lease('a');
    await first.acquire(stop.signal);
    const keeping = first.keep(stop.signal);
    store.failure = new Error('unreachable');
    expect(await after(20_000, keeping)).toBe('waits');
    expect(await after(10_000, keeping)).toContain('it could not be renewed in time');
  });

  it('ends the agent whose lease was deleted', async () => {
    const first = lease('a');
    await first.acquire(stop.signal);
    const keeping = first.keep(stop.signal);
    store.lease = undefined;
    expect(await after(10_000, keeping)).toContain('it was deleted');
  });

  it('fails with the reason where the cluster refuses it', async () => {
    store.failure = refusal(403, 'Forbidden');
    expect(await after(0, lease('a').acquire(stop.signal))).toContain('Forbidden');
  });

  it('leaves no timer behind', async () => {
    const first = lease('a');
    await first.acquire(stop.signal);
    const keeping = first.keep(stop.signal);
    await clock.advance(5000);
    stop.abort();
    await keeping;
    expect(clock.pending).toBe(0);
  });
});
