import type { PackageTable } from '../type-table.ts';

export const admissionregistrationV1: PackageTable = {
  package: 'io.k8s.api.admissionregistration.v1',
  types: `
MatchCondition
  name! string -- Name, unique among its siblings.
  expression! string
MutatingWebhook
  name! string -- Name, unique among its siblings.
  clientConfig! WebhookClientConfig
  rules []RuleWithOperations -- The rules.
  failurePolicy? FailurePolicyType(Fail|Ignore)
  matchPolicy? MatchPolicyType(Equivalent|Exact)
  namespaceSelector? LabelSelector -- Selects namespaces by label.
  objectSelector? LabelSelector
  sideEffects?! SideEffectClass(None|NoneOnDryRun|Some|Unknown)
  timeoutSeconds? int32
  admissionReviewVersions! []string
  reinvocationPolicy? ReinvocationPolicyType(IfNeeded|Never)
  matchConditions []MatchCondition keys=name patch=merge:name
MutatingWebhookConfiguration -- Webhooks that may change requests.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  webhooks []MutatingWebhook keys=name patch=merge:name
RuleWithOperations
  operations []OperationType(*|CONNECT|CREATE|DELETE|UPDATE)
  apiGroups []string
  apiVersions []string
  resources []string -- CPU, memory and other resources.
  scope? ScopeType(*|Cluster|Namespaced)
ServiceReference
  namespace! string -- Namespace of the object that is meant.
  name! string -- Name, unique among its siblings.
  path? string -- Path, on the host, in the volume or in the URL.
  port? int32 -- Port number or name.
ValidatingWebhook
  name! string -- Name, unique among its siblings.
  clientConfig! WebhookClientConfig
  rules []RuleWithOperations -- The rules.
  failurePolicy? FailurePolicyType(Fail|Ignore)
  matchPolicy? MatchPolicyType(Equivalent|Exact)
  namespaceSelector? LabelSelector -- Selects namespaces by label.
  objectSelector? LabelSelector
  sideEffects?! SideEffectClass(None|NoneOnDryRun|Some|Unknown)
  timeoutSeconds? int32
  admissionReviewVersions! []string
  matchConditions []MatchCondition keys=name patch=merge:name
ValidatingWebhookConfiguration -- Webhooks that may refuse requests.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  webhooks []ValidatingWebhook keys=name patch=merge:name
WebhookClientConfig
  url? string
  service? ServiceReference
  caBundle bytes
`,
};

