import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newAbortController } from '#base';
import type { Clock } from '#base';
import { listen } from '#telemetry';

export interface ApplicationRow {
  readonly name: string;
  readonly cluster: string;
  readonly sync: string;
  readonly health: string;
  readonly revision: string;
  readonly operation: string;
  readonly message: string;
}

export interface ReplicaRow {
  readonly name: string;
  readonly state: string;
  readonly clusters: readonly string[];
  readonly restarts: number;
}

export interface DashboardState {
  readonly applications: readonly ApplicationRow[];
  readonly replicas: readonly ReplicaRow[];
  /** Lines of advice shown below the tables. */
  readonly hints: readonly string[];
}

export interface DashboardSource {
  state(): Promise<DashboardState>;
}

export interface RunningDashboard {
  readonly url: string;
  close(): Promise<void>;
}

export interface DashboardOptions {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly source: DashboardSource;
  /** Folder with index.html. */
  readonly assets: string;
}

const pollIntervalMs = 500;
/**
 * Placeholder in the page for the state at the time of the request, so that the page shows data at
 * once.
 */
const initialState = '/* initial state */ null';

/**
 * Serves the page, `/state` (JSON) and `/events` (server-sent events, one per change of the state).
 * @throws ListenError if the port is taken.
 */
export async function startDashboard(options: DashboardOptions): Promise<RunningDashboard> {
  const listeners = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    void answerRequest(options, listeners, request.url ?? '/', response);
  });
  const port = await listen(server, 'the dashboard', options.host, options.port);
  const stop = newAbortController();
  const pushing = pushChanges(options, listeners, stop.signal);
  return {
    url: `http://${options.host}:${port}`,
    close: async () => {
      stop.abort();
      await pushing;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answerRequest(
  options: DashboardOptions,
  listeners: Set<ServerResponse>,
  url: string,
  response: ServerResponse,
): Promise<void> {
  try {
    if (url === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write(serverSentEvent(JSON.stringify(await options.source.state())));
      listeners.add(response);
      response.on('close', () => listeners.delete(response));
    } else if (url === '/state') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(await options.source.state()));
    } else if (url === '/') {
      const page = await readFile(join(options.assets, 'index.html'), 'utf8');
      const state = JSON.stringify(await options.source.state()).replaceAll('<', '\\u003c');
      const filled = page.replace(initialState, () => state);
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(filled);
    } else response.writeHead(404).end('not found\n');
  } catch {
    if (!response.headersSent) response.writeHead(500);
    response.end();
  }
}

/** Checks the state twice a second while clients are connected, and sends it when it changed. */
async function pushChanges(
  options: DashboardOptions,
  listeners: ReadonlySet<ServerResponse>,
  signal: AbortSignal,
): Promise<void> {
  let last = '';
  while (!signal.aborted) {
    const text = listeners.size > 0 ? await options.source.state().then(JSON.stringify, () => last) : last;
    if (text !== last) broadcast(listeners, serverSentEvent(text));
    last = text;
    await options.clock.sleep(pollIntervalMs, signal).catch(() => undefined);
  }
}

function broadcast(listeners: ReadonlySet<ServerResponse>, message: string): void {
  for (const response of listeners) response.write(message);
}

function serverSentEvent(text: string): string {
  return `data: ${text}\n\n`;
}
