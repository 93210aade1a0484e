import { join } from 'node:path';
import { ApiServer, PeerDirectory, TokenAccess } from '#api';
import { systemClock } from '#base';
import type { Runnable } from '#base';
import { dashboardFiles } from '#dashboard';
import { packageRoot } from '../process/root.ts';
import type { ApiParts } from './api-parts.ts';
import { localApi } from './api-socket.ts';
import type { ReplicaInfrastructure, WireInputs } from './infrastructure.ts';

/** The read API of this replica: its socket, and its port if it has one. */
export function readApi(
  inputs: WireInputs,
  infrastructure: ReplicaInfrastructure,
  parts: ApiParts,
): readonly Runnable[] {
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
