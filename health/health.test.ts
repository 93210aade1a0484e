import { describe, expect, it } from '@jest/globals';
import { defined } from '#base';
import fc from 'fast-check';
import { defaultSettings, healthOrder } from '#model';
import type { KubeObject } from '#model';
import { healthOf, worstHealth } from './index.ts';

type Parts = Readonly<Record<string, unknown>>;

function object(apiVersion: string, kind: string, parts: Parts = {}): KubeObject {
  const { metadata, ...rest } = parts;
  return { apiVersion, kind, metadata: { name: 'n', namespace: 'ns', ...(metadata as object) }, ...rest };
}

type Row = readonly [name: string, parts: Parts, status: string, message?: string];

function table(title: string, apiVersion: string, kind: string, rows: readonly Row[]): void {
  describe(title, () => {
    it.each(rows.map(([name, parts, status, message]) => ({ name, parts, status, message })))(
      '$name',
      ({ parts, status, message }) => {
        const expected = { status, ...defined({ message }) };
        expect(healthOf(object(apiVersion, kind, parts), defaultSettings)).toEqual(expected);
      },
    );
  });
}

const rollout = 'Waiting for rollout to finish:';
const metadata = { generation: 2 };

table('Deployment', 'apps/v1', 'Deployment', [
  ['paused', { spec: { paused: true } }, 'Suspended', 'Deployment is paused'],
  [
    'not observed',
    { metadata, status: { observedGeneration: 1 } },
    'Progressing',
    `${rollout} observed deployment generation less than desired generation`,
  ],
  [
    'past its deadline',
    { status: { conditions: [{ type: 'Progressing', reason: 'ProgressDeadlineExceeded' }] } },
    'Degraded',
    'Deployment "n" exceeded its progress deadline',
  ],
  [
    'not all updated',
    { spec: { replicas: 3 }, status: { updatedReplicas: 1 } },
    'Progressing',
    `${rollout} 1 out of 3 new replicas have been updated...`,
  ],
  [
    'with old replicas left',
    { spec: { replicas: 1 }, status: { updatedReplicas: 1, replicas: 3 } },
    'Progressing',
    `${rollout} 2 old replicas are pending termination...`,
  ],
  [
    'not all available',
    { spec: { replicas: 2 }, status: { updatedReplicas: 2, replicas: 2, availableReplicas: 1 } },
    'Progressing',
    `${rollout} 1 of 2 updated replicas are available...`,
  ],
  [
    'done',
    {
      metadata,
      spec: { replicas: 1 },
      status: { observedGeneration: 2, updatedReplicas: 1, replicas: 1, availableReplicas: 1 },
    },
    'Healthy',
  ],
  ['nothing wanted', { spec: { replicas: 0 } }, 'Healthy'],
]);

table('Deployment, in the order of its rules', 'apps/v1', 'Deployment', [
  [
    'without wanted replicas',
    { status: { replicas: 2, updatedReplicas: 1 } },
    'Progressing',
    `${rollout} 1 old replicas are pending termination...`,
  ],
  [
    'not observed, with an old failure',
    { metadata, status: { conditions: [{ type: 'Progressing', reason: 'ProgressDeadlineExceeded' }] } },
    'Progressing',
    `${rollout} observed deployment generation less than desired generation`,
  ],
]);

table('ReplicaSet', 'apps/v1', 'ReplicaSet', [
  [
    'not observed',
    { metadata, status: {} },
    'Progressing',
    `${rollout} observed replica set generation less than desired generation`,
  ],
  [
    'failing',
    { status: { conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'quota' }] } },
    'Degraded',
    'quota',
  ],
  [
    'failed once',
    { status: { conditions: [{ type: 'ReplicaFailure', status: 'False', message: 'quota' }] } },
    'Healthy',
  ],
  [
    'not all available',
    { spec: { replicas: 2 }, status: { availableReplicas: 1 } },
    'Progressing',
    `${rollout} 1 out of 2 new replicas are available...`,
  ],
  ['done', { spec: { replicas: 1 }, status: { availableReplicas: 1 } }, 'Healthy'],
]);

