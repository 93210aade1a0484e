import { untilAborted } from '#base';
import type { Runnable } from '#base';
import type { Informer } from '#kube';
import { appKeyOf, asApplication, isReconcileSkipped } from '#model';
import type { AppKey, Application } from '#model';
import type { WorkQueue } from '#queues';
import type { Ownership } from '#sharding';
import type { HydrationIndex } from './hydration-index.ts';
import { hydratedApplication } from './hydrator-spec.ts';

export interface HydrationTriggersDeps {
  readonly apps: Informer;
  /** A project decides who may hydrate, and so who leads a group. */
  readonly projects: Pick<Informer, 'onEvent'>;
  readonly index: HydrationIndex;
  readonly ownership: Pick<Ownership, 'onChange'>;
  readonly queue: Pick<WorkQueue<AppKey, undefined>, 'add' | 'addRateLimited' | 'drop'>;
  readonly isWatched: (namespace: string) => boolean;
  /** Whether this replica hydrates the group of an Application. */
  readonly leads: (key: AppKey) => boolean;
}

/**
 * Routes events to the queue of Applications that may need hydration: those of the groups that this
 * replica leads, whichever replica owns the Applications.
 */
export class HydrationTriggers implements Runnable {
  readonly name = 'hydration triggers';
  readonly #deps: HydrationTriggersDeps;

  constructor(deps: HydrationTriggersDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { apps, projects, ownership } = this.#deps;
    const stops = [
      projects.onEvent(() => this.#lookAtAll()),
      apps.onEvent(({ type, object }) => this.#onApp(type === 'deleted', asApplication(object))),
      ownership.onChange(() => this.#lookAtAll()),
    ];
    for (const object of apps.list()) this.#onApp(false, asApplication(object));
    await untilAborted(signal);
    for (const stop of stops) stop();
  }

  #onApp(isDeleted: boolean, app: Application): void {
    const { index, queue, isWatched, leads } = this.#deps;
    const key = appKeyOf(app);
    const before = index.groupOf(key);
    const isLeft =
      isDeleted || app.metadata.deletionTimestamp !== undefined || isReconcileSkipped(app.metadata.annotations);
    const one = isLeft || !isWatched(app.metadata.namespace ?? '') ? undefined : hydratedApplication(app);
    if (one === undefined) {
      index.delete(key);
      queue.drop(key);
    } else index.set(one);
    if (one !== undefined && leads(key)) queue.addRateLimited(key);
    // A group whose first Application left or joined may be led by this replica now.
    const after = index.groupOf(key);
    for (const group of before === after ? [] : [before, after]) if (group !== undefined) this.#look(group);
  }

  #lookAtAll(): void {
    const { index, leads, queue } = this.#deps;
    for (const key of index.keys()) if (leads(key)) queue.add(key);
  }

  /** One Application is enough: it brings its group. */
  #look(group: string): void {
    const { index, leads, queue } = this.#deps;
    const [first] = index.members(group);
    if (first !== undefined && leads(first)) queue.add(first);
  }
}
