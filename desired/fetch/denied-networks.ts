import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
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
 * each redirect too, and what this process fetches itself is fetched from an address that was looked at (`lookup`). What a name server answers to git or ssh
 * a moment later is not seen, nor what a proxy makes of a name.
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
    this.#refuse(name, isIP(name) === 0 ? await this.#find(name).catch(() => []) : [name]);
  }

  /**
   * For connections: looks a name up, and hands out what it has looked at and no other address. A name server that answers otherwise each time gains nothing.
   */
  readonly lookup: LookupFunction = (host, { all, family }, callback) => {
    const found = async (): Promise<readonly { readonly address: string; readonly family: number }[]> => {
      const addresses = await this.#find(host);
      this.#refuse(host, addresses);
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

  #refuse(name: string, addresses: readonly string[]): void {
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
