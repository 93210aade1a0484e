import type { MutableJson, MutableJsonObject } from '#base';
import { child, children, childOrNew, fill, fillZero } from './fill.ts';
import { defaultPodTemplate } from './pod.ts';

/** Defaults of apps/v1, batch/v1 and autoscaling (pkg/apis/<group>/<version>/defaults.go). */

export function deployment(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fill(spec, 'replicas', 1);
  const strategy = childOrNew(spec, 'strategy');
  fillZero(strategy, 'type', 'RollingUpdate');
  if (strategy['type'] === 'RollingUpdate') {
    const rolling = childOrNew(strategy, 'rollingUpdate');
    fill(rolling, 'maxUnavailable', '25%');
    fill(rolling, 'maxSurge', '25%');
  }
  fill(spec, 'revisionHistoryLimit', 10);
  fill(spec, 'progressDeadlineSeconds', 600);
  defaultPodTemplate(spec);
}

export function replicaSet(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fill(spec, 'replicas', 1);
  defaultPodTemplate(spec);
}

export function replicationController(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  const labels = child(child(child(spec, 'template'), 'metadata'), 'labels');
  if (labels !== undefined) {
    if (Object.keys(child(spec, 'selector') ?? {}).length === 0) spec['selector'] = { ...labels };
    const metadata = childOrNew(object, 'metadata');
    if (Object.keys(child(metadata, 'labels') ?? {}).length === 0) metadata['labels'] = { ...labels };
  }
  fill(spec, 'replicas', 1);
  defaultPodTemplate(spec);
}

export function statefulSet(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillZero(spec, 'podManagementPolicy', 'OrderedReady');
  const strategy = childOrNew(spec, 'updateStrategy');
  fillZero(strategy, 'type', 'RollingUpdate');
  if (strategy['type'] === 'RollingUpdate') fill(childOrNew(strategy, 'rollingUpdate'), 'partition', 0);
  const retention = childOrNew(spec, 'persistentVolumeClaimRetentionPolicy');
  fillZero(retention, 'whenDeleted', 'Retain');
  fillZero(retention, 'whenScaled', 'Retain');
  fill(spec, 'replicas', 1);
  fill(spec, 'revisionHistoryLimit', 10);
  defaultPodTemplate(spec);
  for (const claim of children(spec, 'volumeClaimTemplates')) {
    claim['apiVersion'] = 'v1';
    claim['kind'] = 'PersistentVolumeClaim';
    persistentVolumeClaim(claim);
  }
}

export function persistentVolumeClaim(object: MutableJsonObject): void {
  fillZero(childOrNew(object, 'status'), 'phase', 'Pending');
  fill(childOrNew(object, 'spec'), 'volumeMode', 'Filesystem');
}

export function daemonSet(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  const strategy = childOrNew(spec, 'updateStrategy');
  fillZero(strategy, 'type', 'RollingUpdate');
  if (strategy['type'] === 'RollingUpdate') {
    const rolling = childOrNew(strategy, 'rollingUpdate');
    fill(rolling, 'maxUnavailable', 1);
    fill(rolling, 'maxSurge', 0);
  }
  fill(spec, 'revisionHistoryLimit', 10);
  defaultPodTemplate(spec);
}

export function job(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  if (isUnset(spec['completions']) && isUnset(spec['parallelism'])) spec['completions'] = 1;
  fill(spec, 'parallelism', 1);
  fill(spec, 'backoffLimit', isUnset(spec['backoffLimitPerIndex']) ? 6 : 2 ** 31 - 1);
  const labels = child(child(child(spec, 'template'), 'metadata'), 'labels');
  const metadata = childOrNew(object, 'metadata');
  if (labels !== undefined && Object.keys(child(metadata, 'labels') ?? {}).length === 0)
    metadata['labels'] = { ...labels };
  fill(spec, 'completionMode', 'NonIndexed');
  fill(spec, 'suspend', false);
  const failurePolicy = child(spec, 'podFailurePolicy');
  fill(spec, 'podReplacementPolicy', failurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed');
  for (const rule of children(failurePolicy, 'rules'))
    for (const pattern of children(rule, 'onPodConditions')) fillZero(pattern, 'status', 'True');
  generateSelector(spec, metadata);
  defaultPodTemplate(spec);
}

/** A Job finds its pods by its own uid, unless it says that it brings its own selector (pkg/registry/batch/job: generateSelector). */
function generateSelector(spec: MutableJsonObject, metadata: MutableJsonObject): void {
  const uid = metadata['uid'];
  if (typeof uid !== 'string' || uid === '' || spec['manualSelector'] === true || !isUnset(spec['selector'])) return;
  const labels = childOrNew(childOrNew(childOrNew(spec, 'template'), 'metadata'), 'labels');
  const name = metadata['name'];
  for (const prefix of ['', 'batch.kubernetes.io/']) {
    fill(labels, `${prefix}controller-uid`, uid);
    if (typeof name === 'string') fill(labels, `${prefix}job-name`, name);
  }
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

export function cronJob(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillZero(spec, 'concurrencyPolicy', 'Allow');
  fill(spec, 'suspend', false);
  fill(spec, 'successfulJobsHistoryLimit', 3);
  fill(spec, 'failedJobsHistoryLimit', 1);
  defaultPodTemplate(child(child(spec, 'jobTemplate'), 'spec'));
}

export function autoscalerV1(object: MutableJsonObject): void {
  fill(childOrNew(object, 'spec'), 'minReplicas', 1);
}

export function autoscalerV2(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fill(spec, 'minReplicas', 1);
  if (children(spec, 'metrics').length === 0)
    spec['metrics'] = [
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
    ];
  const behavior = child(spec, 'behavior');
  if (behavior === undefined) return;
  const percent: MutableJson = { type: 'Percent', value: 100, periodSeconds: 15 };
  scalingRules(childOrNew(behavior, 'scaleUp'), [{ type: 'Pods', value: 4, periodSeconds: 15 }, percent]);
  fill(childOrNew(behavior, 'scaleUp'), 'stabilizationWindowSeconds', 0);
  scalingRules(childOrNew(behavior, 'scaleDown'), [{ ...percent }]);
}

function scalingRules(rules: MutableJsonObject, policies: MutableJson[]): void {
  fill(rules, 'selectPolicy', 'Max');
  fill(rules, 'policies', policies);
}

function isUnset(value: MutableJson | undefined): boolean {
  return value === undefined || value === null;
}
