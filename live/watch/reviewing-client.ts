import { isForbidden, KubeReadOnlyError } from '#kube';
import type { KubeClient, ListOptions, ListPage, ReflectorOptions, WatchOptions } from '#kube';
import type { ApiResource } from '#model';
import type { Logger } from '#telemetry';

type ReadingClient = ReflectorOptions['client'];

export interface ReviewingClientDeps {
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly namespace: string | undefined;
  /** `resource.respectRBAC` is `strict`, and the kind was never listed. */
  readonly needsReview: () => boolean;
  readonly onReview: (isDenied: boolean) => void;
}

const reviewDeadlineMs = 10_000;

/** A client whose forbidden lists are checked by an access review: is it really a denial? */
export class ReviewingClient implements ReadingClient {
  readonly server: string;
  readonly #deps: ReviewingClientDeps;

  constructor(deps: ReviewingClientDeps) {
    this.#deps = deps;
    this.server = deps.client.server;
  }

  watch(resource: ApiResource, options: WatchOptions): ReturnType<ReadingClient['watch']> {
    return this.#deps.client.watch(resource, options);
  }

  async list(resource: ApiResource, options: ListOptions): Promise<ListPage> {
    const { client, needsReview, onReview } = this.#deps;
    try {
      return await client.list(resource, options);
    } catch (error) {
      if (isForbidden(error) && needsReview()) onReview(await this.#isListDenied(resource, options.signal));
      throw error;
    }
  }

  /**
   * Returns false if the review fails: the kind is then `forbidden` instead of `left-out`. A
   * read-only client cannot send reviews, so it believes the 403.
   */
  async #isListDenied(resource: ApiResource, signal: AbortSignal): Promise<boolean> {
    const { client, logger, namespace } = this.#deps;
    try {
      return !(await client.mayList(resource, namespace, { signal, deadlineMs: reviewDeadlineMs }));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof KubeReadOnlyError) return true;
      logger.warn('Cannot check whether a kind may be listed; it is not left out', { error });
      return false;
    }
  }
}
