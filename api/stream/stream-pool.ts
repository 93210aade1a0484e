import type { Viewer } from '../access/viewer.ts';
import { ApiFault } from '../fault.ts';

const maxStreams = 100;
const maxStreamsOfUser = 8;

interface PooledStream {
  readonly user: string;
  readonly tenant: string;
  /** Ends it. */
  readonly end: () => void;
}

/**
 * The open streams. When all are taken, a tenant with fewer of them takes one of the tenant with
 * the most: none gets more than its share while others want theirs.
 */
export class StreamPool {
  /** In the order of their begin. */
  readonly #open = new Set<PooledStream>();

  /**
   * Counts a stream until the result is called.
   * @throws ApiFault 429 if the user has too many, or its tenant has its share
   */
  take({ user = '', tenant = user }: Viewer, end: () => void): () => void {
    const ofUser = [...this.#open].filter((one) => one.user === user);
    if (user !== '' && ofUser.length >= maxStreamsOfUser)
      throw new ApiFault(429, `too many streams are open: at most ${maxStreamsOfUser} of one user`);
    if (this.#open.size >= maxStreams) this.#makePlace(tenant);
    const stream = { user, tenant, end };
    this.#open.add(stream);
    return () => void this.#open.delete(stream);
  }

  #makePlace(tenant: string): void {
    const counts = new Map<string, number>();
    for (const one of this.#open) counts.set(one.tenant, (counts.get(one.tenant) ?? 0) + 1);
    const [[biggest, most] = ['', 0]] = [...counts].toSorted(([, a], [, b]) => b - a);
    if ((counts.get(tenant) ?? 0) + 1 >= most)
      throw new ApiFault(429, `all ${maxStreams} streams are open, and yours are a fair share of them`);
    const newest = [...this.#open].findLast((one) => one.tenant === biggest);
    if (newest === undefined) return;
    this.#open.delete(newest);
    newest.end();
  }
}
