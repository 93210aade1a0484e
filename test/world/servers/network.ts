import type { RandomSource } from '#base';
import { KubeConnectionError } from '#kube';
import type { HttpRequest, HttpResponse, RequestTransport } from '#kube';
import type { ClusterConnection } from '#model';
import type { VirtualTime } from '../../../sharding/testing/index.ts';
import { failure } from './api-server.ts';
import type { RequestTarget, ServerAnswer, WorldApiServer } from './api-server.ts';
import type { NetworkProcess } from '../clock.ts';
import { isHookName } from '../content.ts';
import { nameOfFault } from '../faults.ts';
import type { ArmedFault, FaultCounts, RequestFault, WatchFault } from '../faults.ts';
import { OpenWatch } from './open-watch.ts';
import type { StoreEvent } from './store.ts';

/** A request on which a server has acted. */
export interface ServedRequest {
  readonly at: number;
  readonly process: NetworkProcess;
  readonly server: WorldApiServer;
  readonly target: RequestTarget;
  readonly request: HttpRequest;
  readonly answer: ServerAnswer;
  readonly changes: readonly StoreEvent[];
}

export interface NetworkDeps {
  readonly time: VirtualTime;
  readonly random: RandomSource;
  readonly counts: FaultCounts;
  readonly onServed: (served: ServedRequest) => void;
}

/** One way of a request that is sent. */
interface Journey {
  readonly process: NetworkProcess;
  readonly server: WorldApiServer;
  readonly request: HttpRequest;
  readonly target: RequestTarget;
  readonly fault: RequestFault | undefined;
}

const bookmarkMs = 50_000;
/** For a new list after a watch has ended. */
const catchUpMs = 5000;

/** The network between processes and API servers: delays, faults, partitions and watches. */
export class WorldNetwork {
  readonly #deps: NetworkDeps;
  readonly #servers = new Map<string, WorldApiServer>();
  readonly #watches = new Set<OpenWatch>();
  readonly #silentUntil = new Map<string, number>();
  readonly #open = new Map<NetworkProcess, number>();
  readonly #transports = new Map<NetworkProcess, Set<object>>();
  /** Requests that would never be answered. */
  #unanswered: (() => void)[] = [];
  readonly #cuts = new Map<string, number>();
  readonly #downUntil = new Map<string, number>();
  armed: ArmedFault[] = [];
  /** Requests that their processes saw fail, and that are carried out later. */
  lateRequests = 0;

  constructor(deps: NetworkDeps) {
    this.#deps = deps;
  }

