import type { SecretValue } from '#base';
import { jsonOf, labels } from '#model';
import type { KubeObject } from '#model';
import type { AgentFile } from './agent-file.ts';
import { installationIdOf } from './identity.ts';
import type { AgentBinding } from './identity.ts';

/** Namespace of the agent's objects in its own hub. */
export const agentNamespace = 'driftless-agent';

const inCluster = 'https://kubernetes.default.svc';

export interface RepositoryCredentials {
  readonly username: string;
  readonly password: SecretValue | undefined;
  readonly sshKey: SecretValue | undefined;
}

/** The folder, the cluster and the options of one agent. */
export interface AgentPlan {
  /** Name under which the objects are tracked. */
  readonly name: string;
  /** The only binding under which this name is used in the cluster. */
  readonly binding: AgentBinding;
  /** URL of a Git repository. */
  readonly repository: string;
  readonly path: string;
  readonly revision: string;
  readonly credentials: RepositoryCredentials | undefined;
  readonly namespace: string;
  /** Empty: the whole cluster. */
  readonly namespaces: readonly string[];
  readonly prune: boolean;
  readonly selfHeal: boolean;
  /** The settings of `--config`. */
  readonly file: AgentFile;
}

/** The objects of the hub that make the controller keep the folder, in creation order. */
export function hubObjects(plan: AgentPlan, mark: string): readonly KubeObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: agentNamespace } },
    settings(plan, mark),
    ...(plan.namespaces.length === 0 ? [] : [namespacedCluster(plan)]),
    ...(plan.credentials === undefined ? [] : [repositorySecret(plan.repository, plan.credentials)]),
    project(plan),
    application(plan),
  ];
}

/** A kind that the agent may not list is left out: its account seldom may list Secrets. */
function settings({ name, file }: AgentPlan, mark: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: agentNamespace, labels: { [labels.partOf]: 'argocd' } },
    data: {
      'application.resourceTrackingMethod': 'annotation',
      'resource.respectRBAC': 'normal',
      // Neither Argo CD nor another agent on this cluster takes these objects for its own.
      installationID: installationIdOf(name, mark),
      ...(file.exclusions.length === 0 ? {} : { 'resource.exclusions': JSON.stringify(file.exclusions) }),
      ...Object.fromEntries(
        Object.entries(file.health).map(([kind, script]) => [
          `resource.customizations.health.${kind.replace('/', '_')}`,
          script,
        ]),
      ),
    },
  };
}

function namespacedCluster({ namespaces }: AgentPlan): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'cluster', namespace: agentNamespace, labels: { [labels.secretType]: 'cluster' } },
    stringData: { name: 'in-cluster', server: inCluster, namespaces: namespaces.join(','), config: '{}' },
  };
}

function repositorySecret(url: string, { username, password, sshKey }: RepositoryCredentials): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'repository', namespace: agentNamespace, labels: { [labels.secretType]: 'repository' } },
    stringData: {
      type: 'git',
      url,
      ...(username === '' ? {} : { username }),
      ...(password === undefined ? {} : { password: password.reveal() }),
      ...(sshKey === undefined ? {} : { sshPrivateKey: sshKey.reveal() }),
    },
  };
}

function project({ repository, namespaces }: AgentPlan): KubeObject {
  const destinations = (namespaces.length === 0 ? ['*'] : namespaces).map((namespace) => ({
    server: inCluster,
    namespace,
  }));
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name: 'default', namespace: agentNamespace },
    spec: {
      sourceRepos: [repository],
      destinations,
      ...(namespaces.length === 0 ? { clusterResourceWhitelist: [{ group: '*', kind: '*' }] } : {}),
    },
  };
}

function application(plan: AgentPlan): KubeObject {
  const { name, repository, path, revision, namespace, prune, selfHeal, file } = plan;
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: agentNamespace },
    spec: {
      project: 'default',
      source: { repoURL: repository, path, targetRevision: revision },
      destination: { server: inCluster, namespace },
      ...(file.ignoreDifferences.length === 0 ? {} : { ignoreDifferences: jsonOf(file.ignoreDifferences) }),
      syncPolicy: {
        automated: { prune, selfHeal },
        ...(file.syncOptions.length === 0 ? {} : { syncOptions: [...file.syncOptions] }),
        retry: { limit: -1, backoff: { duration: '5s', factor: 2, maxDuration: '3m' } },
      },
    },
  };
}
