import type { Clock, Runnable } from '#base';
import { isConflict, isNotFound } from '#kube';
import type { Informer, KubeClient } from '#kube';
import { appKeyOf, asApplication, jsonOf, splitAppKey } from '#model';
import type { Application, Cluster } from '#model';
import { clusterKey } from '#sharding';
import type { Ownership } from '#sharding';
import type { Logger } from '#telemetry';
import { setConditions } from './conditions.ts';
import { applicationResource } from './resources.ts';
import { kubeTime } from './kube-time.ts';

export interface UnownedWarningsDeps {
  readonly hub: Pick<KubeClient, 'patch'>;
  readonly apps: Pick<Informer, 'list'>;
  readonly ownership: Pick<Ownership, 'unowned'>;
  readonly clusterOf: (app: Application) => Cluster | undefined;
  /** Applications that anybody would look after. */
  readonly isWanted: (app: Application) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const lookMs = 15_000;
const warning = 'UnownedClusterWarning';

/**
 * Marks the Applications of clusters that no replica looks after: their status stands still, and would go on saying Synced and Healthy
 * (argo-cd#29476). The next owner's first comparison takes the mark away.
 *
 * The one write to an Application that is not its owner's: it changes the conditions only, nobody acts on them, it is made only while there is
 * no owner, and only upon the version that was seen.
 */
export class UnownedWarnings implements Runnable {
  readonly name = 'warnings about clusters without an owner';
  readonly #deps: UnownedWarningsDeps;

  constructor(deps: UnownedWarningsDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#deps.clock.sleep(lookMs, signal);
        await this.#warn(this.#deps.ownership.unowned(), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #warn(unowned: ReadonlyMap<string, number>, signal: AbortSignal): Promise<void> {
    if (unowned.size === 0) return;
    for (const object of this.#deps.apps.list()) {
      signal.throwIfAborted();
      const app = asApplication(object);
      const server = this.#deps.clusterOf(app)?.server;
      if (server === undefined || !unowned.has(clusterKey(server)) || isMarked(app) || !this.#deps.isWanted(app))
        continue;
      // Since the look it may have got an owner.
      if (this.#deps.ownership.unowned().has(clusterKey(server))) await this.#mark(app, server, signal);
    }
  }

  async #mark(app: Application, server: string, signal: AbortSignal): Promise<void> {
    const { hub, clock, logger } = this.#deps;
    const key = appKeyOf(app);
    const message = `No replica of the application controller looks after cluster "${server}": this status is not kept up to date`;
    const conditions = setConditions(
      app.status?.conditions,
      [{ type: warning, message }],
      [warning],
      kubeTime(clock.now()),
    );
    const { resourceVersion } = app.metadata;
    const body = jsonOf({ metadata: { resourceVersion }, status: { conditions } });
    try {
      await hub.patch(applicationResource, splitAppKey(key), { type: 'merge', body }, { signal });
    } catch (error) {
      if (!signal.aborted && !isConflict(error) && !isNotFound(error))
        logger.warn('cannot mark an application whose cluster has no owner', { application: key, error });
    }
  }
}

function isMarked({ status }: Application): boolean {
  return status?.conditions?.some(({ type }) => type === warning) ?? false;
}
