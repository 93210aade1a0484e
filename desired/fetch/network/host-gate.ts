import { abortable, ConcurrencyLimiter } from '#base';
import type { DeniedNetworks } from './denied-networks.ts';

/**
 * Limits the concurrent connections to each host, across all repositories, and checks its
 * addresses. Hosts have separate limits, so one that does not answer blocks only its own slots.
 * Local repositories have no host and no limit.
 */
export class HostGate {
  readonly #size: number;
  readonly #hosts = new Map<string, { readonly limiter: ConcurrencyLimiter; users: number }>();

  /** The addresses that sources must not reach. */
  readonly denied: DeniedNetworks | undefined;

  /** @param size below 1 means no limit */
  constructor(size: number, denied?: DeniedNetworks) {
    this.#size = size;
    this.denied = denied;
  }

  /**
   * Waits for a slot in order of arrival, then runs `body` with the checked addresses of the host;
   * undefined if no rules apply.
   * @throws RepositoryError for a denied host
   */
  async run<T>(
    host: string,
    signal: AbortSignal,
    body: (addresses: readonly string[] | undefined) => Promise<T>,
  ): Promise<T> {
    if (host === '') return body(undefined);
    const name = host.toLowerCase();
    const addresses = this.denied === undefined ? undefined : await abortable(this.denied.addresses(name), signal);
    const entry = this.#hosts.get(name) ?? { limiter: new ConcurrencyLimiter(this.#size), users: 0 };
    this.#hosts.set(name, entry);
    entry.users += 1;
    try {
      return await entry.limiter.run(signal, () => body(addresses));
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#hosts.delete(name);
    }
  }
}
