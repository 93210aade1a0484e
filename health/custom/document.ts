import { describe } from './form.ts';
import type { Check, Rule } from './form.ts';

/** The table of docs/health.md: one row for each kind, in the order of their names, with its rules in words. */
export function checksTable(checks: readonly Check[]): string {
  const rows = checks.flatMap((check) =>
    check.kinds.map(
      (key) => `| ${key.replaceAll('*', '\\*')} | ${[...check.rules.map(line), last(check)].join('; ')} |\n`,
    ),
  );
  return `| kind | health, first rule that holds |\n|---|---|\n${rows.sort().join('')}`;
}

function line(rule: Rule): string {
  return 'says' in rule ? rule.says : `${rule[0]}: ${describe(rule[1])}`;
}

function last(check: Check): string {
  return `else ${check.otherwise[0]}`;
}
