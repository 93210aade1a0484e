import type { Clock, Timer } from '#base';
import type { ResourceKey } from '#model';
import type { NodeStore } from './node-store.ts';
import type { StoredNode } from './node.ts';
import type { LiveChange } from './types.ts';

/** How long changes are gathered before they are told. */
export const defaultBatchMs = 50;

interface Pending {
  readonly apps: Map<string, { managed: boolean }>;
  readonly namespace: string;
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
 * it happens) and those after it (looked up when the batch is told: by then the owners that arrived later are there too).
 */
export class ChangeBatch {
  readonly #deps: ChangeBatchDeps;
  readonly #pending = new Map<ResourceKey, Pending>();
  #timer: Timer | undefined;

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
    const pending = this.#pending.get(node.key) ?? { apps: new Map(), namespace: node.namespace };
    this.#pending.set(node.key, pending);
    merge(pending.apps, before);
    this.#timer ??= this.#deps.clock.timer(this.#deps.batchMs, () => this.#flush());
  }

  /** Drops what was gathered. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pending.clear();
  }

  #flush(): void {
    this.#timer = undefined;
    const batch = [...this.#pending];
    this.#pending.clear();
    for (const [key, { apps, namespace }] of batch) {
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
