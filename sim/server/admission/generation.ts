import { deepEqual } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { asJsonObject } from '../fields.ts';
import type { ServedKind } from '../discovery/registry.ts';

/** Built-in kinds whose strategy maintains metadata.generation. */
const kindsWithGeneration = new Set([
  '/Pod',
  '/ReplicationController',
  'apps/DaemonSet',
  'apps/Deployment',
  'apps/ReplicaSet',
  'apps/StatefulSet',
  'batch/CronJob',
  'batch/Job',
  'networking.k8s.io/Ingress',
  'networking.k8s.io/IngressClass',
  'networking.k8s.io/NetworkPolicy',
  'policy/PodDisruptionBudget',
  'scheduling.k8s.io/PriorityClass',
  'discovery.k8s.io/EndpointSlice',
  'apiextensions.k8s.io/CustomResourceDefinition',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
]);

/** True if the kind has `metadata.generation`. Custom resources always do. */
export function hasGeneration(kind: ServedKind): boolean {
  return kind.custom || kindsWithGeneration.has(kind.groupKind);
}

/** True if an update changes more than metadata and, if it is a subresource, status. */
export function changesGeneration(kind: ServedKind, old: KubeObject, next: KubeObject): boolean {
  const silent = new Set(['apiVersion', 'kind', 'metadata', ...(kind.statusSubresource ? ['status'] : [])]);
  const before = asJsonObject(old);
  const after = asJsonObject(next);
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  if (kind.groupKind === 'apps/Deployment' && !deepEqual(annotationsOf(old), annotationsOf(next))) return true;
  return [...names].some((name) => !silent.has(name) && !deepEqual(before[name], after[name]));
}

/** Annotations that count. The real controller writes the revision together with the status. */
function annotationsOf({ metadata }: KubeObject): JsonObject {
  return { ...metadata.annotations, 'deployment.kubernetes.io/revision': '' };
}
