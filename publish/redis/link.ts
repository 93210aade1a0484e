import { DriftlessError } from '#base';
import type { RequestOutcome } from '#base';

/** What went wrong with the store, as far as that decides what to do next. */
export type StoreFault =
  /** The connection is of no use: open another one. */
  | 'connection'
  /** User or password are wrong, or missing. */
  | 'auth'
  /** The store takes no writes: full, loading, or a replica by now. */
  | 'refused'
  /** This one command is not allowed to this user, or not known. */
  | 'forbidden';

/** The store did not do what it was asked. The message is the server's or the system's, without credentials. */
export class StoreError extends DriftlessError implements RequestOutcome {
  readonly fault: StoreFault;
  /** The store has answered: only a connection that broke leaves open what became of a write. */
  readonly isOver: boolean;

  constructor(fault: StoreFault, message: string) {
    super('PUBLISH_STORE', message);
    this.fault = fault;
    this.isOver = fault !== 'connection';
  }
}

/** One open connection to the store, by the few commands that are needed. None of them reads a value. All reject with {@link StoreError}. */
export interface RedisLink {
  /** Which server process this is: another one may have other contents. Empty when the server does not tell. */
  readonly runId: string;
  set(key: string, value: Buffer, ttlMs: number): Promise<void>;
  /** What is not there is no error. */
  delete(keys: readonly string[]): Promise<void>;
  publish(channel: string): Promise<void>;
  /** How many of these keys are there. */
  count(keys: readonly string[]): Promise<number>;
  ping(): Promise<void>;
  /** Rejects when the connection ends, whoever ended it. */
  readonly ended: Promise<never>;
  close(reason: StoreError): void;
}

/** Opens a connection, with credentials as they are now. */
export type OpenLink = (signal: AbortSignal) => Promise<RedisLink>;

const patterns: readonly (readonly [RegExp, StoreFault])[] = [
  [/^(?:WRONGPASS|NOAUTH)|invalid password|without any password|no password is set/i, 'auth'],
  [/^NOPERM|unknown command/i, 'forbidden'],
  [/^(?:OOM|LOADING|MISCONF|NOREPLICAS|BUSY|ERR)\b/, 'refused'],
];

/** The kind of fault of an error reply. A replica that was the master until a moment ago is not where to write: `connection`. */
export function faultOf(message: string): StoreFault {
  return patterns.find(([pattern]) => pattern.test(message))?.[1] ?? 'connection';
}
