import { defined } from '#base';
import {
  appKeyOf,
  asApplication,
  destinationNamespaceOf,
  isAutomated,
  isErrorCondition,
  projectOf,
  sourcesOf,
} from '#model';
import type { AppKey, Application as KubeApplication, ApplicationStatus, KubeObject } from '#model';
import type { ApplicationSummary } from '../application-types.ts';
import type { ReplicaFacts } from '../facts.ts';
import type { ApplicationFilters } from '../request.ts';
import { spelledCluster } from '../visibility/clusters.ts';
import type { SpelledCluster } from '../visibility/clusters.ts';
import { optionalTime, plainUrl } from './format.ts';

/** Facts that an Application object alone contains. */
type ObjectSummary = Omit<ApplicationSummary, 'owner' | 'shard' | 'server' | 'clusterName'>;

interface IndexedApplication {
  readonly key: AppKey;
  readonly app: KubeApplication;
  readonly summary: ObjectSummary;
}

/** How a reader sees summaries. */
interface SummaryView {
  readonly holders: SlotHolders;
  /** Whether it may see the names and URLs of clusters. */
  readonly showsClusters: boolean;
}

type SlotHolders = ReturnType<ReplicaFacts['ownership']['facts']>['holders'];

/** How long the order of the keys is kept. */
const indexMs = 1000;

/**
 * All Applications by key. Summaries are kept with the objects that they describe, so that only
 * changed Applications cost work.
 */
export class ApplicationIndex {
  readonly #facts: ReplicaFacts;
  readonly #summaries = new WeakMap<KubeObject, IndexedApplication>();
  #sorted: { readonly at: number; readonly items: readonly IndexedApplication[] } | undefined;

  constructor(facts: ReplicaFacts) {
    this.#facts = facts;
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

  summaryOf(
    { key, app, summary }: IndexedApplication,
    { holders, showsClusters }: SummaryView = this.view(true),
  ): ApplicationSummary {
    const cluster = this.#facts.controller.clusterOf(app);
    const place = this.#facts.ownership.placeOf(key, cluster);
    const holder = place === undefined ? undefined : holders.get(place.slot);
    const owner = this.#facts.controller.isMine(app) ? this.#facts.name : (holder?.holder ?? '');
    return {
      ...summary,
      owner,
      ...defined({ shard: place?.slot }),
      ...this.#clusterOf(app, showsClusters),
    };
  }

  /** For several summaries: the holders are copied once. */
  view(showsClusters: boolean): SummaryView {
    return { holders: this.#facts.ownership.facts().holders, showsClusters };
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
    ...defined({ attention: attentionOf(app) }),
  };
}

function statusSummary({
  sync,
  health,
  operationState,
  reconciledAt = '',
}: ApplicationStatus): Pick<ObjectSummary, 'sync' | 'health' | 'operation' | 'revisions' | 'comparedAt'> {
  const { status = '', revision, revisions = revision === undefined ? [] : [revision] } = sync ?? {};
  const compared = Date.parse(reconciledAt);
  return {
    sync: status,
    health: shownText(health?.status ?? ''),
    operation: operationState?.phase ?? '',
    revisions: revisions.slice(0, maxListed).map(shownText),
    ...defined({ comparedAt: Number.isNaN(compared) ? undefined : optionalTime(compared) }),
  };
}

/** Why an Application deserves a look; the first reason that applies. */
export function attentionOf({ metadata, status = {}, spec }: KubeApplication): string | undefined {
  const error = status.conditions?.find(isErrorCondition);
  if (error !== undefined) return `${error.type.slice(0, 64)}: ${error.message.slice(0, 200)}`;
  const phase = status.operationState?.phase ?? '';
  if (['Failed', 'Error'].includes(phase)) return `the last operation ended as ${phase}`;
  const health = status.health?.status ?? '';
  if (['Degraded', 'Missing', 'Unknown'].includes(health)) return `health is ${health}`;
  if (metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  if (['Running', 'Terminating'].includes(phase)) return `an operation is ${phase}`;
  if (status.sync?.status !== 'OutOfSync') return undefined;
  return isAutomated(spec) ? 'OutOfSync although automated sync is on' : 'OutOfSync: automated sync is off';
}
