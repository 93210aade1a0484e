/* eslint-disable max-lines -- one table */
import type { PackageTable } from '../type-table.ts';

export const appsV1: PackageTable = {
  package: 'io.k8s.api.apps.v1',
  types: `
ControllerRevision -- An old state of a workload's template.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  data raw
  revision! int64
DaemonSet -- Keeps one pod on every node that fits.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec DaemonSetSpec -- What is wanted.
  status DaemonSetStatus -- What is, as the controllers last saw it.
DaemonSetCondition
  type! DaemonSetConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
DaemonSetSpec -- What runs on every node.
  selector?! LabelSelector -- Selects the objects that belong to this one.
  template! PodTemplateSpec -- Describes the pods that will be made.
  updateStrategy DaemonSetUpdateStrategy -- How pods are replaced when the template changes.
  minReadySeconds int32 -- How long a new pod must be ready before it counts as available.
  revisionHistoryLimit? int32 -- How many old revisions are kept.
DaemonSetStatus
  currentNumberScheduled! int32
  numberMisscheduled! int32
  desiredNumberScheduled! int32
  numberReady! int32
  observedGeneration int64 -- The generation that the controller has acted on.
  updatedNumberScheduled int32
  numberAvailable int32
  numberUnavailable int32
  collisionCount? int32 -- How often a name was already taken when a revision was made.
  conditions []DaemonSetCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
DaemonSetUpdateStrategy
  type DaemonSetUpdateStrategyType(OnDelete|RollingUpdate) -- Which kind it is.
  rollingUpdate? RollingUpdateDaemonSet -- Parameters of a rolling update.
Deployment -- Keeps pods running and replaces them when their template changes.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec DeploymentSpec -- What is wanted.
  status DeploymentStatus -- What is, as the controllers last saw it.
DeploymentCondition
  type! DeploymentConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastUpdateTime time -- When the condition was last updated.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
DeploymentSpec -- How many pods of which template, and how they are replaced.
  replicas? int32 -- How many pods are wanted; 1 by default.
  selector?! LabelSelector -- Selects the objects that belong to this one.
  template! PodTemplateSpec -- Describes the pods that will be made.
  strategy DeploymentStrategy patch=retainKeys -- How old pods are replaced by new ones.
  minReadySeconds int32 -- How long a new pod must be ready before it counts as available.
  revisionHistoryLimit? int32 -- How many old revisions are kept.
  paused bool -- Whether changes of the template wait.
  progressDeadlineSeconds? int32 -- How long progress may take before it counts as failed.
DeploymentStatus -- How far a deployment has come.
  observedGeneration int64 -- The generation that the controller has acted on.
  replicas int32 -- How many pods.
  updatedReplicas int32 -- Pods at the newest template.
  readyReplicas int32 -- Pods that are ready.
  availableReplicas int32 -- Pods that have been ready long enough.
  unavailableReplicas int32
  terminatingReplicas? int32 -- Pods that are going away.
  conditions []DeploymentCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
  collisionCount? int32 -- How often a name was already taken when a revision was made.
DeploymentStrategy -- How old pods are replaced by new ones.
  type DeploymentStrategyType(Recreate|RollingUpdate) -- RollingUpdate or Recreate.
  rollingUpdate? RollingUpdateDeployment -- Parameters of a rolling update.
ReplicaSet -- Keeps a number of equal pods running.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec ReplicaSetSpec -- What is wanted.
  status ReplicaSetStatus -- What is, as the controllers last saw it.
ReplicaSetCondition
  type! ReplicaSetConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
ReplicaSetSpec
  replicas? int32 -- How many pods.
  minReadySeconds int32 -- How long a new pod must be ready before it counts as available.
  selector?! LabelSelector -- Selects the objects that belong to this one.
  template PodTemplateSpec -- Describes the pods that will be made.
ReplicaSetStatus
  replicas! int32 -- How many pods.
  fullyLabeledReplicas int32
  readyReplicas int32 -- Pods that are ready.
  availableReplicas int32 -- Pods that have been ready long enough.
  terminatingReplicas? int32 -- Pods that are going away.
  observedGeneration int64 -- The generation that the controller has acted on.
  conditions []ReplicaSetCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
RollingUpdateDaemonSet
  maxUnavailable? intstr -- How many pods may be down during an update: number or percentage.
  maxSurge? intstr -- How many pods may exist above the wanted number during an update: number or percentage.
RollingUpdateDeployment
  maxUnavailable? intstr -- How many pods may be down during an update: number or percentage.
  maxSurge? intstr -- How many pods may exist above the wanted number during an update: number or percentage.
RollingUpdateStatefulSetStrategy
  partition? int32
  maxUnavailable? intstr -- How many pods may be down during an update: number or percentage.
StatefulSet -- Keeps pods with stable names and storage running.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec StatefulSetSpec -- What is wanted.
  status StatefulSetStatus -- What is, as the controllers last saw it.
StatefulSetCondition
  type! StatefulSetConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
StatefulSetOrdinals
  start~ int32
StatefulSetPersistentVolumeClaimRetentionPolicy
  whenDeleted PersistentVolumeClaimRetentionPolicyType()
  whenScaled PersistentVolumeClaimRetentionPolicyType()
StatefulSetSpec -- How many pods of which template, with which storage.
  replicas? int32 -- How many pods.
  selector?! LabelSelector -- Selects the objects that belong to this one.
  template! PodTemplateSpec -- Describes the pods that will be made.
  volumeClaimTemplates []PersistentVolumeClaim -- Claims that each pod gets for itself.
  serviceName~ string -- Name of the headless service that gives the pods their names.
  podManagementPolicy PodManagementPolicyType(OrderedReady|Parallel) -- OrderedReady (one after another) or Parallel.
  updateStrategy StatefulSetUpdateStrategy -- How pods are replaced when the template changes.
  revisionHistoryLimit? int32 -- How many old revisions are kept.
  minReadySeconds int32 -- How long a new pod must be ready before it counts as available.
  persistentVolumeClaimRetentionPolicy? StatefulSetPersistentVolumeClaimRetentionPolicy
  ordinals? StatefulSetOrdinals
StatefulSetStatus
  observedGeneration int64 -- The generation that the controller has acted on.
  replicas! int32 -- How many pods.
  readyReplicas int32 -- Pods that are ready.
  currentReplicas int32 -- Pods at the current revision.
  updatedReplicas int32 -- Pods at the newest template.
  currentRevision string
  updateRevision string
  collisionCount? int32 -- How often a name was already taken when a revision was made.
  conditions []StatefulSetCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
  availableReplicas~ int32 -- Pods that have been ready long enough.
StatefulSetUpdateStrategy
  type StatefulSetUpdateStrategyType(OnDelete|RollingUpdate) -- Which kind it is.
  rollingUpdate? RollingUpdateStatefulSetStrategy -- Parameters of a rolling update.
`,
};

