import type { OptionSpec } from '../args.ts';
import { help, output } from '../common-options.ts';

/** The flags of `driftless preflight`. What the controller would go by is read from the installation, not from flags. */
export const preflightOptions = {
  kubeconfig: {
    flag: 'kubeconfig',
    kind: 'string',
    default: '',
    env: 'KUBECONFIG',
    help: "Configuration of the hub cluster; when not given the pod's own, or ~/.kube/config.",
  },
  context: { flag: 'context', kind: 'string', default: '', help: 'Context in it.' },
  namespace: { flag: 'namespace', short: 'n', kind: 'string', default: '', help: 'Namespace of Argo CD.' },
  project: { flag: 'project', kind: 'csv', default: [], help: 'Only Applications of these projects.' },
  selector: {
    flag: 'selector',
    short: 'l',
    kind: 'string',
    default: '',
    help: 'Only Applications with these labels, as kubectl takes them.',
  },
  timeout: {
    flag: 'timeout',
    kind: 'duration',
    default: 300_000,
    min: 1000,
    help: 'How long comparing may take; what is not compared by then is said.',
  },
  cacheDir: {
    flag: 'cache-dir',
    kind: 'string',
    default: '',
    env: 'DRIFTLESS_CACHE_DIR',
    help: 'Where repositories are kept for the next time; a temporary folder, removed at the end, when empty.',
  },
  allowLocalRepositories: {
    flag: 'allow-local-repositories',
    kind: 'bool',
    default: false,
    env: 'DRIFTLESS_ALLOW_LOCAL_REPOSITORIES',
    help: "Sources may lie on this machine's disk (file:// and absolute paths).",
  },
  output,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;
