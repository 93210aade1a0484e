import { DeadlineExceeded, isAbort, messageOf } from '#base';
import type { Clock } from '#base';
import {
  CacheUnwritable,
  CommandError,
  DesiredError,
  GenerationPaused,
  MirrorLost,
  RendererUnavailable,
  RepoServerError,
  RepositoryError,
  RevisionNotFound,
  ToolMissing,
} from './errors.ts';
import { Lru } from './fetch/shared/lru.ts';
import type { DesiredLimits } from './limits.ts';

interface FailureRecord {
  readonly since: number;
  readonly count: number;
  readonly message: string;
  /** Number of requests that got the recorded failure without another attempt. */
  readonly answered: number;
  /** The last attempt timed out. */
  readonly isTimeOut: boolean;
}

const rememberedBytes = 8 * 1024 * 1024;

/**
 * Pauses sources that failed several times in a row (Argo CD: reposerver runManifestGenAsync and
 * the ARGOCD_PAUSE_GEN_* variables), because a broken chart in a hundred Applications must not keep
 * the machine busy. Another commit or another source is tried at once. As in Argo CD, an
 * unreachable repository does not count as a failure.
 */
export class PausedFailures {
  readonly #clock: Clock;
  readonly #limits: DesiredLimits;
  readonly #failures = new Lru<FailureRecord>(rememberedBytes);

  constructor(clock: Clock, limits: DesiredLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * A hard refresh retries a paused source, except after a time-out, because such an attempt takes
   * time from other sources.
   * @throws GenerationPaused while the source is paused
   */
  check(key: string, isHardRefresh: boolean, owner: string): void {
    const { pauseAfterFailures, pauseMs, pauseRequests } = this.#limits;
    const failure = this.#failures.get(key);
    if (failure === undefined || pauseAfterFailures <= 0 || failure.count < pauseAfterFailures) return;
    if (isHardRefresh && !failure.isTimeOut) return;
    const isOver = pauseMs > 0 && this.#clock.now() - failure.since >= pauseMs;
    if (isOver || (pauseRequests > 0 && failure.answered >= pauseRequests)) {
      this.#failures.delete(key);
      return;
    }
    this.#failures.set(key, { ...failure, answered: failure.answered + 1 }, weightOf(failure), owner);
    throw new GenerationPaused(failure.message, pauseMs > 0 ? failure.since + pauseMs : undefined);
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }

  failed(key: string, error: unknown, owner: string): void {
    if (!isFaultOfSource(error)) return;
    const { since = this.#clock.now(), count = 0 } = this.#failures.get(key) ?? {};
    const failure = { since, count: count + 1, message: messageOf(error), answered: 0, isTimeOut: isTimeOut(error) };
    this.#failures.set(key, failure, weightOf(failure), owner);
  }
}

/** Approximate bytes of memory. */
function weightOf({ message }: FailureRecord): number {
  return 300 + 2 * message.length;
}

/**
 * Whether the source itself is at fault, and not an unreachable repository, a missing program or a
 * killed process.
 */
function isFaultOfSource(error: unknown): boolean {
  if (isTimeOut(error)) return true;
  if (isAbort(error) || !(error instanceof DesiredError)) return false;
  const passing = [
    CacheUnwritable,
    CommandError,
    MirrorLost,
    RendererUnavailable,
    RepositoryError,
    RevisionNotFound,
    ToolMissing,
  ];
  return !passing.some((kind) => error instanceof kind);
}

/** A program that timed out, or an error caused by that. */
function isTimeOut(error: unknown): boolean {
  if (error instanceof CommandError) return error.code === 'COMMAND_TIMEOUT';
  return error instanceof DesiredError && error.cause !== undefined && isTimeOut(error.cause);
}

/** Whether a source failed because its repository, or the disk for its copy, was out of reach. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isOutOfReach =
    error instanceof RepositoryError || error instanceof CacheUnwritable || error instanceof DeadlineExceeded;
  const isUnanswered = error instanceof RepoServerError && error.isUnanswered;
  return isOutOfReach || isUnanswered || isTimeOut(error) || isUnreachable(error.cause);
}
