import { UsageError } from '#base';
import { printHelp, readArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { refreshApplication, startOperation, terminateOperation } from './operate.ts';
import { rollbackOperation, syncOperation } from './operation.ts';
import { operateOptions, operationOptions } from './options.ts';

const exitCodes = 'Exit codes: 0 done, or requested without --wait; 1 failed or timed out; 2 wrong usage.';

function helpOn(
  { output }: CommandContext,
  usage: string,
  text: string,
  options: Parameters<typeof printHelp>[2],
): number {
  return printHelp(output, `${usage}\n\n${text}\n${exitCodes}`, options);
}

const refreshOptions = {
  hard: { flag: 'hard', kind: 'bool', help: 'Also render the manifests again.' },
  ...operateOptions,
} as const;
const refreshUsage = 'usage: driftless refresh NAME [--hard] [--wait] [FLAGS]';

/** `driftless refresh`: compares an Application with what Git says now. */
export async function refresh(context: CommandContext): Promise<number> {
  const { config, positionals } = readArgs(refreshOptions, context.argv, context.env);
  if (config.help)
    return helpOn(context, refreshUsage, 'Asks the controller to compare an Application now.', refreshOptions);
  return refreshApplication({ config, context, positionals, usage: refreshUsage }, config.hard);
}

const syncOptions = {
  revision: { flag: 'revision', kind: 'string', help: 'Revision to sync to. Empty: that of the source.' },
  resource: {
    flag: 'resource',
    kind: 'list',
    help: 'Sync only this resource: GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME; * stands for any, ! leaves it out. Can be repeated.',
  },
  ...operationOptions,
  ...operateOptions,
} as const;
const syncUsage = `usage: driftless sync NAME [--revision R] [--prune] [--dry-run] [--wait] [FLAGS]
       driftless sync NAME --resource GROUP:KIND:NAME [--resource ...]`;

/** `driftless sync`: applies what Git says. */
export async function sync(context: CommandContext): Promise<number> {
  const { config, positionals } = readArgs(syncOptions, context.argv, context.env);
  if (config.help) return helpOn(context, syncUsage, 'Asks the controller to sync an Application.', syncOptions);
  const { revision, prune, dryRun, resource: resources } = config;
  return startOperation({ config, context, positionals, usage: syncUsage }, 'sync', (app, username) =>
    syncOperation(app, { revision, prune, dryRun, resources, username }),
  );
}

const rollbackOptions = { ...operationOptions, ...operateOptions } as const;
const rollbackUsage = 'usage: driftless rollback NAME [ID] [--prune] [--dry-run] [--wait] [FLAGS]';

/** `driftless rollback`: syncs to an earlier deployment. */
export async function rollback(context: CommandContext): Promise<number> {
  const { config, positionals } = readArgs(rollbackOptions, context.argv, context.env);
  const text = 'Asks the controller to sync to an entry of status.history; without ID: to the one before the last.';
  if (config.help) return helpOn(context, rollbackUsage, text, rollbackOptions);
  const [name = '', id, ...more] = positionals;
  if (more.length > 0) throw new UsageError(rollbackUsage);
  const { prune, dryRun } = config;
  return startOperation({ config, context, positionals: [name], usage: rollbackUsage }, 'rollback', (app, username) =>
    rollbackOperation(app, { id, prune, dryRun, username }),
  );
}

const terminateUsage = 'usage: driftless terminate NAME [--wait] [FLAGS]';

/** `driftless terminate`: ends the operation of an Application. */
export async function terminate(context: CommandContext): Promise<number> {
  const { config, positionals } = readArgs(operateOptions, context.argv, context.env);
  if (config.help)
    return helpOn(context, terminateUsage, 'Asks the controller to end the operation in progress.', operateOptions);
  return terminateOperation({ config, context, positionals, usage: terminateUsage });
}
