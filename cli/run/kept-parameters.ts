import { isObject, messageOf, systemClock, systemRandom, untilAborted } from '#base';
import type { Clock, Runnable } from '#base';
import { apiResource, createKubeClient, isForbidden, isNotFound } from '#kube';
import type { KubeClient, LoadedConnection } from '#kube';
import type { KubeObject } from '#model';
import { keptConfigMap } from '#settings';
import type { Logger } from '#telemetry';
import type { OptionSpec } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import type { RunConfig } from '../options/run-options.ts';
import { isInPod } from '../process/in-pod.ts';
import { packageVersion } from '../process/root.ts';

const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
const parametersConfigMap = 'argocd-cmd-params-cm';
const keptAnnotation = 'driftless.io/kept-parameters';

const attemptMs = 5000;
/** A start does not wait longer for the parameters. */
const maxStartWaitMs = 20_000;
const startRetryMs = 1000;
const minRetryMs = 1000;
const maxRetryMs = 60_000;

type Parameters = Readonly<Record<string, string>>;
type ProcessEnv = Readonly<Record<string, string | undefined>>;

/** The variable of each key of argocd-cmd-params-cm that narrows what is written or trusted. */
export const narrowingParameters: ReadonlyMap<string, string> = new Map(
  Object.values(runOptions as Readonly<Record<string, OptionSpec>>).flatMap(({ narrows, key, env }) =>
    narrows === true && env !== undefined && key?.startsWith('P:') === true ? [[key.slice(2), env] as const] : [],
  ),
);

/** argocd-cmd-params-cm as a start finds it. */
export type FoundParameters =
  | { readonly is: 'readable'; readonly data: unknown }
  | { readonly is: 'missing' }
  | { readonly is: 'unreadable'; readonly why: string };

export interface StartParameters {
  /** Variables to add to the environment. */
  readonly variables: Parameters;
  /** The parameters to keep for a later start; undefined: keep those that are kept. */
  readonly keep: Parameters | undefined;
  /** Set if the parameters are not those of the ConfigMap. */
  readonly warning: string | undefined;
}

/**
 * Decides which narrowing parameters a start uses. Kubernetes starts a container without the
 * variables of a ConfigMap that is missing, so the kept parameters take their place; a key that an
 * edit removed is not kept. A variable of the environment is never replaced.
 */
export function startParameters(found: FoundParameters, kept: Parameters, env: ProcessEnv): StartParameters {
  const inForce = found.is === 'readable' ? narrowingOf(found.data) : kept;
  const variables = Object.fromEntries(
    Object.entries(inForce).flatMap(([key, value]) => {
      const name = narrowingParameters.get(key);
      return name === undefined || (env[name] ?? '') !== '' ? [] : [[name, value]];
    }),
  );
  if (found.is === 'readable') return { variables, keep: inForce, warning: undefined };
  return { variables, keep: undefined, warning: warningOf(found, Object.keys(kept)) };
}

function warningOf(found: Exclude<FoundParameters, { is: 'readable' }>, kept: readonly string[]): string | undefined {
  if (found.is === 'missing' && kept.length === 0) return undefined;
  const state = found.is === 'missing' ? 'is missing' : `cannot be read (${found.why})`;
  const effect =
    kept.length === 0
      ? 'parameters that narrow what is written are those of the environment only'
      : `the last values of ${kept.toSorted().join(', ')} stay in force; to give them up, create it, also without data`;
  return `ConfigMap ${parametersConfigMap} ${state}: ${effect}`;
}

function narrowingOf(data: unknown): Parameters {
  const entries = Object.entries(isObject(data) ? data : {});
  const isNarrowing = ([key, value]: (typeof entries)[number]): boolean =>
    narrowingParameters.has(key) && typeof value === 'string' && value !== '';
  return Object.fromEntries(entries.filter(isNarrowing)) as Parameters;
}

function keptOf(object: KubeObject | undefined): Parameters {
  try {
    return narrowingOf(JSON.parse(object?.metadata.annotations?.[keptAnnotation] ?? '{}'));
  } catch {
    return {};
  }
}

export interface KeptParametersDeps {
  readonly client: Pick<KubeClient, 'get' | 'replace'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether it only reads, as a shadow does. */
  readonly readOnly: boolean;
}

/**
 * Keeps the narrowing parameters of argocd-cmd-params-cm as an annotation of ConfigMap
 * driftless-settings, so that a restart while argocd-cmd-params-cm is missing does not forget them.
 * `load` comes first; `run` writes once, when the other settings are kept, and only what changed.
 */
