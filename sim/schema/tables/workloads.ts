/* eslint-disable max-lines -- one table */
import type { PackageTable } from '../type-table.ts';

export const appsV1: PackageTable = {
  package: 'io.k8s.api.apps.v1',
  types: `
ControllerRevision
  apiVersion string
  kind string
  metadata ObjectMeta
  data raw
  revision! int64
DaemonSet
  apiVersion string
  kind string
  metadata ObjectMeta
  spec DaemonSetSpec
  status DaemonSetStatus
DaemonSetCondition
  type! DaemonSetConditionType()
  status! ConditionStatus()
  lastTransitionTime time
  reason string
  message string
DaemonSetSpec
  selector?! LabelSelector
  template! PodTemplateSpec
  updateStrategy DaemonSetUpdateStrategy
  minReadySeconds int32
  revisionHistoryLimit? int32
DaemonSetStatus
  currentNumberScheduled! int32
  numberMisscheduled! int32
  desiredNumberScheduled! int32
  numberReady! int32
  observedGeneration int64
  updatedNumberScheduled int32
  numberAvailable int32
  numberUnavailable int32
  collisionCount? int32
  conditions []DaemonSetCondition keys=type patch=merge:type
DaemonSetUpdateStrategy
  type DaemonSetUpdateStrategyType(OnDelete|RollingUpdate)
  rollingUpdate? RollingUpdateDaemonSet
Deployment
  apiVersion string
  kind string
  metadata ObjectMeta
  spec DeploymentSpec
  status DeploymentStatus
DeploymentCondition
  type! DeploymentConditionType()
  status! ConditionStatus()
  lastUpdateTime time
  lastTransitionTime time
  reason string
  message string
DeploymentSpec
  replicas? int32
  selector?! LabelSelector
  template! PodTemplateSpec
  strategy DeploymentStrategy patch=retainKeys
  minReadySeconds int32
  revisionHistoryLimit? int32
  paused bool
  progressDeadlineSeconds? int32
DeploymentStatus
  observedGeneration int64
  replicas int32
  updatedReplicas int32
  readyReplicas int32
  availableReplicas int32
  unavailableReplicas int32
  terminatingReplicas? int32
  conditions []DeploymentCondition keys=type patch=merge:type
  collisionCount? int32
DeploymentStrategy
  type DeploymentStrategyType(Recreate|RollingUpdate)
  rollingUpdate? RollingUpdateDeployment
ReplicaSet
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ReplicaSetSpec
  status ReplicaSetStatus
ReplicaSetCondition
  type! ReplicaSetConditionType()
  status! ConditionStatus()
  lastTransitionTime time
  reason string
  message string
ReplicaSetSpec
  replicas? int32
  minReadySeconds int32
  selector?! LabelSelector
  template PodTemplateSpec
ReplicaSetStatus
  replicas! int32
  fullyLabeledReplicas int32
  readyReplicas int32
  availableReplicas int32
  terminatingReplicas? int32
  observedGeneration int64
  conditions []ReplicaSetCondition keys=type patch=merge:type
RollingUpdateDaemonSet
  maxUnavailable? intstr
  maxSurge? intstr
RollingUpdateDeployment
  maxUnavailable? intstr
  maxSurge? intstr
RollingUpdateStatefulSetStrategy
  partition? int32
  maxUnavailable? intstr
StatefulSet
  apiVersion string
  kind string
  metadata ObjectMeta
  spec StatefulSetSpec
  status StatefulSetStatus
StatefulSetCondition
  type! StatefulSetConditionType()
  status! ConditionStatus()
  lastTransitionTime time
  reason string
  message string
StatefulSetOrdinals
  start~ int32
StatefulSetPersistentVolumeClaimRetentionPolicy
  whenDeleted PersistentVolumeClaimRetentionPolicyType()
  whenScaled PersistentVolumeClaimRetentionPolicyType()
StatefulSetSpec
  replicas? int32
  selector?! LabelSelector
  template! PodTemplateSpec
  volumeClaimTemplates []PersistentVolumeClaim
  serviceName~ string
  podManagementPolicy PodManagementPolicyType(OrderedReady|Parallel)
  updateStrategy StatefulSetUpdateStrategy
  revisionHistoryLimit? int32
  minReadySeconds int32
  persistentVolumeClaimRetentionPolicy? StatefulSetPersistentVolumeClaimRetentionPolicy
  ordinals? StatefulSetOrdinals
StatefulSetStatus
  observedGeneration int64
  replicas! int32
  readyReplicas int32
  currentReplicas int32
  updatedReplicas int32
  currentRevision string
  updateRevision string
  collisionCount? int32
  conditions []StatefulSetCondition keys=type patch=merge:type
  availableReplicas~ int32
StatefulSetUpdateStrategy
  type StatefulSetUpdateStrategyType(OnDelete|RollingUpdate)
  rollingUpdate? RollingUpdateStatefulSetStrategy
`,
};