  add(server: WorldApiServer): void {
    this.#servers.set(server.url, server);
    server.store.onEvent((event) => this.#publish(server, event));
  }

  /** Requests and watches of a process that are open. */
  openOf(process: NetworkProcess): number {
    const watches = [...this.#watches].filter((watch) => watch.process === process).length;
    return watches + (this.#open.get(process) ?? 0);
  }

  /** Whether a watch of a server is silent, or was, and its client may not have caught up yet. */
  hasSilentWatch(url: string): boolean {
    const isRecent = this.#deps.time.now - (this.#silentUntil.get(url) ?? Number.NEGATIVE_INFINITY) < catchUpMs;
    return isRecent || [...this.#watches].some((watch) => watch.url === url && watch.isSilent);
  }

  #remove(watch: OpenWatch): void {
    if (this.#watches.delete(watch) && watch.isSilent) this.#silentUntil.set(watch.url, this.#deps.time.now);
  }

  /** Connections of a process that it has not closed. */
  transportsOf(process: NetworkProcess): number {
    return this.#transports.get(process)?.size ?? 0;
  }

  /** Ends faults that would last for ever, and requests that would never be answered. */
  calm(): void {
    this.armed = [];
    for (const reset of this.#unanswered.splice(0)) reset();
    this.#cuts.clear();
    this.#downUntil.clear();
  }

  /** Ends faults of watches that outlast the calm, until clients find them. */
  reviveWatches(): void {
    for (const watch of this.#watches) watch.revive();
  }

  cut(process: string, url: string, ms: number): void {
    this.#deps.counts.add('partition');
    this.#cuts.set(`${process} ${url}`, this.#deps.time.now + ms);
  }

  /** Nothing reaches the server; its watches end. */
  takeDown(url: string, ms: number): void {
    this.#downUntil.set(url, this.#deps.time.now + ms);
    for (const watch of this.#watches) if (watch.url === url) watch.end();
  }

  disconnect(process: NetworkProcess): void {
    for (const watch of this.#watches) if (watch.process === process) this.#watches.delete(watch);
    this.#open.delete(process);
    this.#transports.delete(process);
  }

  /** Hits the watches of a server, of one replica if given. */
  disturb(url: string, fault: WatchFault, by: number | undefined): void {
    for (const watch of this.#watches) {
      if (watch.url !== url || (by !== undefined && watch.process.index !== by)) continue;
      this.#deps.counts.add(`watch: ${fault}`);
      watch.disturb(fault);
    }
  }

  transport(process: NetworkProcess, url: string): RequestTransport {
    const server = this.#servers.get(url);
    if (server === undefined) return nowhere(url);
    const ends = new Set<() => void>();
    const known = this.#transports.get(process) ?? new Set();
    this.#transports.set(process, known.add(ends));
    return {
      set connection(_next: ClusterConnection) {
        // The credentials of this world are never checked.
      },
      call: (request) => this.#send(process, server, request, ends),
      watch: (request) => this.#send(process, server, request, ends),
      close: () => {
        for (const end of [...ends]) end();
        known.delete(ends);
        return Promise.resolve();
      },
    };
  }

  #send(
    process: NetworkProcess,
    server: WorldApiServer,
    request: HttpRequest,
    ends: Set<() => void>,
  ): Promise<HttpResponse> {
    const target = server.targetOf(request);
    const journey = { process, server, request, target, fault: this.#take(process, server.url, target) };
    return new Promise((resolve, reject) => {
      let isOver = false;
      this.#open.set(process, (this.#open.get(process) ?? 0) + 1);
      const over = (act: () => void): void => {
        if (isOver) return;
        isOver = true;
        this.#open.set(process, (this.#open.get(process) ?? 1) - 1);
        request.signal.removeEventListener('abort', onAbort);
        ends.delete(onClose);
        act();
      };
      const onAbort = (): void => over(() => reject(errorOf(request.signal.reason)));
      const onClose = (): void => over(() => reject(lost(server.url, 'the connection was closed')));
      ends.add(onClose);
      if (request.signal.aborted) onAbort();
      else request.signal.addEventListener('abort', onAbort, { once: true });
      const answer = (act: () => void): void => process.clock.machine.whenRunning(() => over(act));
      const { fault } = journey;
      if (fault?.is === 'killed before') process.kill();
      if (fault?.is === 'frozen before') process.clock.machine.stop(fault.ms);
      process.clock.machine.whenRunning(() => {
        if (isOver) return;
        if (fault?.is === 'refused' || (this.#downUntil.get(server.url) ?? 0) > this.#deps.time.now) {
          this.#after(() => answer(() => reject(refused(server.url))));
          return;
        }
        try {
          request.beforeSend?.();
        } catch (error) {
          over(() => reject(errorOf(error)));
          return;
        }
        this.#travel(journey, (outcome) => {
          if (outcome instanceof Error) answer(() => reject(outcome));
          else answer(() => resolve(outcome));
        });
      });
    });
  }

  /** From the first byte sent to the response. */
  #travel(journey: Journey, settle: (outcome: HttpResponse | Error) => void): void {
    const { process, server, fault } = journey;
    const hang = (): void => void this.#unanswered.push(() => settle(lost(server.url, 'connection reset')));
    if (this.#isCut(process, server.url)) {
      hang();
      return;
    }
    const actsInMs = fault?.is === 'slow' ? fault.ms : 0;
    this.#after(() => {
      if (fault?.is === 'no answer' || this.#isCut(process, server.url)) {
        hang();
        return;
      }
      if (fault?.is === 'reset') {
        this.#after(() => settle(lost(server.url, 'connection reset')));
        return;
      }
      if (fault?.is === 'reset, committed late') {
        this.#after(() => settle(lost(server.url, 'connection reset')));
        this.lateRequests += 1;
        this.#after(() => {
          this.lateRequests -= 1;
          this.#respond(journey);
        }, fault.ms);
        return;
      }
      const response = this.#respond(journey);
      if (fault?.is === 'killed after') process.kill();
      if (fault?.is === 'frozen after') process.clock.machine.stop(fault.ms);
      if (fault?.is === 'committed, no answer') {
        hang();
        return;
      }
      this.#after(
        () => {
          if (this.#isCut(process, server.url)) {
            hang();
            return;
          }
          settle(fault?.is === 'committed and reset' ? lost(server.url, 'connection reset') : response);
        },
        fault?.is === 'late answer' ? fault.ms : 0,
      );
    }, actsInMs);
  }

  #respond(journey: Journey): HttpResponse {
    const { server, request, target, fault } = journey;
    if (fault?.is === 'status') {
      const answer = failure(fault.code, '', `the test answers ${fault.code}`);
      const wait = fault.retryAfterS === undefined ? {} : { 'retry-after': String(fault.retryAfterS) };
      return this.#response(answer, wait);
    }
    if (fault?.is === 'echo')
      return this.#response(failure(422, 'Invalid', `Invalid value: ${request.body ?? ''}: must be something else`));
    if (target.verb === 'watch') return this.#openWatch(journey);
    if (fault?.is === 'overtaken') markAsKept(journey);
    const answer = this.#act(journey);
    if (fault?.is === 'duplicated') this.#act(journey);
    if (fault?.is === 'not JSON') return { ...this.#response(answer), status: 200, body: bodyOf('<html>hello</html>') };
    if (fault?.is === 'truncated') {
      const text = JSON.stringify(answer.body);
      return { ...this.#response(answer), body: bodyOf(text.slice(0, text.length / 2)) };
    }
    if (fault?.is === 'strange items' && target.verb === 'list') return this.#response(withStrangeItems(answer));
    if (fault?.is === 'another kind')
      return this.#response(strangerTo(server, target, String(request.headers['accept'] ?? '')));
    return this.#response(answer);
  }

  #act({ process, server, request, target }: Journey): ServerAnswer {
    const before = server.store.version;
    const { method, path, body } = request;
    const answer = server.answer({ method, path, body, accept: String(request.headers['accept'] ?? '') });
    const changes = server.store.since(before);
    this.#deps.onServed({ at: this.#deps.time.now, process, server, target, request, answer, changes });
    return answer;
  }

  #response(answer: ServerAnswer, headers: Readonly<Record<string, string>> = {}): HttpResponse {
    const date = new Date(this.#deps.time.now).toUTCString();
    return { status: answer.status, headers: { date, ...headers }, body: bodyOf(JSON.stringify(answer.body)) };
  }

  #openWatch({ process, server, request, target }: Journey): HttpResponse {
    const { time } = this.#deps;
    const watch = new OpenWatch({
      process,
      url: server.url,
      target,
      signal: request.signal,
      deliver: (from, run) => {
        const at = Math.max(from, this.#cuts.get(`${process.name} ${server.url}`) ?? 0, time.now + this.#latency());
        time.at(at, () => process.clock.machine.whenRunning(run));
        return at;
      },
      onEnd: (ended) => this.#remove(ended),
    });
    this.#watches.add(watch);
    request.signal.addEventListener('abort', () => this.#remove(watch), { once: true });
    // A process that was killed after its request was carried out reads no answer.
    if (request.signal.aborted || !this.#transports.has(process)) this.#watches.delete(watch);
    if (target.query.get('sendInitialEvents') === 'true') {
      this.#deps.counts.add('list streamed');
      watch.initialEvents(server.objectsOf(target), String(server.store.version));
    } else {
      const version = Number(target.query.get('resourceVersion') ?? '0');
      for (const event of server.store.since(version)) if (isFor(server, target, event)) watch.event(event);
    }
    const limitMs = 1000 * Number(target.query.get('timeoutSeconds') ?? '300');
    time.at(time.now + limitMs, () => watch.end());
    this.#bookmark(server, watch);
    return { status: 200, headers: {}, body: watch.body() };
  }

  #bookmark(server: WorldApiServer, watch: OpenWatch): void {
    this.#deps.time.at(this.#deps.time.now + bookmarkMs, () => {
      if (!this.#watches.has(watch)) return;
      watch.bookmark(String(server.store.version));
      this.#bookmark(server, watch);
    });
  }

  #publish(server: WorldApiServer, event: StoreEvent): void {
    for (const watch of this.#watches)
      if (watch.url === server.url && isFor(server, watch.target, event)) watch.event(event);
  }

  #take(process: NetworkProcess, url: string, target: RequestTarget): RequestFault | undefined {
    const { verb, kind } = target;
    const isRead = verb === 'get' || verb === 'list' || verb === 'watch' || verb === 'discover' || verb === 'other';
    const found = this.armed.find(
      ({ to, verbs, by, resource, namespace, left, until, fault }) =>
        left > 0 &&
        until > this.#deps.time.now &&
        to === url &&
        isMeant(verbs, verb, isRead) &&
        (by ?? process.index) === process.index &&
        (resource ?? kind?.resource) === kind?.resource &&
        (namespace ?? target.namespace) === target.namespace &&
        suits(fault, target),
    );
    if (found === undefined) return undefined;
    found.left -= 1;
    this.#deps.counts.add(nameOfFault(found.fault));
    return found.fault;
  }