const rolling = (partition?: number): Parts => ({
  type: 'RollingUpdate',
  rollingUpdate: partition === undefined ? {} : { partition },
});
table('StatefulSet', 'apps/v1', 'StatefulSet', [
  ['never observed', { status: {} }, 'Progressing', 'Waiting for statefulset spec update to be observed...'],
  [
    'not observed',
    { metadata, status: { observedGeneration: 1 } },
    'Progressing',
    'Waiting for statefulset spec update to be observed...',
  ],
  [
    'not all ready',
    { spec: { replicas: 3 }, status: { observedGeneration: 1, readyReplicas: 1 } },
    'Progressing',
    'Waiting for 2 pods to be ready...',
  ],
  [
    'a partition in progress',
    {
      spec: { replicas: 3, updateStrategy: rolling(1) },
      status: { observedGeneration: 1, readyReplicas: 3, updatedReplicas: 1 },
    },
    'Progressing',
    'Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...',
  ],
  [
    'a partition done',
    {
      spec: { replicas: 3, updateStrategy: rolling(1) },
      status: { observedGeneration: 1, readyReplicas: 3, updatedReplicas: 2 },
    },
    'Healthy',
    'partitioned roll out complete: 2 new pods have been updated...',
  ],
  [
    'with a rolling update without a partition',
    {
      spec: { replicas: 3, updateStrategy: rolling() },
      status: {
        observedGeneration: 1,
        readyReplicas: 3,
        updatedReplicas: 1,
        currentRevision: 'a',
        updateRevision: 'b',
      },
    },
    'Healthy',
    'partitioned roll out complete: 1 new pods have been updated...',
  ],
  [
    'on delete',
    {
      spec: { replicas: 1, updateStrategy: { type: 'OnDelete' } },
      status: { observedGeneration: 1, readyReplicas: 1 },
    },
    'Healthy',
    'statefulset has 1 ready pods',
  ],
  [
    'between revisions',
    {
      spec: { updateStrategy: { type: 'RollingUpdate' } },
      status: { observedGeneration: 1, updatedReplicas: 1, currentRevision: 'a', updateRevision: 'b' },
    },
    'Progressing',
    'waiting for statefulset rolling update to complete 1 pods at revision b...',
  ],
  [
    'done',
    { status: { observedGeneration: 1, currentReplicas: 2, currentRevision: 'a', updateRevision: 'a' } },
    'Healthy',
    'statefulset rolling update complete 2 pods at revision a...',
  ],
]);

table('DaemonSet', 'apps/v1', 'DaemonSet', [
  [
    'not observed',
    { metadata, status: {} },
    'Progressing',
    `${rollout} observed daemon set generation less than desired generation`,
  ],
  [
    'on delete',
    {
      spec: { updateStrategy: { type: 'OnDelete' } },
      status: { updatedNumberScheduled: 1, desiredNumberScheduled: 2 },
    },
    'Healthy',
    'daemon set 1 out of 2 new pods have been updated',
  ],
  [
    'not all updated',
    { status: { updatedNumberScheduled: 1, desiredNumberScheduled: 2 } },
    'Progressing',
    'Waiting for daemon set "n" rollout to finish: 1 out of 2 new pods have been updated...',
  ],
  [
    'not all available',
    { status: { updatedNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 1 } },
    'Progressing',
    'Waiting for daemon set "n" rollout to finish: 1 of 2 updated pods are available...',
  ],
  ['done', { status: { updatedNumberScheduled: 1, desiredNumberScheduled: 1, numberAvailable: 1 } }, 'Healthy'],
]);

const conditions = (...list: Parts[]): Parts => ({ status: { conditions: list } });
table('Job', 'batch/v1', 'Job', [
  ['running', {}, 'Progressing'],
  ['complete', conditions({ type: 'Complete', message: 'ok' }), 'Healthy', 'ok'],
  ['failed', conditions({ type: 'Failed', message: 'boom' }, { type: 'Complete', message: 'ok' }), 'Degraded', 'boom'],
  [
    'suspended',
    conditions({ type: 'Suspended', status: 'True', message: 'Job suspended' }),
    'Suspended',
    'Job suspended',
  ],
  ['resumed', conditions({ type: 'Suspended', status: 'False', message: 'Job resumed' }), 'Healthy', 'Job resumed'],
  [
    'suspended, whatever a later condition reports',
    conditions({ type: 'Suspended', status: 'True', message: 'a' }, { type: 'Suspended', status: 'False' }),
    'Suspended',
  ],
  [
    'failed, with the message of the last such condition',
    conditions({ type: 'Failed', message: 'a' }, { type: 'Failed', message: 'b' }),
    'Degraded',
    'b',
  ],
  ['only about to fail', conditions({ type: 'FailureTarget', status: 'True' }), 'Progressing'],
]);

