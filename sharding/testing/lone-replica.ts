import { seededRandom } from '#base';
import { PromMetrics, silentLogger } from '#telemetry';
import type { OwnershipDeps } from '../ownership/ownership.ts';
import type { MachineClock } from './virtual-time.ts';

/** Dependencies of the only replica of a StatefulSet, in virtual time. */
export function loneReplica(
  client: OwnershipDeps['client'],
  machine: MachineClock,
  heartbeatMs: number,
  more: Partial<OwnershipDeps> = {},
): OwnershipDeps {
  return {
    client,
    namespace: 'argocd',
    clock: machine,
    random: seededRandom(1),
    logger: silentLogger,
    metrics: new PromMetrics(),
    algorithm: 'legacy',
    dynamic: false,
    hostname: 'ctl-0',
    replicas: 0,
    heartbeatMs,
    controllerName: 'argocd-application-controller',
    bootMs: () => machine.boot(),
    ...more,
  };
}