export const batchV1: PackageTable = {
  package: 'io.k8s.api.batch.v1',
  types: `
CronJob
  apiVersion string
  kind string
  metadata ObjectMeta
  spec CronJobSpec
  status CronJobStatus
CronJobSpec
  schedule! string
  timeZone? string
  startingDeadlineSeconds? int64
  concurrencyPolicy ConcurrencyPolicy(Allow|Forbid|Replace)
  suspend? bool
  jobTemplate! JobTemplateSpec
  successfulJobsHistoryLimit? int32
  failedJobsHistoryLimit? int32
CronJobStatus
  active []ObjectReference
  lastScheduleTime? time
  lastSuccessfulTime? time
Job
  apiVersion string
  kind string
  metadata ObjectMeta
  spec JobSpec
  status JobStatus
JobCondition
  type! JobConditionType()
  status! ConditionStatus()
  lastProbeTime time
  lastTransitionTime time
  reason string
  message string
JobSpec
  parallelism? int32
  completions? int32
  activeDeadlineSeconds? int64
  podFailurePolicy? PodFailurePolicy
  successPolicy? SuccessPolicy
  backoffLimit? int32
  backoffLimitPerIndex? int32
  maxFailedIndexes? int32
  selector? LabelSelector
  manualSelector? bool
  template! PodTemplateSpec
  ttlSecondsAfterFinished? int32
  completionMode? CompletionMode(Indexed|NonIndexed)
  suspend? bool
  podReplacementPolicy? PodReplacementPolicy(Failed|TerminatingOrFailed)
  managedBy? string
JobStatus
  conditions []JobCondition patch=merge:type
  startTime? time
  completionTime? time
  active int32
  succeeded int32
  failed int32
  terminating? int32
  completedIndexes string
  failedIndexes? string
  uncountedTerminatedPods? UncountedTerminatedPods
  ready? int32
JobTemplateSpec
  metadata ObjectMeta
  spec JobSpec
PodFailurePolicy
  rules! []PodFailurePolicyRule
PodFailurePolicyOnExitCodesRequirement
  containerName? string
  operator! PodFailurePolicyOnExitCodesOperator(In|NotIn)
  values! []int32 set
PodFailurePolicyOnPodConditionsPattern
  type! PodConditionType()
  status! ConditionStatus()
PodFailurePolicyRule
  action! PodFailurePolicyAction(Count|FailIndex|FailJob|Ignore)
  onExitCodes? PodFailurePolicyOnExitCodesRequirement
  onPodConditions []PodFailurePolicyOnPodConditionsPattern
SuccessPolicy
  rules! []SuccessPolicyRule
SuccessPolicyRule
  succeededIndexes? string
  succeededCount? int32
UncountedTerminatedPods
  succeeded []string set
  failed []string set
`,
};

export const autoscalingV1: PackageTable = {
  package: 'io.k8s.api.autoscaling.v1',
  types: `
CrossVersionObjectReference atomic
  kind! string
  name! string
  apiVersion string
HorizontalPodAutoscaler
  apiVersion string
  kind string
  metadata ObjectMeta
  spec HorizontalPodAutoscalerSpec
  status HorizontalPodAutoscalerStatus
HorizontalPodAutoscalerSpec
  scaleTargetRef! CrossVersionObjectReference
  minReplicas? int32
  maxReplicas! int32
  targetCPUUtilizationPercentage? int32
HorizontalPodAutoscalerStatus
  observedGeneration? int64
  lastScaleTime? time
  currentReplicas! int32
  desiredReplicas! int32
  currentCPUUtilizationPercentage? int32
Scale
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ScaleSpec
  status ScaleStatus
ScaleSpec
  replicas int32 default=0
ScaleStatus
  replicas! int32
  selector string
`,
};

