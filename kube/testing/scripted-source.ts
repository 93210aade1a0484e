import type { ApiResource } from '#model';
import type { KubeClient, ListOptions, ListPage, WatchEvent, WatchOptions } from '../types.ts';

/** One watch as the reflector opened it. */
export class ScriptedWatch {
  readonly options: WatchOptions;
  /** The newest version sent; '' before. */
  version = '';
  readonly #events: (WatchEvent | Error | 'end')[] = [];
  #wake: () => void = () => undefined;
  ended = false;

  constructor(options: WatchOptions) {
    this.options = options;
  }

  /** An event, an error to throw, or the normal end. */
  send(...events: (WatchEvent | Error | 'end')[]): void {
    this.#events.push(...events);
    this.#wake();
  }

  async *events(): AsyncGenerator<WatchEvent> {
    const { signal } = this.options;
    const abort = (): void => this.#wake();
    signal.addEventListener('abort', abort);
    try {
      for (;;) {
        signal.throwIfAborted();
        const next = this.#events.shift();
        if (next === 'end') return;
        if (next instanceof Error) throw next;
        if (next !== undefined) {
          this.version = next.type === 'BOOKMARK' ? next.resourceVersion : (next.object.metadata.resourceVersion ?? '');
          yield next;
        }
        if (next === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.ended = true;
      signal.removeEventListener('abort', abort);
    }
  }
}

/** A client without a network: lists answer from a script, watches wait for the test's events. */
export class ScriptedSource implements Pick<KubeClient, 'list' | 'watch' | 'server'> {
  readonly server = 'https://scripted';
  readonly lists: ListOptions[] = [];
  /**
   * Lists of one item, which check the server's version. They return the last sent version unless
   * the script has a new response.
   */
  readonly looks: ListOptions[] = [];
  readonly watches: ScriptedWatch[] = [];
  /** Responses of the next lists; the last one repeats. */
  answers: (ListPage | Error)[] = [{ items: [], resourceVersion: '1' }];
  /** Called between a list request and its response. */
  onList: () => void = () => undefined;
  /** Errors with which the next watches fail at once. */
  refusals: Error[] = [];
  #answered: ListPage | undefined;

  list(_resource: ApiResource, options: ListOptions): Promise<ListPage> {
    const before = this.#answered;
    if (options.limit === 1) {
      this.looks.push(options);
      if (before !== undefined && this.answers.length === 1 && this.answers[0] === before)
        return Promise.resolve({ items: [], resourceVersion: this.#seen() ?? before.resourceVersion });
    } else this.lists.push(options);
    this.onList();
    const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    return answer instanceof Error || answer === undefined
      ? Promise.reject(answer ?? new Error('no answer'))
      : Promise.resolve((this.#answered = answer));
  }

  #seen(): string | undefined {
    const from = this.watches.at(-1)?.options.resourceVersion;
    return this.watches.map(({ version }) => version).findLast((version) => version !== '') ?? from;
  }

  watch(_resource: ApiResource, options: WatchOptions): AsyncIterable<WatchEvent> {
    const watch = new ScriptedWatch(options);
    this.watches.push(watch);
    const refusal = this.refusals.shift();
    if (refusal === undefined) options.onOpen?.();
    else watch.send(refusal);
    return watch.events();
  }

  get last(): ScriptedWatch {
    const watch = this.watches.at(-1);
    if (watch === undefined) throw new Error('no watch was opened');
    return watch;
  }
}
