import { defined, withDeadline } from '#base';
import type { Clock } from '#base';
import { apiResource, isConflict, isInvalid, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import type { ParseResult } from '../documents/slots-document.ts';

/** Without `delete` an immutable ConfigMap stays as it is. */
export type HubClient = Pick<KubeClient, 'get' | 'create' | 'replace'> & Partial<Pick<KubeClient, 'delete'>>;

export interface ConfigMapData {
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly binaryData?: Readonly<Record<string, unknown>> | undefined;
}

export interface ConfigMapRead<T> {
  readonly found: ParseResult<T>;
  readonly object: KubeObject | undefined;
}

const configMap = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
/** Deadline of a request. After that, a new request is more promising than a longer wait. */
const requestTimeoutMs = 5_000;

export interface HubConfigMapsDeps {
  readonly client: HubClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads and writes the ConfigMaps of ownership, with optimistic concurrency and a deadline. */
export class HubConfigMaps {
  readonly #deps: HubConfigMapsDeps;

  constructor(deps: HubConfigMapsDeps) {
    this.#deps = deps;
  }

  async read<T>(
    name: string,
    parse: (object: ConfigMapData) => ParseResult<T>,
    signal: AbortSignal,
  ): Promise<ConfigMapRead<T>> {
    const { client, namespace } = this.#deps;
    try {
      const object = await this.#limited(signal, (inner) =>
        client.get(configMap, { namespace, name }, { signal: inner }),
      );
      return { found: parse(object as ConfigMapData), object };
    } catch (error) {
      if (isNotFound(error)) return { found: { state: 'missing' }, object: undefined };
      throw error;
    }
  }

  /**
   * Replaces `base`, or creates the ConfigMap without one. `conflict`: another writer was faster,
   * or it was immutable and is deleted now. The next read finds it missing, and the rules of a
   * lost ConfigMap apply.
   */
  async write(
    name: string,
    base: KubeObject | undefined,
    content: ConfigMapData,
    signal: AbortSignal,
  ): Promise<'done' | 'conflict'> {
    const { client, namespace } = this.#deps;
    const metadata = { namespace, name };
    const fresh = { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...content };
    try {
      await this.#limited(signal, (inner) =>
        base === undefined
          ? client.create(configMap, fresh, { signal: inner })
          : client.replace(configMap, { ...base, ...content }, { signal: inner }),
      );
      return 'done';
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return 'conflict';
      if (base?.['immutable'] !== true || !isInvalid(error)) throw error;
      await this.#deleteImmutable(name, base, signal);
      return 'conflict';
    }
  }

  async #deleteImmutable(name: string, { metadata }: KubeObject, signal: AbortSignal): Promise<void> {
    const { client, namespace, logger } = this.#deps;
    const { uid, resourceVersion } = metadata;
    const preconditions = defined({ uid, resourceVersion });
    await this.#limited(signal, async (inner) => {
      await client.delete?.(configMap, { namespace, name }, { signal: inner, preconditions });
    });
    logger.warn(`deleted ConfigMap ${namespace}/${name}, which was immutable, to write it again`);
  }

  #limited<T>(signal: AbortSignal, body: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const what = 'reading or writing the ownership ConfigMaps';
    return withDeadline(signal, { clock: this.#deps.clock, limitMs: requestTimeoutMs, what }, body);
  }
}
