import { isAbort, mapLimit, messageOf } from '#base';
import type { DryRunOutcome, DryRunPair } from '#compare';
import { dryRunRequest } from '#diff';
import { findResource, isConflict, KubeApiError } from '#kube';
import type { ClusterClients, KubeClient, WriteOptions } from '#kube';
import { ClusterIgnored } from '#live';
import type { LiveCluster, LiveSchemas } from '#live';
import { fieldManager, gkOf, versionOf } from '#model';
import type { ApiResource, AppKey, KubeObject, ResourceKey } from '#model';
import type { SlotLoan } from '#queues';
import { needsVersion } from '../write/apply-rules.ts';
import { dryRunOnly } from '../write/dry-run-client.ts';
import { ClusterNotReady, ClusterStalled } from '../shared/errors.ts';
import type { KnownDryRun, AppMemories } from './memory.ts';
import { WritePace } from '../write/write-pace.ts';
import type { WriteSlots } from '../write/write-slots.ts';

/**
 * Concurrent dry runs of one application; `--kubectl-parallelism-limit` bounds all of them
 * together.
 */
const parallelDryRuns = 10;

export interface DryRunsDeps {
  readonly clients: ClusterClients;
  /** Cached results by application. */
  readonly known: AppMemories['dryRuns'];
  /** Dry runs count as writes. */
  readonly slots: WriteSlots;
}

/** The application, cluster and identity of a set of dry runs. */
export interface DryRunRequest {
  readonly key: AppKey;
  readonly cluster: LiveCluster;
  /** Impersonated user; "": our own identity. */
  readonly user: string;
  /** False: ignores cached results (a hard refresh). */
  readonly useKnown: boolean;
  /** Lends the worker slot of the pass while the cluster is slow. */
  readonly loan: SlotLoan;
  readonly schemas: LiveSchemas | undefined;
}

/** Client and rate limit for one cluster. */
interface DryRunAccess {
  readonly client: KubeClient;
  readonly pace: WritePace;
  readonly cluster: LiveCluster;
  readonly schemas: LiveSchemas | undefined;
}

/**
 * Dry-runs the requests that a sync would send; Argo CD (gitops-engine) dry-runs a server-side
 * apply, also for objects that are sent in another way, and then misses what Git dropped.
 * Sends one request for each resource whose target or live object changed; refusals are not cached,
 * because a webhook or quota may decide differently next time.
 *
 * Writes nothing: its client turns every write into a dry run, so it needs neither ownership nor a
 * fence. It still sends write requests, so read-only processes (`run --shadow`) do without it.
 */
export class DryRuns {
  readonly #deps: DryRunsDeps;

  constructor(deps: DryRunsDeps) {
    this.#deps = deps;
  }

  /**
   * The outcome of each pair. Drops cached results of all other resources.
   * @throws ClusterNotReady, also when the cluster is stalled and a request is needed; the abort
   * reason.
   */
  async outcomes(
    request: DryRunRequest,
    pairs: readonly DryRunPair[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<ResourceKey, DryRunOutcome>> {
    const before = request.useKnown ? this.#deps.known.get(request.key) : undefined;
    const client = this.#client(request);
    const { server } = request.cluster;
    const pace = new WritePace(this.#deps.slots, server, request.loan);
    const answers = await mapLimit(pairs, parallelDryRuns, async (pair) => {
      const id = pair.id === undefined ? undefined : `${server} ${request.user} ${pair.id}`;
      const known = before?.get(pair.key);
      if (known !== undefined && known.id === id) return { pair, id, outcome: known.outcome };
      if (this.#deps.slots.isStalled(server)) throw new ClusterStalled(server);
      return { pair, id, outcome: await this.#ask({ client, pace, ...request }, pair, signal) };
    });
    const kept = answers.flatMap(({ pair, id, outcome }): [ResourceKey, KnownDryRun][] =>
      id === undefined || 'refused' in outcome ? [] : [[pair.key, { id, outcome }]],
    );
    this.#deps.known.set(request.key, new Map(kept));
    return new Map(answers.map(({ pair, outcome }) => [pair.key, outcome]));
  }

  #client({ cluster, user }: DryRunRequest): KubeClient {
    const client = this.#deps.clients.of(cluster.server);
    if (client === undefined) throw new ClusterNotReady(cluster.server, new ClusterIgnored(cluster.server));
    return dryRunOnly(user === '' ? client : client.impersonate(user));
  }

  async #ask(
    { client, pace, cluster, schemas }: DryRunAccess,
    { target, live, method }: DryRunPair,
    signal: AbortSignal,
  ): Promise<DryRunOutcome> {
    const request = dryRunRequest(target, live, method, schemas === undefined ? {} : { schemas: schemas.kinds });
    if (request === undefined) return { predicted: live };
    const resource = findResource(cluster.discovery(), gkOf(target), versionOf(target.apiVersion));
    if (resource === undefined) return { refused: 'the server could not find the requested resource' };
    const { name = '', namespace = '' } = target.metadata;
    const named = { namespace: resource.namespaced ? namespace : '', name };
    const options = { signal, fieldManager, fieldValidation: 'Ignore' } as const;
    try {
      const predicted = await pace.write(signal, () => {
        if (request.verb === 'replace') return replaceAnyVersion(client, resource, request.body, options);
        const patch = request.verb === 'patch' ? request : ({ type: 'apply', body: request.body } as const);
        return client.patch(resource, named, patch, request.verb === 'patch' ? options : { ...options, force: true });
      });
      return { predicted };
    } catch (error) {
      if (signal.aborted || isAbort(error) || error instanceof ClusterNotReady) throw error;
      return { refused: refusalText(messageOf(error)), final: isFinalRefusal(error) };
    }
  }
}

const maxReplaceAttempts = 3;

/** Replaces whatever version is stored; some kinds require the current one. */
async function replaceAnyVersion(
  client: KubeClient,
  resource: ApiResource,
  body: KubeObject,
  options: WriteOptions,
): Promise<KubeObject> {
  let sent = body;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.replace(resource, sent, options);
    } catch (error) {
      if (attempt === maxReplaceAttempts || !(isConflict(error) || needsVersion(error))) throw error;
      const { name = '', namespace = '' } = body.metadata;
      const { metadata } = await client.get(resource, { name, namespace }, { signal: options.signal });
      const { resourceVersion = '' } = metadata;
      sent = { ...body, metadata: { ...body.metadata, resourceVersion } };
    }
  }
}

/** A refusal for what the request contains, which a sync will get too. */
function isFinalRefusal(error: unknown): boolean {
  return error instanceof KubeApiError && (error.status === 400 || error.status === 422);
}

const maxQuotedLength = 60;
const quotedValue = /(Invalid value): (.+): (?=[^:]{1,200}$)/gmsu;

/** The server's reason without the whole struct that it quotes: long, or confidential. */
function refusalText(message: string): string {
  return message.replaceAll(quotedValue, (all: string, what: string, value: string) =>
    value.length > maxQuotedLength ? `${what}: ` : all,
  );
}
