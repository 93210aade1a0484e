import { isObject, messageOf, ownMember } from '#base';
import type { JsonObject } from '#base';
import { DesiredError, SourcePathError } from '../../errors.ts';
import type { Selection } from '../../fetch/files/selection.ts';
import { decidingText } from '../../fetch/files/snapshot.ts';
import type { Snapshot } from '../../fetch/files/snapshot.ts';
import { listOf, textOf } from '../options.ts';
import { checkMetadataSize, parseSmallYaml } from '../small-yaml.ts';

export interface ChartDependency {
  readonly name: string;
  /** A URL, `@name`, `alias:name`, `file://path`; "" for a chart in charts/. */
  readonly repository: string;
}

/**
 * Selects the directory of a chart, and those of the charts that it names by `file://`,
 * recursively.
 * @returns their dependencies, from Chart.yaml and requirements.yaml
 * @throws DesiredError if a Chart.yaml is missing or cannot be read; SourcePathError
 */
export async function selectChart(
  snapshot: Snapshot,
  selection: Selection,
  segments: readonly string[],
  signal: AbortSignal,
): Promise<readonly ChartDependency[]> {
  const todo: (readonly string[])[] = [segments];
  const seen = new Set<string>();
  const all: ChartDependency[] = [];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const id = next.join('/');
    if (seen.has(id)) continue;
    seen.add(id);
    selection.add(next);
    for (const dependency of await dependenciesOf(snapshot, next, next === segments, signal)) {
      all.push(dependency);
      const path = /^file:\/\/(.*)$/.exec(dependency.repository)?.[1];
      if (path !== undefined) todo.push(localDependencyFolder(snapshot, next, path));
    }
  }
  return all;
}

async function dependenciesOf(
  snapshot: Snapshot,
  segments: readonly string[],
  isRequired: boolean,
  signal: AbortSignal,
): Promise<readonly ChartDependency[]> {
  const chart = await readYaml(snapshot, [...segments, 'Chart.yaml'], signal);
  if (chart === undefined && isRequired)
    throw new DesiredError(
      'DESIRED_RENDER',
      `${segments.join('/') || '.'}: Chart.yaml is missing: without it, the directory is no Helm chart`,
    );
  const requirements = await readYaml(snapshot, [...segments, 'requirements.yaml'], signal);
  return [chart, requirements]
    .flatMap((file) => (file === undefined ? [] : listOf(file, 'dependencies')))
    .map((one) => ({ name: textOf(one, 'name'), repository: textOf(one, 'repository') }));
}

/** A file of a chart, which must be a map. Undefined if it does not exist. @throws DesiredError */
export async function readYaml(
  snapshot: Snapshot,
  segments: readonly string[],
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const found = snapshot.tree.lookup(segments);
  if (found.kind !== 'found' || found.node.kind !== 'file') return undefined;
  checkMetadataSize(found.node, segments);
  const text = await decidingText(snapshot, { file: found.node, folder: segments.slice(0, -1) }, signal);
  const shown = segments.join('/');
  try {
    const [value] = parseSmallYaml(text);
    if (value !== undefined && isObject(value)) return value;
  } catch (error) {
    throw new DesiredError('DESIRED_RENDER', `${shown} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  throw new DesiredError('DESIRED_RENDER', `${shown} cannot be read: it is not a map`);
}

/** The folder of a dependency by path. @throws SourcePathError if it is outside the repository */
export function localDependencyFolder(snapshot: Snapshot, base: readonly string[], path: string): readonly string[] {
  const segments = [...base, ...path.split('/')];
  const isOut = path.startsWith('/') || snapshot.tree.lookup(segments).kind === 'outside';
  if (isOut)
    throw new SourcePathError(`${base.join('/') || '.'}: the dependency "file://${path}" leads out of the repository`);
  const clean: string[] = [];
  for (const segment of segments) {
    if (segment === '..') clean.pop();
    else if (segment !== '' && segment !== '.') clean.push(segment);
  }
  return clean;
}

/**
 * The inline values: `valuesObject`, or the text of `values`. Both must be maps, checked before
 * helm sees them. Undefined if neither is set.
 */
export function checkValues(options: JsonObject): JsonObject | string | undefined {
  const object = ownMember(options, 'valuesObject');
  if (object !== undefined && object !== null) {
    if (isObject(object)) return object;
    throw notAMap('valuesObject');
  }
  const text = textOf(options, 'values');
  if (text === '') return undefined;
  let values;
  try {
    values = parseSmallYaml(text);
  } catch (error) {
    throw new DesiredError('DESIRED_SOURCE', `helm.values cannot be read: ${messageOf(error)}`, { retry: 'never' });
  }
  if (values[0] !== undefined && values[0] !== null && !isObject(values[0])) throw notAMap('values');
  return text;
}

function notAMap(member: string): DesiredError {
  return new DesiredError('DESIRED_SOURCE', `helm.${member} must be a map of values`, { retry: 'never' });
}