const always = { restartPolicy: 'Always' };
const pod = (phase: string, more: Parts = {}): Parts => ({ spec: always, status: { phase, ...more } });
const stuck = (reason: string): Parts => ({
  containerStatuses: [{ state: { waiting: { reason, message: `m-${reason}` } } }],
});
const ended = (terminated: Parts): Parts => ({ containerStatuses: [{ name: 'c', state: { terminated } }] });
const waitingFor = (reason: string, message?: string): Parts => ({ state: { waiting: { reason, message } } });
const crashing = waitingFor('CrashLoopBackOff', 'crash');
const twoStuck: Parts = {
  containerStatuses: [waitingFor('ErrImagePull', 'pull'), waitingFor('ContainerCreating', 'wait'), crashing],
};
const ready = { type: 'Ready', status: 'True' };
table('Pod', 'v1', 'Pod', [
  ['cannot pull', pod('Pending', stuck('ErrImagePull')), 'Degraded', 'm-ErrImagePull'],
  ['backs off', pod('Running', stuck('CrashLoopBackOff')), 'Degraded', 'm-CrashLoopBackOff'],
  [
    'cannot be configured',
    pod('Pending', stuck('CreateContainerConfigError')),
    'Degraded',
    'm-CreateContainerConfigError',
  ],
  ['being created', pod('Pending', stuck('ContainerCreating')), 'Progressing'],
  ['pending, with a message', pod('Pending', { message: 'no node' }), 'Progressing', 'no node'],
  ['succeeded', pod('Succeeded'), 'Healthy'],
  ['failed, with a message', pod('Failed', { message: 'evicted' }), 'Degraded', 'evicted'],
  [
    'failed, with the message of its container',
    pod('Failed', ended({ message: 'panic', exitCode: 2 })),
    'Degraded',
    'panic',
  ],
  ['out of memory', pod('Failed', ended({ reason: 'OOMKilled', exitCode: 137 })), 'Degraded', 'OOMKilled'],
  [
    'failed, with an exit code',
    pod('Failed', ended({ exitCode: 3 })),
    'Degraded',
    'container "c" failed with exit code 3',
  ],
  ['failed, without any reason', pod('Failed'), 'Degraded'],
  ['ready', pod('Running', { conditions: [{ type: 'Ready', status: 'True' }] }), 'Healthy'],
  [
    'crashed before',
    pod('Running', { containerStatuses: [{ lastState: { terminated: { exitCode: 1 } } }] }),
    'Degraded',
  ],
  ['not ready yet', pod('Running'), 'Progressing'],
  ['running, without restarts', { spec: { restartPolicy: 'Never' }, status: { phase: 'Running' } }, 'Progressing'],
  [
    'stuck, with another restart policy than Always',
    { spec: { restartPolicy: 'Never' }, status: { phase: 'Pending', ...stuck('ErrImagePull') } },
    'Progressing',
  ],
  [
    'with the annotation ignore-restart-policy',
    {
      metadata: { annotations: { 'argocd.argoproj.io/ignore-restart-policy': 'true' } },
      spec: { restartPolicy: 'Never' },
      status: { phase: 'Pending', ...stuck('ErrImagePull') },
    },
    'Degraded',
    'm-ErrImagePull',
  ],
  ['without a phase', pod(''), 'Unknown'],
  ['with the messages of all stuck containers', pod('Pending', twoStuck), 'Degraded', 'pull, crash'],
  ['stuck, without a message', pod('Pending', { containerStatuses: [waitingFor('ErrImagePull')] }), 'Degraded'],
  ['with an init container that backs off', pod('Pending', { initContainerStatuses: [crashing] }), 'Progressing'],
  [
    'failed, with the message of its init container first',
    pod('Failed', {
      initContainerStatuses: [{ name: 'i', state: { terminated: { exitCode: 5 } } }],
      ...ended({ message: 'panic', exitCode: 2 }),
    }),
    'Degraded',
    'container "i" failed with exit code 5',
  ],
  ['failed, with a container that succeeded', pod('Failed', ended({ exitCode: 0 })), 'Degraded'],
  ['ready, with a message', pod('Running', { message: 'm', conditions: [ready] }), 'Healthy', 'm'],
  [
    'ready, though a container crashed before',
    pod('Running', { conditions: [ready], containerStatuses: [{ lastState: { terminated: { exitCode: 1 } } }] }),
    'Healthy',
  ],
  [
    'running with restarts on failure',
    { spec: { restartPolicy: 'OnFailure' }, status: { phase: 'Running', message: 'm' } },
    'Progressing',
    'm',
  ],
  ['running with a restart policy that is not known', { status: { phase: 'Running', message: 'm' } }, 'Unknown', 'm'],
  [
    'a hook with the annotation ignore-restart-policy',
    {
      metadata: {
        annotations: { 'argocd.argoproj.io/ignore-restart-policy': 'true', 'argocd.argoproj.io/hook': 'PreSync' },
      },
      spec: { restartPolicy: 'Never' },
      status: { phase: 'Pending', ...stuck('ErrImagePull') },
    },
    'Progressing',
  ],
]);

