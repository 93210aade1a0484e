import { valueAt, isObject, mapLimit } from '#base';
import type { Clock, Json } from '#base';
import { isForbidden, isNotFound, KubeApiError } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { apiVersionOf, jsonOf } from '#model';
import type { ApiResource, KubeObject, ResourceKey } from '#model';
import type { ClusterCache } from '../store/cluster-cache.ts';
import { failureOf } from './discovery.ts';

/** The watch of a defining kind. */
export interface DefinitionWatch {
  readonly resource: ApiResource;
  /** Wall time of the last complete list; undefined before the first one. */
  syncedAt(): number | undefined;
}

export interface UndiscoveredKindsDeps {
  readonly client: Pick<KubeClient, 'get' | 'list'>;
  readonly cache: ClusterCache;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Kinds whose objects define further kinds of the server. */
type DefiningKind = 'CustomResourceDefinition' | 'APIService';

const definingGroups: Readonly<Record<DefiningKind, string>> = {
  CustomResourceDefinition: 'apiextensions.k8s.io',
  APIService: 'apiregistration.k8s.io',
};

/** A definition whose kind is missing in discovery. */
interface KindDefinition {
  readonly definedIn: DefiningKind;
  /** The defining kind itself. */
  readonly resource: ApiResource;
  readonly name: string;
  /** First part of the name: `widgets` or `v1`. */
  readonly head: string;
  readonly group: string;
}

/** Deadline of a probe for an undiscovered kind. */
const probeDeadlineMs = 10_000;
/** After this time discovery is believed, except about APIServices that are not available. */
const maxGraceMs = 300_000;
/** A 403 may also mean that the kind is gone. Give RBAC a minute to load before believing it. */
const forbiddenGraceMs = 60_000;
/** The cache waits at most this long for undiscovered kinds before it counts as filled. */
const maxHoldMs = 15_000;
/**
 * If more kinds are undiscovered soon after the first discovery, the server has just started:
 * discover again instead of probing.
 */
const maxProbes = 20;
const startupMs = 20_000;
const parallelProbes = 10;

/**
 * Kinds that are defined in the cluster but missing in its first discovery. An API server that has
 * just started answers discovery before it has read its CustomResourceDefinitions and reached its
 * aggregated servers.
 *
 * For kinds that were discovered before, see {@link removalGraceMs}. For others, definitions are
 * compared with discovery once, after their first list (their names suffice: `widgets.example.com`,
 * `v1.example.com`), and missing kinds are probed at their own endpoint. Until that is resolved,
 * their group counts as failed: its objects are unknown instead of missing.
 */
export class UndiscoveredKinds {
  readonly #deps: UndiscoveredKindsDeps;
  readonly #compared = new Set<DefiningKind>();
  readonly #undiscovered = new Map<ResourceKey, KindDefinition>();
  /** Undiscovered kinds were found, and discovery has not run since. */
  #isUnchecked = false;
  /** Some undiscovered kinds may appear soon. */
  #isExpected = false;
  /** Request times of the first and the latest successful discovery. */
  #firstAt: number | undefined;
  #latestAt = 0;

  constructor(deps: UndiscoveredKindsDeps) {
    this.#deps = deps;
  }

  /** @param at when the successful discovery was requested. */
  discovered(at: number): void {
    this.#firstAt ??= at;
    this.#latestAt = at;
  }

