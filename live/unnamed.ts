import { at, isObject, mapLimit } from '#base';
import type { Clock, Json } from '#base';
import { isForbidden, isNotFound, KubeApiError } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { apiVersionOf, jsonOf } from '#model';
import type { ApiResource, KubeObject, ResourceKey } from '#model';
import type { ClusterCache } from './cluster-cache.ts';
import { failureOf } from './discovery.ts';
import type { KindWatch } from './kind-watch.ts';

export interface UnnamedDeps {
  readonly client: Pick<KubeClient, 'get' | 'list'>;
  readonly cache: ClusterCache;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** What says that a server has kinds of its own, or of another server behind it. */
type Definer = 'CustomResourceDefinition' | 'APIService';

const definers: Readonly<Record<Definer, string>> = {
  CustomResourceDefinition: 'apiextensions.k8s.io',
  APIService: 'apiregistration.k8s.io',
};

/** One of them that discovery does not show the effect of. */
interface Definition {
  readonly definer: Definer;
  /** Of the kind of the definition. */
  readonly resource: ApiResource;
  readonly name: string;
  /** `widgets` or `v1`: what the name begins with. */
  readonly head: string;
  readonly group: string;
}

/** To ask whether a kind is served that discovery does not name. */
const lookDeadlineMs = 10_000;
/** After so long discovery is right, whatever is answered. */
const longestDoubtMs = 300_000;
/** Refused is also what may not be listed at all, and is gone; a server that has just started has read its roles by then. */
const longestRefusalMs = 60_000;
/** For so long a cache is not said to be filled because of kinds that are not named yet. */
const holdMs = 15_000;
/** A server that names this few of its kinds has just started: it is not asked for each of them, it is asked again. */
const mostAsked = 20;
const youngMs = 20_000;
const width = 10;

/**
 * What a server has that its first discovery does not name. An API server that has just started answers discovery before it has read all of its
 * CustomResourceDefinitions and reached all servers behind it. Of kinds that were named before {@link doubtOf} tells. For those that never were, the
 * definitions are compared with discovery once, when they have been listed for the first time (their names say enough: `widgets.example.com`, `v1.example.com`),
 * and what is not named is asked for at its own address. As long as that is open, the group counts as one that discovery could not read, which means
 * everywhere: not known, instead of not there.
 */
export class UnnamedKinds {
  readonly #deps: UnnamedDeps;
  readonly #looked = new Set<Definer>();
  readonly #open = new Map<ResourceKey, Definition>();
  /** Something is open that no discovery has been compared with since it was found. */
  #isUnchecked = false;
  /** Something is open that may be named in a moment. */
  #isExpected = false;
  /** When the first discovery that worked was asked for, and the latest. */
  #firstAt: number | undefined;
  #latestAt = 0;

  constructor(deps: UnnamedDeps) {
    this.#deps = deps;
  }

  /** A discovery has worked that was asked for at this time. */
  discovered(at: number): void {
    this.#firstAt ??= at;
    this.#latestAt = at;
  }

