import { parsePointer } from '#base';
import type { Json } from '#base';
import type { ResourceComparison } from '#compare';
import { applyingRules, maskSecrets } from '#diff';
import { fieldManager, jsonOf, parseResourceKey } from '#model';
import type { Application, KubeObject, ResourceKey, ResourceRef, Settings } from '#model';
import { writerOf } from '../comparison/last-writer.ts';
import type { FieldDifference, FieldWriter, ResourceDifference } from './application-facts.ts';
import { shownManifest, shownValue } from './masked-value.ts';

export interface DifferenceFacts {
  readonly app: Application;
  readonly settings: Settings;
  /** Live objects with managedFields, of the rows that differ. */
  readonly live: ReadonlyMap<ResourceKey, KubeObject>;
  /** Whether the project lets an Application have an object. */
  readonly permits: (app: Application, ref: ResourceRef) => boolean;
  /** Rivals that undo self-heal, by resource. */
  readonly rivals: ReadonlyMap<ResourceKey, string>;
  readonly hasManifest: boolean;
}

/** Why the values of a resource are not shown. */
export const trimmedText =
  'its values are not shown: the manifests of this Application are too large to be kept between comparisons. "driftless manifests" prints them';

/** Whether a row says that its resource differs from the desired state, or may do so. */
export function isDifferent({ hook, own, status }: ResourceComparison): boolean {
  return !hook && own && status.status !== undefined && status.status !== 'Synced';
}

/** Describes one resource that differs, with masked values. */
export function describeDifference(row: ResourceComparison, facts: DifferenceFacts): ResourceDifference {
  const { key, diff, status } = row;
  const ref = parseResourceKey(key);
  const object = facts.live.get(key);
  const masked = maskSecrets(diff.predictedLive, diff.normalizedLive, facts.settings.sensitiveAnnotations);
  const state = facts.permits(facts.app, ref) ? stateOf(row) : 'refused';
  const sides = { desired: jsonOf(masked.target), live: jsonOf(masked.live) };
  const rival = facts.rivals.get(key);
  const lastWriter = object === undefined ? undefined : shownWriter(object, []);
  const whole = state === 'missing' ? masked.target : state === 'extra' ? masked.live : null;
  return {
    ...ref,
    version: status.version ?? '',
    state,
    fields:
      state === 'modified' && row.isTrimmed !== true ? diff.paths.map((path) => fieldAt(path, sides, ref, object)) : [],
    ...(whole === null || !facts.hasManifest || row.isTrimmed === true ? {} : { manifest: shownManifest(whole) }),
    ...(lastWriter === undefined ? {} : { lastWriter }),
    faults: [
      ...diff.faults.map(({ where, rule, problem }) => `${where}: ${rule}: ${problem}`),
      ...(row.isTrimmed === true ? [[...diff.paths, trimmedText].join(', ')] : []),
    ],
    ignored: applyingRules(ref, facts.app.spec.ignoreDifferences ?? [], facts.settings, diff.predictedLive),
    ...(rival === undefined ? {} : { contestedBy: rival }),
  };
}

function stateOf({ diff, status, isUnknown }: ResourceComparison): ResourceDifference['state'] {
  if (isUnknown || status.status === 'Unknown') return 'unread';
  if (diff.normalizedLive === null) return 'missing';
  return diff.predictedLive === null ? 'extra' : 'modified';
}

function fieldAt(
  path: string,
  sides: { readonly desired: Json; readonly live: Json },
  ref: ResourceRef,
  object: KubeObject | undefined,
): FieldDifference {
  const steps = parsePointer(path) ?? [];
  const [desired, live] = [shownValue(sides.desired, steps), shownValue(sides.live, steps)];
  const changedBy = object === undefined ? undefined : shownWriter(object, [path]);
  const isSecret = ref.kind === 'Secret' && ref.group === '';
  return {
    path,
    ...(desired === undefined ? {} : { desired: desired.text }),
    ...(live === undefined ? {} : { live: live.text }),
    isMasked: isSecret || desired?.isMasked === true || live?.isMasked === true,
    ...(changedBy === undefined ? {} : { changedBy }),
  };
}

function shownWriter(object: KubeObject, paths: readonly string[]): FieldWriter | undefined {
  const writer = writerOf(object, paths);
  return writer === undefined ? undefined : { ...writer, isOurs: writer.manager === fieldManager };
}
