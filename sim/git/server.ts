import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { DriftlessError } from '#base';

/** Git's HTTP backend is missing, or the server could not be started. */
export class GitServerError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('GIT_SERVER', message, { retry: 'never', ...(cause === undefined ? {} : { cause }) });
  }
}

export interface GitServer {
  /** `http://127.0.0.1:<port>`; a bare repository `<root>/x.git` is at `<url>/x.git`. */
  readonly url: string;
  /** Number of requests for objects so far: clones and fetches, not `ls-remote`. */
  fetches(): number;
  close(): Promise<void>;
}

/**
 * Serves the bare repositories below `root`.
 * @throws GitServerError if git comes without `http-backend` (some distributions package it
 * separately).
 */
export async function startGitServer(root: string): Promise<GitServer> {
  const backend = join(await execPath(), 'git-http-backend');
  if (!existsSync(backend))
    throw new GitServerError('this git has no http-backend: install it, or use repositories by file://');
  let fetches = 0;
  const onFetch = (): void => void (fetches += 1);
  const server = createServer((request, response) => {
    serveRequest({ backend, root, onFetch }, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new GitServerError(`cannot serve repositories: ${error.message}`, error)));
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    fetches: () => fetches,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function execPath(): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('git', ['--exec-path'], (error, stdout) => {
      if (error === null) resolve(stdout.trim());
      else reject(new GitServerError('git is not on PATH: install it', error));
    });
  });
}

interface BackendOptions {
  readonly backend: string;
  readonly root: string;
  readonly onFetch: () => void;
}

/**
 * One CGI call (RFC 3875): the request in the environment and on stdin, the response with its
 * headers on stdout.
 */
function serveRequest(
  { backend, root, onFetch }: BackendOptions,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn(backend, [], {
    env: {
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_0: 'http.receivepack',
      GIT_CONFIG_VALUE_0: 'true',
      GIT_CONFIG_KEY_1: 'safe.directory',
      GIT_CONFIG_VALUE_1: '*',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.on('error', () => respondWithError(response));
  child.stdin.on('error', () => undefined);
  const body = request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request;
  body.on('error', () => child.kill());
  // The first line of protocol 2; the older one posts to this path only to fetch.
  if (url.pathname.endsWith('/git-upload-pack'))
    body.once('data', (chunk: Buffer) => {
      if (!chunk.subarray(0, 40).includes('command=ls-refs')) onFetch();
    });
  body.pipe(child.stdin);
  response.on('close', () => child.kill());
  forwardOutput(child.stdout, response);
}

function forwardOutput(stdout: NodeJS.ReadableStream, response: ServerResponse): void {
  let head = Buffer.alloc(0);
  stdout.on('data', (chunk: Buffer) => {
    if (response.headersSent) {
      response.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    writeHead(head.subarray(0, end).toString('latin1'), response);
    response.write(head.subarray(end + 4));
  });
  stdout.on('end', () => {
    if (response.headersSent) response.end();
    else respondWithError(response);
  });
}

function writeHead(text: string, response: ServerResponse): void {
  let status = 200;
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    const [name, value] = [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
    else if (colon > 0) response.setHeader(name, value);
  }
  response.writeHead(status);
}

function respondWithError(response: ServerResponse): void {
  if (!response.headersSent) response.writeHead(500);
  response.end();
}
