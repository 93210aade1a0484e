import { status } from '@grpc/grpc-js';
import type { Client, ClientUnaryCall, ServiceError } from '@grpc/grpc-js';
import { isObject, outsideText } from '#base';
import type { Clock } from '#base';
import { RepoServerError } from '../errors.ts';
import type { Connections } from './connections.ts';
import type { Message } from './messages.ts';
import { methodOf } from './protocol.ts';
import type { MethodName } from './protocol.ts';

export interface RepoServerClientDeps {
  readonly clock: Clock;
  readonly connections: Connections;
  readonly address: string;
  /** Time for one attempt; 0: as long as it takes. */
  readonly timeoutMs: number;
}

/** As Argo CD's client: three attempts, a second between them. */
const attempts = 3;
const pauseMs = 1000;
const longestReason = 8192;
/** Node's HTTP/2 drops a message that ends with a space, as some of Argo CD's do. */
const unreadable = 'the repo-server gave no reason that could be read here: its log has it';

/** Calls the repo-server: with a deadline, again when it was not there, and with errors as Argo CD words them. */
export class RepoServerClient {
  readonly #deps: RepoServerClientDeps;
  readonly #calls = new Set<ClientUnaryCall>();
  #stopped: Error | undefined;

  constructor(deps: RepoServerClientDeps) {
    this.#deps = deps;
  }

  /** Ends what is under way, and lets nothing more begin. */
  stop(reason: Error): void {
    this.#stopped = reason;
    for (const call of this.#calls) call.cancel();
  }

  /**
   * @param secrets what an error must not show
   * @throws RepoServerError, or the signal's reason; the call ends with the signal
   */
  async call<T>(name: MethodName, message: Message, secrets: () => readonly string[], signal: AbortSignal): Promise<T> {
    const { clock, connections } = this.#deps;
    for (let attempt = 1; ; attempt += 1) {
      this.#throwIfEnded(signal);
      try {
        const once = (client: Client): Promise<object> => this.#once(client, name, message, signal);
        return (await connections.use(once, (error) => !signal.aborted && isLost(error))) as T;
      } catch (error) {
        this.#throwIfEnded(signal);
        if (!isServiceError(error)) throw error;
        if (attempt === attempts || !isTransient(error)) throw this.#asError(error, secrets());
        await clock.sleep(pauseMs, signal);
      }
    }
  }

  #throwIfEnded(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  #once(client: Client, name: MethodName, message: Message, signal: AbortSignal): Promise<object> {
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
      const call = client.makeUnaryRequest(path, requestSerialize, responseDeserialize, message, options, done);
      this.#calls.add(call);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #asError({ code, details }: ServiceError, secrets: readonly string[]): RepoServerError {
    const { address } = this.#deps;
    const said = outsideText('rpc', details, { hidden: secrets }).slice(0, longestReason) || unreadable;
    switch (code) {
      case status.DEADLINE_EXCEEDED:
        return new RepoServerError('DeadlineExceeded', 'context deadline exceeded');
      case status.UNAVAILABLE:
      case status.CANCELLED:
        return new RepoServerError('Unavailable', `connection error: desc = "${plain(said)}": repo-server ${address}`);
      case status.RESOURCE_EXHAUSTED:
        return new RepoServerError('ResourceExhausted', isTooBig(details) ? tooBig(said) : said);
      default:
        return new RepoServerError(codeNames[code] ?? 'Unknown', said);
    }
  }
}

/** Go's names of the codes. */
const codeNames: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(status)
    .filter((entry): entry is [string, status] => typeof entry[1] === 'number')
    .map(([name, code]) => [
      code,
      name.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase()),
    ]),
);

function isServiceError(error: unknown): error is ServiceError {
  return isObject(error) && typeof error['code'] === 'number' && typeof error['details'] === 'string';
}

/** Nobody cancels a call but we: one that ends so was torn off. */
function isLost(error: unknown): boolean {
  return isServiceError(error) && (error.code === status.UNAVAILABLE || error.code === status.CANCELLED);
}

function isTransient(error: ServiceError): boolean {
  return isLost(error) || (error.code === status.RESOURCE_EXHAUSTED && !isTooBig(error.details));
}

/** Without the names of those in the library who passed the error on. */
function plain(details: string): string {
  return details
    .replace(/^round_robin: /, '')
    .replace(/^(?:No connection established\. Last error: )+/, '')
    .replace(/\.? ?Resolution note: *$/, '');
}

/** This limit is our own, or the server's for us: another attempt meets it again. */
function isTooBig(details: string): boolean {
  return /larger than (?:max|\d)/i.test(details);
}

function tooBig(said: string): string {
  return `grpc: ${said}: raise ARGOCD_GRPC_MAX_SIZE_MB of the controller and of the repo-server`;
}
