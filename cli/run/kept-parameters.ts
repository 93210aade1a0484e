import { isObject, messageOf, systemClock, systemRandom } from '#base';
import type { Clock } from '#base';
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

export interface ParametersDeps {
  readonly client: Pick<KubeClient, 'get'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What a start takes from the parameters, and keeps for a later one. */
export interface LoadedParameters {
  readonly variables: Parameters;
  /** Of ConfigMap driftless-settings; undefined: those that are there stay. */
  readonly keptAnnotations: Parameters | undefined;
}

/**
 * Reads the parameters of a start. Waits at most 20 s for the hub; after that the kept parameters
 * are unknown, which is logged.
 */
export async function readParameters(
  deps: ParametersDeps,
  env: ProcessEnv,
  signal: AbortSignal,
): Promise<LoadedParameters> {
  const deadline = deps.clock.monotonic() + maxStartWaitMs;
  const found = await findParameters(deps, deadline, signal);
  const kept = found.is === 'readable' ? {} : await readKept(deps, deadline, signal);
  const { variables, keep, warning } = startParameters(found, kept, env);
  if (warning !== undefined) deps.logger.error(warning, { object: `ConfigMap ${parametersConfigMap}` });
  return { variables, keptAnnotations: keep === undefined ? undefined : { [keptAnnotation]: textOf(keep) } };
}

async function findParameters(deps: ParametersDeps, deadline: number, signal: AbortSignal): Promise<FoundParameters> {
  try {
    const object = await readConfigMap(deps, parametersConfigMap, deadline, signal);
    return object === undefined ? { is: 'missing' } : { is: 'readable', data: object['data'] };
  } catch (error) {
    if (signal.aborted) throw error;
    return { is: 'unreadable', why: messageOf(error) };
  }
}

async function readKept(deps: ParametersDeps, deadline: number, signal: AbortSignal): Promise<Parameters> {
  try {
    const object = await readConfigMap(deps, keptConfigMap, deadline, signal);
    const text = object?.metadata.annotations?.[keptAnnotation] ?? '';
    return text === '' ? {} : narrowingOf(JSON.parse(text));
  } catch (error) {
    if (signal.aborted) throw error;
    const message = `ConfigMap ${keptConfigMap} cannot be read: the parameters that were last in force are not known`;
    deps.logger.error(message, { error: messageOf(error) });
    return {};
  }
}

function textOf(keep: Parameters): string {
  const keys = Object.keys(keep).toSorted();
  return keys.length === 0 ? '' : JSON.stringify(keep, keys);
}

/** Tries until the deadline. @returns undefined if the object does not exist. */
async function readConfigMap(
  { client, namespace, clock }: ParametersDeps,
  name: string,
  deadline: number,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
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

/** The parameters of this start. Only a pod has variables that come from a ConfigMap. */
export async function loadParameters(
  start: Pick<RunConfig, 'namespace' | 'shadow'> & {
    readonly hub: LoadedConnection;
    readonly env: ProcessEnv;
    readonly logger: Logger;
  },
  signal: AbortSignal,
): Promise<LoadedParameters> {
  const { hub, env, logger } = start;
  if (!isInPod(env)) return { variables: {}, keptAnnotations: undefined };
  const program = start.shadow ? 'driftless-shadow' : 'argocd-application-controller';
  const userAgent = `${program}/${packageVersion()} (driftless parameters)`;
  const shared = { clock: systemClock, random: systemRandom, logger, userAgent, readOnly: true };
  const client = createKubeClient(hub.connection, shared);
  try {
    const namespace = start.namespace === '' ? hub.namespace : start.namespace;
    return await readParameters({ ...shared, client, namespace }, env, signal);
  } finally {
    await client.close();
  }
}
