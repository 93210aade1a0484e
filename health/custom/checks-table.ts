import { describeTest } from './check.ts';
import type { HealthCheck, HealthRule } from './check.ts';

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
  return 'description' in rule ? rule.description : `${rule[0]}: ${describeTest(rule[1])}`;
}

function describeOtherwise(check: HealthCheck): string {
  return `else ${check.otherwise[0]}`;
}
