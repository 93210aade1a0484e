import { createMergePatch } from '#base';
import { KubeApiError } from '#kube';
import type { Patch } from '#kube';
import { annotations, jsonOf } from '#model';
import type { AppKey, Application } from '#model';
import type { JsonObject } from '#base';
import { refreshAnnotation, removeRequestPatch } from '../application/refresh-annotation.ts';
import { hydrateAnnotation } from './hydrate-annotation.ts';
import type { HydrateAnnotation } from './hydrate-annotation.ts';
import { hydrationStatusOf } from './hydration-status.ts';
import type { HydrationStatus } from './hydration-status.ts';

export interface HydrationWritesDeps {
  readonly get: (key: AppKey) => Application | undefined;
  readonly patch: (app: Application, patch: Patch, leader: Application) => Promise<Application | undefined>;
  /** Our own write has made a refresh necessary: no event reports it. */
  readonly refresh: (key: AppKey) => void;
  readonly now: () => number;
}

/** Writes of a group's owner: `status.sourceHydrator` and the requests in annotations. */
export class HydrationWrites {
  readonly #deps: HydrationWritesDeps;

  constructor(deps: HydrationWritesDeps) {
    this.#deps = deps;
  }

  /** Stores what `next` changes; nothing if it is equal, or if the Application is gone. */
  async status(key: AppKey, leader: Application, next: (status: HydrationStatus) => HydrationStatus): Promise<void> {
    await this.#write(key, leader, next, {});
  }

  /** Also requests a refresh, which compares and syncs the new commit. */
  async statusAndRefresh(
    key: AppKey,
    leader: Application,
    next: (status: HydrationStatus) => HydrationStatus,
  ): Promise<void> {
    const app = this.#deps.get(key);
    const type = app === undefined ? undefined : refreshAnnotation(app)?.type;
    const requested = {
      [annotations.refresh]: type ?? 'normal',
      [annotations.refreshTimestamp]: new Date(this.#deps.now()).toISOString(),
    };
    await this.#write(key, leader, next, { metadata: { annotations: requested } });
    this.#deps.refresh(key);
  }

  async #write(
    key: AppKey,
    leader: Application,
    next: (status: HydrationStatus) => HydrationStatus,
    more: JsonObject,
  ): Promise<void> {
    const app = this.#deps.get(key);
    if (app === undefined) return;
    const before = hydrationStatusOf(app);
    const change = createMergePatch(jsonOf(before) as JsonObject, jsonOf(next(before)) as JsonObject);
    if (change === undefined && Object.keys(more).length === 0) return;
    const body = { ...more, ...(change === undefined ? {} : { status: { sourceHydrator: change } }) };
    await this.#deps.patch(app, { type: 'merge', body }, leader);
  }

  /** Removes the answered request. A newer one, with another time, stays and is answered next. */
  async answer(key: AppKey, leader: Application, asked: HydrateAnnotation | undefined): Promise<void> {
    const app = this.#deps.get(key);
    if (asked === undefined || app === undefined) return;
    const now = hydrateAnnotation(app);
    if (now?.value !== asked.value || now.timestamp !== asked.timestamp) return;
    try {
      await this.#deps.patch(app, { type: 'json', body: removeRequestPatch('hydrate', asked) }, leader);
    } catch (error) {
      if (!(error instanceof KubeApiError) || error.status !== 422) throw error;
    }
  }
}
