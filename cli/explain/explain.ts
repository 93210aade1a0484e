import { UsageError } from '#base';
import { printHelp, readArgs } from '../options/args.ts';
import { help, structuredOutput } from '../options/common-options.ts';
import type { CommandContext } from '../process/command.ts';
import { structured } from '../process/structured.ts';
import { applicationNamespace, readApiOptions, withReader } from '../read-api/connect.ts';
import { readApiDefaults } from '../read-api/defaults.ts';
import { explanationLines, verdictExitCodes } from './explanation.ts';
import { explainedKinds, explainTarget } from './targets.ts';
import type { ExplainedKind, ExplainedTarget } from './targets.ts';

const options = {
  namespace: applicationNamespace,
  ...readApiOptions,
  output: structuredOutput,
  help,
} as const;

const usage = `usage: driftless explain [application] NAME [FLAGS]
       driftless explain cluster NAME|URL
       driftless explain repository URL
       driftless explain replica NAME`;

/**
 * `driftless explain`: who owns an Application, why it differs and who changed it, what it waits
 * for, what is degraded. Exit codes: 0 healthy, 3 waiting, 4 broken; 1 no answer, 2 wrong usage.
 */
export async function explain({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config, positionals } = readArgs(options, argv, env);
  if (config.help) return printHelp(output, `${usage}\n\nExit codes: 0 healthy, 3 waiting, 4 broken.`, options);
  const target = targetOf(positionals, config);
  const { explanation, page } = await withReader(config, readApiDefaults(env), signal, (reader) =>
    explainTarget(reader, target),
  );
  const { verdict, reason = '' } = explanation;
  const text = structured(config.output, { verdict, reason, page });
  if (text !== undefined) output.out(text);
  else for (const line of explanationLines(explanation, output)) output.out(line);
  return verdictExitCodes[verdict];
}

function targetOf(
  positionals: readonly string[],
  { namespace, controllerNamespace }: { readonly namespace: string; readonly controllerNamespace: string },
): ExplainedTarget {
  const [first = '', second, ...more] = positionals;
  const kind = kindOf(first);
  const name = kind === undefined || second === undefined ? first : second;
  const isComplete = second === undefined ? name !== '' : kind !== undefined;
  if (!isComplete || more.length > 0) throw new UsageError(usage);
  if (second === undefined || kind === 'application') return applicationOf(name, namespace, controllerNamespace);
  return { kind: kind ?? 'application', name, namespace: '' };
}

function kindOf(word: string): ExplainedKind | undefined {
  if (word === 'app') return 'application';
  return explainedKinds.find((kind) => kind === word);
}

/** `NAME`, or `NAMESPACE/NAME` as the logs have it. */
export function applicationOf(text: string, namespace: string, controllerNamespace: string): ExplainedTarget {
  const [first = '', second, ...more] = text.split('/');
  if (more.length > 0 || first === '' || second === '')
    throw new UsageError(`an Application is named NAME or NAMESPACE/NAME, not "${text}"`);
  if (second !== undefined) return { kind: 'application', namespace: first, name: second };
  return { kind: 'application', namespace: namespace === '' ? controllerNamespace : namespace, name: first };
}
