import { defined, omit } from '#base';
import { appKeyOf, asApplication, destinationNamespaceOf, isAutomated, projectOf, sourcesOf } from '#model';
import { clusterKey } from '#sharding';
import type { AppKey, Application as KubeApplication, ApplicationStatus, KubeObject } from '#model';
import type { ApplicationOwnership, ApplicationSummary, ApplicationVerdict, Condition } from '../application-types.ts';
import { ExpiringMap } from '../expiring-map.ts';
import type { ReplicaFacts } from '../facts.ts';
import type { ApplicationFilters } from '../request.ts';
import { attentionOf, verdictOf } from '../verdict/verdict.ts';
import type { VerdictFacts, VerdictTerms } from '../verdict/verdict.ts';
import { spelledCluster, withoutHiddenFaults } from '../visibility/clusters.ts';
import type { SpelledCluster } from '../visibility/clusters.ts';
import { partFaults, usedFaults } from './degradations.ts';
import type { PartFault } from './degradations.ts';
import { optionalTime, plainUrl, wireTime } from './format.ts';

/** Facts that an Application object alone contains. */
type ObjectSummary = Omit<ApplicationSummary, 'owner' | 'shard' | 'server' | 'clusterName' | 'verdict' | 'attention'>;

/** A summary with its place, before it is judged. */
export type PlacedSummary = Omit<ApplicationSummary, 'verdict' | 'attention'>;

export interface IndexedApplication {
  readonly key: AppKey;
  readonly app: KubeApplication;
  readonly summary: ObjectSummary;
}

/** How a reader sees summaries, and what is the same for all of them. */
interface SummaryView {
  readonly table: OwnershipFacts;
  readonly faults: readonly PartFault[];
  /** Whether it may see the names and URLs of clusters. */
  readonly showsClusters: boolean;
}

type OwnershipFacts = ReturnType<ReplicaFacts['ownership']['facts']>;

/** How long the order of the keys, and rows of lists, are used again. */
const indexMs = 1000;
const maxRows = 5000;

/**
 * All Applications by key. Summaries are kept with the objects that they describe, so that only
 * changed Applications cost work.
 */
export class ApplicationIndex {
  readonly #facts: ReplicaFacts;
  readonly #summaries = new WeakMap<KubeObject, IndexedApplication>();
  readonly #rows: ExpiringMap<{ readonly of: IndexedApplication; readonly row: ApplicationSummary }>;
  #sorted: { readonly at: number; readonly items: readonly IndexedApplication[] } | undefined;

  constructor(facts: ReplicaFacts) {
    this.#facts = facts;
    this.#rows = new ExpiringMap({ now: () => facts.clock.monotonic(), ttlMs: indexMs, max: maxRows });
  }

