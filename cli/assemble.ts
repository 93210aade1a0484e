import type { Runnable } from '#base';
import { createController } from '#controller';
import { createMemoryPublisher, createRedisPublisher } from '#publish';
import type { Publisher } from '#publish';
import { createOwnership, weightings } from '#sharding';
import type { Ownership } from '#sharding';
import { algorithm, controllerConfig, groundwork, startOrder } from './groundwork.ts';
import type { Groundwork, WireInputs } from './groundwork.ts';
import { machineOf } from './home.ts';

/**
 * The composition root: constructs every object of a replica once, in the order of the layers. Returns the groups in which they start; each group waits
 * for the one before, and they stop in reverse.
 */
export function wire(inputs: WireInputs): (readonly Runnable[])[] {
  const ground = groundwork(inputs);
  const { neighbours, namespace } = ground;
  const ownership = ownershipOf(inputs, ground);
  const publisher = publisherOf(inputs, ground);
  const controller = createController(
    { ...neighbours, ownership, publisher, hub: ground.client, clients: ground.clients },
    controllerConfig(inputs.config, namespace),
  );
  return startOrder(inputs, ground, { controller, ownership, others: [publisher] });
}

function publisherOf({ redis, logger }: WireInputs, { neighbours: { clock, random, metrics } }: Groundwork): Publisher {
  return redis === undefined
    ? createMemoryPublisher()
    : createRedisPublisher(redis, { clock, random, logger, metrics });
}

function ownershipOf(
  { config }: WireInputs,
  { client, hubTime, namespace, neighbours: { clock, random, logger, metrics } }: Groundwork,
): Ownership {
  return createOwnership({
    client,
    namespace,
    clock,
    random,
    logger,
    metrics,
    algorithm: algorithm(config.shardingMethod, logger),
    dynamic: config.dynamicClusterDistribution,
    hostname: config.hostname,
    shard: config.shard,
    replicas: config.replicas,
    controllerName: config.controllerName,
    heartbeatMs: config.heartbeat,
    defaultParts: config.clusterSplit,
    ...machineOf(config.podUid),
    hubTime,
    prepares: true,
    weighting: weightings.find((name) => name === config.clusterWeights) ?? 'applications',
  });
}
