import type { Client, ClientUnaryCall, ServiceError, Metadata } from '@grpc/grpc-js';
import { isObject, outsideText } from '#base';
import type { Clock } from '#base';
import { noTracer } from '#telemetry';
import type { Span, Tracer } from '#telemetry';
import { RepoServerError } from '../errors.ts';
import type { ConnectionPool } from './connections.ts';
import type { ProtoMessage } from './messages.ts';
import { codeName, grpc } from './grpc.ts';
import { methodOf } from './protocol.ts';
import type { MethodName } from './protocol.ts';

export interface RepoServerClientDeps {
  readonly clock: Clock;
  readonly connections: ConnectionPool;
  readonly address: string;
  /** Deadline of one attempt; 0 means none. */
  readonly timeoutMs: number;
  readonly tracer?: Tracer | undefined;
}

/** A method and its message. */
interface MethodCall {
  readonly name: MethodName;
  readonly message: ProtoMessage;
}

/** Argo CD's client makes three attempts, a second apart. */
const maxAttempts = 3;
const retryDelayMs = 1000;
const maxReasonLength = 8192;
/** Node's HTTP/2 drops messages that end with a space, as some of Argo CD's do. */
const unreadableReason = 'the repo-server returned no readable reason: see its log';

/**
 * Calls the repo-server with a deadline, retries when it is unavailable, and reports errors with
 * Argo CD's texts.
 */
export class RepoServerClient {
  readonly #deps: RepoServerClientDeps;
  readonly #calls = new Set<ClientUnaryCall>();
  #stopped: Error | undefined;

  constructor(deps: RepoServerClientDeps) {
    this.#deps = deps;
  }

  /** Cancels calls in flight and refuses new ones. */
  stop(reason: Error): void {
    this.#stopped = reason;
    for (const call of this.#calls) call.cancel();
  }

  /**
   * @param secrets texts that an error must not contain
   * @throws RepoServerError, or the signal's reason; the call ends with the signal
   */
  async call<T>(
    name: MethodName,
    message: ProtoMessage,
    secrets: () => readonly string[],
    signal: AbortSignal,
  ): Promise<T> {
    const { clock, connections, tracer = noTracer } = this.#deps;
    const spanName = `repository.RepoServerService/${name}`;
    for (let attempt = 1; ; attempt += 1) {
      this.#throwIfEnded(signal);
      try {
        const once = (client: Client): Promise<object> =>
          tracer.span(spanName, rpcAttributes, (span) => this.#once(client, { name, message }, span, signal));
        return (await connections.use(once, (error) => !signal.aborted && isLost(error))) as T;
      } catch (error) {
        this.#throwIfEnded(signal);
        if (!isServiceError(error)) throw error;
        if (attempt === maxAttempts || !isTransient(error)) throw this.#asError(error, secrets());
        await clock.sleep(retryDelayMs, signal);
      }
    }
  }

  #throwIfEnded(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  #once(client: Client, { name, message }: MethodCall, span: Span, signal: AbortSignal): Promise<object> {
    // The request may have ended while the connection was opened.
    this.#throwIfEnded(signal);
    const { path, requestSerialize, responseDeserialize } = methodOf(name);
    const { clock, timeoutMs } = this.#deps;
    const options = timeoutMs > 0 ? { deadline: clock.now() + timeoutMs } : {};
    return new Promise((resolve, reject) => {
      const onAbort = (): void => call.cancel();
      const done = (error: ServiceError | null, answer?: object): void => {
        signal.removeEventListener('abort', onAbort);
        this.#calls.delete(call);
        if (error === null) resolve(answer ?? {});
        else reject(error);
      };
      const metadata = metadataOf(span);
      const serializers = [requestSerialize, responseDeserialize] as const;
      const call = client.makeUnaryRequest(path, ...serializers, message, metadata, options, done);
      this.#calls.add(call);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #asError({ code, details }: ServiceError, secrets: readonly string[]): RepoServerError {
    const { address, timeoutMs } = this.#deps;
    const reason = outsideText('rpc', details, { hidden: secrets }).slice(0, maxReasonLength) || unreadableReason;
    switch (code) {
      case grpc().status.DEADLINE_EXCEEDED:
        return new RepoServerError(
          'DeadlineExceeded',
          `context deadline exceeded: repo-server ${address} did not answer within ${timeoutMs / 1000} s`,
        );
      case grpc().status.UNAVAILABLE:
      case grpc().status.CANCELLED:
        return new RepoServerError(
          'Unavailable',
          `connection error: desc = "${withoutPrefixes(reason)}": repo-server ${address}`,
        );
      case grpc().status.RESOURCE_EXHAUSTED:
        return new RepoServerError('ResourceExhausted', isTooBig(details) ? tooBig(reason) : reason);
      default:
        return new RepoServerError(codeName(code), reason);
    }
  }
}

const rpcAttributes = { 'rpc.system': 'grpc' };

/** The repo-server continues the trace. */
function metadataOf({ traceparent }: Span): Metadata {
  const metadata = new (grpc().Metadata)();
  if (traceparent !== undefined) metadata.set('traceparent', traceparent);
  return metadata;
}

function isServiceError(error: unknown): error is ServiceError {
  return isObject(error) && typeof error['code'] === 'number' && typeof error['details'] === 'string';
}

/** Only we cancel calls, so any other cancellation means a lost connection. */
function isLost(error: unknown): boolean {
  return isServiceError(error) && (error.code === grpc().status.UNAVAILABLE || error.code === grpc().status.CANCELLED);
}

function isTransient(error: ServiceError): boolean {
  return isLost(error) || (error.code === grpc().status.RESOURCE_EXHAUSTED && !isTooBig(error.details));
}

/** Removes the prefixes that the gRPC library adds. */
function withoutPrefixes(details: string): string {
  return details
    .replace(/^round_robin: /, '')
    .replace(/^(?:No connection established\. Last error: )+/, '')
    .replace(/\.? ?Resolution note: *$/, '');
}

/** Reports a message beyond our limit or the server's; a retry would fail again. */
function isTooBig(details: string): boolean {
  return /larger than (?:max|\d)/i.test(details);
}

function tooBig(reason: string): string {
  return `grpc: ${reason}: raise ARGOCD_GRPC_MAX_SIZE_MB of the controller and of the repo-server`;
}
