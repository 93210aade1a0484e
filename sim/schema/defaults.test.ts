import { describe, expect, it } from '@jest/globals';
import { valueAt } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import { pullPolicy } from './defaults/pod.ts';
import * as samples from './samples.ts';
import { withChange, kindIn, widgetSample, widgetKind } from './samples.ts';

const book = createSchemaBook();
const defaulted = (object: KubeObject): Json =>
  book.applyDefaults(
    kindIn(book, object.kind, object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : ''),
    object,
  ) as Json;
const object = (apiVersion: string, kind: string, rest: Record<string, Json>): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'x' },
  ...rest,
});

const nodeOf = (spec: Json): KubeObject => object('v1', 'Node', { spec });

describe('defaults of built-in kinds', () => {
  const podTemplate = ['spec', 'template', 'spec'];
  const first = [...podTemplate, 'containers', 0];
  it.each<[string, KubeObject, Json, readonly (string | number)[], Json | undefined]>([
    ['deployment replicas', samples.deploymentSample, { spec: { replicas: null } }, ['spec', 'replicas'], 1],
    [
      'deployment strategy',
      samples.deploymentSample,
      {},
      ['spec', 'strategy'],
      { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
    ],
    [
      'deployment strategy Recreate',
      samples.deploymentSample,
      { spec: { strategy: { type: 'Recreate' } } },
      ['spec', 'strategy'],
      { type: 'Recreate' },
    ],
    ['deployment history', samples.deploymentSample, {}, ['spec', 'revisionHistoryLimit'], 10],
    ['deployment deadline', samples.deploymentSample, {}, ['spec', 'progressDeadlineSeconds'], 600],
    ['template restartPolicy', samples.deploymentSample, {}, [...podTemplate, 'restartPolicy'], 'Always'],
    ['template dnsPolicy', samples.deploymentSample, {}, [...podTemplate, 'dnsPolicy'], 'ClusterFirst'],
    ['template grace', samples.deploymentSample, {}, [...podTemplate, 'terminationGracePeriodSeconds'], 30],
    ['template scheduler', samples.deploymentSample, {}, [...podTemplate, 'schedulerName'], 'default-scheduler'],
    ['template securityContext', samples.deploymentSample, {}, [...podTemplate, 'securityContext'], {}],
    [
      'no enableServiceLinks in templates',
      samples.deploymentSample,
      {},
      [...podTemplate, 'enableServiceLinks'],
      undefined,
    ],
    [
      'container message path',
      samples.deploymentSample,
      {},
      [...first, 'terminationMessagePath'],
      '/dev/termination-log',
    ],
    ['container message policy', samples.deploymentSample, {}, [...first, 'terminationMessagePolicy'], 'File'],
    ['container pull policy', samples.deploymentSample, {}, [...first, 'imagePullPolicy'], 'IfNotPresent'],
    ['container resources', samples.deploymentSample, {}, [...first, 'resources'], {}],
    [
      'port protocol',
      samples.podSample,
      { spec: { containers: [{ name: 'a', image: 'b', ports: [{ containerPort: 80 }] }] } },
      ['spec', 'containers', 0, 'ports', 0],
      { containerPort: 80, protocol: 'TCP' },
    ],
    [
      'host network port',
      samples.podSample,
      { spec: { hostNetwork: true, containers: [{ name: 'a', image: 'b', ports: [{ containerPort: 80 }] }] } },
      ['spec', 'containers', 0, 'ports', 0, 'hostPort'],
      80,
    ],
    [
      'probe numbers',
      samples.podSample,
      { spec: { containers: [{ name: 'a', image: 'b', livenessProbe: { httpGet: { port: 80 } } }] } },
      ['spec', 'containers', 0, 'livenessProbe'],
      {
        httpGet: { path: '/', port: 80, scheme: 'HTTP' },
        timeoutSeconds: 1,
        periodSeconds: 10,
        successThreshold: 1,
        failureThreshold: 3,
      },
    ],
    [
      'env fieldRef',
      samples.podSample,
      {
        spec: {
          containers: [
            { name: 'a', image: 'b', env: [{ name: 'N', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
          ],
        },
      },
      ['spec', 'containers', 0, 'env', 0, 'valueFrom', 'fieldRef', 'apiVersion'],
      'v1',
    ],
    [
      'pod requests from limits',
      samples.podSample,
      { spec: { containers: [{ name: 'a', image: 'b', resources: { limits: { cpu: '1' } } }] } },
      ['spec', 'containers', 0, 'resources', 'requests'],
      { cpu: '1' },
    ],
    ['pod enableServiceLinks', samples.podSample, {}, ['spec', 'enableServiceLinks'], true],
    [
      'service account twice',
      samples.podSample,
      { spec: { serviceAccountName: 'me' } },
      ['spec', 'serviceAccount'],
      'me',
    ],
    [
      'node: the single range wins',
      nodeOf({ podCIDR: '10.1.0.0/24' }),
      { spec: { podCIDRs: ['10.2.0.0/24'] } },
      ['spec', 'podCIDRs'],
      ['10.1.0.0/24'],
    ],
    ['node: the first range', nodeOf({ podCIDRs: ['10.1.0.0/24'] }), {}, ['spec', 'podCIDR'], '10.1.0.0/24'],
    [
      'secret volume mode',
      samples.podSample,
      { spec: { volumes: [{ name: 'v', secret: { secretName: 's' } }] } },
      ['spec', 'volumes', 0, 'secret', 'defaultMode'],
      420,
    ],
    [
      'configMap volume mode',
      samples.podSample,
      { spec: { volumes: [{ name: 'v', configMap: { name: 's' } }] } },
      ['spec', 'volumes', 0, 'configMap', 'defaultMode'],
      420,
    ],
    [
      'token expiry',
      samples.podSample,
      { spec: { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] } },
      ['spec', 'volumes', 0, 'projected', 'sources', 0, 'serviceAccountToken', 'expirationSeconds'],
      3600,
    ],
    [
      'a volume without source',
      samples.podSample,
      { spec: { volumes: [{ name: 'v' }] } },
      ['spec', 'volumes', 0],
      { name: 'v', emptyDir: {} },
    ],
    [
      'hostPath type',
      samples.podSample,
      { spec: { volumes: [{ name: 'v', hostPath: { path: '/' } }] } },
      ['spec', 'volumes', 0, 'hostPath', 'type'],
      '',
    ],
    ['statefulset policy', samples.statefulSetSample, {}, ['spec', 'podManagementPolicy'], 'OrderedReady'],
    [
      'statefulset strategy',
      samples.statefulSetSample,
      {},
      ['spec', 'updateStrategy'],
      { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    ],
    [
      'statefulset retention',
      samples.statefulSetSample,
      {},
      ['spec', 'persistentVolumeClaimRetentionPolicy'],
      { whenDeleted: 'Retain', whenScaled: 'Retain' },
    ],
    [
      'statefulset claims',
      samples.statefulSetSample,
      { spec: { volumeClaimTemplates: [{ metadata: { name: 'd' }, spec: { accessModes: ['ReadWriteOnce'] } }] } },
      ['spec', 'volumeClaimTemplates', 0],
      {
        kind: 'PersistentVolumeClaim',
        apiVersion: 'v1',
        metadata: { name: 'd' },
        spec: { accessModes: ['ReadWriteOnce'], resources: {}, volumeMode: 'Filesystem' },
        status: { phase: 'Pending' },
      },
    ],
    [
      'daemonset strategy',
      samples.daemonSetSample,
      {},
      ['spec', 'updateStrategy'],
      { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    ],
    ['job completions', samples.jobSample, {}, ['spec', 'completions'], 1],
    [
      'job completions with parallelism',
      samples.jobSample,
      { spec: { parallelism: 3 } },
      ['spec', 'completions'],
      undefined,
    ],
    ['job backoff', samples.jobSample, {}, ['spec', 'backoffLimit'], 6],
    ['job mode', samples.jobSample, {}, ['spec', 'completionMode'], 'NonIndexed'],
    ['job suspend', samples.jobSample, {}, ['spec', 'suspend'], false],
    ['job replacement', samples.jobSample, {}, ['spec', 'podReplacementPolicy'], 'TerminatingOrFailed'],
    [
      'job selector once the uid is known',
      samples.jobSample,
      { metadata: { uid: 'u1' } },
      ['spec', 'selector'],
      { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u1' } },
    ],
    ['cronjob policy', samples.cronJobSample, {}, ['spec', 'concurrencyPolicy'], 'Allow'],
    ['cronjob history', samples.cronJobSample, {}, ['spec', 'successfulJobsHistoryLimit'], 3],
    [
      'cronjob template',
      samples.cronJobSample,
      {},
      ['spec', 'jobTemplate', 'spec', 'template', 'spec', 'dnsPolicy'],
      'ClusterFirst',
    ],
    ['service type', samples.serviceSample, {}, ['spec', 'type'], 'ClusterIP'],
    ['service ports', samples.serviceSample, {}, ['spec', 'ports', 0], { protocol: 'TCP', port: 80, targetPort: 80 }],
    ['service affinity', samples.serviceSample, {}, ['spec', 'sessionAffinity'], 'None'],
    ['service internal policy', samples.serviceSample, {}, ['spec', 'internalTrafficPolicy'], 'Cluster'],
    [
      'service external policy',
      samples.serviceSample,
      { spec: { type: 'NodePort' } },
      ['spec', 'externalTrafficPolicy'],
      'Cluster',
    ],
    [
      'service load balancer',
      samples.serviceSample,
      { spec: { type: 'LoadBalancer' } },
      ['spec', 'allocateLoadBalancerNodePorts'],
      true,
    ],
    [
      'external name has no families',
      samples.serviceSample,
      { spec: { type: 'ExternalName', externalName: 'a.b' } },
      ['spec', 'ipFamilies'],
      undefined,
    ],
    [
      'client affinity',
      samples.serviceSample,
      { spec: { sessionAffinity: 'ClientIP' } },
      ['spec', 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds'],
      10800,
    ],
    ['secret type', samples.secretSample, {}, ['type'], 'Opaque'],
    [
      'secret stringData',
      samples.secretSample,
      { stringData: { a: 'new', b: 'x' } },
      ['data'],
      { a: 'bmV3', b: 'eA==' },
    ],
    ['secret stringData goes', samples.secretSample, { stringData: { a: 'x' } }, ['stringData'], undefined],
    [
      'namespace label',
      object('v1', 'Namespace', {}),
      {},
      ['metadata', 'labels'],
      { 'kubernetes.io/metadata.name': 'x' },
    ],
    ['namespace phase', object('v1', 'Namespace', {}), {}, ['status', 'phase'], 'Active'],
    ['claim mode', samples.claimSample, {}, ['spec', 'volumeMode'], 'Filesystem'],
    ['volume reclaim', samples.volumeSample, {}, ['spec', 'persistentVolumeReclaimPolicy'], 'Retain'],
    ['network policy types', samples.networkPolicySample, {}, ['spec', 'policyTypes'], ['Ingress']],
    [
      'network policy types with egress',
      samples.networkPolicySample,
      { spec: { egress: [{}] } },
      ['spec', 'policyTypes'],
      ['Ingress', 'Egress'],
    ],
    [
      'no path type for ingresses',
      samples.ingressSample,
      { spec: { rules: [{ http: { paths: [{ path: '/' }] } }] } },
      ['spec', 'rules', 0, 'http', 'paths', 0, 'pathType'],
      null,
    ],
    ['role reference group', samples.roleBindingSample, {}, ['roleRef', 'apiGroup'], 'rbac.authorization.k8s.io'],
    [
      'subject group of a user',
      samples.roleBindingSample,
      { subjects: [{ kind: 'User', name: 'u' }] },
      ['subjects', 0, 'apiGroup'],
      'rbac.authorization.k8s.io',
    ],
    ['subject group of an account', samples.roleBindingSample, {}, ['subjects', 0, 'apiGroup'], undefined],
    ['role without rules', samples.roleSample, { rules: null }, ['rules'], null],
    ['autoscaler minimum', samples.autoscalerSample, {}, ['spec', 'minReplicas'], 1],
    [
      'autoscaler metrics',
      samples.autoscalerSample,
      {},
      ['spec', 'metrics', 0, 'resource', 'target', 'averageUtilization'],
      80,
    ],
    [
      'autoscaler behavior',
      samples.autoscalerSample,
      { spec: { behavior: { scaleUp: { stabilizationWindowSeconds: 5 } } } },
      ['spec', 'behavior', 'scaleDown', 'policies'],
      [{ type: 'Percent', value: 100, periodSeconds: 15 }],
    ],
    [
      'storage class',
      object('storage.k8s.io/v1', 'StorageClass', { provisioner: 'p' }),
      {},
      ['volumeBindingMode'],
      'Immediate',
    ],
    [
      'priority class',
      object('scheduling.k8s.io/v1', 'PriorityClass', { value: 1 }),
      {},
      ['preemptionPolicy'],
      'PreemptLowerPriority',
    ],
    [
      'webhook',
      object('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', {
        webhooks: [{ name: 'a.b.c', clientConfig: {} }],
      }),
      {},
      ['webhooks', 0, 'timeoutSeconds'],
      10,
    ],
    [
      'endpoints',
      object('v1', 'Endpoints', { subsets: [{ ports: [{ port: 1 }] }] }),
      {},
      ['subsets', 0, 'ports', 0, 'protocol'],
      'TCP',
    ],
    [
      'limit range',
      object('v1', 'LimitRange', { spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } }),
      {},
      ['spec', 'limits', 0, 'defaultRequest'],
      { cpu: '2' },
    ],
    [
      'definition names',
      object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
        spec: { names: { kind: 'Foo', plural: 'foos' } },
      }),
      {},
      ['spec', 'names', 'listKind'],
      'FooList',
    ],
    [
      'ingress class scope',
      object('networking.k8s.io/v1', 'IngressClass', {
        spec: { controller: 'c', parameters: { kind: 'K', name: 'n' } },
      }),
      {},
      ['spec', 'parameters', 'scope'],
      'Cluster',
    ],
  ])('%s', (_what, base, change, path, expected) => {
    const result = valueAt(defaulted(withChange(base, change)), ...path);
    if (expected === null) expect(result ?? null).toBeNull();
    else expect(result).toEqual(expected);
  });

  it.each([
    ['nginx', 'Always'],
    ['nginx:latest', 'Always'],
    ['nginx:1', 'IfNotPresent'],
    ['host:5000/nginx', 'Always'],
    ['host:5000/nginx:1', 'IfNotPresent'],
    ['nginx@sha256:0000', 'IfNotPresent'],
  ])('sets the pull policy of %s to %s', (image, policy) => {
    expect(pullPolicy(image)).toBe(policy);
  });

  it.each(
    Object.entries(samples).filter(
      ([, value]) => typeof value === 'object' && 'apiVersion' in value && value.kind !== 'Widget',
    ),
  )('are idempotent and leave the argument unchanged: %s', (_name, value) => {
    const base = value as KubeObject;
    const before = JSON.stringify(base);
    const once = defaulted(base);
    expect(defaulted(once as unknown as KubeObject)).toEqual(once);
    expect(JSON.stringify(base)).toBe(before);
  });
});

describe('defaults of custom resources', () => {
  it.each<[string, Json, Json]>([
    ['absent members, and those of a default', {}, { size: 1, mode: 'A', nested: { depth: 3 } }],
    ['null where null is not allowed', { mode: null }, { size: 1, mode: 'A', nested: { depth: 3 } }],
    [
      'members of list items',
      { parts: [{ name: 'a' }] },
      { size: 1, mode: 'A', nested: { depth: 3 }, parts: [{ name: 'a', weight: 7 }] },
    ],
    ['nothing that is there', { mode: 'B', nested: { depth: 9 } }, { size: 1, mode: 'B', nested: { depth: 9 } }],
  ])('%s', (_what, change, spec) => {
    expect(book.applyDefaults(widgetKind, withChange(widgetSample, { spec: change }))['spec']).toEqual(spec);
  });

  it('add nothing inside an absent object', () => {
    const bare = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'x' } };
    expect(book.applyDefaults(widgetKind, bare)).toEqual(bare);
  });
});
