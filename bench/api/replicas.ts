import { join } from 'node:path';
import { ApiServer, ApiSocket, createApiHandler, createCertificate, fullViewer, PeerDirectory, ReadApi } from '#api';
import type { ReplicaFacts } from '#api';
import { newAbortController, Shutdown, systemClock } from '#base';
import type { Runnable } from '#base';
import type { SlotRecord } from '#sharding';
import { createLogger } from '#telemetry';

const logger = createLogger({ level: 'error', format: 'json', destination: { write: () => undefined } });
const access = { viewer: () => Promise.resolve(fullViewer) };

/**
 * Replicas with the facts of one controller, each with its read API on a port of loopback. The
 * first owns all Applications; the others own none, and ask their peers as in a real fleet.
 */
export class ServedReplicas {
  readonly ports: number[] = [];
  readonly #facts: ReplicaFacts;
  readonly #holders = new Map<number, SlotRecord>();
  readonly #stops: (() => Promise<void>)[] = [];
  #last: ReadApi | undefined;

  constructor(facts: ReplicaFacts) {
    this.#facts = facts;
  }

  async add(): Promise<void> {
    const slot = this.ports.length;
    const name = slot === 0 ? this.#facts.name : `bench-${slot}`;
    const facts = this.#factsOf(slot, name);
    const certificate = await createCertificate(name, systemClock.now());
    const directory = new PeerDirectory({ name, ownership: facts.ownership, certificate });
    const api = new ReadApi({ facts, clock: systemClock, peers: directory.peers });
    this.#last = api;
    const server = new ApiServer(
      { api, access, certificate, logger, peerFingerprints: () => directory.fingerprints() },
      { host: '127.0.0.1', port: 0 },
    );
    const ended = this.#run(server);
    await Promise.race([server.ready(), ended]);
    const { port = 0 } = server;
    this.ports.push(port);
    const address = { address: `127.0.0.1:${port}`, fingerprint: certificate.fingerprint };
    const times = { renewals: 1, acked: 1, heartbeat: 0 };
    this.#holders.set(slot, { slot, holder: name, incarnation: `bench/${slot}`, ...times, api: address });
  }

  /** Serves the read API of the last replica on a Unix socket in a folder; returns its path. */
  async socketIn(folder: string): Promise<string> {
    const api = this.#last;
    if (api === undefined) throw new Error('no replica serves its API');
    const path = join(folder, 'api', 'state.sock');
    const caller = { viewer: fullViewer, isPeer: false };
    const answer = createApiHandler({ api, logger, identify: () => Promise.resolve(caller) });
    const socket = new ApiSocket({ path, logger, uid: process.getuid?.(), answer });
    void this.#run(socket);
    await socket.ready();
    return path;
  }

  #run(server: Runnable): Promise<void> {
    const stop = newAbortController();
    const ended = server.run(stop.signal);
    ended.catch(() => undefined);
    this.#stops.push(async () => {
      stop.abort(new Shutdown());
      await ended;
    });
    return ended;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops.splice(0)) await stop();
  }

  #factsOf(slot: number, name: string): ReplicaFacts {
    const { controller, ownership } = this.#facts;
    const facts: ReplicaFacts = {
      ...this.#facts,
      name,
      ownership: {
        identity: () => ownership.identity(),
        ownsCluster: (cluster) => ownership.ownsCluster(cluster),
        conditions: () => ownership.conditions(),
        placeOf: (key, cluster) => ownership.placeOf(key, cluster),
        facts: () => ({ ...ownership.facts(), holders: this.#holders }),
      },
    };
    if (slot === 0) return facts;
    return { ...facts, controller: { ...controller, isMine: () => false, owned: () => new Set() } };
  }
}
