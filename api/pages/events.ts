import { splitAppKey } from '#model';
import type { AppKey } from '#model';
import type { ReplicaFacts } from '../facts.ts';
import type { RecentEvent } from '../types.ts';
import { levelTexts } from '../words/index.ts';
import { wireTime } from './format.ts';
import { handOvers } from './ownership.ts';

/** Actions of this replica over the last hour, the newest first. */
export function recentEvents(
  facts: ReplicaFacts,
  isWanted: (key: string) => boolean = () => true,
): readonly RecentEvent[] {
  const { passes, syncs, faults } = facts.controller.activity();
  const common = { replica: facts.name };
  const named = (key: string): Pick<RecentEvent, 'namespace' | 'name'> => splitAppKey(key as AppKey);
  const timed: { readonly at: number; readonly event: Omit<RecentEvent, 'at'> }[] = [];
  for (const { key, at, durationMs, result, message, reason, level } of passes)
    if (isWanted(key)) {
      const text = `${reason} (${levelTexts[level]})${message === undefined ? '' : `; ${result}: ${message}`}`;
      const event = { ...common, ...named(key), message: text, durationMs: Math.round(durationMs) };
      timed.push({ at, event: { ...event, type: 'pass', ok: result !== 'failed' } });
    }
  for (const { key, at, durationMs, phase, message } of syncs)
    if (isWanted(key)) {
      const event = { ...common, ...named(key), message: `${phase}: ${message}`, durationMs };
      timed.push({ at, event: { ...event, type: 'sync', ok: phase === 'Succeeded' } });
    }
  for (const { key, at, message } of faults)
    if (isWanted(key)) timed.push({ at, event: { ...common, ...named(key), type: 'fault', message, ok: false } });
  timed.sort((a, b) => b.at - a.at);
  return timed.map(({ at, event }) => ({ at: wireTime(at), ...event }));
}

/** The hand-overs that this replica saw, as events. */
export function handOverEvents(facts: ReplicaFacts): readonly RecentEvent[] {
  return handOvers(facts).map(({ at, server, message }) => ({
    at,
    type: 'hand-over',
    replica: facts.name,
    server,
    message,
    ok: true,
  }));
}
