import type { MutableJson, MutableJsonObject } from '#base';
import { objectChild, objectChildren, childOrNew, fillMissing, fillZeroValue } from './fill.ts';
import { defaultPodTemplate } from './pod.ts';

/** Defaults of apps/v1, batch/v1 and autoscaling (pkg/apis/<group>/<version>/defaults.go). */

export function defaultDeployment(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillMissing(spec, 'replicas', 1);
  const strategy = childOrNew(spec, 'strategy');
  fillZeroValue(strategy, 'type', 'RollingUpdate');
  if (strategy['type'] === 'RollingUpdate') {
    const rolling = childOrNew(strategy, 'rollingUpdate');
    fillMissing(rolling, 'maxUnavailable', '25%');
    fillMissing(rolling, 'maxSurge', '25%');
  }
  fillMissing(spec, 'revisionHistoryLimit', 10);
  fillMissing(spec, 'progressDeadlineSeconds', 600);
  defaultPodTemplate(spec);
}

export function defaultReplicaSet(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillMissing(spec, 'replicas', 1);
  defaultPodTemplate(spec);
}

export function defaultReplicationController(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  const labels = objectChild(objectChild(objectChild(spec, 'template'), 'metadata'), 'labels');
  if (labels !== undefined) {
    if (Object.keys(objectChild(spec, 'selector') ?? {}).length === 0) spec['selector'] = { ...labels };
    const metadata = childOrNew(object, 'metadata');
    if (Object.keys(objectChild(metadata, 'labels') ?? {}).length === 0) metadata['labels'] = { ...labels };
  }
  fillMissing(spec, 'replicas', 1);
  defaultPodTemplate(spec);
}

export function defaultStatefulSet(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillZeroValue(spec, 'podManagementPolicy', 'OrderedReady');
  const strategy = childOrNew(spec, 'updateStrategy');
  fillZeroValue(strategy, 'type', 'RollingUpdate');
  if (strategy['type'] === 'RollingUpdate') fillMissing(childOrNew(strategy, 'rollingUpdate'), 'partition', 0);
  const retention = childOrNew(spec, 'persistentVolumeClaimRetentionPolicy');
  fillZeroValue(retention, 'whenDeleted', 'Retain');
  fillZeroValue(retention, 'whenScaled', 'Retain');
  fillMissing(spec, 'replicas', 1);
  fillMissing(spec, 'revisionHistoryLimit', 10);
  defaultPodTemplate(spec);
  for (const claim of objectChildren(spec, 'volumeClaimTemplates')) {
    claim['apiVersion'] = 'v1';
    claim['kind'] = 'PersistentVolumeClaim';
    defaultPersistentVolumeClaim(claim);
  }
}

export function defaultPersistentVolumeClaim(object: MutableJsonObject): void {
  fillZeroValue(childOrNew(object, 'status'), 'phase', 'Pending');
  fillMissing(childOrNew(object, 'spec'), 'volumeMode', 'Filesystem');
}

export function defaultDaemonSet(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  const strategy = childOrNew(spec, 'updateStrategy');
  fillZeroValue(strategy, 'type', 'RollingUpdate');
  if (strategy['type'] === 'RollingUpdate') {
    const rolling = childOrNew(strategy, 'rollingUpdate');
    fillMissing(rolling, 'maxUnavailable', 1);
    fillMissing(rolling, 'maxSurge', 0);
  }
  fillMissing(spec, 'revisionHistoryLimit', 10);
  defaultPodTemplate(spec);
}

export function defaultJob(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  if (isUnset(spec['completions']) && isUnset(spec['parallelism'])) spec['completions'] = 1;
  fillMissing(spec, 'parallelism', 1);
  fillMissing(spec, 'backoffLimit', isUnset(spec['backoffLimitPerIndex']) ? 6 : 2 ** 31 - 1);
  const labels = objectChild(objectChild(objectChild(spec, 'template'), 'metadata'), 'labels');
  const metadata = childOrNew(object, 'metadata');
  if (labels !== undefined && Object.keys(objectChild(metadata, 'labels') ?? {}).length === 0)
    metadata['labels'] = { ...labels };
  fillMissing(spec, 'completionMode', 'NonIndexed');
  fillMissing(spec, 'suspend', false);
  const failurePolicy = objectChild(spec, 'podFailurePolicy');
  fillMissing(spec, 'podReplacementPolicy', failurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed');
  for (const rule of objectChildren(failurePolicy, 'rules'))
    for (const pattern of objectChildren(rule, 'onPodConditions')) fillZeroValue(pattern, 'status', 'True');
  generateSelector(spec, metadata);
  defaultPodTemplate(spec);
}

/**
 * A Job selects its pods by its own UID, unless manualSelector is set (pkg/registry/batch/job:
 * generateSelector).
 */
function generateSelector(spec: MutableJsonObject, metadata: MutableJsonObject): void {
  const uid = metadata['uid'];
  if (typeof uid !== 'string' || uid === '' || spec['manualSelector'] === true || !isUnset(spec['selector'])) return;
  const labels = childOrNew(childOrNew(childOrNew(spec, 'template'), 'metadata'), 'labels');
  const name = metadata['name'];
  for (const prefix of ['', 'batch.kubernetes.io/']) {
    fillMissing(labels, `${prefix}controller-uid`, uid);
    if (typeof name === 'string') fillMissing(labels, `${prefix}job-name`, name);
  }
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

export function defaultCronJob(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillZeroValue(spec, 'concurrencyPolicy', 'Allow');
  fillMissing(spec, 'suspend', false);
  fillMissing(spec, 'successfulJobsHistoryLimit', 3);
  fillMissing(spec, 'failedJobsHistoryLimit', 1);
  defaultPodTemplate(objectChild(objectChild(spec, 'jobTemplate'), 'spec'));
}

export function defaultAutoscalerV1(object: MutableJsonObject): void {
  fillMissing(childOrNew(object, 'spec'), 'minReplicas', 1);
}

export function defaultAutoscalerV2(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillMissing(spec, 'minReplicas', 1);
  if (objectChildren(spec, 'metrics').length === 0)
    spec['metrics'] = [
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
    ];
  const behavior = objectChild(spec, 'behavior');
  if (behavior === undefined) return;
  const percent: MutableJson = { type: 'Percent', value: 100, periodSeconds: 15 };
  scalingRules(childOrNew(behavior, 'scaleUp'), [{ type: 'Pods', value: 4, periodSeconds: 15 }, percent]);
  fillMissing(childOrNew(behavior, 'scaleUp'), 'stabilizationWindowSeconds', 0);
  scalingRules(childOrNew(behavior, 'scaleDown'), [{ ...percent }]);
}

function scalingRules(rules: MutableJsonObject, policies: MutableJson[]): void {
  fillMissing(rules, 'selectPolicy', 'Max');
  fillMissing(rules, 'policies', policies);
}

function isUnset(value: MutableJson | undefined): boolean {
  return value === undefined || value === null;
}
