import type { OptionSpec } from './args.ts';

/** What every command has, with the same words. */
export const help = {
  flag: 'help',
  short: 'h',
  kind: 'bool',
  default: false,
  help: 'This text.',
} as const satisfies OptionSpec;

export const output = {
  flag: 'output',
  short: 'o',
  kind: 'string',
  default: '',
  choices: ['', 'json'],
  help: 'json for machines.',
} as const satisfies OptionSpec;