export const autoscalingV2: PackageTable = {
  package: 'io.k8s.api.autoscaling.v2',
  types: `
ContainerResourceMetricSource
  name! ResourceName()
  target! MetricTarget
  container! string
ContainerResourceMetricStatus
  name! ResourceName()
  current! MetricValueStatus
  container! string
CrossVersionObjectReference
  kind! string
  name! string
  apiVersion string
ExternalMetricSource
  metric! MetricIdentifier
  target! MetricTarget
ExternalMetricStatus
  metric! MetricIdentifier
  current! MetricValueStatus
HPAScalingPolicy
  type! HPAScalingPolicyType()
  value! int32
  periodSeconds! int32
HPAScalingRules
  stabilizationWindowSeconds? int32
  selectPolicy? ScalingPolicySelect()
  policies []HPAScalingPolicy
  tolerance? quantity
HorizontalPodAutoscaler
  apiVersion string
  kind string
  metadata ObjectMeta
  spec HorizontalPodAutoscalerSpec
  status HorizontalPodAutoscalerStatus
HorizontalPodAutoscalerBehavior
  scaleUp? HPAScalingRules
  scaleDown? HPAScalingRules
HorizontalPodAutoscalerCondition
  type! HorizontalPodAutoscalerConditionType()
  status! ConditionStatus()
  lastTransitionTime time
  reason string
  message string
HorizontalPodAutoscalerSpec
  scaleTargetRef! CrossVersionObjectReference
  minReplicas? int32
  maxReplicas! int32
  metrics []MetricSpec
  behavior? HorizontalPodAutoscalerBehavior
HorizontalPodAutoscalerStatus
  observedGeneration? int64
  lastScaleTime? time
  currentReplicas int32
  desiredReplicas! int32
  currentMetrics~ []MetricStatus
  conditions []HorizontalPodAutoscalerCondition keys=type patch=merge:type
MetricIdentifier
  name! string
  selector? LabelSelector
MetricSpec
  type! MetricSourceType()
  object? ObjectMetricSource
  pods? PodsMetricSource
  resource? ResourceMetricSource
  containerResource? ContainerResourceMetricSource
  external? ExternalMetricSource
MetricStatus
  type! MetricSourceType()
  object? ObjectMetricStatus
  pods? PodsMetricStatus
  resource? ResourceMetricStatus
  containerResource? ContainerResourceMetricStatus
  external? ExternalMetricStatus
MetricTarget
  type! MetricTargetType()
  value? quantity
  averageValue? quantity
  averageUtilization? int32
MetricValueStatus
  value? quantity
  averageValue? quantity
  averageUtilization? int32
ObjectMetricSource
  describedObject! CrossVersionObjectReference
  target! MetricTarget
  metric! MetricIdentifier
ObjectMetricStatus
  metric! MetricIdentifier
  current! MetricValueStatus
  describedObject! CrossVersionObjectReference
PodsMetricSource
  metric! MetricIdentifier
  target! MetricTarget
PodsMetricStatus
  metric! MetricIdentifier
  current! MetricValueStatus
ResourceMetricSource
  name! ResourceName()
  target! MetricTarget
ResourceMetricStatus
  name! ResourceName()
  current! MetricValueStatus
`,
};

export const policyV1: PackageTable = {
  package: 'io.k8s.api.policy.v1',
  types: `
PodDisruptionBudget
  apiVersion string
  kind string
  metadata ObjectMeta
  spec PodDisruptionBudgetSpec
  status PodDisruptionBudgetStatus
PodDisruptionBudgetSpec
  minAvailable? intstr
  selector? LabelSelector patch=replace
  maxUnavailable? intstr
  unhealthyPodEvictionPolicy? UnhealthyPodEvictionPolicyType(AlwaysAllow|IfHealthyBudget)
PodDisruptionBudgetStatus
  observedGeneration int64
  disruptedPods {}time
  disruptionsAllowed! int32
  currentHealthy! int32
  desiredHealthy! int32
  expectedPods! int32
  conditions []Condition keys=type patch=merge:type
`,
};
