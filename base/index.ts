/**
 * base: time, randomness, abort, lifecycle, locks, errors, exact JSON, YAML as Kubernetes reads it,
 * hashes, durations, globs, regular expressions, secrets, and sanitizing of texts from outside.
 *
 * The list is closed: anything that names Kubernetes objects or Argo CD belongs in model/ or above.
 * Nothing here keeps state between calls (except compiled patterns) or touches the network or
 * files.
 */
export { abortable, untilAborted, newAbortController, withChild, withDeadline } from './abort.ts';
export type { DeadlineOptions } from './abort.ts';
export { KeyedMutex, ConcurrencyLimiter, mapLimit, yieldToLoop } from './async.ts';
export { runSteps, inSlices } from './slices.ts';
export type { SlicedWork } from './slices.ts';
export { sleepOn, systemClock } from './clock.ts';
export type { Clock, ClockTimer } from './clock.ts';
export { defined } from './defined.ts';
export { DeferredJson, TextBytes } from './deferred-json.ts';
export type { ByteRange } from './deferred-json.ts';
export { formatGoDuration, parseArgoDuration, parseGoDuration, parseSecondsOrDuration } from './go/duration.ts';
export {
  DeadlineExceeded,
  DriftlessError,
  isAbort,
  isRequestOver,
  messageOf,
  OwnershipLost,
  Shutdown,
  Superseded,
  UsageError,
} from './errors.ts';
export type { ErrorDetails, ErrorFields, RequestOutcome, RetryAdvice } from './errors.ts';
export { compileGlob, globMatch } from './glob.ts';
export { parseGoBool } from './go/go-bool.ts';
export {
  asCount,
  compareIntegers,
  incrementInteger,
  largestInteger,
  parseGoAtoi,
  parseGoFloat,
  parseGoInt,
} from './go/go-number.ts';
export type { ExactInteger } from './go/go-number.ts';
export { hashJson, hashText } from './hash.ts';
export {
  valueAt,
  canonicalJson,
  cloneJson,
  deepEqual,
  goJson,
  isDeeperThan,
  isObject,
  JsonSyntaxError,
  JsonTooDeepError,
  ownMember,
  parseJson,
  setOwnMember,
  stringifyJson,
} from './json.ts';
export type { Json, JsonObject, MutableJson, MutableJsonObject } from './json.ts';
export { applyMergePatch, createMergePatch, formatPointer, parsePointer, removeAt } from './json-patch.ts';
export { repeatUntilAborted, runGroups } from './lifecycle.ts';
export type { Runnable } from './lifecycle.ts';
export { omit } from './omit.ts';
export { outsideText, splitUserInfo } from './outside.ts';
export type { OutsideOptions } from './outside.ts';
export { compileLinearPattern } from './pattern.ts';
export { seededRandom, systemRandom } from './random.ts';
export type { RandomSource } from './random.ts';
export { recordedText, RingBuffer } from './rolling/ring-buffer.ts';
export { otherKeys, RollingSums } from './rolling/rolling-sums.ts';
export type { RollingWindow } from './rolling/rolling-sums.ts';
export { SecretValue } from './secret.ts';
export { formatYaml, parseYamlDocuments, YamlSyntaxError } from './yaml.ts';
export { parseYamlNodes } from './yaml-nodes.ts';
export type { YamlNode } from './yaml-nodes.ts';
export { assignTenant, tenantOf } from './tenant.ts';
export type { Tenant } from './tenant.ts';
