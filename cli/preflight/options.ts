import type { OptionSpec } from '../options/args.ts';
import { help, structuredOutput } from '../options/common-options.ts';

/**
 * The flags of `driftless preflight`. The controller's own settings are read from the installation.
 */
export const preflightOptions = {
  kubeconfig: {
    flag: 'kubeconfig',
    kind: 'string',
    env: 'KUBECONFIG',
    help: 'Path to the kubeconfig file of the hub cluster. Empty: in-cluster configuration, otherwise ~/.kube/config.',
  },
  context: { flag: 'context', kind: 'string', help: 'Name of the kubeconfig context to use.' },
  namespace: { flag: 'namespace', short: 'n', kind: 'string', help: 'Namespace of Argo CD.' },
  project: { flag: 'project', kind: 'csv', help: 'Projects to filter Applications by.' },
  selector: {
    flag: 'selector',
    short: 'l',
    kind: 'string',
    help: 'Label selector to filter Applications by, in the syntax of kubectl.',
  },
  timeout: {
    flag: 'timeout',
    kind: 'duration',
    default: 300_000,
    min: 1000,
    help: 'Timeout for the comparison. Applications not compared by then are reported.',
  },
  cacheDir: {
    flag: 'cache-dir',
    kind: 'string',
    env: 'DRIFTLESS_CACHE_DIR',
    help: 'Directory that caches repositories between runs. Empty: a temporary directory that is deleted afterwards.',
  },
  allowLocalRepositories: {
    flag: 'allow-local-repositories',
    kind: 'bool',
    env: 'DRIFTLESS_ALLOW_LOCAL_REPOSITORIES',
    help: 'Allow sources on the local disk (file:// and absolute paths).',
  },
  allowLocalSources: {
    flag: 'allow-local-sources',
    kind: 'bool',
    env: 'DRIFTLESS_ALLOW_LOCAL_SOURCES',
    help: "Allow sources on loopback, this machine's addresses and the API server's. For labs and tests.",
  },
  output: structuredOutput,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;
