import { shortDuration } from '../../api/words/index.ts';
import type { CostsResponse, UpdateRule } from '#api';
import { outsideText } from '#base';
import { paint, table } from '../process/output.ts';
import type { CommandOutput } from '../process/output.ts';

const header = ['cpu', 'passes', 'renders', 'api requests', 'watch events', 'bytes'];
const maxNameLength = 100;

/** Costs as a table, the most expensive first, with the measured time as its first line. */
export function topLines(
  { subject, windowMs, items, incomplete, rules = [] }: CostsResponse,
  output: CommandOutput,
  limit: number,
): readonly string[] {
  const rows = items
    .slice(0, limit)
    .map(({ name, cpuMs, passes, renders, apiRequests, watchEvents, bytes }) => [
      shownName(name),
      shortDuration(cpuMs),
      ...[passes, renders, apiRequests, watchEvents].map(String),
      shownBytes(bytes),
    ]);
  const rest = items.length - rows.length;
  return [
    paint(output, 'dim', `costs of ${subject} over the last ${shortDuration(windowMs)}`),
    ...(rows.length === 0 ? ['nothing has cost anything yet'] : table([singular[subject], ...header], rows)),
    ...(rest > 0 ? [paint(output, 'dim', `… and ${rest} more: --limit ${items.length} shows all`)] : []),
    ...ruleLines(rules),
    ...incomplete.map(({ replica, reason }) =>
      paint(output, 'yellow', `without ${replica}: ${outsideText('rpc', reason)}`),
    ),
  ];
}

const maxRules = 3;

/** Settings for argocd-cm, ready to copy, with what they would have saved. */
function ruleLines(rules: readonly UpdateRule[]): readonly string[] {
  return rules.slice(0, maxRules).flatMap((rule) => {
    const { setting, changes, saved, objects, jsonPointers, jqPathExpressions, notProposed } = rule;
    const counted = `${changes} changes of ${objects} ${shownName(rule.kind)} that change too often on ${shownName(rule.server)}`;
    const rest =
      notProposed.length === 0
        ? []
        : [`  also changes, and needs comparisons: ${notProposed.map((path) => outsideText('page', path)).join(', ')}`];
    if (saved === 0) return ['', `${counted}: no rule is proposed`, ...rest];
    const list = (name: string, values: readonly string[]): readonly string[] =>
      values.length === 0
        ? []
        : [`    ${name}:`, ...values.map((value) => `    - ${JSON.stringify(outsideText('field', value))}`)];
    return [
      '',
      `${counted}: this rule in argocd-cm would have saved ${saved}`,
      `  ${shownName(setting)}: |`,
      ...list('jsonPointers', jsonPointers),
      ...list('jqPathExpressions', jqPathExpressions),
      ...rest,
    ];
  });
}

const singular: Readonly<Record<CostsResponse['subject'], string>> = {
  apps: 'application',
  clusters: 'cluster',
  kinds: 'kind',
  repositories: 'repository',
  projects: 'project',
};

/** Kinds of the core group begin with a slash. */
function shownName(name: string): string {
  const text = outsideText('field', name).replaceAll(/\s+/g, ' ').replace(/^\//, '');
  return text.length > maxNameLength ? `${text.slice(0, maxNameLength - 1)}…` : text;
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function shownBytes(bytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power] ?? ''}`;
}
