import { writeFileSync } from 'node:fs';
import { messageOf, outsideText, UsageError } from '#base';
import type { RemoteSourceDeps } from '#desired';
import { isNotFound } from '#kube';
import type { LoadedConnection } from '#kube';
import { appKeyOf, asApplication } from '#model';
import type { Application } from '#model';
import { printHelp, readArgs } from '../options/args.ts';
import type { ConfigOf, OptionSpec, ParsedArgs } from '../options/args.ts';
import { help } from '../options/common-options.ts';
import { runOptions } from '../options/run-options.ts';
import { compareInstallation, connectHub, readFrom } from '../preflight/installation-comparison.ts';
import { preflightOptions } from '../preflight/options.ts';
import { comparisonProgress } from '../preflight/progress.ts';
import { isLeftAlone, select } from '../preflight/selection.ts';
import type { CommandContext } from '../process/command.ts';
import { hubKinds, listAll, readOnlyClient } from '../process/hub.ts';
import { formatResults, resultFormats, resultsOf } from './reconcile-results.ts';
import type { ResultFormat } from './reconcile-results.ts';

const { kubeconfig, context, namespace, selector, timeout } = preflightOptions;
const { cacheDir, allowLocalRepositories, allowLocalSources } = preflightOptions;

/** The flags of Argo CD, and those that a comparison on this machine needs. */
export const getResultsOptions = {
  kubeconfig,
  context,
  namespace,
  selector: { ...selector, aliases: ['l'] },
  output: {
    flag: 'output',
    aliases: ['o'],
    short: 'o',
    kind: 'string',
    default: 'yaml',
    choices: resultFormats,
    help: 'Format of the file: yaml or json.',
  },
  refresh: {
    flag: 'refresh',
    kind: 'bool',
    help: 'Compare the Applications again instead of taking their status. Writes nothing to any cluster.',
  },
  repoServer: {
    flag: 'repo-server',
    kind: 'string',
    help: 'With --refresh: address of a repo-server that renders. Its certificate is not verified, as in Argo CD. Empty: render on this machine.',
  },
  repoServerPlaintext: {
    flag: 'repo-server-plaintext',
    kind: 'bool',
    help: 'Connect to the repo-server without TLS.',
  },
  jqTimeout: runOptions.jqTimeout,
  serverSideDiff: {
    flag: 'server-side-diff',
    kind: 'bool',
    help: 'Refused: the comparison must not send writes to your clusters, not even as a dry run.',
  },
  timeout,
  cacheDir,
  allowLocalRepositories,
  allowLocalSources,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

const usage = 'usage: driftless admin get-reconcile-results PATH [FLAGS]';

/**
 * `driftless admin get-reconcile-results`: writes health, sync status and conditions of each
 * Application to a file, in Argo CD's format. With `--refresh` they are compared again, and an
 * Application that is not compared in time fails the command: a file without it would show it as
 * deleted.
 */
export async function getReconcileResults(commandContext: CommandContext): Promise<number> {
  const parsed = readArgs(getResultsOptions, commandContext.argv, commandContext.env);
  const { config, positionals, warnings } = parsed;
  const { output } = commandContext;
  if (config.help) return printHelp(output, `${usage}\n\nPATH - prints to standard output.`, getResultsOptions);
  for (const warning of warnings) output.err(`driftless: ${warning}`);
  const path = checkUsage(config, positionals);
  const loaded = await connectHub(parsed, commandContext.env);
  const where = config.namespace === '' ? loaded.namespace : config.namespace;
  const applications = config.refresh
    ? await comparedAgain(loaded, where, parsed, commandContext)
    : await listApplications(loaded, where, config.selector, commandContext.signal);
  if (applications.length === 0)
    output.err(`driftless: no Application in namespace ${where}${config.selector === '' ? '' : ' matches --selector'}`);
  writeResults(path, formatResults(resultsOf(applications), config.output as ResultFormat), commandContext);
  return 0;
}

function checkUsage(config: ConfigOf<typeof getResultsOptions>, positionals: readonly string[]): string {
  const [path, ...more] = positionals;
  if (path === undefined || path === '' || more.length > 0) throw new UsageError(usage);
  if (config.serverSideDiff)
    throw new UsageError(
      '--server-side-diff is not supported: it sends dry runs of writes, and this command only reads',
    );
  if (config.repoServer !== '' && !config.refresh) throw new UsageError('--repo-server needs --refresh');
  if (config.repoServerPlaintext && config.repoServer === '')
    throw new UsageError('--repo-server-plaintext needs --repo-server');
  return path;
}

function writeResults(path: string, text: string, { output }: CommandContext): void {
  if (path === '-') {
    output.out(text.trimEnd());
    return;
  }
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new UsageError(`cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** Needs the right to list Applications only. */
async function listApplications(
  loaded: LoadedConnection,
  where: string,
  labelSelector: string,
  signal: AbortSignal,
): Promise<readonly Application[]> {
  const client = readOnlyClient(loaded.connection, 'driftless-admin');
  const options = { namespace: where, signal, ...(labelSelector === '' ? {} : { labelSelector }) };
  try {
    return await listAll(client, hubKinds.applications, options, (object) => trimmed(asApplication(object)));
  } catch (error) {
    if (isNotFound(error))
      throw new UsageError(
        `${outsideText('url', client.server)} does not know Applications: is Argo CD in another cluster?`,
        { cause: error },
      );
    throw error;
  } finally {
    await client.close();
  }
}

/** The parts that a result has. */
function trimmed({ apiVersion, kind, metadata, spec, status }: Application): Application {
  const { sync, health, conditions } = status ?? {};
  const kept = { ...(sync && { sync }), ...(health && { health }), ...(conditions && { conditions }) };
  return { apiVersion, kind, metadata, spec, status: kept };
}

async function comparedAgain(
  loaded: LoadedConnection,
  where: string,
  { config, given }: ParsedArgs<typeof getResultsOptions>,
  { env, signal, output }: CommandContext,
): Promise<readonly Application[]> {
  const installation = await readFrom(loaded, where, signal);
  const own = { ...installation, applications: installation.applications.filter(isIn(where)) };
  const applications = select(own, { names: [], projects: [], labels: config.selector });
  const skipped = applications.filter((app) => isLeftAlone(app, own));
  if (skipped.length > 0)
    output.err(`driftless: status as stored, since they are marked skip-reconcile: ${namesOf(skipped)}`);
  const query = { loaded, installation: own, applications, config, context: { env, signal } };
  const overrides = given.has('jqTimeout') ? { jqTimeout: config.jqTimeout } : {};
  const onProgress = comparisonProgress(output);
  return compareInstallation({ ...query, remote: remoteOf(config), overrides, onProgress }, ({ verdicts }) => {
    const missing = applications.filter((app) => !skipped.includes(app) && !verdicts.has(appKeyOf(app)));
    if (missing.length > 0)
      throw new UsageError(
        `not compared within --timeout (${config.timeout / 1000} s): ${namesOf(missing)}; nothing is written`,
      );
    return Promise.resolve(
      applications.map((app): Application => ({
        ...app,
        status: verdicts.get(appKeyOf(app))?.status ?? app.status ?? {},
      })),
    );
  });
}

function isIn(where: string): (app: Application) => boolean {
  return ({ metadata }) => metadata.namespace === where;
}

function remoteOf(
  config: ConfigOf<typeof getResultsOptions>,
): Omit<RemoteSourceDeps, 'clock' | 'userAgent'> | undefined {
  if (config.repoServer === '') return undefined;
  return {
    address: config.repoServer,
    ...(config.repoServerPlaintext ? {} : { tls: {} }),
    timeoutMs: runOptions.repoServerTimeout.default,
    maxMessageBytes: runOptions.grpcMaxSizeMb.default * 1024 * 1024,
    serviceConfigFromDns: false,
  };
}

const maxNames = 5;

function namesOf(applications: readonly Application[]): string {
  const names = applications.slice(0, maxNames).map(({ metadata }) => metadata.name ?? '');
  const rest = applications.length - names.length;
  return `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
