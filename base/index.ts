/**
 * base: time, chance, abort, lifecycle, locks, errors, exact JSON, YAML as Kubernetes reads it, hashes, durations, globs, regular expressions,
 * secrets, and what may be shown of texts from outside.
 *
 * The list is closed: a thing that names Kubernetes' objects or Argo CD belongs in model/ or above. Nothing here keeps state
 * between calls (but for compiled patterns) or touches the network or files.
 */
export { abortable, aborted, newAbortController, withChild, withDeadline } from './abort.ts';
export type { Deadline } from './abort.ts';
export { KeyedMutex, Limiter, mapLimit, yieldToLoop } from './async.ts';
export { finish, inSlices } from './slices.ts';
export type { Steps } from './slices.ts';
export { sleepOn, systemClock } from './clock.ts';
export type { Clock, Timer } from './clock.ts';
export { formatGoDuration, parseArgoDuration, parseGoDuration, parseSecondsOrDuration } from './duration.ts';
export {
  DeadlineExceeded,
  DriftlessError,
  isAbort,
  isOver,
  messageOf,
  OwnershipLost,
  Shutdown,
  Superseded,
  UsageError,
} from './errors.ts';
export type { ErrorDetails, ErrorFields, RequestOutcome, Retry } from './errors.ts';
export { compileGlob, globMatch } from './glob.ts';
export { parseGoBool } from './go-bool.ts';
export { hashJson, hashText } from './hash.ts';
export {
  at,
  canonicalJson,
  cloneJson,
  deepEqual,
  goJson,
  isObject,
  JsonSyntaxError,
  JsonTooDeepError,
  own,
  parseJson,
  setOwn,
  stringifyJson,
} from './json.ts';
export type { Json, JsonObject, MutableJson, MutableJsonObject } from './json.ts';
export { applyMergePatch, createMergePatch, formatPointer, parsePointer, removeAt } from './json-patch.ts';
export { runGroups } from './lifecycle.ts';
export type { Runnable } from './lifecycle.ts';
export { omit } from './omit.ts';
export { outsideText, splitUserInfo } from './outside.ts';
export type { OutsideOptions, OutsideSource } from './outside.ts';
export { compileLinearPattern } from './pattern.ts';
export type { LinearPattern } from './pattern.ts';
export { seededRandom, systemRandom } from './random.ts';
export type { Random } from './random.ts';
export { Secret } from './secret.ts';
export { formatYaml, parseYamlDocuments, YamlSyntaxError } from './yaml.ts';
