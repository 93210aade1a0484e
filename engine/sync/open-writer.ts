import { ConcurrencyLimiter, createMergePatch, defined } from '#base';
import type { Clock, JsonObject } from '#base';
import { GuardedWriter } from '#controller';
import type { WriterGate } from '#controller';
import { findResource } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { gkOf, versionOf } from '#model';
import type { KubeObject, ObjectName } from '#model';
import type { ApplyOptions, ApplyResult, DeleteOutcome } from '#sync';
import type { OpenedSyncWriter } from './types.ts';

const maxParallelWrites = 10;
/** While kinds of the targets are not served. */
const rediscoveryMs = 1000;

export interface OpenWriterOptions {
  /** Every write becomes a dry run of the server. */
  readonly dryRun: boolean;
  readonly denied: (object: KubeObject, namespaced: boolean) => string | undefined;
  readonly gate: WriterGate | undefined;
}

/**
 * The writer of the controller over one client, without ownership: it applies as kubectl does, or
 * server-side, deletes only the version that was read, and repeats a write after a conflict.
 */
export class OpenedWriter implements OpenedSyncWriter {
  readonly server: string;
  readonly dryRun: boolean;
  readonly #client: KubeClient;
  readonly #writer: GuardedWriter;
  readonly #clock: Clock;
  #discovery: ApiDiscovery;
  #discoveredAt = Number.NEGATIVE_INFINITY;
  /** A CustomResourceDefinition was written since the last discovery. */
  #isStale = false;

  constructor(client: KubeClient, discovery: ApiDiscovery, options: OpenWriterOptions, clock: Clock) {
    const { dryRun, denied, gate } = options;
    const limiter = new ConcurrencyLimiter(maxParallelWrites);
    this.dryRun = dryRun;
    this.server = client.server;
    this.#client = client;
    this.#discovery = discovery;
    this.#clock = clock;
    this.#writer = new GuardedWriter({
      cluster: {
        discovery: () => this.#discovery,
        observe: ({ kind }) => (this.#isStale ||= kind === 'CustomResourceDefinition'),
      },
      client,
      fenced: (signal, send) => send({ signal, beforeSend: () => undefined }),
      denied,
      appOf: () => undefined,
      pace: {
        write: (signal, send) => limiter.run(signal, send),
        read: (work) => work,
        during: (work) => work,
      },
      clock,
      dryRun,
      ...defined({ gate }),
    });
  }

  get discovery(): ApiDiscovery {
    return this.#discovery;
  }

  async refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void> {
    const isKnown = (object: ObjectName): boolean =>
      findResource(this.#discovery, gkOf(object), versionOf(object.apiVersion)) !== undefined;
    const now = this.#clock.monotonic();
    const isDue = now >= this.#discoveredAt + rediscoveryMs;
    if (!this.#isStale && (!isDue || objects.every(isKnown))) return;
    this.#isStale = false;
    this.#discoveredAt = now;
    this.#discovery = await this.#client.discover({ signal });
  }

  /** Null also if the server does not serve the kind. */
  async get(object: KubeObject, signal: AbortSignal): Promise<KubeObject | null> {
    await this.refresh([], signal);
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

  denied(object: KubeObject, namespaced: boolean): string | undefined {
    return this.#writer.denied(object, namespaced);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
