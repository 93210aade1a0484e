import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { outsideText } from '#base';
import { RepositoryError } from '../../errors.ts';
import type { SourceOptionNames } from '../../limits.ts';

/**
 * Returns all addresses of a host as a connecting program would find them; rejects if there are
 * none.
 */
export type FindAddresses = (host: string) => Promise<readonly string[]>;

/** Addresses of the controller itself, which sources must not reach. */
export interface SourceReach {
  /** For labs and tests: permits sources on loopback and at the controller's own addresses. */
  readonly allowLocal?: boolean;
  /** Host names or addresses of the hub's API server. */
  readonly hubHosts?: readonly string[];
  /** Addresses of this machine or pod, read before each connection. */
  readonly interfaceAddresses?: () => readonly string[];
  /** Defaults to the system's resolver. */
  readonly find?: FindAddresses;
}

interface NetworkRule {
  readonly networks: BlockList;
  /** Describes the network in the error message. */
  readonly text: string;
}

const loopback = ['127.0.0.0/8', '0.0.0.0/8', '::1/128', '::/128'];
/** Clouds serve credentials of the machine at these addresses to any local client. */
const metadata = [
  ...['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254/128', 'fd20:ce::254/128'],
  ...['100.100.100.200/32', '168.63.129.16/32'],
];
const metadataRule: NetworkRule = {
  networks: blockList(metadata),
  text: 'is a link-local or metadata address',
};

const systemAddresses: FindAddresses = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/** Returns the entries that are neither `metadata` nor an address with or without a prefix. */
export function invalidNetworks(networks: readonly string[]): readonly string[] {
  return networks.filter((network) => network !== 'metadata' && parsedNetwork(network) === undefined);
}

/**
 * Denies addresses to repositories, charts, registries and files of a source (not in Argo CD):
 * loopback, link-local and metadata addresses, the controller's own, and the given networks.
 * A host is resolved before each connection and after each redirect, and the connection uses the
 * addresses that were checked, so a name server that changes its answer gains nothing. A proxy
 * resolves names itself; its answers are not visible here.
 */
export class DeniedNetworks {
  readonly #rules: readonly NetworkRule[];
  readonly #reach: SourceReach;
  /** Follows a rule that the embedding program has an option for. */
  readonly #labHint: string;
  readonly #find: FindAddresses;
  /**
   * Lookups in flight: concurrent connections to a host share one, so a slow name occupies one
   * thread.
   */
  readonly #lookups = new Map<string, Promise<readonly string[]>>();

  /** @param networks validated entries, see {@link invalidNetworks} */
  constructor(networks: readonly string[], reach: SourceReach = {}, names: SourceOptionNames = {}) {
    const { localSources, deniedNetworks = 'the configuration' } = names;
    this.#reach = reach;
    this.#labHint = localSources === undefined ? '' : ` (${localSources} permits it, for labs)`;
    this.#find = reach.find ?? systemAddresses;
    const local = { networks: blockList(loopback), text: `is a loopback address${this.#labHint}` };
    this.#rules = [
      metadataRule,
      ...(reach.allowLocal === true ? [] : [local]),
      { networks: blockList(networks), text: `lies in a network that ${deniedNetworks} keeps sources out of` },
    ];
  }

  /**
   * Returns the addresses to connect to; none if the host does not resolve here (a proxy may know
   * it).
   * @throws RepositoryError naming the host, its address and the rule
   */
  async addresses(host: string): Promise<readonly string[]> {
    const name = literalAddressOf(host) ?? host;
    const found = isIP(name) === 0 ? await this.#lookUp(name).catch(() => []) : [name];
    await this.#throwIfDenied(host, found);
    return found;
  }

  /**
   * Refuses a link-local or metadata address as the proxy of a repository: such a server answers
   * requests for any host. Other addresses are permitted, as administrators configure proxies.
   * @throws RepositoryError
   */
  async checkProxy(proxy: string): Promise<void> {
    const host = proxyHost(proxy);
    const name = literalAddressOf(host) ?? host;
    this.#throwIfMetadata(host, isIP(name) === 0 ? await this.#lookUp(name).catch(() => []) : [name]);
  }

  /** For sockets: returns only addresses that it has checked. */
  readonly lookup = this.#checkedLookup((host, addresses) => this.#throwIfDenied(host, addresses));

  /** Like {@link lookup}, with the rule of {@link checkProxy}. */
  readonly proxyLookup = this.#checkedLookup((host, addresses) => this.#throwIfMetadata(host, addresses));

  #checkedLookup(check: (host: string, addresses: readonly string[]) => Promise<void> | void): LookupFunction {
    return (host, { all, family }, callback) => {
      const found = async (): Promise<readonly { readonly address: string; readonly family: number }[]> => {
        const addresses = await this.#lookUp(host);
        await check(host, addresses);
        const wanted = addresses.map((address) => ({ address, family: isIP(address) }));
        return family === 4 || family === 6 ? wanted.filter((each) => each.family === family) : wanted;
      };
      found().then(
        (addresses) => {
          const [first] = addresses;
          if (first === undefined) callback(new Error(`no address of ${host}`), '');
          else if (all === true) callback(null, [...addresses]);
          else callback(null, first.address, first.family);
        },
        (error: unknown) => callback(error as Error, ''),
      );
    };
  }

  /** Programs resolve `localhost` and names below it to loopback without a name server. */
  #lookUp(host: string): Promise<readonly string[]> {
    if (/(?:^|\.)localhost\.?$/i.test(host)) return Promise.resolve(['127.0.0.1', '::1']);
    const running = this.#lookups.get(host);
    if (running !== undefined) return running;
    const started = this.#find(host).finally(() => this.#lookups.delete(host));
    this.#lookups.set(host, started);
    return started;
  }

  async #throwIfDenied(host: string, addresses: readonly string[]): Promise<void> {
    if (addresses.length === 0) return;
    const rules = this.#reach.allowLocal === true ? this.#rules : [...this.#rules, ...(await this.#ownRules())];
    for (const rule of rules) throwIfIncluded(rule, host, addresses);
  }

  #throwIfMetadata(host: string, addresses: readonly string[]): void {
    throwIfIncluded(metadataRule, host, addresses);
  }

  /** Read each time: interfaces and names may change while the process runs. */
  async #ownRules(): Promise<readonly NetworkRule[]> {
    const { hubHosts = [], interfaceAddresses = () => [] } = this.#reach;
    const hub = hubHosts.map(async (host) => {
      const name = literalAddressOf(host) ?? host;
      return isIP(name) === 0 ? this.#lookUp(name).catch(() => []) : [name];
    });
    return [
      { networks: blockList(interfaceAddresses()), text: `is an address of the controller itself${this.#labHint}` },
      { networks: blockList((await Promise.all(hub)).flat()), text: `is the hub's API server${this.#labHint}` },
    ];
  }
}

