import { deepEqual, defined, DriftlessError, isObject, ownMember, parsePointer, valueAt } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, withLeftoverTracking } from '#model';
import type { KubeObject } from '#model';
import { appliedBefore, mergeShape, withDropped } from '../applied/applied-before.ts';
import type { AppliedBefore, MergeMethod } from '../applied/applied-before.ts';
import { withEmptyTexts } from '../applied/sent-form.ts';
import { serverSideTarget } from '../applied/server-side-target.ts';
import { withAdoptedFields } from '../applied/adopt.ts';
import { hiddenFields } from '../applied/hidden-fields.ts';
import { allOwnedFields, fieldOwnersOf } from '../field-ownership/field-owners.ts';
import { shapeForManagedFields } from '../field-ownership/known-shape.ts';
import { withoutManaged } from '../field-ownership/managed-fields.ts';
import { kindKey } from '../field-ownership/open-api.ts';
import { shapeFromManagedFields, shapeOfType } from '../field-ownership/shape.ts';
import type { OwnershipShape } from '../field-ownership/shape.ts';
import { structuredMerge } from '../field-ownership/structured-merge.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { ignoredInDiff, ignoredInLive, repeatUntilNoNewFault } from '../ignore/ignored.ts';
import type { IgnoredFields } from '../ignore/ignored.ts';
import { canonicalise } from '../normalize/canonical.ts';
import { withDefaults } from '../normalize/defaults.ts';
import { normalizeTracking } from '../normalize/normalize.ts';
import { applyJsonPatch, threeWayJsonPatch, trimToMentioned } from '../patch/json-merge.ts';
import { applyStrategic, strategicPatch } from '../patch/strategic.ts';
import { schemaOf } from '../schema/schema.ts';
import type { TypeSchema } from '../schema/schema.ts';
import { TypedMemo } from '../schema/typed-memo.ts';
import { removeSteps } from '../shared/removal.ts';
import { asJson, asKube, isList, withoutUnsetNulls } from '../shared/values.ts';
import type { SidePair } from '../shared/values.ts';
import { applyMethodOf } from './apply-method.ts';
import { preparePair } from './kept-forms.ts';
import type { BeforePair } from './kept-forms.ts';
import { preparer } from './prepare.ts';
import { compareStates, withHidden } from './result.ts';
import type { DiffResult } from './result.ts';

/**
 * Compares one pair of objects three-way (Argo CD: util/argo/diff StateDiffs,
 * gitops-engine/pkg/diff Diff). `modified` reports whether applying `target` would change `live`
 * after normalization and ignore rules. A field that only live has counts only if we set it, as
 * shown by last-applied or, with server-side apply, by the managed fields. A live object without a
 * target is not modified (a prune candidate); a target without a live object is.
 *
 * Neither argument is changed; results share parts with them. A rule that cannot be run is skipped
 * and listed in `faults`; the other rules still apply.
 *
 * @throws DriftlessError when both sides are null.
 */
export function diffObjects(target: KubeObject | null, live: KubeObject | null, rules: DiffRules): DiffResult {
  if (target === null && live === null)
    throw new DriftlessError('DIFF_NOTHING', 'there is nothing to compare', { retry: 'never' });
  if (target === null || live === null) return oneSidedResult(target, live, rules);
  const { settings } = rules;
  const ignored = ignoredInDiff(target, rules);
  const tracked = asJson(normalizeTracking(target, live, settings.tracking));
  const wantedTracking = withLeftoverTracking(target, live, settings.tracking);
  const ownedBy = (): OwnershipShape => shapeForManagedFields(target, asJson(live), rules);
  const trusted = withoutManaged(asJson(wantedTracking), tracked, ignored.managers, ownedBy);
  const method = applyMethodOf(target, live, rules);
  const before = method === 'server' ? undefined : beforePair(trusted, method, rules);
  const sides = before === undefined ? trusted : { ...trusted, target: before.target };
  const prepared = repeatUntilNoNewFault(ignored, () => preparePair(sides, before, settings, ignored));
  const { original, present, fault } = prepared;
  const isCustom = schemaOf(target) === undefined;
  const wanted = isCustom ? (withoutUnsetNulls(prepared.wanted, present) as JsonObject) : prepared.wanted;
  const [predicted, observed] =
    method === 'server'
      ? predictServerSide(wanted, present, asJson(live), rules)
      : predictClientSide(original, wanted, present, schemaOf(target));
  const hidden = hiddenFields(target, live, { ...rules, method }, rules).filter((path) => !isIgnored(path, ignored));
  return {
    ...withHidden(compareStates(predicted, observed, ignored), hidden),
    ...defined({ lastAppliedFault: fault }),
  };
}

/** Whether the rules ignore a field that neither side shows. */
function isIgnored(pointer: string, ignored: IgnoredFields): boolean {
  const steps = parsePointer(pointer) ?? [];
  const only = steps.reduceRight<Json>((inner, step) => ({ [step]: inner }), true) as JsonObject;
  return valueAt(ignored.remove(only), ...steps) === undefined;
}

