import { DriftlessError, isObject, own } from '#base';
import type { JsonObject } from '#base';
import { annotations, refOf } from '#model';
import type { KubeObject } from '#model';
import { asJson, asKube } from './client-side-apply.ts';
import { fieldManager, preparer, resultOf } from './diff.ts';
import { fieldStep, select } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { publishedShape, shapeForManagers } from './known-shape.ts';
import { fieldsOwned, withoutManaged } from './managed-fields.ts';
import { normalizeSecret, normalizeTracking } from './normalize.ts';
import { removeSteps } from './remove.ts';
import { ignoredInDiff, untilSettled } from './rules.ts';
import { fieldSetOf, shapeOfFields } from './shape.ts';
import type { Shape } from './shape.ts';
import { withoutNulls } from './strategic.ts';
import { merge, ownershipOf, remove, unionOf } from './structured.ts';
import type { DiffResult, DiffRules } from './types.ts';
import { textOf } from './values.ts';

/** Both sides, and what the API server says that live would be after an apply of the target. */
export interface DryRunFacts {
  readonly target: KubeObject;
  readonly live: KubeObject;
  readonly predicted: KubeObject;
}

/** What mutation webhooks have changed in a dry run: no difference, or one as any other (`IncludeMutationWebhook=true`). */
export type Mutations = 'left out' | 'included';

/**
 * What to send in the dry run for a target. Of a Secret, `stringData` as `data`: who owns the one does not own the other, and the server
 * answers with `data` only.
 */
export function dryRunTarget(target: KubeObject): KubeObject {
  const isSecret = target.apiVersion === 'v1' && target.kind === 'Secret';
  return isSecret ? asKube(normalizeSecret(asJson(target))) : target;
}

/**
 * Compares by what the API server answered to a dry-run apply (Argo CD: gitops-engine/pkg/diff serverSideDiff). Ignore rules hold as in any other
 * comparison.
 *
 * Differences: managers that are trusted are left out of the answer, not of what is sent. What Git has dropped, and the server fills in again with another
 * value, is a difference until it was applied; upstream takes it for the work of a webhook. Of an object of which nobody ever owned a field, all that the
 * answer changes is a difference; upstream refuses the answer.
 *
 * @throws DriftlessError when the answer does not say who owns what, and that is needed.
 */
export function diffDryRun(
  { target, live, predicted }: DryRunFacts,
  rules: DiffRules,
  mutations: Mutations,
): DiffResult {
  const { tracking } = rules.settings;
  const ignored = ignoredInDiff(refOf(target), rules);
  const present = asJson(normalizeTracking(target, live, tracking));
  const answer = asJson(normalizeTracking(target, predicted, tracking));
  const after = mutations === 'included' || ownsNothing(target) ? answer : withoutMutations(answer, present, rules);
  const trusted = withoutManaged(after, present, ignored.managers, () => shapeForManagers(target, present, rules));
  const prepare = preparer(rules.settings, ignored);
  const sides = untilSettled(ignored, () => ({
    predicted: prepare(withoutServerFields(trusted.target)),
    observed: prepare(withoutServerFields(trusted.live)),
  }));
  return resultOf(sides.predicted, sides.observed, ignored);
}

/** A manifest that is no more than a name: nobody may own anything of it then. */
function ownsNothing(target: KubeObject): boolean {
  const sent = asJson(dryRunTarget(target));
  const named = Object.keys(sent).every((key) => ['apiVersion', 'kind', 'metadata'].includes(key));
  return named && Object.keys(target.metadata).every((key) => ['name', 'namespace'].includes(key));
}

/**
 * Live with what our manager owns after the apply, and without what the apply takes away: what others have added or changed in between goes, but
 * not where something of ours is in it (gitops-engine/pkg/diff removeWebhookMutation).
 */
function withoutMutations(predicted: JsonObject, live: JsonObject, rules: DiffRules): JsonObject {
  const all = fieldsOwned(predicted, () => true);
  // Of some kinds (CertificateSigningRequest) the API server notes no managers at all.
  if (all.length === 0 && fieldsOwned(live, () => true).length === 0) return predicted;
  if (all.length === 0)
    throw new DriftlessError(
      'DIFF_NO_MANAGED_FIELDS',
      `predictedLive for resource ${textOf(own(predicted, 'kind'))}/${asKube(predicted).metadata.name ?? ''} must have the managedFields`,
      { retry: 'never' },
    );
  const shape = publishedShape(asKube(predicted), rules) ?? shapeOfFields(unionOf(all));
  const now = fieldsOwned(predicted, (entry) => own(entry, 'manager') === fieldManager);
  // What is given up, and the server fills in again, is a change that we make.
  const ours = unionOf([...now, ...ownershipOf(live, fieldManager).last]);
  const whole = fieldSetOf(predicted, shape);
  const applied = withoutNulls(remove(predicted, minus(whole, ours, shape), shape));
  // Fields that are always written are null when they are given up: those of others stay as they are.
  const nulls = select(minus(whole, fieldSetOf(withoutNulls(predicted), shape), shape), [ours, undefined], isIn);
  const stays = select(whole, [nulls, undefined], (isNull) => !isNull);
  // What was empty in live, and has something in it now, stays.
  const gone = minus(fieldSetOf(live, shape), stays, shape);
  const after = withoutNulls(remove(merge(live, applied, shape), gone, shape));
  return isObject(after) ? after : live;
}

function isIn(inSet: boolean): boolean {
  return inSet;
}

/** What only the server writes, and what an apply by us takes away or keeps as it likes. */
function withoutServerFields(object: JsonObject): JsonObject {
  const paths = [['managedFields'], ['resourceVersion'], ['generation'], ['annotations', annotations.lastApplied]];
  const bare = paths.reduce((left, path) => removeSteps(left, ['metadata', ...path]) as JsonObject, object);
  const noted = asKube(bare).metadata.annotations;
  const isEmpty = noted !== undefined && Object.keys(noted).length === 0;
  return isEmpty ? (removeSteps(bare, ['metadata', 'annotations']) as JsonObject) : bare;
}

/**
 * The paths of an object that are not in a set of owned ones, and have nothing owned below them. Keys of an item of a list that is owned by several
 * keys are left out: without them nobody could tell which item it is.
 */
function minus(whole: FieldSet, owned: FieldSet | undefined, shape: Shape): FieldSet {
  const result: FieldSet = { member: whole.member && owned === undefined, children: new Map() };
  // Owned as one, by a schema that knows it otherwise: all of it.
  const isList = shape.listKeys !== undefined;
  if (isList && owned !== undefined && owned.member && owned.children.size === 0) return result;
  const keys = shape.listKeys ?? [];
  for (const [step, child] of whole.children) {
    const name = step.startsWith('f:') ? step.slice(2) : undefined;
    const rest = minus(child, owned?.children.get(step), name === undefined ? shape.items() : shape.member(name));
    if (keys.length > 1 && !rest.member) for (const key of keys) rest.children.delete(fieldStep(key));
    if (rest.member || rest.children.size > 0) result.children.set(step, rest);
  }
  return result;
}
