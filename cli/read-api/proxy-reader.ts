import { DriftlessError, isObject, outsideText } from '#base';
import type { Json, SecretValue } from '#base';
import { answerMessage } from '#kube';
import type { PodProxy, PodProxyAnswer, ProxiedPod } from '#kube';
import { hasReason } from './api-reader.ts';
import type { ApiReader } from './api-reader.ts';

/** The read API cannot be read; the message says why and what to do. */
export class ReadApiError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('READ_API', message, { retry: 'never', ...(cause === undefined ? {} : { cause }) });
  }
}

export interface ProxyReaderDeps {
  readonly proxy: Pick<PodProxy, 'get'>;
  /** Replicas that may answer; any of them answers for all. */
  readonly pods: readonly ProxiedPod[];
  /** For kubeconfigs without a token of their own. */
  readonly token: SecretValue | undefined;
  readonly signal: AbortSignal;
}

/** Reads pages through the API server's pod proxy, from the first replica that answers. */
export class ProxyReader implements ApiReader {
  readonly #deps: ProxyReaderDeps;
  #pods: readonly ProxiedPod[];

  constructor(deps: ProxyReaderDeps) {
    this.#deps = deps;
    this.#pods = deps.pods;
  }

  async get(path: string): Promise<unknown> {
    const failures: string[] = [];
    for (const pod of this.#pods) {
      const answer = await this.#ask(pod, path);
      if (typeof answer === 'string') failures.push(`${pod.name}: ${answer}`);
      else {
        // The next page comes from the same replica, so that it fits this one.
        this.#pods = [pod, ...this.#pods.filter((other) => other !== pod)];
        return answer.page;
      }
    }
    throw new ReadApiError(`no replica answers: ${failures.join('; ')}`);
  }

  /** The page, or why another replica has to be asked. */
  async #ask(pod: ProxiedPod, path: string): Promise<{ readonly page: unknown } | string> {
    const { proxy, token, signal } = this.#deps;
    let answer: PodProxyAnswer;
    try {
      answer = await proxy.get(pod, `/api/v1${path}`, { signal, ...(token === undefined ? {} : { token }) });
    } catch (error) {
      signal.throwIfAborted();
      return outsideText('system', error instanceof Error ? error.message : String(error));
    }
    const { status, body } = answer;
    if (status < 300) return { page: body };
    if (isOwnError(body)) return this.#ownError(status, body);
    // The API server refuses the proxy, or cannot reach the pod.
    if (status === 401)
      throw new ReadApiError(`the API server does not accept your credentials: ${answerMessage(body)}`);
    if (status === 403)
      throw new ReadApiError(`${answerMessage(body)}: you need get on pods/proxy in namespace ${pod.namespace}`);
    return answerMessage(body);
  }

  #ownError(status: number, body: Json): { readonly page: undefined } | string {
    if (status === 404 && !hasReason(body)) return { page: undefined };
    if (status === 503 || status === 429) return answerMessage(body);
    throw new ReadApiError(answerMessage(body));
  }
}

/** The error of a replica, not of an API server or a proxy between. */
function isOwnError(body: Json): boolean {
  if (!isObject(body) || body['kind'] !== 'Error') return false;
  const version = body['apiVersion'];
  return typeof version === 'string' && version.startsWith('driftless.io/');
}
