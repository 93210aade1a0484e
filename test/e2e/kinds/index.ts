import { readFileSync } from 'node:fs';
import { valueAt, isObject, parseYamlDocuments } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { changedAt } from './places.ts';

export * from './places.ts';
export { LeafTrial } from './trial.ts';
export { TrialTally } from './tally.ts';
export { PublishedWords } from './words.ts';

const files = ['groups', 'core', 'extensions', 'devices', 'pods', 'workloads'];

/** Further versions of kinds, which accept the same manifests. */
const alike: readonly (readonly [apiVersion: string, like: string, kinds: readonly string[]])[] = [
  [
    'admissionregistration.k8s.io/v1beta1',
    'admissionregistration.k8s.io/v1',
    ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'],
  ],
  [
    'admissionregistration.k8s.io/v1alpha1',
    'admissionregistration.k8s.io/v1',
    ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'],
  ],
  ['certificates.k8s.io/v1alpha1', 'certificates.k8s.io/v1beta1', ['ClusterTrustBundle']],
  ['coordination.k8s.io/v1alpha2', 'coordination.k8s.io/v1beta1', ['LeaseCandidate']],
  ['networking.k8s.io/v1beta1', 'networking.k8s.io/v1', ['IPAddress', 'ServiceCIDR']],
  ['resource.k8s.io/v1alpha3', 'resource.k8s.io/v1beta2', ['DeviceTaintRule']],
  ['resource.k8s.io/v1beta1', 'resource.k8s.io/v1', ['DeviceClass']],
  [
    'resource.k8s.io/v1beta2',
    'resource.k8s.io/v1',
    ['DeviceClass', 'ResourceClaim', 'ResourceClaimTemplate', 'ResourceSlice'],
  ],
  ['storage.k8s.io/v1beta1', 'storage.k8s.io/v1', ['VolumeAttributesClass']],
];

/** Kinds that change other objects of their namespace: they get their own namespace. */
const apart = new Set(['LimitRange', 'ResourceQuota']);

/** Fields of Pods that templates of workloads must not have. */
const onlyOfPods = ['activeDeadlineSeconds', 'schedulingGates'];

/**
 * Manifests of all built-in kinds with as many optional fields as possible: several per kind where
 * fields exclude each other.
 * @param authority PEM of any CA
 */
export function kindsCorpus(namespace: string, authority: string): readonly KubeObject[] {
  const words = new Map([
    ['CA', Buffer.from(authority).toString('base64')],
    ['PEM', authority],
    ['IN', namespace],
  ]);
  const read = files.flatMap((file) =>
    parseYamlDocuments(readFileSync(new URL(`./${file}.yaml`, import.meta.url), 'utf8')).filter(isObject),
  );
  const full = read.find((object) => object['kind'] === 'Pod');
  const spec = { ...(valueAt(full ?? {}, 'spec') as JsonObject) };
  for (const field of onlyOfPods) Reflect.deleteProperty(spec, field);
  const complete = read.map((object) => withWords(withPodSpec(object, spec), words) as unknown as KubeObject);
  return [...complete, ...alike.flatMap((one) => inVersion(complete, one))].map((object) => ({
    ...object,
    metadata: { ...object.metadata, namespace: apart.has(object.kind) ? `${namespace}-limits` : namespace },
  }));
}

function withPodSpec(object: JsonObject, spec: JsonObject): JsonObject {
  const template = valueAt(object, 'spec', 'template');
  const isOpen = isObject(template) && !Object.hasOwn(template, 'spec');
  return isOpen ? (changedAt(object, ['spec', 'template', 'spec'], spec) as JsonObject) : object;
}

function withWords(value: Json, words: ReadonlyMap<string, string>): Json {
  if (typeof value === 'string') return words.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item: Json) => withWords(item, words));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withWords(member ?? null, words)]));
}

/** The same objects in another version, with other names. */
function inVersion(
  objects: readonly KubeObject[],
  [apiVersion, like, kinds]: (typeof alike)[number],
): readonly KubeObject[] {
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  return objects
    .filter((object) => object.apiVersion === like && kinds.includes(object.kind))
    .map((object) => {
      const { name = '' } = object.metadata;
      const isAddress = object.kind === 'IPAddress';
      const other = isAddress ? name.replace(/\d+$/, '10') : `${name}-${version}`;
      return { ...object, apiVersion, metadata: { ...object.metadata, name: other } };
    });
}
