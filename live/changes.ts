import type { Clock, Timer } from '#base';
import type { ResourceKey } from '#model';
import { Budgets } from './budgets.ts';
import type { ChattyObject } from './budgets.ts';
import type { NodeStore } from './node-store.ts';
import type { StoredNode } from './node.ts';
import type { LiveChange } from './types.ts';

/** How long changes are gathered before they are told. */
export const defaultBatchMs = 50;

interface Pending {
  readonly apps: Map<string, { managed: boolean }>;
  readonly namespace: string;
  /** When it may be told. */
  dueAt: number;
}

export interface ChangeBatchDeps {
  readonly server: string;
  readonly store: NodeStore;
  readonly clock: Clock;
  readonly batchMs: number;
  readonly emit: (change: LiveChange) => void;
}

/**
 * Gathers changes of objects and tells each object once per batch. The applications that a change concerns are those before it (noted when
 * it happens) and those after it (looked up when the batch is told: by then the owners that arrived later are there too). An object that
 * changes too often is told less often ({@link Budgets}); that it comes or goes is told like anything else.
 */
export class ChangeBatch {
  readonly #deps: ChangeBatchDeps;
  readonly #pending = new Map<ResourceKey, Pending>();
  readonly #budgets = new Budgets();
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(deps: ChangeBatchDeps) {
    this.#deps = deps;
  }

  /** Applications that `node` concerns, to pass to `changed` after the store has changed. */
  concerned(node: StoredNode | undefined): ReadonlyMap<string, { readonly managed: boolean }> {
    const apps = new Map<string, { managed: boolean }>();
    if (node === undefined) return apps;
    for (const app of this.#deps.store.appsOf(node)) apps.set(app, { managed: node.app === app });
    return apps;
  }

  /** `before`: from `concerned`, taken before the store changed. */
  changed(node: StoredNode, before: ReadonlyMap<string, { readonly managed: boolean }>): void {
    // Endpoints change with every probe of every Pod, and no application is better for knowing.
    if (node.kind === 'Endpoints' && node.group === '') return;
    const { store, clock, batchMs } = this.#deps;
    const now = clock.monotonic();
    const isGone = store.get(node.key) === undefined;
    const pending = this.#pending.get(node.key) ?? { apps: new Map(), namespace: node.namespace, dueAt: now + batchMs };
    if (isGone) {
      this.#budgets.forget(node.key);
      pending.dueAt = Math.min(pending.dueAt, now + batchMs);
    } else {
      const isMore = this.#pending.has(node.key);
      const delayMs = this.#budgets.delayOf(node.key, now, isMore);
      if (!isMore) pending.dueAt = now + Math.max(batchMs, delayMs);
    }
    this.#pending.set(node.key, pending);
    merge(pending.apps, before);
    this.#wake(pending.dueAt);
  }

  /** Objects that change too often, and are told less often for it. */
  chatty(): readonly ChattyObject[] {
    return this.#budgets.chatty(this.#deps.clock.monotonic());
  }

  #wake(at: number): void {
    if (at >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    const { clock } = this.#deps;
    this.#timer = clock.timer(Math.max(0, at - clock.monotonic()), () => this.#flush());
  }

  /** Drops what was gathered. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#pending.clear();
  }

  #flush(): void {
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#deps.clock.monotonic();
    const batch = [...this.#pending].filter(([, { dueAt }]) => dueAt <= now);
    for (const [key] of batch) this.#pending.delete(key);
    for (const { dueAt } of this.#pending.values()) this.#wake(dueAt);
    for (const [key, { apps, namespace }] of batch) {
      this.#budgets.told(key, now);
      merge(apps, this.concerned(this.#deps.store.get(key)));
      const orphan = apps.size === 0 && namespace !== '' ? { orphanNamespace: namespace } : {};
      if (apps.size > 0 || namespace !== '') this.#deps.emit({ server: this.#deps.server, key, apps, ...orphan });
    }
  }
}

function merge(
  into: Map<string, { managed: boolean }>,
  from: ReadonlyMap<string, { readonly managed: boolean }>,
): void {
  for (const [app, { managed }] of from) into.set(app, { managed: managed || into.get(app)?.managed === true });
}
