import { execFileSync, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface GitServerOptions {
  /** Folder whose subfolders are the repositories. */
  readonly root: string;
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Required credentials. */
  readonly login?: { readonly username: string; readonly password: string };
  /** Address to listen on, by default loopback. */
  readonly host?: string;
}

export interface GitServer {
  readonly url: string;
  /** Numbers of served and of refused requests. */
  readonly counts: { served: number; refused: number };
  close(): Promise<void>;
}

/** Starts git's own HTTP backend, read-only, over http or https. */
export async function startGitServer({ root, tls, login, host = '127.0.0.1' }: GitServerOptions): Promise<GitServer> {
  const program = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  const expected = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const counts = { served: 0, refused: 0 };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (expected !== undefined && request.headers.authorization !== expected) {
      counts.refused += 1;
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end('who are you?');
      return;
    }
    counts.served += 1;
    const child = spawn(program, [], { env: environmentOf(request, root), stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.on('error', () => undefined);
    request.pipe(child.stdin);
    child.once('error', () => response.writeHead(500).end());
    answer(child.stdout, response);
  };
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host}:${(server.address() as AddressInfo).port}`,
    counts,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function environmentOf(request: IncomingMessage, root: string): Record<string, string> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const header = (name: string): string => String(request.headers[name] ?? '');
  return {
    PATH: process.env['PATH'] ?? '',
    // The repositories belong to this user, whatever HOME is.
    HOME: root,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    REQUEST_METHOD: request.method ?? 'GET',
    PATH_INFO: pathname,
    QUERY_STRING: search.slice(1),
    CONTENT_TYPE: header('content-type'),
    CONTENT_LENGTH: header('content-length'),
    HTTP_CONTENT_ENCODING: header('content-encoding'),
    GIT_PROTOCOL: header('git-protocol'),
  };
}

/** A CGI program prints headers, an empty line, and the body. */
function answer(output: NodeJS.ReadableStream, response: ServerResponse): void {
  let head = Buffer.alloc(0);
  let begun = false;
  output.on('data', (chunk: Buffer) => {
    if (begun) {
      response.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    begun = true;
    let status = 200;
    for (const line of head.subarray(0, end).toString().split('\r\n')) {
      const [name = '', value = ''] = line.split(': ', 2);
      if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.writeHead(status);
    response.write(head.subarray(end + 4));
  });
  output.on('end', () => {
    if (!begun) response.writeHead(500);
    // Real servers send a body with an error.
    response.end(response.statusCode === 404 ? 'no such repository' : undefined);
  });
}
