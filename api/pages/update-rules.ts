import { outsideText } from '#base';
import type { ChangedObject, ChangeSet, PathStep } from '#live';
import { parseResourceKey } from '#model';
import type { UpdateRule } from '../types.ts';

type Path = readonly PathStep[];

/** What a rule of `ignoreResourceUpdates` may hide. */
const maxRulePaths = 12;
const maxNamedPaths = 5;
const maxStatusPaths = 6;
const status: Path = ['status'];

/**
 * Proposes a rule of `ignoreResourceUpdates` for each kind whose objects change too often, and
 * counts the recorded changes that it would have hidden. Pure. Proposes fields below `status`, and
 * annotations that are not Argo CD's: hidden updates of other fields would hide drift until the
 * next resync.
 */
export function proposeUpdateRules(server: string, objects: readonly ChangedObject[]): readonly UpdateRule[] {
  const kinds = new Map<string, ChangedObject[]>();
  for (const object of objects) {
    const { group, kind } = parseResourceKey(object.key);
    const id = `${group}_${kind}`;
    kinds.set(id, [...(kinds.get(id) ?? []), object]);
  }
  return [...kinds.values()].map((own) => proposalFor(server, own)).sort((a, b) => b.saved - a.saved);
}

function proposalFor(server: string, objects: readonly ChangedObject[]): UpdateRule {
  const { group, kind } = parseResourceKey(objects[0]?.key ?? ('' as ChangedObject['key']));
  const sets = objects.flatMap((object) => object.sets);
  const changes = sumOf(sets) + objects.reduce((sum, { unrecorded }) => sum + unrecorded, 0);
  const paths = rulePaths(sets);
  const hidden = sets.filter((set) => isHidden(set, paths));
  const other = new Set(sets.flatMap((set) => set.paths.filter((path) => !isProposable(path)).map(shownPath)));
  return {
    server,
    group,
    kind,
    objects: objects.length,
    changes,
    saved: sumOf(hidden),
    setting: `resource.customizations.ignoreResourceUpdates.${group === '' ? '' : `${group}_`}${kind}`,
    jsonPointers: paths.filter(isPointer).map(pointerOf),
    jqPathExpressions: paths.filter((path) => !isPointer(path)).map(expressionOf),
    notProposed: [...other].sort().slice(0, maxNamedPaths),
  };
}

/** The paths that hide the most, in the order of what they hide. */
function rulePaths(sets: readonly ChangeSet[]): readonly Path[] {
  const proposable = sets.filter((set) => !set.changesHealth && set.paths.every(isProposable));
  const sorted = proposable.toSorted((a, b) => b.changes - a.changes || a.paths.length - b.paths.length);
  let chosen: readonly Path[] = [];
  for (const { paths } of sorted) {
    const together = outermost([...chosen, ...paths]);
    const inStatus = together.filter((path) => path[0] === 'status').length;
    const next = inStatus > maxStatusPaths ? outermost([...together, status]) : together;
    if (next.length <= maxRulePaths) chosen = next;
  }
  return chosen;
}

function isProposable(path: Path): boolean {
  if (path[0] === 'status') return true;
  const [first, second, name, ...more] = path;
  return (
    first === 'metadata' &&
    second === 'annotations' &&
    typeof name === 'string' &&
    !name.startsWith('argocd.argoproj.io/') &&
    more.length === 0
  );
}

function isHidden({ paths, changesHealth }: ChangeSet, rule: readonly Path[]): boolean {
  return !changesHealth && paths.every((path) => rule.some((outer) => isWithin(path, outer)));
}

function isWithin(path: Path, outer: Path): boolean {
  return outer.length <= path.length && outer.every((step, i) => step === path[i]);
}

/** Without paths that lie within another one. */
function outermost(paths: readonly Path[]): readonly Path[] {
  return paths.filter(
    (path, i) => !paths.some((other, j) => i !== j && isWithin(path, other) && (!isWithin(other, path) || j < i)),
  );
}

function sumOf(sets: readonly ChangeSet[]): number {
  return sets.reduce((sum, { changes }) => sum + changes, 0);
}

function isPointer(path: Path): boolean {
  return !path.includes(null);
}

function pointerOf(path: Path): string {
  return path.map((step) => `/${(step ?? '').replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function expressionOf(path: Path): string {
  return path
    .map((step) => (step === null ? '[]?' : /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `.${JSON.stringify(step)}`))
    .join('');
}

function shownPath(path: Path): string {
  return outsideText('page', pointerOf(path.map((step) => step ?? '*')));
}
