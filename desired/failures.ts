import { isAbort, messageOf } from '#base';
import type { Clock } from '#base';
import {
  CommandError,
  DesiredError,
  GenerationPaused,
  MirrorLost,
  RepositoryError,
  RevisionNotFound,
  ToolMissing,
} from './errors.ts';
import { Lru } from './fetch/lru.ts';
import type { DesiredLimits } from './limits.ts';

interface Failure {
  readonly since: number;
  readonly count: number;
  readonly message: string;
  /** How often it was answered without trying. */
  readonly answered: number;
}

const rememberedBytes = 8 * 1024 * 1024;

/**
 * Sources that could not be rendered several times in a row are left alone for a while (Argo CD: reposerver runManifestGenAsync and the
 * ARGOCD_PAUSE_GEN_* variables): a broken chart in a hundred Applications must not keep the machine busy. Another commit, or another source, is
 * another matter and is tried at once. What keeps a repository from being reached is not counted, as there.
 */
export class PausedFailures {
  readonly #clock: Clock;
  readonly #limits: DesiredLimits;
  readonly #failures = new Lru<Failure>(rememberedBytes);

  constructor(clock: Clock, limits: DesiredLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** @throws GenerationPaused, while this source is left alone */
  check(key: string): void {
    const { pauseAfterFailures, pauseMs, pauseRequests } = this.#limits;
    const failure = this.#failures.get(key);
    if (failure === undefined || pauseAfterFailures <= 0 || failure.count < pauseAfterFailures) return;
    const isOver = pauseMs > 0 && this.#clock.now() - failure.since >= pauseMs;
    if (isOver || (pauseRequests > 0 && failure.answered >= pauseRequests)) {
      this.#failures.delete(key);
      return;
    }
    this.#failures.set(key, { ...failure, answered: failure.answered + 1 }, weightOf(failure));
    throw new GenerationPaused(failure.message);
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }

  failed(key: string, error: unknown): void {
    if (!isLasting(error)) return;
    const { since = this.#clock.now(), count = 0 } = this.#failures.get(key) ?? {};
    const failure = { since, count: count + 1, message: messageOf(error), answered: 0 };
    this.#failures.set(key, failure, weightOf(failure));
  }
}

/** Bytes of memory, about. */
function weightOf({ message }: Failure): number {
  return 300 + 2 * message.length;
}

/** What lies in the source itself, not in a repository that is away, a program that is missing or a process that was ended. */
function isLasting(error: unknown): boolean {
  if (isAbort(error) || !(error instanceof DesiredError)) return false;
  const passing = [CommandError, MirrorLost, RepositoryError, RevisionNotFound, ToolMissing];
  return !passing.some((kind) => error instanceof kind);
}
