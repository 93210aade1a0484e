import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { listen } from '#telemetry';
import type { DashboardFiles } from './files.ts';

export interface RunningDashboard {
  readonly url: string;
  close(): Promise<void>;
}

export interface DashboardOptions {
  readonly host: string;
  readonly port: number;
  readonly files: DashboardFiles;
  /** Answers the requests of the read API. */
  readonly api: RequestListener;
}

/** Names of this machine. Another one in the Host header is a page that rebound its own name. */
const localHost = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/**
 * Serves the page and the read API without a token, over HTTP, for the demo: on loopback only.
 * @throws ListenError if the port is taken.
 */
export async function startDashboard({ host, port, files, api }: DashboardOptions): Promise<RunningDashboard> {
  const server = createServer((request, response) => {
    if (!localHost.test(request.headers.host ?? '')) response.writeHead(403).end('open the page by its address\n');
    else if ((request.url ?? '').startsWith('/api/')) api(request, response);
    else answerFile(files, request, response);
  });
  const opened = await listen(server, 'the dashboard', host, port);
  return {
    url: `http://${host}:${opened}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerFile(files: DashboardFiles, { url = '/' }: IncomingMessage, response: ServerResponse): void {
  const file = files(url.split('?', 1)[0] ?? '/');
  if (file === undefined) response.writeHead(404).end('not found\n');
  else response.writeHead(200, { ...file.headers, 'content-encoding': 'gzip' }).end(file.gzip);
}
