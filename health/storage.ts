import type { HealthStatus, KubeObject } from '#model';
import { fieldsOf, requireVersion } from './read.ts';

/** Argo CD: gitops-engine/pkg/health/health_pvc.go. */
export function claimHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  switch (fieldsOf(object).fields('status').text('phase')) {
    case 'Lost':
      return { status: 'Degraded' };
    case 'Pending':
      return { status: 'Progressing' };
    case 'Bound':
      return { status: 'Healthy' };
    default:
      return { status: 'Unknown' };
  }
}