export const apiextensionsV1: PackageTable = {
  package: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1',
  types: `
CustomResourceColumnDefinition
  name! string -- Name, unique among its siblings.
  type! string -- Which kind it is.
  format string
  description string
  priority int32
  jsonPath! string
CustomResourceConversion
  strategy! ConversionStrategyType()
  webhook? WebhookConversion
CustomResourceDefinition -- Adds a kind to the API.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec! CustomResourceDefinitionSpec -- What is wanted.
  status CustomResourceDefinitionStatus -- What is, as the controllers last saw it.
CustomResourceDefinitionCondition
  type! CustomResourceDefinitionConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
CustomResourceDefinitionNames
  plural! string
  singular string
  shortNames []string
  kind! string -- Kind of this object, in CamelCase.
  listKind string
  categories []string
CustomResourceDefinitionSpec
  group! string -- API group of the new kind.
  names! CustomResourceDefinitionNames -- What the new kind is called.
  scope! ResourceScope() -- Namespaced or Cluster.
  versions! []CustomResourceDefinitionVersion -- The versions that are served and stored.
  conversion? CustomResourceConversion
  preserveUnknownFields bool
CustomResourceDefinitionStatus
  conditions~ []CustomResourceDefinitionCondition keys=type -- What holds for the object at present, one entry per type.
  acceptedNames~ CustomResourceDefinitionNames
  storedVersions~ []string
CustomResourceDefinitionVersion
  name! string -- Name, unique among its siblings.
  served! bool -- Whether the version can be used.
  storage! bool -- Whether objects are stored in this version.
  deprecated bool
  deprecationWarning? string
  schema? CustomResourceValidation -- What objects of the version look like.
  subresources? CustomResourceSubresources -- Which of status and scale there are.
  additionalPrinterColumns []CustomResourceColumnDefinition -- Columns of tables.
  selectableFields []SelectableField
CustomResourceSubresourceScale
  specReplicasPath! string
  statusReplicasPath! string
  labelSelectorPath? string
CustomResourceSubresourceStatus
CustomResourceSubresources
  status? CustomResourceSubresourceStatus -- What is, as the controllers last saw it.
  scale? CustomResourceSubresourceScale
CustomResourceValidation -- How objects are checked.
  openAPIV3Schema? JSONSchemaProps -- The structural schema.
ExternalDocumentation
  description string
  url string
JSONSchemaProps -- A JSON schema as Kubernetes understands it.
  id string
  $schema JSONSchemaURL()
  $ref? string
  description string
  type string -- Which kind it is.
  format string
  title string
  default? any
  maximum? double
  exclusiveMaximum bool
  minimum? double
  exclusiveMinimum bool
  maxLength? int64
  minLength? int64
  pattern string
  maxItems? int64
  minItems? int64
  uniqueItems bool
  multipleOf? double
  enum []any
  maxProperties? int64
  minProperties? int64
  required []string
  items? JSONSchemaProps|array -- The keys to show, with their paths; all when empty.
  allOf []JSONSchemaProps
  oneOf []JSONSchemaProps
  anyOf []JSONSchemaProps
  not? JSONSchemaProps
  properties {}JSONSchemaProps
  additionalProperties? JSONSchemaProps|bool
  patternProperties {}JSONSchemaProps
  dependencies {}JSONSchemaProps|strings
  additionalItems? JSONSchemaProps|bool
  definitions {}JSONSchemaProps
  externalDocs? ExternalDocumentation
  example? any
  nullable bool
  x-kubernetes-preserve-unknown-fields? bool
  x-kubernetes-embedded-resource bool
  x-kubernetes-int-or-string bool
  x-kubernetes-list-map-keys []string
  x-kubernetes-list-type? string
  x-kubernetes-map-type? string
  x-kubernetes-validations []ValidationRule keys=rule patch=merge:rule
SelectableField
  jsonPath! string
ServiceReference
  namespace! string -- Namespace of the object that is meant.
  name! string -- Name, unique among its siblings.
  path? string -- Path, on the host, in the volume or in the URL.
  port? int32 -- Port number or name.
ValidationRule
  rule! string
  message string -- Human-readable explanation.
  messageExpression string
  reason? FieldValueErrorReason(FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired) -- Reason in one word.
  fieldPath string
  optionalOldSelf? bool
WebhookClientConfig
  url? string
  service? ServiceReference
  caBundle bytes
WebhookConversion
  clientConfig? WebhookClientConfig
  conversionReviewVersions! []string
`,
};

export const apiregistrationV1: PackageTable = {
  package: 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1',
  types: `
APIService -- A group version that another server serves.
  apiVersion string -- Version of the schema of this object: group/version.
  kind string -- Kind of this object, in CamelCase.
  metadata ObjectMeta -- Metadata of the object.
  spec APIServiceSpec -- What is wanted.
  status APIServiceStatus -- What is, as the controllers last saw it.
APIServiceCondition
  type! APIServiceConditionType() -- Which kind it is.
  status! ConditionStatus() -- What is, as the controllers last saw it.
  lastTransitionTime time -- When the status last changed.
  reason string -- Reason in one word.
  message string -- Human-readable explanation.
APIServiceSpec
  service? ServiceReference
  group string
  version string
  insecureSkipTLSVerify bool
  caBundle bytes
  groupPriorityMinimum! int32
  versionPriority! int32
APIServiceStatus
  conditions []APIServiceCondition keys=type patch=merge:type -- What holds for the object at present, one entry per type.
ServiceReference
  namespace string -- Namespace of the object that is meant.
  name string -- Name, unique among its siblings.
  port? int32 -- Port number or name.
`,
};
