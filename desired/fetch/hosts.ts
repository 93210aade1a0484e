import { Limiter } from '#base';
import type { DeniedNetworks } from './denied-networks.ts';

/**
 * How many conversations there may be with one host at a time, whatever repositories they are about. Hosts do not wait for each other: one
 * that does not answer takes up its own places only. Repositories on the local disk have no host, and no limit.
 */
export class Hosts {
  readonly #size: number;
  readonly #hosts = new Map<string, { readonly limiter: Limiter; users: number }>();

  /** Who is not spoken with at all. */
  readonly denied: DeniedNetworks | undefined;

  /** @param size below 1: no limit. */
  constructor(size: number, denied?: DeniedNetworks) {
    this.#size = size;
    this.denied = denied;
  }

  /** Waits for a place in the order of arrival, as long as the signal allows; then runs the body. @throws RepositoryError for a denied host */
  async run<T>(host: string, signal: AbortSignal, body: () => Promise<T>): Promise<T> {
    if (host === '') return body();
    const name = host.toLowerCase();
    await this.denied?.check(name);
    const entry = this.#hosts.get(name) ?? { limiter: new Limiter(this.#size), users: 0 };
    this.#hosts.set(name, entry);
    entry.users += 1;
    try {
      return await entry.limiter.run(signal, body);
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#hosts.delete(name);
    }
  }
}
