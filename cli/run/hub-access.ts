import type { Clock } from '#base';
import type { RequestRecord } from '#kube';
import type { ClusterInfo } from '#live';
import { inClusterServer } from '#model';
import type { Logger } from '#telemetry';

export interface HubAccessDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The controller's own namespace. */
  readonly namespace: string;
}

type HubRequest = Pick<RequestRecord, 'verb' | 'kind' | 'path'>;

/** Consecutive 403s of one right. */
interface Denial {
  readonly right: string;
  readonly sinceMs: number;
  readonly latestMs: number;
  readonly count: number;
  readonly message: string;
}

/** A new API server denies everything until it has loaded its roles. */
const toleranceMs = 60_000;
/** Shorter, because the API server was asked: `/readyz` names the right within a minute. */
const reviewToleranceMs = 30_000;
const minDenials = 3;
/** Longer than the longest delay between two attempts of a reflector (10 minutes). */
const forgetAfterMs = 15 * 60_000;

/** Kinds that the controller must be able to read. */
const readKinds: ReadonlySet<string> = new Set([
  'argoproj.io/Application',
  'argoproj.io/AppProject',
  'ConfigMap',
  'Secret',
]);
/** Kinds that it must be able to write. */
const writtenKinds: ReadonlySet<string> = new Set(['argoproj.io/Application', 'ConfigMap']);

/**
 * Detects that the controller lost rights on the hub: its own requests get 403 for a minute without
 * a success in between, no kind of the in-cluster destination can be listed any more, or the API
 * server denies the right when it is asked: open watches go on for minutes without it.
 *
 * Ignores what a tenant can cause: 403s of admission, of quotas, and in namespaces of Applications.
 */
export class HubAccess {
  readonly #deps: HubAccessDeps;
  readonly #denials = new Map<string, Denial>();
  #wasInClusterReadable = false;
  #inClusterDeniedSinceMs: number | undefined;
  /** From {@link reviewed}: whether the right was ever there, and since when it is not. */
  #wasListAllowed = false;
  #listDeniedSinceMs: number | undefined;
  #reported: string | undefined;

  constructor(deps: HubAccessDeps) {
    this.#deps = deps;
  }

