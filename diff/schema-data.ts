/* eslint-disable max-lines -- a table */
/**
 * The shape of Kubernetes' built-in types: facts read by reflection from k8s.io/api, and from the OpenAPI that the API server publishes, at
 * version 1.36.3. Written by scripts/generate-schema-data.mjs, not edited by hand. Versions of kinds that no server has had since 1.22
 * are left out.
 *
 * One string per type, fields apart by spaces: `name?:kind^%keys~mergeKey`. `?` is omitempty. Kinds: b bool, i integer, f float, s string,
 * y bytes, q quantity, m quantity that is rounded up to thousandths, o integer-or-string, t time, u time with microseconds, d duration,
 * r anything, `*x` pointer, `[x` list, `{x` map, else the name of a type. `~key` is patchStrategy merge (no key: of scalars), `^` is
 * retainKeys, `!` replace. Server-side apply: `%a,b` owns the items of a list by keys, `%` those of a set, `=` a map as a whole (as first
 * word: wherever the type stands); all other lists as a whole, all other maps by member.
 */
export const kinds: Readonly<Record<string, string>> = {
  'admissionregistration.k8s.io/v1 MutatingAdmissionPolicy': 'MutatingAdmissionPolicy',
  'admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding': 'MutatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/v1 MutatingWebhookConfiguration': 'MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy': 'ValidatingAdmissionPolicy',
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding': 'ValidatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration': 'ValidatingWebhookConfiguration',
  'admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy':
    'admissionregistration.v1alpha1.MutatingAdmissionPolicy',
  'admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding':
    'admissionregistration.v1alpha1.MutatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicy':
    'admissionregistration.v1alpha1.ValidatingAdmissionPolicy',
  'admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicyBinding':
    'admissionregistration.v1alpha1.ValidatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy':
    'admissionregistration.v1beta1.MutatingAdmissionPolicy',
  'admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding':
    'admissionregistration.v1beta1.MutatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration':
    'admissionregistration.v1beta1.MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy':
    'admissionregistration.v1beta1.ValidatingAdmissionPolicy',
  'admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicyBinding':
    'admissionregistration.v1beta1.ValidatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/v1beta1 ValidatingWebhookConfiguration':
    'admissionregistration.v1beta1.ValidatingWebhookConfiguration',
  'apiextensions.k8s.io/v1 CustomResourceDefinition': 'CustomResourceDefinition',
  'apiregistration.k8s.io/v1 APIService': 'APIService',
  'apps/v1 ControllerRevision': 'ControllerRevision',
  'apps/v1 DaemonSet': 'DaemonSet',
  'apps/v1 Deployment': 'Deployment',
  'apps/v1 ReplicaSet': 'ReplicaSet',
  'apps/v1 StatefulSet': 'StatefulSet',
  'autoscaling/v1 HorizontalPodAutoscaler': 'HorizontalPodAutoscaler',
  'autoscaling/v2 HorizontalPodAutoscaler': 'autoscaling.v2.HorizontalPodAutoscaler',
  'batch/v1 CronJob': 'CronJob',
  'batch/v1 Job': 'Job',
  'batch/v1beta1 CronJob': 'batch.v1beta1.CronJob',
  'certificates.k8s.io/v1 CertificateSigningRequest': 'CertificateSigningRequest',
  'certificates.k8s.io/v1alpha1 ClusterTrustBundle': 'ClusterTrustBundle',
  'certificates.k8s.io/v1beta1 CertificateSigningRequest': 'certificates.v1beta1.CertificateSigningRequest',
  'certificates.k8s.io/v1beta1 ClusterTrustBundle': 'certificates.v1beta1.ClusterTrustBundle',
  'certificates.k8s.io/v1beta1 PodCertificateRequest': 'PodCertificateRequest',
  'coordination.k8s.io/v1 Lease': 'Lease',
  'coordination.k8s.io/v1alpha2 LeaseCandidate': 'LeaseCandidate',
  'coordination.k8s.io/v1beta1 Lease': 'coordination.v1beta1.Lease',
  'coordination.k8s.io/v1beta1 LeaseCandidate': 'coordination.v1beta1.LeaseCandidate',
  'discovery.k8s.io/v1 EndpointSlice': 'EndpointSlice',
  'discovery.k8s.io/v1beta1 EndpointSlice': 'discovery.v1beta1.EndpointSlice',
  'events.k8s.io/v1 Event': 'events.v1.Event',
  'events.k8s.io/v1beta1 Event': 'events.v1beta1.Event',
  'flowcontrol.apiserver.k8s.io/v1 FlowSchema': 'FlowSchema',
  'flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration': 'PriorityLevelConfiguration',
  'flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema': 'flowcontrol.v1beta1.FlowSchema',
  'flowcontrol.apiserver.k8s.io/v1beta1 PriorityLevelConfiguration': 'flowcontrol.v1beta1.PriorityLevelConfiguration',
  'flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema': 'flowcontrol.v1beta2.FlowSchema',
  'flowcontrol.apiserver.k8s.io/v1beta2 PriorityLevelConfiguration': 'flowcontrol.v1beta2.PriorityLevelConfiguration',
  'flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema': 'flowcontrol.v1beta3.FlowSchema',
  'flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration': 'flowcontrol.v1beta3.PriorityLevelConfiguration',
  'internal.apiserver.k8s.io/v1alpha1 StorageVersion': 'StorageVersion',
  'networking.k8s.io/v1 IPAddress': 'IPAddress',
  'networking.k8s.io/v1 Ingress': 'Ingress',
  'networking.k8s.io/v1 IngressClass': 'IngressClass',
  'networking.k8s.io/v1 NetworkPolicy': 'NetworkPolicy',
  'networking.k8s.io/v1 ServiceCIDR': 'ServiceCIDR',
  'networking.k8s.io/v1beta1 IPAddress': 'networking.v1beta1.IPAddress',
  'networking.k8s.io/v1beta1 Ingress': 'networking.v1beta1.Ingress',
  'networking.k8s.io/v1beta1 IngressClass': 'networking.v1beta1.IngressClass',
  'networking.k8s.io/v1beta1 ServiceCIDR': 'networking.v1beta1.ServiceCIDR',
  'node.k8s.io/v1 RuntimeClass': 'RuntimeClass',
  'node.k8s.io/v1alpha1 RuntimeClass': 'node.v1alpha1.RuntimeClass',
  'node.k8s.io/v1beta1 RuntimeClass': 'node.v1beta1.RuntimeClass',
  'policy/v1 PodDisruptionBudget': 'PodDisruptionBudget',
  'policy/v1beta1 PodDisruptionBudget': 'policy.v1beta1.PodDisruptionBudget',
  'rbac.authorization.k8s.io/v1 ClusterRole': 'ClusterRole',
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': 'ClusterRoleBinding',
  'rbac.authorization.k8s.io/v1 Role': 'Role',
  'rbac.authorization.k8s.io/v1 RoleBinding': 'RoleBinding',
  'rbac.authorization.k8s.io/v1beta1 ClusterRole': 'rbac.v1beta1.ClusterRole',
  'rbac.authorization.k8s.io/v1beta1 ClusterRoleBinding': 'rbac.v1beta1.ClusterRoleBinding',
  'rbac.authorization.k8s.io/v1beta1 Role': 'rbac.v1beta1.Role',
  'rbac.authorization.k8s.io/v1beta1 RoleBinding': 'rbac.v1beta1.RoleBinding',
  'resource.k8s.io/v1 DeviceClass': 'DeviceClass',
  'resource.k8s.io/v1 ResourceClaim': 'resource.v1.ResourceClaim',
  'resource.k8s.io/v1 ResourceClaimTemplate': 'ResourceClaimTemplate',
  'resource.k8s.io/v1 ResourceSlice': 'ResourceSlice',
  'resource.k8s.io/v1alpha3 DeviceTaintRule': 'DeviceTaintRule',
  'resource.k8s.io/v1alpha3 ResourcePoolStatusRequest': 'ResourcePoolStatusRequest',
  'resource.k8s.io/v1beta1 DeviceClass': 'resource.v1beta1.DeviceClass',
  'resource.k8s.io/v1beta1 ResourceClaim': 'resource.v1beta1.ResourceClaim',
  'resource.k8s.io/v1beta1 ResourceClaimTemplate': 'resource.v1beta1.ResourceClaimTemplate',
  'resource.k8s.io/v1beta1 ResourceSlice': 'resource.v1beta1.ResourceSlice',
  'resource.k8s.io/v1beta2 DeviceClass': 'resource.v1beta2.DeviceClass',
  'resource.k8s.io/v1beta2 DeviceTaintRule': 'resource.v1beta2.DeviceTaintRule',
  'resource.k8s.io/v1beta2 ResourceClaim': 'resource.v1beta2.ResourceClaim',
  'resource.k8s.io/v1beta2 ResourceClaimTemplate': 'resource.v1beta2.ResourceClaimTemplate',
  'resource.k8s.io/v1beta2 ResourceSlice': 'resource.v1beta2.ResourceSlice',
  'scheduling.k8s.io/v1 PriorityClass': 'PriorityClass',
  'scheduling.k8s.io/v1alpha2 PodGroup': 'PodGroup',
  'scheduling.k8s.io/v1alpha2 Workload': 'Workload',
  'scheduling.k8s.io/v1beta1 PriorityClass': 'scheduling.v1beta1.PriorityClass',
  'storage.k8s.io/v1 CSIDriver': 'CSIDriver',
  'storage.k8s.io/v1 CSINode': 'CSINode',
  'storage.k8s.io/v1 CSIStorageCapacity': 'CSIStorageCapacity',
  'storage.k8s.io/v1 StorageClass': 'StorageClass',
  'storage.k8s.io/v1 VolumeAttachment': 'VolumeAttachment',
  'storage.k8s.io/v1 VolumeAttributesClass': 'VolumeAttributesClass',
  'storage.k8s.io/v1beta1 CSIDriver': 'storage.v1beta1.CSIDriver',
  'storage.k8s.io/v1beta1 CSINode': 'storage.v1beta1.CSINode',
  'storage.k8s.io/v1beta1 CSIStorageCapacity': 'storage.v1beta1.CSIStorageCapacity',
  'storage.k8s.io/v1beta1 StorageClass': 'storage.v1beta1.StorageClass',
  'storage.k8s.io/v1beta1 VolumeAttachment': 'storage.v1beta1.VolumeAttachment',
  'storage.k8s.io/v1beta1 VolumeAttributesClass': 'storage.v1beta1.VolumeAttributesClass',
  'storagemigration.k8s.io/v1beta1 StorageVersionMigration': 'StorageVersionMigration',
  'v1 ConfigMap': 'ConfigMap',
  'v1 Endpoints': 'Endpoints',
  'v1 Event': 'Event',
  'v1 LimitRange': 'LimitRange',
  'v1 Namespace': 'Namespace',
  'v1 Node': 'Node',
  'v1 PersistentVolume': 'PersistentVolume',
  'v1 PersistentVolumeClaim': 'PersistentVolumeClaim',
  'v1 Pod': 'Pod',
  'v1 PodTemplate': 'PodTemplate',
  'v1 ReplicationController': 'ReplicationController',
  'v1 ResourceQuota': 'ResourceQuota',
  'v1 Secret': 'Secret',
  'v1 Service': 'Service',
  'v1 ServiceAccount': 'ServiceAccount',
};

