import { isForeign } from '#sharding';
import type { Ownership, SlotRecord } from '#sharding';
import type { ApiCertificate } from '../http/certificate.ts';
import { askPeer } from './peer-client.ts';
import type { Peer, Peers } from './types.ts';

export interface PeerDirectoryDeps {
  /** Host name of this replica. */
  readonly name: string;
  readonly ownership: Pick<Ownership, 'facts'>;
  /** Absent: this replica has no certificate, so no other one would answer it. */
  readonly certificate: ApiCertificate | undefined;
}

/** The other replicas, by the slots that they hold. */
export class PeerDirectory {
  readonly #deps: PeerDirectoryDeps;

  constructor(deps: PeerDirectoryDeps) {
    this.#deps = deps;
  }

  readonly peers: Peers = () => this.#others().map((record) => this.#peerOf(record));

  fingerprints(): ReadonlySet<string> {
    return new Set(this.#others().flatMap(({ api }) => api?.fingerprint ?? []));
  }

  #others(): readonly SlotRecord[] {
    const { name, ownership } = this.#deps;
    return [...ownership.facts().holders.values()].filter((record) => record.holder !== name && !isForeign(record));
  }

  #peerOf({ holder, api }: SlotRecord): Peer {
    const { certificate } = this.#deps;
    if (api === undefined || certificate === undefined) return { name: holder };
    return { name: holder, ask: (target, signal) => askPeer(api, certificate, target, signal) };
  }
}
