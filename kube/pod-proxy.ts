import { isObject, outsideText, parseJson, SecretValue, withDeadline } from '#base';
import type { Clock, Json } from '#base';
import type { ClusterConnection } from '#model';
import type { Logger } from '#telemetry';
import type { RunCommand } from './credentials/command-types.ts';
import { credentialSource } from './credentials/credentials.ts';
import type { Credential, CredentialSource } from './credentials/credentials.ts';
import { runChild } from './credentials/run-command.ts';
import { KubeProtocolError, KubeSizeError } from './errors.ts';
import { defaultLimits } from './requests/exchange.ts';
import { Transport } from './transport/transport.ts';

export interface ProxiedPod {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface PodProxyAnswer {
  readonly status: number;
  /** The JSON of the body; for a body that is none: `{"message": …}` with its first characters. */
  readonly body: Json;
}

export interface PodProxyDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly userAgent: string;
  readonly runCommand?: RunCommand;
}

const deadlineMs = 15_000;
const maxBodyBytes = 64 * 1024 * 1024;

/**
 * Reads pages of a pod over HTTPS through the API server (`pods/proxy`). The API server removes the
 * caller's Authorization header, so the token travels in `X-Driftless-Token` as well; nothing else
 * of the kubeconfig leaves for the pod.
 */
export class PodProxy {
  readonly #connection: ClusterConnection;
  readonly #deps: PodProxyDeps;
  readonly #transport: Transport;
  readonly #credentials: CredentialSource;

  constructor(connection: ClusterConnection, deps: PodProxyDeps) {
    const { clock, logger, runCommand = runChild } = deps;
    this.#connection = connection;
    this.#deps = deps;
    this.#transport = new Transport(connection, {
      ...defaultLimits,
      clock,
      connections: 2,
      http2: false,
      readOnly: false,
    });
    this.#credentials = credentialSource(connection, { clock, logger, runCommand });
  }

  /**
   * @param path of the page, with query
   * @param token for the pod; undefined: the bearer token of this connection, if it has one
   * @throws KubeConnectionError, KubeSizeError, DeadlineExceeded
   */
  get(
    pod: ProxiedPod,
    path: string,
    options: { readonly signal: AbortSignal; readonly token?: SecretValue },
  ): Promise<PodProxyAnswer> {
    const { namespace, name, port } = pod;
    const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/https:${encodeURIComponent(name)}:${port}/proxy`;
    const what = `reading ${path} of pod ${namespace}/${name}`;
    return withDeadline(options.signal, { clock: this.#deps.clock, limitMs: deadlineMs, what }, async (signal) => {
      const credential = await this.#credentials.current(signal);
      const token = options.token ?? bearerTokenOf(credential);
      const headers = {
        accept: 'application/json',
        'user-agent': this.#deps.userAgent,
        ...(token === undefined ? {} : { 'x-driftless-token': token.reveal() }),
      };
      const request = { method: 'GET', path: place + path, headers, signal } as const;
      const { status, body } = await this.#transport.call(request, credential);
      return { status, body: await this.#readBody(body, what) };
    });
  }

  /**
   * A token of a ServiceAccount for ten minutes (TokenRequest), for kubeconfigs without a token.
   * @throws KubeProtocolError with the API server's message if it refuses
   */
  serviceAccountToken(namespace: string, name: string, signal: AbortSignal): Promise<SecretValue> {
    const what = `requesting a token of ServiceAccount ${namespace}/${name}`;
    return withDeadline(signal, { clock: this.#deps.clock, limitMs: deadlineMs, what }, (inner) =>
      this.#requestToken(
        `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}/token`,
        inner,
      ),
    );
  }

  async #requestToken(path: string, signal: AbortSignal): Promise<SecretValue> {
    const credential = await this.#credentials.current(signal);
    const headers = { 'content-type': 'application/json', 'user-agent': this.#deps.userAgent };
    const body = JSON.stringify({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600 },
    });
    const answer = await this.#transport.call({ method: 'POST', path, headers, body, signal }, credential);
    const found = await this.#readBody(answer.body, path);
    const status = isObject(found) ? found['status'] : undefined;
    const token = isObject(status) ? status['token'] : undefined;
    if (answer.status < 300 && typeof token === 'string') return new SecretValue(token);
    throw new KubeProtocolError(`POST ${this.#connection.server}${path}`, answerMessage(found));
  }

  hasToken(signal: AbortSignal): Promise<boolean> {
    return this.#credentials.current(signal).then((credential) => bearerTokenOf(credential) !== undefined);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #readBody(body: AsyncIterable<Uint8Array>, what: string): Promise<Json> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of body) {
      bytes += part.length;
      if (bytes > maxBodyBytes) throw KubeSizeError.of('document', what, bytes, maxBodyBytes);
      parts.push(part);
    }
    const text = Buffer.concat(parts).toString('utf8');
    try {
      return parseJson(text);
    } catch {
      return { message: outsideText('page', text) };
    }
  }
}

/** The message of a Kubernetes Status or of an error of the read API. */
export function answerMessage(body: Json): string {
  const message = isObject(body) ? body['message'] : undefined;
  return typeof message === 'string' && message !== '' ? outsideText('server', message) : 'it gives no reason';
}

function bearerTokenOf({ authorization }: Credential): SecretValue | undefined {
  const [scheme, token] = authorization?.reveal().split(' ', 2) ?? [];
  return scheme === 'Bearer' && token !== undefined ? new SecretValue(token) : undefined;
}
