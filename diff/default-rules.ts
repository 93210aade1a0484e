import { isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { defaultData } from './default-data.ts';
import { copyOf, isList, textOf, withMember, without } from './values.ts';

/** An object of one type with what the API server fills in; the same reference when nothing is missing. */
type Rule = (object: JsonObject) => JsonObject;

const constants = new Map(Object.entries(defaultData));

/** What an empty struct of a type gets. */
export function constantsOf(typeName: string): JsonObject {
  return constants.get(typeName) ?? {};
}

/** The object with those members that it lacks. */
export function fill(object: JsonObject, members: JsonObject): JsonObject {
  let result: MutableJsonObject | undefined;
  for (const key of Object.keys(members)) {
    if ((own(object, key) ?? null) !== null) continue;
    result ??= copyOf(object);
    setOwn(result, key, members[key] as MutableJson);
  }
  return result ?? object;
}

/** The object with one member rewritten, if it has it. */
function inside(object: JsonObject, key: string, rewrite: (value: Json) => Json): JsonObject {
  const before = own(object, key);
  if (before === undefined) return object;
  const after = rewrite(before);
  return after === before ? object : withMember(object, key, after);
}

/** {@link inside}, of a member that is an object, absent or not. */
function insideObject(object: JsonObject, key: string, rewrite: Rule): JsonObject {
  return inside(object, key, (value) => (isObject(value) ? rewrite(value) : value));
}

function eachObject(list: Json, rewrite: Rule): Json {
  if (!isList(list)) return list;
  const after = list.map((item) => (isObject(item) ? rewrite(item) : item));
  return after.every((item, i) => item === list[i]) ? list : after;
}

function isEmpty(value: Json | undefined): boolean {
  if (isList(value)) return value.length === 0;
  if (isObject(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '' || value === 0;
}

/** Types of which all that is filled in depends on other members. They take the place of the constants. */
const conditionalRules: Readonly<Record<string, Rule>> = {
  DeploymentStrategy: (strategy) => rollingUpdate(strategy, constantsOf('DeploymentStrategy')),
  RollingUpdateDeployment: (update) => update,
  DaemonSetUpdateStrategy: (strategy) => rollingUpdate(strategy, constantsOf('DaemonSetUpdateStrategy')),
  RollingUpdateDaemonSet: (update) => update,
  StatefulSetUpdateStrategy: (strategy) => {
    const { rollingUpdate: members, ...type } = constantsOf('StatefulSetUpdateStrategy');
    return rollingUpdate(strategy, isEmpty(own(strategy, 'type')) ? { ...type, rollingUpdate: members } : {}, members);
  },
  RollingUpdateStatefulSetStrategy: (update) => update,
  Volume: (volume) =>
    Object.keys(volume).some((key) => key !== 'name' && volume[key] !== null) ? volume : fill(volume, { emptyDir: {} }),
  ImageVolumeSource: (source) => fill(source, { pullPolicy: pullPolicy(own(source, 'reference')) }),
  NetworkPolicySpec: (spec) =>
    fill(spec, { policyTypes: isEmpty(own(spec, 'egress')) ? ['Ingress'] : ['Ingress', 'Egress'] }),
  ServiceSpec: serviceSpec,
  ExactDeviceRequest: deviceCount,
  DeviceSubRequest: deviceCount,
  'resource.v1beta1.DeviceSubRequest': deviceCount,
  'resource.v1beta1.DeviceRequest': (request) =>
    isEmpty(own(request, 'deviceClassName')) ? request : deviceCount(request),
  'resource.v1beta2.ExactDeviceRequest': deviceCount,
  'resource.v1beta2.DeviceSubRequest': deviceCount,
};

/** Types of which something depends on other members, or on the kind that they stand in. The constants come after them. */
const specialRules: Readonly<Record<string, Rule>> = {
  Container: (container) => fill(container, { imagePullPolicy: pullPolicy(own(container, 'image')) }),
  EphemeralContainer: (container) => fill(container, { imagePullPolicy: pullPolicy(own(container, 'image')) }),
  ServicePort: (port) =>
    isEmpty(own(port, 'targetPort')) && !isEmpty(own(port, 'port'))
      ? withMember(port, 'targetPort', own(port, 'port') ?? 0)
      : port,
  'rbac.v1.Subject': subject,
  'rbac.v1beta1.Subject': subject,
  LimitRangeItem: limitRangeItem,
  HorizontalPodAutoscalerBehavior: (behavior) =>
    ['scaleUp', 'scaleDown'].reduce(
      (object, key) =>
        insideObject(object, key, (rules) =>
          fill(rules, constantsOf('HorizontalPodAutoscalerBehavior')[key] as JsonObject),
        ),
      behavior,
    ),
  CustomResourceDefinitionSpec: (spec) => insideObject(spec, 'names', crdNames),
  Namespace: (namespace) => insideObject(namespace, 'metadata', namespaceLabel),
  PersistentVolume: (volume) =>
    insideObject(volume, 'spec', (spec) =>
      fill(spec, { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' }),
    ),
  StatefulSetSpec: (spec) => inside(spec, 'volumeClaimTemplates', (claims) => eachObject(claims, storedClaim)),
  Pod: (pod) => insideObject(pod, 'spec', podSpec),
  Job: (job) => insideObject(withTemplateLabels(job), 'spec', jobSpec),
  ReplicationController: (controller) =>
    insideObject(withTemplateLabels(controller), 'spec', (spec) => {
      const labels = templateLabels(spec);
      return isEmpty(own(spec, 'selector')) && labels !== undefined ? withMember(spec, 'selector', labels) : spec;
    }),
};

export const conditional: ReadonlyMap<string, Rule> = new Map(Object.entries(conditionalRules));
export const special: ReadonlyMap<string, Rule> = new Map(Object.entries(specialRules));

function rollingUpdate(strategy: JsonObject, members: JsonObject, inner = members['rollingUpdate']): JsonObject {
  if (!['', 'RollingUpdate'].includes(textOf(own(strategy, 'type')))) return strategy;
  return insideObject(fill(strategy, members), 'rollingUpdate', (update) =>
    isObject(inner) ? fill(update, inner) : update,
  );
}

/** Always, for what is latest; nothing can be said of an image without a name. */
function pullPolicy(image: Json | undefined): string {
  const [name = '', digest] = textOf(image).split('@');
  const last = name.slice(name.lastIndexOf('/') + 1);
  const tag = last.includes(':') ? last.slice(last.indexOf(':') + 1) : digest === undefined ? 'latest' : '';
  return last !== '' && tag === 'latest' ? 'Always' : 'IfNotPresent';
}

function serviceSpec(spec: JsonObject): JsonObject {
  const typed = fill(spec, { type: 'ClusterIP', sessionAffinity: 'None' });
  const [type, affinity] = [own(typed, 'type'), own(typed, 'sessionAffinity')];
  const [nodePort, balancer] = [type === 'NodePort', type === 'LoadBalancer'];
  const isExternal = nodePort || balancer || (type === 'ClusterIP' && !isEmpty(own(spec, 'externalIPs')));
  const result = fill(typed, {
    ...(isExternal ? { externalTrafficPolicy: 'Cluster' } : {}),
    ...(nodePort || balancer || type === 'ClusterIP' ? { internalTrafficPolicy: 'Cluster' } : {}),
    ...(balancer ? { allocateLoadBalancerNodePorts: true } : {}),
  });
  if (affinity === 'None' && own(result, 'sessionAffinityConfig') !== undefined)
    return without(result, ['sessionAffinityConfig']);
  return affinity === 'ClientIP' ? withTimeout(result) : result;
}

function withTimeout(spec: JsonObject): JsonObject {
  const config = own(spec, 'sessionAffinityConfig');
  const client = isObject(config) ? own(config, 'clientIP') : undefined;
  const seconds = isObject(client) ? own(client, 'timeoutSeconds') : undefined;
  if (seconds !== undefined && seconds !== null) return spec;
  return withMember(spec, 'sessionAffinityConfig', { clientIP: { timeoutSeconds: 10800 } });
}

function deviceCount(request: JsonObject): JsonObject {
  const result = fill(request, { allocationMode: 'ExactCount' });
  return own(result, 'allocationMode') === 'ExactCount' && isEmpty(own(result, 'count'))
    ? withMember(result, 'count', 1)
    : result;
}

function subject(object: JsonObject): JsonObject {
  const isGlobal = ['User', 'Group'].includes(textOf(own(object, 'kind')));
  return isGlobal ? fill(object, { apiGroup: 'rbac.authorization.k8s.io' }) : object;
}

/** Of containers only: what is allowed at most is the default, which is what is requested; else the least that is allowed. */
function limitRangeItem(item: JsonObject): JsonObject {
  if (own(item, 'type') !== 'Container') return item;
  const amounts = (key: string, from: JsonObject): JsonObject => {
    const value = own(from, key);
    return isObject(value) ? value : {};
  };
  const limits = fill(amounts('default', item), amounts('max', item));
  const requests = fill(fill(amounts('defaultRequest', item), limits), amounts('min', item));
  const withLimits = isEmpty(limits) || limits === own(item, 'default') ? item : withMember(item, 'default', limits);
  if (isEmpty(requests) || requests === own(item, 'defaultRequest')) return withLimits;
  return withMember(withLimits, 'defaultRequest', requests);
}

function crdNames(names: JsonObject): JsonObject {
  const kind = textOf(own(names, 'kind'));
  return fill(names, {
    ...(kind === '' ? {} : { singular: kind.toLowerCase(), listKind: `${kind}List` }),
  });
}

function namespaceLabel(metadata: JsonObject): JsonObject {
  const [name, labels] = [textOf(own(metadata, 'name')), own(metadata, 'labels')];
  const wanted = { 'kubernetes.io/metadata.name': name };
  if (name === '') return metadata;
  if (!isObject(labels)) return withMember(metadata, 'labels', wanted);
  return own(labels, 'kubernetes.io/metadata.name') === name
    ? metadata
    : withMember(metadata, 'labels', { ...labels, ...wanted });
}

/** What only a Pod gets, and no template of one. */
function podSpec(spec: JsonObject): JsonObject {
  const isOnHost = own(spec, 'hostNetwork') === true;
  const rewrite = (container: JsonObject): JsonObject => {
    const requested = insideObject(container, 'resources', requestsFromLimits);
    return isOnHost ? inside(requested, 'ports', (ports) => eachObject(ports, hostPort)) : requested;
  };
  const linked = fill(spec, { enableServiceLinks: true });
  return ['containers', 'initContainers'].reduce(
    (object, key) => inside(object, key, (containers) => eachObject(containers, rewrite)),
    linked,
  );
}

function requestsFromLimits(resources: JsonObject): JsonObject {
  const [limits, requests] = [own(resources, 'limits'), own(resources, 'requests')];
  if (!isObject(limits) || isEmpty(limits)) return resources;
  const present = isObject(requests) ? requests : {};
  const after = fill(present, limits);
  return after === requests ? resources : withMember(resources, 'requests', after);
}

function hostPort(port: JsonObject): JsonObject {
  return isEmpty(own(port, 'hostPort')) ? withMember(port, 'hostPort', own(port, 'containerPort') ?? 0) : port;
}

function jobSpec(spec: JsonObject): JsonObject {
  const present = (key: string): boolean => (own(spec, key) ?? null) !== null;
  const isSingle = !present('completions') && !present('parallelism');
  return fill(spec, {
    ...(isSingle ? { completions: 1 } : {}),
    parallelism: 1,
    backoffLimit: present('backoffLimitPerIndex') ? 2147483647 : 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: present('podFailurePolicy') ? 'Failed' : 'TerminatingOrFailed',
    manualSelector: false,
  });
}

/** The server stores the claims of a StatefulSet as objects of their own. */
function storedClaim(claim: JsonObject): JsonObject {
  return fill(claim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', status: { phase: 'Pending' } });
}

function templateLabels(spec: Json | undefined): JsonObject | undefined {
  const template = isObject(spec) ? own(spec, 'template') : undefined;
  const metadata = isObject(template) ? own(template, 'metadata') : undefined;
  const labels = isObject(metadata) ? own(metadata, 'labels') : undefined;
  return isObject(labels) && !isEmpty(labels) ? labels : undefined;
}

/** An object without labels has those of its template. */
function withTemplateLabels(object: JsonObject): JsonObject {
  const labels = templateLabels(own(object, 'spec'));
  if (labels === undefined) return object;
  return insideObject(object, 'metadata', (metadata) =>
    isEmpty(own(metadata, 'labels')) ? withMember(metadata, 'labels', labels) : metadata,
  );
}
