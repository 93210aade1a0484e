import { isObject, parseJson } from '#base';
import type { Json } from '#base';
import { annotationOf } from '#model';
import type { HealthStatus, KubeObject } from '#model';
import { TypedFields, fieldsOf, HealthCheckError, requireVersion, withMessage } from './read.ts';

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

/**
 * Argo CD: gitops-engine/pkg/health/health_hpa.go. A fault counts whatever the `status` of its
 * condition is.
 */
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

/** An annotation that is empty or no list of objects is an error, as Go's decoder has it. */
function annotatedConditions(object: KubeObject): readonly TypedFields[] {
  const text = annotationOf(object, autoscalerConditions);
  if (text === undefined) return [];
  let parsed: Json;
  try {
    parsed = parseJson(text);
  } catch {
    throw unreadableConditions('not valid JSON');
  }
  if (parsed === null) return [];
  if (!Array.isArray(parsed)) throw unreadableConditions('not a list');
  return (parsed as readonly Json[]).map((item) => {
    if (item !== null && !isObject(item)) throw unreadableConditions('not a list of objects');
    return new TypedFields(item ?? {}, 'HPA');
  });
}

function unreadableConditions(reason: string): HealthCheckError {
  return new HealthCheckError(`failed to convert conditions annotation to typed: ${reason}`);
}
