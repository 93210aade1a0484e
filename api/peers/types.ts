/** Another replica, and how to ask it. */
export interface Peer {
  /** Host name of the holder of the slot. */
  readonly name: string;
  /** Asks for a page; absent: it publishes no address. Rejects with the reason. */
  readonly ask?: (target: string, signal: AbortSignal) => Promise<unknown>;
}

/** All other replicas at this moment. */
export type Peers = () => readonly Peer[];
