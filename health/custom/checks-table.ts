import type { HealthCheck, HealthRule } from './rules/check.ts';
import { describeMatch, describeTest } from './rules/describe.ts';

/** The table of docs/health.md: one row per kind, sorted by name, with its rules in words. */
export function checksTable(checks: readonly HealthCheck[]): string {
  const rows = checks.flatMap((check) =>
    check.kinds.map(
      (key) =>
        `| ${key.replaceAll('*', '\\*')} | ${[...check.rules.map(describeRule), describeOtherwise(check)].join('; ')} |\n`,
    ),
  );
  return `| Kind | Health, by the first rule that matches |\n|---|---|\n${rows.sort().join('')}`;
}

function describeRule(rule: HealthRule): string {
  if ('description' in rule) return rule.description;
  if (!('walk' in rule)) return `${rule[0]}: ${describeTest(rule[1])}`;
  const lines = rule.lines.map(([status, match]) => `${status}: ${describeMatch(match)}`).join(', ');
  const one = rule.lines.length === 1;
  const where = rule.walk === 'status.conditions' ? '' : ` of ${rule.walk.replace('status.', '')}`;
  return one && where === '' ? lines : `by the first condition${where} that decides (${lines})`;
}

function describeOtherwise(check: HealthCheck): string {
  return `else ${check.otherwise[0]}`;
}
