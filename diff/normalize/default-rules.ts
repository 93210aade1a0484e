import { isObject, ownMember, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { copyOf, isList, textOf, withMember, withoutMembers } from '../shared/values.ts';
import { defaultData } from './default-data.ts';

/**
 * Fills defaults into an object of one type; returns the same reference when nothing is missing.
 */
type DefaultingRule = (object: JsonObject) => JsonObject;

const constantDefaults = new Map(Object.entries(defaultData));

/** The defaults of an empty struct of this type. */
export function constantDefaultsOf(typeName: string): JsonObject {
  return constantDefaults.get(typeName) ?? {};
}

/** Adds the members that the object lacks. */
export function fillMissing(object: JsonObject, members: JsonObject): JsonObject {
  let result: MutableJsonObject | undefined;
  for (const key of Object.keys(members)) {
    if ((ownMember(object, key) ?? null) !== null) continue;
    result ??= copyOf(object);
    setOwnMember(result, key, members[key] as MutableJson);
  }
  return result ?? object;
}

/** Rewrites one member, if present. */
function rewriteMember(object: JsonObject, key: string, rewrite: (value: Json) => Json): JsonObject {
  const before = ownMember(object, key);
  if (before === undefined) return object;
  const after = rewrite(before);
  return after === before ? object : withMember(object, key, after);
}

/** Rewrites one member, if it is an object. */
function rewriteObject(object: JsonObject, key: string, rewrite: DefaultingRule): JsonObject {
  return rewriteMember(object, key, (value) => (isObject(value) ? rewrite(value) : value));
}

function eachObject(list: Json, rewrite: DefaultingRule): Json {
  if (!isList(list)) return list;
  const after = list.map((item) => (isObject(item) ? rewrite(item) : item));
  return after.every((item, i) => item === list[i]) ? list : after;
}

function isEmpty(value: Json | undefined): boolean {
  if (isList(value)) return value.length === 0;
  if (isObject(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '' || value === 0;
}

/** Types whose defaults all depend on other fields. These rules replace the constant defaults. */
const conditionalRules: Readonly<Record<string, DefaultingRule>> = {
  DeploymentStrategy: (strategy) => rollingUpdate(strategy, constantDefaultsOf('DeploymentStrategy')),
  RollingUpdateDeployment: (update) => update,
  DaemonSetUpdateStrategy: (strategy) => rollingUpdate(strategy, constantDefaultsOf('DaemonSetUpdateStrategy')),
  RollingUpdateDaemonSet: (update) => update,
  StatefulSetUpdateStrategy: (strategy) => {
    const { rollingUpdate: members, ...type } = constantDefaultsOf('StatefulSetUpdateStrategy');
    return rollingUpdate(
      strategy,
      isEmpty(ownMember(strategy, 'type')) ? { ...type, rollingUpdate: members } : {},
      members,
    );
  },
  RollingUpdateStatefulSetStrategy: (update) => update,
  Volume: (volume) =>
    Object.keys(volume).some((key) => key !== 'name' && volume[key] !== null)
      ? volume
      : fillMissing(volume, { emptyDir: {} }),
  ImageVolumeSource: (source) => fillMissing(source, { pullPolicy: pullPolicy(ownMember(source, 'reference')) }),
  NetworkPolicySpec: (spec) =>
    fillMissing(spec, { policyTypes: isEmpty(ownMember(spec, 'egress')) ? ['Ingress'] : ['Ingress', 'Egress'] }),
  ServiceSpec: serviceSpec,
  ExactDeviceRequest: deviceCount,
  DeviceSubRequest: deviceCount,
  'resource.v1beta1.DeviceSubRequest': deviceCount,
  'resource.v1beta1.DeviceRequest': (request) =>
    isEmpty(ownMember(request, 'deviceClassName')) ? request : deviceCount(request),
  'resource.v1beta2.ExactDeviceRequest': deviceCount,
  'resource.v1beta2.DeviceSubRequest': deviceCount,
};

/**
 * Types with some defaults that depend on other fields or on the containing kind. These rules run
 * before the constant defaults.
 */
const dependentRules: Readonly<Record<string, DefaultingRule>> = {
  Container: (container) => fillMissing(container, { imagePullPolicy: pullPolicy(ownMember(container, 'image')) }),
  EphemeralContainer: (container) =>
    fillMissing(container, { imagePullPolicy: pullPolicy(ownMember(container, 'image')) }),
  ServicePort: (port) =>
    isEmpty(ownMember(port, 'targetPort')) && !isEmpty(ownMember(port, 'port'))
      ? withMember(port, 'targetPort', ownMember(port, 'port') ?? 0)
      : port,
  NodeSpec: nodeSpec,
  // The conversion to this version always writes it.
  'resource.v1beta1.Device': (device) => fillMissing(device, { basic: {} }),
  'rbac.v1.Subject': subject,
  'rbac.v1beta1.Subject': subject,
  LimitRangeItem: limitRangeItem,
  HorizontalPodAutoscalerBehavior: (behavior) =>
    ['scaleUp', 'scaleDown'].reduce(
      (object, key) =>
        rewriteObject(object, key, (rules) =>
          fillMissing(rules, constantDefaultsOf('HorizontalPodAutoscalerBehavior')[key] as JsonObject),
        ),
      behavior,
    ),
  CustomResourceDefinitionSpec: (spec) => rewriteObject(spec, 'names', crdNames),
  Namespace: (namespace) => rewriteObject(namespace, 'metadata', namespaceLabel),
  PersistentVolume: (volume) =>
    rewriteObject(volume, 'spec', (spec) =>
      fillMissing(spec, { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' }),
    ),
  StatefulSetSpec: (spec) => rewriteMember(spec, 'volumeClaimTemplates', (claims) => eachObject(claims, storedClaim)),
  Pod: (pod) => rewriteObject(pod, 'spec', podSpec),
  Job: (job) => rewriteObject(withTemplateLabels(job), 'spec', jobSpec),
  ReplicationController: (controller) =>
    rewriteObject(withTemplateLabels(controller), 'spec', (spec) => {
      const labels = templateLabels(spec);
      return isEmpty(ownMember(spec, 'selector')) && labels !== undefined ? withMember(spec, 'selector', labels) : spec;
    }),
};

export const conditionalDefaults: ReadonlyMap<string, DefaultingRule> = new Map(Object.entries(conditionalRules));
export const dependentDefaults: ReadonlyMap<string, DefaultingRule> = new Map(Object.entries(dependentRules));

function rollingUpdate(strategy: JsonObject, members: JsonObject, inner = members['rollingUpdate']): JsonObject {
  if (!['', 'RollingUpdate'].includes(textOf(ownMember(strategy, 'type')))) return strategy;
  return rewriteObject(fillMissing(strategy, members), 'rollingUpdate', (update) =>
    isObject(inner) ? fillMissing(update, inner) : update,
  );
}

/** `Always` for the tag latest. An image without a name has no default. */
function pullPolicy(image: Json | undefined): string {
  const [name = '', digest] = textOf(image).split('@');
  const last = name.slice(name.lastIndexOf('/') + 1);
  const tag = last.includes(':') ? last.slice(last.indexOf(':') + 1) : digest === undefined ? 'latest' : '';
  return last !== '' && tag === 'latest' ? 'Always' : 'IfNotPresent';
}

function serviceSpec(spec: JsonObject): JsonObject {
  const typed = fillMissing(spec, { type: 'ClusterIP', sessionAffinity: 'None' });
  const [type, affinity] = [ownMember(typed, 'type'), ownMember(typed, 'sessionAffinity')];
  const [nodePort, balancer] = [type === 'NodePort', type === 'LoadBalancer'];
  const isExternal = nodePort || balancer || (type === 'ClusterIP' && !isEmpty(ownMember(spec, 'externalIPs')));
  const result = fillMissing(typed, {
    ...(isExternal ? { externalTrafficPolicy: 'Cluster' } : {}),
    ...(nodePort || balancer || type === 'ClusterIP' ? { internalTrafficPolicy: 'Cluster' } : {}),
    ...(balancer ? { allocateLoadBalancerNodePorts: true } : {}),
  });
  if (affinity === 'None' && ownMember(result, 'sessionAffinityConfig') !== undefined)
    return withoutMembers(result, ['sessionAffinityConfig']);
  return affinity === 'ClientIP' ? withTimeout(result) : result;
}

function withTimeout(spec: JsonObject): JsonObject {
  const config = ownMember(spec, 'sessionAffinityConfig');
  const client = isObject(config) ? ownMember(config, 'clientIP') : undefined;
  const seconds = isObject(client) ? ownMember(client, 'timeoutSeconds') : undefined;
  if (seconds !== undefined && seconds !== null) return spec;
  return withMember(spec, 'sessionAffinityConfig', { clientIP: { timeoutSeconds: 10800 } });
}

/** Conversion keeps both fields in step: the single one wins over a list that begins otherwise. */
function nodeSpec(spec: JsonObject): JsonObject {
  const [one, list] = [textOf(ownMember(spec, 'podCIDR')), ownMember(spec, 'podCIDRs')];
  const first = isList(list) ? list[0] : undefined;
  if (one === '') return first === undefined ? spec : withMember(spec, 'podCIDR', first);
  return first === one ? spec : withMember(spec, 'podCIDRs', [one]);
}

function deviceCount(request: JsonObject): JsonObject {
  const result = fillMissing(request, { allocationMode: 'ExactCount' });
  return ownMember(result, 'allocationMode') === 'ExactCount' && isEmpty(ownMember(result, 'count'))
    ? withMember(result, 'count', 1)
    : result;
}

function subject(object: JsonObject): JsonObject {
  const isGlobal = ['User', 'Group'].includes(textOf(ownMember(object, 'kind')));
  return isGlobal ? fillMissing(object, { apiGroup: 'rbac.authorization.k8s.io' }) : object;
}

/**
 * Defaults of container limits: `default` falls back to `max`; `defaultRequest` to `default`, then
 * to `min`.
 */
function limitRangeItem(item: JsonObject): JsonObject {
  if (ownMember(item, 'type') !== 'Container') return item;
  const amounts = (key: string, from: JsonObject): JsonObject => {
    const value = ownMember(from, key);
    return isObject(value) ? value : {};
  };
  const limits = fillMissing(amounts('default', item), amounts('max', item));
  const requests = fillMissing(fillMissing(amounts('defaultRequest', item), limits), amounts('min', item));
  const withLimits =
    isEmpty(limits) || limits === ownMember(item, 'default') ? item : withMember(item, 'default', limits);
  if (isEmpty(requests) || requests === ownMember(item, 'defaultRequest')) return withLimits;
  return withMember(withLimits, 'defaultRequest', requests);
}

function crdNames(names: JsonObject): JsonObject {
  const kind = textOf(ownMember(names, 'kind'));
  return fillMissing(names, {
    ...(kind === '' ? {} : { singular: kind.toLowerCase(), listKind: `${kind}List` }),
  });
}

function namespaceLabel(metadata: JsonObject): JsonObject {
  const [name, labels] = [textOf(ownMember(metadata, 'name')), ownMember(metadata, 'labels')];
  const wanted = { 'kubernetes.io/metadata.name': name };
  if (name === '') return metadata;
  if (!isObject(labels)) return withMember(metadata, 'labels', wanted);
  return ownMember(labels, 'kubernetes.io/metadata.name') === name
    ? metadata
    : withMember(metadata, 'labels', { ...labels, ...wanted });
}

/** Defaults of Pods that pod templates do not get. */
function podSpec(spec: JsonObject): JsonObject {
  const isOnHost = ownMember(spec, 'hostNetwork') === true;
  const rewrite = (container: JsonObject): JsonObject => {
    const requested = rewriteObject(container, 'resources', requestsFromLimits);
    return isOnHost ? rewriteMember(requested, 'ports', (ports) => eachObject(ports, hostPort)) : requested;
  };
  const linked = fillMissing(spec, { enableServiceLinks: true });
  return ['containers', 'initContainers'].reduce(
    (object, key) => rewriteMember(object, key, (containers) => eachObject(containers, rewrite)),
    linked,
  );
}

function requestsFromLimits(resources: JsonObject): JsonObject {
  const [limits, requests] = [ownMember(resources, 'limits'), ownMember(resources, 'requests')];
  if (!isObject(limits) || isEmpty(limits)) return resources;
  const present = isObject(requests) ? requests : {};
  const after = fillMissing(present, limits);
  return after === requests ? resources : withMember(resources, 'requests', after);
}

function hostPort(port: JsonObject): JsonObject {
  return isEmpty(ownMember(port, 'hostPort'))
    ? withMember(port, 'hostPort', ownMember(port, 'containerPort') ?? 0)
    : port;
}

function jobSpec(spec: JsonObject): JsonObject {
  const present = (key: string): boolean => (ownMember(spec, key) ?? null) !== null;
  const isSingle = !present('completions') && !present('parallelism');
  return fillMissing(spec, {
    ...(isSingle ? { completions: 1 } : {}),
    parallelism: 1,
    backoffLimit: present('backoffLimitPerIndex') ? 2147483647 : 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: present('podFailurePolicy') ? 'Failed' : 'TerminatingOrFailed',
    manualSelector: false,
  });
}

/** The API server stores the claim templates of a StatefulSet with type and status. */
function storedClaim(claim: JsonObject): JsonObject {
  return fillMissing(claim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', status: { phase: 'Pending' } });
}

function templateLabels(spec: Json | undefined): JsonObject | undefined {
  const template = isObject(spec) ? ownMember(spec, 'template') : undefined;
  const metadata = isObject(template) ? ownMember(template, 'metadata') : undefined;
  const labels = isObject(metadata) ? ownMember(metadata, 'labels') : undefined;
  return isObject(labels) && !isEmpty(labels) ? labels : undefined;
}

/** An object without labels gets those of its pod template. */
function withTemplateLabels(object: JsonObject): JsonObject {
  const labels = templateLabels(ownMember(object, 'spec'));
  if (labels === undefined) return object;
  return rewriteObject(object, 'metadata', (metadata) =>
    isEmpty(ownMember(metadata, 'labels')) ? withMember(metadata, 'labels', labels) : metadata,
  );
}
