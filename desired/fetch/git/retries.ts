import type { Clock } from '#base';
import type { CommandResult } from '../../command/types.ts';
import { CommandError } from '../../errors.ts';

/** ARGOCD_GIT_ATTEMPTS_COUNT, ARGOCD_GIT_RETRY_DURATION, _FACTOR and _MAX_DURATION. */
export interface GitRetryRule {
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly factor: number;
  /** 0: no maximum. */
  readonly maxDelayMs: number;
}

/** As git and curl report a connection that was reset, or that ended early. */
const lostConnection =
  /connection (?:was )?reset|reset by peer|empty reply from server|early EOF|unexpected (?:EOF|disconnect)|remote end hung up|connection closed by/i;

/**
 * The delay before the next attempt (Argo CD: util/git, LsRemote): only a lost connection is waited
 * for; any other failure is retried at once.
 */
export function retryDelayMs(rule: GitRetryRule, failed: number, stderr: string): number {
  if (!lostConnection.test(stderr)) return 0;
  const delay = rule.firstDelayMs * rule.factor ** (failed - 1);
  return rule.maxDelayMs > 0 ? Math.min(rule.maxDelayMs, delay) : delay;
}

/** Runs git until it succeeds or the attempts are used up; returns or throws the last failure. */
export async function withGitRetries(
  rule: GitRetryRule,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  run: () => Promise<CommandResult>,
): Promise<CommandResult> {
  for (let failed = 1; ; failed += 1) {
    const isLast = failed >= rule.attempts;
    const result = await run().catch((error: unknown) => {
      if (isLast || !(error instanceof CommandError) || error.code !== 'COMMAND_TIMEOUT') throw error;
      return undefined;
    });
    if (result !== undefined && (isLast || result.exitCode === 0)) return result;
    const delayMs = retryDelayMs(rule, failed, result?.stderr ?? '');
    if (delayMs > 0) await clock.sleep(delayMs, signal);
    signal.throwIfAborted();
  }
}
