import type { Clock, Random, Timer } from '#base';
import type { KubeObject } from '#model';
import type { EventFault, Faults } from './faults.ts';
import { withMeta } from './fields.ts';
import { matcherOf, revisionOf } from './lists.ts';
import type { Representation } from './representation.ts';
import { isTrue } from './request.ts';
import type { ResourceRequest } from './request.ts';
import { invalidOptions, plainError, SimError } from './status.ts';
import type { Change, Storage } from './storage.ts';

/** The end of the wire that a watch writes to. */
export interface Sink {
  /** False when the client does not keep up and too much waits for it. */
  write(text: string): boolean;
  end(): void;
}

export interface WatchDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly faults: Faults;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

const bookmarkEveryMs = 60_000;
const shortestWatchSeconds = 1800;

/** Checks what can be refused before a watch begins. @throws SimError 400, 422 */
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

/** A watch passes the error of its number on as it is. */
function watchRevision(value: string | null): void {
  if (value === null || /^[0-9]*$/.test(value)) return;
  throw plainError(`resourceVersion: Invalid value: "${value}": strconv.ParseUint: parsing "${value}": invalid syntax`);
}

/**
 * One open watch: the events after a revision as they were committed, filtered as the request says, an object that leaves the selection
 * as DELETED and one that enters it as ADDED. Bookmarks, initial events and faults included. Ends itself at its timeout; `stop` ends it
 * from outside. Leaves no timer behind.
 */
export class Watch {
  readonly #deps: WatchDeps;
  readonly #request: ResourceRequest;
  readonly #show: Representation;
  readonly #sink: Sink;
  readonly #matches: (object: KubeObject) => boolean;
  readonly #faults: { next(): EventFault; opened(): EventFault };
  readonly #bookmarks: boolean;
  #timers: Timer[] = [];
  #unsubscribe: (() => void) | undefined;
  #sent = 0;
  #over = false;

  constructor(deps: WatchDeps, request: ResourceRequest, show: Representation, sink: Sink) {
    this.#deps = deps;
    this.#request = request;
    this.#show = show;
    this.#sink = sink;
    this.#matches = matcherOf(request);
    this.#faults = deps.faults.watch(request);
    this.#bookmarks = isTrue(request.query.get('allowWatchBookmarks'));
  }

  start(): void {
    const { clock, storage, random } = this.#deps;
    const { query } = this.#request;
    this.#cutIf(this.#faults.opened());
    this.#replay(revisionOf(query.get('resourceVersion')) ?? 0);
    if (this.#over) return;
    this.#unsubscribe = storage.subscribe((change) => this.#hear(change));
    const asked = Number(query.get('timeoutSeconds') ?? 0);
    const seconds = asked > 0 ? asked : shortestWatchSeconds * (1 + random.next());
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
    if (sendInitial === null ? revision === 0 : isTrue(sendInitial)) {
      for (const object of storage.list(kind.shelf, namespace)) if (this.#matches(object)) this.#send('ADDED', object);
      this.#sent = storage.revision;
      if (sendInitial !== null && this.#bookmarks) this.#bookmark(true);
      return;
    }
    try {
      for (const change of storage.since(kind.shelf, revision === 0 ? storage.revision : revision)) this.#hear(change);
      this.#sent = Math.max(this.#sent, revision);
    } catch (error) {
      if (!(error instanceof SimError)) throw error;
      this.#fail(error);
    }
  }

  #hear(change: Change): void {
    const { kind, namespace } = this.#request;
    if (this.#over || change.kind !== kind.shelf || change.revision <= this.#sent) return;
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
    else this.#fail(new SimError(500, 'InternalError', 'Internal error occurred: the watch was cut on demand'));
  }

  #fail(error: SimError): void {
    this.#write(`${JSON.stringify({ type: 'ERROR', object: error.status() })}\n`);
    this.stop();
  }

  #tick(): void {
    const timer = this.#deps.clock.timer(bookmarkEveryMs, () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
      this.#bookmark(false);
      if (!this.#over) this.#tick();
    });
    this.#timers.push(timer);
  }

  #bookmark(initialEventsEnd: boolean): void {
    // Everything up to here has been heard: listeners hear synchronously.
    this.#sent = Math.max(this.#sent, this.#deps.storage.revision);
    this.#write(`{"type":"BOOKMARK","object":${this.#show.bookmark(this.#sent, initialEventsEnd)}}\n`);
  }

  #expire(): void {
    if (this.#bookmarks) this.#bookmark(false);
    this.stop();
  }
}

/** An object that left the selection is shown as it was when it was last selected, at the revision of its leaving. */
function lastSeen(change: Change): KubeObject {
  if (change.type === 'DELETED' || change.old === undefined) return change.object;
  return withMeta(change.old, { resourceVersion: String(change.revision) });
}
