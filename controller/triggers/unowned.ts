import { repeatUntilAborted } from '#base';
import type { Clock, Runnable } from '#base';
import { isConflict, isNotFound } from '#kube';
import type { Informer, KubeClient } from '#kube';
import { appKeyOf, appLogFields, appNameOf, asApplication, jsonOf } from '#model';
import type { Application, ApplicationCondition, Cluster } from '#model';
import type { Ownership } from '#sharding';
import type { Logger } from '#telemetry';
import { setConditions } from '../shared/conditions.ts';
import { applicationResource } from '../shared/resources.ts';
import { kubeTime, parseTime } from '../shared/kube-time.ts';

export interface UnownedWarningsDeps {
  readonly hub: Pick<KubeClient, 'patch'>;
  readonly apps: Pick<Informer, 'list'>;
  readonly ownership: Pick<Ownership, 'isUnowned' | 'unowned'>;
  readonly clusterOf: (app: Application) => Cluster | undefined;
  /** Whether any replica would own the Application. */
  readonly isWanted: (app: Application) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const unownedCheckMs = 15_000;
/** A step that takes longer than this means a frozen process: what it knows of owners is as old. */
const maxStepMs = 5000;
const unownedCondition = 'UnownedClusterWarning';

/**
 * Marks the Applications of clusters, or of parts of them, without an owner: their status is
 * frozen, and would keep showing Synced and Healthy (argo-cd#29476). The next owner's first
 * comparison removes the mark.
 *
 * The only write to an Application by a replica that does not own it. It changes only a condition
 * that nothing acts on, only while there is no owner, and only against the version that was read.
 */
export class UnownedWarnings implements Runnable {
  readonly name = 'warnings about clusters without an owner';
  readonly #deps: UnownedWarningsDeps;
  /** When the oldest mark of a cluster without an owner was written (wall time). */
  #markedAt = Number.POSITIVE_INFINITY;
  /** When the current step began: a sleep, or a write. */
  #stepAt = 0;

  constructor(deps: UnownedWarningsDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, ownership } = this.#deps;
    await repeatUntilAborted(signal, async () => {
      this.#stepAt = clock.monotonic();
      await clock.sleep(unownedCheckMs, signal);
      if (!this.#wasFrozen(unownedCheckMs)) await this.#warn(ownership.unowned().size > 0, signal);
    });
  }

  /** For how long the cluster that waits longest has had no owner; marks outlive replicas. */
  unownedMs(): number {
    const unowned = this.#deps.ownership.unowned();
    return unowned.size === 0 ? 0 : Math.max(0, ...unowned.values(), this.#deps.clock.now() - this.#markedAt);
  }

  async #warn(isAnyUnowned: boolean, signal: AbortSignal): Promise<void> {
    const { ownership } = this.#deps;
    this.#markedAt = Number.POSITIVE_INFINITY;
    if (!isAnyUnowned) return;
    for (const object of this.#deps.apps.list()) {
      signal.throwIfAborted();
      const app = asApplication(object);
      const cluster = this.#deps.clusterOf(app);
      // Asked for each: the part may have got an owner in the meantime.
      const isUnowned = cluster !== undefined && ownership.isUnowned(appKeyOf(app), cluster);
      if (!isUnowned || !this.#deps.isWanted(app)) continue;
      const mark = unownedMark(app);
      if (mark !== undefined) {
        this.#markedAt = Math.min(this.#markedAt, parseTime(mark.lastTransitionTime) ?? Number.POSITIVE_INFINITY);
        continue;
      }
      await this.#mark(app, cluster.server, signal);
      if (this.#wasFrozen(0)) return;
    }
  }

  /** Whether the step that ends now took much longer than expected. */
  #wasFrozen(expectedMs: number): boolean {
    const begin = this.#stepAt;
    this.#stepAt = this.#deps.clock.monotonic();
    return this.#stepAt - begin > expectedMs + maxStepMs;
  }

  async #mark(app: Application, server: string, signal: AbortSignal): Promise<void> {
    const { hub, clock, logger } = this.#deps;
    const message = `No replica of the application controller owns cluster "${server}": this status is not updated`;
    const conditions = setConditions(
      app.status?.conditions,
      [{ type: unownedCondition, message }],
      [unownedCondition],
      kubeTime(clock.now()),
    );
    const { resourceVersion } = app.metadata;
    const body = jsonOf({ metadata: { resourceVersion }, status: { conditions } });
    try {
      await hub.patch(applicationResource, appNameOf(app), { type: 'merge', body }, { signal });
    } catch (error) {
      if (!signal.aborted && !isConflict(error) && !isNotFound(error))
        logger.warn('cannot mark an Application whose cluster has no owner', { ...appLogFields(app), error });
    }
  }
}

function unownedMark({ status }: Application): ApplicationCondition | undefined {
  return status?.conditions?.find(({ type }) => type === unownedCondition);
}
