import { DriftlessError, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations } from '#model';
import type { KubeObject } from '#model';
import { fieldOwnersOf, unionOf } from '../field-ownership/field-owners.ts';
import { emptySet, fieldStep, selectPaths } from '../field-ownership/field-set.ts';
import type { FieldSet } from '../field-ownership/field-set.ts';
import { knownShape, shapeForManagedFields } from '../field-ownership/known-shape.ts';
import { fieldsOwned, withoutManaged } from '../field-ownership/managed-fields.ts';
import { isOwnEntry, updatedFields } from '../field-ownership/own-entries.ts';
import { removeFields } from '../field-ownership/prune.ts';
import { fieldSetOf, listItemStep, shapeFromManagedFields } from '../field-ownership/shape.ts';
import type { OwnershipShape } from '../field-ownership/shape.ts';
import { mergeValues } from '../field-ownership/structured-merge.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { ignoredInDiff, repeatUntilNoNewFault } from '../ignore/ignored.ts';
import { normalizeSecret, normalizeTracking } from '../normalize/normalize.ts';
import { removeSteps } from '../shared/removal.ts';
import { asJson, asKube, isList, textOf, withoutNulls } from '../shared/values.ts';
import { preparer } from './prepare.ts';
import { compareStates } from './result.ts';
import type { DiffResult } from './result.ts';

/** A target and its live object, and the API server's response to a dry-run apply of the target. */
export interface DryRunFacts {
  readonly target: KubeObject;
  readonly live: KubeObject;
  readonly predicted: KubeObject;
}

/**
 * Whether changes by mutating webhooks in a dry run count as differences
 * (`IncludeMutationWebhook=true`).
 */
export type WebhookMutations = 'excluded' | 'included';

/**
 * Returns the object to send in the dry run. The `stringData` of a Secret is sent as `data`: the
 * fields have separate owners, and the server responds with `data` only.
 */
export function dryRunTarget(target: KubeObject): KubeObject {
  const isSecret = target.apiVersion === 'v1' && target.kind === 'Secret';
  return isSecret ? asKube(normalizeSecret(asJson(target))) : target;
}

/**
 * Compares `live` with the API server's response to a dry-run apply (Argo CD:
 * gitops-engine/pkg/diff serverSideDiff). Ignore rules apply as in any other comparison.
 *
 * Differences: fields of trusted managers are ignored in the response, but still sent. A field that
 * Git has dropped and the server defaults to another value is a difference until it is applied;
 * upstream attributes it to a webhook. If no manager ever owned a field of the object, every change
 * in the response is a difference; upstream rejects the response.
 *
 * @throws DriftlessError when the response lacks managed fields and the comparison needs them.
 */
export function diffDryRun(
  { target, live, predicted }: DryRunFacts,
  rules: DiffRules,
  mutations: WebhookMutations,
): DiffResult {
  const { tracking } = rules.settings;
  const ignored = ignoredInDiff(target, rules);
  const present = asJson(normalizeTracking(target, live, tracking));
  const answer = asJson(normalizeTracking(target, predicted, tracking));
  const after =
    mutations === 'included' || ownsNothing(target) ? answer : withoutMutations(asJson(target), answer, present, rules);
  const trusted = withoutManaged(after, present, ignored.managers, () => shapeForManagedFields(target, present, rules));
  const prepare = preparer(rules.settings, ignored);
  const sides = repeatUntilNoNewFault(ignored, () => ({
    predicted: prepare(withoutNulls(withoutServerFields(trusted.target)) as JsonObject),
    observed: prepare(withoutNulls(withoutServerFields(trusted.live)) as JsonObject),
  }));
  return compareStates(sides.predicted, sides.observed, ignored);
}

/**
 * Whether the manifest has only a name and namespace, so that applying it makes us own no field.
 */
function ownsNothing(target: KubeObject): boolean {
  const sent = asJson(dryRunTarget(target));
  const named = Object.keys(sent).every((key) => ['apiVersion', 'kind', 'metadata'].includes(key));
  return named && Object.keys(target.metadata).every((key) => ['name', 'namespace'].includes(key));
}

/**
 * Applies our manager's part of the response to live, with our removals. Other additions and
 * changes in the response come from webhooks and are dropped, unless they contain a field of ours
 * (gitops-engine/pkg/diff removeWebhookMutation).
 */
