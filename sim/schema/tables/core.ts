/* eslint-disable max-lines -- one table */
import type { PackageTable } from '../type-table.ts';

export const coreV1: PackageTable = {
  package: 'io.k8s.api.core.v1',
  types: `
AWSElasticBlockStoreVolumeSource
  volumeID! string
  fsType string -- File system of the volume.
  partition int32
  readOnly bool -- Whether nothing may be written.
Affinity -- Rules of placement.
  nodeAffinity? NodeAffinity
  podAffinity? PodAffinity
  podAntiAffinity? PodAntiAffinity
AppArmorProfile
  type! AppArmorProfileType(Localhost|RuntimeDefault|Unconfined) -- Which kind it is.
  localhostProfile? string
AttachedVolume
  name! UniqueVolumeName() -- Name, unique among its siblings.
  devicePath! string
AzureDiskVolumeSource
  diskName! string
  diskURI! string
  cachingMode? AzureDataDiskCachingMode(None|ReadOnly|ReadWrite) default="ReadWrite"
  fsType? string default="ext4" -- File system of the volume.
  readOnly? bool default=false -- Whether nothing may be written.
  kind? AzureDataDiskKind(Dedicated|Managed|Shared) default="Shared" -- Kind of this object, in CamelCase.
AzureFilePersistentVolumeSource
  secretName! string
  shareName! string
  readOnly bool -- Whether nothing may be written.
  secretNamespace?~ string
AzureFileVolumeSource
  secretName! string
  shareName! string
  readOnly bool -- Whether nothing may be written.
CSIPersistentVolumeSource
  driver! string
  volumeHandle! string
  readOnly bool -- Whether nothing may be written.
  fsType string -- File system of the volume.
  volumeAttributes {}string
  controllerPublishSecretRef? SecretReference
  nodeStageSecretRef? SecretReference
  nodePublishSecretRef? SecretReference
  controllerExpandSecretRef? SecretReference
  nodeExpandSecretRef? SecretReference
CSIVolumeSource
  driver! string
  readOnly? bool -- Whether nothing may be written.
  fsType? string -- File system of the volume.
  volumeAttributes {}string
  nodePublishSecretRef? LocalObjectReference
Capabilities
  add []Capability()
  drop []Capability()
CephFSPersistentVolumeSource
  monitors! []string
  path string -- Path, on the host, in the volume or in the URL.
  user string
  secretFile string
  secretRef? SecretReference -- The secret with the credentials.
  readOnly bool -- Whether nothing may be written.
CephFSVolumeSource
  monitors! []string
  path string -- Path, on the host, in the volume or in the URL.
  user string
  secretFile string
  secretRef? LocalObjectReference -- The secret with the credentials.
  readOnly bool -- Whether nothing may be written.
CinderPersistentVolumeSource
  volumeID! string
  fsType string -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
  secretRef? SecretReference -- The secret with the credentials.
CinderVolumeSource
  volumeID! string
  fsType string -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
  secretRef? LocalObjectReference -- The secret with the credentials.
ClientIPConfig
  timeoutSeconds? int32
ClusterTrustBundleProjection
  name? string -- Name, unique among its siblings.
  signerName? string
  labelSelector? LabelSelector -- Selects objects by label.
  optional? bool -- Whether the source may be missing.
  path! string -- Path, on the host, in the volume or in the URL.
ConfigMap -- Settings for pods.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  immutable? bool -- Whether nothing in it may change any more.
  data {}string -- Texts by key.
  binaryData {}bytes -- Bytes by key.
ConfigMapEnvSource
  name string default="" -- Name, unique among its siblings.
  optional? bool -- Whether the source may be missing.
ConfigMapKeySelector atomic
  name string default="" -- Name, unique among its siblings.
  key! string -- The key that is meant.
  optional? bool -- Whether the source may be missing.
ConfigMapNodeConfigSource
  namespace! string -- Namespace of the object that is meant.
  name! string -- Name, unique among its siblings.
  uid string -- Identity of the object that is meant.
  resourceVersion string
  kubeletConfigKey! string
ConfigMapProjection
  name string default="" -- Name, unique among its siblings.
  items []KeyToPath -- The keys to show, with their paths; all when empty.
  optional? bool -- Whether the source may be missing.
ConfigMapVolumeSource
  name string default="" -- Name, unique among its siblings.
  items []KeyToPath -- The keys to show, with their paths; all when empty.
  defaultMode? int32 -- Permission bits of the files, unless an item overrides them.
  optional? bool -- Whether the source may be missing.
Container -- One container of a pod.
  name! string -- Name, unique among its siblings.
  image string -- Image to run.
  command []string -- Entry point; that of the image when empty.
  args []string -- Arguments of the entry point.
  workingDir string -- Directory that it starts in.
  ports []ContainerPort keys=containerPort,protocol patch=merge:containerPort -- Ports that it listens on.
  envFrom []EnvFromSource -- ConfigMaps and Secrets whose keys become environment variables.
  env []EnvVar keys=name patch=merge:name -- Environment variables.
  resources ResourceRequirements -- CPU, memory and other resources.
  resizePolicy []ContainerResizePolicy
  restartPolicy? ContainerRestartPolicy()
  restartPolicyRules []ContainerRestartRule
  volumeMounts []VolumeMount keys=mountPath patch=merge:mountPath -- Where volumes appear in its file system.
  volumeDevices []VolumeDevice keys=devicePath patch=merge:devicePath
  livenessProbe? Probe -- Tells when the container must be restarted.
  readinessProbe? Probe -- Tells when the container can serve.
  startupProbe? Probe -- Tells when the container has started; other probes wait for it.
  lifecycle? Lifecycle -- What happens after its start and before its end.
  terminationMessagePath string -- File whose text becomes the message of its end.
  terminationMessagePolicy TerminationMessagePolicy(FallbackToLogsOnError|File) -- Where the message of its end comes from.
  imagePullPolicy PullPolicy(Always|IfNotPresent|Never) -- When the image is pulled: Always, IfNotPresent or Never.
  securityContext? SecurityContext -- Security settings of this container.
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
  name string -- Name by which services may refer to the port.
  hostPort int32 -- Port on the node.
  containerPort! int32 -- Port in the container.
  protocol Protocol(SCTP|TCP|UDP) default="TCP" -- TCP, UDP or SCTP.
  hostIP string
ContainerResizePolicy
  resourceName! ResourceName()
  restartPolicy! ResourceResizeRestartPolicy()
ContainerRestartRule
  action ContainerRestartRuleAction()
  exitCodes? ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes
  operator ContainerRestartRuleOnExitCodesOperator() -- How key and values are compared.
  values []int32 set -- The values to compare with.
ContainerState
  waiting? ContainerStateWaiting
  running? ContainerStateRunning
  terminated? ContainerStateTerminated
ContainerStateRunning
  startedAt time
ContainerStateTerminated
  exitCode! int32
  signal int32
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
  startedAt time
  finishedAt time
  containerID string
ContainerStateWaiting
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
ContainerStatus
  name! string -- Name, unique among its siblings.
  state ContainerState
  lastState ContainerState
  ready! bool
  restartCount! int32
  image! string
  imageID! string
  containerID string
  started? bool
  allocatedResources {}quantity
  resources? ResourceRequirements -- CPU, memory and other resources.
  volumeMounts []VolumeMountStatus keys=mountPath patch=merge:mountPath
  user? ContainerUser
  allocatedResourcesStatus []ResourceStatus keys=name patch=merge:name
  stopSignal? Signal(SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ)
ContainerUser
  linux? LinuxContainerUser
DaemonEndpoint
  Port! int32
DownwardAPIProjection
  items []DownwardAPIVolumeFile -- The keys to show, with their paths; all when empty.
DownwardAPIVolumeFile
  path! string -- Path, on the host, in the volume or in the URL.
  fieldRef? ObjectFieldSelector
  resourceFieldRef? ResourceFieldSelector
  mode? int32
DownwardAPIVolumeSource
  items []DownwardAPIVolumeFile -- The keys to show, with their paths; all when empty.
  defaultMode? int32 -- Permission bits of the files, unless an item overrides them.
EmptyDirVolumeSource
  medium StorageMedium()
  sizeLimit? quantity
EndpointAddress atomic
  ip! string
  hostname string
  nodeName? string
  targetRef? ObjectReference
EndpointPort atomic
  name string -- Name, unique among its siblings.
  port! int32 -- Port number or name.
  protocol Protocol(SCTP|TCP|UDP) -- TCP, UDP or SCTP.
  appProtocol? string
EndpointSubset
  addresses []EndpointAddress
  notReadyAddresses []EndpointAddress
  ports []EndpointPort -- The ports.
Endpoints -- The addresses behind a service.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  subsets []EndpointSubset
EnvFromSource
  prefix string
  configMapRef? ConfigMapEnvSource
  secretRef? SecretEnvSource -- The secret with the credentials.
EnvVar -- An environment variable.
  name! string -- Name, unique among its siblings.
  value string -- The value.
  valueFrom? EnvVarSource -- Where the value comes from.
EnvVarSource
  fieldRef? ObjectFieldSelector
  resourceFieldRef? ResourceFieldSelector
  configMapKeyRef? ConfigMapKeySelector
  secretKeyRef? SecretKeySelector
  fileKeyRef? FileKeySelector
EphemeralContainer
  name! string -- Name, unique among its siblings.
  image string
  command []string
  args []string
  workingDir string
  ports []ContainerPort keys=containerPort,protocol patch=merge:containerPort -- The ports.
  envFrom []EnvFromSource
  env []EnvVar keys=name patch=merge:name
  resources ResourceRequirements -- CPU, memory and other resources.
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
Event -- Something that happened to an object.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata! ObjectMeta -- Metadata of the object.
  involvedObject! ObjectReference
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
  source EventSource
  firstTimestamp time
  lastTimestamp time
  count int32
  type string -- Which kind it is.
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
  host string -- Host name to connect to; the pod's address by default.
ExecAction
  command []string
FCVolumeSource
  targetWWNs []string
  lun? int32
  fsType string -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
  wwids []string
FileKeySelector atomic
  volumeName! string
  path! string -- Path, on the host, in the volume or in the URL.
  key! string -- The key that is meant.
  optional? bool default=false -- Whether the source may be missing.
FlexPersistentVolumeSource
  driver! string
  fsType string -- File system of the volume.
  secretRef? SecretReference -- The secret with the credentials.
  readOnly bool -- Whether nothing may be written.
  options {}string
FlexVolumeSource
  driver! string
  fsType string -- File system of the volume.
  secretRef? LocalObjectReference -- The secret with the credentials.
  readOnly bool -- Whether nothing may be written.
  options {}string
FlockerVolumeSource
  datasetName string
  datasetUUID string
GCEPersistentDiskVolumeSource
  pdName! string
  fsType string -- File system of the volume.
  partition int32
  readOnly bool -- Whether nothing may be written.
GRPCAction
  port! int32 -- Port number or name.
  service?~ string default=""
GitRepoVolumeSource
  repository! string
  revision string
  directory string
GlusterfsPersistentVolumeSource
  endpoints! string
  path! string -- Path, on the host, in the volume or in the URL.
  readOnly bool -- Whether nothing may be written.
  endpointsNamespace? string
GlusterfsVolumeSource
  endpoints! string
  path! string -- Path, on the host, in the volume or in the URL.
  readOnly bool -- Whether nothing may be written.
HTTPGetAction -- An HTTP request.
  path string -- Path, on the host, in the volume or in the URL.
  port! intstr -- Port number or name.
  host string -- Host name to connect to; the pod's address by default.
  scheme URIScheme(HTTP|HTTPS) -- HTTP or HTTPS.
  httpHeaders []HTTPHeader -- Headers to send.
HTTPHeader
  name! string -- Name, unique among its siblings.
  value! string -- The value.
HostAlias
  ip! string
  hostnames []string
HostIP
  ip! string
HostPathVolumeSource
  path! string -- Path, on the host, in the volume or in the URL.
  type? HostPathType(|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket) -- Which kind it is.
ISCSIPersistentVolumeSource
  targetPortal! string
  iqn! string
  lun! int32
  iscsiInterface string default="default"
  fsType string -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
  portals []string
  chapAuthDiscovery bool
  chapAuthSession bool
  secretRef? SecretReference -- The secret with the credentials.
  initiatorName? string
ISCSIVolumeSource
  targetPortal! string
  iqn! string
  lun! int32
  iscsiInterface string default="default"
  fsType string -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
  portals []string
  chapAuthDiscovery bool
  chapAuthSession bool
  secretRef? LocalObjectReference -- The secret with the credentials.
  initiatorName? string
ImageVolumeSource
  reference string
  pullPolicy PullPolicy(Always|IfNotPresent|Never)
KeyToPath
  key! string -- The key that is meant.
  path! string -- Path, on the host, in the volume or in the URL.
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
LimitRange -- Bounds and defaults for resources in a namespace.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec LimitRangeSpec -- What is wanted.
LimitRangeItem
  type! LimitType() -- Which kind it is.
  max {}quantity
  min {}quantity
  default {}quantity
  defaultRequest {}quantity
  maxLimitRequestRatio {}quantity
LimitRangeSpec
  limits! []LimitRangeItem -- The most that may be used.
LinuxContainerUser
  uid! int64 -- Identity of the object that is meant.
  gid! int64
  supplementalGroups []int64
LoadBalancerIngress
  ip string
  hostname string
  ipMode? LoadBalancerIPMode()
  ports []PortStatus -- The ports.
LoadBalancerStatus
  ingress []LoadBalancerIngress
LocalObjectReference atomic
  name string default="" -- Name, unique among its siblings.
LocalVolumeSource
  path! string -- Path, on the host, in the volume or in the URL.
  fsType? string -- File system of the volume.
ModifyVolumeStatus
  targetVolumeAttributesClassName string
  status! PersistentVolumeClaimModifyVolumeStatus(InProgress|Infeasible|Pending) -- What is, as the controllers last saw it.
NFSVolumeSource
  server! string
  path! string -- Path, on the host, in the volume or in the URL.
  readOnly bool -- Whether nothing may be written.
Namespace -- A room for names.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec NamespaceSpec -- What is wanted.
  status NamespaceStatus -- What is, as the controllers last saw it.
NamespaceCondition
  type! NamespaceConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
NamespaceSpec
  finalizers []FinalizerName()
NamespaceStatus
  phase NamespacePhase(Active|Terminating)
  conditions []NamespaceCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
Node -- A machine of the cluster.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec NodeSpec -- What is wanted.
  status NodeStatus -- What is, as the controllers last saw it.
NodeAddress
  type! NodeAddressType() -- Which kind it is.
  address! string
NodeAffinity
  requiredDuringSchedulingIgnoredDuringExecution? NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm
NodeCondition
  type! NodeConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastHeartbeatTime time
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
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
  name~ string -- Name, unique among its siblings.
  features? NodeRuntimeHandlerFeatures
NodeRuntimeHandlerFeatures
  recursiveReadOnlyMounts? bool
  userNamespaces? bool
NodeSelector atomic
  nodeSelectorTerms! []NodeSelectorTerm
NodeSelectorRequirement
  key! string -- The key that is meant.
  operator! NodeSelectorOperator(DoesNotExist|Exists|Gt|In|Lt|NotIn) -- How key and values are compared.
  values []string -- The values to compare with.
NodeSelectorTerm atomic
  matchExpressions []NodeSelectorRequirement -- Conditions on labels, all of which must hold.
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
  conditions []NodeCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
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
  apiVersion string -- Version of the schema of this object: group/version.
  fieldPath! string
ObjectReference atomic
  kind string -- Kind of this object, in CamelCase.
  namespace string -- Namespace of the object that is meant.
  name string -- Name, unique among its siblings.
  uid string -- Identity of the object that is meant.
  apiVersion string -- Version of the schema of this object: group/version.
  resourceVersion string
  fieldPath string
PersistentVolume -- A piece of storage of the cluster.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec PersistentVolumeSpec -- What is wanted.
  status PersistentVolumeStatus -- What is, as the controllers last saw it.
PersistentVolumeClaim -- A wish for storage.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec PersistentVolumeClaimSpec -- What is wanted.
  status PersistentVolumeClaimStatus -- What is, as the controllers last saw it.
PersistentVolumeClaimCondition
  type! PersistentVolumeClaimConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastProbeTime time -- When the condition was last looked at.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
PersistentVolumeClaimSpec -- What storage is wished for.
  accessModes []PersistentVolumeAccessMode(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod) -- How the volume may be mounted.
  selector? LabelSelector -- Selects the objects that belong to this one.
  resources VolumeResourceRequirements -- CPU, memory and other resources.
  volumeName string -- The volume that the claim is bound to.
  storageClassName? string -- Which StorageClass provides the volume.
  volumeMode? PersistentVolumeMode(Block|Filesystem) -- Filesystem or Block.
  dataSource? TypedLocalObjectReference -- Where the first content comes from.
  dataSourceRef? TypedObjectReference -- Where the first content comes from, of any kind.
  volumeAttributesClassName? string
PersistentVolumeClaimStatus
  phase PersistentVolumeClaimPhase(Bound|Lost|Pending)
  accessModes []PersistentVolumeAccessMode(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod) -- How the volume may be mounted.
  capacity {}quantity
  conditions []PersistentVolumeClaimCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
  allocatedResources {}quantity
  allocatedResourceStatuses {}ClaimResourceStatus(ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizeInProgress|NodeResizeInfeasible|NodeResizePending)
  currentVolumeAttributesClassName? string
  modifyVolumeStatus? ModifyVolumeStatus
PersistentVolumeClaimTemplate
  metadata ObjectMeta -- Metadata of the object.
  spec! PersistentVolumeClaimSpec -- What is wanted.
PersistentVolumeClaimVolumeSource
  claimName! string
  readOnly bool -- Whether nothing may be written.
PersistentVolumeSpec
  capacity {}quantity -- How big the volume is.
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
  accessModes []PersistentVolumeAccessMode(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod) -- How the volume may be mounted.
  claimRef? ObjectReference
  persistentVolumeReclaimPolicy PersistentVolumeReclaimPolicy(Delete|Recycle|Retain) -- What becomes of the volume after its claim: Retain, Delete or Recycle.
  storageClassName string -- Which StorageClass provides the volume.
  mountOptions []string
  volumeMode? PersistentVolumeMode(Block|Filesystem) -- Filesystem or Block.
  nodeAffinity? VolumeNodeAffinity
  volumeAttributesClassName? string
PersistentVolumeStatus
  phase PersistentVolumePhase(Available|Bound|Failed|Pending|Released)
  message string -- Human-readable explanation.
  reason string -- Reason in one word.
  lastPhaseTransitionTime? time
PhotonPersistentDiskVolumeSource
  pdID! string
  fsType string -- File system of the volume.
Pod -- One or more containers that run together on one node.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec PodSpec -- What is wanted.
  status PodStatus -- What is, as the controllers last saw it.
PodAffinity
  requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodAffinityTerm
  labelSelector? LabelSelector -- Selects objects by label.
  namespaces []string
  topologyKey! string
  namespaceSelector? LabelSelector -- Selects namespaces by label.
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
  type! PodConditionType() -- Which kind it is.
  observedGeneration int64 -- The generation that the controller has acted on.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastProbeTime time -- When the condition was last looked at.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
PodDNSConfig
  nameservers []string
  searches []string
  options []PodDNSConfigOption
PodDNSConfigOption
  name string -- Name, unique among its siblings.
  value? string -- The value.
PodExtendedResourceClaimStatus
  requestMappings! []ContainerExtendedResourceRequest
  resourceClaimName! string
PodIP
  ip! string
PodOS
  name! OSName() -- Name, unique among its siblings.
PodReadinessGate
  conditionType! PodConditionType()
PodResourceClaim
  name! string -- Name, unique among its siblings.
  resourceClaimName? string
  resourceClaimTemplateName? string
PodResourceClaimStatus
  name! string -- Name, unique among its siblings.
  resourceClaimName? string
PodSchedulingGate
  name! string -- Name, unique among its siblings.
PodSecurityContext -- Security settings of a pod.
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
PodSpec -- What runs in a pod and how.
  volumes []Volume keys=name patch=merge,retainKeys:name -- The volumes that containers of the pod may mount.
  initContainers []Container keys=name patch=merge:name -- Containers that run one after another before the others start.
  containers! []Container keys=name patch=merge:name -- The containers of the pod; at least one.
  ephemeralContainers []EphemeralContainer keys=name patch=merge:name -- Containers added to a running pod for debugging.
  restartPolicy RestartPolicy(Always|Never|OnFailure) -- When containers are started again: Always, OnFailure or Never.
  terminationGracePeriodSeconds? int64 -- How long the pod may take to end after it was asked to.
  activeDeadlineSeconds? int64 -- How long the pod may run before it is failed.
  dnsPolicy DNSPolicy(ClusterFirst|ClusterFirstWithHostNet|Default|None) -- Where names are looked up.
  nodeSelector {}string atomic -- Labels that a node must have.
  serviceAccountName string -- The account whose identity the pod has.
  serviceAccount string -- Old name of serviceAccountName.
  automountServiceAccountToken? bool -- Whether the account's token is mounted.
  nodeName string -- The node that the pod is bound to.
  hostNetwork bool -- Whether the pod uses the network of its node.
  hostPID bool -- Whether the pod sees the processes of its node.
  hostIPC bool -- Whether the pod shares the IPC namespace of its node.
  shareProcessNamespace? bool
  securityContext? PodSecurityContext -- Security settings of the whole pod.
  imagePullSecrets []LocalObjectReference keys=name patch=merge:name -- Secrets for the image registries.
  hostname string -- Host name inside the pod.
  subdomain string -- Subdomain of the pod's full name.
  affinity? Affinity -- Where the pod should and must be placed.
  schedulerName string -- Which scheduler places the pod.
  tolerations []Toleration -- Taints of nodes that the pod puts up with.
  hostAliases []HostAlias keys=ip patch=merge:ip -- Lines for the hosts file.
  priorityClassName string -- The class that sets the priority of the pod.
  priority? int32
  dnsConfig? PodDNSConfig -- DNS settings merged with those of the policy.
  readinessGates []PodReadinessGate -- Conditions that must hold before the pod counts as ready.
  runtimeClassName? string
  enableServiceLinks? bool -- Whether services appear as environment variables.
  preemptionPolicy? PreemptionPolicy(Never|PreemptLowerPriority)
  overhead {}quantity
  topologySpreadConstraints []TopologySpreadConstraint keys=topologyKey,whenUnsatisfiable patch=merge:topologyKey -- How pods spread over zones, nodes and the like.
  setHostnameAsFQDN? bool
  os? PodOS
  hostUsers? bool
  schedulingGates []PodSchedulingGate keys=name patch=merge:name
  resourceClaims []PodResourceClaim keys=name patch=merge,retainKeys:name
  resources? ResourceRequirements -- CPU, memory and other resources.
  hostnameOverride? string
PodStatus -- How a pod is doing.
  observedGeneration int64 -- The generation that the controller has acted on.
  phase PodPhase(Failed|Pending|Running|Succeeded|Unknown)
  conditions []PodCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
  message string -- Human-readable explanation.
  reason string -- Reason in one word.
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
PodTemplate -- A template for pods, stored by itself.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  template PodTemplateSpec -- Describes the pods that will be made.
PodTemplateSpec -- What pods made from the template look like.
  metadata ObjectMeta -- Metadata of the object.
  spec PodSpec -- What is wanted.
PortStatus
  port! int32 -- Port number or name.
  protocol! Protocol(SCTP|TCP|UDP) -- TCP, UDP or SCTP.
  error? string
PortworxVolumeSource
  volumeID! string
  fsType string -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
PreferredSchedulingTerm
  weight! int32
  preference! NodeSelectorTerm
Probe -- How to find out whether a container is well.
  exec? ExecAction -- Command that must end with 0.
  httpGet? HTTPGetAction -- HTTP request that must succeed.
  tcpSocket? TCPSocketAction -- Port that must accept a connection.
  grpc? GRPCAction -- gRPC health service that must answer.
  initialDelaySeconds int32 -- How long to wait before the first try.
  timeoutSeconds int32 -- How long one try may take.
  periodSeconds int32 -- How often to try.
  successThreshold int32 -- How many successes in a row count as well.
  failureThreshold int32 -- How many failures in a row count as unwell.
  terminationGracePeriodSeconds? int64
ProjectedVolumeSource
  sources~ []VolumeProjection
  defaultMode? int32 -- Permission bits of the files, unless an item overrides them.
QuobyteVolumeSource
  registry! string
  volume! string
  readOnly bool -- Whether nothing may be written.
  user string
  group string
  tenant string
RBDPersistentVolumeSource
  monitors! []string
  image! string
  fsType string -- File system of the volume.
  pool string default="rbd"
  user string default="admin"
  keyring string default="/etc/ceph/keyring"
  secretRef? SecretReference -- The secret with the credentials.
  readOnly bool -- Whether nothing may be written.
RBDVolumeSource
  monitors! []string
  image! string
  fsType string -- File system of the volume.
  pool string default="rbd"
  user string default="admin"
  keyring string default="/etc/ceph/keyring"
  secretRef? LocalObjectReference -- The secret with the credentials.
  readOnly bool -- Whether nothing may be written.
ReplicationController -- Keeps a number of pods running; the older form of ReplicaSet.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec ReplicationControllerSpec -- What is wanted.
  status ReplicationControllerStatus -- What is, as the controllers last saw it.
ReplicationControllerCondition
  type! ReplicationControllerConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
ReplicationControllerSpec
  replicas? int32 default=1 -- How many pods.
  minReadySeconds int32 default=0 -- How long a new pod must be ready before it counts as available.
  selector {}string atomic -- Selects the objects that belong to this one.
  template? PodTemplateSpec -- Describes the pods that will be made.
ReplicationControllerStatus
  replicas! int32 -- How many pods.
  fullyLabeledReplicas int32
  readyReplicas int32 -- Pods that are ready.
  availableReplicas int32 -- Pods that have been ready long enough.
  observedGeneration int64 -- The generation that the controller has acted on.
  conditions []ReplicationControllerCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
ResourceClaim
  name! string -- Name, unique among its siblings.
  request string
ResourceFieldSelector atomic
  containerName string
  resource! string
  divisor quantity
ResourceHealth
  resourceID! ResourceID()
  health ResourceHealthStatus()
ResourceQuota -- How much a namespace may use.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec ResourceQuotaSpec -- What is wanted.
  status ResourceQuotaStatus -- What is, as the controllers last saw it.
ResourceQuotaSpec
  hard {}quantity
  scopes []ResourceQuotaScope(BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass)
  scopeSelector? ScopeSelector
ResourceQuotaStatus
  hard {}quantity
  used {}quantity
ResourceRequirements -- What a container may use and what is set aside for it.
  limits {}quantity -- The most that may be used.
  requests {}quantity -- What is set aside.
  claims []ResourceClaim keys=name
ResourceStatus
  name! ResourceName() -- Name, unique among its siblings.
  resources []ResourceHealth keys=resourceID -- CPU, memory and other resources.
SELinuxOptions
  user string
  role string
  type string -- Which kind it is.
  level string
ScaleIOPersistentVolumeSource
  gateway! string
  system! string
  secretRef?! SecretReference -- The secret with the credentials.
  sslEnabled bool
  protectionDomain string
  storagePool string
  storageMode string default="ThinProvisioned"
  volumeName string
  fsType string default="xfs" -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
ScaleIOVolumeSource
  gateway! string
  system! string
  secretRef?! LocalObjectReference -- The secret with the credentials.
  sslEnabled bool
  protectionDomain string
  storagePool string
  storageMode string default="ThinProvisioned"
  volumeName string
  fsType string default="xfs" -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
ScopeSelector atomic
  matchExpressions []ScopedResourceSelectorRequirement -- Conditions on labels, all of which must hold.
ScopedResourceSelectorRequirement
  scopeName! ResourceQuotaScope(BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass)
  operator! ScopeSelectorOperator(DoesNotExist|Exists|In|NotIn) -- How key and values are compared.
  values []string -- The values to compare with.
SeccompProfile
  type! SeccompProfileType(Localhost|RuntimeDefault|Unconfined) -- Which kind it is.
  localhostProfile? string
Secret -- Confidential data for pods.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  immutable? bool -- Whether nothing in it may change any more.
  data {}bytes -- Values by key, in base64.
  stringData {}string -- Values by key in plain text; for writing only.
  type SecretType() -- What the secret is for.
SecretEnvSource
  name string default="" -- Name, unique among its siblings.
  optional? bool -- Whether the source may be missing.
SecretKeySelector atomic
  name string default="" -- Name, unique among its siblings.
  key! string -- The key that is meant.
  optional? bool -- Whether the source may be missing.
SecretProjection
  name string default="" -- Name, unique among its siblings.
  items []KeyToPath -- The keys to show, with their paths; all when empty.
  optional? bool -- Whether the source may be missing.
SecretReference atomic
  name string -- Name, unique among its siblings.
  namespace string -- Namespace of the object that is meant.
SecretVolumeSource
  secretName string
  items []KeyToPath -- The keys to show, with their paths; all when empty.
  defaultMode? int32 -- Permission bits of the files, unless an item overrides them.
  optional? bool -- Whether the source may be missing.
SecurityContext -- Security settings of a container.
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
Service -- A name and an address for a set of pods.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec ServiceSpec -- What is wanted.
  status ServiceStatus -- What is, as the controllers last saw it.
ServiceAccount -- An identity for pods.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  secrets []ObjectReference keys=name patch=merge:name
  imagePullSecrets []LocalObjectReference
  automountServiceAccountToken? bool
ServiceAccountTokenProjection
  audience string
  expirationSeconds? int64
  path! string -- Path, on the host, in the volume or in the URL.
ServicePort -- A port of a service.
  name string -- Name, unique among its siblings.
  protocol Protocol(SCTP|TCP|UDP) default="TCP" -- TCP, UDP or SCTP.
  appProtocol? string
  port! int32 -- Port of the service.
  targetPort intstr -- Port of the pods, by number or name.
  nodePort int32 -- Port on every node.
ServiceSpec -- What a service offers and where it leads.
  ports []ServicePort keys=port,protocol patch=merge:port -- The ports.
  selector {}string atomic -- Selects the objects that belong to this one.
  clusterIP string -- Address inside the cluster; None for no address.
  clusterIPs []string
  type ServiceType(ClusterIP|ExternalName|LoadBalancer|NodePort) -- ClusterIP, NodePort, LoadBalancer or ExternalName.
  externalIPs []string
  sessionAffinity ServiceAffinity(ClientIP|None) -- Whether a client stays with one pod.
  loadBalancerIP string
  loadBalancerSourceRanges []string
  externalName string -- The name that the service stands for.
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
  conditions []Condition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
SessionAffinityConfig
  clientIP? ClientIPConfig
SleepAction
  seconds! int64
StorageOSPersistentVolumeSource
  volumeName string
  volumeNamespace string
  fsType string -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
  secretRef? ObjectReference -- The secret with the credentials.
StorageOSVolumeSource
  volumeName string
  volumeNamespace string
  fsType string -- File system of the volume.
  readOnly bool -- Whether nothing may be written.
  secretRef? LocalObjectReference -- The secret with the credentials.
Sysctl
  name! string -- Name, unique among its siblings.
  value! string -- The value.
TCPSocketAction
  port! intstr -- Port number or name.
  host string -- Host name to connect to; the pod's address by default.
Taint
  key! string -- The key that is meant.
  value string -- The value.
  effect! TaintEffect(NoExecute|NoSchedule|PreferNoSchedule)
  timeAdded? time
Toleration -- A taint that is put up with.
  key string -- The key that is meant.
  operator TolerationOperator(Equal|Exists) -- How key and values are compared.
  value string -- The value.
  effect TaintEffect(NoExecute|NoSchedule|PreferNoSchedule)
  tolerationSeconds? int64
TopologySelectorLabelRequirement
  key! string -- The key that is meant.
  values! []string -- The values to compare with.
TopologySelectorTerm atomic
  matchLabelExpressions []TopologySelectorLabelRequirement
TopologySpreadConstraint
  maxSkew! int32
  topologyKey! string
  whenUnsatisfiable! UnsatisfiableConstraintAction(DoNotSchedule|ScheduleAnyway)
  labelSelector? LabelSelector -- Selects objects by label.
  minDomains? int32
  nodeAffinityPolicy? NodeInclusionPolicy(Honor|Ignore)
  nodeTaintsPolicy? NodeInclusionPolicy(Honor|Ignore)
  matchLabelKeys []string
TypedLocalObjectReference atomic
  apiGroup?~ string -- API group; the core group when empty.
  kind! string -- Kind of this object, in CamelCase.
  name! string -- Name, unique among its siblings.
TypedObjectReference
  apiGroup?~ string -- API group; the core group when empty.
  kind! string -- Kind of this object, in CamelCase.
  name! string -- Name, unique among its siblings.
  namespace? string -- Namespace of the object that is meant.
Volume -- A volume of a pod: a name and exactly one source.
  name! string -- Name, unique among its siblings.
  hostPath? HostPathVolumeSource -- Path of the node.
  emptyDir? EmptyDirVolumeSource -- Directory that lives as long as the pod.
  gcePersistentDisk? GCEPersistentDiskVolumeSource
  awsElasticBlockStore? AWSElasticBlockStoreVolumeSource
  gitRepo? GitRepoVolumeSource
  secret? SecretVolumeSource -- Files made of a Secret.
  nfs? NFSVolumeSource
  iscsi? ISCSIVolumeSource
  glusterfs? GlusterfsVolumeSource
  persistentVolumeClaim? PersistentVolumeClaimVolumeSource -- A volume that was claimed.
  rbd? RBDVolumeSource
  flexVolume? FlexVolumeSource
  cinder? CinderVolumeSource
  cephfs? CephFSVolumeSource
  flocker? FlockerVolumeSource
  downwardAPI? DownwardAPIVolumeSource -- Files with facts about the pod.
  fc? FCVolumeSource
  azureFile? AzureFileVolumeSource
  configMap? ConfigMapVolumeSource -- Files made of a ConfigMap.
  vsphereVolume? VsphereVirtualDiskVolumeSource
  quobyte? QuobyteVolumeSource
  azureDisk? AzureDiskVolumeSource
  photonPersistentDisk? PhotonPersistentDiskVolumeSource
  projected? ProjectedVolumeSource -- Several sources in one directory.
  portworxVolume? PortworxVolumeSource
  scaleIO? ScaleIOVolumeSource
  storageos? StorageOSVolumeSource
  csi? CSIVolumeSource
  ephemeral? EphemeralVolumeSource
  image? ImageVolumeSource
VolumeDevice
  name! string -- Name, unique among its siblings.
  devicePath! string
VolumeMount
  name! string -- Name, unique among its siblings.
  readOnly bool -- Whether nothing may be written.
  recursiveReadOnly? RecursiveReadOnlyMode()
  mountPath! string -- Where the volume appears.
  subPath string -- Path inside the volume.
  mountPropagation? MountPropagationMode(Bidirectional|HostToContainer|None)
  subPathExpr string
VolumeMountStatus
  name! string -- Name, unique among its siblings.
  mountPath! string
  readOnly bool -- Whether nothing may be written.
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
  limits {}quantity -- The most that may be used.
  requests {}quantity -- What is set aside.
VsphereVirtualDiskVolumeSource
  volumePath! string
  fsType string -- File system of the volume.
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