table('PersistentVolumeClaim', 'v1', 'PersistentVolumeClaim', [
  ['lost', { status: { phase: 'Lost' } }, 'Degraded'],
  ['pending', { status: { phase: 'Pending' } }, 'Progressing'],
  ['bound', { status: { phase: 'Bound' } }, 'Healthy'],
  ['without a phase', {}, 'Unknown'],
]);

const reachable = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
table('Service', 'v1', 'Service', [
  ['inside', { spec: { type: 'ClusterIP' } }, 'Healthy'],
  ['waiting for its address', { spec: { type: 'LoadBalancer' } }, 'Progressing'],
  ['reachable', { spec: { type: 'LoadBalancer' }, status: reachable }, 'Healthy'],
]);
for (const apiVersion of ['networking.k8s.io/v1', 'networking.k8s.io/v1beta1', 'extensions/v1beta1']) {
  table(`Ingress ${apiVersion}`, apiVersion, 'Ingress', [
    ['with a status of another shape', { status: { loadBalancer: 'x' } }, 'Progressing'],
    ['waiting', {}, 'Progressing'],
    ['reachable', { status: reachable }, 'Healthy'],
  ]);
}

const autoscaler = 'Waiting to Autoscale';
table('HorizontalPodAutoscaler', 'autoscaling/v2', 'HorizontalPodAutoscaler', [
  ['new', {}, 'Progressing', autoscaler],
  [
    'without its target',
    conditions({ type: 'AbleToScale', status: 'False', reason: 'FailedGetScale', message: 'gone' }),
    'Degraded',
    'gone',
  ],
  [
    'without metrics',
    conditions({ type: 'ScalingActive', status: 'False', reason: 'FailedGetResourceMetric', message: 'none' }),
    'Degraded',
    'none',
  ],
  [
    'able',
    conditions({ type: 'AbleToScale', status: 'True', reason: 'ReadyForNewScale', message: 'ready' }),
    'Healthy',
    'ready',
  ],
  ['limited', conditions({ type: 'ScalingLimited', status: 'True', message: 'at most 3' }), 'Healthy', 'at most 3'],
  [
    'a fault before a later good condition',
    conditions(
      { type: 'AbleToScale', status: 'True', message: 'ready' },
      { type: 'ScalingActive', status: 'True', reason: 'InvalidSelector', message: 'bad selector' },
    ),
    'Degraded',
    'bad selector',
  ],
  ...['FailedGetObjectMetric', 'FailedGetPodsMetric', 'FailedGetExternalMetric', 'FailedComputeMetricsReplicas'].map(
    (reason): Row => [reason, conditions({ type: 'ScalingActive', reason, message: reason }), 'Degraded', reason],
  ),
  [
    'with a scale that cannot be updated',
    conditions({ type: 'AbleToScale', reason: 'FailedUpdateScale', message: 'conflict' }),
    'Degraded',
    'conflict',
  ],
  ['neither', conditions({ type: 'ScalingActive', status: 'True' }), 'Progressing', autoscaler],
]);
const annotated = (text: string): Parts => ({
  metadata: { annotations: { 'autoscaling.alpha.kubernetes.io/conditions': text } },
});
table('HorizontalPodAutoscaler v1', 'autoscaling/v1', 'HorizontalPodAutoscaler', [
  ['without the annotation', {}, 'Progressing', autoscaler],
  ['without conditions', annotated('[]'), 'Progressing', autoscaler],
  [
    'with a fault',
    annotated('[{"type":"AbleToScale","reason":"FailedGetScale","message":"gone"}]'),
    'Degraded',
    'gone',
  ],
  ...['', '{', '{}', '[1]'].map((text): Row => [
    `with an annotation that cannot be read: ${text}`,
    annotated(text),
    'Unknown',
    `failed to convert conditions annotation to typed: ${text === '{}' ? 'not a list' : text === '[1]' ? 'not a list of objects' : 'not valid JSON'}`,
  ]),
  ['able', annotated('[{"type":"AbleToScale","status":"True","message":"ready"}]'), 'Healthy', 'ready'],
]);