export const batchV1: PackageTable = {
  package: 'io.k8s.api.batch.v1',
  types: `
CronJob -- Makes jobs by the clock.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec CronJobSpec -- What is wanted.
  status CronJobStatus -- What is, as the controllers last saw it.
CronJobSpec
  schedule! string -- When, in cron format.
  timeZone? string -- Time zone of the schedule.
  startingDeadlineSeconds? int64
  concurrencyPolicy ConcurrencyPolicy(Allow|Forbid|Replace) -- What happens when the last job still runs: Allow, Forbid or Replace.
  suspend? bool -- Whether work is put off.
  jobTemplate! JobTemplateSpec -- The jobs to make.
  successfulJobsHistoryLimit? int32
  failedJobsHistoryLimit? int32
CronJobStatus
  active []ObjectReference
  lastScheduleTime? time
  lastSuccessfulTime? time
Job -- Runs pods until enough of them have succeeded.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec JobSpec -- What is wanted.
  status JobStatus -- What is, as the controllers last saw it.
JobCondition
  type! JobConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastProbeTime time -- When the condition was last looked at.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
JobSpec -- What runs, how often and how many at once.
  parallelism? int32 -- How many pods run at once.
  completions? int32 -- How many pods must succeed.
  activeDeadlineSeconds? int64 -- How long the job may take.
  podFailurePolicy? PodFailurePolicy
  successPolicy? SuccessPolicy
  backoffLimit? int32 -- How many failures are tried again.
  backoffLimitPerIndex? int32
  maxFailedIndexes? int32
  selector? LabelSelector -- Selects the objects that belong to this one.
  manualSelector? bool
  template! PodTemplateSpec -- Describes the pods that will be made.
  ttlSecondsAfterFinished? int32 -- How long the job is kept after its end.
  completionMode? CompletionMode(Indexed|NonIndexed)
  suspend? bool -- Whether work is put off.
  podReplacementPolicy? PodReplacementPolicy(Failed|TerminatingOrFailed)
  managedBy? string
JobStatus
  conditions []JobCondition patch=merge:type -- What holds for the object at present, one entry per type.
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
  metadata ObjectMeta -- Metadata of the object.
  spec JobSpec -- What is wanted.
PodFailurePolicy
  rules! []PodFailurePolicyRule -- The rules.
PodFailurePolicyOnExitCodesRequirement
  containerName? string
  operator! PodFailurePolicyOnExitCodesOperator(In|NotIn) -- How key and values are compared.
  values! []int32 set -- The values to compare with.
PodFailurePolicyOnPodConditionsPattern
  type! PodConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
PodFailurePolicyRule
  action! PodFailurePolicyAction(Count|FailIndex|FailJob|Ignore)
  onExitCodes? PodFailurePolicyOnExitCodesRequirement
  onPodConditions []PodFailurePolicyOnPodConditionsPattern
SuccessPolicy
  rules! []SuccessPolicyRule -- The rules.
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
  kind! string -- Kind of this object, in CamelCase.
  name! string -- Name, unique among its siblings.
  apiVersion string -- Version of the schema of this object: group/version.
HorizontalPodAutoscaler -- Scales a workload by its load.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec HorizontalPodAutoscalerSpec -- What is wanted.
  status HorizontalPodAutoscalerStatus -- What is, as the controllers last saw it.
HorizontalPodAutoscalerSpec
  scaleTargetRef! CrossVersionObjectReference -- What is scaled.
  minReplicas? int32 -- The fewest pods.
  maxReplicas! int32 -- The most pods.
  targetCPUUtilizationPercentage? int32
HorizontalPodAutoscalerStatus
  observedGeneration? int64 -- The generation that the controller has acted on.
  lastScaleTime? time
  currentReplicas! int32 -- Pods at the current revision.
  desiredReplicas! int32
  currentCPUUtilizationPercentage? int32
Scale
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec ScaleSpec -- What is wanted.
  status ScaleStatus -- What is, as the controllers last saw it.
ScaleSpec
  replicas int32 default=0 -- How many pods.
ScaleStatus
  replicas! int32 -- How many pods.
  selector string -- Selects the objects that belong to this one.
`,
};