  /**
   * Compares definitions with discovery once they have been listed. Returns true if undiscovered
   * kinds were found in groups that had not failed.
   */
  compare(watches: readonly DefinitionWatch[], discovery: ApiDiscovery): boolean {
    let hasNew = false;
    for (const watch of watches) {
      const { resource } = watch;
      const definedIn = definingKindOf(resource);
      if (definedIn === undefined || watch.syncedAt() === undefined || this.#compared.has(definedIn)) continue;
      this.#compared.add(definedIn);
      for (const { key, name } of this.#deps.cache.store.ofKind(resource.group, resource.kind)) {
        const dot = name.indexOf('.');
        const definition = { definedIn, resource, name, head: name.slice(0, dot), group: name.slice(dot + 1) };
        if (dot <= 0 || isDiscovered(definition, discovery)) continue;
        this.#undiscovered.set(key, definition);
        if (failureOf(discovery, definition.group) === undefined) hasNew = true;
      }
    }
    if (hasNew) {
      this.#isUnchecked = true;
      this.#isExpected = true;
    }
    return hasNew;
  }

  /**
   * Groups that this discovery reports incompletely, with the reason; without those that failed
   * anyway.
   */
  async incompleteGroups(found: ApiDiscovery, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    for (const [key, definition] of this.#undiscovered)
      if (isDiscovered(definition, found)) this.#undiscovered.delete(key);
    const open = [...this.#undiscovered].filter(([, { group }]) => failureOf(found, group) === undefined);
    const isStart = this.#ageMs() < startupMs && open.length > maxProbes;
    const reasons = new Map<string, string>();
    let isExpected = false;
    await mapLimit(open, parallelProbes, async ([key, definition]) => {
      const graceMs = isStart ? maxGraceMs : await this.#graceMs(definition, signal);
      if (this.#ageMs() >= graceMs) {
        this.#undiscovered.delete(key);
        return;
      }
      reasons.set(definition.group, reasonOf(definition));
      isExpected ||= Number.isFinite(graceMs);
    });
    this.#isExpected = isExpected;
    this.#isUnchecked = false;
    return reasons;
  }

  /** Whether the cache should wait for kinds that may appear soon. */
  delaysReadiness(): boolean {
    return this.#isExpected && this.#ageMs() < maxHoldMs;
  }

  /** Whether discovery should run again soon. */
  shouldRetrySoon(): boolean {
    return this.doubt() !== undefined || (this.#isExpected && this.#ageMs() < maxGraceMs);
  }

  /**
   * Why kinds outside of failed groups may be undiscovered. While the definitions cannot be read,
   * only a discovery a minute after the first one is trusted to be complete.
   */
  doubt(): string | undefined {
    if (this.#isUnchecked) return 'discovery does not list the kind and will run again shortly';
    const isRead = this.#compared.size === Object.keys(definingGroups).length;
    if (isRead || (this.#firstAt !== undefined && this.#latestAt - this.#firstAt >= forbiddenGraceMs)) return undefined;
    return 'discovery does not list the kind, but may be incomplete so soon after the first connection';
  }

  #ageMs(): number {
    const now = this.#deps.clock.monotonic();
    return now - (this.#firstAt ?? now);
  }

  /** Time after the first discovery during which the defined kind may still appear in discovery. */
  async #graceMs(definition: KindDefinition, signal: AbortSignal): Promise<number> {
    const { client } = this.#deps;
    const { resource, name, definedIn } = definition;
    let object: KubeObject;
    try {
      object = await client.get(resource, { namespace: '', name }, { signal, deadlineMs: probeDeadlineMs });
    } catch (error) {
      signal.throwIfAborted();
      if (isNotFound(error)) return 0;
      return isForbidden(error) ? forbiddenGraceMs : maxGraceMs;
    }
    if (definedIn === 'APIService') return apiServiceGraceMs(jsonOf(object));
    const defined = definedBy(jsonOf(object), definition);
    return defined === undefined ? 0 : removalGraceMs(client, defined, undefined, signal);
  }
}

/**
 * Returns how long to doubt a discovery that no longer lists a kind. An API server that has just
 * started rejects requests for custom objects: with 403 until it has read its roles, with 503 until
 * it has read their definitions. Only a 404 or 405 of the kind's own endpoint proves the removal.
 */
export async function removalGraceMs(
  client: Pick<KubeClient, 'list'>,
  resource: ApiResource,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<number> {
  const scope = namespace === undefined ? {} : { namespace };
  try {
    await client.list(resource, { ...scope, limit: 1, deadlineMs: probeDeadlineMs, signal });
    return maxGraceMs;
  } catch (error) {
    signal.throwIfAborted();
    if (isForbidden(error)) return forbiddenGraceMs;
    return error instanceof KubeApiError && [404, 405].includes(error.status) ? 0 : maxGraceMs;
  }
}

function definingKindOf({ group, kind }: ApiResource): DefiningKind | undefined {
  return (Object.keys(definingGroups) as DefiningKind[]).find(
    (definedIn) => definedIn === kind && definingGroups[definedIn] === group,
  );
}

function isDiscovered({ definedIn, head, group }: KindDefinition, { served }: Pick<ApiDiscovery, 'served'>): boolean {
  if (definedIn === 'CustomResourceDefinition')
    return served.some((kind) => kind.group === group && kind.resource === head);
  return served.some((kind) => kind.group === group && kind.version === head);
}

function reasonOf({ definedIn, name, group, head }: KindDefinition): string {
  const what = definedIn === 'APIService' ? apiVersionOf(group, head) : name;
  return `discovery does not list ${what}, but ${definedIn} ${name} exists`;
}

/**
 * The API server itself serves an APIService without a service: built-in kinds, or CRDs, which are
 * compared separately. While a service is unavailable, discovery proves nothing about its kinds.
 */
function apiServiceGraceMs(object: Json): number {
  if (!isObject(valueAt(object, 'spec', 'service'))) return 0;
  return hasCondition(object, 'Available') ? forbiddenGraceMs : Number.POSITIVE_INFINITY;
}

/** The kind of an established CustomResourceDefinition; undefined if it serves none. */
function definedBy(object: Json, { group, head }: KindDefinition): ApiResource | undefined {
  const versions = valueAt(object, 'spec', 'versions');
  const served = (Array.isArray(versions) ? (versions as readonly Json[]) : []).find(
    (version) => valueAt(version, 'served') === true,
  );
  const [version, kind] = [valueAt(served ?? null, 'name'), valueAt(object, 'spec', 'names', 'kind')];
  if (typeof version !== 'string' || typeof kind !== 'string' || !hasCondition(object, 'Established')) return undefined;
  const namespaced = valueAt(object, 'spec', 'scope') === 'Namespaced';
  return { group, version, kind, resource: head, namespaced, verbs: ['list'], subresources: [], shortNames: [] };
}

function hasCondition(object: Json, type: string): boolean {
  const conditions = valueAt(object, 'status', 'conditions');
  return (
    Array.isArray(conditions) &&
    (conditions as readonly Json[]).some((one) => valueAt(one, 'type') === type && valueAt(one, 'status') === 'True')
  );
}