  /** Compares definitions with discovery as soon as they have been listed. True: discovery leaves something out that was not known to be open. */
  look(watches: readonly KindWatch[], discovery: ApiDiscovery): boolean {
    let isNews = false;
    for (const watch of watches) {
      const { resource } = watch;
      const definer = definerOf(resource);
      if (definer === undefined || watch.syncedAt() === undefined || this.#looked.has(definer)) continue;
      this.#looked.add(definer);
      for (const { key, name } of this.#deps.cache.store.ofKind(resource.group, resource.kind)) {
        const dot = name.indexOf('.');
        const definition = { definer, resource, name, head: name.slice(0, dot), group: name.slice(dot + 1) };
        if (dot <= 0 || isNamed(definition, discovery)) continue;
        this.#open.set(key, definition);
        if (failureOf(discovery, definition.group) === undefined) isNews = true;
      }
    }
    if (isNews) {
      this.#isUnchecked = true;
      this.#isExpected = true;
    }
    return isNews;
  }

  /** The groups of which this discovery does not name everything that there is, with the reason. Those that it could not read itself are not among them. */
  async groups(found: ApiDiscovery, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    for (const [key, definition] of this.#open) if (isNamed(definition, found)) this.#open.delete(key);
    const open = [...this.#open].filter(([, { group }]) => failureOf(found, group) === undefined);
    const isStart = this.#ageMs() < youngMs && open.length > mostAsked;
    const reasons = new Map<string, string>();
    let isExpected = false;
    await mapLimit(open, width, async ([key, definition]) => {
      const doubtMs = isStart ? longestDoubtMs : await this.#doubtOf(definition, signal);
      if (this.#ageMs() >= doubtMs) {
        this.#open.delete(key);
        return;
      }
      reasons.set(definition.group, reasonOf(definition));
      isExpected ||= Number.isFinite(doubtMs);
    });
    this.#isExpected = isExpected;
    this.#isUnchecked = false;
    return reasons;
  }

  /** What is not named yet may be named in a moment: whoever waits for the cache gets it then. */
  holds(): boolean {
    return this.#isExpected && this.#ageMs() < holdMs;
  }

  /** It is worth while to ask again soon. */
  isOpen(): boolean {
    return this.unsure() !== undefined || (this.#isExpected && this.#ageMs() < longestDoubtMs);
  }

  /**
   * Why a kind may be served although discovery does not name it, and no group says so. Where the definitions cannot be read, the first discovery of a server
   * is not believed in that, only one that was made a while later.
   */
  unsure(): string | undefined {
    if (this.#isUnchecked) return 'discovery does not name it, and is made again in a moment';
    const isRead = this.#looked.size === Object.keys(definers).length;
    if (isRead || (this.#firstAt !== undefined && this.#latestAt - this.#firstAt >= longestRefusalMs)) return undefined;
    return 'discovery does not name it, has been made only a moment ago, and may not name everything yet';
  }

  #ageMs(): number {
    const now = this.#deps.clock.monotonic();
    return now - (this.#firstAt ?? now);
  }

  /** For how long after the first discovery it is not believed that there is nothing behind this definition. */
  async #doubtOf(definition: Definition, signal: AbortSignal): Promise<number> {
    const { client } = this.#deps;
    const { resource, name, definer } = definition;
    let object: KubeObject;
    try {
      object = await client.get(resource, { namespace: '', name }, { signal, deadlineMs: lookDeadlineMs });
    } catch (error) {
      signal.throwIfAborted();
      if (isNotFound(error)) return 0;
      return isForbidden(error) ? longestRefusalMs : longestDoubtMs;
    }
    if (definer === 'APIService') return doubtOfService(jsonOf(object));
    const defined = definedBy(jsonOf(object), definition);
    return defined === undefined ? 0 : doubtOf(client, defined, undefined, signal);
  }
}

/**
 * For how long discovery is not believed that a kind is gone. An API server that has just started refuses requests for objects of custom kinds until it
 * has read their definitions (503; 403 before it has read its roles). Only what it says of a kind's own address counts: 404, there is none.
 */
export async function doubtOf(
  client: Pick<KubeClient, 'list'>,
  resource: ApiResource,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<number> {
  const scope = namespace === undefined ? {} : { namespace };
  try {
    await client.list(resource, { ...scope, limit: 1, deadlineMs: lookDeadlineMs, signal });
    return longestDoubtMs;
  } catch (error) {
    signal.throwIfAborted();
    if (isForbidden(error)) return longestRefusalMs;
    return error instanceof KubeApiError && [404, 405].includes(error.status) ? 0 : longestDoubtMs;
  }
}

function definerOf({ group, kind }: ApiResource): Definer | undefined {
  return (Object.keys(definers) as Definer[]).find((definer) => definer === kind && definers[definer] === group);
}

function isNamed({ definer, head, group }: Definition, { served }: Pick<ApiDiscovery, 'served'>): boolean {
  if (definer === 'CustomResourceDefinition')
    return served.some((kind) => kind.group === group && kind.resource === head);
  return served.some((kind) => kind.group === group && kind.version === head);
}

function reasonOf({ definer, name, group, head }: Definition): string {
  const what = definer === 'APIService' ? apiVersionOf(group, head) : name;
  return `discovery does not name ${what}, of which there is the ${definer} ${name}`;
}

/** Without a service behind it there is only what the definitions say. One that is not available says nothing of its kinds, for however long. */
function doubtOfService(object: Json): number {
  if (!isObject(at(object, 'spec', 'service'))) return 0;
  return hasCondition(object, 'Available') ? longestRefusalMs : Number.POSITIVE_INFINITY;
}

/** The kind of an established CustomResourceDefinition; undefined: it has none that is served. */
function definedBy(object: Json, { group, head }: Definition): ApiResource | undefined {
  const versions = at(object, 'spec', 'versions');
  const served = (Array.isArray(versions) ? (versions as readonly Json[]) : []).find(
    (version) => at(version, 'served') === true,
  );
  const [version, kind] = [at(served ?? null, 'name'), at(object, 'spec', 'names', 'kind')];
  if (typeof version !== 'string' || typeof kind !== 'string' || !hasCondition(object, 'Established')) return undefined;
  const namespaced = at(object, 'spec', 'scope') === 'Namespaced';
  return { group, version, kind, resource: head, namespaced, verbs: ['list'], subresources: [], shortNames: [] };
}

function hasCondition(object: Json, type: string): boolean {
  const conditions = at(object, 'status', 'conditions');
  return (
    Array.isArray(conditions) &&
    (conditions as readonly Json[]).some((one) => at(one, 'type') === type && at(one, 'status') === 'True')
  );
}
