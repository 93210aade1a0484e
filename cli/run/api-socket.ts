import type { IncomingMessage } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import {
  ApiSocket,
  createApiHandler,
  fullViewer,
  hubKindsOf,
  parseLinkTemplate,
  ReadApi,
  ReplicaHistoryRecorder,
} from '#api';
import type { Caller, LinkTemplate, Peers, ProcessFacts } from '#api';
import { systemClock } from '#base';
import type { EventLoopDelay } from '#telemetry';
import { packageVersion } from '../process/root.ts';
import { debugSocketOf } from '../process/replica-paths.ts';
import type { ApiParts } from './api-parts.ts';
import { argoServerLookup } from './argo-server.ts';
import type { ReplicaInfrastructure, WireInputs } from './infrastructure.ts';
import { isInPod } from '../process/in-pod.ts';

/** The read API of a replica and its Unix socket. Nothing here writes, so a shadow has it, too. */
export interface LocalApi {
  readonly api: ReadApi;
  readonly socket: ApiSocket;
  readonly recorder: ReplicaHistoryRecorder;
}

/** @param peers the other replicas, which the API asks for their parts */
export function localApi(
  { config, logger }: WireInputs,
  {
    namespace,
    client,
    repositories,
    requestCount,
    eventLoop,
    neighbours: { settings, live, metrics },
  }: ReplicaInfrastructure,
  { controller, ownership, ready }: ApiParts,
  peers: Peers,
): LocalApi {
  const measured = measureProcess(eventLoop);
  const processFacts = (): ProcessFacts => {
    const { ok, reason } = ready();
    return { ...measured(), ready: ok, ...(reason === undefined ? {} : { reason }) };
  };
  const recorder = new ReplicaHistoryRecorder(
    { controller: controller.report, process: measured, clock: systemClock },
    systemClock,
    () => ({ apiRequests: requestCount(), watchEvents: sumOf(live.eventCounts().values()) }),
  );
  const api = new ReadApi({
    clock: systemClock,
    peers,
    facts: {
      name: config.hostname,
      version: packageVersion(),
      namespace,
      clock: systemClock,
      controller: controller.report,
      hubKinds: hubKindsOf(client, systemClock),
      ownership,
      clusters: () => settings.clusters(),
      watched: () => live.reports(),
      repositories,
      settingsProblems: () => settings.problems().filter(({ object }) => object.startsWith('ConfigMap ')),
      hasArgoServer: argoServerLookup({ namespace, clock: systemClock, isInCluster: isInPod(process.env) }),
      history: () => recorder.history(),
      links: grafanaLinks(config.dashboardGrafanaUrl),
      process: processFacts,
    },
  });
  api.exposeVerdicts(metrics);
  const socket = new ApiSocket({
    path: debugSocketOf(config),
    logger,
    uid: process.getuid?.(),
    answer: createApiHandler({ api, logger, identify: localCaller }),
  });
  return { api, socket, recorder };
}

/** Local readers may ask for pages of this moment, which cost a replica more. */
function localCaller({ headers }: IncomingMessage): Promise<Caller> {
  return Promise.resolve({
    viewer: fullViewer,
    isPeer: false,
    wantsFresh: headers['cache-control'] === 'no-cache',
  });
}

function grafanaLinks(template: string): readonly LinkTemplate[] {
  return template === '' ? [] : [parseLinkTemplate('--dashboard-grafana-url', 'Grafana', template)];
}

function sumOf(counts: Iterable<number>): number {
  return [...counts].reduce((sum, count) => sum + count, 0);
}

function measureProcess(eventLoop: EventLoopDelay): () => Omit<ProcessFacts, 'ready' | 'reason'> {
  const startedAt = systemClock.now();
  return () => {
    const { heapUsed, rss } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const eventLoopDelayMs = Math.round(eventLoop.read().p99);
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
