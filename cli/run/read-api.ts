import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import {
  ApiServer,
  createApiHandler,
  fullViewer,
  PeerDirectory,
  ReadApi,
  ReplicaHistoryRecorder,
  TokenAccess,
} from '#api';
import type { ProcessFacts } from '#api';
import { systemClock } from '#base';
import type { Runnable } from '#base';
import { dashboardFiles } from '#dashboard';
import { DebugSocket, ListenError } from '#telemetry';
import { debugSocketOf } from '../debug/debug-paths.ts';
import type { ApiParts } from './api-parts.ts';
import { packageRoot, packageVersion } from '../process/root.ts';
import type { ReplicaInfrastructure, WireInputs } from './infrastructure.ts';

type WatchedClusters = ReplicaInfrastructure['neighbours']['live'];

/** The read API of this replica: its socket, and its port if it has one. */
export function readApi(
  { config, logger, api: listener }: WireInputs,
  { namespace, client, repositories, requestCount, neighbours: { settings, live } }: ReplicaInfrastructure,
  { controller, ownership, ready, state }: ApiParts,
): readonly Runnable[] {
  const directory = new PeerDirectory({ name: config.hostname, ownership, certificate: listener?.certificate });
  const measured = measureProcess();
  const processFacts = (): ProcessFacts => {
    const { ok, reason } = ready();
    return { ...measured(), ready: ok, ...(reason === undefined ? {} : { reason }) };
  };
  const recorder = new ReplicaHistoryRecorder(
    { controller: controller.report, process: processFacts, clock: systemClock },
    systemClock,
    () => ({ apiRequests: requestCount(), watchEvents: watchEventsOf(live.reports()) }),
  );
  const api = new ReadApi({
    clock: systemClock,
    peers: directory.peers,
    facts: {
      name: config.hostname,
      version: packageVersion(),
      namespace,
      clock: systemClock,
      controller: controller.report,
      ownership,
      clusters: () => settings.clusters(),
      watched: () => live.reports(),
      repositories,
      history: () => recorder.history(),
      process: processFacts,
    },
  });
  const local = { viewer: fullViewer, isPeer: false };
  const socket = new DebugSocket({
    path: debugSocketOf(config),
    logger,
    uid: process.getuid?.(),
    state,
    answer: createApiHandler({ api, logger, identify: () => Promise.resolve(local) }),
  });
  if (listener === undefined) return [socket, recorder];
  const access = new TokenAccess({ client, clock: systemClock, logger });
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
  return [socket, recorder, tolerating(server, logger)];
}

function watchEventsOf(reports: ReturnType<WatchedClusters['reports']>): number {
  return reports.reduce((sum, { kinds }) => sum + kinds.reduce((all, { events }) => all + events, 0), 0);
}

/** A port that cannot be opened costs the API and its peers, not the controller. */
function tolerating(server: ApiServer, logger: WireInputs['logger']): Runnable {
  return {
    name: server.name,
    run: async (signal) => {
      try {
        await server.run(signal);
      } catch (error) {
        if (!(error instanceof ListenError)) throw error;
        logger.warn('The read API is not served over the network; set --api-port', { error });
      }
    },
  };
}

const delayResolutionMs = 20;

function measureProcess(): () => Omit<ProcessFacts, 'ready' | 'reason'> {
  const startedAt = systemClock.now();
  const delays = monitorEventLoopDelay({ resolution: delayResolutionMs });
  delays.enable();
  return () => {
    const { heapUsed, rss } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const eventLoopDelayMs = Math.round(delays.percentile(99) / 1e6);
    return {
      startedAt,
      heapBytes: heapUsed,
      heapLimitBytes: getHeapStatistics().heap_size_limit,
      rssBytes: rss,
      cpuMs: Math.round((user + system) / 1000),
      eventLoopDelayMs,
    };
  };
}
