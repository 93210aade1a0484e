import type { PackageTable } from '../type-table.ts';

export const metaV1: PackageTable = {
  package: 'io.k8s.apimachinery.pkg.apis.meta.v1',
  types: `
Condition -- One aspect of the state of an object.
  type! string -- Which kind it is.
  status! ConditionStatus() -- True, False or Unknown.
  observedGeneration int64 -- The generation that the controller has acted on.
  lastTransitionTime! time -- When the status last changed.
  reason! string -- Reason in one word.
  message! string -- Human-readable explanation.
DeleteOptions -- How an object is deleted.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  gracePeriodSeconds? int64 -- How long the object may take to go.
  preconditions? Preconditions -- What must hold for the deletion.
  orphanDependents? bool
  propagationPolicy? DeletionPropagation() -- What becomes of dependents: Orphan, Background or Foreground.
  dryRun []string
  ignoreStoreReadErrorWithClusterBreakingPotential? bool
LabelSelector atomic -- Selects objects by their labels; an empty one selects all.
  matchLabels {}string -- Labels that must be present with these values.
  matchExpressions []LabelSelectorRequirement -- Conditions on labels, all of which must hold.
LabelSelectorRequirement -- A condition on a label.
  key! string -- The key that is meant.
  operator! LabelSelectorOperator() -- How key and values are compared.
  values []string -- The values to compare with.
ListMeta -- Metadata of a list.
  selfLink string
  resourceVersion string
  continue string -- Where the next page begins; empty at the end.
  remainingItemCount? int64 -- How many items follow.
ManagedFieldsEntry -- The fields that one manager set.
  manager string
  operation ManagedFieldsOperationType() -- Apply or Update.
  apiVersion string -- Version of the schema of this object: group/version.
  time? time
  fieldsType string
  fieldsV1? fields -- The fields, as a tree.
  subresource string
ObjectMeta -- What every object has: its name, its labels and the server's own notes.
  name string -- Name, unique for its kind in the namespace; it never changes.
  generateName string -- Beginning of a name that the server completes.
  namespace string -- Namespace of the object; it never changes.
  selfLink string -- No longer used.
  uid string -- Identity of this very object, made by the server.
  resourceVersion string -- Version of the stored object, for optimistic concurrency and watches.
  generation int64 -- Counts changes of what is wanted.
  creationTimestamp^ time -- When the object was made.
  deletionTimestamp? time -- When the object was asked to go.
  deletionGracePeriodSeconds? int64 -- How long it may take to go.
  labels {}string -- Labels: for people and selectors.
  annotations {}string -- Annotations: for tools.
  ownerReferences []OwnerReference keys=uid patch=merge:uid -- Whose part the object is; it goes with the last of them.
  finalizers []string set patch=merge -- Who must still do something before the object is gone.
  managedFields []ManagedFieldsEntry -- Who set which field.
OwnerReference atomic -- The object that this one is a part of.
  apiVersion! string -- Version of the schema of this object: group/version.
  kind! string -- Kind of this object, in CamelCase.
  name! string -- Name, unique among its siblings.
  uid! string -- Identity of the object that is meant.
  controller? bool -- Whether the owner manages this object.
  blockOwnerDeletion? bool -- Whether a foreground deletion of the owner waits for this object.
Preconditions
  uid? string -- Identity of the object that is meant.
  resourceVersion? string
Status -- The answer when there is no object to return.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ListMeta -- Metadata of the object.
  status string -- What is, as the controllers last saw it.
  message string -- Human-readable explanation.
  reason StatusReason() -- Reason in one word.
  details? StatusDetails
  code int32
StatusCause
  reason CauseType() -- Reason in one word.
  message string -- Human-readable explanation.
  field string
StatusDetails
  name string -- Name, unique among its siblings.
  group string
  kind string -- Kind of this object, in CamelCase.
  uid string -- Identity of the object that is meant.
  causes []StatusCause
  retryAfterSeconds int32
WatchEvent
  type! string -- Which kind it is.
  object! raw
`,
};
