import { mapLimit } from '#base';
import type { DryRunOutcome, DryRunPair } from '#compare';
import type { ClusterClients, KubeClient } from '#kube';
import { ClusterIgnored } from '#live';
import type { LiveCluster, LiveSchemas } from '#live';
import type { AppKey, ResourceKey } from '#model';
import type { SlotLoan } from '#queues';
import { dryRunOnly } from '../write/wrapped-clients.ts';
import { ClusterNotReady, ClusterStalled } from '../shared/errors.ts';
import type { KnownDryRun, AppMemories } from './memory.ts';
import { WritePace } from '../write/write-pace.ts';
import type { WriteSlots } from '../write/write-slots.ts';
import { sendDryRun } from './dry-run-sending.ts';

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
    const rules = request.schemas === undefined ? {} : { schemas: request.schemas.kinds };
    const access = { client, pace, discovery: () => request.cluster.discovery(), rules };
    const answers = await mapLimit(pairs, parallelDryRuns, async (pair) => {
      const id = pair.id === undefined ? undefined : `${server} ${request.user} ${pair.id}`;
      const known = before?.get(pair.key);
      if (known !== undefined && known.id === id) return { pair, id, outcome: known.outcome };
      if (this.#deps.slots.isStalled(server)) throw new ClusterStalled(server);
      return { pair, id, outcome: await sendDryRun(access, pair, signal) };
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
}
