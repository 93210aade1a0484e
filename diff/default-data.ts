/* eslint-disable max-lines -- a table */
import type { Json } from '#base';

/**
 * What the API server fills into an otherwise empty struct of each type, found by asking the code of Kubernetes 1.36.3. Written by
 * scripts/generate-schema-data.mjs, not edited by hand. What depends on other fields, or on where the struct stands, is in default-rules.ts:
 * of HPAScalingRules, JobSpec, PersistentVolumeSpec, PodSpec here is what holds in all places.
 */
export const defaultData: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  AzureDiskVolumeSource: {
    cachingMode: 'ReadWrite',
    fsType: 'ext4',
    kind: 'Shared',
    readOnly: false,
  },
  CSIDriverSpec: {
    attachRequired: true,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    podInfoOnMount: false,
    requiresRepublish: false,
    seLinuxMount: false,
    storageCapacity: false,
    volumeLifecycleModes: ['Persistent'],
  },
  ConfigMapVolumeSource: {
    defaultMode: 420,
  },
  Container: {
    imagePullPolicy: 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  },
  ContainerPort: {
    protocol: 'TCP',
  },
  CronJobSpec: {
    concurrencyPolicy: 'Allow',
    failedJobsHistoryLimit: 1,
    successfulJobsHistoryLimit: 3,
    suspend: false,
  },
  CustomResourceDefinitionSpec: {
    conversion: {
      strategy: 'None',
    },
  },
  DaemonSetSpec: {
    revisionHistoryLimit: 10,
    updateStrategy: {
      rollingUpdate: {
        maxSurge: 0,
        maxUnavailable: 1,
      },
      type: 'RollingUpdate',
    },
  },
  DaemonSetUpdateStrategy: {
    rollingUpdate: {
      maxSurge: 0,
      maxUnavailable: 1,
    },
    type: 'RollingUpdate',
  },
  DeploymentSpec: {
    progressDeadlineSeconds: 600,
    replicas: 1,
    revisionHistoryLimit: 10,
    strategy: {
      rollingUpdate: {
        maxSurge: '25%',
        maxUnavailable: '25%',
      },
      type: 'RollingUpdate',
    },
  },
  DeploymentStrategy: {
    rollingUpdate: {
      maxSurge: '25%',
      maxUnavailable: '25%',
    },
    type: 'RollingUpdate',
  },
  DeviceSubRequest: {
    allocationMode: 'ExactCount',
    count: 1,
  },
  DeviceToleration: {
    operator: 'Equal',
  },
  DownwardAPIVolumeSource: {
    defaultMode: 420,
  },
  EndpointPort: {
    protocol: 'TCP',
  },
  EphemeralContainer: {
    imagePullPolicy: 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  },
  ExactDeviceRequest: {
    allocationMode: 'ExactCount',
    count: 1,
  },
  ExemptPriorityLevelConfiguration: {
    lendablePercent: 0,
    nominalConcurrencyShares: 0,
  },
  FileKeySelector: {
    optional: false,
  },
  FlowSchemaSpec: {
    matchingPrecedence: 1000,
  },
  GRPCAction: {
    service: '',
  },
  HPAScalingRules: {
    selectPolicy: 'Max',
  },
  HTTPGetAction: {
    path: '/',
    scheme: 'HTTP',
  },
  HorizontalPodAutoscalerBehavior: {
    scaleDown: {
      policies: [
        {
          periodSeconds: 15,
          type: 'Percent',
          value: 100,
        },
      ],
      selectPolicy: 'Max',
    },
    scaleUp: {
      policies: [
        {
          periodSeconds: 15,
          type: 'Pods',
          value: 4,
        },
        {
          periodSeconds: 15,
          type: 'Percent',
          value: 100,
        },
      ],
      selectPolicy: 'Max',
      stabilizationWindowSeconds: 0,
    },
  },
  HorizontalPodAutoscalerSpec: {
    minReplicas: 1,
  },
  HostPathVolumeSource: {
    type: '',
  },
  ISCSIPersistentVolumeSource: {
    iscsiInterface: 'default',
  },
  ISCSIVolumeSource: {
    iscsiInterface: 'default',
  },
  ImageVolumeSource: {
    pullPolicy: 'IfNotPresent',
  },
  IngressClassParametersReference: {
    scope: 'Cluster',
  },
  LimitedPriorityLevelConfiguration: {
    lendablePercent: 0,
    nominalConcurrencyShares: 30,
  },
  MatchResources: {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
  },
  MutatingAdmissionPolicySpec: {
    failurePolicy: 'Fail',
  },
  MutatingWebhook: {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    reinvocationPolicy: 'Never',
    timeoutSeconds: 10,
  },
  NamedRuleWithOperations: {
    scope: '*',
  },
  NetworkPolicyPort: {
    protocol: 'TCP',
  },
  NetworkPolicySpec: {
    policyTypes: ['Ingress'],
  },
  NodeAllocatableResourceMapping: {
    allocationMultiplier: '1',
  },
  ObjectFieldSelector: {
    apiVersion: 'v1',
  },
  PersistentVolumeClaimSpec: {
    volumeMode: 'Filesystem',
  },
  PersistentVolumeClaimStatus: {
    phase: 'Pending',
  },
  PodCertificateRequestSpec: {
    maxExpirationSeconds: 86400,
  },
  PodFailurePolicyOnPodConditionsPattern: {
    status: 'True',
  },
  PodGroupSpec: {
    disruptionMode: 'Pod',
  },
  PodSpec: {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  },
  PriorityClass: {
    preemptionPolicy: 'PreemptLowerPriority',
  },
  Probe: {
    failureThreshold: 3,
    periodSeconds: 10,
    successThreshold: 1,
    timeoutSeconds: 1,
  },
  ProjectedVolumeSource: {
    defaultMode: 420,
  },
  QueuingConfiguration: {
    handSize: 8,
    queueLengthLimit: 50,
    queues: 64,
  },
  RBDPersistentVolumeSource: {
    keyring: '/etc/ceph/keyring',
    pool: 'rbd',
    user: 'admin',
  },
  RBDVolumeSource: {
    keyring: '/etc/ceph/keyring',
    pool: 'rbd',
    user: 'admin',
  },
  ReplicaSetSpec: {
    replicas: 1,
  },
  ReplicationControllerSpec: {
    replicas: 1,
  },
  ResourcePoolStatusRequestSpec: {
    limit: 100,
  },
  RoleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
  },
  RollingUpdateDaemonSet: {
    maxSurge: 0,
    maxUnavailable: 1,
  },
  RollingUpdateDeployment: {
    maxSurge: '25%',
    maxUnavailable: '25%',
  },
  RollingUpdateStatefulSetStrategy: {
    partition: 0,
  },
  RuleWithOperations: {
    scope: '*',
  },
  ScaleIOPersistentVolumeSource: {
    fsType: 'xfs',
    storageMode: 'ThinProvisioned',
  },
  ScaleIOVolumeSource: {
    fsType: 'xfs',
    storageMode: 'ThinProvisioned',
  },
  Secret: {
    type: 'Opaque',
  },
  SecretVolumeSource: {
    defaultMode: 420,
  },
  ServiceAccountTokenProjection: {
    expirationSeconds: 3600,
  },
  ServicePort: {
    protocol: 'TCP',
  },
  ServiceReference: {
    port: 443,
  },
  ServiceSpec: {
    internalTrafficPolicy: 'Cluster',
    sessionAffinity: 'None',
    type: 'ClusterIP',
  },
  StatefulSetPersistentVolumeClaimRetentionPolicy: {
    whenDeleted: 'Retain',
    whenScaled: 'Retain',
  },
  StatefulSetSpec: {
    persistentVolumeClaimRetentionPolicy: {
      whenDeleted: 'Retain',
      whenScaled: 'Retain',
    },
    podManagementPolicy: 'OrderedReady',
    replicas: 1,
    revisionHistoryLimit: 10,
    updateStrategy: {
      rollingUpdate: {
        partition: 0,
      },
      type: 'RollingUpdate',
    },
  },
  StatefulSetUpdateStrategy: {
    rollingUpdate: {
      partition: 0,
    },
    type: 'RollingUpdate',
  },
  StorageClass: {
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
  },
  ValidatingAdmissionPolicySpec: {
    failurePolicy: 'Fail',
  },
  ValidatingWebhook: {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  },
  Volume: {
    emptyDir: {},
  },
  'admissionregistration.v1alpha1.MatchResources': {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
  },
  'admissionregistration.v1alpha1.MutatingAdmissionPolicySpec': {
    failurePolicy: 'Fail',
  },
  'admissionregistration.v1alpha1.NamedRuleWithOperations': {
    scope: '*',
  },
  'admissionregistration.v1alpha1.ParamRef': {
    parameterNotFoundAction: 'Deny',
  },
  'admissionregistration.v1alpha1.ValidatingAdmissionPolicySpec': {
    failurePolicy: 'Fail',
  },
  'admissionregistration.v1beta1.MatchResources': {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
  },
  'admissionregistration.v1beta1.MutatingAdmissionPolicySpec': {
    failurePolicy: 'Fail',
  },
  'admissionregistration.v1beta1.MutatingWebhook': {
    admissionReviewVersions: ['v1beta1'],
    failurePolicy: 'Ignore',
    matchPolicy: 'Exact',
    namespaceSelector: {},
    objectSelector: {},
    reinvocationPolicy: 'Never',
    sideEffects: 'Unknown',
    timeoutSeconds: 30,
  },
  'admissionregistration.v1beta1.NamedRuleWithOperations': {
    scope: '*',
  },
  'admissionregistration.v1beta1.ServiceReference': {
    port: 443,
  },
  'admissionregistration.v1beta1.ValidatingAdmissionPolicySpec': {
    failurePolicy: 'Fail',
  },
  'admissionregistration.v1beta1.ValidatingWebhook': {
    admissionReviewVersions: ['v1beta1'],
    failurePolicy: 'Ignore',
    matchPolicy: 'Exact',
    namespaceSelector: {},
    objectSelector: {},
    sideEffects: 'Unknown',
    timeoutSeconds: 30,
  },
  'apiextensions.v1.ServiceReference': {
    port: 443,
  },
  'apiregistration.v1.ServiceReference': {
    port: 443,
  },
  'autoscaling.v2.HorizontalPodAutoscalerSpec': {
    metrics: [
      {
        resource: {
          name: 'cpu',
          target: {
            averageUtilization: 80,
            type: 'Utilization',
          },
        },
        type: 'Resource',
      },
    ],
    minReplicas: 1,
  },
  'batch.v1beta1.CronJobSpec': {
    concurrencyPolicy: 'Allow',
    failedJobsHistoryLimit: 1,
    successfulJobsHistoryLimit: 3,
    suspend: false,
  },
  'discovery.v1.EndpointPort': {
    name: '',
    protocol: 'TCP',
  },
  'discovery.v1beta1.EndpointPort': {
    name: '',
    protocol: 'TCP',
  },
  'flowcontrol.v1beta1.ExemptPriorityLevelConfiguration': {
    lendablePercent: 0,
    nominalConcurrencyShares: 0,
  },
  'flowcontrol.v1beta1.FlowSchemaSpec': {
    matchingPrecedence: 1000,
  },
  'flowcontrol.v1beta1.LimitedPriorityLevelConfiguration': {
    assuredConcurrencyShares: 30,
    lendablePercent: 0,
  },
  'flowcontrol.v1beta1.QueuingConfiguration': {
    handSize: 8,
    queueLengthLimit: 50,
    queues: 64,
  },
  'flowcontrol.v1beta2.ExemptPriorityLevelConfiguration': {
    lendablePercent: 0,
    nominalConcurrencyShares: 0,
  },
  'flowcontrol.v1beta2.FlowSchemaSpec': {
    matchingPrecedence: 1000,
  },
  'flowcontrol.v1beta2.LimitedPriorityLevelConfiguration': {
    assuredConcurrencyShares: 30,
    lendablePercent: 0,
  },
  'flowcontrol.v1beta2.QueuingConfiguration': {
    handSize: 8,
    queueLengthLimit: 50,
    queues: 64,
  },
  'flowcontrol.v1beta3.ExemptPriorityLevelConfiguration': {
    lendablePercent: 0,
    nominalConcurrencyShares: 0,
  },
  'flowcontrol.v1beta3.FlowSchemaSpec': {
    matchingPrecedence: 1000,
  },
  'flowcontrol.v1beta3.LimitedPriorityLevelConfiguration': {
    lendablePercent: 0,
    nominalConcurrencyShares: 30,
  },
  'flowcontrol.v1beta3.QueuingConfiguration': {
    handSize: 8,
    queueLengthLimit: 50,
    queues: 64,
  },
  'networking.v1beta1.HTTPIngressPath': {
    pathType: 'ImplementationSpecific',
  },
  'rbac.v1beta1.RoleRef': {
    apiGroup: 'rbac.authorization.k8s.io',
  },
  'resource.v1beta1.DeviceSubRequest': {
    allocationMode: 'ExactCount',
    count: 1,
  },
  'resource.v1beta1.DeviceToleration': {
    operator: 'Equal',
  },
  'resource.v1beta1.NodeAllocatableResourceMapping': {
    allocationMultiplier: '1',
  },
  'resource.v1beta2.DeviceSubRequest': {
    allocationMode: 'ExactCount',
    count: 1,
  },
  'resource.v1beta2.DeviceToleration': {
    operator: 'Equal',
  },
  'resource.v1beta2.ExactDeviceRequest': {
    allocationMode: 'ExactCount',
    count: 1,
  },
  'resource.v1beta2.NodeAllocatableResourceMapping': {
    allocationMultiplier: '1',
  },
  'scheduling.v1beta1.PriorityClass': {
    preemptionPolicy: 'PreemptLowerPriority',
  },
  'storage.v1beta1.CSIDriverSpec': {
    attachRequired: true,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    podInfoOnMount: false,
    requiresRepublish: false,
    seLinuxMount: false,
    storageCapacity: false,
    volumeLifecycleModes: ['Persistent'],
  },
  'storage.v1beta1.StorageClass': {
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
  },
};
