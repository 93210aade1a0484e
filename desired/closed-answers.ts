import type { Clock } from '#base';
import type { KubeObject } from '#model';
import { Lru } from './fetch/shared/lru.ts';
import type { RelatedFetches } from './generate/plan.ts';
import type { SourceManifests } from './types.ts';

const maxAnswers = 20_000;
/** After this time files are read again, which also shows that their mirror is in use. */
const maxAgeMs = 3_600_000;

interface ClosedAnswer {
  readonly objects: WeakRef<readonly KubeObject[]>;
  readonly answer: Omit<SourceManifests, 'objects'>;
  /** The plugins that might have rendered it. */
  readonly plugins: string;
  readonly at: number;
}

/**
 * Remembers answers that follow from one commit alone: rendered without a plugin and without files
 * from outside its repository. An equal request then costs a look-up instead of reading trees.
 * Keeps no manifests alive: they belong to the cache of rendered manifests.
 */
export class ClosedAnswers {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #answers = new Lru<ClosedAnswer>(maxAnswers);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** @param key identifies the request, with its commit. */
  get(key: string, plugins: readonly string[]): SourceManifests | undefined {
    const known = this.#answers.get(key);
    const objects = known?.objects.deref();
    if (known === undefined || objects === undefined) return undefined;
    const isOld = this.#clock.monotonic() - known.at > maxAgeMs;
    return isOld || known.plugins !== plugins.join('\n') ? undefined : { objects, ...known.answer };
  }

  set(key: string, plugins: readonly string[], { objects, ...answer }: SourceManifests, owner: string): void {
    const at = this.#clock.monotonic();
    this.#answers.set(key, { objects: new WeakRef(objects), answer, plugins: plugins.join('\n'), at }, 1, owner);
  }
}

/** Records whether a source fetches files from outside its repository. */
export interface ObservedFetches {
  readonly fetches: RelatedFetches;
  readonly isClosed: () => boolean;
}

export function observeFetches(related: RelatedFetches): ObservedFetches {
  let isClosed = true;
  const open = <A extends readonly unknown[], T>(fetch: (...given: A) => T): ((...given: A) => T) => {
    return (...given) => {
      isClosed = false;
      return fetch(...given);
    };
  };
  return {
    fetches: {
      // The revisions of all sources are part of the request.
      fetchReferenced: related.fetchReferenced,
      fetchRepository: open(related.fetchRepository),
      downloadChart: open(related.downloadChart),
      downloadFile: open(related.downloadFile),
    },
    isClosed: () => isClosed,
  };
}
