import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import * as samples from './samples.ts';
import { withChange, kindIn, widgetSample, widgetKind } from './samples.ts';

const book = createSchemaBook();
const ready = (object: KubeObject): KubeObject => book.applyDefaults(kindOf(object), object);
const kindOf = (object: KubeObject) =>
  kindIn(book, object.kind, object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : '');
const problems = (object: KubeObject, old?: KubeObject): string[] =>
  book
    .validate(kindOf(object), ready(object), old === undefined ? undefined : ready(old))
    .map(({ field, message }) => `${field}: ${message}`);

const container = (members: Json): Json => ({
  spec: { containers: [{ name: 'a', image: 'b', ...(members as object) }] },
});
const claimOf = (accessModes: Json): Json => ({ spec: { accessModes, resources: { requests: { storage: '1Gi' } } } });
const templated = (spec: Json): Json => ({ spec: { template: { spec } } });
const dns1123 = /a lowercase RFC 1123 label must consist of lower case alphanumeric characters/;
const object = (apiVersion: string, kind: string, rest: Record<string, Json>): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'x' },
  ...rest,
});

describe('valid objects', () => {
  it.each(
    Object.entries(samples).filter(
      ([name, value]) => typeof value === 'object' && 'apiVersion' in value && name !== 'widgetSample',
    ),
  )('are accepted: %s', (_name, value) => {
    expect(problems(value as KubeObject)).toEqual([]);
    expect(problems(value as KubeObject, value as KubeObject)).toEqual([]);
  });
});