  #isCut(process: NetworkProcess, url: string): boolean {
    return (this.#cuts.get(`${process.name} ${url}`) ?? 0) > this.#deps.time.now;
  }

  #after(run: () => void, ms = 0): void {
    this.#deps.time.at(this.#deps.time.now + ms + this.#latency(), run);
  }

  #latency(): number {
    return 1 + Math.floor(this.#deps.random.next() * 8);
  }
}

function isMeant(verbs: ArmedFault['verbs'], verb: RequestTarget['verb'], isRead: boolean): boolean {
  if (verbs === 'watch') return verb === 'watch';
  if (verbs === 'list and watch') return verb === 'watch' || verb === 'list';
  return verbs === 'any' || (verbs === 'read') === isRead;
}

/** Whether a fault can happen to a request: a watch, for one, has no body that could be cut. */
function suits({ is }: RequestFault, { verb, kind, name }: RequestTarget): boolean {
  if (is === 'overtaken') return verb === 'delete' && kind?.resource !== 'applications' && !isHookName(name);
  if (is === 'strange items') return verb === 'list';
  if (is === 'reset, committed late') return verb === 'patch' && kind?.resource === 'applications';
  if (is === 'another kind') return verb === 'list' || verb === 'get';
  if (is === 'duplicated') return verb !== 'watch';
  if (is === 'not JSON' || is === 'truncated') return verb === 'list' || verb === 'get' || verb === 'discover';
  if (is === 'echo') return verb === 'create' || verb === 'patch' || verb === 'replace';
  return true;
}

