import { UsageError } from '#base';
import type { Runnable } from '#base';
import { createShadowController } from '#controller';
import { createStaticOwnership, clusterWeightings } from '#sharding';
import { localApi } from './api-socket.ts';
import { shardingAlgorithm, controllerConfig, createInfrastructure, startOrder } from './infrastructure.ts';
import type { WireInputs } from './infrastructure.ts';

/**
 * The composition root of `run --shadow`, without parts that write: ownership is computed, the
 * controller records planned writes, and every client is read-only. test/shadow-writes-
 * nothing.test.ts walks the imports from here.
 *
 * @throws UsageError if the clients could write.
 */
export function wireShadow(inputs: WireInputs): (readonly Runnable[])[] {
  const { config, logger } = inputs;
  // Read-only clients are the last line of defense: do not start without them.
  if (!config.shadow) throw new UsageError('the shadow controller needs --shadow');
  const infrastructure = createInfrastructure(inputs);
  const { clock, metrics } = infrastructure.neighbours;
  const ownership = createStaticOwnership({
    clock,
    logger,
    metrics,
    algorithm: shardingAlgorithm(config.shardingMethod, logger),
    hostname: config.hostname,
    shard: config.shard,
    replicas: config.replicas,
    defaultParts: config.clusterSplit === 'auto' ? 'auto' : Number(config.clusterSplit),
    weighting: clusterWeightings.find((name) => name === config.clusterWeights) ?? 'applications',
  });
  const controller = createShadowController(
    { ...infrastructure.neighbours, ownership, hub: infrastructure.client },
    { ...controllerConfig(config, infrastructure.namespace), disagreementMs: config.shadowGrace },
  );
  logger.info('Running as a shadow: nothing is written, disagreements are logged and counted', {
    namespace: infrastructure.namespace,
  });
  return startOrder(inputs, infrastructure, {
    controller,
    ownership,
    others: [],
    // The checks of the read API's callers are writes, so a shadow has its socket only.
    api: (parts) => {
      const { socket, recorder } = localApi(inputs, infrastructure, parts, () => []);
      return [socket, recorder];
    },
  });
}
