import { abortable, canonicalJson, isAbort, messageOf, withDeadline } from '#base';
import type { Clock } from '#base';
import type { LiveCluster } from '#live';
import { jsonOf } from '#model';
import type { AppKey, AppProject } from '#model';
import { IntegrityRulesUnusable, SourceRefused, SourceSlow, SourceUnavailable } from '../shared/errors.ts';
import { failedTargets, waitsForHydration } from './rendering.ts';
import type { RenderedSources, Renderer, RenderRequest } from './rendering.ts';

/** A read of sources that a pass stopped waiting for. */
interface LeftRead {
  readonly question: string;
  readonly project: AppProject;
  readonly at: number;
  readonly read: Promise<RenderedSources>;
}

/** How long a read that a pass left may be used by a later one. */
const maxLeftReadMs = 120_000;
/** The last good rendering is read from caches. */
const lastGoodLimitMs = 20_000;

/**
 * Reads the sources of a comparison. While they cannot be read, or are slow when a live object has
 * changed, the last good rendering serves, by the rules of the project as they are now.
 */
export class SourceReader {
  readonly #renderer: Renderer;
  readonly #clock: Clock;
  readonly #left = new Map<AppKey, LeftRead>();

  constructor(renderer: Renderer, clock: Clock) {
    this.#renderer = renderer;
    this.#clock = clock;
  }

  /**
   * Turns errors into a condition on a `failed` side, unless the last good rendering can serve.
   * Throws the abort reason, and {@link SourceUnavailable} if `tolerate` accepts the error for now.
   */
  async read(
    request: RenderRequest,
    cluster: LiveCluster,
    tolerate: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<RenderedSources> {
    if (request.localManifests.length > 0) return this.#renderer.local(request);
    try {
      return await this.#unlessHurried(request, cluster, signal);
    } catch (error) {
      if (isAbort(error) || signal.aborted) throw error;
      if (error instanceof SourceRefused) return failedTargets(error.condition);
      const message = `Failed to load target state: ${messageOf(error)}${waitsForHydration(request.bound.app, error)}`;
      const isLasting = error instanceof Error && error.cause instanceof IntegrityRulesUnusable;
      const isTolerated = !isLasting && tolerate(error);
      const served = isLasting ? undefined : await this.#lastGood(request, cluster, signal);
      if (served !== undefined) return { ...served, outage: { message, isTolerated } };
      if (isTolerated) throw new SourceUnavailable(error, message);
      return failedTargets({ type: 'ComparisonError', message });
    }
  }

  /**
   * Reads the sources until `hurry` aborts. The read then goes on, and the next equal request gets
   * its answer: a slow repository is read to its end although drift is repaired meanwhile.
   */
  async #unlessHurried(request: RenderRequest, cluster: LiveCluster, signal: AbortSignal): Promise<RenderedSources> {
    const { bound, sources, revisions, cache, hurry } = request;
    if (hurry === undefined) return this.#renderer.sources(request, cluster, signal);
    const question = canonicalJson(jsonOf({ sources, revisions, cache, gate: bound.gate.version }));
    const left = this.#left.get(bound.key);
    this.#left.delete(bound.key);
    const now = this.#clock.monotonic();
    const isSame = left?.question === question && left.project === bound.project && now - left.at < maxLeftReadMs;
    // The slot belongs to this pass, which the read may outlast.
    const read = isSame ? left.read : this.#renderer.sources({ ...request, place: undefined }, cluster, signal);
    try {
      return await this.#renderer.lendingSlot(request, abortable(read, hurry));
    } catch (error) {
      if (!hurry.aborted || signal.aborted) throw error;
      this.#leave(bound.key, { question, project: bound.project, at: now, read });
      throw new SourceSlow();
    }
  }

  /** A failure is an answer, too. An abort is none: the replica may have the Application again. */
  #leave(key: AppKey, left: LeftRead): void {
    this.#left.set(key, left);
    left.read.catch((error: unknown) => {
      if (isAbort(error) && this.#left.get(key) === left) this.#left.delete(key);
    });
  }

  /** The last good rendering, by the rules of today; undefined if there is none. */
  async #lastGood(
    request: RenderRequest,
    cluster: LiveCluster,
    signal: AbortSignal,
  ): Promise<RenderedSources | undefined> {
    const { lastGood } = request;
    if (lastGood === undefined) return undefined;
    const cache = { revision: 'cached', manifests: 'cached' } as const;
    const terms = { clock: this.#clock, limitMs: lastGoodLimitMs, what: 'the last good rendering' };
    try {
      const served = await withDeadline(signal, terms, (inner) =>
        this.#renderer.sources({ ...request, revisions: lastGood, cache, place: undefined }, cluster, inner),
      );
      const isExact = served.facts.revisions.every((revision, i) => revision === lastGood[i]);
      return served.facts.failed || !isExact ? undefined : served;
    } catch (error) {
      if (signal.aborted) throw error;
      return undefined;
    }
  }
}
