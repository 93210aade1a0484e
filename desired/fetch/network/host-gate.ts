import { abortable, tenantOf, systemClock } from '#base';
import type { Clock } from '#base';
import { FairLimiter } from '../../render/fair.ts';
import type { DeniedNetworks } from './denied-networks.ts';

/** A server; its ports are servers of their own. */
export interface ServerPort {
  /** Without port; "" for local repositories. */
  readonly host: string;
  readonly port: string;
}

/**
 * Limits the concurrent connections to each server, across all repositories, and checks its
 * addresses. Projects take turns, and inside a project its Applications; connections that take long
 * count half, so that a server that is slow for one project has slots for others: at most twice the
 * limit. Servers have separate limits, and local repositories have none.
 */
export class HostGate {
  readonly #size: number;
  readonly #clock: Clock;
  readonly #servers = new Map<string, { readonly limiter: FairLimiter; users: number }>();

  /** The addresses that sources must not reach. */
  readonly denied: DeniedNetworks | undefined;

  /** @param size below 1 means no limit */
  constructor(size: number, denied?: DeniedNetworks, clock: Clock = systemClock) {
    this.#size = size;
    this.#clock = clock;
    this.denied = denied;
  }

  /**
   * Waits for a slot, then runs `body` with the checked addresses of the host; undefined if no
   * rules apply.
   * @throws RepositoryError for a denied host
   */
  async run<T>(
    { host, port }: ServerPort,
    signal: AbortSignal,
    body: (addresses: readonly string[] | undefined) => Promise<T>,
  ): Promise<T> {
    if (host === '') return body(undefined);
    const name = host.toLowerCase();
    const addresses = this.denied === undefined ? undefined : await abortable(this.denied.addresses(name), signal);
    const key = `${name} ${port}`;
    const entry = this.#servers.get(key) ?? { limiter: new FairLimiter(this.#clock, this.#size), users: 0 };
    this.#servers.set(key, entry);
    entry.users += 1;
    try {
      const { project, application: repository } = tenantOf(signal);
      return await entry.limiter.run({ project, repository }, signal, () => body(addresses));
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#servers.delete(key);
    }
  }
}

const defaultPorts: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80', 'git:': '9418', 'ssh:': '22' };

/** The port of an address; the scp-like form has none, and goes to that of ssh. */
export function portOf(url: string): string {
  if (!URL.canParse(url)) return '22';
  const { port, protocol } = new URL(url);
  return port === '' ? (defaultPorts[protocol] ?? '') : port;
}
