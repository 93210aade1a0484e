import type { JsonObject } from '#base';
import type { KubeObject } from '#model';

/** An Application to create, with objects named `NAME-0`, `NAME-1` ... */
export interface FleetApplication {
  readonly name: string;
  /** Index of its cluster. */
  readonly cluster: number;
  readonly namespace: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export const hubNamespace = 'argocd';
export const workloadName = 'argocd-application-controller';
/** The value of the key that drift changes, until a push changes it. */
export const firstValue = 'as in Git';

/** Numbers of one width, so that no name is the beginning of another one. */
export const numbered = (prefix: string, i: number): string => `${prefix}-${String(i).padStart(5, '0')}`;

export function manifestOf(app: string, i: number, value: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${app}-${i}}\ndata: {key: ${JSON.stringify(value)}, more: some text that is not so short}\n`;
}

export function applicationObject(app: FleetApplication, repository: string, server: string): KubeObject {
  const { name, namespace, annotations = {} } = app;
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: hubNamespace, annotations },
    spec: {
      project: 'default',
      source: { repoURL: repository, path: name, targetRevision: 'main' },
      destination: { server, namespace },
      syncPolicy: { automated: { prune: true, selfHeal: true } },
    },
  };
}

/**
 * @param namespaces those that the controller may read; none: the whole cluster
 * @param shard the only shard that may own it
 */
export function clusterSecretOf(
  name: string,
  server: string,
  namespaces: readonly string[],
  shard?: number,
): KubeObject {
  const labels = { 'argocd.argoproj.io/secret-type': 'cluster' };
  const restricted = namespaces.length === 0 ? {} : { namespaces: namespaces.join(','), clusterResources: 'false' };
  const pinned = shard === undefined ? {} : { shard: String(shard) };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `cluster-${name}`, namespace: hubNamespace, labels },
    stringData: { name, server, config: '{}', ...restricted, ...pinned },
  };
}

/** `resource.inclusions` with these kinds by group. JSON is YAML. */
export function inclusionsOf(kindsByGroup: Readonly<Record<string, readonly string[]>>): string {
  const entries = Object.entries(kindsByGroup);
  return JSON.stringify(entries.map(([group, kinds]) => ({ apiGroups: [group], kinds, clusters: ['*'] })));
}

/** The workload of the controller, whose number of replicas is its number of shards. */
export function workloadObject(replicas: number): KubeObject {
  const labels = { app: workloadName };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'controller', image: 'driftless' }] } };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: workloadName, namespace: hubNamespace },
    spec: { replicas, serviceName: workloadName, selector: { matchLabels: labels }, template },
  };
}

export function namespaceObject(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

/**
 * The object of another Application that an earlier replica would have left: the one of the
 * template, with other names.
 */
export function renamedObject(object: KubeObject, replacements: readonly (readonly [string, string])[]): KubeObject {
  let text = JSON.stringify({ ...object, metadata: portableMetadata(object) });
  for (const [from, to] of replacements) text = text.replaceAll(from, to);
  return JSON.parse(text) as KubeObject;
}

/** Without the fields that the API server sets. */
function portableMetadata({ metadata }: KubeObject): JsonObject {
  const { name, namespace, labels, annotations, finalizers } = metadata;
  return Object.fromEntries(
    Object.entries({ name, namespace, labels, annotations, finalizers }).filter(([, value]) => value !== undefined),
  );
}