/** Each row: title, base, change, and the one expected error. */
describe('an invalid create is rejected', () => {
  it.each<[string, KubeObject, Json, string | RegExp]>([
    ['no containers', samples.podSample, { spec: { containers: [] } }, 'spec.containers: Required value'],
    ['container without name', samples.podSample, container({ name: '' }), 'spec.containers[0].name: Required value'],
    ['container name', samples.podSample, container({ name: 'A_b' }), dns1123],
    [
      'container twice',
      samples.podSample,
      {
        spec: {
          containers: [
            { name: 'a', image: 'b' },
            { name: 'a', image: 'b' },
          ],
        },
      },
      'spec.containers[1].name: Duplicate value: "a"',
    ],
    [
      'init container of the same name',
      samples.podSample,
      { spec: { initContainers: [{ name: 'a', image: 'b' }] } },
      'spec.initContainers[0].name: Duplicate value: "a"',
    ],
    ['system without a name', samples.podSample, { spec: { os: {} } }, 'spec.os.name: Required value'],
    [
      'seccomp profile without a type',
      samples.podSample,
      { spec: { securityContext: { seccompProfile: {} } } },
      'spec.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set',
    ],
    [
      'seccomp profile of a container without a type',
      samples.podSample,
      container({ securityContext: { seccompProfile: {} } }),
      'spec.containers[0].securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set',
    ],
    [
      'lifecycle hook without a handler',
      samples.podSample,
      container({ lifecycle: { preStop: {} } }),
      'spec.containers[0].lifecycle.preStop: Required value: must specify a handler type',
    ],
    [
      'lifecycle hook without a port',
      samples.podSample,
      container({ lifecycle: { postStart: { httpGet: { path: '/' } } } }),
      /^spec.containers\[0\].lifecycle.postStart.httpGet.port: Invalid value/,
    ],
    [
      'ephemeral volume without access modes',
      samples.podSample,
      { spec: { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: claimOf([]) } }] } },
      'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required',
    ],
    [
      'ephemeral volume without a template',
      samples.podSample,
      { spec: { volumes: [{ name: 'v', ephemeral: {} }] } },
      'spec.volumes[0].ephemeral.volumeClaimTemplate: Required value',
    ],
    [
      'success policy without rules',
      samples.jobSample,
      { spec: { completionMode: 'Indexed', completions: 1, successPolicy: {} } },
      'spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified',
    ],
    [
      'scaling rules without policies',
      samples.autoscalerSample,
      { spec: { behavior: { scaleUp: { policies: [] } } } },
      'spec.behavior.scaleUp.policies: Required value: must specify at least one Policy',
    ],
    ['no image', samples.podSample, container({ image: '' }), 'spec.containers[0].image: Required value'],
    [
      'image with a blank',
      samples.podSample,
      container({ image: 'b ' }),
      'spec.containers[0].image: Invalid value: "b ": must not have leading or trailing whitespace',
    ],
    [
      'pull policy',
      samples.podSample,
      container({ imagePullPolicy: 'Often' }),
      'spec.containers[0].imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"',
    ],
    [
      'message policy',
      samples.podSample,
      container({ terminationMessagePolicy: 'x' }),
      'spec.containers[0].terminationMessagePolicy: Unsupported value: "x": supported values: "FallbackToLogsOnError", "File"',
    ],
    [
      'container port 0',
      samples.podSample,
      container({ ports: [{ containerPort: 0 }] }),
      'spec.containers[0].ports[0].containerPort: Required value',
    ],
    [
      'container port too big',
      samples.podSample,
      container({ ports: [{ containerPort: 65536 }] }),
      'spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive',
    ],
    [
      'host port',
      samples.podSample,
      container({ ports: [{ containerPort: 1, hostPort: -1 }] }),
      'spec.containers[0].ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive',
    ],
    [
      'port protocol',
      samples.podSample,
      container({ ports: [{ containerPort: 1, protocol: 'ICMP' }] }),
      'spec.containers[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
    ],
    [
      'port name',
      samples.podSample,
      container({ ports: [{ containerPort: 1, name: '123' }] }),
      'spec.containers[0].ports[0].name: Invalid value: "123": must contain at least one letter (a-z)',
    ],
    [
      'port name too long',
      samples.podSample,
      container({ ports: [{ containerPort: 1, name: 'abcdefghijklmnop' }] }),
      'spec.containers[0].ports[0].name: Invalid value: "abcdefghijklmnop": must be no more than 15 characters',
    ],
    [
      'port name twice',
      samples.podSample,
      container({
        ports: [
          { containerPort: 1, name: 'x' },
          { containerPort: 2, name: 'x' },
        ],
      }),
      'spec.containers[0].ports[1].name: Duplicate value: "x"',
    ],
    [
      'env without name',
      samples.podSample,
      container({ env: [{ value: '1' }] }),
      'spec.containers[0].env[0].name: Required value',
    ],
    [
      'env value and source',
      samples.podSample,
      container({ env: [{ name: 'A', value: '1', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }),
      'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
    ],
    [
      'env without source',
      samples.podSample,
      container({ env: [{ name: 'A', valueFrom: {} }] }),
      /must specify one of: `fieldRef`/,
    ],
    [
      'env with two sources',
      samples.podSample,
      container({
        env: [
          { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' }, configMapKeyRef: { name: 's', key: 'k' } } },
        ],
      }),
      /may not have more than one field specified at a time/,
    ],
    [
      'env key missing',
      samples.podSample,
      container({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's' } } }] }),
      'spec.containers[0].env[0].valueFrom.secretKeyRef.key: Required value',
    ],
    [
      'mount of no volume',
      samples.podSample,
      container({ volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ],
    [
      'mount path twice',
      samples.podSample,
      {
        spec: {
          volumes: [{ name: 'v' }],
          containers: [
            {
              name: 'a',
              image: 'b',
              volumeMounts: [
                { name: 'v', mountPath: '/v' },
                { name: 'v', mountPath: '/v' },
              ],
            },
          ],
        },
      },
      'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/v": must be unique',
    ],
    [
      'probe without handler',
      samples.podSample,
      container({ livenessProbe: {} }),
      'spec.containers[0].livenessProbe: Required value: must specify a handler type',
    ],
    [
      'probe with two handlers',
      samples.podSample,
      container({ livenessProbe: { exec: { command: ['x'] }, tcpSocket: { port: 1 } } }),
      'spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type',
    ],
    [
      'liveness threshold',
      samples.podSample,
      container({ livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } }),
      'spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1',
    ],
    [
      'negative probe period',
      samples.podSample,
      container({ readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: -1 } }),
      'spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'probe port',
      samples.podSample,
      container({ livenessProbe: { httpGet: { port: 0 } } }),
      'spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive',
    ],
    [
      'request over limit',
      samples.podSample,
      container({ resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } }),
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
    [
      'negative resource',
      samples.podSample,
      container({ resources: { requests: { cpu: '-1' } } }),
      'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ],
    [
      'volume without name',
      samples.podSample,
      { spec: { volumes: [{ emptyDir: {} }] } },
      'spec.volumes[0].name: Required value',
    ],
    [
      'volume twice',
      samples.podSample,
      { spec: { volumes: [{ name: 'v' }, { name: 'v' }] } },
      'spec.volumes[1].name: Duplicate value: "v"',
    ],
    [
      'volume with two sources',
      samples.podSample,
      { spec: { volumes: [{ name: 'v', emptyDir: {}, secret: { secretName: 's' } }] } },
      /spec[.]volumes\[0\][.](secret|emptyDir): Forbidden: may not specify more than 1 volume type/,
    ],
    [
      'secret volume without secret',
      samples.podSample,
      { spec: { volumes: [{ name: 'v', secret: {} }] } },
      'spec.volumes[0].secret.secretName: Required value',
    ],
    [
      'claim volume without claim',
      samples.podSample,
      { spec: { volumes: [{ name: 'v', persistentVolumeClaim: {} }] } },
      'spec.volumes[0].persistentVolumeClaim.claimName: Required value',
    ],
    [
      'restart policy',
      samples.podSample,
      { spec: { restartPolicy: 'Sometimes' } },
      'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      'dns policy',
      samples.podSample,
      { spec: { dnsPolicy: 'x' } },
      'spec.dnsPolicy: Unsupported value: "x": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ],
    [
      'negative grace',
      samples.podSample,
      { spec: { terminationGracePeriodSeconds: -1 } },
      'spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'deadline 0',
      samples.podSample,
      { spec: { activeDeadlineSeconds: 0 } },
      'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive',
    ],
    [
      'node selector value',
      samples.podSample,
      { spec: { nodeSelector: { a: 'b c' } } },
      /spec[.]nodeSelector: Invalid value: "b c": a valid label must be an empty string/,
    ],
    [
      'toleration without key',
      samples.podSample,
      { spec: { tolerations: [{ value: 'x' }] } },
      /operator must be Exists when `key` is empty/,
    ],
    [
      'toleration effect',
      samples.podSample,
      { spec: { tolerations: [{ key: 'a', effect: 'No' }] } },
      'spec.tolerations[0].effect: Unsupported value: "No": supported values: "NoExecute", "NoSchedule", "PreferNoSchedule"',
    ],
    [
      'spread skew',
      samples.podSample,
      { spec: { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: 'k', whenUnsatisfiable: 'DoNotSchedule' }] } },
      'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
    ],
    [
      'affinity without topology',
      samples.podSample,
      { spec: { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{}] } } } },
      /topologyKey: Required value: can not be empty/,
    ],

    [
      'deployment labels',
      samples.deploymentSample,
      { spec: { template: { metadata: { labels: { app: 'z' } } } } },
      'spec.template.metadata.labels: Invalid value: {"app":"z"}: `selector` does not match template `labels`',
    ],
    [
      'deployment without selector',
      samples.deploymentSample,
      { spec: { selector: null } },
      /^spec.selector: Required value/,
    ],
    [
      'deployment with empty selector',
      samples.deploymentSample,
      { spec: { selector: { matchLabels: null } } },
      'spec.selector: Invalid value: {}: empty selector is invalid for deployment',
    ],
    [
      'negative replicas',
      samples.deploymentSample,
      { spec: { replicas: -1 } },
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'template label',
      samples.deploymentSample,
      { spec: { template: { metadata: { labels: { 'a b': 'x' } } } } },
      /spec[.]template[.]metadata[.]labels: Invalid value: "a b": name part must consist of/,
    ],
    [
      'template annotations too long',
      samples.deploymentSample,
      { spec: { template: { metadata: { annotations: { a: 'x'.repeat(262144) } } } } },
      'spec.template.metadata.annotations: Too long: may not be more than 262144 bytes',
    ],
    [
      'deployment that never restarts',
      samples.deploymentSample,
      templated({ restartPolicy: 'Never' }),
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ],
    [
      'strategy type',
      samples.deploymentSample,
      { spec: { strategy: { type: 'Blue' } } },
      'spec.strategy: Unsupported value: {"Type":"Blue","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
    ],
    [
      'rolling update with Recreate',
      samples.deploymentSample,
      { spec: { strategy: { type: 'Recreate', rollingUpdate: {} } } },
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
    [
      'no surge and no unavailable',
      samples.deploymentSample,
      { spec: { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } } },
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0',
    ],
    [
      'surge that is no percentage',
      samples.deploymentSample,
      { spec: { strategy: { rollingUpdate: { maxSurge: 'lots' } } } },
      /maxSurge: Invalid value: "lots": a valid percent string must be/,
    ],
    [
      'deadline within minReadySeconds',
      samples.deploymentSample,
      { spec: { minReadySeconds: 10, progressDeadlineSeconds: 10 } },
      'spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds',
    ],
    [
      'selector expression',
      samples.deploymentSample,
      { spec: { selector: { matchExpressions: [{ key: 'app', operator: 'In' }] } } },
      /spec[.]selector[.]matchExpressions\[0\][.]values: Required value: must be specified when `operator` is 'In' or 'NotIn'|does not match/,
    ],
    [
      'selector operator',
      samples.statefulSetSample,
      { spec: { selector: { matchExpressions: [{ key: 'zz', operator: 'Is' }] } } },
      'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    ],
    [
      'statefulset policy',
      samples.statefulSetSample,
      { spec: { podManagementPolicy: 'x' } },
      "spec.podManagementPolicy: Invalid value: \"x\": must be 'OrderedReady' or 'Parallel'",
    ],
    [
      'statefulset with empty selector',
      samples.statefulSetSample,
      { spec: { selector: { matchLabels: null } } },
      'spec.selector: Invalid value: {}: empty selector is invalid for statefulset',
    ],
    [
      'daemonset labels',
      samples.daemonSetSample,
      { spec: { template: { metadata: { labels: null } } } },
      'spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`',
    ],
    [
      'job that always restarts',
      samples.jobSample,
      templated({ restartPolicy: 'Always' }),
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'job parallelism',
      samples.jobSample,
      { spec: { parallelism: -1 } },
      'spec.parallelism: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'job completion mode',
      samples.jobSample,
      { spec: { completionMode: 'x' } },
      'spec.completionMode: Unsupported value: "x": supported values: "Indexed", "NonIndexed"',
    ],
    ['cron without schedule', samples.cronJobSample, { spec: { schedule: '' } }, 'spec.schedule: Required value'],
    [
      'cron fields',
      samples.cronJobSample,
      { spec: { schedule: '* *' } },
      'spec.schedule: Invalid value: "* *": expected exactly 5 fields, found 2: [* *]',
    ],
    [
      'cron range',
      samples.cronJobSample,
      { spec: { schedule: '61 * * * *' } },
      'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61',
    ],
    [
      'cron word',
      samples.cronJobSample,
      { spec: { schedule: '@never' } },
      'spec.schedule: Invalid value: "@never": unrecognized descriptor: @never',
    ],
    [
      'cron policy',
      samples.cronJobSample,
      { spec: { concurrencyPolicy: 'x' } },
      'spec.concurrencyPolicy: Unsupported value: "x": supported values: "Allow", "Forbid", "Replace"',
    ],
    [
      'cron name',
      samples.cronJobSample,
      { metadata: { name: 'a'.repeat(53) } },
      /metadata[.]name: Invalid value: .*: must be no more than 52 characters/,
    ],

    ['service without ports', samples.serviceSample, { spec: { ports: null } }, 'spec.ports: Required value'],
    [
      'service port',
      samples.serviceSample,
      { spec: { ports: [{ port: 0, targetPort: 80 }] } },
      'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
    ],
    [
      'nameless ports',
      samples.serviceSample,
      { spec: { ports: [{ port: 1, name: 'a' }, { port: 2 }] } },
      'spec.ports[1].name: Required value',
    ],
    [
      'service port twice',
      samples.serviceSample,
      {
        spec: {
          ports: [
            { port: 1, name: 'a' },
            { port: 1, name: 'b' },
          ],
        },
      },
      'spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}',
    ],
    [
      'service port name twice',
      samples.serviceSample,
      {
        spec: {
          ports: [
            { port: 1, name: 'a' },
            { port: 2, name: 'a' },
          ],
        },
      },
      'spec.ports[1].name: Duplicate value: "a"',
    ],
    [
      'service type',
      samples.serviceSample,
      { spec: { type: 'Best' } },
      'spec.type: Unsupported value: "Best": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
    [
      'service affinity',
      samples.serviceSample,
      { spec: { sessionAffinity: 'x' } },
      'spec.sessionAffinity: Unsupported value: "x": supported values: "ClientIP", "None"',
    ],
    [
      'external name missing',
      samples.serviceSample,
      { spec: { type: 'ExternalName' } },
      'spec.externalName: Required value',
    ],
    [
      'headless node port',
      samples.serviceSample,
      { spec: { type: 'NodePort', clusterIP: 'None' } },
      'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services',
    ],
    [
      'service target port',
      samples.serviceSample,
      { spec: { ports: [{ port: 1, targetPort: 'A!' }] } },
      /spec[.]ports\[0\][.]targetPort: Invalid value: "A!": must contain/,
    ],
    [
      'config key',
      samples.configMapSample,
      { data: { 'a/b': 'x' } },
      /data\[a\/b\]: Invalid value: "a\/b": a valid config key must consist of/,
    ],
    [
      'config key twice',
      samples.configMapSample,
      { binaryData: { a: 'MQ==' } },
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    ],
    [
      'config too big',
      samples.configMapSample,
      { data: { b: 'x'.repeat(1024 * 1024) } },
      ': Too long: may not be more than 1048576 bytes',
    ],
    [
      'secret key',
      samples.secretSample,
      { data: { '..a': 'MQ==' } },
      'data[..a]: Invalid value: "..a": may not start with \'..\'',
    ],
    [
      'secret too big',
      samples.secretSample,
      { data: { b: Buffer.alloc(1024 * 1024).toString('base64') } },
      'data: Too long: may not be more than 1048576 bytes',
    ],
    [
      'tls secret',
      samples.secretSample,
      { type: 'kubernetes.io/tls', data: { 'tls.crt': 'MQ==' } },
      'data[tls.key]: Required value',
    ],
    [
      'docker secret',
      samples.secretSample,
      { type: 'kubernetes.io/dockerconfigjson' },
      'data[.dockerconfigjson]: Required value',
    ],
    [
      'docker secret that is no JSON',
      samples.secretSample,
      { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'eA==' } },
      /data\[.dockerconfigjson\]: Invalid value: "<secret contents redacted>"/,
    ],
    [
      'token secret',
      samples.secretSample,
      { type: 'kubernetes.io/service-account-token' },
      'metadata.annotations[kubernetes.io/service-account.name]: Required value',
    ],
    [
      'claim without modes',
      samples.claimSample,
      { spec: { accessModes: null } },
      'spec.accessModes: Required value: at least 1 access mode is required',
    ],
    [
      'claim mode',
      samples.claimSample,
      { spec: { accessModes: ['All'] } },
      'spec.accessModes[0]: Unsupported value: "All": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    ],
    [
      'claim without size',
      samples.claimSample,
      { spec: { resources: null } },
      'spec.resources[storage]: Required value',
    ],
    [
      'claim of nothing',
      samples.claimSample,
      { spec: { resources: { requests: { storage: '0' } } } },
      'spec.resources[storage]: Invalid value: "0": must be greater than zero',
    ],
    [
      'volume without source',
      samples.volumeSample,
      { spec: { hostPath: null } },
      'spec: Required value: must specify a volume type',
    ],
    ['volume without capacity', samples.volumeSample, { spec: { capacity: null } }, 'spec.capacity: Required value'],

    [
      'ingress without rules',
      samples.ingressSample,
      { spec: { rules: null } },
      'spec: Invalid value: null: either `defaultBackend` or `rules` must be specified',
    ],
    [
      'ingress path type',
      samples.ingressSample,
      {
        spec: {
          rules: [{ http: { paths: [{ path: '/', backend: { service: { name: 's', port: { number: 1 } } } }] } }],
        },
      },
      'spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified',
    ],
    [
      'ingress relative path',
      samples.ingressSample,
      {
        spec: {
          rules: [
            {
              http: {
                paths: [{ path: 'a', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 1 } } } }],
              },
            },
          ],
        },
      },
      'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
    ],
    [
      'ingress backend port',
      samples.ingressSample,
      {
        spec: { rules: [{ http: { paths: [{ path: '/', pathType: 'Exact', backend: { service: { name: 's' } } }] } }] },
      },
      'spec.rules[0].http.paths[0].backend: Required value: port name or number is required',
    ],
    [
      'ingress without backend',
      samples.ingressSample,
      { spec: { rules: [{ http: { paths: [{ path: '/', pathType: 'Exact', backend: {} }] } }] } },
      'spec.rules[0].http.paths[0].backend: Required value: resource or service backend is required',
    ],
    [
      'ingress host',
      samples.ingressSample,
      { spec: { rules: [{ host: 'A_b' }] } },
      /spec[.]rules\[0\][.]host: Invalid value: "A_b": a lowercase RFC 1123 subdomain/,
    ],
    [
      'policy peer',
      samples.networkPolicySample,
      { spec: { ingress: [{ from: [{}] }] } },
      'spec.ingress[0].from[0]: Required value: must specify a peer',
    ],
    [
      'policy type',
      samples.networkPolicySample,
      { spec: { policyTypes: ['x'] } },
      'spec.policyTypes[0]: Unsupported value: "x": supported values: "Ingress", "Egress"',
    ],
    [
      'policy port range',
      samples.networkPolicySample,
      { spec: { ingress: [{ ports: [{ port: 5, endPort: 4 }] }] } },
      'spec.ingress[0].ports[0].endPort: Invalid value: 4: must be greater than or equal to `port`',
    ],
    [
      'policy cidr',
      samples.networkPolicySample,
      { spec: { ingress: [{ from: [{ ipBlock: { cidr: 'x' } }] }] } },
      /must be a valid CIDR value/,
    ],
    [
      'role without verbs',
      samples.roleSample,
      { rules: [{ apiGroups: [''], resources: ['pods'] }] },
      'rules[0].verbs: Required value: verbs must contain at least one value',
    ],
    [
      'role without group',
      samples.roleSample,
      { rules: [{ verbs: ['get'], resources: ['pods'] }] },
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
    ],
    [
      'role with url',
      samples.roleSample,
      { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ],
    [
      'binding kind',
      samples.roleBindingSample,
      { roleRef: { kind: 'User' } },
      'roleRef.kind: Unsupported value: "User": supported values: "Role", "ClusterRole"',
    ],
    ['binding without name', samples.roleBindingSample, { roleRef: { name: '' } }, 'roleRef.name: Required value'],
    [
      'subject without namespace',
      {
        ...samples.roleBindingSample,
        kind: 'ClusterRoleBinding',
        roleRef: { ...(samples.roleBindingSample['roleRef'] as object), kind: 'ClusterRole' },
      },
      { subjects: [{ kind: 'ServiceAccount', name: 'a' }] },
      'subjects[0].namespace: Required value',
    ],
    [
      'subject kind',
      samples.roleBindingSample,
      { subjects: [{ kind: 'Robot', name: 'a' }] },
      'subjects[0].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"',
    ],
    [
      'autoscaler bounds',
      samples.autoscalerSample,
      { spec: { minReplicas: 5 } },
      'spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`',
    ],
    [
      'autoscaler maximum',
      samples.autoscalerSample,
      { spec: { maxReplicas: 0, minReplicas: 0 } },
      /must be greater than/,
    ],
    [
      'autoscaler target',
      samples.autoscalerSample,
      { spec: { scaleTargetRef: { name: '' } } },
      'spec.scaleTargetRef.name: Required value',
    ],
    [
      'budget with both',
      object('policy/v1', 'PodDisruptionBudget', { spec: { minAvailable: 1, maxUnavailable: 1 } }),
      {},
      /minAvailable and maxUnavailable cannot be both set/,
    ],
    ['storage class', object('storage.k8s.io/v1', 'StorageClass', {}), {}, 'provisioner: Required value'],
    [
      'priority too high',
      object('scheduling.k8s.io/v1', 'PriorityClass', { value: 2_000_000_000 }),
      {},
      'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
    ],
    [
      'lease duration',
      object('coordination.k8s.io/v1', 'Lease', { spec: { leaseDurationSeconds: 0 } }),
      {},
      'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
    ],
    [
      'slice without type',
      object('discovery.k8s.io/v1', 'EndpointSlice', { endpoints: [] }),
      {},
      'addressType: Required value',
    ],
    [
      'controller without selector',
      object('v1', 'ReplicationController', {
        spec: { template: { spec: { containers: [{ name: 'a', image: 'b' }] } } },
      }),
      {},
      'spec.selector: Required value',
    ],
  ])('%s', (_what, base, change, problem) => {
    const found = problems(withChange(base, change));
    if (typeof problem === 'string') expect(found).toEqual([problem]);
    else expect(found).toContainEqual(expect.stringMatching(problem));
  });
});

