import type { PackageTable } from '../type-table.ts';

export const metaV1: PackageTable = {
  package: 'io.k8s.apimachinery.pkg.apis.meta.v1',
  types: `
Condition
  type! string
  status! ConditionStatus()
  observedGeneration int64
  lastTransitionTime! time
  reason! string
  message! string
DeleteOptions
  apiVersion string
  kind string
  gracePeriodSeconds? int64
  preconditions? Preconditions
  orphanDependents? bool
  propagationPolicy? DeletionPropagation()
  dryRun []string
  ignoreStoreReadErrorWithClusterBreakingPotential? bool
LabelSelector atomic
  matchLabels {}string
  matchExpressions []LabelSelectorRequirement
LabelSelectorRequirement
  key! string
  operator! LabelSelectorOperator()
  values []string
ListMeta
  selfLink string
  resourceVersion string
  continue string
  remainingItemCount? int64
ManagedFieldsEntry
  manager string
  operation ManagedFieldsOperationType()
  apiVersion string
  time? time
  fieldsType string
  fieldsV1? fields
  subresource string
ObjectMeta
  name string
  generateName string
  namespace string
  selfLink string
  uid string
  resourceVersion string
  generation int64
  creationTimestamp^ time
  deletionTimestamp? time
  deletionGracePeriodSeconds? int64
  labels {}string
  annotations {}string
  ownerReferences []OwnerReference keys=uid patch=merge:uid
  finalizers []string set patch=merge
  managedFields []ManagedFieldsEntry
OwnerReference atomic
  apiVersion! string
  kind! string
  name! string
  uid! string
  controller? bool
  blockOwnerDeletion? bool
Preconditions
  uid? string
  resourceVersion? string
Status
  apiVersion string
  kind string
  metadata ListMeta
  status string
  message string
  reason StatusReason()
  details? StatusDetails
  code int32
StatusCause
  reason CauseType()
  message string
  field string
StatusDetails
  name string
  group string
  kind string
  uid string
  causes []StatusCause
  retryAfterSeconds int32
WatchEvent
  type! string
  object! raw
`,
};
