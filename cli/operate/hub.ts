import { isObject, systemClock, systemRandom, valueAt } from '#base';
import type { Clock, Json } from '#base';
import { apiResource, createKubeClient, isConflict, isForbidden, isNotFound, KubeApiError } from '#kube';
import type { KubeClient } from '#kube';
import { asApplication, asProject, projectOf } from '#model';
import type { Application, AppProjectSpec } from '#model';
import { heldSlots, parseSlots, parseTable, slotsConfigMap, tableConfigMap } from '#sharding';
import { silentLogger } from '#telemetry';
import { hubKinds, isPassing, loadConnection } from '../process/hub.ts';
import { defaultKubeconfig } from '../read-api/defaults.ts';
import { nameHint } from '../process/name-hint.ts';
import { OperateError } from './errors.ts';
import type { OperateConfig } from './options.ts';

const { applications, configMaps, projects } = hubKinds;
const selfReviews = apiResource('authentication.k8s.io/v1', 'SelfSubjectReview', 'selfsubjectreviews', 'cluster');

/** How often an Application is read where it cannot be watched. */
const pollMs = 2000;
/** Enough names to suggest one of. */
const maxNames = 5000;

export interface ApplicationName {
  readonly namespace: string;
  readonly name: string;
}

export interface HubDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly controllerNamespace: string;
  readonly signal: AbortSignal;
}

/** Runs `body` with the user's own connection to the hub, and closes it. */
export async function withHub<T>(
  config: OperateConfig,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
  body: (hub: ApplicationHub) => Promise<T>,
): Promise<T> {
  const path = config.kubeconfig === '' ? defaultKubeconfig(env) : config.kubeconfig;
  const { connection } = await loadConnection(path, config.context);
  const surroundings = { clock: systemClock, random: systemRandom, logger: silentLogger, userAgent: 'driftless-cli' };
  const client = createKubeClient(connection, surroundings);
  const { controllerNamespace } = config;
  try {
    return await body(new ApplicationHub({ client, clock: systemClock, controllerNamespace, signal }));
  } finally {
    await client.close();
  }
}

/** Applications of the hub, read and written with the rights of the user. */
export class ApplicationHub {
  readonly #deps: HubDeps;

  constructor(deps: HubDeps) {
    this.#deps = deps;
  }

  /** @throws OperateError if there is none, with the nearest names, or if it may not be read */
  async get(where: ApplicationName): Promise<Application> {
    const found = await this.find(where);
    if (found !== undefined) return found;
    const names = await this.#names(where.namespace);
    const hint = nameHint(`${where.namespace}/${where.name}`, names);
    throw new OperateError(`there is no Application ${where.namespace}/${where.name}${hint === '' ? '' : `: ${hint}`}`);
  }

  async find(where: ApplicationName): Promise<Application | undefined> {
    const { client, signal } = this.#deps;
    try {
      return asApplication(await client.get(applications, where, { signal }));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw permitted(error, 'get', where.namespace);
    }
  }

  /**
   * Merges a patch into an Application.
   * @param version of the Application that the patch was decided on; undefined: any
   * @returns undefined if the Application has changed since that version
   */
  async patch(
    where: ApplicationName,
    body: Readonly<Record<string, Json>>,
    version?: string,
  ): Promise<Application | undefined> {
    const { client, signal } = this.#deps;
    const metadata = isObject(body['metadata']) ? body['metadata'] : {};
    const guarded = version === undefined ? body : { ...body, metadata: { ...metadata, resourceVersion: version } };
    try {
      return asApplication(await client.patch(applications, where, { type: 'merge', body: guarded }, { signal }));
    } catch (error) {
      if (isConflict(error) && version !== undefined) return undefined;
      if (isNotFound(error)) throw new OperateError(`Application ${where.namespace}/${where.name} was deleted`, error);
      throw permitted(error, 'patch', where.namespace);
    }
  }

