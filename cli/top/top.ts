import { costSubjects } from '../../api/types.ts';
import type { CostsResponse, CostSubject } from '#api';
import { systemClock, UsageError } from '#base';
import { printHelp, readArgs } from '../options/args.ts';
import { help, structuredOutput } from '../options/common-options.ts';
import type { CommandContext } from '../process/command.ts';
import { structured } from '../process/structured.ts';
import type { ApiReader } from '../read-api/api-reader.ts';
import { readApiOptions, withReader } from '../read-api/connect.ts';
import { readApiDefaults } from '../read-api/defaults.ts';
import { topLines } from './top-table.ts';

const options = {
  watch: { flag: 'watch', short: 'w', kind: 'bool', help: 'Show the costs again every two seconds.' },
  limit: { flag: 'limit', kind: 'int', default: 20, min: 1, max: 100_000, help: 'Number of rows.' },
  ...readApiOptions,
  output: structuredOutput,
  help,
} as const;

const usage = `usage: driftless top ${costSubjects.join('|')} [FLAGS]`;
const intervalMs = 2000;
const clearScreen = '\u001b[H\u001b[J';

/** `driftless top`: who costs what over the last hour, the most expensive first. */
export async function top({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config, positionals } = readArgs(options, argv, env);
  if (config.help) return printHelp(output, usage, options);
  const [subject, ...more] = positionals;
  const known = costSubjects.find((name) => name === subject);
  if (known === undefined || more.length > 0) throw new UsageError(usage);
  return withReader(config, readApiDefaults(env), signal, async (reader) => {
    for (;;) {
      const costs = await readCosts(reader, known);
      const text = structured(config.output, costs);
      const lines = text === undefined ? topLines(costs, output, config.limit) : [text];
      const redraws = config.watch && output.screen === true && text === undefined;
      output.out(
        `${redraws ? clearScreen : ''}${config.watch && config.output === 'yaml' ? '---\n' : ''}${lines.join('\n')}`,
      );
      if (!config.watch) return 0;
      await systemClock.sleep(intervalMs, signal);
    }
  });
}

async function readCosts(reader: ApiReader, subject: CostSubject): Promise<CostsResponse> {
  return (await reader.get(`/costs/${subject}`)) as CostsResponse;
}
