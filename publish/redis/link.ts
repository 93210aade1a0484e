import { DriftlessError } from '#base';
import type { RequestOutcome } from '#base';

/** Kind of a failure, which decides what to do next. */
export type StoreFault =
  /** The connection is unusable: open another one. */
  | 'connection'
  /** User or password is wrong or missing. */
  | 'auth'
  /** The store rejects writes: full, loading, or a replica by now. */
  | 'refused'
  /** The user lacks permission for this command, or the command is unknown. */
  | 'forbidden';

/** A failed request. The message comes from the server or the system, without credentials. */
export class StoreError extends DriftlessError implements RequestOutcome {
  readonly fault: StoreFault;
  /**
   * The store has answered. Otherwise the connection broke, and the outcome of a write is unknown.
   */
  readonly isOver: boolean;

  constructor(fault: StoreFault, message: string) {
    super('PUBLISH_STORE', message);
    this.fault = fault;
    this.isOver = fault !== 'connection';
  }
}

/**
 * An open connection with the few commands that are needed. None of them reads a value. All reject
 * with {@link StoreError}.
 */
export interface RedisLink {
  /** Identifies the server process: another one may have other contents. Empty when unknown. */
  readonly runId: string;
  set(key: string, value: Buffer, ttlMs: number): Promise<void>;
  /** Missing keys are no error. */
  delete(keys: readonly string[]): Promise<void>;
  publish(channel: string): Promise<void>;
  /** Number of these keys that exist. */
  count(keys: readonly string[]): Promise<number>;
  ping(): Promise<void>;
  /** Rejects when the connection ends for any reason. */
  readonly ended: Promise<never>;
  close(reason: StoreError): void;
}

/** Opens a connection with the present credentials. */
export type OpenLink = (signal: AbortSignal) => Promise<RedisLink>;

const patterns: readonly (readonly [RegExp, StoreFault])[] = [
  [/^(?:WRONGPASS|NOAUTH)|invalid password|without any password|no password is set/i, 'auth'],
  [/^NOPERM|unknown command/i, 'forbidden'],
  [/^(?:OOM|LOADING|MISCONF|NOREPLICAS|BUSY|ERR)\b/, 'refused'],
];

/** Classifies an error reply. A former master does not accept writes any more: `connection`. */
export function faultOf(message: string): StoreFault {
  return patterns.find(([pattern]) => pattern.test(message))?.[1] ?? 'connection';
}

/** The store will accept the request in a moment, for example when it has loaded its data. */
export function isTransient({ fault, message }: StoreError): boolean {
  return fault === 'refused' && /^(?:LOADING|BUSY|NOREPLICAS)\b/.test(message);
}
