import { ConcurrencyLimiter, createMergePatch, defined, omit, Shutdown } from '#base';
import type { Clock, JsonObject } from '#base';
import type { DryRunOutcome, DryRunPair } from '#compare';
import { GuardedWriter, sendDryRun } from '#controller';
import type { WriterDeps, WriterGate } from '#controller';
import type { DiffRules } from '#diff';
import { findResource, isForbidden } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { ClusterSchemas, SchemaStore } from '#live';
import type { LiveSchemas } from '#live';
import { gkOf, jsonOf, versionOf } from '#model';
import type { KubeObject, ObjectName } from '#model';
import type { ApplyOptions, ApplyResult, DeleteOutcome } from '#sync';
import { silentLogger } from '#telemetry';
import type { OpenedSyncWriter } from './types.ts';

const maxParallelWrites = 10;
/** While kinds of the targets are not served. */
const rediscoveryMs = 1000;
/** How long the server may take to serve a kind whose definition was written. */
const establishMs = 5000;
const establishPauseMs = 100;
const definitionKind = 'CustomResourceDefinition';

export interface OpenWriterOptions {
  /** Every write becomes a dry run of the server. */
  readonly dryRun: boolean;
  readonly denied: (object: KubeObject, namespaced: boolean) => string | undefined;
  readonly gate: WriterGate | undefined;
  readonly fieldManager: string;
}

/**
 * The writer of the controller over one client, without ownership: it applies as kubectl does, or
 * server-side, deletes only the version that was read, and repeats a write after a conflict.
 */
export class OpenedWriter implements OpenedSyncWriter {
  readonly server: string;
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly #client: KubeClient;
  readonly #deps: WriterDeps;
  #writer: GuardedWriter;
  /** The same writer, for dry runs. */
  readonly #trial: GuardedWriter;
  readonly #limiter = new ConcurrencyLimiter(maxParallelWrites);
  readonly #schemas: ClusterSchemas;
  readonly #clock: Clock;
  #discovery: ApiDiscovery;
  #isClosed = false;
  #discoveredAt = Number.NEGATIVE_INFINITY;
  /** A CustomResourceDefinition was written since the last discovery. */
  #isStale = false;
  #definedAt = Number.NEGATIVE_INFINITY;
  /** A deleted definition is served for a moment: discoveries from before do not count. */
  #settlesAt = Number.NEGATIVE_INFINITY;

  constructor(client: KubeClient, discovery: ApiDiscovery, options: OpenWriterOptions, clock: Clock) {
    const { dryRun, denied, gate, fieldManager } = options;
    this.dryRun = dryRun;
    this.fieldManager = fieldManager;
    this.server = client.server;
    this.#client = client;
    this.#discovery = discovery;
    this.#clock = clock;
    this.#schemas = new ClusterSchemas({ client, store: new SchemaStore(), clock, logger: silentLogger });
    const deps: WriterDeps = {
      cluster: {
        discovery: () => this.#discovery,
        observe: ({ kind }) => {
          if (kind !== definitionKind) return;
          this.#isStale = true;
          this.#definedAt = clock.monotonic();
        },
      },
      client,
      fenced: (signal, send) => send({ signal, beforeSend: () => undefined }),
      denied,
      // Labels may name an owner: after a conflict, an object with other labels is left alone.
      appOf: ({ metadata }) => JSON.stringify(Object.entries(metadata.labels ?? {}).sort()),
      pace: {
        write: (signal, send) => this.#limiter.run(signal, send),
        read: (work) => work,
        during: (work) => work,
      },
      clock,
      dryRun,
      fieldManager,
      ...defined({ gate }),
    };
    this.#deps = deps;
    this.#writer = new GuardedWriter(deps);
    this.#trial = new GuardedWriter({ ...deps, dryRun: true });
  }

  get discovery(): ApiDiscovery {
    return this.#discovery;
  }

