import type { OptionSpec } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { help, structuredOutput } from '../options/common-options.ts';

/**
 * The flags of `driftless preflight`. The controller's own settings are read from the installation.
 */
export const preflightOptions = {
  kubeconfig: {
    ...runOptions.kubeconfig,
    help: 'Path to the kubeconfig file of the hub cluster. Empty: in-cluster configuration, otherwise ~/.kube/config.',
  },
  context: runOptions.context,
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
    ...runOptions.cacheDir,
    help: 'Directory that caches repositories between runs. Empty: a temporary directory that is deleted afterwards.',
  },
  allowLocalRepositories: {
    ...runOptions.allowLocalRepositories,
    help: 'Allow sources on the local disk (file:// and absolute paths).',
  },
  allowLocalSources: {
    ...runOptions.allowLocalSources,
    help: "Allow sources on loopback, this machine's addresses and the API server's. For labs and tests.",
  },
  output: structuredOutput,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;
