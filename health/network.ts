import type { HealthStatus, KubeObject } from '#model';
import { fieldsOf, requireVersion } from './read.ts';

/** Argo CD: gitops-engine/pkg/health/health_service.go. */
export function serviceHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  if (fieldsOf(object).fields('spec').text('type') !== 'LoadBalancer') return { status: 'Healthy' };
  return { status: hasIngress(object) ? 'Healthy' : 'Progressing' };
}

/**
 * Argo CD: gitops-engine/pkg/health/health_ingress.go. Any version of `extensions` and
 * `networking.k8s.io`.
 */
export function ingressHealth(object: KubeObject): HealthStatus {
  return { status: hasIngress(object) ? 'Healthy' : 'Progressing' };
}

function hasIngress(object: KubeObject): boolean {
  return fieldsOf(object).fields('status').fields('loadBalancer').list('ingress').length > 0;
}
