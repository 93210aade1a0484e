import { hashJson, isAbort, withDeadline } from '#base';
import type { Clock } from '#base';
import { readOpenApi } from '#diff';
import type { GroupVersionSchemas, KindSchema } from '#diff';
import { openApiPath, SingleFlight } from '#kube';
import type { KubeClient } from '#kube';
import type { Logger } from '#telemetry';
import type { LiveSchemas } from '../types.ts';

/** A comparison waits at most this long for schemas, because it also works without them. */
const readDeadlineMs = 10_000;
/** Failed reads are not retried earlier. */
const retryDelayMs = 60_000;
/** The index is read again after this time, because the server may have been upgraded. */
const maxAgeMs = 600_000;
/** Servers take this long to publish the schema of an accepted CRD. */
const publishDelayMs = 10_000;

/**
 * Schemas of all clusters by the hash of their document, because clusters of the same version
 * publish the same. Held weakly, so a schema is released with the last cluster that uses it. Not
 * keyed by the server's hash: a malicious server could use another's hash to change how all
 * clusters are compared.
 */
export class SchemaStore {
  readonly #byHash = new Map<string, WeakRef<GroupVersionSchemas>>();

  get(hash: string): GroupVersionSchemas | undefined {
    return this.#byHash.get(hash)?.deref();
  }

  put(hash: string, schemas: GroupVersionSchemas): void {
    for (const [key, held] of this.#byHash) if (held.deref() === undefined) this.#byHash.delete(key);
    this.#byHash.set(hash, new WeakRef(schemas));
  }
}

export interface ClusterSchemasDeps {
  readonly client: Pick<KubeClient, 'openApiIndex' | 'openApiDocument'>;
  readonly store: SchemaStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface SchemaDocument {
  /** The hash given by the server. */
  readonly hash: string;
  /** Hash of the content. */
  readonly content: string;
  readonly kinds: GroupVersionSchemas;
}

/** The documents of a server by path, with their hashes. */
interface SchemaIndex {
  readonly hashes: ReadonlyMap<string, string>;
  readonly readAt: number;
}

/**
 * The OpenAPI v3 schemas of one cluster, read on demand: a small index, and a document for each
 * group version needed. The index is read again after a change of a CRD or APIService and after ten
 * minutes, a document only if its hash has changed.
 */
export class ClusterSchemas {
  readonly #deps: ClusterSchemasDeps;
  readonly #reading = new SingleFlight<SchemaIndex | undefined>();
  readonly #fetching = new Map<string, SingleFlight<SchemaDocument | undefined>>();
  readonly #known = new Map<string, SchemaDocument>();
  /** Times of failed reads by path; "" is the index. */
  readonly #failed = new Map<string, number>();
  #index: SchemaIndex | undefined;
  #changedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: ClusterSchemasDeps) {
    this.#deps = deps;
  }

  /** A definition has changed, so the server may publish other schemas soon. */
  noteDefinitionChange(): void {
    this.#changedAt = this.#deps.clock.monotonic();
  }

  /** The available schemas of some group versions. Rejects only if `signal` aborts. */
  async of(apiVersions: readonly string[], signal: AbortSignal): Promise<LiveSchemas> {
    const index = this.#isStale() ? await this.#reading.run(signal, (inner) => this.#readIndex(inner)) : this.#index;
    const kinds = new Map<string, KindSchema>();
    const versions: string[] = [];
    for (const path of [...new Set(apiVersions)].sort().map(openApiPath)) {
      const hash = index?.hashes.get(path);
      const found = hash === undefined ? undefined : await this.#document(path, hash, signal);
      if (found === undefined) continue;
      versions.push(`${path} ${found.content}`);
      for (const [kind, schema] of found.kinds) kinds.set(kind, schema);
    }
    return { version: versions.join('\n'), kinds };
  }

  #isStale(): boolean {
    const now = this.#deps.clock.monotonic();
    if (this.#hasFailed('', now)) return false;
    const readAt = this.#index?.readAt ?? Number.NEGATIVE_INFINITY;
    const settledAt = this.#changedAt + publishDelayMs;
    return readAt <= this.#changedAt || (readAt < settledAt && now >= settledAt) || now - readAt > maxAgeMs;
  }

  async #readIndex(signal: AbortSignal): Promise<SchemaIndex | undefined> {
    const readAt = this.#deps.clock.monotonic();
    const hashes = await this.#read('', signal, (inner) => this.#deps.client.openApiIndex({ signal: inner }));
    if (hashes !== undefined) this.#index = { hashes, readAt };
    return this.#index;
  }

  async #document(path: string, hash: string, signal: AbortSignal): Promise<SchemaDocument | undefined> {
    const known = this.#known.get(path);
    if (known?.hash === hash || this.#hasFailed(path, this.#deps.clock.monotonic())) return known;
    const flight = this.#fetching.get(path) ?? new SingleFlight();
    this.#fetching.set(path, flight);
    const found = await flight.run(signal, (inner) => this.#fetch(path, hash, inner));
    // An outdated schema is better than none.
    if (found === undefined) return known;
    this.#known.set(path, found);
    return found;
  }

  #fetch(path: string, hash: string, signal: AbortSignal): Promise<SchemaDocument | undefined> {
    const { client, store } = this.#deps;
    return this.#read(path, signal, async (inner) => {
      const document = await client.openApiDocument(path, hash, { signal: inner });
      const content = hashJson(document);
      const kinds = store.get(content) ?? readOpenApi(document);
      store.put(content, kinds);
      return { hash, content, kinds };
    });
  }

  /** Undefined on failure, which is remembered so that not every pass retries. */
  async #read<T>(path: string, signal: AbortSignal, get: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const { clock, logger } = this.#deps;
    try {
      const found = await withDeadline(
        signal,
        { clock, limitMs: readDeadlineMs, what: `the OpenAPI schema ${path}` },
        get,
      );
      this.#failed.delete(path);
      return found;
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      this.#failed.set(path, clock.monotonic());
      logger.warn('Schemas cannot be read; comparing objects without them', { path, error });
      return undefined;
    }
  }

  #hasFailed(path: string, now: number): boolean {
    const at = this.#failed.get(path);
    return at !== undefined && now - at < retryDelayMs;
  }
}
