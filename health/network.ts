import type { HealthStatus, KubeObject } from '#model';
import { fieldsOf, requireVersion, untypedField } from './read.ts';

/** Argo CD: gitops-engine/pkg/health/health_service.go. */
export function serviceHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  if (fieldsOf(object).fields('spec').text('type') !== 'LoadBalancer') return { status: 'Healthy' };
  const addresses = fieldsOf(object).fields('status').fields('loadBalancer').list('ingress');
  return { status: addresses.length > 0 ? 'Healthy' : 'Progressing' };
}

/**
 * Argo CD: gitops-engine/pkg/health/health_ingress.go. Any version of `extensions` and
 * `networking.k8s.io`. A status of another shape counts as one without an address.
 */
export function ingressHealth(object: KubeObject): HealthStatus {
  const addresses = untypedField(object, 'status', 'loadBalancer', 'ingress');
  return { status: Array.isArray(addresses) && addresses.length > 0 ? 'Healthy' : 'Progressing' };
}
