import { isObject, parseJson } from '#base';
import type { Json } from '#base';
import { annotationOf } from '#model';
import type { HealthStatus, HealthStatusCode, KubeObject } from '#model';
import { Fields, fieldsOf, HealthCheckError, requireVersion } from './read.ts';

/** Argo CD: gitops-engine/pkg/health/health_service.go. */
export function serviceHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  if (fieldsOf(object).fields('spec').text('type') !== 'LoadBalancer') return { status: 'Healthy' };
  return { status: hasIngress(object) ? 'Healthy' : 'Progressing' };
}

/** Argo CD: gitops-engine/pkg/health/health_ingress.go. Any version of `extensions` and `networking.k8s.io`. */
export function ingressHealth(object: KubeObject): HealthStatus {
  return { status: hasIngress(object) ? 'Healthy' : 'Progressing' };
}

function hasIngress(object: KubeObject): boolean {
  return fieldsOf(object).fields('status').fields('loadBalancer').list('ingress').length > 0;
}

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

const autoscalerConditions = 'autoscaling.alpha.kubernetes.io/conditions';
const waitingToAutoscale: HealthStatus = { status: 'Progressing', message: 'Waiting to Autoscale' };
const autoscalerFaults: Readonly<Record<string, readonly string[]>> = {
  AbleToScale: ['FailedGetScale', 'FailedUpdateScale'],
  ScalingActive: [
    'FailedGetResourceMetric',
    'FailedGetObjectMetric',
    'FailedGetPodsMetric',
    'FailedGetExternalMetric',
    'FailedComputeMetricsReplicas',
    'InvalidSelector',
  ],
};

/** Argo CD: gitops-engine/pkg/health/health_hpa.go. A fault counts whatever the `status` of its condition says. */
export function autoscalerHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1', 'v2');
  const conditions = object.apiVersion.endsWith('/v1')
    ? annotatedConditions(object)
    : fieldsOf(object).fields('status').list('conditions');
  for (const condition of conditions) {
    const type = condition.text('type');
    const faults = Object.hasOwn(autoscalerFaults, type) ? autoscalerFaults[type] : undefined;
    if (faults?.includes(condition.text('reason'))) return withMessage('Degraded', condition.text('message'));
  }
  const good = conditions.find(
    (condition) =>
      ['AbleToScale', 'ScalingLimited'].includes(condition.text('type')) && condition.text('status') === 'True',
  );
  return good === undefined ? waitingToAutoscale : withMessage('Healthy', good.text('message'));
}

function annotatedConditions(object: KubeObject): readonly Fields[] {
  const text = annotationOf(object, autoscalerConditions) ?? '';
  if (text === '') return [];
  let parsed: Json;
  try {
    parsed = parseJson(text);
  } catch {
    throw new HealthCheckError(`failed to convert conditions from annotation ${autoscalerConditions}: not valid JSON`);
  }
  if (parsed === null) return [];
  if (!Array.isArray(parsed))
    throw new HealthCheckError(`failed to convert conditions from annotation ${autoscalerConditions}: not a list`);
  return (parsed as readonly Json[]).map((item) => new Fields(isObject(item) ? item : {}, object.kind));
}

/** Argo CD: gitops-engine/pkg/health/health_apiservice.go. */
export function apiServiceHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1', 'v1beta1');
  const conditions = fieldsOf(object).fields('status').list('conditions');
  const available = conditions.find((condition) => condition.text('type') === 'Available');
  if (available === undefined) return { status: 'Progressing', message: 'Waiting to be processed' };
  const message = `${available.text('reason')}: ${available.text('message')}`;
  return { status: available.text('status') === 'True' ? 'Healthy' : 'Progressing', message };
}

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

function withMessage(status: HealthStatusCode, message: string): HealthStatus {
  return message === '' ? { status } : { status, message };
}