function isFor(server: WorldApiServer, target: RequestTarget, { resource, object }: StoreEvent): boolean {
  return target.kind?.resource === resource && server.matches(object, target);
}

/** The edit of a person between our decision and our request. */
function markAsKept({ server: { store }, target: { kind, namespace = '', name = '' } }: Journey): void {
  const object = store.get(kind?.resource ?? '', namespace, name);
  if (object === undefined) return;
  const annotations = {
    ...object.metadata.annotations,
    'argocd.argoproj.io/sync-options': 'Delete=false,Prune=false',
  };
  store.put(kind?.resource ?? '', { ...object, metadata: { ...object.metadata, annotations } });
}

/** A list of another kind, or an object of another name. */
function strangerTo(
  server: WorldApiServer,
  { verb, kind, namespace, name }: RequestTarget,
  accept: string,
): ServerAnswer {
  if (verb === 'list') return server.answer({ method: 'GET', path: '/api/v1/namespaces', accept });
  const others = server.store.list(kind?.resource ?? '', namespace).filter(({ metadata }) => metadata.name !== name);
  return { status: 200, body: others[0] ?? { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } } };
}

/** A list that names the right kind, with objects of another. */
function withStrangeItems({ status, body }: ServerAnswer): ServerAnswer {
  const stranger = { apiVersion: 'v1', kind: 'Stranger', metadata: { name: 'stranger', namespace: 'apps', uid: 'x' } };
  return { status, body: { ...body, items: [stranger] } };
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function bodyOf(text: string): AsyncIterable<Uint8Array> {
  return chunksOf(text);
}

function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The way to a server that does not exist. */
function nowhere(url: string): RequestTransport {
  const fail = (): Promise<never> => Promise.reject(refused(url));
  return {
    set connection(_next: ClusterConnection) {
      // There is nothing to connect to.
    },
    call: fail,
    watch: fail,
    close: () => Promise.resolve(),
  };
}

function refused(url: string): KubeConnectionError {
  return new KubeConnectionError(url, 'connection refused', undefined, { neverSent: true, unreachable: true });
}

function lost(url: string, what: string): KubeConnectionError {
  return new KubeConnectionError(url, what, undefined);
}
