import type { HealthStatus, HealthStatusCode, KubeObject } from '#model';
import { fieldsOf, withMessage } from './read.ts';

const workflowPhases: Readonly<Record<string, HealthStatusCode>> = {
  '': 'Progressing',
  Pending: 'Progressing',
  Running: 'Progressing',
  Succeeded: 'Healthy',
  Failed: 'Degraded',
  Error: 'Degraded',
};

/** Argo CD: gitops-engine/pkg/health/health_argo.go. */
export function workflowHealth(object: KubeObject): HealthStatus {
  const status = fieldsOf(object).fields('status');
  const phase = status.text('phase');
  const code = Object.hasOwn(workflowPhases, phase) ? (workflowPhases[phase] ?? 'Unknown') : 'Unknown';
  return withMessage(code, status.text('message'));
}
