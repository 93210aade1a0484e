import { isObject, ownMember, valueAt } from '#base';
import type { Json, JsonObject } from '#base';
import { groupOf } from '#model';
import { removeSteps } from '../shared/removal.ts';
import { textOf, withMember } from '../shared/values.ts';

/** A field in one version of a kind, and what stands for its value in a converted manifest. */
interface VersionedField {
  readonly steps: readonly string[];
  readonly standIn: Json;
}

const note = (name: string): VersionedField => ({
  steps: ['metadata', 'annotations', `autoscaling.alpha.kubernetes.io/${name}`],
  standIn: '-',
});
const metrics: VersionedField = { steps: ['spec', 'metrics'], standIn: [] };

/**
 * Where autoscaling/v1 shows what only later versions have (kubernetes pkg/apis/autoscaling/v1,
 * conversion.go): a write at v1 that keeps the annotations keeps the fields. Of the built-in kinds
 * that are served in several versions, no other has a version with fewer fields.
 */
const autoscalerFields: readonly { readonly v1: VersionedField; readonly later: VersionedField }[] = [
  { v1: note('metrics'), later: metrics },
  { v1: { steps: ['spec', 'targetCPUUtilizationPercentage'], standIn: 1 }, later: metrics },
  { v1: note('behavior'), later: { steps: ['spec', 'behavior'], standIn: {} } },
];

/** The fields of an entry of the managed fields, as the version of the live object has them. */
export function fieldsAtVersion(fields: JsonObject, from: string, live: JsonObject): JsonObject {
  const asFields = ({ steps }: VersionedField): VersionedField => ({ steps: steps.map((s) => `f:${s}`), standIn: {} });
  return converted(fields, { from, live }, asFields);
}

/**
 * A manifest that was applied at another version, as the version of the live object has it. What
 * stands for a converted value only shows that the field was applied.
 */
export function manifestAtVersion(manifest: JsonObject, live: JsonObject): JsonObject {
  const same = converted(manifest, { from: textOf(ownMember(manifest, 'apiVersion')), live }, (field) => field);
  return same === manifest ? manifest : withMember(same, 'apiVersion', ownMember(live, 'apiVersion') ?? '');
}

/** The annotations of an autoscaler at v1 that are fields of later versions. */
export function shownFields(live: JsonObject): readonly (readonly string[])[] {
  const isFirst = ownMember(live, 'apiVersion') === 'autoscaling/v1';
  if (!isFirst || ownMember(live, 'kind') !== 'HorizontalPodAutoscaler') return [];
  const notes = autoscalerFields.map(({ v1 }) => v1.steps).filter(([root]) => root === 'metadata');
  return notes.filter((steps) => valueAt(live, ...steps) !== undefined);
}

function converted(
  object: JsonObject,
  { from, live }: { readonly from: string; readonly live: JsonObject },
  form: (field: VersionedField) => VersionedField,
): JsonObject {
  const to = textOf(ownMember(live, 'apiVersion'));
  const isAutoscaler = ownMember(live, 'kind') === 'HorizontalPodAutoscaler' && groupOf(to) === 'autoscaling';
  if (!isAutoscaler || from === to || groupOf(from) !== 'autoscaling') return object;
  const isToV1 = to === 'autoscaling/v1';
  if (!isToV1 && from !== 'autoscaling/v1') return object;
  const pairs = autoscalerFields.map(({ v1, later }) => (isToV1 ? [later, v1] : [v1, later]).map(form));
  const moved = pairs.filter(([before]) => before !== undefined && valueAt(object, ...before.steps) !== undefined);
  let result = object;
  for (const [, after] of moved) if (after !== undefined) result = withValueAt(result, after.steps, after.standIn);
  for (const [before] of moved) if (before !== undefined) result = removeSteps(result, before.steps) as JsonObject;
  return result;
}

function withValueAt(object: JsonObject, [step = '', ...rest]: readonly string[], value: Json): JsonObject {
  if (rest.length === 0) return withMember(object, step, value);
  const inner = ownMember(object, step);
  return withMember(object, step, withValueAt(isObject(inner) ? inner : {}, rest, value));
}
