import { abortable, valueAt } from '#base';
import type { Clock, Json } from '#base';
import { findResource } from '#kube';
import type { ApiDiscovery } from '#kube';
import { gkOf, groupOf, jsonOf, versionOf } from '#model';
import type { KubeObject, ObjectName } from '#model';
import { failureOf } from './discovery.ts';

export interface NewKindsDeps {
  readonly clock: Clock;
  readonly discovery: () => ApiDiscovery | undefined;
  /** Runs discovery now. Resolves after one that began later, whether it succeeded or not. */
  readonly discoverNow: (signal: AbortSignal) => Promise<void>;
}

/** How long a server may take to serve the kind of a CustomResourceDefinition. */
const servingGraceMs = 15_000;
const servingPollMs = 500;

/**
 * Kinds that the server may serve although the last discovery does not list them: their
 * CustomResourceDefinition is new, or was never served. Comparisons wait for them, because an
 * object of an unknown kind counts as missing.
 */
export class NewKinds {
  readonly #deps: NewKindsDeps;
  /** When the definition of a kind, as group/version/kind, was seen first. */
  readonly #definedAt = new Map<string, number>();
  /** When something last showed that discovery is outdated. */
  #outdatedAt = -Infinity;
  /** Lists of objects whose kinds are all in that discovery. */
  readonly #served = new WeakMap<readonly ObjectName[], ApiDiscovery>();
  #discoveredAt = -Infinity;

  constructor(deps: NewKindsDeps) {
    this.#deps = deps;
  }

  /** @param at when the successful discovery was requested. */
  discovered(at: number, found: ApiDiscovery): void {
    this.#discoveredAt = at;
    for (const { group, version, kind } of found.served) this.#definedAt.delete(`${group}/${version}/${kind}`);
  }

  /** A CustomResourceDefinition or APIService was written or has changed. */
  noteDefinition(definition: KubeObject): void {
    const now = this.#deps.clock.monotonic();
    this.#outdatedAt = now;
    const discovery = this.#deps.discovery();
    if (discovery === undefined || definition.metadata.deletionTimestamp !== undefined) return;
    for (const name of kindsOf(definition))
      if (!isServed(discovery, name) && !this.#definedAt.has(textOf(name))) this.#definedAt.set(textOf(name), now);
  }

  /** An object was written; its kind is served. */
  noteWritten(object: KubeObject): void {
    const discovery = this.#deps.discovery();
    if (discovery !== undefined && !isServed(discovery, object)) this.#outdatedAt = this.#deps.clock.monotonic();
  }

  /**
   * Resolves when discovery is as new as the last known change of definitions, and lists the kinds
   * of `objects` that are about to be served, or has had time to.
   * @param isFresh discovers once in any case, if a kind is unknown.
   */
  async known(objects: readonly ObjectName[], isFresh: boolean, signal: AbortSignal): Promise<void> {
    const { clock, discoverNow } = this.#deps;
    const startedAt = clock.monotonic();
    const atLeast = (): number => (isFresh ? Math.max(startedAt, this.#outdatedAt) : this.#outdatedAt);
    for (let unknown = this.#unknown(objects); unknown.length > 0; unknown = this.#unknown(unknown)) {
      if (clock.monotonic() - startedAt > servingGraceMs) return;
      if (this.#discoveredAt >= atLeast() && !unknown.some((object) => this.#isExpected(object))) return;
      const discoveredAt = this.#discoveredAt;
      if (discoveredAt >= atLeast()) await clock.sleep(servingPollMs, signal);
      await discoverNow(signal);
      // Discovery fails: callers see the last one.
      if (this.#discoveredAt === discoveredAt) return;
    }
  }

  #unknown(objects: readonly ObjectName[]): readonly ObjectName[] {
    const discovery = this.#deps.discovery();
    if (discovery === undefined || this.#served.get(objects) === discovery) return [];
    const unknown = objects.filter(
      (object) => !isServed(discovery, object) && failureOf(discovery, groupOf(object.apiVersion)) === undefined,
    );
    if (unknown.length === 0) this.#served.set(objects, discovery);
    return unknown;
  }

  #isExpected(object: ObjectName): boolean {
    const definedAt = this.#definedAt.get(textOf(object));
    return definedAt !== undefined && this.#deps.clock.monotonic() - definedAt < servingGraceMs;
  }
}

/** Lets callers wait for a discovery that begins after they have asked for it. */
export class DiscoveryRounds {
  readonly #waiting = new Set<() => void>();

  async run<T>(discover: () => Promise<T>): Promise<T> {
    const waiting = [...this.#waiting];
    try {
      return await discover();
    } finally {
      for (const resume of waiting) resume();
    }
  }

  async next(signal: AbortSignal): Promise<void> {
    let resume = (): void => undefined;
    const ended = new Promise<void>((resolve) => (resume = resolve));
    this.#waiting.add(resume);
    await abortable(ended, signal).finally(() => this.#waiting.delete(resume));
  }

  /** There will be no discovery any more. */
  end(): void {
    for (const resume of this.#waiting) resume();
  }
}

type KindName = Pick<ObjectName, 'apiVersion' | 'kind'>;

function textOf({ apiVersion, kind }: KindName): string {
  return `${groupOf(apiVersion)}/${versionOf(apiVersion)}/${kind}`;
}

function isServed(discovery: ApiDiscovery, object: KindName): boolean {
  return findResource(discovery, gkOf(object), versionOf(object.apiVersion)) !== undefined;
}

/** The kinds that a CustomResourceDefinition defines; none for other objects. */
function kindsOf(definition: KubeObject): readonly KindName[] {
  const spec = valueAt(jsonOf(definition), 'spec');
  const [group, kind] = [valueAt(spec, 'group'), valueAt(spec, 'names', 'kind')];
  const versions = valueAt(spec, 'versions');
  if (typeof group !== 'string' || typeof kind !== 'string' || !Array.isArray(versions)) return [];
  return (versions as readonly Json[]).flatMap((version) => {
    const name = valueAt(version, 'name');
    return typeof name === 'string' && valueAt(version, 'served') === true
      ? [{ apiVersion: `${group}/${name}`, kind }]
      : [];
  });
}
