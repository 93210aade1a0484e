import type { ApiAnswer, ApiRequest } from '#support';

/** The answers in a scenario so far, the newest last. */
export type SeenAnswers = readonly ApiAnswer[];

type RequestSource = ApiRequest | ((seen: SeenAnswers) => ApiRequest);

/** A request, and which part of its answer is compared. */
export interface ScenarioCall {
  readonly kind: 'call';
  readonly ask: RequestSource;
  /** The request is repeated until this holds, for asynchronous effects. The last answer counts. */
  readonly until?: (answer: ApiAnswer) => boolean;
  /** The part of the body that is compared, by default all of it. */
  readonly show?: (body: Record<string, unknown>) => unknown;
  /** The answer is not compared: the call is only a preparation. */
  readonly silent?: boolean;
}

/** A watch: its first `events` events, or fewer if the server ends it earlier. */
export interface ScenarioWatch {
  readonly kind: 'watch';
  readonly ask: RequestSource;
  readonly events: number;
  /** How long to wait for the events. Short where fewer come. */
  readonly limitMs: number;
  /** Calls that are made while the watch is open. */
  readonly during?: readonly ScenarioCall[];
}

/** Drops the server's history, as etcd's compaction does every few minutes. */
export interface ScenarioCompaction {
  readonly kind: 'compact';
}

export type ScenarioStep = ScenarioCall | ScenarioWatch | ScenarioCompaction;

/**
 * Requests in a new namespace, which is `{ns}` in paths and bodies. recorded/ has the answers of a
 * real server.
 */
export interface ConformanceScenario {
  readonly name: string;
  readonly steps: readonly ScenarioStep[];
}

export function scenario(name: string, steps: readonly ScenarioStep[]): ConformanceScenario {
  return { name, steps };
}

type CallExtras = Omit<ScenarioCall, 'kind' | 'ask'> & Omit<Partial<ApiRequest>, 'method' | 'path' | 'body'>;

function call(
  method: string,
  path: string | ((seen: SeenAnswers) => string),
  body: unknown,
  extra: CallExtras,
): ScenarioCall {
  const { until, show, silent, ...request } = extra;
  const what = (seen: SeenAnswers): ApiRequest => {
    const given: unknown = typeof body === 'function' ? (body as (seen: SeenAnswers) => unknown)(seen) : body;
    const asked = typeof path === 'function' ? path(seen) : path;
    return { method, path: asked, ...(given === undefined ? {} : { body: given }), ...request };
  };
  return {
    kind: 'call',
    ask: what,
    ...(until === undefined ? {} : { until }),
    ...(show === undefined ? {} : { show }),
    ...(silent === undefined ? {} : { silent }),
  };
}

type PathSource = string | ((seen: SeenAnswers) => string);

export const get = (path: PathSource, extra: CallExtras = {}): ScenarioCall => call('GET', path, undefined, extra);
export const post = (path: PathSource, body: unknown, extra: CallExtras = {}): ScenarioCall =>
  call('POST', path, body, extra);
export const put = (path: PathSource, body: unknown, extra: CallExtras = {}): ScenarioCall =>
  call('PUT', path, body, extra);
export const remove = (path: PathSource, body?: unknown, extra: CallExtras = {}): ScenarioCall =>
  call('DELETE', path, body, extra);

export const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export const patch = (
  type: keyof typeof patchTypes,
  path: PathSource,
  body: unknown,
  extra: CallExtras = {},
): ScenarioCall => call('PATCH', path, body, { contentType: patchTypes[type], ...extra });

export const watch = (path: PathSource, events: number, during: readonly ScenarioCall[] = []): ScenarioWatch => ({
  kind: 'watch',
  ask: (seen) => ({ method: 'GET', path: typeof path === 'function' ? path(seen) : path }),
  events,
  limitMs: 60_000,
  during,
});

/** Like {@link watch}, if fewer events come. */
export const watchInVain = (path: PathSource, events: number): ScenarioWatch => ({
  ...watch(path, events),
  limitMs: 10_000,
});

export const compact: ScenarioCompaction = { kind: 'compact' };

/** The same call, not compared. */
export const quietly = (step: ScenarioCall): ScenarioCall => ({ ...step, silent: true });

/** resourceVersion of an answer, by default the newest. */
export function versionOf(seen: SeenAnswers, index = -1): string {
  const metadata = seen.at(index)?.body?.['metadata'] as { readonly resourceVersion?: string } | undefined;
  return metadata?.resourceVersion ?? '';
}

export function metadataOf(seen: SeenAnswers, index = -1): Readonly<Record<string, string>> {
  return (seen.at(index)?.body?.['metadata'] ?? {}) as Record<string, string>;
}

/** Paths of the kinds that most scenarios use. */
export const configMaps = '/api/v1/namespaces/{ns}/configmaps';
export const deployments = '/apis/apps/v1/namespaces/{ns}/deployments';

export function configMap(
  name: string,
  data: Readonly<Record<string, string>> = { a: '1' },
  metadata: object = {},
): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data };
}

export function deployment(name: string, spec: object = {}, container: object = {}): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'c', image: 'nginx:1', ...container }] },
      },
      ...spec,
    },
  };
}