table('HorizontalPodAutoscaler v2beta2', 'autoscaling/v2beta2', 'HorizontalPodAutoscaler', [
  ['always', {}, 'Unknown', 'unsupported HPA GVK: autoscaling/v2beta2, Kind=HorizontalPodAutoscaler'],
]);
table('Deployment of a version without a check', 'apps/v1beta2', 'Deployment', [
  ['always', {}, 'Unknown', 'unsupported Deployment GVK: apps/v1beta2, Kind=Deployment'],
]);

table('APIService v1beta1', 'apiregistration.k8s.io/v1beta1', 'APIService', [
  ['new', {}, 'Progressing', 'Waiting to be processed'],
]);
table('APIService', 'apiregistration.k8s.io/v1', 'APIService', [
  ['new', {}, 'Progressing', 'Waiting to be processed'],
  [
    'available',
    conditions({ type: 'Available', status: 'True', reason: 'Local', message: 'ok' }),
    'Healthy',
    'Local: ok',
  ],
  [
    'unavailable',
    conditions({ type: 'Available', status: 'False', reason: 'Missing', message: 'no endpoints' }),
    'Progressing',
    'Missing: no endpoints',
  ],
]);

table('Workflow', 'argoproj.io/v1alpha1', 'Workflow', [
  ['new', {}, 'Progressing'],
  ['running', { status: { phase: 'Running', message: 'step 1' } }, 'Progressing', 'step 1'],
  ['succeeded', { status: { phase: 'Succeeded' } }, 'Healthy'],
  ['failed', { status: { phase: 'Failed' } }, 'Degraded'],
  ['something else', { status: { phase: 'constructor' } }, 'Unknown'],
  ['pending', { status: { phase: 'Pending' } }, 'Progressing'],
  ['broken', { status: { phase: 'Error', message: 'no such template' } }, 'Degraded', 'no such template'],
  ['with a phase that is no text', { status: { phase: 3, message: 4 } }, 'Progressing'],
]);

describe('any object', () => {
  const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };

  it('is Progressing while it is being deleted, whatever its kind', () => {
    const pending = { status: 'Progressing', message: 'Pending deletion' };
    expect(healthOf(object('v1', 'ConfigMap', { metadata: deleting }), defaultSettings)).toEqual(pending);
    expect(healthOf(object('v1', 'Pod', { metadata: deleting, status: { phase: 'Failed' } }), defaultSettings)).toEqual(
      pending,
    );
  });

  it.each([[true], [3], ['argocd.argoproj.io/hook-finalizer'], [{}]])(
    'is Progressing while it is being deleted, with the finalizers %j',
    (finalizers) => {
      const metadata = { ...deleting, finalizers } as unknown as Record<string, string>;
      expect(healthOf(object('v1', 'Pod', { metadata }), defaultSettings)).toMatchObject({ status: 'Progressing' });
    },
  );

  it('keeps its real health while only our hook finalizer holds it', () => {
    const held = { ...deleting, finalizers: ['argocd.argoproj.io/hook-finalizer'] };
    expect(
      healthOf(object('batch/v1', 'Job', { metadata: held, ...conditions({ type: 'Complete' }) }), defaultSettings),
    ).toEqual({
      status: 'Healthy',
    });
  });

  it.each([
    ['v1', 'ConfigMap'],
    ['argoproj.io/v1alpha1', 'Application'],
    ['extensions/v1beta1', 'Deployment'],
    ['example.com/v1', 'Pod'],
  ])('has no health where there is no check: %s %s', (apiVersion, kind) => {
    expect(healthOf(object(apiVersion, kind), defaultSettings)).toBeNull();
  });

  it.each([
    ['a version without a check', object('apps/v1beta2', 'Deployment')],
    ['a field of the wrong type', object('apps/v1', 'Deployment', { spec: { replicas: 'three' } })],
    ['an annotation that is no JSON', object('autoscaling/v1', 'HorizontalPodAutoscaler', annotated('{'))],
  ])('is Unknown, with the reason, for %s', (_name, broken) => {
    let status: string | undefined;
    try {
      status = healthOf(broken, defaultSettings)?.status;
    } catch (error) {
      expect((error as Error).message).not.toBe('');
      status = 'Unknown';
    }
    expect(status).toBe('Unknown');
  });
});

describe('worstHealth', () => {
  it('returns the worst code, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...healthOrder), { minLength: 1 }), (codes) => {
        const worst = Math.max(...codes.map((code) => healthOrder.indexOf(code)));
        expect(worstHealth(codes)).toBe(healthOrder[worst]);
      }),
    );
  });
});