  answered(record: Pick<RequestRecord, 'verb' | 'kind' | 'path' | 'code'>): void {
    if (record.code < 200 || record.code >= 300) return;
    if (this.#denials.size === 0) return;
    const key = this.#keyOf(record);
    if (key !== undefined) this.#denials.delete(key);
  }

  denied(request: HubRequest, message: string): void {
    const key = this.#keyOf(request);
    if (key === undefined || !isAuthorization(request, message)) return;
    const now = this.#deps.clock.monotonic();
    const known = this.#denials.get(key);
    const isSameTrouble = known !== undefined && now - known.latestMs < forgetAfterMs;
    this.#denials.set(key, {
      right: rightOf(request),
      sinceMs: isSameTrouble ? known.sinceMs : now,
      latestMs: now,
      count: isSameTrouble ? known.count + 1 : 1,
      message,
    });
  }

  /** The API server's answer to whether this controller may list Pods everywhere. */
  reviewed(mayList: boolean): void {
    this.#wasListAllowed ||= mayList;
    if (mayList) this.#listDeniedSinceMs = undefined;
    else if (this.#wasListAllowed) this.#listDeniedSinceMs ??= this.#deps.clock.monotonic();
  }

  /** Names the lost rights and what to do; undefined if there are none. */
  lost(infos: readonly ClusterInfo[]): string | undefined {
    const now = this.#deps.clock.monotonic();
    for (const [key, { latestMs }] of this.#denials) if (now - latestMs >= forgetAfterMs) this.#denials.delete(key);
    const denials = [...this.#denials.values()].filter(
      ({ count, sinceMs }) => count >= minDenials && now - sinceMs >= toleranceMs,
    );
    const rights = [...new Set(denials.map(({ right }) => right))].sort();
    if (this.#isInClusterDenied(infos, now) || this.#isReviewDenied(infos, now))
      rights.push('list the objects of this cluster');
    const reason =
      rights.length === 0
        ? undefined
        : `the hub denies the controller the right to ${rights.join(', ')}: restore its Role or ClusterRole, and the binding`;
    this.#report(reason, denials[0]?.message);
    return reason;
  }

  /**
   * No kind of the in-cluster destination can be listed any more, and most are forbidden: an
   * aggregated API may be broken beside that.
   */
  #isInClusterDenied(infos: readonly ClusterInfo[], now: number): boolean {
    const kinds = infos.find(({ server }) => server === inClusterServer)?.kinds ?? [];
    this.#wasInClusterReadable ||= kinds.some(({ state }) => state === 'synced');
    const forbidden = kinds.filter(({ state }) => state === 'forbidden').length;
    const degraded = kinds.filter(({ state }) => state === 'degraded').length;
    const isDenied = this.#wasInClusterReadable && forbidden > degraded && forbidden + degraded === kinds.length;
    this.#inClusterDeniedSinceMs = isDenied ? (this.#inClusterDeniedSinceMs ?? now) : undefined;
    return this.#inClusterDeniedSinceMs !== undefined && now - this.#inClusterDeniedSinceMs >= toleranceMs;
  }

  /** Only where the controller manages its own cluster: elsewhere it needs no such right. */
  #isReviewDenied(infos: readonly ClusterInfo[], now: number): boolean {
    const isManaged = infos.some(({ server }) => server === inClusterServer);
    return isManaged && this.#listDeniedSinceMs !== undefined && now - this.#listDeniedSinceMs >= reviewToleranceMs;
  }

  #report(reason: string | undefined, message: string | undefined): void {
    if (reason === this.#reported) return;
    this.#reported = reason;
    if (reason === undefined) this.#deps.logger.info('The controller has its rights on the hub again');
    else this.#deps.logger.error(reason, message === undefined ? {} : { message });
  }

  /** Undefined if a denial of this request says nothing about the controller's own rights. */
  #keyOf(request: HubRequest): string | undefined {
    if (!(isRead(request) ? readKinds : writtenKinds).has(request.kind)) return undefined;
    const namespace = namespaceOf(request.path);
    if (namespace !== undefined && namespace !== this.#deps.namespace) return undefined;
    const name = nameOf(request);
    // Only signature verification needs the keys, and its errors show in the Applications.
    if (name === 'argocd-gpg-keys-cm') return undefined;
    // Without it the controller works; metrics and problems of the settings show it.
    if (name === 'driftless-settings') return undefined;
    return `${request.verb} ${request.kind} ${namespace ?? ''} ${name}`;
  }
}

function isRead({ verb }: HubRequest): boolean {
  return ['get', 'list', 'watch'].includes(verb);
}

/** Admission and quotas deny no read; a denied write shows by the wording of an authorizer. */
function isAuthorization(request: HubRequest, message: string): boolean {
  return isRead(request) || /\bcannot [a-z]+ resource "/.test(message);
}

function rightOf(request: HubRequest): string {
  const namespace = namespaceOf(request.path);
  const name = nameOf(request);
  const what = name === '' ? request.kind : `${request.kind} ${name}`;
  return `${request.verb} ${what} ${namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`}`;
}

function namespaceOf(path: string): string | undefined {
  return /\/namespaces\/([^/?]+)\//.exec(path)?.[1];
}

/** Rights on ConfigMaps are granted by name; '' for other kinds. */
function nameOf({ kind, path }: HubRequest): string {
  if (kind !== 'ConfigMap') return '';
  const { pathname, searchParams } = new URL(path, 'http://hub');
  const selected = searchParams.get('fieldSelector')?.replace('metadata.name=', '');
  return selected ?? /\/configmaps\/([^/]+)/.exec(pathname)?.[1] ?? '';
}
