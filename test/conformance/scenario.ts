import type { ApiAnswer, ApiRequest } from '#support';

/** What has been answered so far in a scenario, as it came; the newest last. */
export type Seen = readonly ApiAnswer[];

type Ask = ApiRequest | ((seen: Seen) => ApiRequest);

/** One request, and what is compared of its answer. */
export interface Call {
  readonly kind: 'call';
  readonly ask: Ask;
  /** Asked again until this holds (things that a server does a moment later); the last answer counts. */
  readonly until?: (answer: ApiAnswer) => boolean;
  /** What of the answer is compared; default its whole body. */
  readonly show?: (body: Record<string, unknown>) => unknown;
  /** The answer is not compared: the call only prepares the ground. */
  readonly silent?: boolean;
}

/** A watch: its first `events` events, or fewer when the server ends it before. */
export interface Watch {
  readonly kind: 'watch';
  readonly ask: Ask;
  readonly events: number;
  /** Calls that are made while the watch is open. */
  readonly during?: readonly Call[];
}

/** The server forgets its history up to now, as etcd's compaction does every few minutes. */
export interface Compact {
  readonly kind: 'compact';
}

export type Step = Call | Watch | Compact;

/** Requests in one fresh namespace, `{ns}` in their paths and bodies. The answers of a real server are in recorded/. */
export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
}

export function scenario(name: string, steps: readonly Step[]): Scenario {
  return { name, steps };
}

type Extra = Omit<Call, 'kind' | 'ask'> & Omit<Partial<ApiRequest>, 'method' | 'path' | 'body'>;

function call(method: string, path: string | ((seen: Seen) => string), body: unknown, extra: Extra): Call {
  const { until, show, silent, ...request } = extra;
  const what = (seen: Seen): ApiRequest => {
    const given: unknown = typeof body === 'function' ? (body as (seen: Seen) => unknown)(seen) : body;
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

type Path = string | ((seen: Seen) => string);

export const get = (path: Path, extra: Extra = {}): Call => call('GET', path, undefined, extra);
export const post = (path: Path, body: unknown, extra: Extra = {}): Call => call('POST', path, body, extra);
export const put = (path: Path, body: unknown, extra: Extra = {}): Call => call('PUT', path, body, extra);
export const remove = (path: Path, body?: unknown, extra: Extra = {}): Call => call('DELETE', path, body, extra);

export const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export const patch = (type: keyof typeof patchTypes, path: Path, body: unknown, extra: Extra = {}): Call =>
  call('PATCH', path, body, { contentType: patchTypes[type], ...extra });

export const watch = (path: Path, events: number, during: readonly Call[] = []): Watch => ({
  kind: 'watch',
  ask: (seen) => ({ method: 'GET', path: typeof path === 'function' ? path(seen) : path }),
  events,
  during,
});

export const compact: Compact = { kind: 'compact' };

/** The same call, not compared. */
export const quietly = (step: Call): Call => ({ ...step, silent: true });

/** resourceVersion of the newest answer, or of the nth. */
export function versionOf(seen: Seen, index = -1): string {
  const metadata = seen.at(index)?.body?.['metadata'] as { readonly resourceVersion?: string } | undefined;
  return metadata?.resourceVersion ?? '';
}

export function metadataOf(seen: Seen, index = -1): Readonly<Record<string, string>> {
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
