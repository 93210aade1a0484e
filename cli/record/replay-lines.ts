import { isObject, outsideText, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import type { DecisionDifference, ReplayedPass } from '#controller';

const maxShownValue = 200;

/** One line for the pass, one for each decision that differs. */
export function passLines(pass: ReplayedPass): readonly string[] {
  const time = isoTime(pass.now);
  const summary = pass.type === 'refresh' ? refreshSummary(pass.replayed) : operationSummary(pass.replayed);
  return [
    singleLine(`${time}  ${pass.type.padEnd(9)}  ${summary}`),
    ...pass.differences.map((difference) => singleLine(`    differs  ${differenceText(difference)}`)),
    ...(pass.differences.length > 0 ? pass.inexact.map((why) => singleLine(`    maybe because ${why}`)) : []),
  ];
}

/** A recording is written by others: its texts must not move the cursor or forge lines. */
export function singleLine(text: string): string {
  return outsideText('field', text).replaceAll(/[\n\t]/g, ' ');
}

function isoTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'invalid time' : date.toISOString();
}

function differenceText({ path, recorded, replayed }: DecisionDifference): string {
  return `${path}: recorded ${valueText(recorded)}, this version ${valueText(replayed)}`;
}

function valueText(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  const text = stringifyJson(value);
  return text.length > maxShownValue ? `${text.slice(0, maxShownValue)}…` : text;
}

function refreshSummary(decided: JsonObject): string {
  const { due, error, sync, health, resources, automatedSync, statusPatch } = decided;
  const why = isObject(due) ? `level ${shown(due['level'])} (${shown(due['reason'])})` : 'after an operation';
  if (isObject(error)) return `${why} → no comparison: ${shown(error['message'])}`;
  const compared = isObject(sync)
    ? `${shown(sync['status'])}, ${isObject(health) ? shown(health['status']) : ''}; ${countText(resources)}; automated sync: ${actionText(automatedSync)}`
    : 'nothing compared';
  return `${why} → ${compared}; ${statusPatch === undefined ? 'no write' : 'writes the status'}`;
}

function countText(resources: Json | undefined): string {
  const rows = isObject(resources) ? Object.values(resources) : [];
  const differing = rows.filter((row) => isObject(row) && row['sync'] === 'OutOfSync').length;
  return `${differing} of ${rows.length} resources differ`;
}

function actionText(decision: Json | undefined): string {
  if (!isObject(decision)) return 'no decision';
  return `${shown(decision['do'])} (${shown(decision['reason'] ?? decision['message'])})`;
}

function operationSummary(decided: JsonObject): string {
  const { start, calls, next, waitMs, error } = decided;
  if (isObject(error)) return `${shown(start)} → ${shown(error['message'])}`;
  if (waitMs !== undefined) return `waits ${shown(waitMs)} ms`;
  const sent = Array.isArray(calls) ? (calls as readonly Json[]).filter(isObject) : [];
  const named = sent.slice(0, 3).map((call) => `${shown(call['method'])} ${shown(call['key'])}`);
  const more = sent.length > named.length ? ` and ${sent.length - named.length} more` : '';
  const effect = named.length === 0 ? 'no write' : named.join(', ') + more;
  return `${shown(start)} → ${effect}; ${isObject(next) ? `${shown(next['phase'])}: ${shown(next['message'])}` : 'no state'}`;
}

function shown(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : stringifyJson(value);
}
