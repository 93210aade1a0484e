import type { KindDefinition } from '../types.ts';

/** A built-in kind without its schema. */
export interface BuiltinKind extends Omit<KindDefinition, 'schema' | 'custom'> {
  /** The OpenAPI name of its type: `io.k8s.api.apps.v1.Deployment` */
  readonly typeName: string;
}

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/**
 * One line per kind, as kube-apiserver 1.36 serves them: kind | resource | short names | flags (N
 * namespaced, S status, A category all, E category api-extensions, X scale subresource).
 */
const kindTables: readonly { apiVersion: string; package: string; lines: string }[] = [
  {
    apiVersion: 'v1',
    package: 'io.k8s.api.core.v1',
    lines: `
      ConfigMap             | configmaps             | cm     | N
      Endpoints             | endpoints              | ep     | N
      Event                 | events                 | ev     | N
      LimitRange            | limitranges            | limits | N
      Namespace             | namespaces             | ns     | S
      Node                  | nodes                  | no     | S
      PersistentVolume      | persistentvolumes      | pv     | S
      PersistentVolumeClaim | persistentvolumeclaims | pvc    | NS
      Pod                   | pods                   | po     | NSA
      PodTemplate           | podtemplates           |        | N
      ReplicationController | replicationcontrollers | rc     | NSAX
      ResourceQuota         | resourcequotas         | quota  | NS
      Secret                | secrets                |        | N
      Service               | services               | svc    | NSA
      ServiceAccount        | serviceaccounts        | sa     | N`,
  },
  {
    apiVersion: 'apps/v1',
    package: 'io.k8s.api.apps.v1',
    lines: `
      ControllerRevision | controllerrevisions |        | N
      DaemonSet          | daemonsets          | ds     | NSA
      Deployment         | deployments         | deploy | NSAX
      ReplicaSet         | replicasets         | rs     | NSAX
      StatefulSet        | statefulsets        | sts    | NSAX`,
  },
  {
    apiVersion: 'batch/v1',
    package: 'io.k8s.api.batch.v1',
    lines: `
      CronJob | cronjobs | cj | NSA
      Job     | jobs     |    | NSA`,
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    package: 'io.k8s.api.networking.v1',
    lines: `
      Ingress       | ingresses       | ing    | NS
      IngressClass  | ingressclasses  |        |
      NetworkPolicy | networkpolicies | netpol | N`,
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    package: 'io.k8s.api.rbac.v1',
    lines: `
      ClusterRole        | clusterroles        | |
      ClusterRoleBinding | clusterrolebindings | |
      Role               | roles               | | N
      RoleBinding        | rolebindings        | | N`,
  },
  {
    apiVersion: 'policy/v1',
    package: 'io.k8s.api.policy.v1',
    lines: `
      PodDisruptionBudget | poddisruptionbudgets | pdb | NS`,
  },
  {
    apiVersion: 'autoscaling/v2',
    package: 'io.k8s.api.autoscaling.v2',
    lines: `
      HorizontalPodAutoscaler | horizontalpodautoscalers | hpa | NSA`,
  },
  {
    apiVersion: 'autoscaling/v1',
    package: 'io.k8s.api.autoscaling.v1',
    lines: `
      HorizontalPodAutoscaler | horizontalpodautoscalers | hpa | NSA`,
  },
  {
    apiVersion: 'coordination.k8s.io/v1',
    package: 'io.k8s.api.coordination.v1',
    lines: `
      Lease | leases | | N`,
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    package: 'io.k8s.api.discovery.v1',
    lines: `
      EndpointSlice | endpointslices | | N`,
  },
  {
    apiVersion: 'storage.k8s.io/v1',
    package: 'io.k8s.api.storage.v1',
    lines: `
      StorageClass | storageclasses | sc |`,
  },
  {
    apiVersion: 'scheduling.k8s.io/v1',
    package: 'io.k8s.api.scheduling.v1',
    lines: `
      PriorityClass | priorityclasses | pc |`,
  },
  {
    apiVersion: 'events.k8s.io/v1',
    package: 'io.k8s.api.events.v1',
    lines: `
      Event | events | ev | N`,
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    package: 'io.k8s.api.admissionregistration.v1',
    lines: `
      MutatingWebhookConfiguration   | mutatingwebhookconfigurations   | | E
      ValidatingWebhookConfiguration | validatingwebhookconfigurations | | E`,
  },
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    package: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1',
    lines: `
      CustomResourceDefinition | customresourcedefinitions | crd,crds | SE`,
  },
  {
    apiVersion: 'apiregistration.k8s.io/v1',
    package: 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1',
    lines: `
      APIService | apiservices | | SE`,
  },
];

const scalePaths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
} as const;

/** All built-in kinds in the order of the tables (core first). */
export const builtinKindTable: readonly BuiltinKind[] = kindTables.flatMap((table) => {
  const slash = table.apiVersion.indexOf('/');
  const group = slash < 0 ? '' : table.apiVersion.slice(0, slash);
  const version = table.apiVersion.slice(slash + 1);
  return tableRows(table.lines).map((cells) => parseRow(cells, { group, version, package: table.package }));
});

function tableRows(text: string): string[][] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));
}

function parseRow(
  cells: readonly string[],
  home: { readonly group: string; readonly version: string; readonly package: string },
): BuiltinKind {
  const [kind = '', resource = '', shortNames = '', flags = ''] = cells;
  const categories = [...(flags.includes('A') ? ['all'] : []), ...(flags.includes('E') ? ['api-extensions'] : [])];
  return {
    group: home.group,
    version: home.version,
    kind,
    listKind: `${kind}List`,
    resource,
    singular: kind.toLowerCase(),
    shortNames: shortNames === '' ? [] : shortNames.split(','),
    categories,
    namespaced: flags.includes('N'),
    // Namespaces cannot be deleted as a collection: each one terminates on its own.
    verbs: kind === 'Namespace' ? allVerbs.filter((verb) => verb !== 'deletecollection') : allVerbs,
    statusSubresource: flags.includes('S'),
    ...(flags.includes('X') ? { scaleSubresource: scalePaths } : {}),
    typeName: `${home.package}.${kind}`,
  };
}
