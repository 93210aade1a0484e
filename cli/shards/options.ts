import { omit } from '#base';
import type { OptionSpec } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { help, output, structuredOutput } from '../options/common-options.ts';
import { readApiOptions } from '../read-api/connect.ts';

const source = {
  clusters: {
    flag: 'clusters',
    kind: 'string',
    help: 'File that contains a JSON array of {"id","server","name","shard"?,"applications"?,"split"?}; - reads standard input. split: number of parts, 1 to 64.',
  },
  kubeconfig: {
    ...runOptions.kubeconfig,
    help: 'Path to the kubeconfig file of a live hub, whose published table is read. Without this flag and --clusters: ~/.kube/config.',
  },
  context: runOptions.context,
  namespace: {
    ...readApiOptions.controllerNamespace,
    aliases: ['namespace'],
    short: 'n',
    help: 'Namespace of the controller. Default in a pod: its own.',
  },
  controllerName: {
    ...runOptions.controllerName,
    help: 'Name of the StatefulSet or Deployment of the controller, whose replica count is read.',
  },
  applicationNamespaces: {
    ...runOptions.applicationNamespaces,
    help: 'Additional namespaces with Applications, as for the controller. Empty: application.namespaces of argocd-cmd-params-cm.',
  },
  clusterSplit: {
    ...omit(runOptions.clusterSplit, 'pattern'),
    kind: 'int',
    default: 1,
    min: 1,
    max: 64,
    help: "Number of parts of each cluster without its own setting. Default with a live hub: the controller's.",
  },
  clusterWeights: {
    ...runOptions.clusterWeights,
    help: 'Cluster weights for consistent-hashing with a live hub: applications, or measured (adds resources and live events).',
  },
  output: structuredOutput,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

const { kubeconfig, context, namespace } = source;

export const watchOptions = {
  kubeconfig: { ...kubeconfig, help: 'Path to the kubeconfig file of the live hub. Empty: ~/.kube/config.' },
  context,
  namespace,
  output,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

const algorithm = {
  flag: 'algorithm',
  aliases: ['sharding-method'],
  kind: 'string',
  env: 'ARGOCD_CONTROLLER_SHARDING_ALGORITHM',
  help: "Sharding algorithm: legacy, round-robin or consistent-hashing. Default: the live hub's, otherwise legacy.",
} as const;

const count = { kind: 'int', min: 1 } as const;

export const showOptions = {
  algorithm,
  replicas: {
    ...count,
    flag: 'replicas',
    env: 'ARGOCD_CONTROLLER_REPLICAS',
    // As in the controller, 0 means the workload's replica count.
    envMin: 0,
    help: "Number of replicas. Default: the live hub's, otherwise 1.",
  },
  ...source,
} as const satisfies Readonly<Record<string, OptionSpec>>;

const { serviceAccount, socket } = readApiOptions;

export const statsOptions = {
  shard: { flag: 'shard', kind: 'int', default: -1, min: -1, help: 'Shows the clusters of this shard only. -1: all.' },
  ...showOptions,
  serviceAccount,
  socket,
} as const satisfies Readonly<Record<string, OptionSpec>>;

export const planOptions = {
  algorithm,
  fromReplicas: { ...count, flag: 'from-replicas', help: "Current number of replicas. Default: the live hub's." },
  toReplicas: {
    ...count,
    flag: 'replicas',
    aliases: ['to-replicas'],
    help: 'New number of replicas. Default: unchanged; without --to-algorithm the number that the measured load of a live hub needs.',
  },
  fromAlgorithm: {
    flag: 'from-algorithm',
    kind: 'string',
    help: 'Current algorithm. Default: --algorithm.',
  },
  toAlgorithm: { flag: 'to-algorithm', kind: 'string', help: 'New algorithm. Default: unchanged.' },
  ...source,
  serviceAccount,
  socket,
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Upper bound: a larger number is a typing mistake that costs time and memory. */
export const maxReplicas = 10_000;
