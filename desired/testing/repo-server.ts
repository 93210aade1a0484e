import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { sendUnaryData, status, ServerUnaryCall } from '@grpc/grpc-js';
import { repoServerMethods } from '../remote/protocol.ts';
import type { MethodName } from '../remote/protocol.ts';

/** A received message; missing fields have their defaults. */
export type ReceivedMessage = Readonly<Record<string, unknown>>;

/** An answer, an error with a gRPC code, or undefined to never answer. */
export type RepoServerAnswer = object | Error | undefined;

export interface RepoServerBehaviour {
  readonly credentials?: ServerCredentials;
  /** The port to reuse after a server was killed. */
  readonly port?: number;
}

/** A repo-server on its own port of 127.0.0.1. */
export interface TestRepoServer {
  readonly address: string;
  readonly port: number;
  readonly calls: { readonly method: MethodName; readonly message: ReceivedMessage }[];
  /** The peer of each call: one text per connection. */
  readonly peers: string[];
  /** The trace context of each call. */
  readonly traceparents: unknown[];
  /** Calls that were cancelled, or whose client disconnected. */
  readonly cancelled: { count: number };
  /** Its answer from now on. */
  answer: (method: MethodName, message: ReceivedMessage) => RepoServerAnswer;
  /** Ends at once, with everything under way. */
  kill(): void;
}

export const commit = 'a'.repeat(40);

/** A repo-server's answer for a source with one ConfigMap. */
export function rendered(revision = commit, ...names: readonly string[]): object {
  const manifests = (names.length === 0 ? ['one'] : names).map((name) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }),
  );
  return { manifests, revision, sourceType: 'Directory' };
}

/** An error like that of a Go server. */
export function failure(code: status, details: string): Error {
  return Object.assign(new Error(details), { code, details });
}

export async function startRepoServer(behaviour: RepoServerBehaviour = {}): Promise<TestRepoServer> {
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
  const calls: { method: MethodName; message: ReceivedMessage }[] = [];
  const peers: string[] = [];
  const traceparents: unknown[] = [];
  const cancelled = { count: 0 };
  const handler =
    (method: MethodName) =>
    (call: ServerUnaryCall<ReceivedMessage, object>, done: sendUnaryData<object>): void => {
      calls.push({ method, message: call.request });
      peers.push(call.getPeer());
      traceparents.push(call.metadata.get('traceparent')[0]);
      const answer = self.answer(method, call.request);
      // Also emitted for calls that were answered.
      call.on('cancelled', () => (cancelled.count += answer === undefined ? 1 : 0));
      if (answer instanceof Error) done(answer);
      else if (answer !== undefined) done(null, answer);
    };
  const names = Object.keys(repoServerMethods()) as MethodName[];
  server.addService(repoServerMethods(), Object.fromEntries(names.map((name) => [name, handler(name)])));
  const credentials = behaviour.credentials ?? ServerCredentials.createInsecure();
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${behaviour.port ?? 0}`, credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const self: TestRepoServer = {
    address: `127.0.0.1:${port}`,
    port,
    calls,
    peers,
    traceparents,
    cancelled,
    answer: (method) => (method === 'GenerateManifest' ? rendered() : { revision: commit }),
    kill: () => server.forceShutdown(),
  };
  return self;
}