export const autoscalingV2: PackageTable = {
  package: 'io.k8s.api.autoscaling.v2',
  types: `
ContainerResourceMetricSource
  name! ResourceName() -- Name, unique among its siblings.
  target! MetricTarget
  container! string
ContainerResourceMetricStatus
  name! ResourceName() -- Name, unique among its siblings.
  current! MetricValueStatus
  container! string
CrossVersionObjectReference
  kind! string -- Kind of this object, in CamelCase.
  name! string -- Name, unique among its siblings.
  apiVersion string -- Version of the schema of this object: group/version.
ExternalMetricSource
  metric! MetricIdentifier
  target! MetricTarget
ExternalMetricStatus
  metric! MetricIdentifier
  current! MetricValueStatus
HPAScalingPolicy
  type! HPAScalingPolicyType() -- Which kind it is.
  value! int32 -- The value.
  periodSeconds! int32
HPAScalingRules
  stabilizationWindowSeconds? int32
  selectPolicy? ScalingPolicySelect()
  policies []HPAScalingPolicy
  tolerance? quantity
HorizontalPodAutoscaler -- Scales a workload by its load.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec HorizontalPodAutoscalerSpec -- What is wanted.
  status HorizontalPodAutoscalerStatus -- What is, as the controllers last saw it.
HorizontalPodAutoscalerBehavior
  scaleUp? HPAScalingRules
  scaleDown? HPAScalingRules
HorizontalPodAutoscalerCondition
  type! HorizontalPodAutoscalerConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
HorizontalPodAutoscalerSpec
  scaleTargetRef! CrossVersionObjectReference -- What is scaled.
  minReplicas? int32 -- The fewest pods.
  maxReplicas! int32 -- The most pods.
  metrics []MetricSpec -- What the load is measured by.
  behavior? HorizontalPodAutoscalerBehavior
HorizontalPodAutoscalerStatus
  observedGeneration? int64 -- The generation that the controller has acted on.
  lastScaleTime? time
  currentReplicas int32 -- Pods at the current revision.
  desiredReplicas! int32
  currentMetrics~ []MetricStatus
  conditions []HorizontalPodAutoscalerCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
MetricIdentifier
  name! string -- Name, unique among its siblings.
  selector? LabelSelector -- Selects the objects that belong to this one.
MetricSpec
  type! MetricSourceType() -- Which kind it is.
  object? ObjectMetricSource
  pods? PodsMetricSource
  resource? ResourceMetricSource
  containerResource? ContainerResourceMetricSource
  external? ExternalMetricSource
MetricStatus
  type! MetricSourceType() -- Which kind it is.
  object? ObjectMetricStatus
  pods? PodsMetricStatus
  resource? ResourceMetricStatus
  containerResource? ContainerResourceMetricStatus
  external? ExternalMetricStatus
MetricTarget
  type! MetricTargetType() -- Which kind it is.
  value? quantity -- The value.
  averageValue? quantity
  averageUtilization? int32
MetricValueStatus
  value? quantity -- The value.
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
  name! ResourceName() -- Name, unique among its siblings.
  target! MetricTarget
ResourceMetricStatus
  name! ResourceName() -- Name, unique among its siblings.
  current! MetricValueStatus
`,
};

export const policyV1: PackageTable = {
  package: 'io.k8s.api.policy.v1',
  types: `
PodDisruptionBudget -- How many pods must stay when some are moved on purpose.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec PodDisruptionBudgetSpec -- What is wanted.
  status PodDisruptionBudgetStatus -- What is, as the controllers last saw it.
PodDisruptionBudgetSpec
  minAvailable? intstr -- How many pods must stay available.
  selector? LabelSelector patch=replace -- Selects the objects that belong to this one.
  maxUnavailable? intstr -- How many pods may be down during an update: number or percentage.
  unhealthyPodEvictionPolicy? UnhealthyPodEvictionPolicyType(AlwaysAllow|IfHealthyBudget)
PodDisruptionBudgetStatus
  observedGeneration int64 -- The generation that the controller has acted on.
  disruptedPods {}time
  disruptionsAllowed! int32
  currentHealthy! int32
  desiredHealthy! int32
  expectedPods! int32
  conditions []Condition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
`,
};
