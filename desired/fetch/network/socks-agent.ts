import type { LookupFunction } from 'node:net';
import { Agent } from 'undici';
import type { buildConnector, Dispatcher } from 'undici';
import type { Clock } from '#base';
import { isSocks, SocksTunnels } from '#kube';

const connectMs = 15_000;
const keepAliveInitialDelay = 60_000;

export interface SocksAgentOptions {
  readonly clock: Clock;
  /** `socks5://user:password@host:port`. */
  readonly proxy: string;
  /** TLS of the server behind the proxy. */
  readonly tls: buildConnector.BuildOptions;
  /** Resolves the proxy's name. */
  readonly lookup: LookupFunction | undefined;
}

/** The SOCKS proxy among those of a repository or of this process that is for a URL. */
export function socksProxyFor(
  url: URL,
  { http = '', https = '', none = '' }: { readonly http?: string; readonly https?: string; readonly none?: string },
): string | undefined {
  const proxy = url.protocol === 'https:' && https !== '' ? https : http;
  return isSocks(proxy) && !isPastProxy(url, none) ? proxy : undefined;
}

/** Sends requests to one origin through a SOCKS 5 proxy, which gets the name of the host. */
export function socksAgent(
  url: URL,
  { clock, proxy, tls, lookup }: SocksAgentOptions,
): Pick<Dispatcher, 'destroy'> & { readonly dispatcher: Dispatcher } {
  const timeoutMs = connectMs;
  const tunnels = new SocksTunnels(url.origin, proxy, {
    clock,
    timeoutMs,
    ...(lookup === undefined ? {} : { lookup }),
  });
  const dispatcher = new Agent({ connect: tunnels.connector({ ...tls, timeout: connectMs, keepAliveInitialDelay }) });
  return {
    dispatcher,
    destroy: async () => {
      tunnels.destroy();
      await dispatcher.destroy();
    },
  };
}

/**
 * Reports whether requests to a URL go past the proxy, by undici's rules for other proxies: an
 * entry is a domain with all below it, with or without a port; `*` alone is every host.
 */
export function isPastProxy({ hostname, port, protocol }: URL, noProxy: string): boolean {
  if (noProxy.trim() === '*') return true;
  const used = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return noProxy.split(/[,\s]+/).some((entry) => {
    const [, domain = '', only = used] = /^(?:\*?\.)?(.+?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    return only === used && domain !== '' && (hostname === domain || hostname.endsWith(`.${domain}`));
  });
}
