/**
 * Protobuf field numbers of the built-in kinds from the generated.proto files of k8s.io/api 0.34,
 * sufficient to read protobuf bodies (kubectl's `create` commands, typed Go clients). A `# package`
 * line is followed by one line per message: `Name: number json-name type, ...`. Types: s string, i
 * integer, b boolean, y bytes, d double, Q Quantity, T Time, M MicroTime, I IntOrString, R
 * RawExtension, D Duration, else a message (`package/Name` for another package's). `[]` repeated,
 * `{}` map by string, `*` a Go pointer, whose zero value is significant. `&` as name: the message's
 * fields are inlined.
 */
export const protobufMessages = `
# admissionregistration.v1
MatchCondition: 1 name s, 2 expression s
MutatingWebhook: 1 name s, 2 clientConfig WebhookClientConfig, 3 rules []RuleWithOperations, 4 failurePolicy *s, 9 matchPolicy *s, 5 namespaceSelector meta.v1/LabelSelector, 11 objectSelector meta.v1/LabelSelector, 6 sideEffects *s, 7 timeoutSeconds *i, 8 admissionReviewVersions []s, 10 reinvocationPolicy *s, 12 matchConditions []MatchCondition
MutatingWebhookConfiguration: 1 metadata meta.v1/ObjectMeta, 2 webhooks []MutatingWebhook
Rule: 1 apiGroups []s, 2 apiVersions []s, 3 resources []s, 4 scope *s
RuleWithOperations: 1 operations []s, 2 & Rule
ServiceReference: 1 namespace s, 2 name s, 3 path *s, 4 port *i
ValidatingWebhook: 1 name s, 2 clientConfig WebhookClientConfig, 3 rules []RuleWithOperations, 4 failurePolicy *s, 9 matchPolicy *s, 5 namespaceSelector meta.v1/LabelSelector, 10 objectSelector meta.v1/LabelSelector, 6 sideEffects *s, 7 timeoutSeconds *i, 8 admissionReviewVersions []s, 11 matchConditions []MatchCondition
ValidatingWebhookConfiguration: 1 metadata meta.v1/ObjectMeta, 2 webhooks []ValidatingWebhook
WebhookClientConfig: 3 url *s, 1 service ServiceReference, 2 caBundle y
# apps.v1
ControllerRevision: 1 metadata meta.v1/ObjectMeta, 2 data R, 3 revision i
DaemonSet: 1 metadata meta.v1/ObjectMeta, 2 spec DaemonSetSpec, 3 status DaemonSetStatus
DaemonSetCondition: 1 type s, 2 status s, 3 lastTransitionTime T, 4 reason s, 5 message s
DaemonSetSpec: 1 selector meta.v1/LabelSelector, 2 template core.v1/PodTemplateSpec, 3 updateStrategy DaemonSetUpdateStrategy, 4 minReadySeconds i, 6 revisionHistoryLimit *i
DaemonSetStatus: 1 currentNumberScheduled i, 2 numberMisscheduled i, 3 desiredNumberScheduled i, 4 numberReady i, 5 observedGeneration i, 6 updatedNumberScheduled i, 7 numberAvailable i, 8 numberUnavailable i, 9 collisionCount *i, 10 conditions []DaemonSetCondition
DaemonSetUpdateStrategy: 1 type s, 2 rollingUpdate RollingUpdateDaemonSet
Deployment: 1 metadata meta.v1/ObjectMeta, 2 spec DeploymentSpec, 3 status DeploymentStatus
DeploymentCondition: 1 type s, 2 status s, 6 lastUpdateTime T, 7 lastTransitionTime T, 4 reason s, 5 message s
DeploymentSpec: 1 replicas *i, 2 selector meta.v1/LabelSelector, 3 template core.v1/PodTemplateSpec, 4 strategy DeploymentStrategy, 5 minReadySeconds i, 6 revisionHistoryLimit *i, 7 paused b, 9 progressDeadlineSeconds *i
DeploymentStatus: 1 observedGeneration i, 2 replicas i, 3 updatedReplicas i, 7 readyReplicas i, 4 availableReplicas i, 5 unavailableReplicas i, 9 terminatingReplicas *i, 6 conditions []DeploymentCondition, 8 collisionCount *i
DeploymentStrategy: 1 type s, 2 rollingUpdate RollingUpdateDeployment
ReplicaSet: 1 metadata meta.v1/ObjectMeta, 2 spec ReplicaSetSpec, 3 status ReplicaSetStatus
ReplicaSetCondition: 1 type s, 2 status s, 3 lastTransitionTime T, 4 reason s, 5 message s
ReplicaSetSpec: 1 replicas *i, 4 minReadySeconds i, 2 selector meta.v1/LabelSelector, 3 template core.v1/PodTemplateSpec
ReplicaSetStatus: 1 replicas i, 2 fullyLabeledReplicas i, 4 readyReplicas i, 5 availableReplicas i, 7 terminatingReplicas *i, 3 observedGeneration i, 6 conditions []ReplicaSetCondition
RollingUpdateDaemonSet: 1 maxUnavailable I, 2 maxSurge I
RollingUpdateDeployment: 1 maxUnavailable I, 2 maxSurge I
RollingUpdateStatefulSetStrategy: 1 partition *i, 2 maxUnavailable I
StatefulSet: 1 metadata meta.v1/ObjectMeta, 2 spec StatefulSetSpec, 3 status StatefulSetStatus
StatefulSetCondition: 1 type s, 2 status s, 3 lastTransitionTime T, 4 reason s, 5 message s
StatefulSetOrdinals: 1 start i
StatefulSetPersistentVolumeClaimRetentionPolicy: 1 whenDeleted s, 2 whenScaled s
StatefulSetSpec: 1 replicas *i, 2 selector meta.v1/LabelSelector, 3 template core.v1/PodTemplateSpec, 4 volumeClaimTemplates []core.v1/PersistentVolumeClaim, 5 serviceName s, 6 podManagementPolicy s, 7 updateStrategy StatefulSetUpdateStrategy, 8 revisionHistoryLimit *i, 9 minReadySeconds i, 10 persistentVolumeClaimRetentionPolicy StatefulSetPersistentVolumeClaimRetentionPolicy, 11 ordinals StatefulSetOrdinals
StatefulSetStatus: 1 observedGeneration i, 2 replicas i, 3 readyReplicas i, 4 currentReplicas i, 5 updatedReplicas i, 6 currentRevision s, 7 updateRevision s, 9 collisionCount *i, 10 conditions []StatefulSetCondition, 11 availableReplicas i
StatefulSetUpdateStrategy: 1 type s, 2 rollingUpdate RollingUpdateStatefulSetStrategy
# authentication.v1
ExtraValue: 1 items []s
SelfSubjectReview: 1 metadata meta.v1/ObjectMeta, 2 status SelfSubjectReviewStatus
SelfSubjectReviewStatus: 1 userInfo UserInfo
TokenReview: 1 metadata meta.v1/ObjectMeta, 2 spec TokenReviewSpec, 3 status TokenReviewStatus
TokenReviewSpec: 1 token s, 2 audiences []s
TokenReviewStatus: 1 authenticated b, 2 user UserInfo, 4 audiences []s, 3 error s
UserInfo: 1 username s, 2 uid s, 3 groups []s, 4 extra {}ExtraValue
# authorization.v1
ExtraValue: 1 items []s
FieldSelectorAttributes: 1 rawSelector s, 2 requirements []meta.v1/FieldSelectorRequirement
LabelSelectorAttributes: 1 rawSelector s, 2 requirements []meta.v1/LabelSelectorRequirement
LocalSubjectAccessReview: 1 metadata meta.v1/ObjectMeta, 2 spec SubjectAccessReviewSpec, 3 status SubjectAccessReviewStatus
NonResourceAttributes: 1 path s, 2 verb s
NonResourceRule: 1 verbs []s, 2 nonResourceURLs []s
ResourceAttributes: 1 namespace s, 2 verb s, 3 group s, 4 version s, 5 resource s, 6 subresource s, 7 name s, 8 fieldSelector FieldSelectorAttributes, 9 labelSelector LabelSelectorAttributes
ResourceRule: 1 verbs []s, 2 apiGroups []s, 3 resources []s, 4 resourceNames []s
SelfSubjectAccessReview: 1 metadata meta.v1/ObjectMeta, 2 spec SelfSubjectAccessReviewSpec, 3 status SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec: 1 resourceAttributes ResourceAttributes, 2 nonResourceAttributes NonResourceAttributes
SelfSubjectRulesReview: 1 metadata meta.v1/ObjectMeta, 2 spec SelfSubjectRulesReviewSpec, 3 status SubjectRulesReviewStatus
SelfSubjectRulesReviewSpec: 1 namespace s
SubjectAccessReview: 1 metadata meta.v1/ObjectMeta, 2 spec SubjectAccessReviewSpec, 3 status SubjectAccessReviewStatus
SubjectAccessReviewSpec: 1 resourceAttributes ResourceAttributes, 2 nonResourceAttributes NonResourceAttributes, 3 user s, 4 groups []s, 5 extra {}ExtraValue, 6 uid s
SubjectAccessReviewStatus: 1 allowed b, 4 denied b, 2 reason s, 3 evaluationError s
SubjectRulesReviewStatus: 1 resourceRules []ResourceRule, 2 nonResourceRules []NonResourceRule, 3 incomplete b, 4 evaluationError s
# autoscaling.v1
CrossVersionObjectReference: 1 kind s, 2 name s, 3 apiVersion s
HorizontalPodAutoscaler: 1 metadata meta.v1/ObjectMeta, 2 spec HorizontalPodAutoscalerSpec, 3 status HorizontalPodAutoscalerStatus
HorizontalPodAutoscalerSpec: 1 scaleTargetRef CrossVersionObjectReference, 2 minReplicas *i, 3 maxReplicas i, 4 targetCPUUtilizationPercentage *i
HorizontalPodAutoscalerStatus: 1 observedGeneration *i, 2 lastScaleTime T, 3 currentReplicas i, 4 desiredReplicas i, 5 currentCPUUtilizationPercentage *i
Scale: 1 metadata meta.v1/ObjectMeta, 2 spec ScaleSpec, 3 status ScaleStatus
ScaleSpec: 1 replicas i
ScaleStatus: 1 replicas i, 2 selector s
# autoscaling.v2
ContainerResourceMetricSource: 1 name s, 2 target MetricTarget, 3 container s
ContainerResourceMetricStatus: 1 name s, 2 current MetricValueStatus, 3 container s
CrossVersionObjectReference: 1 kind s, 2 name s, 3 apiVersion s
ExternalMetricSource: 1 metric MetricIdentifier, 2 target MetricTarget
ExternalMetricStatus: 1 metric MetricIdentifier, 2 current MetricValueStatus
HPAScalingPolicy: 1 type s, 2 value i, 3 periodSeconds i
HPAScalingRules: 3 stabilizationWindowSeconds *i, 1 selectPolicy *s, 2 policies []HPAScalingPolicy, 4 tolerance Q
HorizontalPodAutoscaler: 1 metadata meta.v1/ObjectMeta, 2 spec HorizontalPodAutoscalerSpec, 3 status HorizontalPodAutoscalerStatus
HorizontalPodAutoscalerBehavior: 1 scaleUp HPAScalingRules, 2 scaleDown HPAScalingRules
HorizontalPodAutoscalerCondition: 1 type s, 2 status s, 3 lastTransitionTime T, 4 reason s, 5 message s
HorizontalPodAutoscalerSpec: 1 scaleTargetRef CrossVersionObjectReference, 2 minReplicas *i, 3 maxReplicas i, 4 metrics []MetricSpec, 5 behavior HorizontalPodAutoscalerBehavior
HorizontalPodAutoscalerStatus: 1 observedGeneration *i, 2 lastScaleTime T, 3 currentReplicas i, 4 desiredReplicas i, 5 currentMetrics []MetricStatus, 6 conditions []HorizontalPodAutoscalerCondition
MetricIdentifier: 1 name s, 2 selector meta.v1/LabelSelector
MetricSpec: 1 type s, 2 object ObjectMetricSource, 3 pods PodsMetricSource, 4 resource ResourceMetricSource, 7 containerResource ContainerResourceMetricSource, 5 external ExternalMetricSource
MetricStatus: 1 type s, 2 object ObjectMetricStatus, 3 pods PodsMetricStatus, 4 resource ResourceMetricStatus, 7 containerResource ContainerResourceMetricStatus, 5 external ExternalMetricStatus
MetricTarget: 1 type s, 2 value Q, 3 averageValue Q, 4 averageUtilization *i
MetricValueStatus: 1 value Q, 2 averageValue Q, 3 averageUtilization *i
ObjectMetricSource: 1 describedObject CrossVersionObjectReference, 2 target MetricTarget, 3 metric MetricIdentifier
ObjectMetricStatus: 1 metric MetricIdentifier, 2 current MetricValueStatus, 3 describedObject CrossVersionObjectReference
PodsMetricSource: 1 metric MetricIdentifier, 2 target MetricTarget
PodsMetricStatus: 1 metric MetricIdentifier, 2 current MetricValueStatus
ResourceMetricSource: 1 name s, 2 target MetricTarget
ResourceMetricStatus: 1 name s, 2 current MetricValueStatus
# batch.v1
CronJob: 1 metadata meta.v1/ObjectMeta, 2 spec CronJobSpec, 3 status CronJobStatus
CronJobSpec: 1 schedule s, 8 timeZone *s, 2 startingDeadlineSeconds *i, 3 concurrencyPolicy s, 4 suspend *b, 5 jobTemplate JobTemplateSpec, 6 successfulJobsHistoryLimit *i, 7 failedJobsHistoryLimit *i
CronJobStatus: 1 active []core.v1/ObjectReference, 4 lastScheduleTime T, 5 lastSuccessfulTime T
Job: 1 metadata meta.v1/ObjectMeta, 2 spec JobSpec, 3 status JobStatus
JobCondition: 1 type s, 2 status s, 3 lastProbeTime T, 4 lastTransitionTime T, 5 reason s, 6 message s
JobSpec: 1 parallelism *i, 2 completions *i, 3 activeDeadlineSeconds *i, 11 podFailurePolicy PodFailurePolicy, 16 successPolicy SuccessPolicy, 7 backoffLimit *i, 12 backoffLimitPerIndex *i, 13 maxFailedIndexes *i, 4 selector meta.v1/LabelSelector, 5 manualSelector *b, 6 template core.v1/PodTemplateSpec, 8 ttlSecondsAfterFinished *i, 9 completionMode *s, 10 suspend *b, 14 podReplacementPolicy *s, 15 managedBy *s
JobStatus: 1 conditions []JobCondition, 2 startTime T, 3 completionTime T, 4 active i, 5 succeeded i, 6 failed i, 11 terminating *i, 7 completedIndexes s, 10 failedIndexes *s, 8 uncountedTerminatedPods UncountedTerminatedPods, 9 ready *i
JobTemplateSpec: 1 metadata meta.v1/ObjectMeta, 2 spec JobSpec
PodFailurePolicy: 1 rules []PodFailurePolicyRule
PodFailurePolicyOnExitCodesRequirement: 1 containerName *s, 2 operator s, 3 values []i
PodFailurePolicyOnPodConditionsPattern: 1 type s, 2 status s
PodFailurePolicyRule: 1 action s, 2 onExitCodes PodFailurePolicyOnExitCodesRequirement, 3 onPodConditions []PodFailurePolicyOnPodConditionsPattern
SuccessPolicy: 1 rules []SuccessPolicyRule
SuccessPolicyRule: 1 succeededIndexes *s, 2 succeededCount *i
UncountedTerminatedPods: 1 succeeded []s, 2 failed []s
# coordination.v1
Lease: 1 metadata meta.v1/ObjectMeta, 2 spec LeaseSpec
LeaseSpec: 1 holderIdentity *s, 2 leaseDurationSeconds *i, 3 acquireTime M, 4 renewTime M, 5 leaseTransitions *i, 6 strategy *s, 7 preferredHolder *s
# core.v1
AWSElasticBlockStoreVolumeSource: 1 volumeID s, 2 fsType s, 3 partition i, 4 readOnly b
Affinity: 1 nodeAffinity NodeAffinity, 2 podAffinity PodAffinity, 3 podAntiAffinity PodAntiAffinity
AppArmorProfile: 1 type s, 2 localhostProfile *s
AttachedVolume: 1 name s, 2 devicePath s
AzureDiskVolumeSource: 1 diskName s, 2 diskURI s, 3 cachingMode *s, 4 fsType *s, 5 readOnly *b, 6 kind *s
AzureFilePersistentVolumeSource: 1 secretName s, 2 shareName s, 3 readOnly b, 4 secretNamespace *s
AzureFileVolumeSource: 1 secretName s, 2 shareName s, 3 readOnly b
CSIPersistentVolumeSource: 1 driver s, 2 volumeHandle s, 3 readOnly b, 4 fsType s, 5 volumeAttributes {}s, 6 controllerPublishSecretRef SecretReference, 7 nodeStageSecretRef SecretReference, 8 nodePublishSecretRef SecretReference, 9 controllerExpandSecretRef SecretReference, 10 nodeExpandSecretRef SecretReference
CSIVolumeSource: 1 driver s, 2 readOnly *b, 3 fsType *s, 4 volumeAttributes {}s, 5 nodePublishSecretRef LocalObjectReference
Capabilities: 1 add []s, 2 drop []s
CephFSPersistentVolumeSource: 1 monitors []s, 2 path s, 3 user s, 4 secretFile s, 5 secretRef SecretReference, 6 readOnly b
CephFSVolumeSource: 1 monitors []s, 2 path s, 3 user s, 4 secretFile s, 5 secretRef LocalObjectReference, 6 readOnly b
CinderPersistentVolumeSource: 1 volumeID s, 2 fsType s, 3 readOnly b, 4 secretRef SecretReference
CinderVolumeSource: 1 volumeID s, 2 fsType s, 3 readOnly b, 4 secretRef LocalObjectReference
ClientIPConfig: 1 timeoutSeconds *i
ClusterTrustBundleProjection: 1 name *s, 2 signerName *s, 3 labelSelector meta.v1/LabelSelector, 5 optional *b, 4 path s
ConfigMap: 1 metadata meta.v1/ObjectMeta, 4 immutable *b, 2 data {}s, 3 binaryData {}y
ConfigMapEnvSource: 1 & LocalObjectReference, 2 optional *b
ConfigMapKeySelector: 1 & LocalObjectReference, 2 key s, 3 optional *b
ConfigMapNodeConfigSource: 1 namespace s, 2 name s, 3 uid s, 4 resourceVersion s, 5 kubeletConfigKey s
ConfigMapProjection: 1 & LocalObjectReference, 2 items []KeyToPath, 4 optional *b
ConfigMapVolumeSource: 1 & LocalObjectReference, 2 items []KeyToPath, 3 defaultMode *i, 4 optional *b
Container: 1 name s, 2 image s, 3 command []s, 4 args []s, 5 workingDir s, 6 ports []ContainerPort, 19 envFrom []EnvFromSource, 7 env []EnvVar, 8 resources ResourceRequirements, 23 resizePolicy []ContainerResizePolicy, 24 restartPolicy *s, 25 restartPolicyRules []ContainerRestartRule, 9 volumeMounts []VolumeMount, 21 volumeDevices []VolumeDevice, 10 livenessProbe Probe, 11 readinessProbe Probe, 22 startupProbe Probe, 12 lifecycle Lifecycle, 13 terminationMessagePath s, 20 terminationMessagePolicy s, 14 imagePullPolicy s, 15 securityContext SecurityContext, 16 stdin b, 17 stdinOnce b, 18 tty b
ContainerExtendedResourceRequest: 1 containerName s, 2 resourceName s, 3 requestName s
ContainerImage: 1 names []s, 2 sizeBytes i
ContainerPort: 1 name s, 2 hostPort i, 3 containerPort i, 4 protocol s, 5 hostIP s
ContainerResizePolicy: 1 resourceName s, 2 restartPolicy s
ContainerRestartRule: 1 action s, 2 exitCodes ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: 1 operator s, 2 values []i
ContainerState: 1 waiting ContainerStateWaiting, 2 running ContainerStateRunning, 3 terminated ContainerStateTerminated
ContainerStateRunning: 1 startedAt T
ContainerStateTerminated: 1 exitCode i, 2 signal i, 3 reason s, 4 message s, 5 startedAt T, 6 finishedAt T, 7 containerID s
ContainerStateWaiting: 1 reason s, 2 message s
ContainerStatus: 1 name s, 2 state ContainerState, 3 lastState ContainerState, 4 ready b, 5 restartCount i, 6 image s, 7 imageID s, 8 containerID s, 9 started *b, 10 allocatedResources {}Q, 11 resources ResourceRequirements, 12 volumeMounts []VolumeMountStatus, 13 user ContainerUser, 14 allocatedResourcesStatus []ResourceStatus, 15 stopSignal *s
ContainerUser: 1 linux LinuxContainerUser
DaemonEndpoint: 1 Port i
DownwardAPIProjection: 1 items []DownwardAPIVolumeFile
DownwardAPIVolumeFile: 1 path s, 2 fieldRef ObjectFieldSelector, 3 resourceFieldRef ResourceFieldSelector, 4 mode *i
DownwardAPIVolumeSource: 1 items []DownwardAPIVolumeFile, 2 defaultMode *i
EmptyDirVolumeSource: 1 medium s, 2 sizeLimit Q
EndpointAddress: 1 ip s, 3 hostname s, 4 nodeName *s, 2 targetRef ObjectReference
EndpointPort: 1 name s, 2 port i, 3 protocol s, 4 appProtocol *s
EndpointSubset: 1 addresses []EndpointAddress, 2 notReadyAddresses []EndpointAddress, 3 ports []EndpointPort
Endpoints: 1 metadata meta.v1/ObjectMeta, 2 subsets []EndpointSubset
EnvFromSource: 1 prefix s, 2 configMapRef ConfigMapEnvSource, 3 secretRef SecretEnvSource
EnvVar: 1 name s, 2 value s, 3 valueFrom EnvVarSource
EnvVarSource: 1 fieldRef ObjectFieldSelector, 2 resourceFieldRef ResourceFieldSelector, 3 configMapKeyRef ConfigMapKeySelector, 4 secretKeyRef SecretKeySelector, 5 fileKeyRef FileKeySelector
EphemeralContainer: 1 ephemeralContainerCommon EphemeralContainerCommon, 2 targetContainerName s
EphemeralContainerCommon: 1 name s, 2 image s, 3 command []s, 4 args []s, 5 workingDir s, 6 ports []ContainerPort, 19 envFrom []EnvFromSource, 7 env []EnvVar, 8 resources ResourceRequirements, 23 resizePolicy []ContainerResizePolicy, 24 restartPolicy *s, 25 restartPolicyRules []ContainerRestartRule, 9 volumeMounts []VolumeMount, 21 volumeDevices []VolumeDevice, 10 livenessProbe Probe, 11 readinessProbe Probe, 22 startupProbe Probe, 12 lifecycle Lifecycle, 13 terminationMessagePath s, 20 terminationMessagePolicy s, 14 imagePullPolicy s, 15 securityContext SecurityContext, 16 stdin b, 17 stdinOnce b, 18 tty b
EphemeralVolumeSource: 1 volumeClaimTemplate PersistentVolumeClaimTemplate
Event: 1 metadata meta.v1/ObjectMeta, 2 involvedObject ObjectReference, 3 reason s, 4 message s, 5 source EventSource, 6 firstTimestamp T, 7 lastTimestamp T, 8 count i, 9 type s, 10 eventTime M, 11 series EventSeries, 12 action s, 13 related ObjectReference, 14 reportingComponent s, 15 reportingInstance s
EventSeries: 1 count i, 2 lastObservedTime M
EventSource: 1 component s, 2 host s
ExecAction: 1 command []s
FCVolumeSource: 1 targetWWNs []s, 2 lun *i, 3 fsType s, 4 readOnly b, 5 wwids []s
FileKeySelector: 1 volumeName s, 2 path s, 3 key s, 4 optional *b
FlexPersistentVolumeSource: 1 driver s, 2 fsType s, 3 secretRef SecretReference, 4 readOnly b, 5 options {}s
FlexVolumeSource: 1 driver s, 2 fsType s, 3 secretRef LocalObjectReference, 4 readOnly b, 5 options {}s
FlockerVolumeSource: 1 datasetName s, 2 datasetUUID s
GCEPersistentDiskVolumeSource: 1 pdName s, 2 fsType s, 3 partition i, 4 readOnly b
GRPCAction: 1 port i, 2 service *s
GitRepoVolumeSource: 1 repository s, 2 revision s, 3 directory s
GlusterfsPersistentVolumeSource: 1 endpoints s, 2 path s, 3 readOnly b, 4 endpointsNamespace *s
GlusterfsVolumeSource: 1 endpoints s, 2 path s, 3 readOnly b
HTTPGetAction: 1 path s, 2 port I, 3 host s, 4 scheme s, 5 httpHeaders []HTTPHeader
HTTPHeader: 1 name s, 2 value s
HostAlias: 1 ip s, 2 hostnames []s
HostIP: 1 ip s
HostPathVolumeSource: 1 path s, 2 type *s
ISCSIPersistentVolumeSource: 1 targetPortal s, 2 iqn s, 3 lun i, 4 iscsiInterface s, 5 fsType s, 6 readOnly b, 7 portals []s, 8 chapAuthDiscovery b, 11 chapAuthSession b, 10 secretRef SecretReference, 12 initiatorName *s
ISCSIVolumeSource: 1 targetPortal s, 2 iqn s, 3 lun i, 4 iscsiInterface s, 5 fsType s, 6 readOnly b, 7 portals []s, 8 chapAuthDiscovery b, 11 chapAuthSession b, 10 secretRef LocalObjectReference, 12 initiatorName *s
ImageVolumeSource: 1 reference s, 2 pullPolicy s
KeyToPath: 1 key s, 2 path s, 3 mode *i
Lifecycle: 1 postStart LifecycleHandler, 2 preStop LifecycleHandler, 3 stopSignal *s
LifecycleHandler: 1 exec ExecAction, 2 httpGet HTTPGetAction, 3 tcpSocket TCPSocketAction, 4 sleep SleepAction
LimitRange: 1 metadata meta.v1/ObjectMeta, 2 spec LimitRangeSpec
LimitRangeItem: 1 type s, 2 max {}Q, 3 min {}Q, 4 default {}Q, 5 defaultRequest {}Q, 6 maxLimitRequestRatio {}Q
LimitRangeSpec: 1 limits []LimitRangeItem
LinuxContainerUser: 1 uid i, 2 gid i, 3 supplementalGroups []i
LoadBalancerIngress: 1 ip s, 2 hostname s, 3 ipMode *s, 4 ports []PortStatus
LoadBalancerStatus: 1 ingress []LoadBalancerIngress
LocalObjectReference: 1 name s
LocalVolumeSource: 1 path s, 2 fsType *s
ModifyVolumeStatus: 1 targetVolumeAttributesClassName s, 2 status s
NFSVolumeSource: 1 server s, 2 path s, 3 readOnly b
Namespace: 1 metadata meta.v1/ObjectMeta, 2 spec NamespaceSpec, 3 status NamespaceStatus
NamespaceCondition: 1 type s, 2 status s, 4 lastTransitionTime T, 5 reason s, 6 message s
NamespaceSpec: 1 finalizers []s
NamespaceStatus: 1 phase s, 2 conditions []NamespaceCondition
Node: 1 metadata meta.v1/ObjectMeta, 2 spec NodeSpec, 3 status NodeStatus
NodeAddress: 1 type s, 2 address s
NodeAffinity: 1 requiredDuringSchedulingIgnoredDuringExecution NodeSelector, 2 preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm
NodeCondition: 1 type s, 2 status s, 3 lastHeartbeatTime T, 4 lastTransitionTime T, 5 reason s, 6 message s
NodeConfigSource: 2 configMap ConfigMapNodeConfigSource
NodeConfigStatus: 1 assigned NodeConfigSource, 2 active NodeConfigSource, 3 lastKnownGood NodeConfigSource, 4 error s
NodeDaemonEndpoints: 1 kubeletEndpoint DaemonEndpoint
NodeFeatures: 1 supplementalGroupsPolicy *b
NodeRuntimeHandler: 1 name s, 2 features NodeRuntimeHandlerFeatures
NodeRuntimeHandlerFeatures: 1 recursiveReadOnlyMounts *b, 2 userNamespaces *b
NodeSelector: 1 nodeSelectorTerms []NodeSelectorTerm
NodeSelectorRequirement: 1 key s, 2 operator s, 3 values []s
NodeSelectorTerm: 1 matchExpressions []NodeSelectorRequirement, 2 matchFields []NodeSelectorRequirement
NodeSpec: 1 podCIDR s, 7 podCIDRs []s, 3 providerID s, 4 unschedulable b, 5 taints []Taint, 6 configSource NodeConfigSource, 2 externalID s
NodeStatus: 1 capacity {}Q, 2 allocatable {}Q, 3 phase s, 4 conditions []NodeCondition, 5 addresses []NodeAddress, 6 daemonEndpoints NodeDaemonEndpoints, 7 nodeInfo NodeSystemInfo, 8 images []ContainerImage, 9 volumesInUse []s, 10 volumesAttached []AttachedVolume, 11 config NodeConfigStatus, 12 runtimeHandlers []NodeRuntimeHandler, 13 features NodeFeatures
NodeSwapStatus: 1 capacity *i
NodeSystemInfo: 1 machineID s, 2 systemUUID s, 3 bootID s, 4 kernelVersion s, 5 osImage s, 6 containerRuntimeVersion s, 7 kubeletVersion s, 8 kubeProxyVersion s, 9 operatingSystem s, 10 architecture s, 11 swap NodeSwapStatus
ObjectFieldSelector: 1 apiVersion s, 2 fieldPath s
ObjectReference: 1 kind s, 2 namespace s, 3 name s, 4 uid s, 5 apiVersion s, 6 resourceVersion s, 7 fieldPath s
PersistentVolume: 1 metadata meta.v1/ObjectMeta, 2 spec PersistentVolumeSpec, 3 status PersistentVolumeStatus
PersistentVolumeClaim: 1 metadata meta.v1/ObjectMeta, 2 spec PersistentVolumeClaimSpec, 3 status PersistentVolumeClaimStatus
PersistentVolumeClaimCondition: 1 type s, 2 status s, 3 lastProbeTime T, 4 lastTransitionTime T, 5 reason s, 6 message s
PersistentVolumeClaimSpec: 1 accessModes []s, 4 selector meta.v1/LabelSelector, 2 resources VolumeResourceRequirements, 3 volumeName s, 5 storageClassName *s, 6 volumeMode *s, 7 dataSource TypedLocalObjectReference, 8 dataSourceRef TypedObjectReference, 9 volumeAttributesClassName *s
PersistentVolumeClaimStatus: 1 phase s, 2 accessModes []s, 3 capacity {}Q, 4 conditions []PersistentVolumeClaimCondition, 5 allocatedResources {}Q, 7 allocatedResourceStatuses {}s, 8 currentVolumeAttributesClassName *s, 9 modifyVolumeStatus ModifyVolumeStatus
PersistentVolumeClaimTemplate: 1 metadata meta.v1/ObjectMeta, 2 spec PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: 1 claimName s, 2 readOnly b
PersistentVolumeSource: 1 gcePersistentDisk GCEPersistentDiskVolumeSource, 2 awsElasticBlockStore AWSElasticBlockStoreVolumeSource, 3 hostPath HostPathVolumeSource, 4 glusterfs GlusterfsPersistentVolumeSource, 5 nfs NFSVolumeSource, 6 rbd RBDPersistentVolumeSource, 7 iscsi ISCSIPersistentVolumeSource, 8 cinder CinderPersistentVolumeSource, 9 cephfs CephFSPersistentVolumeSource, 10 fc FCVolumeSource, 11 flocker FlockerVolumeSource, 12 flexVolume FlexPersistentVolumeSource, 13 azureFile AzureFilePersistentVolumeSource, 14 vsphereVolume VsphereVirtualDiskVolumeSource, 15 quobyte QuobyteVolumeSource, 16 azureDisk AzureDiskVolumeSource, 17 photonPersistentDisk PhotonPersistentDiskVolumeSource, 18 portworxVolume PortworxVolumeSource, 19 scaleIO ScaleIOPersistentVolumeSource, 20 local LocalVolumeSource, 21 storageos StorageOSPersistentVolumeSource, 22 csi CSIPersistentVolumeSource
PersistentVolumeSpec: 1 capacity {}Q, 2 & PersistentVolumeSource, 3 accessModes []s, 4 claimRef ObjectReference, 5 persistentVolumeReclaimPolicy s, 6 storageClassName s, 7 mountOptions []s, 8 volumeMode *s, 9 nodeAffinity VolumeNodeAffinity, 10 volumeAttributesClassName *s
PersistentVolumeStatus: 1 phase s, 2 message s, 3 reason s, 4 lastPhaseTransitionTime T
PhotonPersistentDiskVolumeSource: 1 pdID s, 2 fsType s
Pod: 1 metadata meta.v1/ObjectMeta, 2 spec PodSpec, 3 status PodStatus
PodAffinity: 1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm, 2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodAffinityTerm: 1 labelSelector meta.v1/LabelSelector, 2 namespaces []s, 3 topologyKey s, 4 namespaceSelector meta.v1/LabelSelector, 5 matchLabelKeys []s, 6 mismatchLabelKeys []s
PodAntiAffinity: 1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm, 2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodCertificateProjection: 1 signerName s, 2 keyType s, 3 maxExpirationSeconds *i, 4 credentialBundlePath s, 5 keyPath s, 6 certificateChainPath s
PodCondition: 1 type s, 7 observedGeneration i, 2 status s, 3 lastProbeTime T, 4 lastTransitionTime T, 5 reason s, 6 message s
PodDNSConfig: 1 nameservers []s, 2 searches []s, 3 options []PodDNSConfigOption
PodDNSConfigOption: 1 name s, 2 value *s
PodExtendedResourceClaimStatus: 1 requestMappings []ContainerExtendedResourceRequest, 2 resourceClaimName s
PodIP: 1 ip s
PodOS: 1 name s
PodReadinessGate: 1 conditionType s
PodResourceClaim: 1 name s, 3 resourceClaimName *s, 4 resourceClaimTemplateName *s
PodResourceClaimStatus: 1 name s, 2 resourceClaimName *s
PodSchedulingGate: 1 name s
PodSecurityContext: 1 seLinuxOptions SELinuxOptions, 8 windowsOptions WindowsSecurityContextOptions, 2 runAsUser *i, 6 runAsGroup *i, 3 runAsNonRoot *b, 4 supplementalGroups []i, 12 supplementalGroupsPolicy *s, 5 fsGroup *i, 7 sysctls []Sysctl, 9 fsGroupChangePolicy *s, 10 seccompProfile SeccompProfile, 11 appArmorProfile AppArmorProfile, 13 seLinuxChangePolicy *s
PodSpec: 1 volumes []Volume, 20 initContainers []Container, 2 containers []Container, 34 ephemeralContainers []EphemeralContainer, 3 restartPolicy s, 4 terminationGracePeriodSeconds *i, 5 activeDeadlineSeconds *i, 6 dnsPolicy s, 7 nodeSelector {}s, 8 serviceAccountName s, 9 serviceAccount s, 21 automountServiceAccountToken *b, 10 nodeName s, 11 hostNetwork b, 12 hostPID b, 13 hostIPC b, 27 shareProcessNamespace *b, 14 securityContext PodSecurityContext, 15 imagePullSecrets []LocalObjectReference, 16 hostname s, 17 subdomain s, 18 affinity Affinity, 19 schedulerName s, 22 tolerations []Toleration, 23 hostAliases []HostAlias, 24 priorityClassName s, 25 priority *i, 26 dnsConfig PodDNSConfig, 28 readinessGates []PodReadinessGate, 29 runtimeClassName *s, 30 enableServiceLinks *b, 31 preemptionPolicy *s, 32 overhead {}Q, 33 topologySpreadConstraints []TopologySpreadConstraint, 35 setHostnameAsFQDN *b, 36 os PodOS, 37 hostUsers *b, 38 schedulingGates []PodSchedulingGate, 39 resourceClaims []PodResourceClaim, 40 resources ResourceRequirements, 41 hostnameOverride *s
PodStatus: 17 observedGeneration i, 1 phase s, 2 conditions []PodCondition, 3 message s, 4 reason s, 11 nominatedNodeName s, 5 hostIP s, 16 hostIPs []HostIP, 6 podIP s, 12 podIPs []PodIP, 7 startTime T, 10 initContainerStatuses []ContainerStatus, 8 containerStatuses []ContainerStatus, 9 qosClass s, 13 ephemeralContainerStatuses []ContainerStatus, 14 resize s, 15 resourceClaimStatuses []PodResourceClaimStatus, 18 extendedResourceClaimStatus PodExtendedResourceClaimStatus
PodTemplateSpec: 1 metadata meta.v1/ObjectMeta, 2 spec PodSpec
PortStatus: 1 port i, 2 protocol s, 3 error *s
PortworxVolumeSource: 1 volumeID s, 2 fsType s, 3 readOnly b
PreferredSchedulingTerm: 1 weight i, 2 preference NodeSelectorTerm
Probe: 1 & ProbeHandler, 2 initialDelaySeconds i, 3 timeoutSeconds i, 4 periodSeconds i, 5 successThreshold i, 6 failureThreshold i, 7 terminationGracePeriodSeconds *i
ProbeHandler: 1 exec ExecAction, 2 httpGet HTTPGetAction, 3 tcpSocket TCPSocketAction, 4 grpc GRPCAction
ProjectedVolumeSource: 1 sources []VolumeProjection, 2 defaultMode *i
QuobyteVolumeSource: 1 registry s, 2 volume s, 3 readOnly b, 4 user s, 5 group s, 6 tenant s
RBDPersistentVolumeSource: 1 monitors []s, 2 image s, 3 fsType s, 4 pool s, 5 user s, 6 keyring s, 7 secretRef SecretReference, 8 readOnly b
RBDVolumeSource: 1 monitors []s, 2 image s, 3 fsType s, 4 pool s, 5 user s, 6 keyring s, 7 secretRef LocalObjectReference, 8 readOnly b
ReplicationController: 1 metadata meta.v1/ObjectMeta, 2 spec ReplicationControllerSpec, 3 status ReplicationControllerStatus
ReplicationControllerCondition: 1 type s, 2 status s, 3 lastTransitionTime T, 4 reason s, 5 message s
ReplicationControllerSpec: 1 replicas *i, 4 minReadySeconds i, 2 selector {}s, 3 template PodTemplateSpec
ReplicationControllerStatus: 1 replicas i, 2 fullyLabeledReplicas i, 4 readyReplicas i, 5 availableReplicas i, 3 observedGeneration i, 6 conditions []ReplicationControllerCondition
ResourceClaim: 1 name s, 2 request s
ResourceFieldSelector: 1 containerName s, 2 resource s, 3 divisor Q
ResourceHealth: 1 resourceID s, 2 health s
ResourceQuota: 1 metadata meta.v1/ObjectMeta, 2 spec ResourceQuotaSpec, 3 status ResourceQuotaStatus
ResourceQuotaSpec: 1 hard {}Q, 2 scopes []s, 3 scopeSelector ScopeSelector
ResourceQuotaStatus: 1 hard {}Q, 2 used {}Q
ResourceRequirements: 1 limits {}Q, 2 requests {}Q, 3 claims []ResourceClaim
ResourceStatus: 1 name s, 2 resources []ResourceHealth
SELinuxOptions: 1 user s, 2 role s, 3 type s, 4 level s
ScaleIOPersistentVolumeSource: 1 gateway s, 2 system s, 3 secretRef SecretReference, 4 sslEnabled b, 5 protectionDomain s, 6 storagePool s, 7 storageMode s, 8 volumeName s, 9 fsType s, 10 readOnly b
ScaleIOVolumeSource: 1 gateway s, 2 system s, 3 secretRef LocalObjectReference, 4 sslEnabled b, 5 protectionDomain s, 6 storagePool s, 7 storageMode s, 8 volumeName s, 9 fsType s, 10 readOnly b
ScopeSelector: 1 matchExpressions []ScopedResourceSelectorRequirement
ScopedResourceSelectorRequirement: 1 scopeName s, 2 operator s, 3 values []s
SeccompProfile: 1 type s, 2 localhostProfile *s
Secret: 1 metadata meta.v1/ObjectMeta, 5 immutable *b, 2 data {}y, 4 stringData {}s, 3 type s
SecretEnvSource: 1 & LocalObjectReference, 2 optional *b
SecretKeySelector: 1 & LocalObjectReference, 2 key s, 3 optional *b
SecretProjection: 1 & LocalObjectReference, 2 items []KeyToPath, 4 optional *b
SecretReference: 1 name s, 2 namespace s
SecretVolumeSource: 1 secretName s, 2 items []KeyToPath, 3 defaultMode *i, 4 optional *b
SecurityContext: 1 capabilities Capabilities, 2 privileged *b, 3 seLinuxOptions SELinuxOptions, 10 windowsOptions WindowsSecurityContextOptions, 4 runAsUser *i, 8 runAsGroup *i, 5 runAsNonRoot *b, 6 readOnlyRootFilesystem *b, 7 allowPrivilegeEscalation *b, 9 procMount *s, 11 seccompProfile SeccompProfile, 12 appArmorProfile AppArmorProfile
Service: 1 metadata meta.v1/ObjectMeta, 2 spec ServiceSpec, 3 status ServiceStatus
ServiceAccount: 1 metadata meta.v1/ObjectMeta, 2 secrets []ObjectReference, 3 imagePullSecrets []LocalObjectReference, 4 automountServiceAccountToken *b
ServiceAccountTokenProjection: 1 audience s, 2 expirationSeconds *i, 3 path s
ServicePort: 1 name s, 2 protocol s, 6 appProtocol *s, 3 port i, 4 targetPort I, 5 nodePort i
ServiceSpec: 1 ports []ServicePort, 2 selector {}s, 3 clusterIP s, 18 clusterIPs []s, 4 type s, 5 externalIPs []s, 7 sessionAffinity s, 8 loadBalancerIP s, 9 loadBalancerSourceRanges []s, 10 externalName s, 11 externalTrafficPolicy s, 12 healthCheckNodePort i, 13 publishNotReadyAddresses b, 14 sessionAffinityConfig SessionAffinityConfig, 19 ipFamilies []s, 17 ipFamilyPolicy *s, 20 allocateLoadBalancerNodePorts *b, 21 loadBalancerClass *s, 22 internalTrafficPolicy *s, 23 trafficDistribution *s
ServiceStatus: 1 loadBalancer LoadBalancerStatus, 2 conditions []meta.v1/Condition
SessionAffinityConfig: 1 clientIP ClientIPConfig
SleepAction: 1 seconds i
StorageOSPersistentVolumeSource: 1 volumeName s, 2 volumeNamespace s, 3 fsType s, 4 readOnly b, 5 secretRef ObjectReference
StorageOSVolumeSource: 1 volumeName s, 2 volumeNamespace s, 3 fsType s, 4 readOnly b, 5 secretRef LocalObjectReference
Sysctl: 1 name s, 2 value s
TCPSocketAction: 1 port I, 2 host s
Taint: 1 key s, 2 value s, 3 effect s, 4 timeAdded T
Toleration: 1 key s, 2 operator s, 3 value s, 4 effect s, 5 tolerationSeconds *i
TopologySelectorLabelRequirement: 1 key s, 2 values []s
TopologySelectorTerm: 1 matchLabelExpressions []TopologySelectorLabelRequirement
TopologySpreadConstraint: 1 maxSkew i, 2 topologyKey s, 3 whenUnsatisfiable s, 4 labelSelector meta.v1/LabelSelector, 5 minDomains *i, 6 nodeAffinityPolicy *s, 7 nodeTaintsPolicy *s, 8 matchLabelKeys []s
TypedLocalObjectReference: 1 apiGroup *s, 2 kind s, 3 name s
TypedObjectReference: 1 apiGroup *s, 2 kind s, 3 name s, 4 namespace *s
Volume: 1 name s, 2 & VolumeSource
VolumeDevice: 1 name s, 2 devicePath s
VolumeMount: 1 name s, 2 readOnly b, 7 recursiveReadOnly *s, 3 mountPath s, 4 subPath s, 5 mountPropagation *s, 6 subPathExpr s
VolumeMountStatus: 1 name s, 2 mountPath s, 3 readOnly b, 4 recursiveReadOnly *s
VolumeNodeAffinity: 1 required NodeSelector
VolumeProjection: 1 secret SecretProjection, 2 downwardAPI DownwardAPIProjection, 3 configMap ConfigMapProjection, 4 serviceAccountToken ServiceAccountTokenProjection, 5 clusterTrustBundle ClusterTrustBundleProjection, 6 podCertificate PodCertificateProjection
VolumeResourceRequirements: 1 limits {}Q, 2 requests {}Q
VolumeSource: 1 hostPath HostPathVolumeSource, 2 emptyDir EmptyDirVolumeSource, 3 gcePersistentDisk GCEPersistentDiskVolumeSource, 4 awsElasticBlockStore AWSElasticBlockStoreVolumeSource, 5 gitRepo GitRepoVolumeSource, 6 secret SecretVolumeSource, 7 nfs NFSVolumeSource, 8 iscsi ISCSIVolumeSource, 9 glusterfs GlusterfsVolumeSource, 10 persistentVolumeClaim PersistentVolumeClaimVolumeSource, 11 rbd RBDVolumeSource, 12 flexVolume FlexVolumeSource, 13 cinder CinderVolumeSource, 14 cephfs CephFSVolumeSource, 15 flocker FlockerVolumeSource, 16 downwardAPI DownwardAPIVolumeSource, 17 fc FCVolumeSource, 18 azureFile AzureFileVolumeSource, 19 configMap ConfigMapVolumeSource, 20 vsphereVolume VsphereVirtualDiskVolumeSource, 21 quobyte QuobyteVolumeSource, 22 azureDisk AzureDiskVolumeSource, 23 photonPersistentDisk PhotonPersistentDiskVolumeSource, 26 projected ProjectedVolumeSource, 24 portworxVolume PortworxVolumeSource, 25 scaleIO ScaleIOVolumeSource, 27 storageos StorageOSVolumeSource, 28 csi CSIVolumeSource, 29 ephemeral EphemeralVolumeSource, 30 image ImageVolumeSource
VsphereVirtualDiskVolumeSource: 1 volumePath s, 2 fsType s, 3 storagePolicyName s, 4 storagePolicyID s
WeightedPodAffinityTerm: 1 weight i, 2 podAffinityTerm PodAffinityTerm
WindowsSecurityContextOptions: 1 gmsaCredentialSpecName *s, 2 gmsaCredentialSpec *s, 3 runAsUserName *s, 4 hostProcess *b
# discovery.v1
Endpoint: 1 addresses []s, 2 conditions EndpointConditions, 3 hostname *s, 4 targetRef core.v1/ObjectReference, 5 deprecatedTopology {}s, 6 nodeName *s, 7 zone *s, 8 hints EndpointHints
EndpointConditions: 1 ready *b, 2 serving *b, 3 terminating *b
EndpointHints: 1 forZones []ForZone, 2 forNodes []ForNode
EndpointPort: 1 name *s, 2 protocol *s, 3 port *i, 4 appProtocol *s
EndpointSlice: 1 metadata meta.v1/ObjectMeta, 4 addressType s, 2 endpoints []Endpoint, 3 ports []EndpointPort
ForNode: 1 name s
ForZone: 1 name s
# events.v1
Event: 1 metadata meta.v1/ObjectMeta, 2 eventTime M, 3 series EventSeries, 4 reportingController s, 5 reportingInstance s, 6 action s, 7 reason s, 8 regarding core.v1/ObjectReference, 9 related core.v1/ObjectReference, 10 note s, 11 type s, 12 deprecatedSource core.v1/EventSource, 13 deprecatedFirstTimestamp T, 14 deprecatedLastTimestamp T, 15 deprecatedCount i
EventSeries: 1 count i, 2 lastObservedTime M
# meta.v1
Condition: 1 type s, 2 status s, 3 observedGeneration i, 4 lastTransitionTime T, 5 reason s, 6 message s
DeleteOptions: 1 gracePeriodSeconds *i, 2 preconditions Preconditions, 3 orphanDependents *b, 4 propagationPolicy *s, 5 dryRun []s, 6 ignoreStoreReadErrorWithClusterBreakingPotential *b
FieldSelectorRequirement: 1 key s, 2 operator s, 3 values []s
LabelSelector: 1 matchLabels {}s, 2 matchExpressions []LabelSelectorRequirement
LabelSelectorRequirement: 1 key s, 2 operator s, 3 values []s
ObjectMeta: 1 name s, 2 generateName s, 3 namespace s, 4 selfLink s, 5 uid s, 6 resourceVersion s, 7 generation i, 8 creationTimestamp T, 9 deletionTimestamp T, 10 deletionGracePeriodSeconds *i, 11 labels {}s, 12 annotations {}s, 13 ownerReferences []OwnerReference, 14 finalizers []s
OwnerReference: 5 apiVersion s, 1 kind s, 3 name s, 4 uid s, 6 controller *b, 7 blockOwnerDeletion *b
Preconditions: 1 uid *s, 2 resourceVersion *s
# networking.v1
HTTPIngressPath: 1 path s, 3 pathType *s, 2 backend IngressBackend
HTTPIngressRuleValue: 1 paths []HTTPIngressPath
IPBlock: 1 cidr s, 2 except []s
Ingress: 1 metadata meta.v1/ObjectMeta, 2 spec IngressSpec, 3 status IngressStatus
IngressBackend: 4 service IngressServiceBackend, 3 resource core.v1/TypedLocalObjectReference
IngressClass: 1 metadata meta.v1/ObjectMeta, 2 spec IngressClassSpec
IngressClassParametersReference: 1 apiGroup *s, 2 kind s, 3 name s, 4 scope *s, 5 namespace *s
IngressClassSpec: 1 controller s, 2 parameters IngressClassParametersReference
IngressLoadBalancerIngress: 1 ip s, 2 hostname s, 4 ports []IngressPortStatus
IngressLoadBalancerStatus: 1 ingress []IngressLoadBalancerIngress
IngressPortStatus: 1 port i, 2 protocol s, 3 error *s
IngressRule: 1 host s, 2 & IngressRuleValue
IngressRuleValue: 1 http HTTPIngressRuleValue
IngressServiceBackend: 1 name s, 2 port ServiceBackendPort
IngressSpec: 4 ingressClassName *s, 1 defaultBackend IngressBackend, 2 tls []IngressTLS, 3 rules []IngressRule
IngressStatus: 1 loadBalancer IngressLoadBalancerStatus
IngressTLS: 1 hosts []s, 2 secretName s
NetworkPolicy: 1 metadata meta.v1/ObjectMeta, 2 spec NetworkPolicySpec
NetworkPolicyEgressRule: 1 ports []NetworkPolicyPort, 2 to []NetworkPolicyPeer
NetworkPolicyIngressRule: 1 ports []NetworkPolicyPort, 2 from []NetworkPolicyPeer
NetworkPolicyPeer: 1 podSelector meta.v1/LabelSelector, 2 namespaceSelector meta.v1/LabelSelector, 3 ipBlock IPBlock
NetworkPolicyPort: 1 protocol *s, 2 port I, 3 endPort *i
NetworkPolicySpec: 1 podSelector meta.v1/LabelSelector, 2 ingress []NetworkPolicyIngressRule, 3 egress []NetworkPolicyEgressRule, 4 policyTypes []s
ServiceBackendPort: 1 name s, 2 number i
# policy.v1
Eviction: 1 metadata meta.v1/ObjectMeta, 2 deleteOptions meta.v1/DeleteOptions
PodDisruptionBudget: 1 metadata meta.v1/ObjectMeta, 2 spec PodDisruptionBudgetSpec, 3 status PodDisruptionBudgetStatus
PodDisruptionBudgetSpec: 1 minAvailable I, 2 selector meta.v1/LabelSelector, 3 maxUnavailable I, 4 unhealthyPodEvictionPolicy *s
PodDisruptionBudgetStatus: 1 observedGeneration i, 2 disruptedPods {}T, 3 disruptionsAllowed i, 4 currentHealthy i, 5 desiredHealthy i, 6 expectedPods i, 7 conditions []meta.v1/Condition
# rbac.v1
AggregationRule: 1 clusterRoleSelectors []meta.v1/LabelSelector
ClusterRole: 1 metadata meta.v1/ObjectMeta, 2 rules []PolicyRule, 3 aggregationRule AggregationRule
ClusterRoleBinding: 1 metadata meta.v1/ObjectMeta, 2 subjects []Subject, 3 roleRef RoleRef
PolicyRule: 1 verbs []s, 2 apiGroups []s, 3 resources []s, 4 resourceNames []s, 5 nonResourceURLs []s
Role: 1 metadata meta.v1/ObjectMeta, 2 rules []PolicyRule
RoleBinding: 1 metadata meta.v1/ObjectMeta, 2 subjects []Subject, 3 roleRef RoleRef
RoleRef: 1 apiGroup s, 2 kind s, 3 name s
Subject: 1 kind s, 2 apiGroup s, 3 name s, 4 namespace s
# scheduling.v1
PriorityClass: 1 metadata meta.v1/ObjectMeta, 2 value i, 3 globalDefault b, 4 description s, 5 preemptionPolicy *s
# storage.v1
StorageClass: 1 metadata meta.v1/ObjectMeta, 2 provisioner s, 3 parameters {}s, 4 reclaimPolicy *s, 5 mountOptions []s, 6 allowVolumeExpansion *b, 7 volumeBindingMode *s, 8 allowedTopologies []core.v1/TopologySelectorTerm
`;
