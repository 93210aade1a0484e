import { createHash } from 'node:crypto';
import type { SecretValue } from '#base';
import { splitUserInfo } from '#base';
import { labels } from '#model';
import type { KubeObject } from '#model';

/** Namespace of the agent's objects in its own hub. */
export const agentNamespace = 'driftless-agent';

const inCluster = 'https://kubernetes.default.svc';
const maxStemLength = 30;
const hashLength = 8;

export interface RepositoryCredentials {
  readonly username: string;
  readonly password: SecretValue | undefined;
  readonly sshKey: SecretValue | undefined;
}

/** The folder, the cluster and the options of one agent. */
export interface AgentPlan {
  /** Name under which the objects are tracked. */
  readonly name: string;
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
}

/** The source in one text, without credentials. */
export function sourceText(source: string, path: string): string {
  return `${splitUserInfo(source).url}#${path}`;
}

/**
 * A name that no agent of another folder has: pruning goes by it. It begins with the last part of
 * the folder, or of the source.
 */
export function defaultName(source: string, path: string): string {
  const text = sourceText(source, path);
  const part = [...source.split(/[/:]/), ...path.split('/')].findLast((each) => !['', '.', '..'].includes(each)) ?? '';
  const stem = part
    .replace(/\.git$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  const hash = createHash('sha256').update(text).digest('hex').slice(0, hashLength);
  const readable = stem.slice(0, maxStemLength).replaceAll(/^-+|-+$/g, '');
  return `${readable === '' ? 'folder' : readable}-${hash}`;
}

/** The objects of the hub that make the controller keep the folder, in creation order. */
export function hubObjects(plan: AgentPlan): readonly KubeObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: agentNamespace } },
    settings(plan),
    ...(plan.namespaces.length === 0 ? [] : [namespacedCluster(plan)]),
    ...(plan.credentials === undefined ? [] : [repositorySecret(plan.repository, plan.credentials)]),
    project(plan),
    application(plan),
  ];
}

/** A kind that the agent may not list is left out: its account seldom may list Secrets. */
function settings({ name }: AgentPlan): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: agentNamespace, labels: { [labels.partOf]: 'argocd' } },
    data: {
      'application.resourceTrackingMethod': 'annotation',
      'resource.respectRBAC': 'normal',
      // Argo CD on the same cluster must not take our objects for its own.
      installationID: `driftless-agent-${name}`,
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
  const { name, repository, path, revision, namespace, prune, selfHeal } = plan;
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: agentNamespace },
    spec: {
      project: 'default',
      source: { repoURL: repository, path, targetRevision: revision },
      destination: { server: inCluster, namespace },
      syncPolicy: {
        automated: { prune, selfHeal },
        retry: { limit: -1, backoff: { duration: '5s', factor: 2, maxDuration: '3m' } },
      },
    },
  };
}
