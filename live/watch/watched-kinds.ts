import type { Runnable } from '#base';
import { findResource } from '#kube';
import type { ApiDiscovery, KubeClient, ListOptions, ListPage, ReflectorOptions } from '#kube';
import { apiVersionOf, keyOf, trackedApp } from '#model';
import type { ApiResource, Cluster, GroupKind, KubeObject, Settings } from '#model';
import { isPollable, kindText, planWatches } from '../discovery/discovery.ts';
import type { WatchPlan } from '../discovery/discovery.ts';
import { isExcluded } from '../discovery/exclusions.ts';
import { anyKind } from '../discovery/kinds-in-use.ts';
import type { KindsInUse } from '../discovery/kinds-in-use.ts';
import type { NodeStore } from '../store/node-store.ts';
import type { WatchTable } from './watch-table.ts';

export interface WatchedKindsDeps {
  readonly table: Pick<WatchTable, 'isWatched' | 'ofKind'>;
  readonly store: Pick<NodeStore, 'countOfKind'>;
  /** Undefined: all kinds are watched. */
  readonly inUse: KindsInUse | undefined;
}

/** The cluster and the settings, which limit the watches. */
interface WatchScope {
  readonly cluster: Cluster;
  readonly settings: Settings;
}

/** Decides which kinds of a cluster are watched. */
export class WatchedKinds {
  readonly #deps: WatchedKindsDeps;
  /** Kinds without the verb watch that Applications use. */
  readonly #polled = new Set<string>();
  #plannedVersion: number | undefined;

  constructor(deps: WatchedKindsDeps) {
    this.#deps = deps;
  }

  /** @param mayNarrow every watch was listed, or failed to be, and no kind is undiscovered. */
  plan(discovery: ApiDiscovery, scope: WatchScope, mayNarrow: boolean): ReadonlyMap<string, WatchPlan> {
    const plan = this.#planOf(discovery, scope);
    if (!mayNarrow || this.#deps.inUse?.mayNarrow !== true || discovery.failedGroups.has('*')) return plan;
    this.#narrow(discovery, new Set([...plan.values()].map(({ resource }) => kindText(resource))), this.#deps.inUse);
    return this.#planOf(discovery, scope);
  }

  #planOf(discovery: ApiDiscovery, { cluster, settings }: WatchScope): ReadonlyMap<string, WatchPlan> {
    const { inUse } = this.#deps;
    this.#plannedVersion = inUse?.version;
    const preferred = discovery.preferred.filter((kind) => inUse?.includes(kind) ?? true);
    const plan = planWatches({ ...discovery, preferred }, cluster, settings, this.#polled);
    if (inUse === undefined) return plan;
    const surveyed = ([key, each]: [string, WatchPlan]): readonly [string, WatchPlan] =>
      inUse.isSurveyed(each.resource) ? [`${key} tracked`, { ...each, onlyTracked: true }] : [key, each];
    return new Map([...plan].map(surveyed));
  }

  /** Adds kinds that an Application uses. Reports whether the plan may change. */
  use(kinds: readonly GroupKind[], discovery: ApiDiscovery): boolean {
    const { table, inUse } = this.#deps;
    inUse?.add(kinds);
    const before = this.#polled.size;
    for (const kind of kinds) {
      const resource = table.isWatched(kind) ? undefined : findResource(discovery, kind);
      if (resource !== undefined && isPollable(resource)) this.#polled.add(kindText(resource));
    }
    return this.#polled.size > before || inUse?.version !== this.#plannedVersion || inUse?.mayNarrow === true;
  }

  /**
   * Leaves out the kinds whose lists have no tracked object. Kinds without a list stay, and so do
   * groups that discovery cannot read: they may have one.
   */
  #narrow({ preferred, failedGroups }: ApiDiscovery, planned: ReadonlySet<string>, inUse: KindsInUse): void {
    const { table, store } = this.#deps;
    const kept: GroupKind[] = [...failedGroups.keys()].map((group) => ({ group, kind: anyKind }));
    let isOpen = kept.length > 0;
    for (const kind of preferred.filter((resource) => inUse.includes(resource) && isListable(resource))) {
      const states = table.ofKind(kind).map((watch) => watch.state().state);
      const isListed = states.length > 0 && states.every((state) => state === 'synced');
      if (isListed && store.countOfKind(kind.group, kind.kind) === 0) continue;
      kept.push(kind);
      const isStarting = states.length === 0 && planned.has(kindText(kind));
      isOpen ||= isStarting || states.some((state) => state === 'listing' || state === 'degraded');
    }
    inUse.narrow(kept, isOpen);
  }
}

type Reflect = (options: ReflectorOptions) => Runnable;

/**
 * Leaves out objects that no Application tracks: a cluster has many, and none of them is read. One
 * that was tracked before is not left out. A page is read whole only if it has others.
 */
export function reflectTracked(
  reflect: Reflect,
  store: Pick<NodeStore, 'get'>,
  settings: () => Pick<Settings, 'tracking'>,
): Reflect {
  const isTracked = (object: KubeObject): boolean =>
    trackedApp(object, settings().tracking) !== undefined || store.get(keyOf(object)) !== undefined;
  return ({ client, sink, ...options }) =>
    reflect({
      ...options,
      client: {
        server: client.server,
        list: (resource, query) => listTracked(client, isTracked, resource, query),
        watch: (resource, query) => client.watch(resource, query),
      },
      sink: {
        ...sink,
        startList: () => {
          const list = sink.startList();
          return { ...list, add: (items, version) => list.add(items.filter(isTracked), version) };
        },
        event: (type, object) => {
          if (isTracked(object)) sink.event(type, object);
        },
      },
    });
}

/** A page with whole objects, or none if its metadata shows that none of them is tracked. */
async function listTracked(
  client: Pick<KubeClient, 'list'>,
  isTracked: (object: KubeObject) => boolean,
  resource: ApiResource,
  query: ListOptions,
): Promise<ListPage> {
  const type = { apiVersion: apiVersionOf(resource.group, resource.version), kind: resource.kind };
  const found = { isTracked: false };
  const add = (items: readonly KubeObject[]): void => {
    found.isTracked ||= items.some((item) => isTracked({ ...item, ...type }));
  };
  const page = await client.list(resource, { ...query, metadataOnly: true, items: { begin: () => undefined, add } });
  add(page.items);
  return found.isTracked ? client.list(resource, query) : { ...page, items: [] };
}

/** Whether its objects can be watched, unless settings exclude it. */
function isListable(resource: ApiResource): boolean {
  return resource.verbs.includes('list') && !isExcluded({ exclusions: [], inclusions: [] }, resource, '');
}
