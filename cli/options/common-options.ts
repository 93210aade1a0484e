import type { OptionSpec } from './args.ts';

/** Options that all commands share. */
export const help = {
  flag: 'help',
  short: 'h',
  kind: 'bool',
  help: 'Show this help.',
} as const satisfies OptionSpec;

export const output = {
  flag: 'output',
  short: 'o',
  kind: 'string',
  choices: ['', 'json'],
  help: 'Output format: json.',
} as const satisfies OptionSpec;

/** Of commands with one result. */
export const structuredOutput = {
  ...output,
  choices: ['', 'json', 'yaml'],
  help: 'Output format: json or yaml.',
} as const satisfies OptionSpec;
