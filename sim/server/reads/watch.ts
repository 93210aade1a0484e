import type { Clock, RandomSource, ClockTimer } from '#base';
import type { KubeObject } from '#model';
import type { EventFault, FaultInjector } from '../http/faults.ts';
import { withMeta } from '../fields.ts';
import { matcherOf, revisionOf } from './lists.ts';
import type { ResponseWriter } from './representation.ts';
import { isTrueParameter } from '../http/request.ts';
import type { ResourceRequest } from '../http/request.ts';
import { invalidOptions, plainError, SimError } from '../status.ts';
import type { StorageChange, RevisionedStorage } from '../storage/storage.ts';

/** The connection that a watch writes to. */
export interface WatchConnection {
  /** False if the client is too slow and too much data is buffered. */
  write(text: string): boolean;
  end(): void;
}

export interface OpenWatchDeps {
  readonly storage: RevisionedStorage;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly faults: FaultInjector;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

const bookmarkIntervalMs = 60_000;
const minWatchSeconds = 1800;

/** Rejects invalid watch options before the stream starts. @throws SimError 400, 422 */
export function checkWatch(query: URLSearchParams): void {
  watchRevision(query.get('resourceVersion'));
  if ((query.get('continue') ?? '') !== '') {
    const message = 'Forbidden: resourceVersionMatch is forbidden when continue is provided';
    throw invalidOptions('ListOptions', [{ type: 'FieldValueForbidden', field: 'resourceVersionMatch', message }]);
  }
  const initial = query.get('sendInitialEvents');
  const match = query.get('resourceVersionMatch') ?? '';
  const refuse = (field: string, why: string): SimError =>
    invalidOptions('ListOptions', [{ type: 'FieldValueForbidden', field, message: `Forbidden: ${why}` }]);
  if (initial === null && match !== '')
    throw refuse(
      'resourceVersionMatch',
      'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    );
  if (initial !== null && match !== 'NotOlderThan')
    throw refuse('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
}

/** A watch returns the parse error of its revision unchanged. */
function watchRevision(value: string | null): void {
  if (value === null || /^[0-9]*$/.test(value)) return;
  throw plainError(`resourceVersion: Invalid value: "${value}": strconv.ParseUint: parsing "${value}": invalid syntax`);
}

/**
 * One open watch: the committed events after a revision, filtered by the request. An object that
 * leaves the selection is sent as DELETED, one that enters it as ADDED. Includes bookmarks, initial
 * events and faults. Ends at its timeout or by `stop`, and leaves no timer behind.
 */
export class OpenWatch {
  readonly #deps: OpenWatchDeps;
  readonly #request: ResourceRequest;
  readonly #show: ResponseWriter;
  readonly #sink: WatchConnection;
  readonly #matches: (object: KubeObject) => boolean;
  readonly #faults: { next(): EventFault; opened(): EventFault };
  readonly #bookmarks: boolean;
  #timers: ClockTimer[] = [];
  #unsubscribe: (() => void) | undefined;
  #sent = 0;
  #over = false;

  constructor(deps: OpenWatchDeps, request: ResourceRequest, show: ResponseWriter, sink: WatchConnection) {
    this.#deps = deps;
    this.#request = request;
    this.#show = show;
    this.#sink = sink;
    this.#matches = matcherOf(request);
    this.#faults = deps.faults.watch(request);
    this.#bookmarks = isTrueParameter(request.query.get('allowWatchBookmarks'));
  }

  start(): void {
    const { clock, storage, random } = this.#deps;
    const { query } = this.#request;
    this.#cutIf(this.#faults.opened());
    this.#replay(revisionOf(query.get('resourceVersion')) ?? 0);
    if (this.#over) return;
    this.#unsubscribe = storage.subscribe((change) => this.#onChange(change));
    const asked = Number(query.get('timeoutSeconds') ?? 0);
    const seconds = asked > 0 ? asked : minWatchSeconds * (1 + random.next());
    this.#timers.push(clock.timer(seconds * 1000, () => this.#expire()));
    if (this.#bookmarks) this.#tick();
  }

  stop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#unsubscribe?.();
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
    this.#sink.end();
  }

  #replay(revision: number): void {
    const { storage } = this.#deps;
    const { kind, namespace, query } = this.#request;
    const sendInitial = query.get('sendInitialEvents');
    if (sendInitial === null ? revision === 0 : isTrueParameter(sendInitial)) {
      for (const object of storage.list(kind.groupKind, namespace))
        if (this.#matches(object)) this.#send('ADDED', object);
      this.#sent = storage.revision;
      if (sendInitial !== null && this.#bookmarks) this.#bookmark(true);
      return;
    }
    try {
      for (const change of storage.since(kind.groupKind, revision === 0 ? storage.revision : revision))
        this.#onChange(change);
      this.#sent = Math.max(this.#sent, revision);
    } catch (error) {
      if (!(error instanceof SimError)) throw error;
      this.#fail(error);
    }
  }

  #onChange(change: StorageChange): void {
    const { kind, namespace } = this.#request;
    if (this.#over || change.kind !== kind.groupKind || change.revision <= this.#sent) return;
    if (namespace !== '' && change.object.metadata.namespace !== namespace) return;
    this.#sent = change.revision;
    const now = change.type !== 'DELETED' && this.#matches(change.object);
    const before = change.old !== undefined && this.#matches(change.old);
    if (now) this.#send(before ? 'MODIFIED' : 'ADDED', change.object);
    else if (before) this.#send('DELETED', lastSeen(change));
  }

  #send(type: EventType, object: KubeObject): void {
    if (this.#over) return;
    const fault = this.#faults.next();
    if (fault.do === 'lose') return;
    if (fault.do === 'cut') {
      this.#cutIf(fault);
      return;
    }
    if (fault.do === 'garble') this.#write(`{"type":"${type}","object":{"kind":"${object.kind}",\n`);
    else this.#write(`{"type":"${type}","object":${this.#show.event(object)}}\n`);
  }

  #write(text: string): void {
    if (!this.#sink.write(text)) this.stop();
  }

  #cutIf(fault: EventFault): void {
    if (fault.do !== 'cut' || this.#over) return;
    if (fault.code === undefined) this.stop();
    else if (fault.code === 410) this.#fail(new SimError(410, 'Expired', 'too old resource version'));
    else
      this.#fail(new SimError(500, 'InternalError', 'Internal error occurred: the watch was cut by an injected fault'));
  }

  #fail(error: SimError): void {
    this.#write(`${JSON.stringify({ type: 'ERROR', object: error.status() })}\n`);
    this.stop();
  }

  #tick(): void {
    const timer = this.#deps.clock.timer(bookmarkIntervalMs, () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
      this.#bookmark(false);
      if (!this.#over) this.#tick();
    });
    this.#timers.push(timer);
  }

  #bookmark(initialEventsEnd: boolean): void {
    // Listeners run synchronously, so every event up to this revision has been sent.
    this.#sent = Math.max(this.#sent, this.#deps.storage.revision);
    this.#write(`{"type":"BOOKMARK","object":${this.#show.bookmark(this.#sent, initialEventsEnd)}}\n`);
  }

  #expire(): void {
    if (this.#bookmarks) this.#bookmark(false);
    this.stop();
  }
}

/**
 * An object that left the selection is sent in its last selected state, at the revision of the
 * change.
 */
function lastSeen(change: StorageChange): KubeObject {
  if (change.type === 'DELETED' || change.old === undefined) return change.object;
  return withMeta(change.old, { resourceVersion: String(change.revision) });
}
