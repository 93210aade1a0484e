import { DeadlineExceeded, defined, messageOf, newAbortController, withDeadline } from '#base';
import type { Clock } from '#base';
import { appKey, inClusterName, inClusterServer } from '#model';
import type { AppKey } from '#model';
import type { MetricRegistry } from '#telemetry';
import { ExpiringMap } from './expiring-map.ts';
import type { Caller, Viewer } from './access/viewer.ts';
import type { ApplicationsResponse } from './application-types.ts';
import type { ReplicaFacts } from './facts.ts';
import { ApiFault } from './fault.ts';
import { ApplicationIndex } from './pages/applications.ts';
import { clusterOwner, clusterSummaries } from './pages/clusters.ts';
import { costPage } from './pages/costs.ts';
import { handOverEvents, recentEvents } from './pages/events.ts';
import { applicationPage, replicaInfo, repositories } from './pages/local.ts';
import { mergePages } from './pages/merge.ts';
import { objectMembers, objectPage } from './pages/object.ts';
import type { ObjectRequest } from './pages/object.ts';
import { isJsonObject, isPage, kinds, renamed, treeOf } from './pages/peer-answer.ts';
import type { PageBody } from './pages/peer-answer.ts';
import { recordingPage } from './pages/recording.ts';
import { handOvers, ownershipPage } from './pages/ownership.ts';
import { planPage } from './pages/plan.ts';
import { queuePage } from './pages/queues.ts';
import { treePage } from './pages/tree.ts';
import type { Peer, Peers } from './peers/types.ts';
import { continueAfter, formatApiRequest } from './request.ts';
import type { ApiRequest } from './request.ts';
import { ChangeStream } from './stream/stream.ts';
import { apiVersion } from './types.ts';
import type { IncompletePart } from './types.ts';
import { exposeVerdicts } from './verdict/metric.ts';
import { withVerdict } from './verdict/verdict.ts';
import { authorize } from './visibility/authorize.ts';
import type { Authorized } from './visibility/authorize.ts';
import { spelledCluster } from './visibility/clusters.ts';
import { PageAccess } from './visibility/page-access.ts';
import { canRead, visibleTo } from './visibility/visible.ts';
import type { ReadableNamespaces } from './visibility/visible.ts';

export interface ReadApiDeps {
  readonly facts: ReplicaFacts;
  readonly clock: Clock;
  readonly peers: Peers;
}

type ListRequest = ApiRequest & { readonly page: 'applications' };

/** A peer that has not answered by then is named, and the rest is shown. */
export const peerTimeoutMs = 2000;
/** The owner may have to ask the cluster. */
const ownerTimeoutMs = 9000;
/** How long an assembled page is used again: many readers of one page cost as much as one. */
const pageTtlMs = 1000;
const maxPages = 200;
const pageDeadlineMs = 10_000;

interface AssembledPage {
  readonly body: PageBody;
  readonly incomplete: readonly IncompletePart[];
}

interface OwnedPage {
  readonly isPeer: boolean;
  readonly member: 'object' | 'events' | 'log' | 'recording';
  readonly own: () => Promise<PageBody>;
}

/** The part of a peer, or why it is missing. */
interface PeerAnswer {
  readonly body?: PageBody;
  readonly incomplete?: readonly IncompletePart[];
  /** It does not have what was asked for. */
  readonly absent?: ApiFault;
}

/** Assembles each page from this replica's facts and those of its peers. */
export class ReadApi {
  readonly #deps: ReadApiDeps;
  readonly #index: ApplicationIndex;
  readonly #pages: ExpiringMap<Promise<AssembledPage>>;
  /** Tells callers what changed. */
  readonly stream: ChangeStream;

