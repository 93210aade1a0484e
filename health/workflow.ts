import type { HealthStatus, HealthStatusCode, KubeObject } from '#model';
import { untypedField, withMessage } from './read.ts';

const workflowPhases: Readonly<Record<string, HealthStatusCode>> = {
  '': 'Progressing',
  Pending: 'Progressing',
  Running: 'Progressing',
  Succeeded: 'Healthy',
  Failed: 'Degraded',
  Error: 'Degraded',
};

/**
 * Argo CD: gitops-engine/pkg/health/health_argo.go. A phase or message that is no string counts as
 * empty.
 */
export function workflowHealth(object: KubeObject): HealthStatus {
  const phase = textAt(object, 'phase');
  const code = Object.hasOwn(workflowPhases, phase) ? (workflowPhases[phase] ?? 'Unknown') : 'Unknown';
  return withMessage(code, textAt(object, 'message'));
}

function textAt(object: KubeObject, name: string): string {
  const value = untypedField(object, 'status', name);
  return typeof value === 'string' ? value : '';
}
