/** An accepted difference between the simulator and a real API server: where it occurs, and why. */
export interface KnownDifference {
  readonly group: string;
  readonly scenario: string;
  /** Step numbers in the recording. */
  readonly steps: readonly number[];
  /** Prefix of the JSON pointer into the answer; "" covers all of it. */
  readonly at: string;
  readonly why: string;
}

const otherYaml = 'the text is refused alike (400); the words are those of the YAML library, and ours is another one';
const noCel =
  'validation rules in CEL (x-kubernetes-validations) are not evaluated: the simulator has no CEL interpreter';
const noAdmission =
  'the admission plugins ServiceAccount, Priority and DefaultTolerationSeconds are not simulated: a pod needs no account or class that exists, and gets no token volume, priority or tolerations';
const noDiff =
  'the refusal is the same; the real server adds how the two specs differ, printed as its internal Go types';
const emptyPolicies =
  'an empty list counts as absent once it is read, so the list of policies gets its defaults instead of a refusal';
const customDecoding =
  'the real server reads schemas with code of their own, which drops unknown members of schemas without a word';
const noProtection =
  'claims have no protection finalizer: it would need the controller that takes it away, and claims here go at once';
const twice =
  'the real server checks the metadata of core kinds twice and lists the cause twice; the message is the same';
const otherSelectorWords =
  'a selector that cannot be read is refused alike (400); the words of its parser are not copied';
const otherGroup =
  'the refusal is the same (404); within a group of custom kinds the real server answers as plain text';
const goReflection =
  'the patch is refused alike (422, patch: Invalid value); the words come from the reflection of Go types on the real side';

const noRepeatedWarning = 'warnings about variables that hide earlier ones are not simulated';

/** The suite fails for a difference that is not listed, and for an entry without a difference. */
export const knownDifferences: readonly KnownDifference[] = [
  { group: 'apply', scenario: 'apply that is refused', steps: [9, 10], at: '/answer/message', why: otherYaml },
  { group: 'custom', scenario: 'rules in CEL', steps: [2, 3], at: '', why: noCel },
  {
    group: 'discovery',
    scenario: 'aggregated discovery',
    steps: [1],
    at: '/answer/resources',
    why: 'subresources that need a kubelet, a scheduler or an issuer of tokens (exec, attach, proxy, binding, token ...) are not simulated',
  },
  {
    group: 'lists',
    scenario: 'label selectors',
    steps: [11, 12, 13, 15, 16, 17],
    at: '/answer/message',
    why: otherSelectorWords,
  },
  {
    group: 'lists',
    scenario: 'watches that are refused or end',
    steps: [5],
    at: '/answer/0/object/message',
    why: otherSelectorWords,
  },
  {
    group: 'lists',
    scenario: 'pages',
    steps: [10],
    at: '/answer/message',
    why: 'a continue token that was never given out is refused alike (400); the words tell of the inside of the token, which differs',
  },
  {
    group: 'lists',
    scenario: 'tables',
    steps: [14],
    at: '',
    why: 'answers in YAML are not offered: no client asks for them, kubectl makes its YAML itself',
  },
  {
    group: 'lists',
    scenario: 'watches',
    steps: [5],
    at: '',
    why: 'the deprecated paths /api/v1/watch/... are not served: clients have used ?watch=true since Kubernetes 1.0',
  },
  { group: 'objects', scenario: 'finalizers', steps: [5], at: '/answer/details/causes', why: twice },
  { group: 'objects', scenario: 'resource versions', steps: [7], at: '/answer/details/causes', why: twice },
  {
    group: 'objects',
    scenario: 'immutable fields',
    steps: [10],
    at: '/answer/metadata/finalizers',
    why: noProtection,
  },
  { group: 'custom', scenario: 'a kind that is in use', steps: [2], at: '', why: otherGroup },
  { group: 'defaults', scenario: 'unknown members in lists and definitions', steps: [3], at: '', why: customDecoding },
  { group: 'patches', scenario: 'strategic merges of a pod template', steps: [19], at: '/answer', why: goReflection },
  { group: 'refusals', scenario: 'a workload with a bad member', steps: [20], at: '', why: emptyPolicies },
  { group: 'refusals', scenario: 'changes that are refused', steps: [5, 6, 13], at: '/answer', why: noDiff },
  { group: 'objects', scenario: 'immutable fields', steps: [11, 13], at: '/answer', why: noDiff },
  { group: 'patches', scenario: 'strategic merge patches', steps: [9, 10, 11], at: '/answer', why: goReflection },
  { group: 'validation', scenario: 'a pod is filled in', steps: [1], at: '/answer/spec', why: noAdmission },
  { group: 'validation', scenario: 'a pod is filled in', steps: [4], at: '/answer', why: noDiff },
  {
    group: 'patches',
    scenario: 'a replaced list with equal merge keys',
    steps: [2],
    at: '/warnings',
    why: noRepeatedWarning,
  },
  {
    group: 'patches',
    scenario: 'equal merge keys in a replaced object',
    steps: [1, 2],
    at: '/warnings',
    why: noRepeatedWarning,
  },
  {
    group: 'validation',
    scenario: 'deprecated versions warn',
    steps: [3],
    at: '',
    why: 'component statuses are not served: there are no components to ask',
  },
  { group: 'validation', scenario: 'pods that are refused', steps: [21, 22], at: '', why: noAdmission },
  {
    group: 'validation',
    scenario: 'quantities',
    steps: [2, 11, 12],
    at: '/warnings',
    why: 'the warning that a fraction of a byte makes no sense is not given; the value is kept alike',
  },
  {
    group: 'validation',
    scenario: 'quantities',
    steps: [13],
    at: '/answer',
    why: 'Go remembers the text "5." of a quantity that it did not have to change; ours always writes the canonical one',
  },
  {
    group: 'validation',
    scenario: 'unknown fields',
    steps: [5, 6],
    at: '',
    why: 'a key that stands twice in JSON: the last one counts alike, but our reader does not tell of the first',
  },
  {
    group: 'validation',
    scenario: 'workloads are filled in',
    steps: [2],
    at: '/answer/metadata',
    why: 'the annotation deprecated.daemonset.template.generation, a leftover of extensions/v1beta1, is not kept',
  },
  {
    group: 'validation',
    scenario: 'workloads are filled in',
    steps: [13],
    at: '/answer/metadata/finalizers',
    why: noProtection,
  },
];
