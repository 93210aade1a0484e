import { hashJson, isAbort, withDeadline } from '#base';
import type { Clock } from '#base';
import { readOpenApi } from '#diff';
import type { GroupVersionSchemas, KindSchema } from '#diff';
import { SingleFlight } from '#kube';
import type { KubeClient } from '#kube';
import type { Logger } from '#telemetry';
import type { LiveSchemas } from './types.ts';

/** A pass waits no longer than this for schemas: it can be compared without them. */
const limitMs = 10_000;
/** What could not be read is asked for again after this time. */
const retryMs = 60_000;
/** A server may have been upgraded. */
const maxAgeMs = 600_000;
/** How long servers take to publish the schema of a CRD that they have accepted. */
const settleMs = 10_000;

/**
 * Schemas that were read, of all clusters, by the hash of the document: clusters of one version publish the same. Held weakly: a schema goes with
 * the last cluster that uses it. Not by the hash that a server gives: one that gives another's would decide how all clusters are compared.
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

interface Document {
  /** As the server names it. */
  readonly hash: string;
  /** Of what was read. */
  readonly content: string;
  readonly kinds: GroupVersionSchemas;
}

/** Which document of which hash a server has, and when it said so. */
interface Index {
  readonly hashes: ReadonlyMap<string, string>;
  readonly readAt: number;
}

/**
 * The OpenAPI v3 schemas of one cluster, read when they are first asked for: one small index, and one document of each group version that is
 * needed. Both are read again only when a CRD or an APIService has changed, or after ten minutes, and a document only when its hash is another.
 */
export class ClusterSchemas {
  readonly #deps: ClusterSchemasDeps;
  readonly #reading = new SingleFlight<Index | undefined>();
  readonly #fetching = new Map<string, SingleFlight<Document | undefined>>();
  readonly #known = new Map<string, Document>();
  /** When something could not be read, by its path; "" is the index. */
  readonly #failed = new Map<string, number>();
  #index: Index | undefined;
  #changedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: ClusterSchemasDeps) {
    this.#deps = deps;
  }

  /** To be told when the server may publish something else soon. */
  changed(): void {
    this.#changedAt = this.#deps.clock.monotonic();
  }

  /** The schemas of some group versions, as far as they can be had. Throws the abort reason only. */
  async of(apiVersions: readonly string[], signal: AbortSignal): Promise<LiveSchemas> {
    const index = this.#isStale() ? await this.#reading.run(signal, (inner) => this.#readIndex(inner)) : this.#index;
    const kinds = new Map<string, KindSchema>();
    const versions: string[] = [];
    for (const path of [...new Set(apiVersions)].sort().map(pathOf)) {
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
    const settledAt = this.#changedAt + settleMs;
    return readAt <= this.#changedAt || (readAt < settledAt && now >= settledAt) || now - readAt > maxAgeMs;
  }

  async #readIndex(signal: AbortSignal): Promise<Index | undefined> {
    const readAt = this.#deps.clock.monotonic();
    const hashes = await this.#read('', signal, (inner) => this.#deps.client.openApiIndex({ signal: inner }));
    if (hashes !== undefined) this.#index = { hashes, readAt };
    return this.#index;
  }

  async #document(path: string, hash: string, signal: AbortSignal): Promise<Document | undefined> {
    const known = this.#known.get(path);
    if (known?.hash === hash || this.#hasFailed(path, this.#deps.clock.monotonic())) return known;
    const flight = this.#fetching.get(path) ?? new SingleFlight();
    this.#fetching.set(path, flight);
    const found = await flight.run(signal, (inner) => this.#fetch(path, hash, inner));
    // What it was before is nearer to the truth than nothing.
    if (found === undefined) return known;
    this.#known.set(path, found);
    return found;
  }

  #fetch(path: string, hash: string, signal: AbortSignal): Promise<Document | undefined> {
    const { client, store } = this.#deps;
    return this.#read(path, signal, async (inner) => {
      const document = await client.openApiDocument(path, hash, { signal: inner });
      const content = hashJson(document);
      const kinds = store.get(content) ?? readOpenApi(document);
      store.put(content, kinds);
      return { hash, content, kinds };
    });
  }

  /** Undefined when it cannot be read: noted, so that it is not asked for again by every pass. */
  async #read<T>(path: string, signal: AbortSignal, get: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const { clock, logger } = this.#deps;
    try {
      const found = await withDeadline(signal, { clock, limitMs, what: `the OpenAPI schema ${path}` }, get);
      this.#failed.delete(path);
      return found;
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      this.#failed.set(path, clock.monotonic());
      logger.warn('Schemas cannot be read: objects are compared by what is known without them', { path, error });
      return undefined;
    }
  }

  #hasFailed(path: string, now: number): boolean {
    const at = this.#failed.get(path);
    return at !== undefined && now - at < retryMs;
  }
}

/** As the index of the server names a group version. */
function pathOf(apiVersion: string): string {
  return apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
}
