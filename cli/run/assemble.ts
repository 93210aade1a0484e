import type { Runnable } from '#base';
import { createController } from '#controller';
import { createDiscardingPublisher, createRedisPublisher } from '#publish';
import type { Publisher } from '#publish';
import { createSettingsWriter } from '#settings';
import { createOwnership, clusterWeightings } from '#sharding';
import type { Ownership } from '#sharding';
import {
  shardingAlgorithm,
  controllerConfig,
  createInfrastructure,
  hydrationCommitter,
  startOrder,
} from './infrastructure.ts';
import type { ReplicaInfrastructure, WireInputs } from './infrastructure.ts';
import { readApi } from './read-api.ts';
import { machineOf } from './process-location.ts';

/**
 * The composition root: constructs every object of a replica once, in the order of the layers.
 * Returns start groups: each starts when the previous one is ready, and they stop in reverse.
 */
export function wire(inputs: WireInputs): (readonly Runnable[])[] {
  const infrastructure = createInfrastructure(inputs, createSettingsWriter);
  const { neighbours, namespace } = infrastructure;
  const ownership = ownershipOf(inputs, infrastructure);
  const publisher = publisherOf(inputs, infrastructure);
  const controller = createController(
    {
      ...neighbours,
      ownership,
      publisher,
      hub: infrastructure.client,
      eventHub: infrastructure.eventClient,
      clients: infrastructure.clients,
      connect: infrastructure.connect,
      committer: hydrationCommitter(inputs, neighbours),
    },
    controllerConfig(inputs.config, namespace),
  );
  return startOrder(inputs, infrastructure, {
    controller,
    ownership,
    others: [publisher],
    api: (parts) => readApi(inputs, infrastructure, parts),
  });
}

function publisherOf(
  { redis, logger }: WireInputs,
  { neighbours: { clock, random, metrics } }: ReplicaInfrastructure,
): Publisher {
  return redis === undefined
    ? createDiscardingPublisher()
    : createRedisPublisher(redis, { clock, random, logger, metrics });
}

function ownershipOf(
  { config, api }: WireInputs,
  { client, hubTime, namespace, neighbours: { clock, random, logger, metrics } }: ReplicaInfrastructure,
): Ownership {
  return createOwnership({
    client,
    namespace,
    clock,
    random,
    logger,
    metrics,
    algorithm: shardingAlgorithm(config.shardingMethod, logger),
    dynamic: config.dynamicClusterDistribution,
    hostname: config.hostname,
    shard: config.shard,
    replicas: config.replicas,
    controllerName: config.controllerName,
    heartbeatMs: config.heartbeat,
    defaultParts: config.clusterSplit === 'auto' ? 'auto' : Number(config.clusterSplit),
    ...machineOf(config.podUid),
    hubTime,
    api: api?.published,
    prepares: true,
    findsOthers: true,
    weighting: clusterWeightings.find((name) => name === config.clusterWeights) ?? 'applications',
  });
}
