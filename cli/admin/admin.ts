import { UsageError } from '#base';
import { nearest } from '../options/args.ts';
import type { Command, CommandContext } from '../process/command.ts';
import { shards } from '../shards/shards.ts';
import { diffReconcileResults } from './diff-results.ts';
import { getReconcileResults } from './get-results.ts';

const results: Readonly<Record<string, Command>> = {
  'get-reconcile-results': getReconcileResults,
  'diff-reconcile-results': diffReconcileResults,
};

const clusters: Readonly<Record<string, Command>> = {
  shards: (context) => shards({ ...context, argv: ['stats', ...context.argv] }),
  stats: (context) => shards({ ...context, argv: ['stats', ...context.argv] }),
};

const usage = `usage: driftless admin get-reconcile-results PATH [FLAGS]
       driftless admin diff-reconcile-results PATH1 PATH2
       driftless admin cluster shards|stats [FLAGS]`;

const groups: Readonly<Record<string, Readonly<Record<string, Command>>>> = {
  '': results,
  app: results,
  cluster: clusters,
};

/**
 * `driftless admin`: the commands of `argocd admin` that concern the application controller, also
 * under Argo CD's names (`admin app get-reconcile-results`, `admin cluster shards`).
 */
export async function admin(context: CommandContext): Promise<number> {
  const { argv, output } = context;
  const group = argv[0] === 'app' || argv[0] === 'cluster' ? argv[0] : '';
  const [word, ...rest] = group === '' ? argv : argv.slice(1);
  if (word === undefined || word === 'help' || word === '--help' || word === '-h') {
    output.out(usage);
    return word === undefined ? 2 : 0;
  }
  const known = groups[group] ?? {};
  const command = Object.hasOwn(known, word) ? known[word] : undefined;
  if (command !== undefined) return command({ ...context, argv: rest });
  const near = nearest(word, Object.keys(known));
  const full = `admin ${group === '' ? '' : `${group} `}${word}`;
  throw new UsageError(
    `there is no "driftless ${full}"${near === undefined ? `: argocd ${full} may have it` : `: did you mean ${near}?`}`,
  );
}