function withoutMutations(target: JsonObject, predicted: JsonObject, live: JsonObject, rules: DiffRules): JsonObject {
  const all = fieldsOwned(predicted, () => true);
  // The API server records no managed fields for some kinds, such as CertificateSigningRequest.
  if (all.length === 0 && fieldsOwned(live, () => true).length === 0) return predicted;
  if (all.length === 0)
    throw new DriftlessError(
      'DIFF_NO_MANAGED_FIELDS',
      `predictedLive for resource ${textOf(ownMember(predicted, 'kind'))}/${asKube(predicted).metadata.name ?? ''} must have the managedFields`,
      { retry: 'never' },
    );
  const shape = knownShape(asKube(predicted), rules) ?? shapeFromManagedFields(unionOf(all));
  const now = fieldsOwned(predicted, (entry) => isOwnEntry(entry, rules));
  // A field that we give up and the server defaults again is our change.
  const ours = unionOf([...now, ...fieldOwnersOf(live, rules).ours]);
  const whole = fieldSetOf(predicted, shape);
  const applied = withoutNulls(
    removeFields(predicted, pathsWithout(whole, ours, shape, fieldSetOf(live, shape)), shape),
  );
  // Fields that Go always writes become null when given up. Keep those that others own.
  const givenUp = withParents(unionOf([...now, ...fieldOwnersOf(live, rules).ours, ...updatedFields(live, rules)]));
  const nulls = selectPaths(
    pathsWithout(whole, fieldSetOf(withoutNulls(predicted), shape), shape),
    [givenUp, undefined],
    isIn,
  );
  const stays = selectPaths(whole, [nulls, undefined], (isNull) => !isNull);
  // A map or list that was empty in live and has content now is not gone.
  const gone = pathsWithout(fieldSetOf(live, shape), stays, shape);
  const after = withoutNulls(removeFields(mergeValues(live, applied, shape), gone, shape));
  if (!isObject(after)) return live;
  return inOrderOf({ after, predicted, target }, shape) as JsonObject;
}

/** Puts items into the manifest's order: managers own items, but not their order. */
function inOrderOf(
  { after, predicted, target }: Readonly<Record<'after' | 'predicted' | 'target', Json>>,
  shape: OwnershipShape,
): Json {
  if (isObject(after) && isObject(predicted) && isObject(target)) {
    const entries = Object.entries(after).map(([key, value]) => {
      const [answer, wanted] = [ownMember(predicted, key), ownMember(target, key)];
      if (value === undefined || answer === undefined || wanted === undefined) return [key, value ?? null] as const;
      return [key, inOrderOf({ after: value, predicted: answer, target: wanted }, shape.member(key))] as const;
    });
    return Object.fromEntries(entries);
  }
  if (!isList(after) || !isList(predicted) || !isList(target) || shape.listKeys === undefined) return after;
  const stepOf = (item: Json): string => listItemStep(item, shape);
  const [answers, wanted] = [predicted, target].map((list) => new Map(list.map((item) => [stepOf(item), item])));
  const places = new Map([...(answers ?? [])].map(([step], i) => [step, i]));
  const asked = [...(wanted ?? [])].flatMap(([step]) => places.get(step) ?? []);
  const items = after.map((item) => {
    const [answer, want] = [answers?.get(stepOf(item)), wanted?.get(stepOf(item))];
    if (answer === undefined || want === undefined) return item;
    return inOrderOf({ after: item, predicted: answer, target: want }, shape.items());
  });
  if (asked.some((place, i) => place < (asked[i - 1] ?? 0))) return items;
  const placeOf = (item: Json): number => places.get(stepOf(item)) ?? places.size;
  return items.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** Counts a value as owned of which any part is. */
function withParents({ member, children }: FieldSet): FieldSet {
  const inner = new Map([...children].map(([step, child]) => [step, withParents(child)] as const));
  return { member: member || inner.size > 0, children: inner };
}

function isIn(inSet: boolean): boolean {
  return inSet;
}

/**
 * Drops fields that only the server writes, and last-applied, which an apply may keep or remove.
 */
function withoutServerFields(object: JsonObject): JsonObject {
  const paths = [['managedFields'], ['resourceVersion'], ['generation'], ['annotations', annotations.lastApplied]];
  const bare = paths.reduce((left, path) => removeSteps(left, ['metadata', ...path]) as JsonObject, object);
  const notes = asKube(bare).metadata.annotations;
  const isEmpty = notes !== undefined && Object.keys(notes).length === 0;
  return isEmpty ? (removeSteps(bare, ['metadata', 'annotations']) as JsonObject) : bare;
}

const noFields = emptySet();

function shapeAt(shape: OwnershipShape, step: string): OwnershipShape {
  return step.startsWith('f:') ? shape.member(step.slice(2)) : shape.items();
}

/** Owned as a whole under another version of the schema: all of it counts as owned. */
function isWholeList(owned: FieldSet | undefined, shape: OwnershipShape): boolean {
  return shape.listKeys !== undefined && owned !== undefined && owned.member && owned.children.size === 0;
}

/**
 * The paths of `whole` that are neither in `owned` nor above a path in it. The key fields of a
 * remaining item are left out: without them the item has no identity. An owner creates a value that
 * `live` lacks with everything in it, also with defaults.
 */
function pathsWithout(whole: FieldSet, owned: FieldSet | undefined, shape: OwnershipShape, live = whole): FieldSet {
  const result: FieldSet = { member: whole.member && owned === undefined, children: new Map() };
  if (isWholeList(owned, shape)) return result;
  const keys = shape.listKeys ?? [];
  for (const [step, child] of whole.children) {
    const inner = owned?.children.get(step);
    const present = live.children.get(step) ?? noFields;
    if (present === noFields && inner?.member === true) continue;
    const rest = pathsWithout(child, inner, shapeAt(shape, step), present);
    if (!rest.member) for (const key of keys) rest.children.delete(fieldStep(key));
    if (rest.member || rest.children.size > 0) result.children.set(step, rest);
  }
  return result;
}
