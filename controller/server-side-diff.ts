import { isAbort, mapLimit, messageOf } from '#base';
import type { Limiter } from '#base';
import type { DryRunOutcome, DryRunPair } from '#compare';
import { dryRunTarget } from '#diff';
import { findResource } from '#kube';
import type { ClusterClients, KubeClient } from '#kube';
import { ClusterIgnored } from '#live';
import type { LiveCluster } from '#live';
import { fieldManager, groupOf, versionOf } from '#model';
import type { AppKey, ResourceKey } from '#model';
import { dryRunOnly } from './dry-run-client.ts';
import { ClusterNotReady } from './errors.ts';
import type { KnownDryRun, Memories } from './memory.ts';

/** How many dry runs of one application run at once; `--kubectl-parallelism-limit` holds for all of them together. */
const parallel = 10;

export interface DryRunsDeps {
  readonly clients: ClusterClients;
  /** What is known already, by application. */
  readonly known: Memories['dryRuns'];
  /** --kubectl-parallelism-limit, of the whole process. */
  readonly limiter: Limiter;
}

/** For whom, where, and as whom the API server is asked. */
export interface DryRunRequest {
  readonly key: AppKey;
  readonly cluster: LiveCluster;
  /** "": as ourselves. */
  readonly user: string;
  /** Everything is asked anew, whatever is known (a hard refresh). */
  readonly noCache: boolean;
}

/**
 * What API servers say to dry-run applies (Argo CD: gitops-engine server-side dry runs, with force and our field manager). One request for each
 * resource whose target or live object has changed since the last answer, none for the others; a refusal is asked again, because what refuses (a
 * webhook, a quota) may think otherwise the next time.
 *
 * It writes nothing: the client that it works with turns every write into a dry run. So it needs no right to write for the application, and is fenced by
 * nothing. It is a PATCH all the same: whoever may only read (`run --shadow`) compares without it.
 */
export class DryRuns {
  readonly #deps: DryRunsDeps;

  constructor(deps: DryRunsDeps) {
    this.#deps = deps;
  }

  /**
   * The outcome of each pair. Answers for resources that are not among them are forgotten.
   * @throws ClusterNotReady, and the abort reason.
   */
  async outcomes(
    request: DryRunRequest,
    pairs: readonly DryRunPair[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<ResourceKey, DryRunOutcome>> {
    const before = request.noCache ? undefined : this.#deps.known.get(request.key);
    const client = this.#client(request);
    const answers = await mapLimit(pairs, parallel, async (pair) => {
      const id = pair.id === undefined ? undefined : `${request.cluster.server} ${request.user} ${pair.id}`;
      const known = before?.get(pair.key);
      if (known !== undefined && known.id === id) return { pair, id, outcome: known.outcome };
      return { pair, id, outcome: await this.#ask(client, request.cluster, pair, signal) };
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

  async #ask(client: KubeClient, cluster: LiveCluster, pair: DryRunPair, signal: AbortSignal): Promise<DryRunOutcome> {
    const { target } = pair;
    const gk = { group: groupOf(target.apiVersion), kind: target.kind };
    const resource = findResource(cluster.discovery(), gk, versionOf(target.apiVersion));
    if (resource === undefined) return { refused: 'the server could not find the requested resource' };
    const { name = '', namespace = '' } = target.metadata;
    try {
      const predicted = await this.#deps.limiter.run(signal, () =>
        client.patch(
          resource,
          { namespace: resource.namespaced ? namespace : '', name },
          { type: 'apply', body: dryRunTarget(target) },
          { signal, fieldManager, force: true, fieldValidation: 'Ignore' },
        ),
      );
      return { predicted };
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      return { refused: messageOf(error) };
    }
  }
}