export const types: Readonly<Record<string, string>> = {
  APIService: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:APIServiceSpec status?:APIServiceStatus',
  APIServiceCondition: 'type:s status:s lastTransitionTime?:t reason?:s message?:s',
  APIServiceSpec:
    'service?:*apiregistration.v1.ServiceReference group?:s version?:s insecureSkipTLSVerify?:b caBundle?:y groupPriorityMinimum:i versionPriority:i',
  APIServiceStatus: 'conditions?:[APIServiceCondition%type~type',
  AWSElasticBlockStoreVolumeSource: 'volumeID:s fsType?:s partition?:i readOnly?:b',
  Affinity: 'nodeAffinity?:*NodeAffinity podAffinity?:*PodAffinity podAntiAffinity?:*PodAntiAffinity',
  AggregationRule: 'clusterRoleSelectors?:[LabelSelector',
  AllocatedDeviceStatus:
    'driver:s pool:s device:s shareID?:*s conditions:[Condition%type data?:*r networkData?:*NetworkDeviceData',
  AllocationResult: 'devices?:DeviceAllocationResult nodeSelector?:*NodeSelector allocationTimestamp?:*t',
  AppArmorProfile: 'type:s localhostProfile?:*s',
  ApplyConfiguration: 'expression?:s',
  AttachedVolume: 'name:s devicePath:s',
  AuditAnnotation: 'key:s valueExpression:s',
  AzureDiskVolumeSource: 'diskName:s diskURI:s cachingMode?:*s fsType?:*s readOnly?:*b kind?:*s',
  AzureFilePersistentVolumeSource: 'secretName:s shareName:s readOnly?:b secretNamespace:*s',
  AzureFileVolumeSource: 'secretName:s shareName:s readOnly?:b',
  BasicDevice:
    'attributes?:{resource.v1beta1.DeviceAttribute capacity?:{resource.v1beta1.DeviceCapacity consumesCounters?:[resource.v1beta1.DeviceCounterConsumption nodeName?:*s nodeSelector?:*NodeSelector allNodes?:*b taints?:[resource.v1beta1.DeviceTaint bindsToNode?:*b bindingConditions?:[s bindingFailureConditions?:[s allowMultipleAllocations?:*b nodeAllocatableResourceMappings?:{resource.v1beta1.NodeAllocatableResourceMapping',
  BasicSchedulingPolicy: '',
  CELDeviceSelector: 'expression:s',
  CSIDriver: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:CSIDriverSpec',
  CSIDriverSpec:
    'attachRequired?:*b podInfoOnMount?:*b volumeLifecycleModes?:[s% storageCapacity?:*b fsGroupPolicy?:*s tokenRequests?:[TokenRequest requiresRepublish?:*b seLinuxMount?:*b nodeAllocatableUpdatePeriodSeconds?:*i serviceAccountTokenInSecrets?:*b preventPodSchedulingIfMissing?:*b',
  CSINode: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:CSINodeSpec',
  CSINodeDriver: 'name:s nodeID:s topologyKeys:[s allocatable?:*VolumeNodeResources',
  CSINodeSpec: 'drivers:[CSINodeDriver%name~name',
  CSIPersistentVolumeSource:
    'driver:s volumeHandle:s readOnly?:b fsType?:s volumeAttributes?:{s controllerPublishSecretRef?:*SecretReference nodeStageSecretRef?:*SecretReference nodePublishSecretRef?:*SecretReference controllerExpandSecretRef?:*SecretReference nodeExpandSecretRef?:*SecretReference',
  CSIStorageCapacity:
    'kind?:s apiVersion?:s metadata?:ObjectMeta nodeTopology?:*LabelSelector storageClassName:s capacity?:*q maximumVolumeSize?:*q',
  CSIVolumeSource: 'driver:s readOnly?:*b fsType?:*s volumeAttributes?:{s nodePublishSecretRef?:*LocalObjectReference',
  Capabilities: 'add?:[s drop?:[s',
  CapacityRequestPolicy: 'default:*q validValues?:[q validRange?:*CapacityRequestPolicyRange',
  CapacityRequestPolicyRange: 'min?:*q max?:*q step?:*q',
  CapacityRequirements: 'requests?:{q',
  CephFSPersistentVolumeSource: 'monitors:[s path?:s user?:s secretFile?:s secretRef?:*SecretReference readOnly?:b',
  CephFSVolumeSource: 'monitors:[s path?:s user?:s secretFile?:s secretRef?:*LocalObjectReference readOnly?:b',
  CertificateSigningRequest:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:CertificateSigningRequestSpec status?:CertificateSigningRequestStatus',
  CertificateSigningRequestCondition: 'type:s status:s reason?:s message?:s lastUpdateTime?:t lastTransitionTime?:t',
  CertificateSigningRequestSpec:
    'request:y signerName:s expirationSeconds?:*i usages?:[s username?:s uid?:s groups?:[s extra?:{[s',
  CertificateSigningRequestStatus: 'conditions?:[CertificateSigningRequestCondition%type certificate?:y',
  CinderPersistentVolumeSource: 'volumeID:s fsType?:s readOnly?:b secretRef?:*SecretReference',
  CinderVolumeSource: 'volumeID:s fsType?:s readOnly?:b secretRef?:*LocalObjectReference',
  ClientIPConfig: 'timeoutSeconds?:*i',
  ClusterRole: 'kind?:s apiVersion?:s metadata?:ObjectMeta rules:[PolicyRule aggregationRule?:*AggregationRule',
  ClusterRoleBinding: 'kind?:s apiVersion?:s metadata?:ObjectMeta subjects?:[rbac.v1.Subject roleRef:RoleRef',
  ClusterTrustBundle: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:ClusterTrustBundleSpec',
  ClusterTrustBundleProjection: 'name?:*s signerName?:*s labelSelector?:*LabelSelector optional?:*b path:s',
  ClusterTrustBundleSpec: 'signerName?:s trustBundle:s',
  Condition: 'type:s status:s observedGeneration?:i lastTransitionTime:t reason:s message:s',
  ConfigMap: 'kind?:s apiVersion?:s metadata?:ObjectMeta immutable?:*b data?:{s binaryData?:{y',
  ConfigMapEnvSource: 'name?:s optional?:*b',
  ConfigMapKeySelector: '= name?:s key:s optional?:*b',
  ConfigMapNodeConfigSource: 'namespace:s name:s uid?:s resourceVersion?:s kubeletConfigKey:s',
  ConfigMapProjection: 'name?:s items?:[KeyToPath optional?:*b',
  ConfigMapVolumeSource: 'name?:s items?:[KeyToPath defaultMode?:*i optional?:*b',
  Container:
    'name:s image?:s command?:[s args?:[s workingDir?:s ports?:[ContainerPort%containerPort,protocol~containerPort envFrom?:[EnvFromSource env?:[EnvVar%name~name resources?:ResourceRequirements resizePolicy?:[ContainerResizePolicy restartPolicy?:*s restartPolicyRules?:[ContainerRestartRule volumeMounts?:[VolumeMount%mountPath~mountPath volumeDevices?:[VolumeDevice%devicePath~devicePath livenessProbe?:*Probe readinessProbe?:*Probe startupProbe?:*Probe lifecycle?:*Lifecycle terminationMessagePath?:s terminationMessagePolicy?:s imagePullPolicy?:s securityContext?:*SecurityContext stdin?:b stdinOnce?:b tty?:b',
  ContainerExtendedResourceRequest: 'containerName:s resourceName:s requestName:s',
  ContainerImage: 'names:[s sizeBytes?:i',
  ContainerPort: 'name?:s hostPort?:i containerPort:i protocol?:s hostIP?:s',
  ContainerResizePolicy: 'resourceName:s restartPolicy:s',
  ContainerResourceMetricSource: 'name:s target:MetricTarget container:s',
  ContainerResourceMetricStatus: 'name:s current:MetricValueStatus container:s',
  ContainerRestartRule: 'action?:s exitCodes?:*ContainerRestartRuleOnExitCodes',
  ContainerRestartRuleOnExitCodes: 'operator?:s values?:[i%',
  ContainerState:
    'waiting?:*ContainerStateWaiting running?:*ContainerStateRunning terminated?:*ContainerStateTerminated',
  ContainerStateRunning: 'startedAt?:t',
  ContainerStateTerminated: 'exitCode:i signal?:i reason?:s message?:s startedAt?:t finishedAt?:t containerID?:s',
  ContainerStateWaiting: 'reason?:s message?:s',
  ContainerStatus:
    'name:s state?:ContainerState lastState?:ContainerState ready:b restartCount:i image:s imageID:s containerID?:s started?:*b allocatedResources?:{m resources?:*ResourceRequirements volumeMounts?:[VolumeMountStatus%mountPath~mountPath user?:*ContainerUser allocatedResourcesStatus?:[ResourceStatus%name~name stopSignal?:*s',
  ContainerUser: 'linux?:*LinuxContainerUser',
  ControllerRevision: 'kind?:s apiVersion?:s metadata?:ObjectMeta data?:r revision:i',
  Counter: 'value:q',
  CounterSet: 'name:s counters?:{Counter',
  CronJob: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:CronJobSpec status?:CronJobStatus',
  CronJobSpec:
    'schedule:s timeZone?:*s startingDeadlineSeconds?:*i concurrencyPolicy?:s suspend?:*b jobTemplate:JobTemplateSpec successfulJobsHistoryLimit?:*i failedJobsHistoryLimit?:*i',
  CronJobStatus: 'active?:[ObjectReference lastScheduleTime?:*t lastSuccessfulTime?:*t',
  CrossVersionObjectReference: '= kind:s name:s apiVersion?:s',
  CustomResourceColumnDefinition: 'name:s type:s format?:s description?:s priority?:i jsonPath:s',
  CustomResourceConversion: 'strategy:s webhook?:*WebhookConversion',
  CustomResourceDefinition:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:CustomResourceDefinitionSpec status?:CustomResourceDefinitionStatus',
  CustomResourceDefinitionCondition: 'type:s status:s lastTransitionTime?:t reason?:s message?:s observedGeneration?:i',
  CustomResourceDefinitionNames: 'plural:s singular?:s shortNames?:[s kind:s listKind?:s categories?:[s',
  CustomResourceDefinitionSpec:
    'group:s names:CustomResourceDefinitionNames scope:s versions:[CustomResourceDefinitionVersion conversion?:*CustomResourceConversion preserveUnknownFields?:b',
  CustomResourceDefinitionStatus:
    'conditions:[CustomResourceDefinitionCondition%type acceptedNames:CustomResourceDefinitionNames storedVersions:[s observedGeneration?:i',
  CustomResourceDefinitionVersion:
    'name:s served:b storage:b deprecated?:b deprecationWarning?:*s schema?:*CustomResourceValidation subresources?:*CustomResourceSubresources additionalPrinterColumns?:[CustomResourceColumnDefinition selectableFields?:[SelectableField',
  CustomResourceSubresourceScale: 'specReplicasPath:s statusReplicasPath:s labelSelectorPath?:*s',
  CustomResourceSubresourceStatus: '',
  CustomResourceSubresources: 'status?:*CustomResourceSubresourceStatus scale?:*CustomResourceSubresourceScale',
  CustomResourceValidation: 'openAPIV3Schema?:*JSONSchemaProps',
  DaemonEndpoint: 'Port:i',
  DaemonSet: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:DaemonSetSpec status?:DaemonSetStatus',
  DaemonSetCondition: 'type:s status:s lastTransitionTime?:t reason?:s message?:s',
  DaemonSetSpec:
    'selector:*LabelSelector template:PodTemplateSpec updateStrategy?:DaemonSetUpdateStrategy minReadySeconds?:i revisionHistoryLimit?:*i',
  DaemonSetStatus:
    'currentNumberScheduled:i numberMisscheduled:i desiredNumberScheduled:i numberReady:i observedGeneration?:i updatedNumberScheduled?:i numberAvailable?:i numberUnavailable?:i collisionCount?:*i conditions?:[DaemonSetCondition%type~type',
  DaemonSetUpdateStrategy: 'type?:s rollingUpdate?:*RollingUpdateDaemonSet',
  Deployment: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:DeploymentSpec status?:DeploymentStatus',
  DeploymentCondition: 'type:s status:s lastUpdateTime?:t lastTransitionTime?:t reason?:s message?:s',
  DeploymentSpec:
    'replicas?:*i selector:*LabelSelector template:PodTemplateSpec strategy?:DeploymentStrategy^ minReadySeconds?:i revisionHistoryLimit?:*i paused?:b progressDeadlineSeconds?:*i',
  DeploymentStatus:
    'observedGeneration?:i replicas?:i updatedReplicas?:i readyReplicas?:i availableReplicas?:i unavailableReplicas?:i terminatingReplicas?:*i conditions?:[DeploymentCondition%type~type collisionCount?:*i',
  DeploymentStrategy: 'type?:s rollingUpdate?:*RollingUpdateDeployment',
  Device:
    'name:s attributes?:{DeviceAttribute capacity?:{DeviceCapacity consumesCounters?:[DeviceCounterConsumption nodeName?:*s nodeSelector?:*NodeSelector allNodes?:*b taints?:[DeviceTaint bindsToNode?:*b bindingConditions?:[s bindingFailureConditions?:[s allowMultipleAllocations?:*b nodeAllocatableResourceMappings?:{NodeAllocatableResourceMapping',
  DeviceAllocationConfiguration: 'source:s requests?:[s opaque?:*OpaqueDeviceConfiguration',
  DeviceAllocationResult: 'results?:[DeviceRequestAllocationResult config?:[DeviceAllocationConfiguration',
  DeviceAttribute: 'int?:*i bool?:*b string?:*s version?:*s ints?:[i bools?:[b strings?:[s versions?:[s',
  DeviceCapacity: 'value:q requestPolicy?:*CapacityRequestPolicy',
  DeviceClaim: 'requests:[DeviceRequest constraints?:[DeviceConstraint config?:[DeviceClaimConfiguration',
  DeviceClaimConfiguration: 'requests?:[s opaque?:*OpaqueDeviceConfiguration',
  DeviceClass: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:DeviceClassSpec',
  DeviceClassConfiguration: 'opaque?:*OpaqueDeviceConfiguration',
  DeviceClassSpec: 'selectors?:[DeviceSelector config?:[DeviceClassConfiguration extendedResourceName?:*s',
  DeviceConstraint: 'requests?:[s matchAttribute?:*s distinctAttribute?:*s',
  DeviceCounterConsumption: 'counterSet:s counters?:{Counter',
  DeviceRequest: 'name:s exactly?:*ExactDeviceRequest firstAvailable?:[DeviceSubRequest',
  DeviceRequestAllocationResult:
    'request:s driver:s pool:s device:s adminAccess?:*b tolerations?:[DeviceToleration bindingConditions?:[s bindingFailureConditions?:[s shareID?:*s consumedCapacity?:{q',
  DeviceSelector: 'cel?:*CELDeviceSelector',
  DeviceSubRequest:
    'name:s deviceClassName:s selectors?:[DeviceSelector allocationMode?:s count?:i tolerations?:[DeviceToleration capacity?:*CapacityRequirements',
  DeviceTaint: 'key:s value?:s effect:s timeAdded?:*t',
  DeviceTaintRule: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:DeviceTaintRuleSpec status?:DeviceTaintRuleStatus',
  DeviceTaintRuleSpec: 'deviceSelector?:*DeviceTaintSelector taint?:resource.v1alpha3.DeviceTaint',
  DeviceTaintRuleStatus: 'conditions?:[Condition%type~type',
  DeviceTaintSelector: 'driver?:*s pool?:*s device?:*s',
  DeviceToleration: 'key?:s operator?:s value?:s effect?:s tolerationSeconds?:*i',
  DownwardAPIProjection: 'items?:[DownwardAPIVolumeFile',
  DownwardAPIVolumeFile: 'path:s fieldRef?:*ObjectFieldSelector resourceFieldRef?:*ResourceFieldSelector mode?:*i',
  DownwardAPIVolumeSource: 'items?:[DownwardAPIVolumeFile defaultMode?:*i',
  EmptyDirVolumeSource: 'medium?:s sizeLimit?:*q',
  Endpoint:
    'addresses:[s% conditions?:EndpointConditions hostname?:*s targetRef?:*ObjectReference deprecatedTopology?:{s nodeName?:*s zone?:*s hints?:*EndpointHints',
  EndpointAddress: '= ip:s hostname?:s nodeName?:*s targetRef?:*ObjectReference',
  EndpointConditions: 'ready?:*b serving?:*b terminating?:*b',
  EndpointHints: 'forZones?:[ForZone forNodes?:[ForNode',
  EndpointPort: '= name?:s port:i protocol?:s appProtocol?:*s',
  EndpointSlice:
    'kind?:s apiVersion?:s metadata?:ObjectMeta addressType:s endpoints:[Endpoint ports:[discovery.v1.EndpointPort',
  EndpointSubset: 'addresses?:[EndpointAddress notReadyAddresses?:[EndpointAddress ports?:[EndpointPort',
  Endpoints: 'kind?:s apiVersion?:s metadata?:ObjectMeta subsets?:[EndpointSubset',
  EnvFromSource: 'prefix?:s configMapRef?:*ConfigMapEnvSource secretRef?:*SecretEnvSource',
  EnvVar: 'name:s value?:s valueFrom?:*EnvVarSource',
  EnvVarSource:
    'fieldRef?:*ObjectFieldSelector resourceFieldRef?:*ResourceFieldSelector configMapKeyRef?:*ConfigMapKeySelector secretKeyRef?:*SecretKeySelector fileKeyRef?:*FileKeySelector',
  EphemeralContainer:
    'name:s image?:s command?:[s args?:[s workingDir?:s ports?:[ContainerPort%containerPort,protocol~containerPort envFrom?:[EnvFromSource env?:[EnvVar%name~name resources?:ResourceRequirements resizePolicy?:[ContainerResizePolicy restartPolicy?:*s restartPolicyRules?:[ContainerRestartRule volumeMounts?:[VolumeMount%mountPath~mountPath volumeDevices?:[VolumeDevice%devicePath~devicePath livenessProbe?:*Probe readinessProbe?:*Probe startupProbe?:*Probe lifecycle?:*Lifecycle terminationMessagePath?:s terminationMessagePolicy?:s imagePullPolicy?:s securityContext?:*SecurityContext stdin?:b stdinOnce?:b tty?:b targetContainerName?:s',
  EphemeralVolumeSource: 'volumeClaimTemplate?:*PersistentVolumeClaimTemplate',
  Event:
    'kind?:s apiVersion?:s metadata:ObjectMeta involvedObject:ObjectReference reason?:s message?:s source?:EventSource firstTimestamp?:t lastTimestamp?:t count?:i type?:s eventTime?:u series?:*EventSeries action?:s related?:*ObjectReference reportingComponent:s reportingInstance:s',
  EventSeries: 'count?:i lastObservedTime?:u',
  EventSource: 'component?:s host?:s',
  ExactDeviceRequest:
    'deviceClassName:s selectors?:[DeviceSelector allocationMode?:s count?:i adminAccess?:*b tolerations?:[DeviceToleration capacity?:*CapacityRequirements',
  ExecAction: 'command?:[s',
  ExemptPriorityLevelConfiguration: 'nominalConcurrencyShares?:*i lendablePercent?:*i',
  ExpressionWarning: 'fieldRef:s warning:s',
  ExternalDocumentation: 'description?:s url?:s',
  ExternalMetricSource: 'metric:MetricIdentifier target:MetricTarget',
  ExternalMetricStatus: 'metric:MetricIdentifier current:MetricValueStatus',
  FCVolumeSource: 'targetWWNs?:[s lun?:*i fsType?:s readOnly?:b wwids?:[s',
  FileKeySelector: '= volumeName:s path:s key:s optional?:*b',
  FlexPersistentVolumeSource: 'driver:s fsType?:s secretRef?:*SecretReference readOnly?:b options?:{s',
  FlexVolumeSource: 'driver:s fsType?:s secretRef?:*LocalObjectReference readOnly?:b options?:{s',
  FlockerVolumeSource: 'datasetName?:s datasetUUID?:s',
  FlowDistinguisherMethod: 'type:s',
  FlowSchema: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:FlowSchemaSpec status?:FlowSchemaStatus',
  FlowSchemaCondition: 'type?:s status?:s lastTransitionTime?:t reason?:s message?:s',
  FlowSchemaSpec:
    'priorityLevelConfiguration:PriorityLevelConfigurationReference matchingPrecedence:i distinguisherMethod?:*FlowDistinguisherMethod rules?:[PolicyRulesWithSubjects',
  FlowSchemaStatus: 'conditions?:[FlowSchemaCondition%type~type',
  ForNode: 'name:s',
  ForZone: 'name:s',
  GCEPersistentDiskVolumeSource: 'pdName:s fsType?:s partition?:i readOnly?:b',
  GRPCAction: 'port:i service:*s',
  GangSchedulingPolicy: 'minCount:i',
  GitRepoVolumeSource: 'repository:s revision?:s directory?:s',
  GlusterfsPersistentVolumeSource: 'endpoints:s path:s readOnly?:b endpointsNamespace?:*s',
  GlusterfsVolumeSource: 'endpoints:s path:s readOnly?:b',
  GroupResource: 'group:s resource:s',
  GroupSubject: 'name:s',
  HPAScalingPolicy: 'type:s value:i periodSeconds:i',
  HPAScalingRules: 'stabilizationWindowSeconds?:*i selectPolicy?:*s policies?:[HPAScalingPolicy tolerance?:*q',
  HTTPGetAction: 'path?:s port:o host?:s scheme?:s httpHeaders?:[HTTPHeader',
  HTTPHeader: 'name:s value:s',
  HTTPIngressPath: 'path?:s pathType:*s backend:IngressBackend',
  HTTPIngressRuleValue: 'paths:[HTTPIngressPath',
  HorizontalPodAutoscaler:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:HorizontalPodAutoscalerSpec status?:HorizontalPodAutoscalerStatus',
  HorizontalPodAutoscalerBehavior: 'scaleUp?:*HPAScalingRules scaleDown?:*HPAScalingRules',
  HorizontalPodAutoscalerCondition: 'type:s status:s lastTransitionTime?:t reason?:s message?:s',
  HorizontalPodAutoscalerSpec:
    'scaleTargetRef:CrossVersionObjectReference minReplicas?:*i maxReplicas:i targetCPUUtilizationPercentage?:*i',
  HorizontalPodAutoscalerStatus:
    'observedGeneration?:*i lastScaleTime?:*t currentReplicas:i desiredReplicas:i currentCPUUtilizationPercentage?:*i',
  HostAlias: 'ip:s hostnames?:[s',
  HostIP: 'ip:s',
  HostPathVolumeSource: 'path:s type?:*s',
  IPAddress: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:IPAddressSpec',
  IPAddressSpec: 'parentRef?:*ParentReference',
  IPBlock: 'cidr:s except?:[s',
  ISCSIPersistentVolumeSource:
    'targetPortal:s iqn:s lun:i iscsiInterface?:s fsType?:s readOnly?:b portals?:[s chapAuthDiscovery?:b chapAuthSession?:b secretRef?:*SecretReference initiatorName?:*s',
  ISCSIVolumeSource:
    'targetPortal:s iqn:s lun:i iscsiInterface?:s fsType?:s readOnly?:b portals?:[s chapAuthDiscovery?:b chapAuthSession?:b secretRef?:*LocalObjectReference initiatorName?:*s',
  ImageVolumeSource: 'reference?:s pullPolicy?:s',
  ImageVolumeStatus: 'imageRef?:s',
  Ingress: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:IngressSpec status?:IngressStatus',
  IngressBackend: 'service?:*IngressServiceBackend resource?:*TypedLocalObjectReference',
  IngressClass: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:IngressClassSpec',
  IngressClassParametersReference: 'apiGroup?:*s kind:s name:s scope:*s namespace?:*s',
  IngressClassSpec: 'controller?:s parameters?:*IngressClassParametersReference',
  IngressLoadBalancerIngress: 'ip?:s hostname?:s ports?:[IngressPortStatus',
  IngressLoadBalancerStatus: 'ingress?:[IngressLoadBalancerIngress',
  IngressPortStatus: 'port:i protocol:s error?:*s',
  IngressRule: 'host?:s http?:*HTTPIngressRuleValue',
  IngressServiceBackend: 'name:s port?:ServiceBackendPort',
  IngressSpec: 'ingressClassName?:*s defaultBackend?:*IngressBackend tls?:[IngressTLS rules?:[IngressRule',
  IngressStatus: 'loadBalancer?:IngressLoadBalancerStatus',
  IngressTLS: 'hosts?:[s secretName?:s',
  JSONPatch: 'expression?:s',
  JSONSchemaProps:
    'id?:s $schema?:s $ref?:*s description?:s type?:s format?:s title?:s default?:*r maximum?:*f exclusiveMaximum?:b minimum?:*f exclusiveMinimum?:b maxLength?:*i minLength?:*i pattern?:s maxItems?:*i minItems?:*i uniqueItems?:b multipleOf?:*f enum?:[r maxProperties?:*i minProperties?:*i required?:[s items?:*r allOf?:[JSONSchemaProps oneOf?:[JSONSchemaProps anyOf?:[JSONSchemaProps not?:*JSONSchemaProps properties?:{JSONSchemaProps additionalProperties?:*r patternProperties?:{JSONSchemaProps dependencies?:{r additionalItems?:*r definitions?:{JSONSchemaProps externalDocs?:*ExternalDocumentation example?:*r nullable?:b x-kubernetes-preserve-unknown-fields?:*b x-kubernetes-embedded-resource?:b x-kubernetes-int-or-string?:b x-kubernetes-list-map-keys?:[s x-kubernetes-list-type?:*s x-kubernetes-map-type?:*s x-kubernetes-validations?:[ValidationRule%rule~rule',
  Job: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:JobSpec status?:JobStatus',
  JobCondition: 'type:s status:s lastProbeTime?:t lastTransitionTime?:t reason?:s message?:s',
  JobSpec:
    'parallelism?:*i completions?:*i activeDeadlineSeconds?:*i podFailurePolicy?:*PodFailurePolicy successPolicy?:*SuccessPolicy backoffLimit?:*i backoffLimitPerIndex?:*i maxFailedIndexes?:*i selector?:*LabelSelector manualSelector?:*b template:PodTemplateSpec ttlSecondsAfterFinished?:*i completionMode?:*s suspend?:*b podReplacementPolicy?:*s managedBy?:*s',
  JobStatus:
    'conditions?:[JobCondition~type startTime?:*t completionTime?:*t active?:i succeeded?:i failed?:i terminating?:*i completedIndexes?:s failedIndexes?:*s uncountedTerminatedPods?:*UncountedTerminatedPods ready?:*i',
  JobTemplateSpec: 'metadata?:ObjectMeta spec?:JobSpec',
  KeyToPath: 'key:s path:s mode?:*i',
  LabelSelector: '= matchLabels?:{s matchExpressions?:[LabelSelectorRequirement',
  LabelSelectorRequirement: 'key:s operator:s values?:[s',
  Lease: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:LeaseSpec',
  LeaseCandidate: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:LeaseCandidateSpec',
  LeaseCandidateSpec: 'leaseName:s pingTime?:*u renewTime?:*u binaryVersion:s emulationVersion?:s strategy?:s',
  LeaseSpec:
    'holderIdentity?:*s leaseDurationSeconds?:*i acquireTime?:*u renewTime?:*u leaseTransitions?:*i strategy?:*s preferredHolder?:*s',
  Lifecycle: 'postStart?:*LifecycleHandler preStop?:*LifecycleHandler stopSignal?:*s',
  LifecycleHandler: 'exec?:*ExecAction httpGet?:*HTTPGetAction tcpSocket?:*TCPSocketAction sleep?:*SleepAction',
  LimitRange: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:LimitRangeSpec',
  LimitRangeItem: 'type:s max?:{m min?:{m default?:{m defaultRequest?:{m maxLimitRequestRatio?:{m',
  LimitRangeSpec: 'limits:[LimitRangeItem',
  LimitResponse: 'type:s queuing?:*QueuingConfiguration',
  LimitedPriorityLevelConfiguration:
    'nominalConcurrencyShares:*i limitResponse?:LimitResponse lendablePercent?:*i borrowingLimitPercent?:*i',
  LinuxContainerUser: 'uid:i gid:i supplementalGroups?:[i',
  LoadBalancerIngress: 'ip?:s hostname?:s ipMode?:*s ports?:[PortStatus',
  LoadBalancerStatus: 'ingress?:[LoadBalancerIngress',
  LocalObjectReference: '= name?:s',
  LocalVolumeSource: 'path:s fsType?:*s',
  ManagedFieldsEntry: 'manager?:s operation?:s apiVersion?:s time?:*t fieldsType?:s fieldsV1?:*r subresource?:s',
  MatchCondition: 'name:s expression:s',
  MatchResources:
    '= namespaceSelector?:*LabelSelector objectSelector?:*LabelSelector resourceRules?:[NamedRuleWithOperations excludeResourceRules?:[NamedRuleWithOperations matchPolicy?:*s',
  MetricIdentifier: 'name:s selector?:*LabelSelector',
  MetricSpec:
    'type:s object?:*ObjectMetricSource pods?:*PodsMetricSource resource?:*ResourceMetricSource containerResource?:*ContainerResourceMetricSource external?:*ExternalMetricSource',
  MetricStatus:
    'type:s object?:*ObjectMetricStatus pods?:*PodsMetricStatus resource?:*ResourceMetricStatus containerResource?:*ContainerResourceMetricStatus external?:*ExternalMetricStatus',
  MetricTarget: 'type:s value?:*q averageValue?:*q averageUtilization?:*i',
  MetricValueStatus: 'value?:*q averageValue?:*q averageUtilization?:*i',
  ModifyVolumeStatus: 'targetVolumeAttributesClassName?:s status:s',
  MutatingAdmissionPolicy: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:MutatingAdmissionPolicySpec',
  MutatingAdmissionPolicyBinding: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:MutatingAdmissionPolicyBindingSpec',
  MutatingAdmissionPolicyBindingSpec: 'policyName?:s paramRef?:*ParamRef matchResources?:*MatchResources',
  MutatingAdmissionPolicySpec:
    'paramKind?:*ParamKind matchConstraints?:*MatchResources variables?:[Variable mutations?:[Mutation failurePolicy?:*s matchConditions?:[MatchCondition%name~name reinvocationPolicy?:s',
  MutatingWebhook:
    'name:s clientConfig:WebhookClientConfig rules?:[RuleWithOperations failurePolicy?:*s matchPolicy?:*s namespaceSelector?:*LabelSelector objectSelector?:*LabelSelector sideEffects:*s timeoutSeconds?:*i admissionReviewVersions:[s reinvocationPolicy?:*s matchConditions?:[MatchCondition%name~name',
  MutatingWebhookConfiguration: 'kind?:s apiVersion?:s metadata?:ObjectMeta webhooks?:[MutatingWebhook%name~name',
  Mutation: 'patchType:s applyConfiguration?:*ApplyConfiguration jsonPatch?:*JSONPatch',
  NFSVolumeSource: 'server:s path:s readOnly?:b',
  NamedRuleWithOperations: '= resourceNames?:[s operations?:[s apiGroups?:[s apiVersions?:[s resources?:[s scope?:*s',
  Namespace: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:NamespaceSpec status?:NamespaceStatus',
  NamespaceCondition: 'type:s status:s lastTransitionTime?:t reason?:s message?:s',
  NamespaceSpec: 'finalizers?:[s',
  NamespaceStatus: 'phase?:s conditions?:[NamespaceCondition%type~type',
  NetworkDeviceData: 'interfaceName?:s ips?:[s hardwareAddress?:s',
  NetworkPolicy: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:NetworkPolicySpec',
  NetworkPolicyEgressRule: 'ports?:[NetworkPolicyPort to?:[NetworkPolicyPeer',
  NetworkPolicyIngressRule: 'ports?:[NetworkPolicyPort from?:[NetworkPolicyPeer',
  NetworkPolicyPeer: 'podSelector?:*LabelSelector namespaceSelector?:*LabelSelector ipBlock?:*IPBlock',
  NetworkPolicyPort: 'protocol?:*s port?:*o endPort?:*i',
  NetworkPolicySpec:
    'podSelector:LabelSelector ingress?:[NetworkPolicyIngressRule egress?:[NetworkPolicyEgressRule policyTypes?:[s',
  Node: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:NodeSpec status?:NodeStatus',
  NodeAddress: 'type:s address:s',
  NodeAffinity:
    'requiredDuringSchedulingIgnoredDuringExecution?:*NodeSelector preferredDuringSchedulingIgnoredDuringExecution?:[PreferredSchedulingTerm',
  NodeAllocatableResourceClaimStatus: 'resourceClaimName:s containers?:[s% resources:{q',
  NodeAllocatableResourceMapping: 'capacityKey?:*s allocationMultiplier?:*q',
  NodeCondition: 'type:s status:s lastHeartbeatTime?:t lastTransitionTime?:t reason?:s message?:s',
  NodeConfigSource: 'configMap?:*ConfigMapNodeConfigSource',
  NodeConfigStatus: 'assigned?:*NodeConfigSource active?:*NodeConfigSource lastKnownGood?:*NodeConfigSource error?:s',
  NodeDaemonEndpoints: 'kubeletEndpoint?:DaemonEndpoint',
  NodeFeatures: 'supplementalGroupsPolicy?:*b',
  NodeRuntimeHandler: 'name:s features?:*NodeRuntimeHandlerFeatures',
  NodeRuntimeHandlerFeatures: 'recursiveReadOnlyMounts?:*b userNamespaces?:*b',
  NodeSelector: '= nodeSelectorTerms:[NodeSelectorTerm',
  NodeSelectorRequirement: 'key:s operator:s values?:[s',
  NodeSelectorTerm: '= matchExpressions?:[NodeSelectorRequirement matchFields?:[NodeSelectorRequirement',
  NodeSpec:
    'podCIDR?:s podCIDRs?:[s%~ providerID?:s unschedulable?:b taints?:[Taint configSource?:*NodeConfigSource externalID?:s',
  NodeStatus:
    'capacity?:{m allocatable?:{m phase?:s conditions?:[NodeCondition%type~type addresses?:[NodeAddress%type~type daemonEndpoints?:NodeDaemonEndpoints nodeInfo?:NodeSystemInfo images?:[ContainerImage volumesInUse?:[s volumesAttached?:[AttachedVolume config?:*NodeConfigStatus runtimeHandlers?:[NodeRuntimeHandler features?:*NodeFeatures declaredFeatures?:[s',
  NodeSwapStatus: 'capacity?:*i',
  NodeSystemInfo:
    'machineID:s systemUUID:s bootID:s kernelVersion:s osImage:s containerRuntimeVersion:s kubeletVersion:s kubeProxyVersion:s operatingSystem:s architecture:s swap?:*NodeSwapStatus',
  NonResourcePolicyRule: 'verbs:[s% nonResourceURLs:[s%',
  ObjectFieldSelector: '= apiVersion?:s fieldPath:s',
  ObjectMeta:
    'name?:s generateName?:s namespace?:s selfLink?:s uid?:s resourceVersion?:s generation?:i creationTimestamp?:t deletionTimestamp?:*t deletionGracePeriodSeconds?:*i labels?:{s annotations?:{s ownerReferences?:[OwnerReference%uid~uid finalizers?:[s%~ managedFields?:[ManagedFieldsEntry',
  ObjectMetricSource:
    'describedObject:autoscaling.v2.CrossVersionObjectReference target:MetricTarget metric:MetricIdentifier',
  ObjectMetricStatus:
    'metric:MetricIdentifier current:MetricValueStatus describedObject:autoscaling.v2.CrossVersionObjectReference',
  ObjectReference: '= kind?:s namespace?:s name?:s uid?:s apiVersion?:s resourceVersion?:s fieldPath?:s',
  OpaqueDeviceConfiguration: 'driver:s parameters:r',
  Overhead: 'podFixed?:{m',
  OwnerReference: '= apiVersion:s kind:s name:s uid:s controller?:*b blockOwnerDeletion?:*b',
  ParamKind: '= apiVersion?:s kind?:s',
  ParamRef: '= name?:s namespace?:s selector?:*LabelSelector parameterNotFoundAction?:*s',
  ParentReference: 'group?:s resource?:s namespace?:s name?:s',
  PersistentVolume:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:PersistentVolumeSpec status?:PersistentVolumeStatus',
  PersistentVolumeClaim:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:PersistentVolumeClaimSpec status?:PersistentVolumeClaimStatus',
  PersistentVolumeClaimCondition: 'type:s status:s lastProbeTime?:t lastTransitionTime?:t reason?:s message?:s',
  PersistentVolumeClaimSpec:
    'accessModes?:[s selector?:*LabelSelector resources?:VolumeResourceRequirements volumeName?:s storageClassName?:*s volumeMode?:*s dataSource?:*TypedLocalObjectReference dataSourceRef?:*TypedObjectReference volumeAttributesClassName?:*s',
  PersistentVolumeClaimStatus:
    'phase?:s accessModes?:[s capacity?:{m conditions?:[PersistentVolumeClaimCondition%type~type allocatedResources?:{m allocatedResourceStatuses?:{s currentVolumeAttributesClassName?:*s modifyVolumeStatus?:*ModifyVolumeStatus',
  PersistentVolumeClaimTemplate: 'metadata?:ObjectMeta spec:PersistentVolumeClaimSpec',
  PersistentVolumeClaimVolumeSource: 'claimName:s readOnly?:b',
  PersistentVolumeSpec:
    'capacity?:{m gcePersistentDisk?:*GCEPersistentDiskVolumeSource awsElasticBlockStore?:*AWSElasticBlockStoreVolumeSource hostPath?:*HostPathVolumeSource glusterfs?:*GlusterfsPersistentVolumeSource nfs?:*NFSVolumeSource rbd?:*RBDPersistentVolumeSource iscsi?:*ISCSIPersistentVolumeSource cinder?:*CinderPersistentVolumeSource cephfs?:*CephFSPersistentVolumeSource fc?:*FCVolumeSource flocker?:*FlockerVolumeSource flexVolume?:*FlexPersistentVolumeSource azureFile?:*AzureFilePersistentVolumeSource vsphereVolume?:*VsphereVirtualDiskVolumeSource quobyte?:*QuobyteVolumeSource azureDisk?:*AzureDiskVolumeSource photonPersistentDisk?:*PhotonPersistentDiskVolumeSource portworxVolume?:*PortworxVolumeSource scaleIO?:*ScaleIOPersistentVolumeSource local?:*LocalVolumeSource storageos?:*StorageOSPersistentVolumeSource csi?:*CSIPersistentVolumeSource accessModes?:[s claimRef?:*ObjectReference persistentVolumeReclaimPolicy?:s storageClassName?:s mountOptions?:[s volumeMode?:*s nodeAffinity?:*VolumeNodeAffinity volumeAttributesClassName?:*s',
  PersistentVolumeStatus: 'phase?:s message?:s reason?:s lastPhaseTransitionTime?:*t',
  PhotonPersistentDiskVolumeSource: 'pdID:s fsType?:s',
  Pod: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:PodSpec status?:PodStatus',
  PodAffinity:
    'requiredDuringSchedulingIgnoredDuringExecution?:[PodAffinityTerm preferredDuringSchedulingIgnoredDuringExecution?:[WeightedPodAffinityTerm',
  PodAffinityTerm:
    'labelSelector?:*LabelSelector namespaces?:[s topologyKey:s namespaceSelector?:*LabelSelector matchLabelKeys?:[s mismatchLabelKeys?:[s',
  PodAntiAffinity:
    'requiredDuringSchedulingIgnoredDuringExecution?:[PodAffinityTerm preferredDuringSchedulingIgnoredDuringExecution?:[WeightedPodAffinityTerm',
  PodCertificateProjection:
    'signerName?:s keyType?:s maxExpirationSeconds?:*i credentialBundlePath?:s keyPath?:s certificateChainPath?:s userAnnotations?:{s',
  PodCertificateRequest:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:PodCertificateRequestSpec status?:PodCertificateRequestStatus',
  PodCertificateRequestSpec:
    'signerName:s podName:s podUID:s serviceAccountName:s serviceAccountUID:s nodeName:s nodeUID:s maxExpirationSeconds?:*i pkixPublicKey:y proofOfPossession:y stubPKCS10Request:y unverifiedUserAnnotations?:{s',
  PodCertificateRequestStatus:
    'conditions?:[Condition%type~type certificateChain?:s notBefore?:*t beginRefreshAt?:*t notAfter?:*t',
  PodCondition: 'type:s observedGeneration?:i status:s lastProbeTime?:t lastTransitionTime?:t reason?:s message?:s',
  PodDNSConfig: 'nameservers?:[s searches?:[s options?:[PodDNSConfigOption',
  PodDNSConfigOption: 'name?:s value?:*s',
  PodDisruptionBudget:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:PodDisruptionBudgetSpec status?:PodDisruptionBudgetStatus',
  PodDisruptionBudgetSpec:
    'minAvailable?:*o selector?:*LabelSelector! maxUnavailable?:*o unhealthyPodEvictionPolicy?:*s',
  PodDisruptionBudgetStatus:
    'observedGeneration?:i disruptedPods?:{t disruptionsAllowed:i currentHealthy:i desiredHealthy:i expectedPods:i conditions?:[Condition%type~type',
  PodExtendedResourceClaimStatus: 'requestMappings:[ContainerExtendedResourceRequest resourceClaimName:s',
  PodFailurePolicy: 'rules:[PodFailurePolicyRule',
  PodFailurePolicyOnExitCodesRequirement: 'containerName?:*s operator:s values:[i%',
  PodFailurePolicyOnPodConditionsPattern: 'type:s status:s',
  PodFailurePolicyRule:
    'action:s onExitCodes?:*PodFailurePolicyOnExitCodesRequirement onPodConditions?:[PodFailurePolicyOnPodConditionsPattern',
  PodGroup: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:PodGroupSpec status?:PodGroupStatus',
  PodGroupResourceClaim: 'name:s resourceClaimName?:*s resourceClaimTemplateName?:*s',
  PodGroupResourceClaimStatus: 'name:s resourceClaimName?:*s',
  PodGroupSchedulingConstraints: 'topology?:[TopologyConstraint',
  PodGroupSchedulingPolicy: 'basic?:*BasicSchedulingPolicy gang?:*GangSchedulingPolicy',
  PodGroupSpec:
    'podGroupTemplateRef:*PodGroupTemplateReference schedulingPolicy:PodGroupSchedulingPolicy schedulingConstraints?:*PodGroupSchedulingConstraints resourceClaims?:[PodGroupResourceClaim^%name~name disruptionMode?:*s priorityClassName?:s priority?:*i',
  PodGroupStatus: 'conditions?:[Condition%type~type resourceClaimStatuses?:[PodGroupResourceClaimStatus^%name~name',
  PodGroupTemplate:
    'name:s schedulingPolicy:PodGroupSchedulingPolicy schedulingConstraints:*PodGroupSchedulingConstraints resourceClaims?:[PodGroupResourceClaim^%name~name disruptionMode?:*s priorityClassName?:s priority?:*i',
  PodGroupTemplateReference: 'workload:*WorkloadPodGroupTemplateReference',
  PodIP: 'ip:s',
  PodOS: 'name:s',
  PodReadinessGate: 'conditionType:s',
  PodResourceClaim: 'name:s resourceClaimName?:*s resourceClaimTemplateName?:*s',
  PodResourceClaimStatus: 'name:s resourceClaimName?:*s',
  PodSchedulingGate: 'name:s',
  PodSchedulingGroup: 'podGroupName?:*s',
  PodSecurityContext:
    'seLinuxOptions?:*SELinuxOptions windowsOptions?:*WindowsSecurityContextOptions runAsUser?:*i runAsGroup?:*i runAsNonRoot?:*b supplementalGroups?:[i supplementalGroupsPolicy?:*s fsGroup?:*i sysctls?:[Sysctl fsGroupChangePolicy?:*s seccompProfile?:*SeccompProfile appArmorProfile?:*AppArmorProfile seLinuxChangePolicy?:*s',
  PodSpec:
    'volumes?:[Volume^%name~name initContainers?:[Container%name~name containers:[Container%name~name ephemeralContainers?:[EphemeralContainer%name~name restartPolicy?:s terminationGracePeriodSeconds?:*i activeDeadlineSeconds?:*i dnsPolicy?:s nodeSelector?:{s= serviceAccountName?:s serviceAccount?:s automountServiceAccountToken?:*b nodeName?:s hostNetwork?:b hostPID?:b hostIPC?:b shareProcessNamespace?:*b securityContext?:*PodSecurityContext imagePullSecrets?:[LocalObjectReference%name~name hostname?:s subdomain?:s affinity?:*Affinity schedulerName?:s tolerations?:[Toleration hostAliases?:[HostAlias%ip~ip priorityClassName?:s priority?:*i dnsConfig?:*PodDNSConfig readinessGates?:[PodReadinessGate runtimeClassName?:*s enableServiceLinks?:*b preemptionPolicy?:*s overhead?:{m topologySpreadConstraints?:[TopologySpreadConstraint%topologyKey,whenUnsatisfiable~topologyKey setHostnameAsFQDN?:*b os?:*PodOS hostUsers?:*b schedulingGates?:[PodSchedulingGate%name~name resourceClaims?:[PodResourceClaim^%name~name resources?:*ResourceRequirements hostnameOverride?:*s schedulingGroup?:*PodSchedulingGroup',
  PodStatus:
    'observedGeneration?:i phase?:s conditions?:[PodCondition%type~type message?:s reason?:s nominatedNodeName?:s hostIP?:s hostIPs?:[HostIP~ip podIP?:s podIPs?:[PodIP%ip~ip startTime?:*t initContainerStatuses?:[ContainerStatus containerStatuses?:[ContainerStatus qosClass?:s ephemeralContainerStatuses?:[ContainerStatus resize?:s resourceClaimStatuses?:[PodResourceClaimStatus^%name~name extendedResourceClaimStatus?:*PodExtendedResourceClaimStatus allocatedResources?:{m resources?:*ResourceRequirements nodeAllocatableResourceClaimStatuses?:[NodeAllocatableResourceClaimStatus',
  PodTemplate: 'kind?:s apiVersion?:s metadata?:ObjectMeta template?:PodTemplateSpec',
  PodTemplateSpec: 'metadata?:ObjectMeta spec?:PodSpec',
  PodsMetricSource: 'metric:MetricIdentifier target:MetricTarget',
  PodsMetricStatus: 'metric:MetricIdentifier current:MetricValueStatus',
  PolicyRule: 'verbs:[s apiGroups?:[s resources?:[s resourceNames?:[s nonResourceURLs?:[s',
  PolicyRulesWithSubjects:
    'subjects:[Subject resourceRules?:[ResourcePolicyRule nonResourceRules?:[NonResourcePolicyRule',
  PoolStatus:
    'driver?:s poolName?:s generation:i resourceSliceCount?:*i totalDevices?:*i allocatedDevices?:*i availableDevices?:*i unavailableDevices?:*i nodeName?:*s validationError?:*s',
  PortStatus: 'port:i protocol:s error?:*s',
  PortworxVolumeSource: 'volumeID:s fsType?:s readOnly?:b',
  PreferredSchedulingTerm: 'weight:i preference:NodeSelectorTerm',
  PriorityClass:
    'kind?:s apiVersion?:s metadata?:ObjectMeta value:i globalDefault?:b description?:s preemptionPolicy?:*s',
  PriorityLevelConfiguration:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:PriorityLevelConfigurationSpec status?:PriorityLevelConfigurationStatus',
  PriorityLevelConfigurationCondition: 'type?:s status?:s lastTransitionTime?:t reason?:s message?:s',
  PriorityLevelConfigurationReference: 'name:s',
  PriorityLevelConfigurationSpec:
    'type:s limited?:*LimitedPriorityLevelConfiguration exempt?:*ExemptPriorityLevelConfiguration',
  PriorityLevelConfigurationStatus: 'conditions?:[PriorityLevelConfigurationCondition%type~type',
  Probe:
    'exec?:*ExecAction httpGet?:*HTTPGetAction tcpSocket?:*TCPSocketAction grpc?:*GRPCAction initialDelaySeconds?:i timeoutSeconds?:i periodSeconds?:i successThreshold?:i failureThreshold?:i terminationGracePeriodSeconds?:*i',
  ProjectedVolumeSource: 'sources:[VolumeProjection defaultMode?:*i',
  QueuingConfiguration: 'queues:i handSize:i queueLengthLimit:i',
  QuobyteVolumeSource: 'registry:s volume:s readOnly?:b user?:s group?:s tenant?:s',
  RBDPersistentVolumeSource:
    'monitors:[s image:s fsType?:s pool?:s user?:s keyring?:s secretRef?:*SecretReference readOnly?:b',
  RBDVolumeSource:
    'monitors:[s image:s fsType?:s pool?:s user?:s keyring?:s secretRef?:*LocalObjectReference readOnly?:b',
  ReplicaSet: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:ReplicaSetSpec status?:ReplicaSetStatus',
  ReplicaSetCondition: 'type:s status:s lastTransitionTime?:t reason?:s message?:s',
  ReplicaSetSpec: 'replicas?:*i minReadySeconds?:i selector:*LabelSelector template?:PodTemplateSpec',
  ReplicaSetStatus:
    'replicas:i fullyLabeledReplicas?:i readyReplicas?:i availableReplicas?:i terminatingReplicas?:*i observedGeneration?:i conditions?:[ReplicaSetCondition%type~type',
  ReplicationController:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:ReplicationControllerSpec status?:ReplicationControllerStatus',
  ReplicationControllerCondition: 'type:s status:s lastTransitionTime?:t reason?:s message?:s',
  ReplicationControllerSpec: 'replicas?:*i minReadySeconds?:i selector?:{s= template?:*PodTemplateSpec',
  ReplicationControllerStatus:
    'replicas:i fullyLabeledReplicas?:i readyReplicas?:i availableReplicas?:i observedGeneration?:i conditions?:[ReplicationControllerCondition%type~type',
  ResourceClaim: 'name:s request?:s',
  ResourceClaimConsumerReference: 'apiGroup?:s resource:s name:s uid:s',
  ResourceClaimSpec: 'devices:DeviceClaim',
  ResourceClaimStatus:
    'allocation?:*AllocationResult reservedFor?:[ResourceClaimConsumerReference%uid~uid devices?:[AllocatedDeviceStatus%driver,device,pool,shareID',
  ResourceClaimTemplate: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:ResourceClaimTemplateSpec',
  ResourceClaimTemplateSpec: 'metadata?:ObjectMeta spec:ResourceClaimSpec',
  ResourceFieldSelector: '= containerName?:s resource:s divisor?:q',
  ResourceHealth: 'resourceID:s health?:s message?:*s',
  ResourceMetricSource: 'name:s target:MetricTarget',
  ResourceMetricStatus: 'name:s current:MetricValueStatus',
  ResourcePolicyRule: 'verbs:[s% apiGroups:[s% resources:[s% clusterScope?:b namespaces:[s%',
  ResourcePool: 'name:s generation:i resourceSliceCount:i',
  ResourcePoolStatusRequest:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:ResourcePoolStatusRequestSpec status?:*ResourcePoolStatusRequestStatus',
  ResourcePoolStatusRequestSpec: 'driver:s poolName?:*s limit?:*i',
  ResourcePoolStatusRequestStatus: 'poolCount?:*i pools?:[PoolStatus conditions?:[Condition%type~type',
  ResourceQuota: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:ResourceQuotaSpec status?:ResourceQuotaStatus',
  ResourceQuotaSpec: 'hard?:{m scopes?:[s scopeSelector?:*ScopeSelector',
  ResourceQuotaStatus: 'hard?:{m used?:{m',
  ResourceRequirements: 'limits?:{m requests?:{m claims?:[ResourceClaim%name',
  ResourceSlice: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:ResourceSliceSpec',
  ResourceSliceSpec:
    'driver:s pool:ResourcePool nodeName?:*s nodeSelector?:*NodeSelector allNodes?:*b devices?:[Device perDeviceNodeSelection?:*b sharedCounters?:[CounterSet',
  ResourceStatus: 'name:s resources?:[ResourceHealth%resourceID',
  Role: 'kind?:s apiVersion?:s metadata?:ObjectMeta rules:[PolicyRule',
  RoleBinding: 'kind?:s apiVersion?:s metadata?:ObjectMeta subjects?:[rbac.v1.Subject roleRef:RoleRef',
  RoleRef: '= apiGroup:s kind:s name:s',
  RollingUpdateDaemonSet: 'maxUnavailable?:*o maxSurge?:*o',
  RollingUpdateDeployment: 'maxUnavailable?:*o maxSurge?:*o',
  RollingUpdateStatefulSetStrategy: 'partition?:*i maxUnavailable?:*o',
  RuleWithOperations: 'operations?:[s apiGroups?:[s apiVersions?:[s resources?:[s scope?:*s',
  RuntimeClass: 'kind?:s apiVersion?:s metadata?:ObjectMeta handler:s overhead?:*Overhead scheduling?:*Scheduling',
  RuntimeClassSpec: 'runtimeHandler:s overhead?:*node.v1alpha1.Overhead scheduling?:*node.v1alpha1.Scheduling',
  SELinuxOptions: 'user?:s role?:s type?:s level?:s',
  ScaleIOPersistentVolumeSource:
    'gateway:s system:s secretRef:*SecretReference sslEnabled?:b protectionDomain?:s storagePool?:s storageMode?:s volumeName?:s fsType?:s readOnly?:b',
  ScaleIOVolumeSource:
    'gateway:s system:s secretRef:*LocalObjectReference sslEnabled?:b protectionDomain?:s storagePool?:s storageMode?:s volumeName?:s fsType?:s readOnly?:b',
  Scheduling: 'nodeSelector?:{s= tolerations?:[Toleration',
  ScopeSelector: '= matchExpressions?:[ScopedResourceSelectorRequirement',
  ScopedResourceSelectorRequirement: 'scopeName:s operator:s values?:[s',
  SeccompProfile: 'type:s localhostProfile?:*s',
  Secret: 'kind?:s apiVersion?:s metadata?:ObjectMeta immutable?:*b data?:{y stringData?:{s type?:s',
  SecretEnvSource: 'name?:s optional?:*b',
  SecretKeySelector: '= name?:s key:s optional?:*b',
  SecretProjection: 'name?:s items?:[KeyToPath optional?:*b',
  SecretReference: '= name?:s namespace?:s',
  SecretVolumeSource: 'secretName?:s items?:[KeyToPath defaultMode?:*i optional?:*b',
  SecurityContext:
    'capabilities?:*Capabilities privileged?:*b seLinuxOptions?:*SELinuxOptions windowsOptions?:*WindowsSecurityContextOptions runAsUser?:*i runAsGroup?:*i runAsNonRoot?:*b readOnlyRootFilesystem?:*b allowPrivilegeEscalation?:*b procMount?:*s seccompProfile?:*SeccompProfile appArmorProfile?:*AppArmorProfile',
  SelectableField: 'jsonPath:s',
  ServerStorageVersion: 'apiServerID?:s encodingVersion?:s decodableVersions?:[s% servedVersions?:[s%',
  Service: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:ServiceSpec status?:ServiceStatus',
  ServiceAccount:
    'kind?:s apiVersion?:s metadata?:ObjectMeta secrets?:[ObjectReference%name~name imagePullSecrets?:[LocalObjectReference automountServiceAccountToken?:*b',
  ServiceAccountSubject: 'namespace:s name:s',
  ServiceAccountTokenProjection: 'audience?:s expirationSeconds?:*i path:s',
  ServiceBackendPort: '= name?:s number?:i',
  ServiceCIDR: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:ServiceCIDRSpec status?:ServiceCIDRStatus',
  ServiceCIDRSpec: 'cidrs?:[s',
  ServiceCIDRStatus: 'conditions?:[Condition%type~type',
  ServicePort: 'name?:s protocol?:s appProtocol?:*s port:i targetPort?:o nodePort?:i',
  ServiceReference: 'namespace:s name:s path?:*s port?:*i',
  ServiceSpec:
    'ports?:[ServicePort%port,protocol~port selector?:{s= clusterIP?:s clusterIPs?:[s type?:s externalIPs?:[s sessionAffinity?:s loadBalancerIP?:s loadBalancerSourceRanges?:[s externalName?:s externalTrafficPolicy?:s healthCheckNodePort?:i publishNotReadyAddresses?:b sessionAffinityConfig?:*SessionAffinityConfig ipFamilies?:[s ipFamilyPolicy?:*s allocateLoadBalancerNodePorts?:*b loadBalancerClass?:*s internalTrafficPolicy?:*s trafficDistribution?:*s',
  ServiceStatus: 'loadBalancer?:LoadBalancerStatus conditions?:[Condition%type~type',
  SessionAffinityConfig: 'clientIP?:*ClientIPConfig',
  SleepAction: 'seconds:i',
  StatefulSet: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:StatefulSetSpec status?:StatefulSetStatus',
  StatefulSetCondition: 'type:s status:s lastTransitionTime?:t reason?:s message?:s',
  StatefulSetOrdinals: 'start:i',
  StatefulSetPersistentVolumeClaimRetentionPolicy: 'whenDeleted?:s whenScaled?:s',
  StatefulSetSpec:
    'replicas?:*i selector:*LabelSelector template:PodTemplateSpec volumeClaimTemplates?:[PersistentVolumeClaim serviceName:s podManagementPolicy?:s updateStrategy?:StatefulSetUpdateStrategy revisionHistoryLimit?:*i minReadySeconds?:i persistentVolumeClaimRetentionPolicy?:*StatefulSetPersistentVolumeClaimRetentionPolicy ordinals?:*StatefulSetOrdinals',
  StatefulSetStatus:
    'observedGeneration?:i replicas:i readyReplicas?:i currentReplicas?:i updatedReplicas?:i currentRevision?:s updateRevision?:s collisionCount?:*i conditions?:[StatefulSetCondition%type~type availableReplicas:i',
  StatefulSetUpdateStrategy: 'type?:s rollingUpdate?:*RollingUpdateStatefulSetStrategy',
  StorageClass:
    'kind?:s apiVersion?:s metadata?:ObjectMeta provisioner:s parameters?:{s reclaimPolicy?:*s mountOptions?:[s allowVolumeExpansion?:*b volumeBindingMode?:*s allowedTopologies?:[TopologySelectorTerm',
  StorageOSPersistentVolumeSource: 'volumeName?:s volumeNamespace?:s fsType?:s readOnly?:b secretRef?:*ObjectReference',
  StorageOSVolumeSource: 'volumeName?:s volumeNamespace?:s fsType?:s readOnly?:b secretRef?:*LocalObjectReference',
  StorageVersion: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:StorageVersionSpec status:StorageVersionStatus',
  StorageVersionCondition: 'type:s status:s observedGeneration?:i lastTransitionTime?:t reason:s message?:s',
  StorageVersionMigration:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:StorageVersionMigrationSpec status?:StorageVersionMigrationStatus',
  StorageVersionMigrationSpec: 'resource:GroupResource',
  StorageVersionMigrationStatus: 'conditions?:[Condition%type~type resourceVersion?:s',
  StorageVersionSpec: '',
  StorageVersionStatus:
    'storageVersions?:[ServerStorageVersion%apiServerID commonEncodingVersion?:*s conditions?:[StorageVersionCondition%type',
  Subject: 'kind:s user?:*UserSubject group?:*GroupSubject serviceAccount?:*ServiceAccountSubject',
  SuccessPolicy: 'rules:[SuccessPolicyRule',
  SuccessPolicyRule: 'succeededIndexes?:*s succeededCount?:*i',
  Sysctl: 'name:s value:s',
  TCPSocketAction: 'port:o host?:s',
  Taint: 'key:s value?:s effect:s timeAdded?:*t',
  TokenRequest: 'audience:s expirationSeconds?:*i',
  Toleration: 'key?:s operator?:s value?:s effect?:s tolerationSeconds?:*i',
  TopologyConstraint: 'key:s',
  TopologySelectorLabelRequirement: 'key:s values:[s',
  TopologySelectorTerm: '= matchLabelExpressions?:[TopologySelectorLabelRequirement',
  TopologySpreadConstraint:
    'maxSkew:i topologyKey:s whenUnsatisfiable:s labelSelector?:*LabelSelector minDomains?:*i nodeAffinityPolicy?:*s nodeTaintsPolicy?:*s matchLabelKeys?:[s',
  TypeChecking: 'expressionWarnings?:[ExpressionWarning',
  TypedLocalObjectReference: '= apiGroup:*s kind:s name:s',
  TypedObjectReference: 'apiGroup:*s kind:s name:s namespace?:*s',
  UncountedTerminatedPods: 'succeeded?:[s% failed?:[s%',
  UserSubject: 'name:s',
  ValidatingAdmissionPolicy:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:ValidatingAdmissionPolicySpec status?:ValidatingAdmissionPolicyStatus',
  ValidatingAdmissionPolicyBinding:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:ValidatingAdmissionPolicyBindingSpec',
  ValidatingAdmissionPolicyBindingSpec:
    'policyName?:s paramRef?:*ParamRef matchResources?:*MatchResources validationActions?:[s%',
  ValidatingAdmissionPolicySpec:
    'paramKind?:*ParamKind matchConstraints?:*MatchResources validations?:[Validation failurePolicy?:*s auditAnnotations?:[AuditAnnotation matchConditions?:[MatchCondition%name~name variables?:[Variable%name~name',
  ValidatingAdmissionPolicyStatus: 'observedGeneration?:i typeChecking?:*TypeChecking conditions?:[Condition%type',
  ValidatingWebhook:
    'name:s clientConfig:WebhookClientConfig rules?:[RuleWithOperations failurePolicy?:*s matchPolicy?:*s namespaceSelector?:*LabelSelector objectSelector?:*LabelSelector sideEffects:*s timeoutSeconds?:*i admissionReviewVersions:[s matchConditions?:[MatchCondition%name~name',
  ValidatingWebhookConfiguration: 'kind?:s apiVersion?:s metadata?:ObjectMeta webhooks?:[ValidatingWebhook%name~name',
  Validation: 'expression:s message?:s reason?:*s messageExpression?:s',
  ValidationRule: 'rule:s message?:s messageExpression?:s reason?:*s fieldPath?:s optionalOldSelf?:*b',
  Variable: '= name:s expression:s',
  Volume:
    'name:s hostPath?:*HostPathVolumeSource emptyDir?:*EmptyDirVolumeSource gcePersistentDisk?:*GCEPersistentDiskVolumeSource awsElasticBlockStore?:*AWSElasticBlockStoreVolumeSource gitRepo?:*GitRepoVolumeSource secret?:*SecretVolumeSource nfs?:*NFSVolumeSource iscsi?:*ISCSIVolumeSource glusterfs?:*GlusterfsVolumeSource persistentVolumeClaim?:*PersistentVolumeClaimVolumeSource rbd?:*RBDVolumeSource flexVolume?:*FlexVolumeSource cinder?:*CinderVolumeSource cephfs?:*CephFSVolumeSource flocker?:*FlockerVolumeSource downwardAPI?:*DownwardAPIVolumeSource fc?:*FCVolumeSource azureFile?:*AzureFileVolumeSource configMap?:*ConfigMapVolumeSource vsphereVolume?:*VsphereVirtualDiskVolumeSource quobyte?:*QuobyteVolumeSource azureDisk?:*AzureDiskVolumeSource photonPersistentDisk?:*PhotonPersistentDiskVolumeSource projected?:*ProjectedVolumeSource portworxVolume?:*PortworxVolumeSource scaleIO?:*ScaleIOVolumeSource storageos?:*StorageOSVolumeSource csi?:*CSIVolumeSource ephemeral?:*EphemeralVolumeSource image?:*ImageVolumeSource',
  VolumeAttachment:
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:VolumeAttachmentSpec status?:VolumeAttachmentStatus',
  VolumeAttachmentSource: 'persistentVolumeName?:*s inlineVolumeSpec?:*PersistentVolumeSpec',
  VolumeAttachmentSpec: 'attacher:s source:VolumeAttachmentSource nodeName:s',
  VolumeAttachmentStatus: 'attached:b attachmentMetadata?:{s attachError?:*VolumeError detachError?:*VolumeError',
  VolumeAttributesClass: 'kind?:s apiVersion?:s metadata?:ObjectMeta driverName:s parameters?:{s',
  VolumeDevice: 'name:s devicePath:s',
  VolumeError: 'time?:t message?:s errorCode?:*i',
  VolumeMount: 'name:s readOnly?:b recursiveReadOnly?:*s mountPath:s subPath?:s mountPropagation?:*s subPathExpr?:s',
  VolumeMountStatus: 'name:s mountPath:s readOnly?:b recursiveReadOnly?:*s volumeStatus?:*VolumeStatus',
  VolumeNodeAffinity: 'required?:*NodeSelector',
  VolumeNodeResources: 'count?:*i',
  VolumeProjection:
    'secret?:*SecretProjection downwardAPI?:*DownwardAPIProjection configMap?:*ConfigMapProjection serviceAccountToken?:*ServiceAccountTokenProjection clusterTrustBundle?:*ClusterTrustBundleProjection podCertificate?:*PodCertificateProjection',
  VolumeResourceRequirements: 'limits?:{m requests?:{m',
  VolumeStatus: 'image?:*ImageVolumeStatus',
  VsphereVirtualDiskVolumeSource: 'volumePath:s fsType?:s storagePolicyName?:s storagePolicyID?:s',
  WebhookClientConfig: 'url?:*s service?:*ServiceReference caBundle?:y',
  WebhookConversion: 'clientConfig?:*apiextensions.v1.WebhookClientConfig conversionReviewVersions:[s',
  WeightedPodAffinityTerm: 'weight:i podAffinityTerm:PodAffinityTerm',
  WindowsSecurityContextOptions: 'gmsaCredentialSpecName?:*s gmsaCredentialSpec?:*s runAsUserName?:*s hostProcess?:*b',
  Workload: 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:WorkloadSpec',
  WorkloadPodGroupTemplateReference: 'workloadName:s podGroupTemplateName:s',
  WorkloadSpec:
    'controllerRef?:*scheduling.v1alpha2.TypedLocalObjectReference podGroupTemplates:[PodGroupTemplate%name',
  'admissionregistration.v1alpha1.ApplyConfiguration': 'expression?:s',
  'admissionregistration.v1alpha1.AuditAnnotation': 'key:s valueExpression:s',
  'admissionregistration.v1alpha1.ExpressionWarning': 'fieldRef:s warning:s',
  'admissionregistration.v1alpha1.JSONPatch': 'expression?:s',
  'admissionregistration.v1alpha1.MatchCondition': 'name:s expression:s',
  'admissionregistration.v1alpha1.MatchResources':
    '= namespaceSelector?:*LabelSelector objectSelector?:*LabelSelector resourceRules?:[admissionregistration.v1alpha1.NamedRuleWithOperations excludeResourceRules?:[admissionregistration.v1alpha1.NamedRuleWithOperations matchPolicy?:*s',
  'admissionregistration.v1alpha1.MutatingAdmissionPolicy':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:admissionregistration.v1alpha1.MutatingAdmissionPolicySpec',
  'admissionregistration.v1alpha1.MutatingAdmissionPolicyBinding':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:admissionregistration.v1alpha1.MutatingAdmissionPolicyBindingSpec',
  'admissionregistration.v1alpha1.MutatingAdmissionPolicyBindingSpec':
    'policyName?:s paramRef?:*admissionregistration.v1alpha1.ParamRef matchResources?:*admissionregistration.v1alpha1.MatchResources',
  'admissionregistration.v1alpha1.MutatingAdmissionPolicySpec':
    'paramKind?:*admissionregistration.v1alpha1.ParamKind matchConstraints?:*admissionregistration.v1alpha1.MatchResources variables?:[admissionregistration.v1alpha1.Variable mutations?:[admissionregistration.v1alpha1.Mutation failurePolicy?:*s matchConditions?:[admissionregistration.v1alpha1.MatchCondition%name~name reinvocationPolicy?:s',
  'admissionregistration.v1alpha1.Mutation':
    'patchType:s applyConfiguration?:*admissionregistration.v1alpha1.ApplyConfiguration jsonPatch?:*admissionregistration.v1alpha1.JSONPatch',
  'admissionregistration.v1alpha1.NamedRuleWithOperations':
    '= resourceNames?:[s operations?:[s apiGroups?:[s apiVersions?:[s resources?:[s scope?:*s',
  'admissionregistration.v1alpha1.ParamKind': '= apiVersion?:s kind?:s',
  'admissionregistration.v1alpha1.ParamRef':
    '= name?:s namespace?:s selector?:*LabelSelector parameterNotFoundAction?:*s',
  'admissionregistration.v1alpha1.TypeChecking':
    'expressionWarnings?:[admissionregistration.v1alpha1.ExpressionWarning',
  'admissionregistration.v1alpha1.ValidatingAdmissionPolicy':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:admissionregistration.v1alpha1.ValidatingAdmissionPolicySpec status?:admissionregistration.v1alpha1.ValidatingAdmissionPolicyStatus',
  'admissionregistration.v1alpha1.ValidatingAdmissionPolicyBinding':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:admissionregistration.v1alpha1.ValidatingAdmissionPolicyBindingSpec',
  'admissionregistration.v1alpha1.ValidatingAdmissionPolicyBindingSpec':
    'policyName?:s paramRef?:*admissionregistration.v1alpha1.ParamRef matchResources?:*admissionregistration.v1alpha1.MatchResources validationActions?:[s%',
  'admissionregistration.v1alpha1.ValidatingAdmissionPolicySpec':
    'paramKind?:*admissionregistration.v1alpha1.ParamKind matchConstraints?:*admissionregistration.v1alpha1.MatchResources validations?:[admissionregistration.v1alpha1.Validation failurePolicy?:*s auditAnnotations?:[admissionregistration.v1alpha1.AuditAnnotation matchConditions?:[admissionregistration.v1alpha1.MatchCondition%name~name variables?:[admissionregistration.v1alpha1.Variable%name~name',
  'admissionregistration.v1alpha1.ValidatingAdmissionPolicyStatus':
    'observedGeneration?:i typeChecking?:*admissionregistration.v1alpha1.TypeChecking conditions?:[Condition%type',
  'admissionregistration.v1alpha1.Validation': 'expression:s message?:s reason?:*s messageExpression?:s',
  'admissionregistration.v1alpha1.Variable': 'name:s expression:s',
  'admissionregistration.v1beta1.ApplyConfiguration': 'expression?:s',
  'admissionregistration.v1beta1.AuditAnnotation': 'key:s valueExpression:s',
  'admissionregistration.v1beta1.ExpressionWarning': 'fieldRef:s warning:s',
  'admissionregistration.v1beta1.JSONPatch': 'expression?:s',
  'admissionregistration.v1beta1.MatchCondition': 'name:s expression:s',
  'admissionregistration.v1beta1.MatchResources':
    '= namespaceSelector?:*LabelSelector objectSelector?:*LabelSelector resourceRules?:[admissionregistration.v1beta1.NamedRuleWithOperations excludeResourceRules?:[admissionregistration.v1beta1.NamedRuleWithOperations matchPolicy?:*s',
  'admissionregistration.v1beta1.MutatingAdmissionPolicy':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:admissionregistration.v1beta1.MutatingAdmissionPolicySpec',
  'admissionregistration.v1beta1.MutatingAdmissionPolicyBinding':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:admissionregistration.v1beta1.MutatingAdmissionPolicyBindingSpec',
  'admissionregistration.v1beta1.MutatingAdmissionPolicyBindingSpec':
    'policyName?:s paramRef?:*admissionregistration.v1beta1.ParamRef matchResources?:*admissionregistration.v1beta1.MatchResources',
  'admissionregistration.v1beta1.MutatingAdmissionPolicySpec':
    'paramKind?:*admissionregistration.v1beta1.ParamKind matchConstraints?:*admissionregistration.v1beta1.MatchResources variables?:[admissionregistration.v1beta1.Variable mutations?:[admissionregistration.v1beta1.Mutation failurePolicy?:*s matchConditions?:[admissionregistration.v1beta1.MatchCondition%name~name reinvocationPolicy?:s',
  'admissionregistration.v1beta1.MutatingWebhook':
    'name:s clientConfig:admissionregistration.v1beta1.WebhookClientConfig rules?:[RuleWithOperations failurePolicy?:*s matchPolicy?:*s namespaceSelector?:*LabelSelector objectSelector?:*LabelSelector sideEffects?:*s timeoutSeconds?:*i admissionReviewVersions?:[s reinvocationPolicy?:*s matchConditions?:[admissionregistration.v1beta1.MatchCondition%name~name',
  'admissionregistration.v1beta1.MutatingWebhookConfiguration':
    'kind?:s apiVersion?:s metadata?:ObjectMeta webhooks?:[admissionregistration.v1beta1.MutatingWebhook%name~name',
  'admissionregistration.v1beta1.Mutation':
    'patchType:s applyConfiguration?:*admissionregistration.v1beta1.ApplyConfiguration jsonPatch?:*admissionregistration.v1beta1.JSONPatch',
  'admissionregistration.v1beta1.NamedRuleWithOperations':
    '= resourceNames?:[s operations?:[s apiGroups?:[s apiVersions?:[s resources?:[s scope?:*s',
  'admissionregistration.v1beta1.ParamKind': '= apiVersion?:s kind?:s',
  'admissionregistration.v1beta1.ParamRef':
    '= name?:s namespace?:s selector?:*LabelSelector parameterNotFoundAction?:*s',
  'admissionregistration.v1beta1.ServiceReference': 'namespace:s name:s path?:*s port?:*i',
  'admissionregistration.v1beta1.TypeChecking': 'expressionWarnings?:[admissionregistration.v1beta1.ExpressionWarning',
  'admissionregistration.v1beta1.ValidatingAdmissionPolicy':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:admissionregistration.v1beta1.ValidatingAdmissionPolicySpec status?:admissionregistration.v1beta1.ValidatingAdmissionPolicyStatus',
  'admissionregistration.v1beta1.ValidatingAdmissionPolicyBinding':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:admissionregistration.v1beta1.ValidatingAdmissionPolicyBindingSpec',
  'admissionregistration.v1beta1.ValidatingAdmissionPolicyBindingSpec':
    'policyName?:s paramRef?:*admissionregistration.v1beta1.ParamRef matchResources?:*admissionregistration.v1beta1.MatchResources validationActions?:[s%',
  'admissionregistration.v1beta1.ValidatingAdmissionPolicySpec':
    'paramKind?:*admissionregistration.v1beta1.ParamKind matchConstraints?:*admissionregistration.v1beta1.MatchResources validations?:[admissionregistration.v1beta1.Validation failurePolicy?:*s auditAnnotations?:[admissionregistration.v1beta1.AuditAnnotation matchConditions?:[admissionregistration.v1beta1.MatchCondition%name~name variables?:[admissionregistration.v1beta1.Variable%name~name',
  'admissionregistration.v1beta1.ValidatingAdmissionPolicyStatus':
    'observedGeneration?:i typeChecking?:*admissionregistration.v1beta1.TypeChecking conditions?:[Condition%type',
  'admissionregistration.v1beta1.ValidatingWebhook':
    'name:s clientConfig:admissionregistration.v1beta1.WebhookClientConfig rules?:[RuleWithOperations failurePolicy?:*s matchPolicy?:*s namespaceSelector?:*LabelSelector objectSelector?:*LabelSelector sideEffects?:*s timeoutSeconds?:*i admissionReviewVersions?:[s matchConditions?:[admissionregistration.v1beta1.MatchCondition%name~name',
  'admissionregistration.v1beta1.ValidatingWebhookConfiguration':
    'kind?:s apiVersion?:s metadata?:ObjectMeta webhooks?:[admissionregistration.v1beta1.ValidatingWebhook%name~name',
  'admissionregistration.v1beta1.Validation': 'expression:s message?:s reason?:*s messageExpression?:s',
  'admissionregistration.v1beta1.Variable': '= name:s expression:s',
  'admissionregistration.v1beta1.WebhookClientConfig':
    'url?:*s service?:*admissionregistration.v1beta1.ServiceReference caBundle?:y',
  'apiextensions.v1.ServiceReference': 'namespace:s name:s path?:*s port?:*i',
  'apiextensions.v1.WebhookClientConfig': 'url?:*s service?:*apiextensions.v1.ServiceReference caBundle?:y',
  'apiregistration.v1.ServiceReference': 'namespace?:s name?:s port?:*i',
  'autoscaling.v2.CrossVersionObjectReference': 'kind:s name:s apiVersion?:s',
  'autoscaling.v2.HorizontalPodAutoscaler':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:autoscaling.v2.HorizontalPodAutoscalerSpec status?:autoscaling.v2.HorizontalPodAutoscalerStatus',
  'autoscaling.v2.HorizontalPodAutoscalerSpec':
    'scaleTargetRef:autoscaling.v2.CrossVersionObjectReference minReplicas?:*i maxReplicas:i metrics?:[MetricSpec behavior?:*HorizontalPodAutoscalerBehavior',
  'autoscaling.v2.HorizontalPodAutoscalerStatus':
    'observedGeneration?:*i lastScaleTime?:*t currentReplicas?:i desiredReplicas:i currentMetrics:[MetricStatus conditions?:[HorizontalPodAutoscalerCondition%type~type',
  'batch.v1beta1.CronJob':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:batch.v1beta1.CronJobSpec status?:batch.v1beta1.CronJobStatus',
  'batch.v1beta1.CronJobSpec':
    'schedule:s timeZone?:*s startingDeadlineSeconds?:*i concurrencyPolicy?:s suspend?:*b jobTemplate:batch.v1beta1.JobTemplateSpec successfulJobsHistoryLimit?:*i failedJobsHistoryLimit?:*i',
  'batch.v1beta1.CronJobStatus': 'active?:[ObjectReference lastScheduleTime?:*t lastSuccessfulTime?:*t',
  'batch.v1beta1.JobTemplateSpec': 'metadata?:ObjectMeta spec?:JobSpec',
  'certificates.v1beta1.CertificateSigningRequest':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:certificates.v1beta1.CertificateSigningRequestSpec status?:certificates.v1beta1.CertificateSigningRequestStatus',
  'certificates.v1beta1.CertificateSigningRequestCondition':
    'type:s status:s reason?:s message?:s lastUpdateTime?:t lastTransitionTime?:t',
  'certificates.v1beta1.CertificateSigningRequestSpec':
    'request:y signerName?:*s expirationSeconds?:*i usages?:[s username?:s uid?:s groups?:[s extra?:{[s',
  'certificates.v1beta1.CertificateSigningRequestStatus':
    'conditions?:[certificates.v1beta1.CertificateSigningRequestCondition%type certificate?:y',
  'certificates.v1beta1.ClusterTrustBundle':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:certificates.v1beta1.ClusterTrustBundleSpec',
  'certificates.v1beta1.ClusterTrustBundleSpec': 'signerName?:s trustBundle:s',
  'coordination.v1beta1.Lease': 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:coordination.v1beta1.LeaseSpec',
  'coordination.v1beta1.LeaseCandidate':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:coordination.v1beta1.LeaseCandidateSpec',
  'coordination.v1beta1.LeaseCandidateSpec':
    'leaseName:s pingTime?:*u renewTime?:*u binaryVersion:s emulationVersion?:s strategy?:s',
  'coordination.v1beta1.LeaseSpec':
    'holderIdentity?:*s leaseDurationSeconds?:*i acquireTime?:*u renewTime?:*u leaseTransitions?:*i strategy?:*s preferredHolder?:*s',
  'discovery.v1.EndpointPort': '= name?:*s protocol?:*s port?:*i appProtocol?:*s',
  'discovery.v1beta1.Endpoint':
    'addresses:[s% conditions?:discovery.v1beta1.EndpointConditions hostname?:*s targetRef?:*ObjectReference topology?:{s nodeName?:*s hints?:*discovery.v1beta1.EndpointHints',
  'discovery.v1beta1.EndpointConditions': 'ready?:*b serving?:*b terminating?:*b',
  'discovery.v1beta1.EndpointHints': 'forZones?:[discovery.v1beta1.ForZone forNodes?:[discovery.v1beta1.ForNode',
  'discovery.v1beta1.EndpointPort': 'name?:*s protocol?:*s port?:*i appProtocol?:*s',
  'discovery.v1beta1.EndpointSlice':
    'kind?:s apiVersion?:s metadata?:ObjectMeta addressType:s endpoints:[discovery.v1beta1.Endpoint ports:[discovery.v1beta1.EndpointPort',
  'discovery.v1beta1.ForNode': 'name:s',
  'discovery.v1beta1.ForZone': 'name:s',
  'events.v1.Event':
    'kind?:s apiVersion?:s metadata:ObjectMeta eventTime:u series?:*events.v1.EventSeries reportingController?:s reportingInstance?:s action?:s reason?:s regarding?:ObjectReference related?:*ObjectReference note?:s type?:s deprecatedSource?:EventSource deprecatedFirstTimestamp?:t deprecatedLastTimestamp?:t deprecatedCount?:i',
  'events.v1.EventSeries': 'count:i lastObservedTime:u',
  'events.v1beta1.Event':
    'kind?:s apiVersion?:s metadata:ObjectMeta eventTime:u series?:*events.v1beta1.EventSeries reportingController?:s reportingInstance?:s action?:s reason?:s regarding?:ObjectReference related?:*ObjectReference note?:s type?:s deprecatedSource?:EventSource deprecatedFirstTimestamp?:t deprecatedLastTimestamp?:t deprecatedCount?:i',
  'events.v1beta1.EventSeries': 'count:i lastObservedTime:u',
  'flowcontrol.v1beta1.ExemptPriorityLevelConfiguration': 'nominalConcurrencyShares?:*i lendablePercent?:*i',
  'flowcontrol.v1beta1.FlowDistinguisherMethod': 'type:s',
  'flowcontrol.v1beta1.FlowSchema':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:flowcontrol.v1beta1.FlowSchemaSpec status?:flowcontrol.v1beta1.FlowSchemaStatus',
  'flowcontrol.v1beta1.FlowSchemaCondition': 'type?:s status?:s lastTransitionTime?:t reason?:s message?:s',
  'flowcontrol.v1beta1.FlowSchemaSpec':
    'priorityLevelConfiguration:flowcontrol.v1beta1.PriorityLevelConfigurationReference matchingPrecedence:i distinguisherMethod?:*flowcontrol.v1beta1.FlowDistinguisherMethod rules?:[flowcontrol.v1beta1.PolicyRulesWithSubjects',
  'flowcontrol.v1beta1.FlowSchemaStatus': 'conditions?:[flowcontrol.v1beta1.FlowSchemaCondition%type',
  'flowcontrol.v1beta1.GroupSubject': 'name:s',
  'flowcontrol.v1beta1.LimitResponse': 'type:s queuing?:*flowcontrol.v1beta1.QueuingConfiguration',
  'flowcontrol.v1beta1.LimitedPriorityLevelConfiguration':
    'assuredConcurrencyShares:i limitResponse?:flowcontrol.v1beta1.LimitResponse lendablePercent?:*i borrowingLimitPercent?:*i',
  'flowcontrol.v1beta1.NonResourcePolicyRule': 'verbs:[s% nonResourceURLs:[s%',
  'flowcontrol.v1beta1.PolicyRulesWithSubjects':
    'subjects:[flowcontrol.v1beta1.Subject resourceRules?:[flowcontrol.v1beta1.ResourcePolicyRule nonResourceRules?:[flowcontrol.v1beta1.NonResourcePolicyRule',
  'flowcontrol.v1beta1.PriorityLevelConfiguration':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:flowcontrol.v1beta1.PriorityLevelConfigurationSpec status?:flowcontrol.v1beta1.PriorityLevelConfigurationStatus',
  'flowcontrol.v1beta1.PriorityLevelConfigurationCondition':
    'type?:s status?:s lastTransitionTime?:t reason?:s message?:s',
  'flowcontrol.v1beta1.PriorityLevelConfigurationReference': 'name:s',
  'flowcontrol.v1beta1.PriorityLevelConfigurationSpec':
    'type:s limited?:*flowcontrol.v1beta1.LimitedPriorityLevelConfiguration exempt?:*flowcontrol.v1beta1.ExemptPriorityLevelConfiguration',
  'flowcontrol.v1beta1.PriorityLevelConfigurationStatus':
    'conditions?:[flowcontrol.v1beta1.PriorityLevelConfigurationCondition%type',
  'flowcontrol.v1beta1.QueuingConfiguration': 'queues:i handSize:i queueLengthLimit:i',
  'flowcontrol.v1beta1.ResourcePolicyRule': 'verbs:[s% apiGroups:[s% resources:[s% clusterScope?:b namespaces:[s%',
  'flowcontrol.v1beta1.ServiceAccountSubject': 'namespace:s name:s',
  'flowcontrol.v1beta1.Subject':
    'kind:s user?:*flowcontrol.v1beta1.UserSubject group?:*flowcontrol.v1beta1.GroupSubject serviceAccount?:*flowcontrol.v1beta1.ServiceAccountSubject',
  'flowcontrol.v1beta1.UserSubject': 'name:s',
  'flowcontrol.v1beta2.ExemptPriorityLevelConfiguration': 'nominalConcurrencyShares?:*i lendablePercent?:*i',
  'flowcontrol.v1beta2.FlowDistinguisherMethod': 'type:s',
  'flowcontrol.v1beta2.FlowSchema':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:flowcontrol.v1beta2.FlowSchemaSpec status?:flowcontrol.v1beta2.FlowSchemaStatus',
  'flowcontrol.v1beta2.FlowSchemaCondition': 'type?:s status?:s lastTransitionTime?:t reason?:s message?:s',
  'flowcontrol.v1beta2.FlowSchemaSpec':
    'priorityLevelConfiguration:flowcontrol.v1beta2.PriorityLevelConfigurationReference matchingPrecedence:i distinguisherMethod?:*flowcontrol.v1beta2.FlowDistinguisherMethod rules?:[flowcontrol.v1beta2.PolicyRulesWithSubjects',
  'flowcontrol.v1beta2.FlowSchemaStatus': 'conditions?:[flowcontrol.v1beta2.FlowSchemaCondition%type',
  'flowcontrol.v1beta2.GroupSubject': 'name:s',
  'flowcontrol.v1beta2.LimitResponse': 'type:s queuing?:*flowcontrol.v1beta2.QueuingConfiguration',
  'flowcontrol.v1beta2.LimitedPriorityLevelConfiguration':
    'assuredConcurrencyShares:i limitResponse?:flowcontrol.v1beta2.LimitResponse lendablePercent?:*i borrowingLimitPercent?:*i',
  'flowcontrol.v1beta2.NonResourcePolicyRule': 'verbs:[s% nonResourceURLs:[s%',
  'flowcontrol.v1beta2.PolicyRulesWithSubjects':
    'subjects:[flowcontrol.v1beta2.Subject resourceRules?:[flowcontrol.v1beta2.ResourcePolicyRule nonResourceRules?:[flowcontrol.v1beta2.NonResourcePolicyRule',
  'flowcontrol.v1beta2.PriorityLevelConfiguration':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:flowcontrol.v1beta2.PriorityLevelConfigurationSpec status?:flowcontrol.v1beta2.PriorityLevelConfigurationStatus',
  'flowcontrol.v1beta2.PriorityLevelConfigurationCondition':
    'type?:s status?:s lastTransitionTime?:t reason?:s message?:s',
  'flowcontrol.v1beta2.PriorityLevelConfigurationReference': 'name:s',
  'flowcontrol.v1beta2.PriorityLevelConfigurationSpec':
    'type:s limited?:*flowcontrol.v1beta2.LimitedPriorityLevelConfiguration exempt?:*flowcontrol.v1beta2.ExemptPriorityLevelConfiguration',
  'flowcontrol.v1beta2.PriorityLevelConfigurationStatus':
    'conditions?:[flowcontrol.v1beta2.PriorityLevelConfigurationCondition%type',
  'flowcontrol.v1beta2.QueuingConfiguration': 'queues:i handSize:i queueLengthLimit:i',
  'flowcontrol.v1beta2.ResourcePolicyRule': 'verbs:[s% apiGroups:[s% resources:[s% clusterScope?:b namespaces:[s%',
  'flowcontrol.v1beta2.ServiceAccountSubject': 'namespace:s name:s',
  'flowcontrol.v1beta2.Subject':
    'kind:s user?:*flowcontrol.v1beta2.UserSubject group?:*flowcontrol.v1beta2.GroupSubject serviceAccount?:*flowcontrol.v1beta2.ServiceAccountSubject',
  'flowcontrol.v1beta2.UserSubject': 'name:s',
  'flowcontrol.v1beta3.ExemptPriorityLevelConfiguration': 'nominalConcurrencyShares?:*i lendablePercent?:*i',
  'flowcontrol.v1beta3.FlowDistinguisherMethod': 'type:s',
  'flowcontrol.v1beta3.FlowSchema':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:flowcontrol.v1beta3.FlowSchemaSpec status?:flowcontrol.v1beta3.FlowSchemaStatus',
  'flowcontrol.v1beta3.FlowSchemaCondition': 'type?:s status?:s lastTransitionTime?:t reason?:s message?:s',
  'flowcontrol.v1beta3.FlowSchemaSpec':
    'priorityLevelConfiguration:flowcontrol.v1beta3.PriorityLevelConfigurationReference matchingPrecedence:i distinguisherMethod?:*flowcontrol.v1beta3.FlowDistinguisherMethod rules?:[flowcontrol.v1beta3.PolicyRulesWithSubjects',
  'flowcontrol.v1beta3.FlowSchemaStatus': 'conditions?:[flowcontrol.v1beta3.FlowSchemaCondition%type~type',
  'flowcontrol.v1beta3.GroupSubject': 'name:s',
  'flowcontrol.v1beta3.LimitResponse': 'type:s queuing?:*flowcontrol.v1beta3.QueuingConfiguration',
  'flowcontrol.v1beta3.LimitedPriorityLevelConfiguration':
    'nominalConcurrencyShares:i limitResponse?:flowcontrol.v1beta3.LimitResponse lendablePercent?:*i borrowingLimitPercent?:*i',
  'flowcontrol.v1beta3.NonResourcePolicyRule': 'verbs:[s% nonResourceURLs:[s%',
  'flowcontrol.v1beta3.PolicyRulesWithSubjects':
    'subjects:[flowcontrol.v1beta3.Subject resourceRules?:[flowcontrol.v1beta3.ResourcePolicyRule nonResourceRules?:[flowcontrol.v1beta3.NonResourcePolicyRule',
  'flowcontrol.v1beta3.PriorityLevelConfiguration':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:flowcontrol.v1beta3.PriorityLevelConfigurationSpec status?:flowcontrol.v1beta3.PriorityLevelConfigurationStatus',
  'flowcontrol.v1beta3.PriorityLevelConfigurationCondition':
    'type?:s status?:s lastTransitionTime?:t reason?:s message?:s',
  'flowcontrol.v1beta3.PriorityLevelConfigurationReference': 'name:s',
  'flowcontrol.v1beta3.PriorityLevelConfigurationSpec':
    'type:s limited?:*flowcontrol.v1beta3.LimitedPriorityLevelConfiguration exempt?:*flowcontrol.v1beta3.ExemptPriorityLevelConfiguration',
  'flowcontrol.v1beta3.PriorityLevelConfigurationStatus':
    'conditions?:[flowcontrol.v1beta3.PriorityLevelConfigurationCondition%type~type',
  'flowcontrol.v1beta3.QueuingConfiguration': 'queues:i handSize:i queueLengthLimit:i',
  'flowcontrol.v1beta3.ResourcePolicyRule': 'verbs:[s% apiGroups:[s% resources:[s% clusterScope?:b namespaces:[s%',
  'flowcontrol.v1beta3.ServiceAccountSubject': 'namespace:s name:s',
  'flowcontrol.v1beta3.Subject':
    'kind:s user?:*flowcontrol.v1beta3.UserSubject group?:*flowcontrol.v1beta3.GroupSubject serviceAccount?:*flowcontrol.v1beta3.ServiceAccountSubject',
  'flowcontrol.v1beta3.UserSubject': 'name:s',
  'networking.v1beta1.HTTPIngressPath': 'path?:s pathType?:*s backend:networking.v1beta1.IngressBackend',
  'networking.v1beta1.HTTPIngressRuleValue': 'paths:[networking.v1beta1.HTTPIngressPath',
  'networking.v1beta1.IPAddress': 'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:networking.v1beta1.IPAddressSpec',
  'networking.v1beta1.IPAddressSpec': 'parentRef?:*networking.v1beta1.ParentReference',
  'networking.v1beta1.Ingress':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:networking.v1beta1.IngressSpec status?:networking.v1beta1.IngressStatus',
  'networking.v1beta1.IngressBackend': 'serviceName?:s servicePort?:o resource?:*TypedLocalObjectReference',
  'networking.v1beta1.IngressClass':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:networking.v1beta1.IngressClassSpec',
  'networking.v1beta1.IngressClassParametersReference': 'apiGroup?:*s kind:s name:s scope:*s namespace?:*s',
  'networking.v1beta1.IngressClassSpec':
    'controller?:s parameters?:*networking.v1beta1.IngressClassParametersReference',
  'networking.v1beta1.IngressLoadBalancerIngress': 'ip?:s hostname?:s ports?:[networking.v1beta1.IngressPortStatus',
  'networking.v1beta1.IngressLoadBalancerStatus': 'ingress?:[networking.v1beta1.IngressLoadBalancerIngress',
  'networking.v1beta1.IngressPortStatus': 'port:i protocol:s error?:*s',
  'networking.v1beta1.IngressRule': 'host?:s http?:*networking.v1beta1.HTTPIngressRuleValue',
  'networking.v1beta1.IngressSpec':
    'ingressClassName?:*s backend?:*networking.v1beta1.IngressBackend tls?:[networking.v1beta1.IngressTLS rules?:[networking.v1beta1.IngressRule',
  'networking.v1beta1.IngressStatus': 'loadBalancer?:networking.v1beta1.IngressLoadBalancerStatus',
  'networking.v1beta1.IngressTLS': 'hosts?:[s secretName?:s',
  'networking.v1beta1.ParentReference': 'group?:s resource?:s namespace?:s name?:s',
  'networking.v1beta1.ServiceCIDR':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:networking.v1beta1.ServiceCIDRSpec status?:networking.v1beta1.ServiceCIDRStatus',
  'networking.v1beta1.ServiceCIDRSpec': 'cidrs?:[s',
  'networking.v1beta1.ServiceCIDRStatus': 'conditions?:[Condition%type~type',
  'node.v1alpha1.Overhead': 'podFixed?:{m',
  'node.v1alpha1.RuntimeClass': 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:RuntimeClassSpec',
  'node.v1alpha1.Scheduling': 'nodeSelector?:{s= tolerations?:[Toleration',
  'node.v1beta1.Overhead': 'podFixed?:{m',
  'node.v1beta1.RuntimeClass':
    'kind?:s apiVersion?:s metadata?:ObjectMeta handler:s overhead?:*node.v1beta1.Overhead scheduling?:*node.v1beta1.Scheduling',
  'node.v1beta1.Scheduling': 'nodeSelector?:{s= tolerations?:[Toleration',
  'policy.v1beta1.PodDisruptionBudget':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec?:policy.v1beta1.PodDisruptionBudgetSpec status?:policy.v1beta1.PodDisruptionBudgetStatus',
  'policy.v1beta1.PodDisruptionBudgetSpec':
    'minAvailable?:*o selector?:*LabelSelector maxUnavailable?:*o unhealthyPodEvictionPolicy?:*s',
  'policy.v1beta1.PodDisruptionBudgetStatus':
    'observedGeneration?:i disruptedPods?:{t disruptionsAllowed:i currentHealthy:i desiredHealthy:i expectedPods:i conditions?:[Condition%type~type',
  'rbac.v1.Subject': '= kind:s apiGroup?:s name:s namespace?:s',
  'rbac.v1beta1.AggregationRule': 'clusterRoleSelectors?:[LabelSelector',
  'rbac.v1beta1.ClusterRole':
    'kind?:s apiVersion?:s metadata?:ObjectMeta rules:[rbac.v1beta1.PolicyRule aggregationRule?:*rbac.v1beta1.AggregationRule',
  'rbac.v1beta1.ClusterRoleBinding':
    'kind?:s apiVersion?:s metadata?:ObjectMeta subjects?:[rbac.v1beta1.Subject roleRef:rbac.v1beta1.RoleRef',
  'rbac.v1beta1.PolicyRule': 'verbs:[s apiGroups?:[s resources?:[s resourceNames?:[s nonResourceURLs?:[s',
  'rbac.v1beta1.Role': 'kind?:s apiVersion?:s metadata?:ObjectMeta rules:[rbac.v1beta1.PolicyRule',
  'rbac.v1beta1.RoleBinding':
    'kind?:s apiVersion?:s metadata?:ObjectMeta subjects?:[rbac.v1beta1.Subject roleRef:rbac.v1beta1.RoleRef',
  'rbac.v1beta1.RoleRef': 'apiGroup:s kind:s name:s',
  'rbac.v1beta1.Subject': 'kind:s apiGroup?:s name:s namespace?:s',
  'resource.v1.ResourceClaim':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:ResourceClaimSpec status?:ResourceClaimStatus',
  'resource.v1alpha3.DeviceTaint': 'key:s value?:s effect:s timeAdded?:*t',
  'resource.v1beta1.AllocatedDeviceStatus':
    'driver:s pool:s device:s shareID?:*s conditions:[Condition%type data?:*r networkData?:*resource.v1beta1.NetworkDeviceData',
  'resource.v1beta1.AllocationResult':
    'devices?:resource.v1beta1.DeviceAllocationResult nodeSelector?:*NodeSelector allocationTimestamp?:*t',
  'resource.v1beta1.CELDeviceSelector': 'expression:s',
  'resource.v1beta1.CapacityRequestPolicy':
    'default:*q validValues?:[q validRange?:*resource.v1beta1.CapacityRequestPolicyRange',
  'resource.v1beta1.CapacityRequestPolicyRange': 'min?:*q max?:*q step?:*q',
  'resource.v1beta1.CapacityRequirements': 'requests?:{q',
  'resource.v1beta1.Counter': 'value:q',
  'resource.v1beta1.CounterSet': 'name:s counters?:{resource.v1beta1.Counter',
  'resource.v1beta1.Device': 'name:s basic?:*BasicDevice',
  'resource.v1beta1.DeviceAllocationConfiguration':
    'source:s requests?:[s opaque?:*resource.v1beta1.OpaqueDeviceConfiguration',
  'resource.v1beta1.DeviceAllocationResult':
    'results?:[resource.v1beta1.DeviceRequestAllocationResult config?:[resource.v1beta1.DeviceAllocationConfiguration',
  'resource.v1beta1.DeviceAttribute':
    'int?:*i bool?:*b string?:*s version?:*s ints?:[i bools?:[b strings?:[s versions?:[s',
  'resource.v1beta1.DeviceCapacity': 'value:q requestPolicy?:*resource.v1beta1.CapacityRequestPolicy',
  'resource.v1beta1.DeviceClaim':
    'requests:[resource.v1beta1.DeviceRequest constraints?:[resource.v1beta1.DeviceConstraint config?:[resource.v1beta1.DeviceClaimConfiguration',
  'resource.v1beta1.DeviceClaimConfiguration': 'requests?:[s opaque?:*resource.v1beta1.OpaqueDeviceConfiguration',
  'resource.v1beta1.DeviceClass': 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:resource.v1beta1.DeviceClassSpec',
  'resource.v1beta1.DeviceClassConfiguration': 'opaque?:*resource.v1beta1.OpaqueDeviceConfiguration',
  'resource.v1beta1.DeviceClassSpec':
    'selectors?:[resource.v1beta1.DeviceSelector config?:[resource.v1beta1.DeviceClassConfiguration extendedResourceName?:*s',
  'resource.v1beta1.DeviceConstraint': 'requests?:[s matchAttribute?:*s distinctAttribute?:*s',
  'resource.v1beta1.DeviceCounterConsumption': 'counterSet:s counters?:{resource.v1beta1.Counter',
  'resource.v1beta1.DeviceRequest':
    'name:s deviceClassName:s selectors?:[resource.v1beta1.DeviceSelector allocationMode?:s count?:i adminAccess?:*b firstAvailable?:[resource.v1beta1.DeviceSubRequest tolerations?:[resource.v1beta1.DeviceToleration capacity?:*resource.v1beta1.CapacityRequirements',
  'resource.v1beta1.DeviceRequestAllocationResult':
    'request:s driver:s pool:s device:s adminAccess?:*b tolerations?:[resource.v1beta1.DeviceToleration bindingConditions?:[s bindingFailureConditions?:[s shareID?:*s consumedCapacity?:{q',
  'resource.v1beta1.DeviceSelector': 'cel?:*resource.v1beta1.CELDeviceSelector',
  'resource.v1beta1.DeviceSubRequest':
    'name:s deviceClassName:s selectors?:[resource.v1beta1.DeviceSelector allocationMode?:s count?:i tolerations?:[resource.v1beta1.DeviceToleration capacity?:*resource.v1beta1.CapacityRequirements',
  'resource.v1beta1.DeviceTaint': 'key:s value?:s effect:s timeAdded?:*t',
  'resource.v1beta1.DeviceToleration': 'key?:s operator?:s value?:s effect?:s tolerationSeconds?:*i',
  'resource.v1beta1.NetworkDeviceData': 'interfaceName?:s ips?:[s hardwareAddress?:s',
  'resource.v1beta1.NodeAllocatableResourceMapping': 'capacityKey?:*s allocationMultiplier?:*q',
  'resource.v1beta1.OpaqueDeviceConfiguration': 'driver:s parameters:r',
  'resource.v1beta1.ResourceClaim':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:resource.v1beta1.ResourceClaimSpec status?:resource.v1beta1.ResourceClaimStatus',
  'resource.v1beta1.ResourceClaimConsumerReference': 'apiGroup?:s resource:s name:s uid:s',
  'resource.v1beta1.ResourceClaimSpec': 'devices:resource.v1beta1.DeviceClaim',
  'resource.v1beta1.ResourceClaimStatus':
    'allocation?:*resource.v1beta1.AllocationResult reservedFor?:[resource.v1beta1.ResourceClaimConsumerReference%uid~uid devices?:[resource.v1beta1.AllocatedDeviceStatus%driver,device,pool,shareID',
  'resource.v1beta1.ResourceClaimTemplate':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:resource.v1beta1.ResourceClaimTemplateSpec',
  'resource.v1beta1.ResourceClaimTemplateSpec': 'metadata?:ObjectMeta spec:resource.v1beta1.ResourceClaimSpec',
  'resource.v1beta1.ResourcePool': 'name:s generation:i resourceSliceCount:i',
  'resource.v1beta1.ResourceSlice':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:resource.v1beta1.ResourceSliceSpec',
  'resource.v1beta1.ResourceSliceSpec':
    'driver:s pool:resource.v1beta1.ResourcePool nodeName?:s nodeSelector?:*NodeSelector allNodes?:b devices?:[resource.v1beta1.Device perDeviceNodeSelection?:*b sharedCounters?:[resource.v1beta1.CounterSet',
  'resource.v1beta2.AllocatedDeviceStatus':
    'driver:s pool:s device:s shareID?:*s conditions:[Condition%type data?:*r networkData?:*resource.v1beta2.NetworkDeviceData',
  'resource.v1beta2.AllocationResult':
    'devices?:resource.v1beta2.DeviceAllocationResult nodeSelector?:*NodeSelector allocationTimestamp?:*t',
  'resource.v1beta2.CELDeviceSelector': 'expression:s',
  'resource.v1beta2.CapacityRequestPolicy':
    'default:*q validValues?:[q validRange?:*resource.v1beta2.CapacityRequestPolicyRange',
  'resource.v1beta2.CapacityRequestPolicyRange': 'min?:*q max?:*q step?:*q',
  'resource.v1beta2.CapacityRequirements': 'requests?:{q',
  'resource.v1beta2.Counter': 'value:q',
  'resource.v1beta2.CounterSet': 'name:s counters?:{resource.v1beta2.Counter',
  'resource.v1beta2.Device':
    'name:s attributes?:{resource.v1beta2.DeviceAttribute capacity?:{resource.v1beta2.DeviceCapacity consumesCounters?:[resource.v1beta2.DeviceCounterConsumption nodeName?:*s nodeSelector?:*NodeSelector allNodes?:*b taints?:[resource.v1beta2.DeviceTaint bindsToNode?:*b bindingConditions?:[s bindingFailureConditions?:[s allowMultipleAllocations?:*b nodeAllocatableResourceMappings?:{resource.v1beta2.NodeAllocatableResourceMapping',
  'resource.v1beta2.DeviceAllocationConfiguration':
    'source:s requests?:[s opaque?:*resource.v1beta2.OpaqueDeviceConfiguration',
  'resource.v1beta2.DeviceAllocationResult':
    'results?:[resource.v1beta2.DeviceRequestAllocationResult config?:[resource.v1beta2.DeviceAllocationConfiguration',
  'resource.v1beta2.DeviceAttribute':
    'int?:*i bool?:*b string?:*s version?:*s ints?:[i bools?:[b strings?:[s versions?:[s',
  'resource.v1beta2.DeviceCapacity': 'value:q requestPolicy?:*resource.v1beta2.CapacityRequestPolicy',
  'resource.v1beta2.DeviceClaim':
    'requests:[resource.v1beta2.DeviceRequest constraints?:[resource.v1beta2.DeviceConstraint config?:[resource.v1beta2.DeviceClaimConfiguration',
  'resource.v1beta2.DeviceClaimConfiguration': 'requests?:[s opaque?:*resource.v1beta2.OpaqueDeviceConfiguration',
  'resource.v1beta2.DeviceClass': 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:resource.v1beta2.DeviceClassSpec',
  'resource.v1beta2.DeviceClassConfiguration': 'opaque?:*resource.v1beta2.OpaqueDeviceConfiguration',
  'resource.v1beta2.DeviceClassSpec':
    'selectors?:[resource.v1beta2.DeviceSelector config?:[resource.v1beta2.DeviceClassConfiguration extendedResourceName?:*s',
  'resource.v1beta2.DeviceConstraint': 'requests?:[s matchAttribute?:*s distinctAttribute?:*s',
  'resource.v1beta2.DeviceCounterConsumption': 'counterSet:s counters?:{resource.v1beta2.Counter',
  'resource.v1beta2.DeviceRequest':
    'name:s exactly?:*resource.v1beta2.ExactDeviceRequest firstAvailable?:[resource.v1beta2.DeviceSubRequest',
  'resource.v1beta2.DeviceRequestAllocationResult':
    'request:s driver:s pool:s device:s adminAccess?:*b tolerations?:[resource.v1beta2.DeviceToleration bindingConditions?:[s bindingFailureConditions?:[s shareID?:*s consumedCapacity?:{q',
  'resource.v1beta2.DeviceSelector': 'cel?:*resource.v1beta2.CELDeviceSelector',
  'resource.v1beta2.DeviceSubRequest':
    'name:s deviceClassName:s selectors?:[resource.v1beta2.DeviceSelector allocationMode?:s count?:i tolerations?:[resource.v1beta2.DeviceToleration capacity?:*resource.v1beta2.CapacityRequirements',
  'resource.v1beta2.DeviceTaint': 'key:s value?:s effect:s timeAdded?:*t',
  'resource.v1beta2.DeviceTaintRule':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:resource.v1beta2.DeviceTaintRuleSpec status?:resource.v1beta2.DeviceTaintRuleStatus',
  'resource.v1beta2.DeviceTaintRuleSpec':
    'deviceSelector?:*resource.v1beta2.DeviceTaintSelector taint?:resource.v1beta2.DeviceTaint',
  'resource.v1beta2.DeviceTaintRuleStatus': 'conditions?:[Condition%type~type',
  'resource.v1beta2.DeviceTaintSelector': 'driver?:*s pool?:*s device?:*s',
  'resource.v1beta2.DeviceToleration': 'key?:s operator?:s value?:s effect?:s tolerationSeconds?:*i',
  'resource.v1beta2.ExactDeviceRequest':
    'deviceClassName:s selectors?:[resource.v1beta2.DeviceSelector allocationMode?:s count?:i adminAccess?:*b tolerations?:[resource.v1beta2.DeviceToleration capacity?:*resource.v1beta2.CapacityRequirements',
  'resource.v1beta2.NetworkDeviceData': 'interfaceName?:s ips?:[s hardwareAddress?:s',
  'resource.v1beta2.NodeAllocatableResourceMapping': 'capacityKey?:*s allocationMultiplier?:*q',
  'resource.v1beta2.OpaqueDeviceConfiguration': 'driver:s parameters:r',
  'resource.v1beta2.ResourceClaim':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:resource.v1beta2.ResourceClaimSpec status?:resource.v1beta2.ResourceClaimStatus',
  'resource.v1beta2.ResourceClaimConsumerReference': 'apiGroup?:s resource:s name:s uid:s',
  'resource.v1beta2.ResourceClaimSpec': 'devices:resource.v1beta2.DeviceClaim',
  'resource.v1beta2.ResourceClaimStatus':
    'allocation?:*resource.v1beta2.AllocationResult reservedFor?:[resource.v1beta2.ResourceClaimConsumerReference%uid~uid devices?:[resource.v1beta2.AllocatedDeviceStatus%driver,device,pool,shareID',
  'resource.v1beta2.ResourceClaimTemplate':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:resource.v1beta2.ResourceClaimTemplateSpec',
  'resource.v1beta2.ResourceClaimTemplateSpec': 'metadata?:ObjectMeta spec:resource.v1beta2.ResourceClaimSpec',
  'resource.v1beta2.ResourcePool': 'name:s generation:i resourceSliceCount:i',
  'resource.v1beta2.ResourceSlice':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:resource.v1beta2.ResourceSliceSpec',
  'resource.v1beta2.ResourceSliceSpec':
    'driver:s pool:resource.v1beta2.ResourcePool nodeName?:*s nodeSelector?:*NodeSelector allNodes?:*b devices?:[resource.v1beta2.Device perDeviceNodeSelection?:*b sharedCounters?:[resource.v1beta2.CounterSet',
  'scheduling.v1alpha2.TypedLocalObjectReference': 'apiGroup?:s kind:s name:s',
  'scheduling.v1beta1.PriorityClass':
    'kind?:s apiVersion?:s metadata?:ObjectMeta value:i globalDefault?:b description?:s preemptionPolicy?:*s',
  'storage.v1beta1.CSIDriver': 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:storage.v1beta1.CSIDriverSpec',
  'storage.v1beta1.CSIDriverSpec':
    'attachRequired?:*b podInfoOnMount?:*b volumeLifecycleModes?:[s storageCapacity?:*b fsGroupPolicy?:*s tokenRequests?:[storage.v1beta1.TokenRequest requiresRepublish?:*b seLinuxMount?:*b nodeAllocatableUpdatePeriodSeconds?:*i serviceAccountTokenInSecrets?:*b preventPodSchedulingIfMissing?:*b',
  'storage.v1beta1.CSINode': 'kind?:s apiVersion?:s metadata?:ObjectMeta spec:storage.v1beta1.CSINodeSpec',
  'storage.v1beta1.CSINodeDriver': 'name:s nodeID:s topologyKeys:[s allocatable?:*storage.v1beta1.VolumeNodeResources',
  'storage.v1beta1.CSINodeSpec': 'drivers:[storage.v1beta1.CSINodeDriver%name~name',
  'storage.v1beta1.CSIStorageCapacity':
    'kind?:s apiVersion?:s metadata?:ObjectMeta nodeTopology?:*LabelSelector storageClassName:s capacity?:*q maximumVolumeSize?:*q',
  'storage.v1beta1.StorageClass':
    'kind?:s apiVersion?:s metadata?:ObjectMeta provisioner:s parameters?:{s reclaimPolicy?:*s mountOptions?:[s allowVolumeExpansion?:*b volumeBindingMode?:*s allowedTopologies?:[TopologySelectorTerm',
  'storage.v1beta1.TokenRequest': 'audience:s expirationSeconds?:*i',
  'storage.v1beta1.VolumeAttachment':
    'kind?:s apiVersion?:s metadata?:ObjectMeta spec:storage.v1beta1.VolumeAttachmentSpec status?:storage.v1beta1.VolumeAttachmentStatus',
  'storage.v1beta1.VolumeAttachmentSource': 'persistentVolumeName?:*s inlineVolumeSpec?:*PersistentVolumeSpec',
  'storage.v1beta1.VolumeAttachmentSpec': 'attacher:s source:storage.v1beta1.VolumeAttachmentSource nodeName:s',
  'storage.v1beta1.VolumeAttachmentStatus':
    'attached:b attachmentMetadata?:{s attachError?:*storage.v1beta1.VolumeError detachError?:*storage.v1beta1.VolumeError',
  'storage.v1beta1.VolumeAttributesClass': 'kind?:s apiVersion?:s metadata?:ObjectMeta driverName:s parameters?:{s',
  'storage.v1beta1.VolumeError': 'time?:t message?:s errorCode?:*i',
  'storage.v1beta1.VolumeNodeResources': 'count?:*i',
};