  /** Later versions of an Application, until the signal aborts; undefined: it was deleted. */
  async *follow(from: Application, signal: AbortSignal): AsyncGenerator<Application | undefined> {
    const { clock } = this.#deps;
    const { namespace = '', name = '', uid } = from.metadata;
    for (let known = from; ;) {
      try {
        yield* this.#watch(known, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!isForbidden(error) && !isPassing(error)) throw error;
        await clock.sleep(pollMs, signal);
      }
      signal.throwIfAborted();
      const now = await this.#patientFind({ namespace, name });
      if (now === 'unknown') continue;
      known = now ?? known;
      yield now?.metadata.uid === uid ? now : undefined;
    }
  }

  /** Versions after a known one, until the server ends the watch. */
  async *#watch(known: Application, signal: AbortSignal): AsyncGenerator<Application | undefined> {
    const { namespace = '', name = '', resourceVersion = '' } = known.metadata;
    const where = { signal, namespace, fieldSelector: `metadata.name=${name}`, resourceVersion };
    for await (const event of this.#deps.client.watch(applications, where)) {
      if (event.type === 'BOOKMARK') continue;
      yield event.type === 'DELETED' ? undefined : asApplication(event.object);
    }
  }

  async #patientFind(where: ApplicationName): Promise<Application | undefined | 'unknown'> {
    try {
      return await this.find(where);
    } catch (error) {
      if (isPassing(error)) return 'unknown';
      throw error;
    }
  }

  /** The user's name for the API server; empty if that does not say. */
  async username(): Promise<string> {
    const { client, signal } = this.#deps;
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} };
    try {
      const { status = null } = await client.create(selfReviews, review, { signal });
      const username = valueAt(status as Json, 'userInfo', 'username');
      return typeof username === 'string' ? username : '';
    } catch (error) {
      // Older than Kubernetes 1.28, or not permitted.
      if (error instanceof KubeApiError) return '';
      throw error;
    }
  }

  /** The project of an Application; undefined if the user may not read it. */
  async project(app: Application): Promise<AppProjectSpec | undefined> {
    const { client, signal, controllerNamespace: namespace } = this.#deps;
    try {
      return asProject(await client.get(projects, { namespace, name: projectOf(app) }, { signal })).spec;
    } catch (error) {
      if (error instanceof KubeApiError) return undefined;
      throw error;
    }
  }

  /** Replicas that own the cluster of an Application, by the published table; empty: unknown. */
  async owners({ spec: { destination } }: Application): Promise<readonly string[]> {
    const table = parseTable(await this.#configMap(tableConfigMap));
    const slots = parseSlots((await this.#configMap(slotsConfigMap)).data ?? {});
    if (table.state !== 'ok' || slots.state !== 'ok') return [];
    const server = destination.server?.replace(/\/+$/, '') ?? '';
    const entry = [...table.value.entries].find(
      ([key, { names }]) => (server !== '' && key === server) || names.includes(destination.name ?? ''),
    )?.[1];
    const holders = heldSlots(slots.value);
    return [...new Set(entry?.shards)].flatMap((shard) => holders.get(shard)?.holder ?? `no replica (shard ${shard})`);
  }

  async #configMap(name: string): Promise<Parameters<typeof parseTable>[0]> {
    const { client, signal, controllerNamespace: namespace } = this.#deps;
    try {
      return (await client.get(configMaps, { namespace, name }, { signal })) as Parameters<typeof parseTable>[0];
    } catch (error) {
      if (error instanceof KubeApiError) return {};
      throw error;
    }
  }

  /** Names of all Applications that the user may list. */
  async #names(namespace: string): Promise<readonly string[]> {
    const { client, signal } = this.#deps;
    for (const where of [{}, { namespace }]) {
      try {
        const page = await client.list(applications, { ...where, signal, limit: maxNames, metadataOnly: true });
        return page.items.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`);
      } catch (error) {
        if (!(error instanceof KubeApiError)) throw error;
      }
    }
    return [];
  }
}

/** Names the right that is missing. */
function permitted(error: unknown, verb: 'get' | 'patch', namespace: string): unknown {
  if (!isForbidden(error)) return error;
  const message = error instanceof Error ? error.message : '';
  return new OperateError(
    `${message}: you need the right to ${verb} applications.argoproj.io in namespace ${namespace}`,
    error,
  );
}
