import { UsageError } from '#base';
import type { Runnable } from '#base';
import { createShadowController } from '#controller';
import { createStaticOwnership, weightings } from '#sharding';
import { algorithm, controllerConfig, groundwork, startOrder } from './groundwork.ts';
import type { WireInputs } from './groundwork.ts';

/**
 * The composition root of `run --shadow`: as {@link wire}, of parts that do not write. Ownership is arithmetic, the controller records what
 * it would do, and every client sends nothing but GET. Imports nothing that writes: test/shadow-writes-nothing.test.ts walks the imports from here.
 *
 * @throws UsageError when the clients that it is given can write.
 */
export function wireShadow(inputs: WireInputs): (readonly Runnable[])[] {
  const { config, logger } = inputs;
  // The clients' refusal is the last wall: without it this mode must not start.
  if (!config.shadow) throw new UsageError('a shadow runs with --shadow only');
  const ground = groundwork(inputs);
  const { clock, metrics } = ground.neighbours;
  const ownership = createStaticOwnership({
    clock,
    logger,
    metrics,
    algorithm: algorithm(config.shardingMethod, logger),
    hostname: config.hostname,
    shard: config.shard,
    replicas: config.replicas,
    defaultParts: config.clusterSplit,
    weighting: weightings.find((name) => name === config.clusterWeights) ?? 'applications',
  });
  const controller = createShadowController(
    { ...ground.neighbours, ownership, hub: ground.client },
    { ...controllerConfig(config, ground.namespace), disagreementMs: config.shadowGrace },
  );
  logger.info('Looking only: nothing is written, disagreements are logged and counted', {
    namespace: ground.namespace,
  });
  return startOrder(inputs, ground, { controller, ownership, others: [] });
}
