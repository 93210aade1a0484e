import { defined, yieldToLoop } from '#base';
import { isBeyondBounds, isExpired } from '../errors.ts';
import { ListBounds } from './list-bounds.ts';
import type { ReflectorOptions, ReflectorTuning } from './reflector-types.ts';
import type { ItemSink, ListOptions, ListPage } from '../types.ts';

/** Items passed to a sink at once, before yielding to the event loop. */
const handOverSize = 32;
/** Deadline of an unpaged list, used when paging expires. */
const fullListDeadlineMs = 300_000;

/** The options and helpers of one reflector, for its readers of lists and streams. */
export interface ReadingContext {
  /** `list of <kind> in <namespace>`, for messages. */
  readonly listName: string;
  readonly options: ReflectorOptions;
  readonly tuning: ReflectorTuning;
  /** Runs code of the sink; an exception in it must not end the reading. */
  readonly isolated: (body: () => void) => void;
}

/** The options that all requests of a reflector share. */
export function scopeOf(
  options: ReflectorOptions,
): Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector' | 'defers'> {
  const { namespace, labelSelector, fieldSelector, defers } = options;
  return defined({ namespace, labelSelector, fieldSelector, defers });
}

/** Reads complete lists into a sink, page by page. */
export class ListReader {
  readonly #context: ReadingContext;
  readonly #onSlow: (message: string) => void;
  #hasChanged = true;

  /** Whether the last complete list differed from the cache of the sink. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** @param onSlow called after each page of a list that takes longer than `slowListMs`. */
  constructor(context: ReadingContext, onSlow: (message: string) => void) {
    this.#context = context;
    this.#onSlow = onSlow;
  }

  /**
   * Reads the list and commits it.
   * @param isFirst the first list may come from the server's cache, if the tuning allows it.
   * @returns the version of the list
   */
  async read(isFirst: boolean, signal: AbortSignal): Promise<string> {
    try {
      return await this.#collect(signal, (items) => this.#firstPage(isFirst, signal, items));
    } catch (error) {
      if (!isExpired(error)) throw error;
      // The snapshot of the pages expired: list again in one piece, as client-go's pager does.
      return this.#collect(signal, (items) => this.page(signal, { deadlineMs: fullListDeadlineMs, items }));
    }
  }

  /** Requests one page. */
  page(signal: AbortSignal, extra: Partial<ListOptions>): Promise<ListPage> {
    const { options, tuning } = this.#context;
    const { pageDeadlineMs: deadlineMs, pageAttempts: attempts } = tuning;
    const common = { deadlineMs, ...defined({ attempts }), ...scopeOf(options) };
    return options.client.list(options.resource, { ...common, ...extra, signal });
  }

  async #firstPage(isFirst: boolean, signal: AbortSignal, items: ItemSink): Promise<ListPage> {
    const { pageSize: limit, firstListFromCache } = this.#context.tuning;
    if (isFirst && firstListFromCache) {
      try {
        return await this.page(signal, { limit, resourceVersion: '0', items });
      } catch (error) {
        if (!isExpired(error)) throw error;
      }
    }
    return this.page(signal, { limit, items });
  }

  async #collect(signal: AbortSignal, firstPage: (items: ItemSink) => Promise<ListPage>): Promise<string> {
    const { options, tuning, listName, isolated } = this.#context;
    const { limits, pageSize, slowListMs } = tuning;
    let collector = options.sink.startList();
    let isUsed = false;
    const begun = (): ListBounds => new ListBounds(listName, options.clock, limits);
    let bounds = begun();
    const add: ItemSink['add'] = (items, version) => {
      isUsed = true;
      bounds.countItems(items.length);
      isolated(() => collector.add(items, version));
    };
    const first = {
      add,
      // A retried first page starts a new list: objects of the failed attempt may be gone by now.
      begin: () => {
        if (!isUsed) return;
        isUsed = false;
        bounds = begun();
        isolated(() => collector.abandon(false));
        collector = options.sink.startList();
      },
    };
    const next = { add, begin: () => undefined };
    try {
      let page = await firstPage(first);
      for (;;) {
        await handOver(page, add);
        const token = bounds.next(page);
        if (token === undefined) break;
        // Report the delay, so that nothing waits for this list.
        if (bounds.ageMs > slowListMs)
          this.#onSlow(`${listName} is not complete after ${slowListMs / 1000} s; it continues`);
        page = await this.page(signal, { limit: pageSize, continue: token, items: next });
      }
      const { resourceVersion } = page;
      isolated(() => collector.commit(resourceVersion));
      this.#hasChanged = collector.isChanged?.() ?? true;
      return resourceVersion;
    } catch (error) {
      isolated(() => collector.abandon(isBeyondBounds(error)));
      throw error;
    }
  }
}

/** Passes on the items that were not streamed. */
async function handOver({ items, resourceVersion }: ListPage, add: ItemSink['add']): Promise<void> {
  add(items.slice(0, handOverSize), resourceVersion);
  for (let from = handOverSize; from < items.length; from += handOverSize) {
    await yieldToLoop();
    add(items.slice(from, from + handOverSize), resourceVersion);
  }
}
