/* eslint-disable max-lines -- one table */
import type { PackageTable } from '../type-table.ts';

export const coreV1: PackageTable = {
  package: 'io.k8s.api.core.v1',
  types: `
AWSElasticBlockStoreVolumeSource
  volumeID! string
  fsType string
  partition int32
  readOnly bool
Affinity
  nodeAffinity? NodeAffinity
  podAffinity? PodAffinity
  podAntiAffinity? PodAntiAffinity
AppArmorProfile
  type! AppArmorProfileType(Localhost|RuntimeDefault|Unconfined)
  localhostProfile? string
AttachedVolume
  name! UniqueVolumeName()
  devicePath! string
AzureDiskVolumeSource
  diskName! string
  diskURI! string
  cachingMode? AzureDataDiskCachingMode(None|ReadOnly|ReadWrite) default="ReadWrite"
  fsType? string default="ext4"
  readOnly? bool default=false
  kind? AzureDataDiskKind(Dedicated|Managed|Shared) default="Shared"
AzureFilePersistentVolumeSource
  secretName! string
  shareName! string
  readOnly bool
  secretNamespace?~ string
AzureFileVolumeSource
  secretName! string
  shareName! string
  readOnly bool
CSIPersistentVolumeSource
  driver! string
  volumeHandle! string
  readOnly bool
  fsType string
  volumeAttributes {}string
  controllerPublishSecretRef? SecretReference
  nodeStageSecretRef? SecretReference
  nodePublishSecretRef? SecretReference
  controllerExpandSecretRef? SecretReference
  nodeExpandSecretRef? SecretReference
CSIVolumeSource
  driver! string
  readOnly? bool
  fsType? string
  volumeAttributes {}string
  nodePublishSecretRef? LocalObjectReference
Capabilities
  add []Capability()
  drop []Capability()
CephFSPersistentVolumeSource
  monitors! []string
  path string
  user string
  secretFile string
  secretRef? SecretReference
  readOnly bool
CephFSVolumeSource
  monitors! []string
  path string
  user string
  secretFile string
  secretRef? LocalObjectReference
  readOnly bool
CinderPersistentVolumeSource
  volumeID! string
  fsType string
  readOnly bool
  secretRef? SecretReference
CinderVolumeSource
  volumeID! string
  fsType string
  readOnly bool
  secretRef? LocalObjectReference
ClientIPConfig
  timeoutSeconds? int32
ClusterTrustBundleProjection
  name? string
  signerName? string
  labelSelector? LabelSelector
  optional? bool
  path! string
ConfigMap
  apiVersion string
  kind string
  metadata ObjectMeta
  immutable? bool
  data {}string
  binaryData {}bytes
ConfigMapEnvSource
  name string default=""
  optional? bool
ConfigMapKeySelector atomic
  name string default=""
  key! string
  optional? bool
ConfigMapNodeConfigSource
  namespace! string
  name! string
  uid string
  resourceVersion string
  kubeletConfigKey! string
ConfigMapProjection
  name string default=""
  items []KeyToPath
  optional? bool
ConfigMapVolumeSource
  name string default=""
  items []KeyToPath
  defaultMode? int32
  optional? bool
Container
  name! string
  image string
  command []string
  args []string
  workingDir string
  ports []ContainerPort keys=containerPort,protocol patch=merge:containerPort
  envFrom []EnvFromSource
  env []EnvVar keys=name patch=merge:name
  resources ResourceRequirements
  resizePolicy []ContainerResizePolicy
  restartPolicy? ContainerRestartPolicy()
  restartPolicyRules []ContainerRestartRule
  volumeMounts []VolumeMount keys=mountPath patch=merge:mountPath
  volumeDevices []VolumeDevice keys=devicePath patch=merge:devicePath
  livenessProbe? Probe
  readinessProbe? Probe
  startupProbe? Probe
  lifecycle? Lifecycle
  terminationMessagePath string
  terminationMessagePolicy TerminationMessagePolicy(FallbackToLogsOnError|File)
  imagePullPolicy PullPolicy(Always|IfNotPresent|Never)
  securityContext? SecurityContext
  stdin bool
  stdinOnce bool
  tty bool
ContainerExtendedResourceRequest
  containerName! string
  resourceName! string
  requestName! string
ContainerImage
  names~ []string
  sizeBytes int64
ContainerPort
  name string
  hostPort int32
  containerPort! int32
  protocol Protocol(SCTP|TCP|UDP) default="TCP"
  hostIP string
ContainerResizePolicy
  resourceName! ResourceName()
  restartPolicy! ResourceResizeRestartPolicy()
ContainerRestartRule
  action ContainerRestartRuleAction()
  exitCodes? ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes
  operator ContainerRestartRuleOnExitCodesOperator()
  values []int32 set
ContainerState
  waiting? ContainerStateWaiting
  running? ContainerStateRunning
  terminated? ContainerStateTerminated
ContainerStateRunning
  startedAt time
ContainerStateTerminated
  exitCode! int32
  signal int32
  reason string
  message string
  startedAt time
  finishedAt time
  containerID string
ContainerStateWaiting
  reason string
  message string
ContainerStatus
  name! string
  state ContainerState
  lastState ContainerState
  ready! bool
  restartCount! int32
  image! string
  imageID! string
  containerID string
  started? bool
  allocatedResources {}quantity
  resources? ResourceRequirements
  volumeMounts []VolumeMountStatus keys=mountPath patch=merge:mountPath
  user? ContainerUser
  allocatedResourcesStatus []ResourceStatus keys=name patch=merge:name
  stopSignal? Signal(SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ)
ContainerUser
  linux? LinuxContainerUser
DaemonEndpoint
  Port! int32
DownwardAPIProjection
  items []DownwardAPIVolumeFile
DownwardAPIVolumeFile
  path! string
  fieldRef? ObjectFieldSelector
  resourceFieldRef? ResourceFieldSelector
  mode? int32
DownwardAPIVolumeSource
  items []DownwardAPIVolumeFile
  defaultMode? int32
EmptyDirVolumeSource
  medium StorageMedium()
  sizeLimit? quantity
EndpointAddress atomic
  ip! string
  hostname string
  nodeName? string
  targetRef? ObjectReference
EndpointPort atomic
  name string
  port! int32
  protocol Protocol(SCTP|TCP|UDP)
  appProtocol? string
EndpointSubset
  addresses []EndpointAddress
  notReadyAddresses []EndpointAddress
  ports []EndpointPort
Endpoints
  apiVersion string
  kind string
  metadata ObjectMeta
  subsets []EndpointSubset
EnvFromSource
  prefix string
  configMapRef? ConfigMapEnvSource
  secretRef? SecretEnvSource
EnvVar
  name! string
  value string
  valueFrom? EnvVarSource
EnvVarSource
  fieldRef? ObjectFieldSelector
  resourceFieldRef? ResourceFieldSelector
  configMapKeyRef? ConfigMapKeySelector
  secretKeyRef? SecretKeySelector
  fileKeyRef? FileKeySelector
EphemeralContainer
  name! string
  image string
  command []string
  args []string
  workingDir string
  ports []ContainerPort keys=containerPort,protocol patch=merge:containerPort
  envFrom []EnvFromSource
  env []EnvVar keys=name patch=merge:name
  resources ResourceRequirements
  resizePolicy []ContainerResizePolicy
  restartPolicy? ContainerRestartPolicy()
  restartPolicyRules []ContainerRestartRule
  volumeMounts []VolumeMount keys=mountPath patch=merge:mountPath
  volumeDevices []VolumeDevice keys=devicePath patch=merge:devicePath
  livenessProbe? Probe
  readinessProbe? Probe
  startupProbe? Probe
  lifecycle? Lifecycle
  terminationMessagePath string
  terminationMessagePolicy TerminationMessagePolicy(FallbackToLogsOnError|File)
  imagePullPolicy PullPolicy(Always|IfNotPresent|Never)
  securityContext? SecurityContext
  stdin bool
  stdinOnce bool
  tty bool
  targetContainerName string
EphemeralVolumeSource
  volumeClaimTemplate? PersistentVolumeClaimTemplate
Event
  apiVersion string
  kind string
  metadata! ObjectMeta
  involvedObject! ObjectReference
  reason string
  message string
  source EventSource
  firstTimestamp time
  lastTimestamp time
  count int32
  type string
  eventTime microtime
  series? EventSeries
  action string
  related? ObjectReference
  reportingComponent~ string
  reportingInstance~ string
EventSeries
  count int32
  lastObservedTime microtime
EventSource
  component string
  host string
ExecAction
  command []string
FCVolumeSource
  targetWWNs []string
  lun? int32
  fsType string
  readOnly bool
  wwids []string
FileKeySelector atomic
  volumeName! string
  path! string
  key! string
  optional? bool default=false
FlexPersistentVolumeSource
  driver! string
  fsType string
  secretRef? SecretReference
  readOnly bool
  options {}string
FlexVolumeSource
  driver! string
  fsType string
  secretRef? LocalObjectReference
  readOnly bool
  options {}string
FlockerVolumeSource
  datasetName string
  datasetUUID string
GCEPersistentDiskVolumeSource
  pdName! string
  fsType string
  partition int32
  readOnly bool
GRPCAction
  port! int32
  service?~ string default=""
GitRepoVolumeSource
  repository! string
  revision string
  directory string
GlusterfsPersistentVolumeSource
  endpoints! string
  path! string
  readOnly bool
  endpointsNamespace? string
GlusterfsVolumeSource
  endpoints! string
  path! string
  readOnly bool
HTTPGetAction
  path string
  port! intstr
  host string
  scheme URIScheme(HTTP|HTTPS)
  httpHeaders []HTTPHeader
HTTPHeader
  name! string
  value! string
HostAlias
  ip! string
  hostnames []string
HostIP
  ip! string
HostPathVolumeSource
  path! string
  type? HostPathType(|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket)
ISCSIPersistentVolumeSource
  targetPortal! string
  iqn! string
  lun! int32
  iscsiInterface string default="default"
  fsType string
  readOnly bool
  portals []string
  chapAuthDiscovery bool
  chapAuthSession bool
  secretRef? SecretReference
  initiatorName? string
ISCSIVolumeSource
  targetPortal! string
  iqn! string
  lun! int32
  iscsiInterface string default="default"
  fsType string
  readOnly bool
  portals []string
  chapAuthDiscovery bool
  chapAuthSession bool
  secretRef? LocalObjectReference
  initiatorName? string
ImageVolumeSource
  reference string
  pullPolicy PullPolicy(Always|IfNotPresent|Never)
KeyToPath
  key! string
  path! string
  mode? int32
Lifecycle
  postStart? LifecycleHandler
  preStop? LifecycleHandler
  stopSignal? Signal(SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ)
LifecycleHandler
  exec? ExecAction
  httpGet? HTTPGetAction
  tcpSocket? TCPSocketAction
  sleep? SleepAction
LimitRange
  apiVersion string
  kind string
  metadata ObjectMeta
  spec LimitRangeSpec
LimitRangeItem
  type! LimitType()
  max {}quantity
  min {}quantity
  default {}quantity
  defaultRequest {}quantity
  maxLimitRequestRatio {}quantity
LimitRangeSpec
  limits! []LimitRangeItem
LinuxContainerUser
  uid! int64
  gid! int64
  supplementalGroups []int64
LoadBalancerIngress
  ip string
  hostname string
  ipMode? LoadBalancerIPMode()
  ports []PortStatus
LoadBalancerStatus
  ingress []LoadBalancerIngress
LocalObjectReference atomic
  name string default=""
LocalVolumeSource
  path! string
  fsType? string
ModifyVolumeStatus
  targetVolumeAttributesClassName string
  status! PersistentVolumeClaimModifyVolumeStatus(InProgress|Infeasible|Pending)
NFSVolumeSource
  server! string
  path! string
  readOnly bool
Namespace
  apiVersion string
  kind string
  metadata ObjectMeta
  spec NamespaceSpec
  status NamespaceStatus
NamespaceCondition
  type! NamespaceConditionType()
  status! ConditionStatus()
  lastTransitionTime time
  reason string
  message string
NamespaceSpec
  finalizers []FinalizerName()
NamespaceStatus
  phase NamespacePhase(Active|Terminating)
  conditions []NamespaceCondition keys=type patch=merge:type
Node
  apiVersion string
  kind string
  metadata ObjectMeta
  spec NodeSpec
  status NodeStatus
NodeAddress
  type! NodeAddressType()
  address! string
NodeAffinity
  requiredDuringSchedulingIgnoredDuringExecution? NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm
NodeCondition
  type! NodeConditionType()
  status! ConditionStatus()
  lastHeartbeatTime time
  lastTransitionTime time
  reason string
  message string
NodeConfigSource
  configMap? ConfigMapNodeConfigSource
NodeConfigStatus
  assigned? NodeConfigSource
  active? NodeConfigSource
  lastKnownGood? NodeConfigSource
  error string
NodeDaemonEndpoints
  kubeletEndpoint DaemonEndpoint
NodeFeatures
  supplementalGroupsPolicy? bool
NodeRuntimeHandler
  name~ string
  features? NodeRuntimeHandlerFeatures
NodeRuntimeHandlerFeatures
  recursiveReadOnlyMounts? bool
  userNamespaces? bool
NodeSelector atomic
  nodeSelectorTerms! []NodeSelectorTerm
NodeSelectorRequirement
  key! string
  operator! NodeSelectorOperator(DoesNotExist|Exists|Gt|In|Lt|NotIn)
  values []string
NodeSelectorTerm atomic
  matchExpressions []NodeSelectorRequirement
  matchFields []NodeSelectorRequirement
NodeSpec
  podCIDR string
  podCIDRs []string set patch=merge
  providerID string
  unschedulable bool
  taints []Taint
  configSource? NodeConfigSource
  externalID string
NodeStatus
  capacity {}quantity
  allocatable {}quantity
  phase NodePhase(Pending|Running|Terminated)
  conditions []NodeCondition keys=type patch=merge:type
  addresses []NodeAddress keys=type patch=merge:type
  daemonEndpoints NodeDaemonEndpoints
  nodeInfo NodeSystemInfo
  images []ContainerImage
  volumesInUse []UniqueVolumeName()
  volumesAttached []AttachedVolume
  config? NodeConfigStatus
  runtimeHandlers []NodeRuntimeHandler
  features? NodeFeatures
NodeSwapStatus
  capacity? int64
NodeSystemInfo
  machineID! string
  systemUUID! string
  bootID! string
  kernelVersion! string
  osImage! string
  containerRuntimeVersion! string
  kubeletVersion! string
  kubeProxyVersion! string
  operatingSystem! string
  architecture! string
  swap? NodeSwapStatus
ObjectFieldSelector atomic
  apiVersion string
  fieldPath! string
ObjectReference atomic
  kind string
  namespace string
  name string
  uid string
  apiVersion string
  resourceVersion string
  fieldPath string
PersistentVolume
  apiVersion string
  kind string
  metadata ObjectMeta
  spec PersistentVolumeSpec
  status PersistentVolumeStatus
PersistentVolumeClaim
  apiVersion string
  kind string
  metadata ObjectMeta
  spec PersistentVolumeClaimSpec
  status PersistentVolumeClaimStatus
PersistentVolumeClaimCondition
  type! PersistentVolumeClaimConditionType()
  status! ConditionStatus()
  lastProbeTime time
  lastTransitionTime time
  reason string
  message string
PersistentVolumeClaimSpec
  accessModes []PersistentVolumeAccessMode(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod)
  selector? LabelSelector
  resources VolumeResourceRequirements
  volumeName string
  storageClassName? string
  volumeMode? PersistentVolumeMode(Block|Filesystem)
  dataSource? TypedLocalObjectReference
  dataSourceRef? TypedObjectReference
  volumeAttributesClassName? string
PersistentVolumeClaimStatus
  phase PersistentVolumeClaimPhase(Bound|Lost|Pending)
  accessModes []PersistentVolumeAccessMode(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod)
  capacity {}quantity
  conditions []PersistentVolumeClaimCondition keys=type patch=merge:type
  allocatedResources {}quantity
  allocatedResourceStatuses {}ClaimResourceStatus(ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizeInProgress|NodeResizeInfeasible|NodeResizePending)
  currentVolumeAttributesClassName? string
  modifyVolumeStatus? ModifyVolumeStatus
PersistentVolumeClaimTemplate
  metadata ObjectMeta
  spec! PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource
  claimName! string
  readOnly bool
PersistentVolumeSpec
  capacity {}quantity
  gcePersistentDisk? GCEPersistentDiskVolumeSource
  awsElasticBlockStore? AWSElasticBlockStoreVolumeSource
  hostPath? HostPathVolumeSource
  glusterfs? GlusterfsPersistentVolumeSource
  nfs? NFSVolumeSource
  rbd? RBDPersistentVolumeSource
  iscsi? ISCSIPersistentVolumeSource
  cinder? CinderPersistentVolumeSource
  cephfs? CephFSPersistentVolumeSource
  fc? FCVolumeSource
  flocker? FlockerVolumeSource
  flexVolume? FlexPersistentVolumeSource
  azureFile? AzureFilePersistentVolumeSource
  vsphereVolume? VsphereVirtualDiskVolumeSource
  quobyte? QuobyteVolumeSource
  azureDisk? AzureDiskVolumeSource
  photonPersistentDisk? PhotonPersistentDiskVolumeSource
  portworxVolume? PortworxVolumeSource
  scaleIO? ScaleIOPersistentVolumeSource
  local? LocalVolumeSource
  storageos? StorageOSPersistentVolumeSource
  csi? CSIPersistentVolumeSource
  accessModes []PersistentVolumeAccessMode(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod)
  claimRef? ObjectReference
  persistentVolumeReclaimPolicy PersistentVolumeReclaimPolicy(Delete|Recycle|Retain)
  storageClassName string
  mountOptions []string
  volumeMode? PersistentVolumeMode(Block|Filesystem)
  nodeAffinity? VolumeNodeAffinity
  volumeAttributesClassName? string
PersistentVolumeStatus
  phase PersistentVolumePhase(Available|Bound|Failed|Pending|Released)
  message string
  reason string
  lastPhaseTransitionTime? time
PhotonPersistentDiskVolumeSource
  pdID! string
  fsType string
Pod
  apiVersion string
  kind string
  metadata ObjectMeta
  spec PodSpec
  status PodStatus
PodAffinity
  requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodAffinityTerm
  labelSelector? LabelSelector
  namespaces []string
  topologyKey! string
  namespaceSelector? LabelSelector
  matchLabelKeys []string
  mismatchLabelKeys []string
PodAntiAffinity
  requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodCertificateProjection
  signerName string
  keyType string
  maxExpirationSeconds? int32
  credentialBundlePath string
  keyPath string
  certificateChainPath string
PodCondition
  type! PodConditionType()
  observedGeneration int64
  status! ConditionStatus()
  lastProbeTime time
  lastTransitionTime time
  reason string
  message string
PodDNSConfig
  nameservers []string
  searches []string
  options []PodDNSConfigOption
PodDNSConfigOption
  name string
  value? string
PodExtendedResourceClaimStatus
  requestMappings! []ContainerExtendedResourceRequest
  resourceClaimName! string
PodIP
  ip! string
PodOS
  name! OSName()
PodReadinessGate
  conditionType! PodConditionType()
PodResourceClaim
  name! string
  resourceClaimName? string
  resourceClaimTemplateName? string
PodResourceClaimStatus
  name! string
  resourceClaimName? string
PodSchedulingGate
  name! string
PodSecurityContext
  seLinuxOptions? SELinuxOptions
  windowsOptions? WindowsSecurityContextOptions
  runAsUser? int64
  runAsGroup? int64
  runAsNonRoot? bool
  supplementalGroups []int64
  supplementalGroupsPolicy? SupplementalGroupsPolicy(Merge|Strict)
  fsGroup? int64
  sysctls []Sysctl
  fsGroupChangePolicy? PodFSGroupChangePolicy(Always|OnRootMismatch)
  seccompProfile? SeccompProfile
  appArmorProfile? AppArmorProfile
  seLinuxChangePolicy? PodSELinuxChangePolicy()
PodSpec
  volumes []Volume keys=name patch=merge,retainKeys:name
  initContainers []Container keys=name patch=merge:name
  containers! []Container keys=name patch=merge:name
  ephemeralContainers []EphemeralContainer keys=name patch=merge:name
  restartPolicy RestartPolicy(Always|Never|OnFailure)
  terminationGracePeriodSeconds? int64
  activeDeadlineSeconds? int64
  dnsPolicy DNSPolicy(ClusterFirst|ClusterFirstWithHostNet|Default|None)
  nodeSelector {}string atomic
  serviceAccountName string
  serviceAccount string
  automountServiceAccountToken? bool
  nodeName string
  hostNetwork bool
  hostPID bool
  hostIPC bool
  shareProcessNamespace? bool
  securityContext? PodSecurityContext
  imagePullSecrets []LocalObjectReference keys=name patch=merge:name
  hostname string
  subdomain string
  affinity? Affinity
  schedulerName string
  tolerations []Toleration
  hostAliases []HostAlias keys=ip patch=merge:ip
  priorityClassName string
  priority? int32
  dnsConfig? PodDNSConfig
  readinessGates []PodReadinessGate
  runtimeClassName? string
  enableServiceLinks? bool
  preemptionPolicy? PreemptionPolicy(Never|PreemptLowerPriority)
  overhead {}quantity
  topologySpreadConstraints []TopologySpreadConstraint keys=topologyKey,whenUnsatisfiable patch=merge:topologyKey
  setHostnameAsFQDN? bool
  os? PodOS
  hostUsers? bool
  schedulingGates []PodSchedulingGate keys=name patch=merge:name
  resourceClaims []PodResourceClaim keys=name patch=merge,retainKeys:name
  resources? ResourceRequirements
  hostnameOverride? string
PodStatus
  observedGeneration int64
  phase PodPhase(Failed|Pending|Running|Succeeded|Unknown)
  conditions []PodCondition keys=type patch=merge:type
  message string
  reason string
  nominatedNodeName string
  hostIP string
  hostIPs []HostIP patch=merge:ip
  podIP string
  podIPs []PodIP keys=ip patch=merge:ip
  startTime? time
  initContainerStatuses []ContainerStatus
  containerStatuses []ContainerStatus
  qosClass PodQOSClass(BestEffort|Burstable|Guaranteed)
  ephemeralContainerStatuses []ContainerStatus
  resize PodResizeStatus()
  resourceClaimStatuses []PodResourceClaimStatus keys=name patch=merge,retainKeys:name
  extendedResourceClaimStatus? PodExtendedResourceClaimStatus
PodTemplate
  apiVersion string
  kind string
  metadata ObjectMeta
  template PodTemplateSpec
PodTemplateSpec
  metadata ObjectMeta
  spec PodSpec
PortStatus
  port! int32
  protocol! Protocol(SCTP|TCP|UDP)
  error? string
PortworxVolumeSource
  volumeID! string
  fsType string
  readOnly bool
PreferredSchedulingTerm
  weight! int32
  preference! NodeSelectorTerm
Probe
  exec? ExecAction
  httpGet? HTTPGetAction
  tcpSocket? TCPSocketAction
  grpc? GRPCAction
  initialDelaySeconds int32
  timeoutSeconds int32
  periodSeconds int32
  successThreshold int32
  failureThreshold int32
  terminationGracePeriodSeconds? int64
ProjectedVolumeSource
  sources~ []VolumeProjection
  defaultMode? int32
QuobyteVolumeSource
  registry! string
  volume! string
  readOnly bool
  user string
  group string
  tenant string
RBDPersistentVolumeSource
  monitors! []string
  image! string
  fsType string
  pool string default="rbd"
  user string default="admin"
  keyring string default="/etc/ceph/keyring"
  secretRef? SecretReference
  readOnly bool
RBDVolumeSource
  monitors! []string
  image! string
  fsType string
  pool string default="rbd"
  user string default="admin"
  keyring string default="/etc/ceph/keyring"
  secretRef? LocalObjectReference
  readOnly bool
ReplicationController
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ReplicationControllerSpec
  status ReplicationControllerStatus
ReplicationControllerCondition
  type! ReplicationControllerConditionType()
  status! ConditionStatus()
  lastTransitionTime time
  reason string
  message string
ReplicationControllerSpec
  replicas? int32 default=1
  minReadySeconds int32 default=0
  selector {}string atomic
  template? PodTemplateSpec
ReplicationControllerStatus
  replicas! int32
  fullyLabeledReplicas int32
  readyReplicas int32
  availableReplicas int32
  observedGeneration int64
  conditions []ReplicationControllerCondition keys=type patch=merge:type
ResourceClaim
  name! string
  request string
ResourceFieldSelector atomic
  containerName string
  resource! string
  divisor quantity
ResourceHealth
  resourceID! ResourceID()
  health ResourceHealthStatus()
ResourceQuota
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ResourceQuotaSpec
  status ResourceQuotaStatus
ResourceQuotaSpec
  hard {}quantity
  scopes []ResourceQuotaScope(BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass)
  scopeSelector? ScopeSelector
ResourceQuotaStatus
  hard {}quantity
  used {}quantity
ResourceRequirements
  limits {}quantity
  requests {}quantity
  claims []ResourceClaim keys=name
ResourceStatus
  name! ResourceName()
  resources []ResourceHealth keys=resourceID
SELinuxOptions
  user string
  role string
  type string
  level string
ScaleIOPersistentVolumeSource
  gateway! string
  system! string
  secretRef?! SecretReference
  sslEnabled bool
  protectionDomain string
  storagePool string
  storageMode string default="ThinProvisioned"
  volumeName string
  fsType string default="xfs"
  readOnly bool
ScaleIOVolumeSource
  gateway! string
  system! string
  secretRef?! LocalObjectReference
  sslEnabled bool
  protectionDomain string
  storagePool string
  storageMode string default="ThinProvisioned"
  volumeName string
  fsType string default="xfs"
  readOnly bool
ScopeSelector atomic
  matchExpressions []ScopedResourceSelectorRequirement
ScopedResourceSelectorRequirement
  scopeName! ResourceQuotaScope(BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass)
  operator! ScopeSelectorOperator(DoesNotExist|Exists|In|NotIn)
  values []string
SeccompProfile
  type! SeccompProfileType(Localhost|RuntimeDefault|Unconfined)
  localhostProfile? string
Secret
  apiVersion string
  kind string
  metadata ObjectMeta
  immutable? bool
  data {}bytes
  stringData {}string
  type SecretType()
SecretEnvSource
  name string default=""
  optional? bool
SecretKeySelector atomic
  name string default=""
  key! string
  optional? bool
SecretProjection
  name string default=""
  items []KeyToPath
  optional? bool
SecretReference atomic
  name string
  namespace string
SecretVolumeSource
  secretName string
  items []KeyToPath
  defaultMode? int32
  optional? bool
SecurityContext
  capabilities? Capabilities
  privileged? bool
  seLinuxOptions? SELinuxOptions
  windowsOptions? WindowsSecurityContextOptions
  runAsUser? int64
  runAsGroup? int64
  runAsNonRoot? bool
  readOnlyRootFilesystem? bool
  allowPrivilegeEscalation? bool
  procMount? ProcMountType(Default|Unmasked)
  seccompProfile? SeccompProfile
  appArmorProfile? AppArmorProfile
Service
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ServiceSpec
  status ServiceStatus
ServiceAccount
  apiVersion string
  kind string
  metadata ObjectMeta
  secrets []ObjectReference keys=name patch=merge:name
  imagePullSecrets []LocalObjectReference
  automountServiceAccountToken? bool
ServiceAccountTokenProjection
  audience string
  expirationSeconds? int64
  path! string
ServicePort
  name string
  protocol Protocol(SCTP|TCP|UDP) default="TCP"
  appProtocol? string
  port! int32
  targetPort intstr
  nodePort int32
ServiceSpec
  ports []ServicePort keys=port,protocol patch=merge:port
  selector {}string atomic
  clusterIP string
  clusterIPs []string
  type ServiceType(ClusterIP|ExternalName|LoadBalancer|NodePort)
  externalIPs []string
  sessionAffinity ServiceAffinity(ClientIP|None)
  loadBalancerIP string
  loadBalancerSourceRanges []string
  externalName string
  externalTrafficPolicy ServiceExternalTrafficPolicy(Cluster|Local)
  healthCheckNodePort int32
  publishNotReadyAddresses bool
  sessionAffinityConfig? SessionAffinityConfig
  ipFamilies []IPFamily(|IPv4|IPv6)
  ipFamilyPolicy? IPFamilyPolicy(PreferDualStack|RequireDualStack|SingleStack)
  allocateLoadBalancerNodePorts? bool
  loadBalancerClass? string
  internalTrafficPolicy? ServiceInternalTrafficPolicy(Cluster|Local)
  trafficDistribution? string
ServiceStatus
  loadBalancer LoadBalancerStatus
  conditions []Condition keys=type patch=merge:type
SessionAffinityConfig
  clientIP? ClientIPConfig
SleepAction
  seconds! int64
StorageOSPersistentVolumeSource
  volumeName string
  volumeNamespace string
  fsType string
  readOnly bool
  secretRef? ObjectReference
StorageOSVolumeSource
  volumeName string
  volumeNamespace string
  fsType string
  readOnly bool
  secretRef? LocalObjectReference
Sysctl
  name! string
  value! string
TCPSocketAction
  port! intstr
  host string
Taint
  key! string
  value string
  effect! TaintEffect(NoExecute|NoSchedule|PreferNoSchedule)
  timeAdded? time
Toleration
  key string
  operator TolerationOperator(Equal|Exists)
  value string
  effect TaintEffect(NoExecute|NoSchedule|PreferNoSchedule)
  tolerationSeconds? int64
TopologySelectorLabelRequirement
  key! string
  values! []string
TopologySelectorTerm atomic
  matchLabelExpressions []TopologySelectorLabelRequirement
TopologySpreadConstraint
  maxSkew! int32
  topologyKey! string
  whenUnsatisfiable! UnsatisfiableConstraintAction(DoNotSchedule|ScheduleAnyway)
  labelSelector? LabelSelector
  minDomains? int32
  nodeAffinityPolicy? NodeInclusionPolicy(Honor|Ignore)
  nodeTaintsPolicy? NodeInclusionPolicy(Honor|Ignore)
  matchLabelKeys []string
TypedLocalObjectReference atomic
  apiGroup?~ string
  kind! string
  name! string
TypedObjectReference
  apiGroup?~ string
  kind! string
  name! string
  namespace? string
Volume
  name! string
  hostPath? HostPathVolumeSource
  emptyDir? EmptyDirVolumeSource
  gcePersistentDisk? GCEPersistentDiskVolumeSource
  awsElasticBlockStore? AWSElasticBlockStoreVolumeSource
  gitRepo? GitRepoVolumeSource
  secret? SecretVolumeSource
  nfs? NFSVolumeSource
  iscsi? ISCSIVolumeSource
  glusterfs? GlusterfsVolumeSource
  persistentVolumeClaim? PersistentVolumeClaimVolumeSource
  rbd? RBDVolumeSource
  flexVolume? FlexVolumeSource
  cinder? CinderVolumeSource
  cephfs? CephFSVolumeSource
  flocker? FlockerVolumeSource
  downwardAPI? DownwardAPIVolumeSource
  fc? FCVolumeSource
  azureFile? AzureFileVolumeSource
  configMap? ConfigMapVolumeSource
  vsphereVolume? VsphereVirtualDiskVolumeSource
  quobyte? QuobyteVolumeSource
  azureDisk? AzureDiskVolumeSource
  photonPersistentDisk? PhotonPersistentDiskVolumeSource
  projected? ProjectedVolumeSource
  portworxVolume? PortworxVolumeSource
  scaleIO? ScaleIOVolumeSource
  storageos? StorageOSVolumeSource
  csi? CSIVolumeSource
  ephemeral? EphemeralVolumeSource
  image? ImageVolumeSource
VolumeDevice
  name! string
  devicePath! string
VolumeMount
  name! string
  readOnly bool
  recursiveReadOnly? RecursiveReadOnlyMode()
  mountPath! string
  subPath string
  mountPropagation? MountPropagationMode(Bidirectional|HostToContainer|None)
  subPathExpr string
VolumeMountStatus
  name! string
  mountPath! string
  readOnly bool
  recursiveReadOnly? RecursiveReadOnlyMode()
VolumeNodeAffinity
  required? NodeSelector
VolumeProjection
  secret? SecretProjection
  downwardAPI? DownwardAPIProjection
  configMap? ConfigMapProjection
  serviceAccountToken? ServiceAccountTokenProjection
  clusterTrustBundle? ClusterTrustBundleProjection
  podCertificate? PodCertificateProjection
VolumeResourceRequirements
  limits {}quantity
  requests {}quantity
VsphereVirtualDiskVolumeSource
  volumePath! string
  fsType string
  storagePolicyName string
  storagePolicyID string
WeightedPodAffinityTerm
  weight! int32
  podAffinityTerm! PodAffinityTerm
WindowsSecurityContextOptions
  gmsaCredentialSpecName? string
  gmsaCredentialSpec? string
  runAsUserName? string
  hostProcess? bool
`,
};