  /** By namespace and name. At most a second old. */
  all(): readonly IndexedApplication[] {
    const now = this.#facts.clock.monotonic();
    if (this.#sorted !== undefined && now - this.#sorted.at < indexMs) return this.#sorted.items;
    const items = this.#facts.controller.applications().map((object) => this.#indexed(object));
    items.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
    this.#sorted = { at: now, items };
    return items;
  }

  namespaces(): readonly string[] {
    return [...new Set(this.all().map(({ summary }) => summary.namespace))];
  }

  /** The Applications that filters select. */
  select(filters: ApplicationFilters, showsClusters: boolean): readonly IndexedApplication[] {
    const { cluster, label, text } = filters;
    const fields = (['project', 'namespace', 'sync', 'health', 'operation'] as const).filter(
      (name) => filters[name] !== undefined,
    );
    const part = text?.toLowerCase();
    return this.all().filter(({ app, summary }) => {
      if (fields.some((name) => summary[name] !== filters[name])) return false;
      if (part !== undefined && !summary.name.toLowerCase().includes(part)) return false;
      if (label !== undefined && !hasLabel(app.metadata.labels ?? {}, label)) return false;
      return cluster === undefined || isCluster(this.#clusterOf(app, showsClusters), cluster);
    });
  }

  /** The cluster as resolved; for callers who may see no clusters, as the spec has it. */
  #clusterOf(app: KubeApplication, showsClusters: boolean): SpelledCluster {
    if (!showsClusters) return spelledCluster(app);
    const { server = '', name: clusterName = '' } = this.#facts.controller.clusterOf(app) ?? {};
    return { server, clusterName };
  }

  /** Summaries that are at most a second old: many readers of a list cost as much as one. */
  rowsOf(items: readonly IndexedApplication[], showsClusters: boolean): readonly ApplicationSummary[] {
    let view: SummaryView | undefined;
    return items.map((found) => {
      const key = `${String(showsClusters)} ${found.key}`;
      const known = this.#rows.get(key);
      if (known?.of === found) return known.row;
      view ??= this.view(showsClusters);
      const row = this.summaryOf(found, view);
      this.#rows.set(key, { of: found, row });
      return row;
    });
  }

  summaryOf(found: IndexedApplication, view: SummaryView = this.view(true)): ApplicationSummary {
    const placed = this.placed(found, view);
    const verdict = this.#verdictOf(found, placed, view);
    return { ...placed, verdict, ...defined({ attention: attentionOf(verdict) }) };
  }

  placed(
    { key, app, summary }: IndexedApplication,
    { table, showsClusters }: SummaryView = this.view(true),
  ): PlacedSummary {
    const cluster = this.#facts.controller.clusterOf(app);
    const place = this.#facts.ownership.placeOf(key, cluster);
    const holder = place === undefined ? undefined : table.holders.get(place.slot);
    const owner = this.#facts.controller.isMine(app) ? this.#facts.name : (holder?.holder ?? '');
    return {
      ...summary,
      owner,
      ...defined({ shard: place?.slot }),
      ...this.#clusterOf(app, showsClusters),
    };
  }

  /** The verdicts of this replica's Applications, one per step. */
  *ownVerdicts(): Generator<ApplicationVerdict> {
    const view = this.view(true);
    for (const found of this.all())
      if (this.#facts.controller.isMine(found.app)) yield this.#verdictOf(found, this.placed(found, view), view);
  }

  /** The verdict of its page, without what only another owner has in memory. */
  #verdictOf(
    { key, app }: IndexedApplication,
    placed: PlacedSummary,
    { table, faults, showsClusters }: SummaryView,
  ): ApplicationVerdict {
    const isOwn = placed.owner === this.#facts.name;
    const { since, reason, ...state } = this.#facts.controller.state(key, app);
    const used = isOwn ? this.faultsOf(app, placed, faults) : [];
    const ownership = this.ownershipOf({ key, app }, { since, reason }, table);
    const facts: VerdictFacts = {
      ...placed,
      ...state,
      ownership: showsClusters ? ownership : omit(ownership, 'pinnedTo'),
      conditions: conditionsOf(app),
      degraded: showsClusters ? used : withoutHiddenFaults(used, spelledCluster(app)),
    };
    return verdictOf(facts, { ...this.terms(), isStatusOnly: !isOwn });
  }

  /** The faults of parts that an Application uses. */
  faultsOf(
    app: KubeApplication,
    { repositories }: Pick<PlacedSummary, 'repositories'>,
    faults: readonly PartFault[] = partFaults(this.#facts),
  ): ReturnType<typeof usedFaults> {
    const server = this.#facts.controller.clusterOf(app)?.server ?? '';
    return usedFaults(faults, { server, repositories }, app);
  }

  ownershipOf(
    { key, app }: Pick<IndexedApplication, 'key' | 'app'>,
    { since, reason }: Pick<ApplicationOwnership, 'since' | 'reason'>,
    { epoch, unowned } = this.#facts.ownership.facts(),
  ): ApplicationOwnership {
    const { controller, ownership, clock, name } = this.#facts;
    const cluster = controller.clusterOf(app);
    const place = ownership.placeOf(key, cluster);
    const silentMs = cluster === undefined ? undefined : unowned.get(clusterKey(cluster.server));
    return {
      replica: name,
      since,
      reason,
      part: place?.part ?? 0,
      parts: place?.parts ?? 1,
      ...defined({
        shard: place?.slot,
        epoch,
        pinnedTo: cluster?.shard,
        unownedSince: silentMs === undefined ? undefined : wireTime(clock.now() - silentMs),
      }),
    };
  }

  /** The inputs of a verdict that are not facts about the Application. */
  terms(): VerdictTerms {
    const { clock, controller, namespace, hasArgoServer } = this.#facts;
    return {
      now: clock.now(),
      resyncMs: controller.resyncMs,
      controllerNamespace: namespace,
      hasArgoServer: hasArgoServer?.() ?? false,
    };
  }

  /** For several summaries: owners and faults are read once. */
  view(showsClusters: boolean): SummaryView {
    return { table: this.#facts.ownership.facts(), faults: partFaults(this.#facts), showsClusters };
  }

  find(key: AppKey): IndexedApplication | undefined {
    const app = this.#facts.controller.application(key);
    return app === undefined ? undefined : { key, app, summary: summaryOfObject(app) };
  }

  #indexed(object: KubeObject): IndexedApplication {
    const known = this.#summaries.get(object);
    if (known !== undefined) return known;
    const app = asApplication(object);
    const indexed = { key: appKeyOf(app), app, summary: summaryOfObject(app) };
    this.#summaries.set(object, indexed);
    return indexed;
  }
}

function hasLabel(labels: Readonly<Record<string, string>>, wanted: string): boolean {
  const [name = '', value] = wanted.split('=', 2);
  return Object.hasOwn(labels, name) && (value === undefined || labels[name] === value);
}

function isCluster({ server, clusterName }: SpelledCluster, wanted: string): boolean {
  return server === wanted || clusterName === wanted;
}

/** Bounds of one item of a list: its author may fill an Application to a megabyte. */
const maxListed = 20;
const maxLabels = 64;
const maxShownLength = 512;

function shownText(text: string): string {
  return text.slice(0, maxShownLength);
}

function summaryOfObject(app: KubeApplication): ObjectSummary {
  const { metadata, spec } = app;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    project: shownText(projectOf(app)),
    destinationNamespace: shownText(destinationNamespaceOf(app)),
    repositories: [
      ...new Set(
        sourcesOf(spec)
          .slice(0, maxListed)
          .map(({ repoURL }) => plainUrl(repoURL)),
      ),
    ],
    labels: Object.fromEntries(Object.entries(metadata.labels ?? {}).slice(0, maxLabels)),
    isAutomated: isAutomated(spec),
    isDeleting: metadata.deletionTimestamp !== undefined,
    ...statusSummary(app.status ?? {}),
  };
}

function statusSummary({
  sync,
  health,
  operationState,
  reconciledAt = '',
  summary,
}: ApplicationStatus): Pick<ObjectSummary, 'sync' | 'health' | 'operation' | 'revisions' | 'images' | 'comparedAt'> {
  const { status = '', revision, revisions = revision === undefined ? [] : [revision] } = sync ?? {};
  const compared = Date.parse(reconciledAt);
  return {
    sync: status,
    health: shownText(health?.status ?? ''),
    operation: operationState?.phase ?? '',
    revisions: revisions.slice(0, maxListed).map(shownText),
    images: (summary?.images ?? []).slice(0, maxListed).map(shownText),
    ...defined({ comparedAt: Number.isNaN(compared) ? undefined : optionalTime(compared) }),
  };
}

export function conditionsOf({ status }: KubeApplication): readonly Condition[] {
  return (status?.conditions ?? []).map(({ type, message, lastTransitionTime = '' }) => {
    const since = Date.parse(lastTransitionTime);
    return { type, message, ...(Number.isNaN(since) ? {} : { since: wireTime(since) }) };
  });
}
