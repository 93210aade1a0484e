import type { Clock, RandomSource } from '#base';
import type { ClusterConnection } from '#model';
import type { Logger, Tracer } from '#telemetry';
import type { ByteLimits } from './bytes/byte-limits.ts';
import type { RunCommand } from './credentials/command-types.ts';
import type { ClientInstruments } from './instruments/client-instruments.ts';
import type { RequestVerb } from './instruments/request-facts.ts';
import type { RequestTransport } from './transport/http-types.ts';

/** One HTTP exchange and its result. Each retry counts as one. */
export interface RequestRecord {
  /** get, list, watch, create, update, patch, delete, discovery, openapi, review, version. */
  readonly verb: string;
  /**
   * `<group>/<kind>` of the resource (`<kind>` for core); '' for discovery, schemas, reviews and
   * version.
   */
  readonly kind: string;
  /** Path and query. */
  readonly path: string;
  /** `scheme://host[:port]` of the server. */
  readonly server: string;
  /** The verb as Argo CD's metrics name it: Create, Delete, Get, List, Patch, Update or Watch. */
  readonly requestVerb: RequestVerb;
  /** Plural name of the resource in the path; '' if it names none. */
  readonly resourceKind: string;
  /** Namespace in the path; '' without one. */
  readonly resourceNamespace: string;
  /** HTTP status; 0 if there was no response. */
  readonly code: number;
  /** From sending to the response headers. */
  readonly durationMs: number;
  /** The server's clock at the response, from its Date header; absent if there is none. */
  readonly dateMs?: number;
}

/** Every member has a default. Durations are in milliseconds. */
export interface KubeClientLimits {
  /**
   * Requests per second to one server, of all callers together; 0 or less means no limit. Default
   * 50.
   */
  readonly qps: number;
  /** Requests that may be sent at once after a quiet period. Default twice `qps`. */
  readonly burst: number;
  /** Connections for calls; watches have their own. 0 means no limit. Default 32. */
  readonly connections: number;
  /** Timeout of opening a TCP connection, or of reaching a proxy; 0: none. Default 10 s. */
  readonly connectMs: number;
  /** Timeout of the TLS handshake; 0: none. Default 10 s. */
  readonly tlsHandshakeMs: number;
  /**
   * Idle time before TCP probes: libuv probes every second and gives up after ten. Default 30 s.
   */
  readonly keepAliveMs: number;
  /** Idle time after which a connection for calls is closed; 0: never. Default 30 s. */
  readonly idleMs: number;
  /** Total time of a call, including retries and waits. Default 30 s. */
  readonly deadlineMs: number;
  /**
   * A watch without any byte for this long is dead. Servers send a bookmark about once a minute.
   * Default 100 s.
   */
  readonly watchIdleMs: number;
  /** Attempts of a repeatable call. Default 5. */
  readonly attempts: number;
  /** First delay before an attempt is repeated; doubles up to 10 s. Default 100 ms. */
  readonly retryMs: number;
  /** Timeout that servers are asked to apply to each call (`?timeout=`); 0: none. Default 0. */
  readonly serverTimeoutMs: number;
  /**
   * Use HTTP/2 for watches if a TLS server offers it: many watches on one connection. Default true.
   */
  readonly http2: boolean;
  /** Response size limits. Default: {@link defaultByteLimits}. */
  readonly bytes: ByteLimits;
}

export interface KubeClientDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly userAgent: string;
  /** Runs exec credential plugins; by default as child processes. */
  readonly runCommand?: RunCommand;
  /** The only programs allowed as credential plugins, by exact command; undefined allows any. */
  readonly credentialPlugins?: readonly string[];
  readonly limits?: Partial<KubeClientLimits>;
  /**
   * Sends only GET requests: all other methods reject with KubeReadOnlyError, also through
   * `impersonate`. Default false.
   */
  readonly readOnly?: boolean;
  /** Records a span for each call of traced work. Default: none. */
  readonly tracer?: Tracer;
  /** The `argocd_kubectl_*` metrics that this client fills. */
  readonly instruments?: ClientInstruments;
  /** Called synchronously after each exchange; must not throw. */
  readonly onRequest?: (record: RequestRecord) => void;
  /** Called synchronously after a 403 was read, with its message; must not throw. */
  readonly onForbidden?: (request: Pick<RequestRecord, 'verb' | 'kind' | 'path'>, message: string) => void;
  /** Opens the way to a server; over the network, except in tests. */
  readonly openTransport?: (connection: ClusterConnection) => RequestTransport;
}
