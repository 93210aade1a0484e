import type { PackageTable } from '../type-table.ts';

export const admissionregistrationV1: PackageTable = {
  package: 'io.k8s.api.admissionregistration.v1',
  types: `
MatchCondition
  name! string
  expression! string
MutatingWebhook
  name! string
  clientConfig! WebhookClientConfig
  rules []RuleWithOperations
  failurePolicy? FailurePolicyType(Fail|Ignore)
  matchPolicy? MatchPolicyType(Equivalent|Exact)
  namespaceSelector? LabelSelector
  objectSelector? LabelSelector
  sideEffects?! SideEffectClass(None|NoneOnDryRun|Some|Unknown)
  timeoutSeconds? int32
  admissionReviewVersions! []string
  reinvocationPolicy? ReinvocationPolicyType(IfNeeded|Never)
  matchConditions []MatchCondition keys=name patch=merge:name
MutatingWebhookConfiguration
  apiVersion string
  kind string
  metadata ObjectMeta
  webhooks []MutatingWebhook keys=name patch=merge:name
RuleWithOperations
  operations []OperationType(*|CONNECT|CREATE|DELETE|UPDATE)
  apiGroups []string
  apiVersions []string
  resources []string
  scope? ScopeType(*|Cluster|Namespaced)
ServiceReference
  namespace! string
  name! string
  path? string
  port? int32
ValidatingWebhook
  name! string
  clientConfig! WebhookClientConfig
  rules []RuleWithOperations
  failurePolicy? FailurePolicyType(Fail|Ignore)
  matchPolicy? MatchPolicyType(Equivalent|Exact)
  namespaceSelector? LabelSelector
  objectSelector? LabelSelector
  sideEffects?! SideEffectClass(None|NoneOnDryRun|Some|Unknown)
  timeoutSeconds? int32
  admissionReviewVersions! []string
  matchConditions []MatchCondition keys=name patch=merge:name
ValidatingWebhookConfiguration
  apiVersion string
  kind string
  metadata ObjectMeta
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
  name! string
  type! string
  format string
  description string
  priority int32
  jsonPath! string
CustomResourceConversion
  strategy! ConversionStrategyType()
  webhook? WebhookConversion
CustomResourceDefinition
  apiVersion string
  kind string
  metadata ObjectMeta
  spec! CustomResourceDefinitionSpec
  status CustomResourceDefinitionStatus
CustomResourceDefinitionCondition
  type! CustomResourceDefinitionConditionType()
  status! ConditionStatus()
  lastTransitionTime time
  reason string
  message string
CustomResourceDefinitionNames
  plural! string
  singular string
  shortNames []string
  kind! string
  listKind string
  categories []string
CustomResourceDefinitionSpec
  group! string
  names! CustomResourceDefinitionNames
  scope! ResourceScope()
  versions! []CustomResourceDefinitionVersion
  conversion? CustomResourceConversion
  preserveUnknownFields bool
CustomResourceDefinitionStatus
  conditions~ []CustomResourceDefinitionCondition keys=type
  acceptedNames~ CustomResourceDefinitionNames
  storedVersions~ []string
CustomResourceDefinitionVersion
  name! string
  served! bool
  storage! bool
  deprecated bool
  deprecationWarning? string
  schema? CustomResourceValidation
  subresources? CustomResourceSubresources
  additionalPrinterColumns []CustomResourceColumnDefinition
  selectableFields []SelectableField
CustomResourceSubresourceScale
  specReplicasPath! string
  statusReplicasPath! string
  labelSelectorPath? string
CustomResourceSubresourceStatus
CustomResourceSubresources
  status? CustomResourceSubresourceStatus
  scale? CustomResourceSubresourceScale
CustomResourceValidation
  openAPIV3Schema? JSONSchemaProps
ExternalDocumentation
  description string
  url string
JSONSchemaProps
  id string
  $schema JSONSchemaURL()
  $ref? string
  description string
  type string
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
  items? JSONSchemaProps|array
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
  namespace! string
  name! string
  path? string
  port? int32
ValidationRule
  rule! string
  message string
  messageExpression string
  reason? FieldValueErrorReason(FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired)
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
APIService
  apiVersion string
  kind string
  metadata ObjectMeta
  spec APIServiceSpec
  status APIServiceStatus
APIServiceCondition
  type! APIServiceConditionType()
  status! ConditionStatus()
  lastTransitionTime time
  reason string
  message string
APIServiceSpec
  service? ServiceReference
  group string
  version string
  insecureSkipTLSVerify bool
  caBundle bytes
  groupPriorityMinimum! int32
  versionPriority! int32
APIServiceStatus
  conditions []APIServiceCondition keys=type patch=merge:type
ServiceReference
  namespace string
  name string
  port? int32
`,
};
