import { deepEqual, formatPointer, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { RuleFault } from '../ignore/diff-rules.ts';
import type { IgnoredFields } from '../ignore/ignored.ts';
import { stepsToPath } from '../shared/removal.ts';
import type { ValuePath } from '../shared/removal.ts';
import { asKube, isList } from '../shared/values.ts';

const maxPaths = 10;

/** The result of comparing one managed object. */
export interface DiffResult {
  readonly modified: boolean;
  /** Live after normalization and ignore rules; `null` without a live object. */
  readonly normalizedLive: KubeObject | null;
  /**
   * Live after applying the target, normalized the same way; `null` without a target (a prune
   * candidate).
   */
  readonly predictedLive: KubeObject | null;
  /**
   * JSON pointers of the first (at most 10) differing paths, for display. Names only, never values.
   */
  readonly paths: readonly string[];
  /** Faults of rules that apply to this object; `modified` is computed without these rules. */
  readonly faults: readonly RuleFault[];
  /**
   * Modified, but a skipped rule might have ignored the difference. Do not sync: that may overwrite
   * what should be left alone.
   */
  readonly undecided: boolean;
  /** Why last-applied removes nothing, as the end of a sentence. Absent: no fault. */
  readonly lastAppliedFault?: string;
  /** Fields of another API version that neither side shows. Absent: none. */
  readonly hiddenFields?: readonly string[];
}

/** Compares two prepared states of a live object. */
export function compareStates(predicted: JsonObject, observed: JsonObject, ignored: IgnoredFields): DiffResult {
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

/** A result in which fields that neither side shows are a difference too. */
export function withHidden(result: DiffResult, hidden: readonly string[]): DiffResult {
  if (hidden.length === 0) return result;
  return { ...result, modified: true, paths: [...result.paths, ...hidden].slice(0, maxPaths), hiddenFields: hidden };
}

/** JSON pointers of the first differences; empty exactly when both values are equal. */
function differingPaths(a: Json, b: Json): readonly string[] {
  const paths: string[] = [];
  const visit = (left: Json | undefined, right: Json | undefined, path: ValuePath | undefined): void => {
    if (paths.length >= maxPaths || left === right) return;
    if (isObject(left) && isObject(right)) {
      for (const key of Object.keys(left)) visit(left[key], ownMember(right, key), { parent: path, step: key });
      for (const key of Object.keys(right))
        if (!Object.hasOwn(left, key)) visit(undefined, right[key], { parent: path, step: key });
    } else if (isList(left) && isList(right) && left.length === right.length)
      for (const [i, item] of left.entries()) visit(item, right[i], { parent: path, step: i });
    else if (!deepEqual(left, right)) paths.push(formatPointer(stepsToPath(path).map(String)));
  };
  visit(a, b, undefined);
  return paths;
}
