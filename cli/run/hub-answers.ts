import { systemClock } from '#base';
import type { KubeClientDeps } from '#kube';
import type { HubTime } from '#sharding';

/** Records the Date header of responses. */
export function hubTimeListener(hubTime: HubTime): NonNullable<KubeClientDeps['onRequest']> {
  return ({ dateMs, durationMs, code }) => {
    const answeredAt = systemClock.monotonic();
    if (code > 0) hubTime.answered({ dateMs: dateMs ?? Number.NaN, sentAt: answeredAt - durationMs, answeredAt });
  };
}

/** Records the answer of a hub in this process, which has the same clock. */
export function answeredHere(hubTime: HubTime): void {
  const answeredAt = systemClock.monotonic();
  hubTime.answered({ dateMs: systemClock.now(), sentAt: answeredAt, answeredAt });
}
