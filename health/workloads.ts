import type { HealthStatus, KubeObject } from '#model';
import { fieldsOf, requireVersion } from './read.ts';
import type { TypedFields } from './read.ts';

const waiting = 'Waiting for rollout to finish:';

/** Argo CD: gitops-engine/pkg/health/health_deployment.go. */
export function deploymentHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  const [spec, status] = [fieldsOf(object).fields('spec'), fieldsOf(object).fields('status')];
  if (spec.flag('paused')) return { status: 'Suspended', message: 'Deployment is paused' };
  if (isStale(object, status))
    return progressing(`${waiting} observed deployment generation less than desired generation`);
  const progress = status.list('conditions').find((condition) => condition.text('type') === 'Progressing');
  if (progress?.text('reason') === 'ProgressDeadlineExceeded')
    return { status: 'Degraded', message: `Deployment ${quotedName(object)} exceeded its progress deadline` };
  const updated = status.int('updatedReplicas');
  const available = status.int('availableReplicas');
  if (spec.has('replicas') && updated < spec.int('replicas'))
    return progressing(`${waiting} ${updated} out of ${spec.int('replicas')} new replicas have been updated...`);
  if (status.int('replicas') > updated)
    return progressing(`${waiting} ${status.int('replicas') - updated} old replicas are pending termination...`);
  if (available < updated)
    return progressing(`${waiting} ${available} of ${updated} updated replicas are available...`);
  return { status: 'Healthy' };
}

/** Argo CD: gitops-engine/pkg/health/health_replicaset.go. */
export function replicaSetHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  const [spec, status] = [fieldsOf(object).fields('spec'), fieldsOf(object).fields('status')];
  if (isStale(object, status))
    return progressing(`${waiting} observed replica set generation less than desired generation`);
  const failure = status.list('conditions').find((condition) => condition.text('type') === 'ReplicaFailure');
  if (failure?.text('status') === 'True') return withMessage('Degraded', failure.text('message'));
  const available = status.int('availableReplicas');
  if (spec.has('replicas') && available < spec.int('replicas'))
    return progressing(`${waiting} ${available} out of ${spec.int('replicas')} new replicas are available...`);
  return { status: 'Healthy' };
}

/** Argo CD: gitops-engine/pkg/health/health_statefulset.go. */
export function statefulSetHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  const [spec, status] = [fieldsOf(object).fields('spec'), fieldsOf(object).fields('status')];
  if (status.int('observedGeneration') === 0 || isStale(object, status))
    return progressing('Waiting for statefulset spec update to be observed...');
  const ready = status.int('readyReplicas');
  const replicas = spec.has('replicas') ? spec.int('replicas') : undefined;
  if (replicas !== undefined && ready < replicas)
    return progressing(`Waiting for ${replicas - ready} pods to be ready...`);
  const strategy = spec.fields('updateStrategy');
  if (strategy.text('type') === 'RollingUpdate' && strategy.has('rollingUpdate'))
    return partitionedRollout(status, replicas, strategy.fields('rollingUpdate'));
  if (strategy.text('type') === 'OnDelete')
    return { status: 'Healthy', message: `statefulset has ${ready} ready pods` };
  const current = status.text('currentRevision');
  const update = status.text('updateRevision');
  if (update !== current) {
    const updated = status.int('updatedReplicas');
    return progressing(`waiting for statefulset rolling update to complete ${updated} pods at revision ${update}...`);
  }
  const currentReplicas = status.int('currentReplicas');
  return {
    status: 'Healthy',
    message: `statefulset rolling update complete ${currentReplicas} pods at revision ${current}...`,
  };
}

function partitionedRollout(
  status: TypedFields,
  replicas: number | undefined,
  rollingUpdate: TypedFields,
): HealthStatus {
  const updated = status.int('updatedReplicas');
  if (replicas !== undefined && rollingUpdate.has('partition')) {
    const wanted = replicas - rollingUpdate.int('partition');
    if (updated < wanted)
      return progressing(
        `Waiting for partitioned roll out to finish: ${updated} out of ${wanted} new pods have been updated...`,
      );
  }
  return { status: 'Healthy', message: `partitioned roll out complete: ${updated} new pods have been updated...` };
}

/** Argo CD: gitops-engine/pkg/health/health_daemonset.go. */
export function daemonSetHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  const [spec, status] = [fieldsOf(object).fields('spec'), fieldsOf(object).fields('status')];
  if (isStale(object, status))
    return progressing(`${waiting} observed daemon set generation less than desired generation`);
  const updated = status.int('updatedNumberScheduled');
  const desired = status.int('desiredNumberScheduled');
  const available = status.int('numberAvailable');
  if (spec.fields('updateStrategy').text('type') === 'OnDelete')
    return { status: 'Healthy', message: `daemon set ${updated} out of ${desired} new pods have been updated` };
  const rollout = `Waiting for daemon set ${quotedName(object)} rollout to finish:`;
  if (updated < desired) return progressing(`${rollout} ${updated} out of ${desired} new pods have been updated...`);
  if (available < desired) return progressing(`${rollout} ${available} of ${desired} updated pods are available...`);
  return { status: 'Healthy' };
}

/**
 * Argo CD: gitops-engine/pkg/health/health_job.go. Failed and Complete count whatever their
 * `status` is, later conditions overwrite the message, and any Suspended condition counts as
 * complete (as upstream).
 */
export function jobHealth(object: KubeObject): HealthStatus {
  requireVersion(object, 'v1');
  let [failed, complete, suspended] = [false, false, false];
  let [message, failMessage] = ['', ''];
  for (const condition of fieldsOf(object).fields('status').list('conditions')) {
    switch (condition.text('type')) {
      case 'Failed':
        failed = true;
        complete = true;
        failMessage = condition.text('message');
        break;
      case 'Complete':
        complete = true;
        message = condition.text('message');
        break;
      case 'Suspended':
        complete = true;
        message = condition.text('message');
        suspended ||= condition.text('status') === 'True';
        break;
      default:
    }
  }
  if (!complete) return withMessage('Progressing', message);
  if (failed) return withMessage('Degraded', failMessage);
  return withMessage(suspended ? 'Suspended' : 'Healthy', message);
}

function isStale(object: KubeObject, status: TypedFields): boolean {
  return fieldsOf(object).fields('metadata').int('generation') > status.int('observedGeneration');
}

function progressing(message: string): HealthStatus {
  return { status: 'Progressing', message };
}

function withMessage(status: HealthStatus['status'], message: string): HealthStatus {
  return message === '' ? { status } : { status, message };
}

/** The object's name, quoted as by Go's %q. */
function quotedName(object: KubeObject): string {
  return JSON.stringify(object.metadata.name ?? '');
}
