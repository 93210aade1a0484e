import type { OptionSpec } from '../args.ts';
import { runOptions } from '../options.ts';
import { help, output } from '../common-options.ts';

const source = {
  clusters: {
    flag: 'clusters',
    kind: 'string',
    default: '',
    help: 'JSON array of {"id","server","name","shard"?,"applications"?,"split"?}, - for standard input; split: parts of the cluster, 1 to 64.',
  },
  kubeconfig: {
    flag: 'kubeconfig',
    kind: 'string',
    default: '',
    env: 'KUBECONFIG',
    help: 'Read a live hub instead, and the table that its controller has published; when neither is given, ~/.kube/config.',
  },
  context: { flag: 'context', kind: 'string', default: '', help: 'Context in it.' },
  namespace: { flag: 'namespace', short: 'n', kind: 'string', default: '', help: 'Namespace of the controller.' },
  controllerName: {
    ...runOptions.controllerName,
    help: 'Name of the StatefulSet or Deployment of the controller, for its number of replicas.',
  },
  applicationNamespaces: {
    ...runOptions.applicationNamespaces,
    help: 'Further namespaces with Applications, as for the controller; application.namespaces of argocd-cmd-params-cm when empty.',
  },
  clusterSplit: {
    ...runOptions.clusterSplit,
    help: 'Parts of each cluster that does not say itself; with a live hub as the controller has them, when not given.',
  },
  clusterWeights: {
    ...runOptions.clusterWeights,
    help: 'What clusters of a live hub count for with consistent-hashing: applications, or measured (with their resources and live events).',
  },
  output,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

const { kubeconfig, context, namespace } = source;

export const watchOptions = {
  kubeconfig: { ...kubeconfig, help: 'The live hub; when not given, ~/.kube/config.' },
  context,
  namespace,
  output,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

const algorithm = {
  flag: 'algorithm',
  aliases: ['sharding-method'],
  kind: 'string',
  default: '',
  env: 'ARGOCD_CONTROLLER_SHARDING_ALGORITHM',
  help: "legacy, round-robin or consistent-hashing; when not given the live hub's, else legacy.",
} as const;

const count = { kind: 'int', default: 0, min: 1 } as const;

export const showOptions = {
  algorithm,
  replicas: {
    ...count,
    flag: 'replicas',
    env: 'ARGOCD_CONTROLLER_REPLICAS',
    // As for the controller: 0 is "as many as the workload has".
    envMin: 0,
    help: "Number of replicas; when not given the live hub's, else 1.",
  },
  ...source,
} as const satisfies Readonly<Record<string, OptionSpec>>;

export const planOptions = {
  algorithm,
  fromReplicas: { ...count, flag: 'from-replicas', help: "Replicas now; when not given the live hub's." },
  toReplicas: { ...count, flag: 'to-replicas', help: 'Replicas then; as now when only the algorithm changes.' },
  fromAlgorithm: {
    flag: 'from-algorithm',
    kind: 'string',
    default: '',
    help: 'Algorithm now; --algorithm when not given.',
  },
  toAlgorithm: { flag: 'to-algorithm', kind: 'string', default: '', help: 'Algorithm then; as now when not given.' },
  ...source,
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** More is a mistake, and would cost time and memory. */
export const mostReplicas = 10_000;