/** @throws RepositoryError naming the first address that the rule denies */
function throwIfIncluded({ networks, text }: NetworkRule, host: string, addresses: readonly string[]): void {
  for (const address of addresses) {
    if (!includes(networks, address)) continue;
    const shown = outsideText('field', host);
    const where = address === host.replace(/^\[(.*)\]$/, '$1') ? shown : `${shown} (${address})`;
    throw new RepositoryError(`${where} ${text}: sources may not reach it`, { retry: 'never' });
  }
}

/**
 * Returns the host of a proxy, with or without a scheme. Refuses spellings that curl might read
 * differently, such as a backslash.
 * @throws RepositoryError
 */
function proxyHost(proxy: string): string {
  const text = /^[^/]*\/?$/.test(proxy) ? `http://${proxy}` : proxy;
  const isUnambiguous = /^[a-z][a-z0-9+.-]*:\/\/[^\s\\/?#]+(?:\/[^\s\\]*)?$/i.test(text);
  const host = isUnambiguous && URL.canParse(text) ? new URL(text).hostname : '';
  // Other schemes than http leave escapes in the host.
  if (host === '' || host.includes('%'))
    throw new RepositoryError('the proxy of the repository is no URL: http://host:port is one');
  return host;
}

/**
 * Returns the IP address that a host spells: in brackets, decimal, octal, hexadecimal, or with
 * fewer parts.
 */
export function literalAddressOf(host: string): string | undefined {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(name) !== 0) return name;
  if (!/^[0-9a-fx.]+$/i.test(name)) return undefined;
  const url = `http://${name}`;
  const read = URL.canParse(url) ? new URL(url).hostname : '';
  return isIP(read) === 0 ? undefined : read;
}

function includes(networks: BlockList, address: string): boolean {
  return networks.check(address.replace(/%.*$/, ''), isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/**
 * An IPv4 network is also denied inside IPv6: mapped (done by BlockList itself), compatible,
 * translated, NAT64 (well-known and local prefix) and 6to4.
 */
function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of networks.flatMap((network) => (network === 'metadata' ? metadata : [network]))) {
    const network = parsedNetwork(text.replace(/%[^/]*/, ''));
    if (network === undefined) continue;
    const { address, prefix, family } = network;
    list.addSubnet(address, prefix, family);
    if (family === 'ipv6') continue;
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
    const hex = [(a << 8) | b, (c << 8) | d].map((part) => part.toString(16)).join(':');
    for (const carrier of ['64:ff9b::', '64:ff9b:1::', '::ffff:0:'])
      list.addSubnet(`${carrier}${hex}`, 96 + prefix, 'ipv6');
    list.addSubnet(`2002:${hex}::`, 16 + prefix, 'ipv6');
    if (a !== 0) list.addSubnet(`::${hex}`, 96 + prefix, 'ipv6');
  }
  return list;
}

function parsedNetwork(
  text: string,
): { readonly address: string; readonly prefix: number; readonly family: 'ipv4' | 'ipv6' } | undefined {
  const [address = '', length, ...rest] = text.split('/');
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
  const most = family === 'ipv4' ? 32 : 128;
  const prefix = length === undefined ? most : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  return isIP(address) === 0 || rest.length > 0 || !(prefix <= most) ? undefined : { address, prefix, family };
}