describe('an invalid update is rejected', () => {
  const immutableService = withChange(samples.serviceSample, { spec: { clusterIP: '10.0.0.1' } });
  it.each<[string, KubeObject, Json, string]>([
    [
      'ranges of a node',
      object('v1', 'Node', { spec: { podCIDRs: ['10.1.0.0/24'] } }),
      { spec: { podCIDRs: ['10.2.0.0/24'] } },
      'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    ],
    [
      'deployment selector',
      samples.deploymentSample,
      { spec: { selector: { matchLabels: { b: 'c' } }, template: { metadata: { labels: { b: 'c' } } } } },
      'spec.selector: Invalid value: {"matchLabels":{"app":"a","b":"c"}}: field is immutable',
    ],
    [
      'daemonset selector',
      samples.daemonSetSample,
      { spec: { selector: { matchLabels: { b: 'c' } }, template: { metadata: { labels: { b: 'c' } } } } },
      'spec.selector: Invalid value: {"matchLabels":{"app":"a","b":"c"}}: field is immutable',
    ],
    [
      'statefulset service',
      samples.statefulSetSample,
      { spec: { serviceName: 'other' } },
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ],
    [
      'job completions',
      samples.jobSample,
      { spec: { completions: 5 } },
      'spec.completions: Invalid value: 5: field is immutable',
    ],
    [
      'cluster address',
      immutableService,
      { spec: { clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] } },
      'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
    ],
    ['secret type', samples.secretSample, { type: 'other' }, 'type: Invalid value: "other": field is immutable'],
    [
      'frozen secret',
      withChange(samples.secretSample, { immutable: true }),
      { data: { b: 'MQ==' } },
      'data: Forbidden: field is immutable when `immutable` is set',
    ],
    [
      'thawing a secret',
      withChange(samples.secretSample, { immutable: true }),
      { immutable: false },
      'immutable: Forbidden: field is immutable when `immutable` is set',
    ],
    [
      'frozen config',
      withChange(samples.configMapSample, { immutable: true }),
      { data: { a: '2' } },
      'data: Forbidden: field is immutable when `immutable` is set',
    ],
    [
      'claim mode',
      samples.claimSample,
      { spec: { volumeMode: 'Block' } },
      'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
    ],
    [
      'claim that shrinks',
      samples.claimSample,
      { spec: { resources: { requests: { storage: '1Mi' } } } },
      'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
    ],
    [
      'volume source',
      samples.volumeSample,
      { spec: { hostPath: { path: '/other' } } },
      'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
    ],
    [
      'role reference',
      samples.roleBindingSample,
      { roleRef: { name: 'other' } },
      'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: cannot change roleRef',
    ],
    [
      'storage class parameters',
      object('storage.k8s.io/v1', 'StorageClass', { provisioner: 'p' }),
      { parameters: { a: 'b' } },
      'parameters: Forbidden: updates to parameters are forbidden.',
    ],
    [
      'priority',
      object('scheduling.k8s.io/v1', 'PriorityClass', { value: 1 }),
      { value: 2 },
      'value: Forbidden: may not be changed in an update.',
    ],
    [
      'more containers in a pod',
      samples.podSample,
      {
        spec: {
          containers: [
            { name: 'a', image: 'b' },
            { name: 'c', image: 'd' },
          ],
        },
      },
      'spec.containers: Forbidden: pod updates may not add or remove containers',
    ],
  ])('%s', (_what, old, change, problem) => {
    expect(problems(withChange(old, change), old)).toEqual([problem]);
  });

  it('only images and a few other fields of a pod may change', () => {
    expect(problems(withChange(samples.podSample, { spec: { nodeSelector: { a: 'b' } } }), samples.podSample)).toEqual([
      expect.stringMatching(/^spec: Forbidden: pod updates may not change fields other than/),
    ]);
  });

  it.each<[string, KubeObject, Json]>([
    [
      'a pod image',
      samples.podSample,
      { spec: { containers: [{ name: 'a', image: 'other', imagePullPolicy: 'IfNotPresent' }] } },
    ],
    ['the binding of a pod', samples.podSample, { spec: { nodeName: 'n' } }],
    ['another toleration', samples.podSample, { spec: { tolerations: [{ key: 'a', operator: 'Exists' }] } }],
    ['statefulset replicas', samples.statefulSetSample, { spec: { replicas: 3 } }],
    ['statefulset template', samples.statefulSetSample, templated({ terminationGracePeriodSeconds: 1 })],
    ['job parallelism', samples.jobSample, { spec: { parallelism: 2, completions: 1 } }],
    ['a bound claim', samples.claimSample, { spec: { volumeName: 'v', storageClassName: 'c' } }],
    ['a claim that grows', samples.claimSample, { spec: { resources: { requests: { storage: '2Gi' } } } }],
    ['an unfrozen secret', samples.secretSample, { data: { b: 'MQ==' }, immutable: true }],
    [
      'a service that becomes an external name',
      withChange(samples.serviceSample, { spec: { clusterIP: '10.0.0.1' } }),
      { spec: { type: 'ExternalName', externalName: 'a.b', clusterIP: '' } },
    ],
  ])('rejects other changes: %s', (_what, old, change) => {
    expect(problems(withChange(old, change), old)).toEqual([]);
  });
});

