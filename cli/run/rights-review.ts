import { repeatUntilAborted } from '#base';
import type { Clock, Runnable } from '#base';
import { apiResource } from '#kube';
import type { KubeClient } from '#kube';
import type { Logger } from '#telemetry';
import type { HubAccess } from './hub-access.ts';

export interface RightsReviewDeps {
  readonly client: Pick<KubeClient, 'mayList'>;
  readonly access: Pick<HubAccess, 'reviewed'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const pods = apiResource('v1', 'Pod', 'pods', 'namespaced');
const intervalMs = 15_000;

/**
 * Asks the API server four times a minute whether this controller may still list Pods everywhere
 * (SelfSubjectAccessReview, which every user may create). A failed request says nothing.
 */
export class RightsReview implements Runnable {
  readonly name = 'review of rights';
  readonly #deps: RightsReviewDeps;

  constructor(deps: RightsReviewDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, access, clock, logger } = this.#deps;
    await repeatUntilAborted(signal, async () => {
      await client
        .mayList(pods, undefined, { signal })
        .then((mayList) => access.reviewed(mayList))
        .catch((error: unknown) => logger.debug('Cannot review the rights of the controller', { error }));
      await clock.sleep(intervalMs, signal);
    });
  }
}
