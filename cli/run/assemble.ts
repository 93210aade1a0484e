import { join } from 'node:path';
import { ApiServer, PeerDirectory, TokenAccess } from '#api';
import { systemClock } from '#base';
import type { Runnable } from '#base';
import { createController } from '#controller';
import { dashboardFiles } from '#dashboard';
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
import { packageRoot } from '../process/root.ts';
import type { ApiParts } from './api-parts.ts';
import { localApi } from './api-socket.ts';
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

/** The read API of this replica: its socket, and its port if it has one. */
function readApi(inputs: WireInputs, infrastructure: ReplicaInfrastructure, parts: ApiParts): readonly Runnable[] {
  const { config, logger, api: listener } = inputs;
  const { ownership } = parts;
  const directory = new PeerDirectory({ name: config.hostname, ownership, certificate: listener?.certificate });
  const { api, socket, recorder } = localApi(inputs, infrastructure, parts, directory.peers);
  if (listener === undefined) return [socket, recorder];
  const access = new TokenAccess({ client: infrastructure.client, clock: systemClock, logger });
  const server = new ApiServer(
    {
      api,
      access,
      logger,
      certificate: listener.certificate,
      peerFingerprints: () => directory.fingerprints(),
      files: config.dashboard ? dashboardFiles(join(packageRoot(), 'dist', 'dashboard', 'page')) : undefined,
    },
    listener,
  );
  return [socket, recorder, server];
}