describe('invalid custom resources are rejected', () => {
  it.each<[string, Json, string]>([
    [
      'wrong type',
      { spec: { size: 'x' } },
      'FieldValueTypeInvalid spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
    ],
    [
      'null',
      { spec: { labels: [] } },
      'FieldValueTypeInvalid spec.labels: Invalid value: "array": spec.labels in body must be of type object: "array"',
    ],
    [
      'wrong type deep down',
      { spec: { parts: [{ name: 1 }] } },
      'FieldValueTypeInvalid spec.parts[0].name: Invalid value: "integer": spec.parts[0].name in body must be of type string: "integer"',
    ],
    [
      'wrong type of a map value',
      { spec: { labels: { a: 1 } } },
      'FieldValueTypeInvalid spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type string: "integer"',
    ],
    [
      'int or string',
      { spec: { port: true } },
      'FieldValueTypeInvalid spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
    ],
    ['missing member', { spec: { size: null } }, 'FieldValueRequired spec.size: Required value'],
    ['missing spec', { spec: null }, 'FieldValueRequired spec: Required value'],
    [
      'enum',
      { spec: { mode: 'C' } },
      'FieldValueNotSupported spec.mode: Unsupported value: "C": supported values: "A", "B"',
    ],
    [
      'minimum',
      { spec: { size: 0 } },
      'FieldValueInvalid spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1',
    ],
    [
      'maximum',
      { spec: { size: 6 } },
      'FieldValueInvalid spec.size: Invalid value: 6: spec.size in body should be less than or equal to 5',
    ],
    [
      'pattern',
      { spec: { name: 'A1' } },
      `FieldValueInvalid spec.name: Invalid value: "A1": spec.name in body should match '^[a-z]+$'`,
    ],
    [
      'too short',
      { spec: { name: 'a' } },
      'FieldValueInvalid spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long',
    ],
    ['too long', { spec: { name: 'abcde' } }, 'FieldValueTooLong spec.name: Too long: may not be more than 4 bytes'],
    [
      'too many',
      { spec: { tags: ['a', 'b', 'c'] } },
      'FieldValueTooMany spec.tags: Too many: 3: must have at most 2 items',
    ],
    ['item of a set twice', { spec: { tags: ['a', 'a'] } }, 'FieldValueDuplicate spec.tags[1]: Duplicate value: "a"'],
    [
      'key of a list map twice',
      { spec: { parts: [{ name: 'a' }, { name: 'a' }] } },
      'FieldValueDuplicate spec.parts[1]: Duplicate value: {"name":"a"}',
    ],
    [
      'format',
      { spec: { when: 'soon' } },
      'FieldValueTypeInvalid spec.when: Invalid value: "soon": spec.when in body must be of type date-time: "soon"',
    ],
  ])('%s', (_what, change, problem) => {
    const found = book.validate(widgetKind, withChange(widgetSample, change), undefined);
    expect(found.map(({ type, field, message }) => `${type} ${field}: ${message}`)).toEqual([problem]);
  });

  it.each<[string, Json, string | undefined]>([
    [
      'anyOf none',
      { anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      '"spec" must validate at least one schema (anyOf)',
    ],
    ['anyOf one', { anyOf: [{ required: ['a'] }, { required: ['size'] }] }, undefined],
    [
      'oneOf none',
      { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
      '"spec" must validate one and only one schema (oneOf). Found none valid',
    ],
    [
      'oneOf two',
      { oneOf: [{ required: ['size'] }, { required: ['size'] }] },
      '"spec" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
    ['oneOf one', { oneOf: [{ required: ['size'] }, { required: ['a'] }] }, undefined],
    ['not', { not: { required: ['size'] } }, '"spec" must not validate the schema (not)'],
    ['allOf', { allOf: [{ required: ['size'] }] }, undefined],
  ])('%s', (_what, rule, problem) => {
    const schema = { type: 'object' as const, properties: { spec: { type: 'object' as const, ...(rule as object) } } };
    const found = book.validate({ ...widgetKind, schema }, widgetSample, undefined).map(({ message }) => message);
    expect(found).toEqual(problem === undefined ? [] : [`Invalid value: "": ${problem}`]);
  });

  it('accept null if nullable, and anything without a schema', () => {
    const object = { ...widgetSample, spec: { size: 1, maybe: null, open: { x: [null] } } } as unknown as KubeObject;
    expect(book.validate(widgetKind, object, undefined)).toEqual([]);
    const loose = Object.fromEntries(Object.entries(widgetKind).filter(([key]) => key !== 'schema'));
    expect(
      book.validate(loose as unknown as typeof widgetKind, withChange(widgetSample, { spec: { size: {} } }), undefined),
    ).toEqual([]);
  });
});
