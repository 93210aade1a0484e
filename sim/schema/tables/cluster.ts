import type { PackageTable } from '../type-table.ts';

export const networkingV1: PackageTable = {
  package: 'io.k8s.api.networking.v1',
  types: `
HTTPIngressPath
  path string -- Path, on the host, in the volume or in the URL.
  pathType?! PathType() -- Exact, Prefix or ImplementationSpecific.
  backend! IngressBackend -- Where the path leads.
HTTPIngressRuleValue
  paths! []HTTPIngressPath
IPBlock
  cidr! string
  except []string
Ingress -- Routes HTTP traffic from outside to services.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec IngressSpec -- What is wanted.
  status IngressStatus -- What is, as the controllers last saw it.
IngressBackend
  service? IngressServiceBackend
  resource? TypedLocalObjectReference
IngressClass -- A controller that serves ingresses.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec IngressClassSpec -- What is wanted.
IngressClassParametersReference
  apiGroup? string -- API group; the core group when empty.
  kind! string -- Kind of this object, in CamelCase.
  name! string -- Name, unique among its siblings.
  scope?~ string
  namespace? string -- Namespace of the object that is meant.
IngressClassSpec
  controller string
  parameters? IngressClassParametersReference
IngressLoadBalancerIngress
  ip string
  hostname string
  ports []IngressPortStatus -- The ports.
IngressLoadBalancerStatus
  ingress []IngressLoadBalancerIngress
IngressPortStatus
  port! int32 -- Port number or name.
  protocol! Protocol(SCTP|TCP|UDP) -- TCP, UDP or SCTP.
  error? string
IngressRule
  host string -- Host name to connect to; the pod's address by default.
  http? HTTPIngressRuleValue
IngressServiceBackend
  name! string -- Name, unique among its siblings.
  port ServiceBackendPort -- Port number or name.
IngressSpec
  ingressClassName? string -- Which controller serves it.
  defaultBackend? IngressBackend -- Where everything else leads.
  tls []IngressTLS -- Certificates by host.
  rules []IngressRule -- Which host and path leads where.
IngressStatus
  loadBalancer IngressLoadBalancerStatus
IngressTLS
  hosts []string
  secretName string
NetworkPolicy -- Which traffic pods may have.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec NetworkPolicySpec -- What is wanted.
NetworkPolicyEgressRule
  ports []NetworkPolicyPort -- The ports.
  to []NetworkPolicyPeer
NetworkPolicyIngressRule
  ports []NetworkPolicyPort -- The ports.
  from []NetworkPolicyPeer
NetworkPolicyPeer
  podSelector? LabelSelector -- Selects pods by label.
  namespaceSelector? LabelSelector -- Selects namespaces by label.
  ipBlock? IPBlock
NetworkPolicyPort
  protocol? Protocol(SCTP|TCP|UDP) -- TCP, UDP or SCTP.
  port? intstr -- Port number or name.
  endPort? int32
NetworkPolicySpec
  podSelector~ LabelSelector -- Selects pods by label.
  ingress []NetworkPolicyIngressRule -- What may come in.
  egress []NetworkPolicyEgressRule -- What may go out.
  policyTypes []PolicyType(Egress|Ingress) -- Which directions the policy speaks of.
ServiceBackendPort atomic
  name string -- Name, unique among its siblings.
  number int32
`,
};

export const rbacV1: PackageTable = {
  package: 'io.k8s.api.rbac.v1',
  types: `
AggregationRule
  clusterRoleSelectors []LabelSelector
ClusterRole -- Permissions in the whole cluster.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  rules~ []PolicyRule -- The rules.
  aggregationRule? AggregationRule
ClusterRoleBinding -- Gives permissions in the whole cluster to subjects.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  subjects []Subject -- Who gets the permissions.
  roleRef! RoleRef -- The role that is given; it never changes.
PolicyRule -- What may be done with what.
  verbs! []string -- What may be done; * is everything.
  apiGroups []string -- Of which groups; the empty text is the core group.
  resources []string -- With which resources; * is all.
  resourceNames []string
  nonResourceURLs []string
Role -- Permissions inside a namespace.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  rules~ []PolicyRule -- The rules.
RoleBinding -- Gives permissions inside a namespace to subjects.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  subjects []Subject -- Who gets the permissions.
  roleRef! RoleRef -- The role that is given; it never changes.
RoleRef atomic
  apiGroup! string -- API group; the core group when empty.
  kind! string -- Kind of this object, in CamelCase.
  name! string -- Name, unique among its siblings.
Subject atomic
  kind! string -- Kind of this object, in CamelCase.
  apiGroup string -- API group; the core group when empty.
  name! string -- Name, unique among its siblings.
  namespace string -- Namespace of the object that is meant.
`,
};

export const coordinationV1: PackageTable = {
  package: 'io.k8s.api.coordination.v1',
  types: `
Lease -- Who holds something, and until when.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec LeaseSpec -- What is wanted.
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
  conditions EndpointConditions -- What holds for the object at present, one entry per type.
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
  name? string -- Name, unique among its siblings.
  protocol? Protocol(SCTP|TCP|UDP) -- TCP, UDP or SCTP.
  port? int32 -- Port number or name.
  appProtocol? string
EndpointSlice -- Some of the addresses behind a service.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  addressType! AddressType()
  endpoints! []Endpoint
  ports~ []EndpointPort -- The ports.
ForNode
  name! string -- Name, unique among its siblings.
ForZone
  name! string -- Name, unique among its siblings.
`,
};

export const storageV1: PackageTable = {
  package: 'io.k8s.api.storage.v1',
  types: `
StorageClass -- A kind of storage that can be asked for.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
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
PriorityClass -- How important pods are.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  value! int32 -- The value.
  globalDefault bool
  description string
  preemptionPolicy? PreemptionPolicy(Never|PreemptLowerPriority)
`,
};

export const eventsV1: PackageTable = {
  package: 'io.k8s.api.events.v1',
  types: `
Event -- Something that happened to an object.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata~ ObjectMeta -- Metadata of the object.
  eventTime! microtime
  series? EventSeries
  reportingController string
  reportingInstance string
  action string
  reason string -- Reason in one word.
  regarding ObjectReference
  related? ObjectReference
  note string
  type string -- Which kind it is.
  deprecatedSource EventSource
  deprecatedFirstTimestamp time
  deprecatedLastTimestamp time
  deprecatedCount int32
EventSeries
  count! int32
  lastObservedTime! microtime
`,
};