/** The manifest that we applied before, and the target to merge. */
function beforePair(
  { target, live }: SidePair<JsonObject>,
  method: MergeMethod,
  rules: DiffRules,
): BeforePair & Pick<AppliedBefore, 'target'> {
  const before = appliedBefore(asKube(target), asKube(live), method, rules);
  const shape = (): OwnershipShape => mergeShape(asKube(target), live, rules);
  return { ...before, withDropped: (manifest, dropped) => withDropped(manifest, dropped, shape) };
}

function oneSidedResult(target: KubeObject | null, live: KubeObject | null, rules: DiffRules): DiffResult {
  const prepared = (object: KubeObject, ignored: IgnoredFields): KubeObject =>
    asKube(preparer(rules.settings, ignored)(asJson(object)));
  const [inLive, inTarget] = [live && ignoredInLive(live, rules), target && ignoredInDiff(target, rules)];
  return {
    modified: live === null,
    // Reported before there is a difference: a rule that cannot be read is one at once.
    faults: [...(inLive?.faults() ?? []), ...(inTarget?.faults() ?? [])],
    normalizedLive: live && inLive && prepared(live, inLive),
    predictedLive: target && inTarget && prepared(target, inTarget),
    paths: [],
    undecided: false,
  };
}

/**
 * Returns live after a client-side apply, and live now, in comparable form. If nothing changes,
 * `observed` is `live` itself.
 */
function predictClientSide(
  original: JsonObject | undefined,
  target: JsonObject,
  live: JsonObject,
  type: TypeSchema | undefined,
): readonly [predicted: JsonObject, observed: JsonObject] {
  if (type === undefined) {
    const patch = threeWayJsonPatch(original, target, live, 'trimmed');
    return [patch === undefined ? live : applyJsonPatch(live, patch), live];
  }
  const comparable = isStatefulSet(target) ? withTrimmedClaims(original, target, live) : target;
  const patch = strategicPatch({ original, target: comparable, live }, type);
  if (patch === undefined) return [live, live];
  const stored = storedForm(type);
  return [stored(applyStrategic(live, patch, type)), stored(live)];
}

/**
 * Returns a function that converts objects to the form that the API server stores. Parts that two
 * objects share are converted once.
 */
function storedForm(type: TypeSchema): (value: JsonObject) => JsonObject {
  const [read, complete, written] = [new TypedMemo(), new TypedMemo(), new TypedMemo()];
  return (value) => {
    const full = withDefaults(canonicalise(value, type, 'structs', read), type, complete);
    return canonicalise(full, type, 'drop', written) as JsonObject;
  };
}

/**
 * Predicts a server-side apply by our manager, like {@link predictClientSide}. `owned` is the live
 * object as it was read, whose managed fields show the owners. List and map types come from the
 * published schema; without one, from the built-in types or, for a custom resource, from the
 * managed fields.
 */
function predictServerSide(
  target: JsonObject,
  live: JsonObject,
  owned: JsonObject,
  rules: DiffRules,
): readonly [predicted: JsonObject, observed: JsonObject] {
  const published = rules.schemas?.get(kindKey(asKube(target)));
  const adopted = withAdoptedFields(asKube(owned), rules.adoptFrom, {
    shape: published?.shape,
    target: asKube(target),
    fieldManager: rules.fieldManager,
  });
  const owners = fieldOwnersOf(adopted, rules);
  const type = schemaOf(asKube(target));
  const known = (): OwnershipShape =>
    type === undefined ? shapeFromManagedFields(allOwnedFields(owners)) : shapeOfType(type);
  const sent = withEmptyTexts(asJson(serverSideTarget(asKube(target), asKube(adopted), rules)), type) as JsonObject;
  const after = structuredMerge(sent, live, owners, published?.shape ?? known());
  if (after === live) return [live, live];
  const stored =
    type === undefined ? (value: JsonObject): JsonObject => published?.withDefaults(value) ?? value : storedForm(type);
  return [stored(withoutLastApplied(after)), stored(withoutLastApplied(live))];
}

/** Server-side apply removes last-applied when it migrates our fields from client-side apply. */
function withoutLastApplied(object: JsonObject): JsonObject {
  return removeSteps(object, ['metadata', 'annotations', annotations.lastApplied]) as JsonObject;
}

function isStatefulSet(object: JsonObject): boolean {
  return ownMember(object, 'kind') === 'StatefulSet';
}

/**
 * The API server fills many defaults into the claim templates of a StatefulSet, and the list has no
 * merge key. If live equals the target in everything that was ever applied, use live's templates.
 */
function withTrimmedClaims(original: JsonObject | undefined, target: JsonObject, live: JsonObject): JsonObject {
  const [before, spec, liveSpec] = [
    ownMember(original ?? {}, 'spec'),
    ownMember(target, 'spec'),
    ownMember(live, 'spec'),
  ];
  if (!isObject(spec) || !isObject(liveSpec)) return target;
  const [wanted, present] = [ownMember(spec, 'volumeClaimTemplates'), ownMember(liveSpec, 'volumeClaimTemplates')];
  if (!isList(wanted) || !isList(present)) return target;
  const last = isObject(before) ? ownMember(before, 'volumeClaimTemplates') : undefined;
  if (!deepEqual(trimToMentioned(present, last, wanted), wanted)) return target;
  return { ...target, spec: { ...spec, volumeClaimTemplates: present } };
}