  constructor(deps: ReadApiDeps) {
    this.#deps = deps;
    this.#index = new ApplicationIndex(deps.facts);
    this.stream = new ChangeStream({ facts: deps.facts, index: this.#index, clock: deps.clock });
    this.#pages = new ExpiringMap({ now: () => deps.clock.monotonic(), ttlMs: pageTtlMs, max: maxPages });
  }

  /** Counts the verdicts of this replica's Applications at each scrape. */
  exposeVerdicts(metrics: MetricRegistry): void {
    exposeVerdicts(metrics, () => this.#index.ownVerdicts());
  }

  /** @throws ApiFault */
  async answer(request: ApiRequest, caller: Caller, signal: AbortSignal): Promise<object> {
    const { viewer } = caller;
    const { facts } = this.#deps;
    const app = 'namespace' in request ? this.#index.find(appKey(request.namespace, request.name))?.app : undefined;
    const access = this.#accessOf(request, viewer, signal);
    const namespaces = (): readonly string[] => this.#index.namespaces();
    const authorized = await authorize(request, { viewer, access, namespaces, controller: facts.namespace }, signal);
    const { isAdmin } = authorized;
    const { body, incomplete } = await this.#bodyOf(request, { ...caller, ...authorized, access });
    signal.throwIfAborted();
    const spelled = app === undefined ? { server: '', clusterName: '' } : spelledCluster(app);
    const { links = [] } = facts;
    const shown = await visibleTo({ viewer, access, ...authorized, spelled, links, signal }, request, body);
    const head = { apiVersion, kind: kinds[request.page], time: new Date(facts.clock.now()).toISOString() };
    // Reasons name addresses of pods.
    const named = isAdmin ? incomplete : incomplete.map(({ replica }) => ({ replica, reason: 'its part is missing' }));
    const hidden = access.hidden.list();
    const terms = { ...this.#index.terms(), ownerSilent: named[0]?.reason };
    // By what the caller may see of it.
    const judged = request.page === 'application' ? { application: withVerdict(shown['application'], terms) } : shown;
    return { ...head, replica: facts.name, incomplete: named, ...(hidden.length === 0 ? {} : { hidden }), ...judged };
  }

  /** Objects of a page are those of the Application's cluster, or of the named one. */
  #accessOf(request: ApiRequest, viewer: Viewer, signal: AbortSignal): PageAccess {
    const { facts } = this.#deps;
    const app = 'namespace' in request ? this.#index.find(appKey(request.namespace, request.name))?.app : undefined;
    const server = app === undefined ? undefined : facts.controller.clusterOf(app)?.server;
    const isHub = server === inClusterServer || (request.page === 'cluster' && isHubCluster(facts, request.cluster));
    const application = 'namespace' in request ? request.namespace : facts.namespace;
    const object = 'object' in request ? request.object.namespace : undefined;
    const scope = { controller: facts.namespace, application, isHub, ...defined({ object }) };
    return new PageAccess({ viewer, scope, kinds: facts.hubKinds, signal });
  }

  async #bodyOf(
    request: ApiRequest,
    { readable, isAdmin, isPeer, access, wantsFresh = false }: Caller & Authorized & { readonly access: PageAccess },
  ): Promise<AssembledPage> {
    if (request.page === 'applications') {
      const missing = await access.missing('clusters');
      return { body: this.#list(request, readable ?? 'all', missing === undefined), incomplete: [] };
    }
    // Every pod has a token: one without any right costs no work of the other replicas.
    if (readable !== undefined && readable !== 'all' && readable.size === 0 && !isAdmin)
      return {
        body: { items: [], ...(request.page === 'costs' ? { subject: request.subject, windowMs: 0 } : {}) },
        incomplete: [],
      };
    // Each answer has lines of its own, so none is used again.
    if (request.page === 'recording') return this.#recording(request, isPeer);
    return this.#page(request, { isPeer, wantsFresh });
  }

  /** Every replica watches all Applications, so a list needs no peer. */
  #list({ filters, limit, after }: ListRequest, readable: ReadableNamespaces, showsClusters: boolean): PageBody {
    const found = this.#index
      .select(filters, showsClusters)
      .filter(({ summary }) => canRead(readable, summary.namespace));
    const begin = after === undefined ? 0 : firstAfter(found, after);
    const page = found.slice(begin, begin + limit);
    const last = page.at(-1);
    const body: Pick<ApplicationsResponse, 'items' | 'total' | 'continue'> = {
      items: this.#index.rowsOf(page, showsClusters),
      total: found.length,
      ...(last === undefined || begin + limit >= found.length ? {} : { continue: continueAfter(last.key) }),
    };
    return { ...body };
  }

  /** Several callers may wait for a page, so it does not end with one of them. */
  #page(request: ApiRequest, { isPeer, wantsFresh }: Required<Omit<Caller, 'viewer'>>): Promise<AssembledPage> {
    const key = `${String(isPeer)} ${this.#versionOf(request)} ${formatApiRequest(request)}`;
    const known = wantsFresh ? undefined : this.#pages.get(key);
    if (known !== undefined) return known;
    const deadline = { clock: this.#deps.clock, limitMs: pageDeadlineMs, what: `the page ${request.page}` };
    const page = withDeadline(newAbortController().signal, deadline, (inner) => this.#assemble(request, isPeer, inner));
    this.#pages.set(key, page);
    page.catch(() => this.#pages.delete(key));
    return page;
  }

  /** A page about an Application is not used again after a change or deletion of it. */
  #versionOf(request: ApiRequest): string {
    if (!('namespace' in request)) return '';
    return this.#index.find(appKey(request.namespace, request.name))?.app.metadata.resourceVersion ?? 'none';
  }

  async #assemble(request: ApiRequest, isPeer: boolean, signal: AbortSignal): Promise<AssembledPage> {
    if (request.page === 'application' || request.page === 'tree') return this.#application(request, isPeer, signal);
    if ('object' in request) return this.#object(request, isPeer, signal);
    // Every replica knows the table and the inputs of the next one.
    if (request.page === 'plan') return { body: planPage(this.#deps.facts, request.change), incomplete: [] };
    const own = await this.#local(request, signal);
    const peers = isPeer ? [] : this.#deps.peers();
    const answers = await Promise.all(peers.map((peer) => this.#ask(peer, request, signal)));
    const bodies = [own, ...answers.flatMap(({ body }): readonly PageBody[] => (body === undefined ? [] : [body]))];
    if (request.page === 'cluster' && bodies.every((body) => body['server'] === undefined))
      throw new ApiFault(404, `no cluster is named ${JSON.stringify(request.cluster)}`);
    const incomplete = answers.flatMap((answer) => answer.incomplete ?? []);
    return { body: mergePages(request, bodies), incomplete };
  }

  /** Only the owner knows an Application in full. */
  async #application(
    request: ApiRequest & { readonly page: 'application' | 'tree' },
    isPeer: boolean,
    signal: AbortSignal,
  ): Promise<AssembledPage> {
    const { facts, peers } = this.#deps;
    const key = appKey(request.namespace, request.name);
    const found = this.#index.find(key);
    if (found === undefined) throw this.#unknown(request);
    const { owner } = this.#index.placed(found);
    const own = async (incomplete: readonly IncompletePart[]): Promise<AssembledPage> => {
      const body = await this.#ownApplication(request.page, key, signal);
      if (body === undefined) throw new ApiFault(404, `the Application ${key} is gone`);
      return { body, incomplete };
    };
    if (isPeer || owner === facts.name) return own([]);
    const peer = peers().find(({ name }) => name === owner);
    if (peer === undefined)
      return own([
        { replica: owner, reason: owner === '' ? 'no replica owns the Application' : 'it holds no shard now' },
      ]);
    const { body, incomplete } = await this.#ask(peer, request, signal);
    const tree = treeOf(body);
    if (request.page === 'tree') return tree === undefined ? own(incomplete ?? []) : { body: tree, incomplete: [] };
    const application = body?.['application'];
    if (!isJsonObject(application))
      return own(incomplete ?? [{ replica: owner, reason: 'its answer is not understood' }]);
    return { body: { application: { ...application, owner } }, incomplete: [] };
  }

  async #ownApplication(page: 'application' | 'tree', key: AppKey, signal: AbortSignal): Promise<PageBody | undefined> {
    const { facts } = this.#deps;
    if (page === 'tree') return treePage(facts, key, signal);
    const application = await applicationPage(facts, this.#index, key, signal);
    return application === undefined ? undefined : { application };
  }

  #unknown({ namespace, name }: { readonly namespace: string; readonly name: string }): ApiFault {
    if (this.#deps.facts.controller.isWatched(namespace))
      return new ApiFault(404, `there is no Application ${appKey(namespace, name)} in the watched namespaces`);
    const advice = 'add it to application.namespaces of argocd-cmd-params-cm, or to --application-namespaces';
    const message = `namespace ${namespace} is not watched: ${advice}`;
    return new ApiFault(404, message, { reason: 'NamespaceNotWatched' });
  }

  /** Only the owner has the rows of an Application, and reads the cluster. */
  #object(request: ObjectRequest, isPeer: boolean, signal: AbortSignal): Promise<AssembledPage> {
    const key = appKey(request.namespace, request.name);
    const own = (): Promise<PageBody> => objectPage(this.#deps.facts, key, request, signal);
    return this.#byOwner(request, { isPeer, member: objectMembers[request.page], own }, signal);
  }

  /** Only the owner has passes of an Application. */
  #recording(request: ApiRequest & { readonly page: 'recording' }, isPeer: boolean): Promise<AssembledPage> {
    const own = (): Promise<PageBody> =>
      recordingPage(this.#deps.facts, request, appKey(request.namespace, request.name));
    return this.#byOwner(request, { isPeer, member: 'recording', own }, newAbortController().signal);
  }

  /** A page that only the owner of its Application has: without its answer there is none. */
  async #byOwner(
    request: ObjectRequest | (ApiRequest & { readonly page: 'recording' }),
    { isPeer, member, own }: OwnedPage,
    signal: AbortSignal,
  ): Promise<AssembledPage> {
    const { facts, peers } = this.#deps;
    const key = appKey(request.namespace, request.name);
    const found = this.#index.find(key);
    if (found === undefined) throw this.#unknown(request);
    const { owner } = this.#index.placed(found);
    if (isPeer || owner === facts.name) return { body: await own(), incomplete: [] };
    const peer = peers().find(({ name }) => name === owner);
    if (peer === undefined) throw new ApiFault(503, `no replica that can be asked owns ${key} now`);
    const { body, incomplete, absent } = await this.#ask(peer, request, signal, ownerTimeoutMs);
    if (absent !== undefined) throw absent;
    if (body === undefined) throw new ApiFault(503, `replica ${owner} owns ${key}: ${incomplete?.[0]?.reason ?? ''}`);
    return { body: { [member]: body[member] }, incomplete: [] };
  }

  async #local(request: ApiRequest, signal: AbortSignal): Promise<PageBody> {
    const { facts } = this.#deps;
    signal.throwIfAborted();
    switch (request.page) {
      case 'replica':
        return { items: [replicaInfo(facts)] };
      case 'ownership':
        return { ...ownershipPage(facts) };
      case 'clusters':
        return { items: clusterSummaries(facts, this.#index) };
      case 'cluster':
        return this.#cluster(request.cluster);
      case 'queues':
        return { items: queuePage(facts) };
      case 'repositories':
        return { items: repositories(facts, this.#index) };
      case 'events': {
        const items = [...recentEvents(facts), ...handOverEvents(facts)];
        return { items, oldest: { [facts.name]: items.at(-1)?.at ?? new Date(facts.clock.now()).toISOString() } };
      }
      case 'history':
        return { items: facts.history === undefined ? [] : [{ replica: facts.name, ...facts.history() }] };
      case 'costs':
        return { subject: request.subject, ...costPage(facts, this.#index, request.subject) };
      default:
        return Promise.reject(new ApiFault(404, 'no such page'));
    }
  }

  #cluster(wanted: string): PageBody {
    const { facts } = this.#deps;
    const owner = clusterOwner(facts, this.#index, wanted);
    const known = facts.clusters().filter(({ server, name }) => server === wanted || name === wanted);
    const server = known[0]?.server ?? owner?.server;
    const moves = handOvers(facts).filter((move) => move.server === server);
    return {
      ...(server === undefined ? {} : { server, names: [...new Set(known.map(({ name }) => name))] }),
      owners: owner === undefined ? [] : [owner],
      handOvers: moves,
    };
  }

  async #ask(peer: Peer, request: ApiRequest, signal: AbortSignal, limitMs = peerTimeoutMs): Promise<PeerAnswer> {
    const missing = (reason: string): { readonly incomplete: readonly IncompletePart[] } => ({
      incomplete: [{ replica: peer.name, reason }],
    });
    const { ask } = peer;
    if (ask === undefined) return missing('it publishes no address: an older release, or its API is off');
    const deadline = { clock: this.#deps.clock, limitMs, what: `asking replica ${peer.name}` };
    try {
      const answer = await withDeadline(signal, deadline, (inner) => ask(formatApiRequest(request), inner));
      return isPage(answer, request) ? { body: renamed(answer, peer.name) } : missing('its answer is not understood');
    } catch (error) {
      signal.throwIfAborted();
      const isLate = error instanceof DeadlineExceeded;
      const part = missing(isLate ? `it did not answer within ${limitMs / 1000} s` : messageOf(error).slice(0, 300));
      return error instanceof ApiFault && error.status === 404 ? { ...part, absent: error } : part;
    }
  }
}

/** Whether a name or URL means the cluster of this namespace only: a Secret may have its name. */
function isHubCluster({ clusters }: ReplicaFacts, wanted: string): boolean {
  const found = clusters().filter(({ server, name }) => server === wanted || name === wanted);
  if (found.length === 0) return wanted === inClusterServer || wanted === inClusterName;
  return found.every(({ server }) => server === inClusterServer);
}

/** The position of the first key after a given one; the list is sorted. */
function firstAfter(items: readonly { readonly key: string }[], after: string): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.key ?? '') <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}
