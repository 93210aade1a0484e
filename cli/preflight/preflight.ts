import { messageOf, outsideText, UsageError } from '#base';
import { printHelp, readArgs } from '../options/args.ts';
import type { ParsedArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { structured } from '../process/structured.ts';
import { compareInstallation, connectHub, readFrom } from './installation-comparison.ts';
import { preflightOptions } from './options.ts';
import { comparisonProgress, progressWriter } from './progress.ts';
import { exitCodeOf, reportOf } from './report.ts';
import type { PreflightReport } from './report.ts';
import { select } from './selection.ts';
import { reportLines } from './tables.ts';
import { lookUpTools, machineTools, neededTools } from './tools.ts';

/**
 * `driftless preflight`: what would differ if Driftless took over an installation of Argo CD. Reads
 * only: no client can write. Exit code 0: nothing differs; 1: something does; 2: not compared.
 */
export async function preflight(context: CommandContext): Promise<number> {
  const parsed = readArgs(preflightOptions, context.argv, context.env);
  const { output, signal } = context;
  if (parsed.config.help)
    return printHelp(output, 'usage: driftless preflight [APPLICATION...] [FLAGS]', preflightOptions);
  for (const warning of parsed.warnings) output.err(`driftless: ${warning}`);
  try {
    const report = await look(parsed, context);
    const text = structured(parsed.config.output, report);
    if (text !== undefined) output.out(text);
    else for (const line of reportLines(report, output)) output.out(line);
    return exitCodeOf(report);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // An interrupted run has found nothing, so its exit code must not report "nothing differs".
    const why = signal.aborted ? 'interrupted' : outsideText('field', messageOf(error)).replaceAll('\n', ' ');
    output.err(`driftless: cannot compare: ${why}`);
    return 2;
  }
}

async function look(parsed: ParsedArgs<typeof preflightOptions>, context: CommandContext): Promise<PreflightReport> {
  const { config } = parsed;
  const { env, signal } = context;
  const loaded = await connectHub(parsed, env);
  const namespace = config.namespace === '' ? loaded.namespace : config.namespace;
  const say = progressWriter(context.output);
  say(`reading ${namespace} of ${outsideText('url', loaded.connection.server)}`);
  const installation = await readFrom(loaded, namespace, signal);
  const { names, projects, labels } = { names: parsed.positionals, projects: config.project, labels: config.selector };
  const applications = select(installation, { names, projects, labels });
  const query = {
    loaded,
    installation,
    applications,
    remote: undefined,
    onProgress: comparisonProgress(context.output),
  };
  return compareInstallation({ ...query, config, context }, async (compared, commands) => {
    const tools = await lookUpTools(neededTools(applications, installation), machineTools(env, commands, signal));
    const { server } = loaded.connection;
    return reportOf({ server, installation, applications, compared, tools, timeoutMs: config.timeout });
  });
}
