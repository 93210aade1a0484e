import type { PackageTable } from '../type-table.ts';

export const networkingV1: PackageTable = {
  package: 'io.k8s.api.networking.v1',
  types: `
HTTPIngressPath
  path string
  pathType?! PathType()
  backend! IngressBackend
HTTPIngressRuleValue
  paths! []HTTPIngressPath
IPBlock
  cidr! string
  except []string
Ingress
  apiVersion string
  kind string
  metadata ObjectMeta
  spec IngressSpec
  status IngressStatus
IngressBackend
  service? IngressServiceBackend
  resource? TypedLocalObjectReference
IngressClass
  apiVersion string
  kind string
  metadata ObjectMeta
  spec IngressClassSpec
IngressClassParametersReference
  apiGroup? string
  kind! string
  name! string
  scope?~ string
  namespace? string
IngressClassSpec
  controller string
  parameters? IngressClassParametersReference
IngressLoadBalancerIngress
  ip string
  hostname string
  ports []IngressPortStatus
IngressLoadBalancerStatus
  ingress []IngressLoadBalancerIngress
IngressPortStatus
  port! int32
  protocol! Protocol(SCTP|TCP|UDP)
  error? string
IngressRule
  host string
  http? HTTPIngressRuleValue
IngressServiceBackend
  name! string
  port ServiceBackendPort
IngressSpec
  ingressClassName? string
  defaultBackend? IngressBackend
  tls []IngressTLS
  rules []IngressRule
IngressStatus
  loadBalancer IngressLoadBalancerStatus
IngressTLS
  hosts []string
  secretName string
NetworkPolicy
  apiVersion string
  kind string
  metadata ObjectMeta
  spec NetworkPolicySpec
NetworkPolicyEgressRule
  ports []NetworkPolicyPort
  to []NetworkPolicyPeer
NetworkPolicyIngressRule
  ports []NetworkPolicyPort
  from []NetworkPolicyPeer
NetworkPolicyPeer
  podSelector? LabelSelector
  namespaceSelector? LabelSelector
  ipBlock? IPBlock
NetworkPolicyPort
  protocol? Protocol(SCTP|TCP|UDP)
  port? intstr
  endPort? int32
NetworkPolicySpec
  podSelector~ LabelSelector
  ingress []NetworkPolicyIngressRule
  egress []NetworkPolicyEgressRule
  policyTypes []PolicyType(Egress|Ingress)
ServiceBackendPort atomic
  name string
  number int32
`,
};

export const rbacV1: PackageTable = {
  package: 'io.k8s.api.rbac.v1',
  types: `
AggregationRule
  clusterRoleSelectors []LabelSelector
ClusterRole
  apiVersion string
  kind string
  metadata ObjectMeta
  rules~ []PolicyRule
  aggregationRule? AggregationRule
ClusterRoleBinding
  apiVersion string
  kind string
  metadata ObjectMeta
  subjects []Subject
  roleRef! RoleRef
PolicyRule
  verbs! []string
  apiGroups []string
  resources []string
  resourceNames []string
  nonResourceURLs []string
Role
  apiVersion string
  kind string
  metadata ObjectMeta
  rules~ []PolicyRule
RoleBinding
  apiVersion string
  kind string
  metadata ObjectMeta
  subjects []Subject
  roleRef! RoleRef
RoleRef atomic
  apiGroup! string
  kind! string
  name! string
Subject atomic
  kind! string
  apiGroup string
  name! string
  namespace string
`,
};

export const coordinationV1: PackageTable = {
  package: 'io.k8s.api.coordination.v1',
  types: `
Lease
  apiVersion string
  kind string
  metadata ObjectMeta
  spec LeaseSpec
LeaseSpec
  holderIdentity? string
  leaseDurationSeconds? int32
  acquireTime? microtime
  renewTime? microtime
  leaseTransitions? int32
  strategy? CoordinatedLeaseStrategy()
  preferredHolder? string
`,
};

export const discoveryV1: PackageTable = {
  package: 'io.k8s.api.discovery.v1',
  types: `
Endpoint
  addresses! []string set
  conditions EndpointConditions
  hostname? string
  targetRef? ObjectReference
  deprecatedTopology {}string
  nodeName? string
  zone? string
  hints? EndpointHints
EndpointConditions
  ready? bool
  serving? bool
  terminating? bool
EndpointHints
  forZones []ForZone
  forNodes []ForNode
EndpointPort atomic
  name? string
  protocol? Protocol(SCTP|TCP|UDP)
  port? int32
  appProtocol? string
EndpointSlice
  apiVersion string
  kind string
  metadata ObjectMeta
  addressType! AddressType()
  endpoints! []Endpoint
  ports~ []EndpointPort
ForNode
  name! string
ForZone
  name! string
`,
};

export const storageV1: PackageTable = {
  package: 'io.k8s.api.storage.v1',
  types: `
StorageClass
  apiVersion string
  kind string
  metadata ObjectMeta
  provisioner! string
  parameters {}string
  reclaimPolicy? PersistentVolumeReclaimPolicy(Delete|Recycle|Retain)
  mountOptions []string
  allowVolumeExpansion? bool
  volumeBindingMode? VolumeBindingMode(Immediate|WaitForFirstConsumer)
  allowedTopologies []TopologySelectorTerm
`,
};

export const schedulingV1: PackageTable = {
  package: 'io.k8s.api.scheduling.v1',
  types: `
PriorityClass
  apiVersion string
  kind string
  metadata ObjectMeta
  value! int32
  globalDefault bool
  description string
  preemptionPolicy? PreemptionPolicy(Never|PreemptLowerPriority)
`,
};

export const eventsV1: PackageTable = {
  package: 'io.k8s.api.events.v1',
  types: `
Event
  apiVersion string
  kind string
  metadata~ ObjectMeta
  eventTime! microtime
  series? EventSeries
  reportingController string
  reportingInstance string
  action string
  reason string
  regarding ObjectReference
  related? ObjectReference
  note string
  type string
  deprecatedSource EventSource
  deprecatedFirstTimestamp time
  deprecatedLastTimestamp time
  deprecatedCount int32
EventSeries
  count! int32
  lastObservedTime! microtime
`,
};
