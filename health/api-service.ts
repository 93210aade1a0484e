import type { HealthStatus, KubeObject } from '#model';
import { fieldsOf, requireVersion } from './read.ts';

/** Argo CD: gitops-engine/pkg/health/health_apiservice.go. */
export function apiServiceHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1', 'v1beta1');
  const conditions = fieldsOf(object).fields('status').list('conditions');
  const available = conditions.find((condition) => condition.text('type') === 'Available');
  if (available === undefined) return { status: 'Progressing', message: 'Waiting to be processed' };
  const message = `${available.text('reason')}: ${available.text('message')}`;
  return { status: available.text('status') === 'True' ? 'Healthy' : 'Progressing', message };
}