  /** @throws Shutdown after `close`, before each step of a sync */
  async refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void> {
    if (this.#isClosed)
      throw new Shutdown(`the writer of ${this.server} is closed: use it before close, or open another one`);
    const isServed = (): boolean => objects.every(this.#isServed);
    // The server serves a kind a moment after its definition was written.
    const mayAppear = (): boolean => this.#clock.monotonic() < this.#definedAt + establishMs;
    const isDue = this.#clock.monotonic() >= this.#discoveredAt + rediscoveryMs;
    const isCurrent = !this.#isStale && this.#discoveredAt >= this.#settlesAt;
    if (isCurrent && (isServed() || !(isDue || mayAppear()))) return;
    await this.#discover(signal);
    while (!isServed() && mayAppear()) {
      await this.#clock.sleep(establishPauseMs, signal);
      await this.#discover(signal);
    }
  }

  readonly #isServed = (object: ObjectName): boolean =>
    findResource(this.#discovery, gkOf(object), versionOf(object.apiVersion)) !== undefined;

  async #discover(signal: AbortSignal): Promise<void> {
    this.#isStale = false;
    this.#discoveredAt = this.#clock.monotonic();
    this.#discovery = await this.#client.discover({ signal });
  }

  /** Null also if the server does not serve the kind. */
  async get(object: KubeObject, signal: AbortSignal): Promise<KubeObject | null> {
    await this.refresh([], signal);
    // Its kind may have appeared just now: the next step knows its namespace.
    if (object.metadata.namespace === undefined && !this.#isServed(object)) return null;
    try {
      return await this.#writer.get(object, signal);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'UNKNOWN_KIND') return null;
      throw error;
    }
  }

  apply(target: KubeObject, live: KubeObject | null, how: ApplyOptions, signal: AbortSignal): Promise<ApplyResult> {
    return this.#writer.apply(target, live, how, signal);
  }

  create(object: KubeObject, signal: AbortSignal): Promise<ApplyResult> {
    return this.#writer.create(object, signal);
  }

  delete(
    live: KubeObject,
    propagation: 'Foreground' | 'Background' | 'Orphan',
    signal: AbortSignal,
  ): Promise<DeleteOutcome> {
    if (live.kind === definitionKind) {
      this.#settlesAt = this.#clock.monotonic() + establishMs;
      this.#definedAt = Number.NEGATIVE_INFINITY;
      // The former one remembers the kinds that it has discovered.
      this.#writer = new GuardedWriter(this.#deps);
    }
    return this.#writer.delete(live, propagation, signal);
  }

  patchMetadata(
    live: KubeObject,
    patch: { readonly finalizers: readonly string[] | null },
    signal: AbortSignal,
  ): Promise<KubeObject> {
    return this.#writer.patchMetadata(live, patch, signal);
  }

  async patchStatus(live: KubeObject, status: JsonObject, signal: AbortSignal): Promise<KubeObject> {
    const patch = createMergePatch((live['status'] ?? {}) as JsonObject, status);
    return patch === undefined ? live : this.#writer.patch(live, { status: patch }, signal);
  }

  /** The published schemas of these API versions, as far as they can be read. */
  schemas(apiVersions: readonly string[], signal: AbortSignal): Promise<LiveSchemas> {
    return this.#schemas.of(apiVersions, signal);
  }

  /** The outcome of the dry run of what a sync sends for a live object. */
  predict(
    pair: Pick<DryRunPair, 'target' | 'live' | 'method'>,
    rules: DiffRules,
    signal: AbortSignal,
  ): Promise<DryRunOutcome> {
    const pace = { write: <T>(own: AbortSignal, send: () => Promise<T>) => this.#limiter.run(own, send) };
    const access = { client: this.#client, pace, discovery: () => this.#discovery, rules };
    return sendDryRun(access, pair, signal);
  }

  /** The object that the server would create. Rejects if it refuses. */
  async predictCreation(target: KubeObject, how: ApplyOptions, signal: AbortSignal): Promise<KubeObject> {
    return (await this.#trial.apply(target, null, how, signal)).object;
  }

  /** Sends a change as a dry run, without regard to field owners. Rejects if it is refused. */
  async validate(before: KubeObject, after: KubeObject, signal: AbortSignal): Promise<void> {
    const body = createMergePatch(contentOf(before), contentOf(after));
    const resource = findResource(this.#discovery, gkOf(after), versionOf(after.apiVersion));
    if (body === undefined || resource === undefined) return;
    const { name = '', namespace = '' } = after.metadata;
    const options = { signal, fieldManager: this.fieldManager, dryRun: true };
    await this.#limiter.run(signal, () =>
      this.#client.patch(resource, { name, namespace }, { type: 'merge', body }, options),
    );
  }

  /** True also if it cannot be read: then only the sync finds out. */
  async hasNamespace(name: string, signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#writer.get({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, signal)) !== null;
    } catch (error) {
      if (isForbidden(error)) return true;
      throw error;
    }
  }

  denied(object: KubeObject, namespaced: boolean): string | undefined {
    return this.#writer.denied(object, namespaced);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#client.close();
  }
}

/** The part of an object that an apply can change. */
function contentOf({ metadata, ...object }: KubeObject): JsonObject {
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  const content = omit(jsonOf(object) as JsonObject, 'apiVersion', 'kind', 'status');
  return { ...content, metadata: jsonOf(defined({ labels, annotations, finalizers, ownerReferences })) };
}
