import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { RepositoryError } from '../errors.ts';

/** All addresses of a host, as programs that connect to it find them; rejects when there are none. */
export type FindAddresses = (host: string) => Promise<readonly string[]>;

/** Where clouds answer whoever asks from inside with credentials of the machine. */
const metadata = ['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254/128', '100.100.100.200/32', '168.63.129.16/32'];

const systemAddresses: FindAddresses = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/** The entries that are no network: neither `metadata` nor an address, with or without the length of its prefix. */
export function faultyNetworks(networks: readonly string[]): readonly string[] {
  return networks.filter((network) => network !== 'metadata' && parsed(network) === undefined);
}

/**
 * Networks that no repository, chart, registry or file of a source may lie in (not in Argo CD). A host is looked up before each conversation with it, after
 * each redirect too. What a name server answers to the connection a moment later is not seen, nor what a proxy makes of a name.
 */
export class DeniedNetworks {
  readonly #networks = new BlockList();
  readonly #find: FindAddresses;

  /** @param networks none of them faulty ({@link faultyNetworks}) */
  constructor(networks: readonly string[], find: FindAddresses = systemAddresses) {
    this.#find = find;
    for (const text of networks.flatMap((network) => (network === 'metadata' ? metadata : [network]))) {
      const { address, prefix, family } = parsed(text) ?? {};
      if (address !== undefined && prefix !== undefined) this.#networks.addSubnet(address, prefix, family);
    }
  }

  /**
   * A host that has no address here is not refused: the conversation will say so, or a proxy knows it.
   * @throws RepositoryError that names the host and its address
   */
  async check(host: string): Promise<void> {
    const name = host.replace(/^\[(.*)\]$/, '$1');
    const addresses = isIP(name) === 0 ? await this.#find(name).catch(() => []) : [name];
    for (const address of addresses) {
      if (!this.#networks.check(address.replace(/%.*$/, ''), isIP(address) === 6 ? 'ipv6' : 'ipv4')) continue;
      const where = address === name ? name : `${name} (${address})`;
      throw new RepositoryError(`${where} lies in a network that --denied-networks keeps sources out of`, {
        retry: 'never',
      });
    }
  }
}

function parsed(
  text: string,
): { readonly address: string; readonly prefix: number; readonly family: 'ipv4' | 'ipv6' } | undefined {
  const [address = '', length, ...rest] = text.split('/');
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
  const most = family === 'ipv4' ? 32 : 128;
  const prefix = length === undefined ? most : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  return isIP(address) === 0 || rest.length > 0 || !(prefix <= most) ? undefined : { address, prefix, family };
}
