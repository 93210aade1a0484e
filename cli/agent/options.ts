import type { ConfigOf, OptionSpec } from '../options/args.ts';
import { help } from '../options/common-options.ts';
import { runOptions } from '../options/run-options.ts';

/** The table of `driftless agent`. */
export const agentOptions = {
  repo: {
    flag: 'repo',
    kind: 'string',
    env: 'DRIFTLESS_AGENT_REPO',
    help: 'URL of the Git repository (https, ssh or file), or the path of a directory.',
  },
  path: {
    flag: 'path',
    kind: 'string',
    default: '.',
    env: 'DRIFTLESS_AGENT_PATH',
    help: 'Folder of the repository to apply: manifests, a Kustomization, a Helm chart or Jsonnet.',
  },
  revision: {
    flag: 'revision',
    kind: 'string',
    default: 'HEAD',
    env: 'DRIFTLESS_AGENT_REVISION',
    help: 'Branch, tag, commit or version range to follow.',
  },
  archive: {
    flag: 'archive',
    kind: 'string',
    env: 'DRIFTLESS_AGENT_ARCHIVE',
    help: 'URL of a tar archive instead of --repo, asked again with its ETag at --interval.',
  },
  digest: {
    flag: 'digest',
    kind: 'string',
    env: 'DRIFTLESS_AGENT_DIGEST',
    pattern: { matches: /^(?:|sha256:[0-9a-f]{64})$/, expected: 'sha256: and 64 lower-case hex digits' },
    help: 'SHA-256 digest of --archive, as sha256:HEX. Another content is refused. Empty: any content (https only).',
  },
  configFile: {
    flag: 'config',
    kind: 'string',
    env: 'DRIFTLESS_AGENT_CONFIG',
    help: 'Path of a YAML file with sync options, ignored differences, exclusions and health scripts.',
  },
  namespace: {
    flag: 'namespace',
    short: 'n',
    kind: 'string',
    default: 'default',
    env: 'DRIFTLESS_AGENT_NAMESPACE',
    help: 'Namespace of objects that name none.',
  },
  namespaces: {
    flag: 'namespaces',
    kind: 'csv',
    env: 'DRIFTLESS_AGENT_NAMESPACES',
    help: 'Read and write these namespaces only, without cluster-wide rights. Empty: the whole cluster.',
  },
  name: {
    flag: 'name',
    kind: 'string',
    env: 'DRIFTLESS_AGENT_NAME',
    pattern: {
      matches: /^(?:|[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?)$/,
      expected: 'at most 40 lower-case letters, digits and inner dashes',
    },
    help: 'Name under which the objects are tracked, unique in the cluster. Empty: from the folder and a hash of repository, folder and namespace.',
  },
  prune: {
    flag: 'prune',
    kind: 'bool',
    env: 'DRIFTLESS_AGENT_PRUNE',
    help: 'Delete objects of this agent that are no longer in the folder.',
  },
  selfHeal: {
    flag: 'self-heal',
    kind: 'bool',
    env: 'DRIFTLESS_AGENT_SELF_HEAL',
    help: 'Repair changes that others make to the objects.',
  },
  once: {
    flag: 'once',
    kind: 'bool',
    help: 'Exit as soon as everything is Synced and Healthy, or with exit code 1 after --timeout.',
  },
  timeout: {
    flag: 'timeout',
    kind: 'duration',
    default: 300_000,
    min: 1,
    help: 'With --once: maximum time until everything is Synced and Healthy.',
  },
  interval: {
    flag: 'interval',
    kind: 'duration',
    default: 60_000,
    env: 'DRIFTLESS_AGENT_INTERVAL',
    min: 1000,
    help: 'Interval at which the repository, directory or archive is asked for changes.',
  },
  repoUsername: {
    flag: 'repo-username',
    kind: 'string',
    env: 'DRIFTLESS_AGENT_REPO_USERNAME',
    help: 'User name for the repository.',
  },
  repoPasswordFile: {
    flag: 'repo-password-file',
    kind: 'string',
    env: 'DRIFTLESS_AGENT_REPO_PASSWORD_FILE',
    help: 'Path of a file with the password or token for the repository.',
  },
  repoKeyFile: {
    flag: 'repo-ssh-key-file',
    kind: 'string',
    env: 'DRIFTLESS_AGENT_REPO_SSH_KEY_FILE',
    help: 'Path of a file with the private ssh key for the repository.',
  },
  allowLocalSources: {
    ...runOptions.allowLocalSources,
    help: 'Allow sources on loopback, on the addresses of this machine and of the API server. For labs and tests.',
  },
  kubeconfig: {
    ...runOptions.kubeconfig,
    help: 'Path of a kubeconfig. Empty: the cluster of this pod.',
  },
  context: {
    flag: 'context',
    kind: 'string',
    help: 'Context of the kubeconfig. Empty: the current one.',
  },
  cacheDir: {
    ...runOptions.cacheDir,
    help: 'Directory for the cached repository. Empty: a folder in the temporary directory.',
  },
  metricsHost: {
    flag: 'metrics-host',
    kind: 'string',
    default: '127.0.0.1',
    env: 'DRIFTLESS_AGENT_METRICS_HOST',
    help: 'Address on which /metrics, /healthz and /readyz listen.',
  },
  metricsPort: {
    flag: 'metrics-port',
    kind: 'int',
    default: 8082,
    env: 'DRIFTLESS_AGENT_METRICS_PORT',
    min: 0,
    max: 65_535,
    help: 'Port of /metrics, /healthz and /readyz; 0 takes any free port.',
  },
  logLevel: {
    flag: 'log-level',
    kind: 'string',
    default: 'warn',
    env: 'DRIFTLESS_AGENT_LOG_LEVEL',
    choices: ['debug', 'info', 'warn', 'error'],
    help: 'Level of the controller inside the agent; the agent reports its own progress at any level.',
  },
  output: {
    flag: 'output',
    short: 'o',
    kind: 'string',
    choices: ['', 'json'],
    help: 'Output format: json prints one object a line.',
  },
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

export type AgentConfig = ConfigOf<typeof agentOptions>;