export class KeptParameters implements Runnable {
  readonly name = 'kept-parameters';
  readonly #deps: KeptParametersDeps;
  #keep: Parameters | undefined;

  constructor(deps: KeptParametersDeps) {
    this.#deps = deps;
  }

  /**
   * The variables to add to the environment. Waits at most 20 s for the hub; after that the kept
   * parameters are unknown, which is logged.
   */
  async load(env: ProcessEnv, signal: AbortSignal): Promise<Parameters> {
    const deadline = this.#deps.clock.monotonic() + maxStartWaitMs;
    const found = await this.#find(deadline, signal);
    const kept = found.is === 'readable' ? {} : keptOf(await this.#kept(deadline, signal));
    const { variables, keep, warning } = startParameters(found, kept, env);
    this.#keep = keep;
    if (warning !== undefined) this.#deps.logger.error(warning, { object: `ConfigMap ${parametersConfigMap}` });
    return variables;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, readOnly } = this.#deps;
    let retryMs = minRetryMs;
    try {
      while (!readOnly && this.#keep !== undefined && !(await this.#write(this.#keep, signal))) {
        await clock.sleep(retryMs, signal);
        retryMs = Math.min(maxRetryMs, 2 * retryMs);
      }
      await untilAborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #find(deadline: number, signal: AbortSignal): Promise<FoundParameters> {
    try {
      const object = await this.#read(parametersConfigMap, deadline, signal);
      return object === undefined ? { is: 'missing' } : { is: 'readable', data: object['data'] };
    } catch (error) {
      if (signal.aborted) throw error;
      return { is: 'unreadable', why: messageOf(error) };
    }
  }

  async #kept(deadline: number, signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.#read(keptConfigMap, deadline, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const message = `ConfigMap ${keptConfigMap} cannot be read: the parameters that were last in force are not known`;
      this.#deps.logger.error(message, { error: messageOf(error) });
      return undefined;
    }
  }

  /** Tries until the deadline. @returns undefined if the object does not exist. */
  async #read(name: string, deadline: number, signal: AbortSignal): Promise<KubeObject | undefined> {
    const { client, namespace, clock } = this.#deps;
    for (;;) {
      try {
        return await client.get(configMaps, { namespace, name }, { signal, deadlineMs: attemptMs });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (signal.aborted || isForbidden(error) || clock.monotonic() + startRetryMs >= deadline) throw error;
      }
      await clock.sleep(startRetryMs, signal);
    }
  }

  /** Returns false if it must be tried again. */
  async #write(keep: Parameters, signal: AbortSignal): Promise<boolean> {
    const { client, namespace, logger } = this.#deps;
    const options = { signal, deadlineMs: attemptMs };
    try {
      // Created by the settings store; without its hash it would count as unreadable settings.
      const object = await client.get(configMaps, { namespace, name: keptConfigMap }, options);
      const text = JSON.stringify(keep, Object.keys(keep).toSorted());
      if ((object.metadata.annotations?.[keptAnnotation] ?? '{}') === text) return true;
      const annotations = { ...object.metadata.annotations, [keptAnnotation]: text };
      await client.replace(configMaps, { ...object, metadata: { ...object.metadata, annotations } }, options);
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      if (!isNotFound(error)) logger.debug('The parameters in force are not kept yet', { error: messageOf(error) });
      return false;
    }
  }
}

/**
 * Starts a replica with the parameters in force, and keeps them while it runs. Only a pod has
 * variables that come from a ConfigMap.
 */
export async function withKeptParameters(
  start: {
    readonly config: RunConfig;
    readonly hub: LoadedConnection;
    readonly env: ProcessEnv;
    readonly logger: Logger;
  },
  signal: AbortSignal,
  run: (env: ProcessEnv, keeping: readonly Runnable[]) => Promise<void>,
): Promise<void> {
  const { config, hub, env, logger } = start;
  if (!isInPod(env)) {
    await run(env, []);
    return;
  }
  const userAgent = `argocd-application-controller/${packageVersion()} (driftless parameters)`;
  const shared = { clock: systemClock, random: systemRandom, logger, userAgent, readOnly: config.shadow };
  const client = createKubeClient(hub.connection, shared);
  try {
    const namespace = config.namespace === '' ? hub.namespace : config.namespace;
    const kept = new KeptParameters({ ...shared, client, namespace });
    await run({ ...env, ...(await kept.load(env, signal)) }, [kept]);
  } finally {
    await client.close();
  }
}
