import type { Clock, Random } from '#base';
import type { Logger } from '#telemetry';

/** A program to run and what it may see. `env` is added to the environment of the process that runs it. */
export interface CommandRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface CommandResult {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program without a shell and resolves when it has ended, whatever its exit code; rejects when it cannot be started. Must kill it
 * when `signal` aborts. The seam for the pre-forked helper of decision D14.
 */
export type RunCommand = (request: CommandRequest, signal: AbortSignal) => Promise<CommandResult>;

/** What was asked and how it ended: one per HTTP exchange, so retries count each. */
export interface RequestRecord {
  /** get, list, watch, create, update, patch, delete, discovery, openapi, version. */
  readonly verb: string;
  /** `<group>/<kind>` of the resource (`<kind>` for core), "" for discovery, schemas and version. */
  readonly kind: string;
  /** HTTP status, 0 when there was no answer. */
  readonly code: number;
  /** From sending to the head of the answer. */
  readonly durationMs: number;
  /** The server's clock when it answered, as its Date header says; absent: it did not answer, or does not say. */
  readonly dateMs?: number;
}

/** Every member has a default; durations are in milliseconds. */
export interface KubeClientLimits {
  /** Requests per second towards one server, all callers together; 0 or less: no limit. Default 50. */
  readonly qps: number;
  /** Requests that may go out at once after a quiet time. Default twice `qps`. */
  readonly burst: number;
  /** Connections for calls; watches have their own. Default 32. */
  readonly connections: number;
  /** Whole time of a call, retries and waiting included. Default 30 s. */
  readonly deadlineMs: number;
  /** A watch on which no byte arrived for this long is dead. Servers send bookmarks about once a minute. Default 100 s. */
  readonly watchIdleMs: number;
  /** Attempts of a call that may be repeated. Default 5. */
  readonly attempts: number;
  /** Speak HTTP/2 for watches where a TLS server offers it: many watches on one connection. Default true. */
  readonly http2: boolean;
}

export interface KubeClientDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly userAgent: string;
  /** Runs exec credential plugins; by default they are children of this process. */
  readonly runCommand?: RunCommand;
  /** The only programs that may be run as credential plugins, word for word; undefined: any that the connection names. */
  readonly credentialPlugins?: readonly string[];
  readonly limits?: Partial<KubeClientLimits>;
  /** Nothing but GET leaves this process: every other method rejects with KubeReadOnlyError, through `impersonate` too. Default false. */
  readonly readOnly?: boolean;
  /** Called synchronously after each exchange; must not throw. */
  readonly onRequest?: (record: RequestRecord) => void;
}
