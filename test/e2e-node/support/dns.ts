import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Server } from '../../e2e/support/index.ts';

interface Slices {
  readonly items: readonly {
    readonly endpoints?: readonly {
      readonly addresses: readonly string[];
      readonly conditions?: { readonly ready?: boolean };
    }[];
  }[];
}

const headerBytes = 12;
const nameError = 3;
const typeA = 1;

/**
 * Answers queries for Services of a cluster (`name.namespace.svc.cluster.local`) with the addresses
 * of their ready pods, as cluster DNS does for headless Services. It takes the place of cluster DNS
 * and kube-proxy together.
 */
export class ServiceDns {
  readonly #hub: Server;
  readonly #socket: Socket = createSocket('udp4');

  private constructor(hub: Server) {
    this.#hub = hub;
  }

  static async start(hub: Server, address: string): Promise<ServiceDns> {
    const dns = new ServiceDns(hub);
    dns.#socket.on('message', (query, { address: from, port }) => {
      void dns.#answer(query).then((answer) => dns.#socket.send(answer, port, from));
    });
    dns.#socket.bind(53, address);
    await once(dns.#socket, 'listening');
    return dns;
  }

  close(): void {
    this.#socket.close();
  }

  async #answer(query: Buffer): Promise<Buffer> {
    const { labels, end } = readName(query);
    const [name = '', namespace = '', ...rest] = labels;
    const isService = rest.join('.') === 'svc.cluster.local';
    const addresses = isService ? await this.#addresses(namespace, name).catch(() => []) : [];
    const isA = query.readUInt16BE(end) === typeA;
    return response(query.subarray(0, end + 4), addresses.length === 0 ? nameError : 0, isA ? addresses : []);
  }

  async #addresses(namespace: string, name: string): Promise<string[]> {
    const selector = encodeURIComponent(`kubernetes.io/service-name=${name}`);
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`;
    const { items = [] } = (await this.#hub.api.get<Slices>(path)) ?? {};
    return items.flatMap(({ endpoints = [] }) =>
      endpoints.filter(({ conditions }) => conditions?.ready !== false).flatMap(({ addresses }) => addresses),
    );
  }
}

/** The labels of the first question, and where they end. */
function readName(query: Buffer): { readonly labels: string[]; readonly end: number } {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { labels, end: at + 1 };
}

/** An authoritative answer to a header with one question. Clients ask again after a second. */
function response(question: Buffer, code: number, addresses: readonly string[]): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8400 | code, 2);
  for (const [offset, count] of [
    [4, 1],
    [6, addresses.length],
    [8, 0],
    [10, 0],
  ] as const)
    head.writeUInt16BE(count, offset);
  const records = addresses.map((address) =>
    // A pointer to the name, type A, class IN, seconds to live, four bytes.
    Buffer.from([0xc0, headerBytes, 0, typeA, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]),
  );
  return Buffer.concat([head, ...records]);
}
