import { deepEqual, DriftlessError, formatPointer, hashJson, isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { annotations, csvAnnotation, refOf, withLeftoverTracking } from '#model';
import type { KubeObject, Settings } from '#model';
import { asJson, asKube, lastApplied } from './client-side-apply.ts';
import { canonicalise } from './canonical.ts';
import type { Empties } from './canonical.ts';
import { withDefaults } from './defaults.ts';
import { applyJsonPatch, threeWayJsonPatch, trim } from './json-merge.ts';
import { shapeForManagers } from './known-shape.ts';
import { withoutManaged } from './managed-fields.ts';
import { kindKey } from './open-api.ts';
import type { KindSchema } from './open-api.ts';
import { normalize, normalizeTracking } from './normalize.ts';
import { removeSteps, stepsOf } from './remove.ts';
import type { Path } from './remove.ts';
import { ignoredInDiff, ignoredInUpdates, untilSettled } from './rules.ts';
import type { Ignored } from './rules.ts';
import { schemaOf } from './schema.ts';
import type { TypeSchema } from './schema.ts';
import { shapeOf, shapeOfFields } from './shape.ts';
import type { Shape } from './shape.ts';
import { applyStrategic, strategicPatch } from './strategic.ts';
import { allOf, ownershipOf, structuredMerge } from './structured.ts';
import type { DiffResult, DiffRules } from './types.ts';
import { isList, Known } from './values.ts';

const maxPaths = 10;
/** Who we are among the managers of a live object's fields. */
export const fieldManager = 'argocd-controller';

/**
 * Compares what should be with what is (Argo CD: util/argo/diff StateDiffs of one pair, gitops-engine/pkg/diff Diff, three-way).
 * `modified` says whether applying `target` would change `live`, after normalization and ignore rules: fields that only live has never
 * count, unless what was applied last says that they were ours. Either side may be null: only live is not modified (a prune candidate),
 * only a target is. Pure; neither argument is changed; results share parts with them.
 *
 * A rule that cannot be run is left out and named in `faults`; the other rules work.
 *
 * @throws DriftlessError when both sides are null.
 */
export function diffObjects(target: KubeObject | null, live: KubeObject | null, rules: DiffRules): DiffResult {
  if (target === null && live === null)
    throw new DriftlessError('DIFF_NOTHING', 'there is nothing to compare', { retry: 'never' });
  if (target === null || live === null) return oneSided(target, live, rules);
  const { settings } = rules;
  const ignored = ignoredInDiff(refOf(target), rules);
  const tracked = asJson(normalizeTracking(target, live, settings.tracking));
  const wantedTracking = withLeftoverTracking(target, live, settings.tracking);
  const ownedBy = (): Shape => shapeForManagers(target, asJson(live), rules);
  const trusted = withoutManaged(asJson(wantedTracking), tracked, ignored.managers, ownedBy);
  const prepare = preparer(settings, ignored);
  const isStructured = appliesServerSide(target, rules);
  const before = isStructured ? undefined : lastApplied(live);
  const { original, wanted, present } = untilSettled(ignored, () => ({
    wanted: withoutNamespace(prepare(trusted.target, 'keep')),
    present: prepare(trusted.live, 'structs'),
    original: before === undefined ? undefined : withoutNamespace(prepare(before, 'keep')),
  }));
  const [predicted, observed] = isStructured
    ? predictStructured(wanted, present, asJson(live), rules.schemas?.get(kindKey(target)))
    : predict(original, wanted, present, schemaOf(target));
  return resultOf(predicted, observed, ignored);
}

/** Two states of a live object, both prepared, compared. */
export function resultOf(predicted: JsonObject, observed: JsonObject, ignored: Ignored): DiffResult {
  const paths = differingPaths(observed, predicted);
  const [modified, faults] = [paths.length > 0, ignored.faults()];
  return {
    modified,
    normalizedLive: asKube(observed),
    predictedLive: asKube(predicted),
    paths,
    faults,
    undecided: modified && faults.some((fault) => fault.undecided),
  };
}

function oneSided(target: KubeObject | null, live: KubeObject | null, rules: DiffRules): DiffResult {
  const prepared = (object: KubeObject | null): KubeObject | null => {
    if (object === null) return null;
    const ignored = ignoredInDiff(refOf(object), rules);
    return asKube(preparer(rules.settings, ignored)(asJson(object)));
  };
  return {
    modified: live === null,
    normalizedLive: prepared(live),
    predictedLive: prepared(target),
    paths: [],
    faults: [],
    undecided: false,
  };
}

export function preparer(settings: Settings, ignored: Ignored): (object: JsonObject, empties?: Empties) => JsonObject {
  return (object, empties = 'drop') => ignored.strip(normalize(object, settings.ignoreAggregatedRoles, empties));
}

/** A namespace that the target leaves to the destination, and annotations that are empty, say nothing. */
function withoutNamespace(object: JsonObject): JsonObject {
  const metadata = own(object, 'metadata');
  if (!isObject(metadata)) return object;
  const noted = own(metadata, 'annotations');
  const empty = noted === null || (isObject(noted) && Object.keys(noted).length === 0);
  if (own(metadata, 'namespace') === undefined && !empty) return object;
  const kept: MutableJsonObject = {};
  for (const key of Object.keys(metadata))
    if (key !== 'namespace' && !(empty && key === 'annotations')) setOwn(kept, key, metadata[key] as MutableJson);
  return { ...object, metadata: kept };
}

/** Live after the apply and live now, comparable. The second is the argument itself when nothing changes. */
function predict(
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
  const stored = storing(type);
  return [stored(applyStrategic(live, patch, type)), stored(live)];
}

/** Objects of a type as the API server would store them; what two of them share is looked at once. */
function storing(type: TypeSchema): (value: JsonObject) => JsonObject {
  const [read, complete, written] = [new Known(), new Known(), new Known()];
  return (value) => {
    const full = withDefaults(canonicalise(value, type, 'structs', read), type, complete);
    return canonicalise(full, type, 'drop', written) as JsonObject;
  };
}

/** By its own option, else by that of the Application. */
export function appliesServerSide(
  target: KubeObject,
  { serverSideApply = false }: Pick<DiffRules, 'serverSideApply'>,
): boolean {
  const options = csvAnnotation(target, annotations.syncOptions);
  if (options.includes('ServerSideApply=false')) return false;
  return serverSideApply || options.includes('ServerSideApply=true');
}

/**
 * Does it matter how lists and maps of an object are owned, so that what its server publishes is wanted? Of what is sent by server-side apply, and of
 * custom resources that a rule leaves to managers.
 */
export function readsOwnership(target: KubeObject, rules: DiffRules): boolean {
  if (appliesServerSide(target, rules)) return true;
  if (schemaOf(target) !== undefined || !trustsManagers(rules)) return false;
  return ignoredInDiff(refOf(target), rules).managers.size > 0;
}

function trustsManagers({ settings, ignoreDifferences }: DiffRules): boolean {
  const lists = [ignoreDifferences, ...Object.values(settings.overrides).map((one) => [one.ignoreDifferences ?? {}])];
  return lists.flat().some(({ managedFieldsManagers = [] }) => managedFieldsManagers.length > 0);
}

/**
 * {@link predict} for server-side apply by our manager; who owns what is read from the live object as it is. How lists and maps are owned is what
 * the server publishes; else what is known of built-in kinds, or what the server made of the managed fields of a custom resource.
 */
function predictStructured(
  target: JsonObject,
  live: JsonObject,
  owned: JsonObject,
  published: KindSchema | undefined,
): readonly [predicted: JsonObject, observed: JsonObject] {
  const ownership = ownershipOf(owned, fieldManager);
  const type = schemaOf(asKube(target));
  const known = (): Shape => (type === undefined ? shapeOfFields(allOf(ownership)) : shapeOf(type));
  const after = structuredMerge(target, live, ownership, published?.shape ?? known());
  if (after === live) return [live, live];
  const stored =
    type === undefined ? (value: JsonObject): JsonObject => published?.withDefaults(value) ?? value : storing(type);
  return [stored(withoutLastApplied(after)), stored(withoutLastApplied(live))];
}

/** Server-side apply takes the annotation away when it moves fields of ours to it. */
function withoutLastApplied(object: JsonObject): JsonObject {
  return removeSteps(object, ['metadata', 'annotations', annotations.lastApplied]) as JsonObject;
}

function isStatefulSet(object: JsonObject): boolean {
  return own(object, 'kind') === 'StatefulSet';
}

/**
 * The API server fills in much of a StatefulSet's claim templates, and the list has no merge key: when they are equal in all that was ever
 * asked for, the target is taken to ask for live's.
 */
function withTrimmedClaims(original: JsonObject | undefined, target: JsonObject, live: JsonObject): JsonObject {
  const [before, spec, liveSpec] = [own(original ?? {}, 'spec'), own(target, 'spec'), own(live, 'spec')];
  if (!isObject(spec) || !isObject(liveSpec)) return target;
  const [wanted, present] = [own(spec, 'volumeClaimTemplates'), own(liveSpec, 'volumeClaimTemplates')];
  if (!isList(wanted) || !isList(present)) return target;
  const last = isObject(before) ? own(before, 'volumeClaimTemplates') : undefined;
  if (!deepEqual(trim(present, last, wanted), wanted)) return target;
  return { ...target, spec: { ...spec, volumeClaimTemplates: present } };
}

/** JSON pointers of the first differences; empty exactly when the two are equal. */
function differingPaths(a: Json, b: Json): readonly string[] {
  const paths: string[] = [];
  const visit = (left: Json | undefined, right: Json | undefined, path: Path | undefined): void => {
    if (paths.length >= maxPaths || left === right) return;
    if (isObject(left) && isObject(right)) {
      for (const key of Object.keys(left)) visit(left[key], own(right, key), { parent: path, step: key });
      for (const key of Object.keys(right))
        if (!Object.hasOwn(left, key)) visit(undefined, right[key], { parent: path, step: key });
    } else if (isList(left) && isList(right) && left.length === right.length)
      for (const [i, item] of left.entries()) visit(item, right[i], { parent: path, step: i });
    else if (!deepEqual(left, right)) paths.push(formatPointer(stepsOf(path).map(String)));
  };
  visit(a, b, undefined);
  return paths;
}

/**
 * A hash of all that counts in a live object: updates that leave it the same need no comparison (Argo CD: controller/cache,
 * ignoreResourceUpdates). Version, generation and managed fields never count; what more does not is in `settings`. A rule that cannot be
 * run hides nothing.
 */
export function fingerprint(object: KubeObject, settings: Settings): string {
  const ignored = ignoredInUpdates(refOf(object), settings);
  return hashJson(preparer(settings, ignored)(asJson(object)));
}
