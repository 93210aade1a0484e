import { formatGoDuration } from '#base';
import { isAutomated } from '#model';
import type { Application } from '#model';
import type { AutosyncDecision, AutosyncFacts } from './autosync.ts';
import { alreadySynced, healWaits, onlyPruningLeft, revisionsOf, triedRevisions } from './autosync.ts';

export interface LogLine {
  readonly level: 'info' | 'warn';
  readonly message: string;
}

/** The line by which Argo CD reports why automated sync does not start; undefined: no line. */
export function autosyncLine(facts: AutosyncFacts, decision: AutosyncDecision): LogLine | undefined {
  if (!isAutomated(facts.app.spec)) return undefined;
  switch (decision.do) {
    case 'start':
      return undefined;
    case 'refuse':
      return { level: 'warn', message: refusalLine(facts, decision.message) };
    case 'wait':
      return { level: 'info', message: `Skipping auto-sync: ${waitReason(facts, decision)}` };
    case 'skip':
      return { level: 'info', message: `Skipping auto-sync: ${skipReason(facts, decision.reason)}` };
  }
}

/** The line of {@link autosyncLine} for an Application that is Synced. */
export function syncedLine(app: Application): LogLine | undefined {
  if (!isAutomated(app.spec)) return undefined;
  return { level: 'info', message: 'Skipping auto-sync: application status is Synced' };
}

function refusalLine(facts: AutosyncFacts, message: string): string {
  if (message.startsWith('Skipping sync attempt')) return message;
  return `Skipping auto-sync: failed previous sync attempt to ${tried(facts)} and will not retry for ${desired(facts)}`;
}

function waitReason(facts: AutosyncFacts, { ms, reason }: { readonly ms: number; readonly reason: string }): string {
  if (!reason.startsWith(healWaits)) return reason;
  const timeout = formatGoDuration(facts.backoff.timeoutMs);
  return `already attempted sync to ${tried(facts)} with timeout ${timeout} (retrying in ${formatGoDuration(ms)})`;
}

/** Reasons that Argo CD does not have keep our words. */
function skipReason(facts: AutosyncFacts, reason: string): string {
  const { app, syncStatus } = facts;
  if (app.operation !== undefined) return 'another operation is in progress';
  if (app.metadata.deletionTimestamp !== undefined) return 'deletion in progress';
  if (syncStatus.status !== 'OutOfSync') return `application status is ${syncStatus.status}`;
  if (reason === onlyPruningLeft) return 'need to prune extra resources only but automated prune is disabled';
  return reason === alreadySynced ? `most recent sync already to ${desired(facts)}` : reason;
}

function desired({ syncStatus }: AutosyncFacts): string {
  return `[${revisionsOf(syncStatus).join(' ')}]`;
}

function tried(facts: AutosyncFacts): string {
  const last = facts.app.status?.operationState;
  return last?.syncResult === undefined ? '[]' : `[${triedRevisions(facts, last)}]`;
}
