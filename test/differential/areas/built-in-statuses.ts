import type { JsonObject } from '#base';

const condition = (type: string, status: string, reason = '', message = ''): JsonObject => ({
  ...{ type, status, reason, message },
});

function workload(kind: string, spec: JsonObject, status: JsonObject): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'x', generation: 2 },
    spec,
    status: { observedGeneration: 2, ...status },
  };
}

function object(apiVersion: string, kind: string, rest: JsonObject): JsonObject {
  return { apiVersion, kind, metadata: { name: 'x' }, ...rest };
}

const replicas = { replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 };
const waiting = (reason: string): JsonObject => ({ name: 'c', state: { waiting: { reason, message: 'm' } } });

/** Objects of Kubernetes' own kinds with a health check, as their controllers leave them. */
export const builtInStatuses: readonly JsonObject[] = [
  workload(
    'Deployment',
    { replicas: 3 },
    {
      ...replicas,
      conditions: [condition('Available', 'True'), condition('Progressing', 'True', 'NewReplicaSetAvailable')],
    },
  ),
  workload(
    'Deployment',
    { replicas: 3 },
    {
      ...replicas,
      updatedReplicas: 1,
      conditions: [condition('Progressing', 'False', 'ProgressDeadlineExceeded', 'late')],
    },
  ),
  workload('Deployment', { replicas: 3, paused: true }, { ...replicas, availableReplicas: 2 }),
  workload('Deployment', {}, { ...replicas, replicas: 4, unavailableReplicas: 1 }),
  workload(
    'ReplicaSet',
    { replicas: 2 },
    { ...replicas, availableReplicas: 1, conditions: [condition('ReplicaFailure', 'True', 'FailedCreate', 'quota')] },
  ),
  workload('ReplicaSet', { replicas: 3 }, replicas),
  workload(
    'StatefulSet',
    { replicas: 3, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } },
    { ...replicas, currentRevision: 'a', updateRevision: 'b', currentReplicas: 2, updatedReplicas: 1 },
  ),
  workload('StatefulSet', { replicas: 3, updateStrategy: { type: 'OnDelete' } }, { ...replicas, readyReplicas: 2 }),
  workload('StatefulSet', { replicas: 3 }, { ...replicas, currentRevision: 'a', updateRevision: 'a' }),
  workload(
    'DaemonSet',
    { updateStrategy: { type: 'RollingUpdate' } },
    {
      desiredNumberScheduled: 3,
      currentNumberScheduled: 3,
      updatedNumberScheduled: 2,
      numberAvailable: 3,
      numberReady: 3,
    },
  ),
  workload(
    'DaemonSet',
    { updateStrategy: { type: 'OnDelete' } },
    { desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 1 },
  ),
  object('batch/v1', 'Job', {
    spec: { suspend: false },
    status: { succeeded: 1, conditions: [condition('Complete', 'True', '', 'done')] },
  }),
  object('batch/v1', 'Job', {
    spec: {},
    status: { failed: 1, conditions: [condition('Failed', 'True', 'BackoffLimitExceeded', 'failed')] },
  }),
  object('batch/v1', 'Job', {
    spec: { suspend: true },
    status: { active: 1, conditions: [condition('Suspended', 'True', 'JobSuspended', 's')] },
  }),
  object('v1', 'Pod', {
    spec: { restartPolicy: 'Always' },
    status: {
      phase: 'Running',
      conditions: [condition('Ready', 'True')],
      containerStatuses: [{ name: 'c', ready: true, state: { running: {} } }],
    },
  }),
  object('v1', 'Pod', {
    spec: { restartPolicy: 'Always' },
    status: {
      phase: 'Running',
      conditions: [condition('Ready', 'False')],
      containerStatuses: [waiting('CrashLoopBackOff')],
    },
  }),
  object('v1', 'Pod', {
    spec: { restartPolicy: 'Always' },
    status: { phase: 'Pending', containerStatuses: [waiting('ErrImagePull'), waiting('ImagePullBackOff')] },
  }),
  object('v1', 'Pod', {
    spec: { restartPolicy: 'Never' },
    status: {
      phase: 'Failed',
      message: 'evicted',
      containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 137, reason: 'OOMKilled', message: '' } } }],
    },
  }),
  object('v1', 'Pod', { spec: { restartPolicy: 'OnFailure' }, status: { phase: 'Succeeded', reason: 'done' } }),
  object('v1', 'Pod', {
    spec: { restartPolicy: 'Always', initContainers: [{ name: 'i', restartPolicy: 'Always' }] },
    status: {
      phase: 'Failed',
      initContainerStatuses: [{ name: 'i', state: { terminated: { exitCode: 1, message: 'bad' } } }],
      containerStatuses: [
        { name: 'c', state: { terminated: { exitCode: 0 } }, lastState: { terminated: { exitCode: 2 } } },
      ],
    },
  }),
  object('v1', 'Service', {
    spec: { type: 'LoadBalancer' },
    status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
  }),
  object('v1', 'Service', { spec: { type: 'LoadBalancer' }, status: { loadBalancer: {} } }),
  object('v1', 'Service', { spec: { type: 'ClusterIP' } }),
  object('networking.k8s.io/v1', 'Ingress', { status: { loadBalancer: { ingress: [{ hostname: 'h', ports: [] }] } } }),
  object('extensions/v1beta1', 'Ingress', { status: {} }),
  object('v1', 'PersistentVolumeClaim', { status: { phase: 'Bound' } }),
  object('v1', 'PersistentVolumeClaim', { status: { phase: 'Lost', conditions: [condition('Resizing', 'True')] } }),
  object('v1', 'PersistentVolumeClaim', { status: { phase: 'Pending' } }),
  ...['autoscaling/v1', 'autoscaling/v2', 'autoscaling/v2beta1', 'autoscaling/v2beta2'].flatMap((version) => [
    object(version, 'HorizontalPodAutoscaler', {
      metadata: {
        name: 'x',
        annotations: {
          'autoscaling.alpha.kubernetes.io/conditions': JSON.stringify([
            condition('AbleToScale', 'True', 'SucceededRescale', 'r'),
            condition('ScalingLimited', 'False', 'DesiredWithinRange', 'ok'),
          ]),
        },
      },
      status: {
        currentReplicas: 1,
        desiredReplicas: 1,
        conditions: [
          condition('AbleToScale', 'True', 'SucceededGetScale', 'able'),
          condition('ScalingActive', 'True', 'ValidMetricFound', 'active'),
          condition('ScalingLimited', 'False', 'DesiredWithinRange', 'within'),
        ],
      },
    }),
    object(version, 'HorizontalPodAutoscaler', {
      status: {
        conditions: [
          condition('ScalingActive', 'False', 'FailedGetResourceMetric', 'no metrics'),
          condition('AbleToScale', 'False', 'FailedUpdateScale', 'no scale'),
        ],
      },
    }),
  ]),
  object('apiregistration.k8s.io/v1', 'APIService', {
    status: { conditions: [condition('Available', 'True', 'Passed', 'ok')] },
  }),
  object('apiregistration.k8s.io/v1beta1', 'APIService', {
    status: { conditions: [condition('Available', 'False', 'MissingEndpoints', 'no endpoints')] },
  }),
  object('argoproj.io/v1alpha1', 'Workflow', { status: { phase: 'Succeeded', message: 'm' } }),
  object('argoproj.io/v1alpha1', 'Workflow', { status: { phase: 'Running' } }),
];
