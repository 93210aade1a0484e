import type { Clock } from '#base';
import { withDeadline } from '#base';
import { apiResource, KubeApiError } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import type { Logger } from '#telemetry';
import type { LiveCapabilities } from '../types.ts';

/** Persists the last complete list of API versions of each cluster. */
export interface ApiVersionLists {
  /** Undefined if there is no usable list. Rejects only if `signal` aborts. */
  load(cluster: ClusterIdentity, signal: AbortSignal): Promise<readonly string[] | undefined>;
  save(cluster: ClusterIdentity, apiVersions: readonly string[]): Promise<void>;
}

/** Identifies a cluster, because an address may be reused for another cluster. */
export interface ClusterIdentity {
  readonly server: string;
  /** UID of the Namespace kube-system; "" if reading it is forbidden. */
  readonly uid: string;
}

export interface ClusterCapabilitiesDeps {
  readonly server: string;
  readonly client: Pick<KubeClient, 'get'>;
  /** If absent, lists are not persisted. */
  readonly lists?: ApiVersionLists | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const namespaces = apiResource('v1', 'Namespace', 'namespaces', 'cluster');
const identityDeadlineMs = 10_000;

/**
 * The API versions reported to charts. While discovery is incomplete, groups that it cannot read
 * are taken from the last complete list of this process or, if there is none, from disk. So a chart
 * that depends on an API renders the same while the API's server is down.
 *
 * A discovery is complete if no group failed and all defined kinds were discovered
 * (`UndiscoveredKinds`). Groups that a complete discovery does not list were removed with their
 * APIService or CustomResourceDefinitions; the complete list replaces the one before.
 */
export class ClusterCapabilities {
  readonly #deps: ClusterCapabilitiesDeps;
  #complete: readonly string[] | undefined;
  /** The list on disk. */
  #saved: readonly string[] | undefined;
  #isLoaded = false;
  #lastAnswer: { readonly of: readonly unknown[]; readonly answer: LiveCapabilities } | undefined;

  constructor(deps: ClusterCapabilitiesDeps) {
    this.#deps = deps;
  }

  /** Loads the list of an earlier process; must be called before the first discovery is used. */
  async load(signal: AbortSignal): Promise<void> {
    const { lists, server } = this.#deps;
    if (lists === undefined || this.#isLoaded) return;
    const uid = await this.#uid(signal);
    if (uid === undefined) return;
    const list = await lists.load({ server, uid }, signal);
    this.#isLoaded = true;
    this.#complete ??= list;
    this.#saved = list;
  }

  /**
   * Call it for each discovery and when an undiscovered kind is resolved. A complete list takes
   * effect at once. Resolves when it was persisted or could not be; never rejects.
   */
  async note(
    { apiVersions, failedGroups }: ApiDiscovery,
    doubt: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (failedGroups.size > 0 || doubt !== undefined || this.#complete === apiVersions) return;
    this.#complete = apiVersions;
    const { lists, server, logger } = this.#deps;
    if (lists === undefined || isSameList(this.#saved, apiVersions)) return;
    try {
      const uid = await this.#uid(signal);
      if (uid === undefined || this.#complete !== apiVersions) return;
      await lists.save({ server, uid }, apiVersions);
      this.#saved = apiVersions;
    } catch (error) {
      if (!signal.aborted) logger.warn('The list of API versions cannot be stored on disk', { error });
    }
  }

  /** Returns the same value until something changes. */
  of(discovery: ApiDiscovery, unsure: string | undefined): LiveCapabilities {
    const of = [discovery, unsure, this.#complete];
    if (this.#lastAnswer === undefined || of.some((one, i) => one !== this.#lastAnswer?.of[i]))
      this.#lastAnswer = { of, answer: capabilitiesOf(discovery, unsure, this.#complete) };
    return this.#lastAnswer.answer;
  }

  /** Undefined if the identity cannot be determined at the moment. */
  async #uid(signal: AbortSignal): Promise<string | undefined> {
    const { client, clock } = this.#deps;
    const limit = { clock, limitMs: identityDeadlineMs, what: 'the identity of the cluster' };
    try {
      const found = await withDeadline(signal, limit, (inner) =>
        client.get(namespaces, { namespace: '', name: 'kube-system' }, { signal: inner }),
      );
      return found.metadata.uid ?? '';
    } catch (error) {
      signal.throwIfAborted();
      return error instanceof KubeApiError && [401, 403, 404].includes(error.status) ? '' : undefined;
    }
  }
}

/** @param complete the last complete list, if any. */
export function capabilitiesOf(
  { apiVersions, failedGroups }: Pick<ApiDiscovery, 'apiVersions' | 'failedGroups'>,
  unsure: string | undefined,
  complete: readonly string[] | undefined,
): LiveCapabilities {
  const missing = new Map(failedGroups);
  if (unsure !== undefined && !missing.has('*')) missing.set('*', unsure);
  if (missing.size === 0) return { apiVersions, missing, hasCompleteList: true };
  const isUnread = (text: string): boolean => {
    const group = groupOfApiVersion(text);
    return missing.has(group) || (group !== '' && missing.has('*'));
  };
  const kept = (complete ?? []).filter(isUnread);
  const all = new Set([...apiVersions, ...kept]);
  return {
    apiVersions: all.size === apiVersions.length ? apiVersions : [...all].sort(),
    missing,
    hasCompleteList: complete !== undefined,
  };
}

/** For `group/version` or `group/version/Kind`; core has no group. */
function groupOfApiVersion(text: string): string {
  return /^v[0-9][a-z0-9]*(?:\/|$)/.test(text) ? '' : text.slice(0, Math.max(0, text.indexOf('/')));
}

function isSameList(a: readonly string[] | undefined, b: readonly string[]): boolean {
  return a?.length === b.length && a.every((text, i) => text === b[i]);
}
