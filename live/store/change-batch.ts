import type { Clock, ClockTimer } from '#base';
import type { ResourceKey } from '#model';
import { ChangeRateLimiter } from './change-rate-limiter.ts';
import type { ChattyObject } from './change-rate-limiter.ts';
import { QuietApplications } from './quiet-applications.ts';
import type { NodeStore } from './node-store.ts';
import type { StoredNode } from '../objects/stored-node.ts';
import type { LiveChange } from '../types.ts';

interface PendingChange {
  readonly apps: Map<string, { managed: boolean }>;
  readonly namespace: string;
  /** Earliest time to emit it. */
  dueAt: number;
}

export interface ChangeBatchDeps {
  readonly server: string;
  readonly store: NodeStore;
  readonly clock: Clock;
  readonly batchMs: number;
  readonly emit: (change: LiveChange) => void;
  /** Called after each batch with the time that its events took and their number. */
  readonly onProcessed?: (durationMs: number, events: number) => void;
}

/**
 * Emits the first change of quiet Applications at once ({@link QuietApplications}), collects those
 * that follow, and emits one event per object and batch. Affected Applications are those before the
 * change (recorded with it) and those after it (resolved when the event is emitted, because owners
 * may arrive later than their children). Objects that change too often are throttled ({@link
 * ChangeRateLimiter}), except for their creation and deletion.
 */
export class ChangeBatch {
  readonly #deps: ChangeBatchDeps;
  readonly #pending = new Map<ResourceKey, PendingChange>();
  readonly #limiter = new ChangeRateLimiter();
  readonly #quiet = new QuietApplications();
  #timer: ClockTimer | undefined;
  /** Watch events since the last batch, and the time that they took. */
  #events = 0;
  #eventMs = 0;
  #timerAt = Number.POSITIVE_INFINITY;
  #isStopped = false;

  constructor(deps: ChangeBatchDeps) {
    this.#deps = deps;
  }

  /**
   * Applications affected by a node. Call it before changing the store, and pass the result to
   * `record`.
   */
  affectedApps(node: StoredNode | undefined): ReadonlyMap<string, { readonly managed: boolean }> {
    const apps = new Map<string, { managed: boolean }>();
    if (node === undefined) return apps;
    for (const app of this.#deps.store.appsOf(node)) apps.set(app, { managed: node.app === app });
    return apps;
  }

  /** @param before the result of `affectedApps` before the store changed. */
  record(node: StoredNode, before: ReadonlyMap<string, { readonly managed: boolean }>): void {
    // Endpoints change with every readiness probe, and are irrelevant to Applications.
    if (node.kind === 'Endpoints' && node.group === '') return;
    const { store, clock } = this.#deps;
    const now = clock.monotonic();
    const current = store.get(node.key);
    const batchedAt = now + this.#gatherMs(current, before, now);
    const pending = this.#pending.get(node.key) ?? { apps: new Map(), namespace: placeOf(node), dueAt: batchedAt };
    if (current === undefined) {
      this.#limiter.forget(node.key);
      pending.dueAt = Math.min(pending.dueAt, batchedAt);
    } else {
      const isMore = this.#pending.has(node.key);
      const delayMs = this.#limiter.delayOf(node.key, now, isMore);
      if (!isMore) pending.dueAt = Math.max(batchedAt, now + delayMs);
    }
    this.#pending.set(node.key, pending);
    merge(pending.apps, before);
    this.#wake(pending.dueAt);
  }

  /** Emits at once a change of no object: the kind in the key is fresh again. */
  emitKind(key: ResourceKey, apps: Iterable<string>): void {
    const { emit, server } = this.#deps;
    emit({ server, key, apps: new Map([...apps].map((app) => [app, { managed: true }])) });
  }

  /** How long a change is collected: not at all if one of its Applications was quiet. */
  #gatherMs(node: StoredNode | undefined, before: ReadonlyMap<string, unknown>, now: number): number {
    const after = node === undefined ? [] : this.#deps.store.appsOf(node);
    return this.#quiet.noteChange([...before.keys(), ...after], now) ? 0 : this.#deps.batchMs;
  }

  /** Counts a watch event, and the time that it took, in the next batch. */
  processed(durationMs: number): void {
    const { clock, batchMs } = this.#deps;
    this.#events += 1;
    this.#eventMs += durationMs;
    this.#wake(clock.monotonic() + batchMs);
  }

  /** Objects whose changes are throttled. */
  chatty(): readonly ChattyObject[] {
    return this.#limiter.chatty(this.#deps.clock.monotonic());
  }

  isThrottled(key: ResourceKey): boolean {
    return this.#limiter.isThrottled(key);
  }

  #wake(at: number): void {
    if (this.#isStopped || at >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    const { clock } = this.#deps;
    this.#timer = clock.timer(Math.max(0, at - clock.monotonic()), () => this.#flush());
  }

  /** Drops pending changes and those of writes that are answered later. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#pending.clear();
  }

  #flush(): void {
    const started = this.#deps.clock.monotonic();
    this.#emitDue();
    if (this.#events > 0)
      this.#deps.onProcessed?.(this.#eventMs + this.#deps.clock.monotonic() - started, this.#events);
    this.#events = 0;
    this.#eventMs = 0;
  }

  #emitDue(): void {
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#deps.clock.monotonic();
    const batch = [...this.#pending].filter(([, { dueAt }]) => dueAt <= now);
    for (const [key] of batch) this.#pending.delete(key);
    for (const { dueAt } of this.#pending.values()) this.#wake(dueAt);
    for (const [key, { apps, namespace }] of batch) {
      this.#limiter.noteEmitted(key, now);
      merge(apps, this.affectedApps(this.#deps.store.get(key)));
      const orphan = apps.size === 0 && namespace !== '' ? { orphanNamespace: namespace } : {};
      if (apps.size > 0 || namespace !== '') this.#deps.emit({ server: this.#deps.server, key, apps, ...orphan });
    }
  }
}

/** The namespace of an object, and of a Namespace itself. */
function placeOf({ group, kind, namespace, name }: StoredNode): string {
  return kind === 'Namespace' && group === '' ? name : namespace;
}

function merge(
  into: Map<string, { managed: boolean }>,
  from: ReadonlyMap<string, { readonly managed: boolean }>,
): void {
  for (const [app, { managed }] of from) into.set(app, { managed: managed || into.get(app)?.managed === true });
}
