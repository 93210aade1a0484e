import { at, isObject, messageOf, own } from '#base';
import type { Json, JsonObject } from '#base';
import { DesiredError, SourcePathError, UnsupportedSource } from '../errors.ts';
import type { Selection } from '../fetch/selection.ts';
import type { Snapshot } from '../fetch/snapshot.ts';
import { checkDescription } from './chart.ts';
import { textOf, wordsOf } from './options.ts';
import { baseLists } from './remote-bases.ts';
import type { RemoteBases } from './remote-bases.ts';
import { kustomizations } from './source-type.ts';
import { parseSmallYaml } from './manifest-reader.ts';

/** Members of a kustomization whose texts are files, directories or addresses. */
const lists = [
  'resources',
  'bases',
  'components',
  'crds',
  'configurations',
  'generators',
  'transformers',
  'validators',
  'patchesStrategicMerge',
] as const;
/** The same, where they lie deeper. */
const nested = [
  ['patches', 'path'],
  ['patchesJson6902', 'path'],
  ['replacements', 'path'],
  ['helmCharts', 'valuesFile'],
  ['helmCharts', 'additionalValuesFiles'],
  ['helmChartInflationGenerator', 'values'],
  ['configMapGenerator', 'files'],
  ['configMapGenerator', 'envs'],
  ['configMapGenerator', 'env'],
  ['secretGenerator', 'files'],
  ['secretGenerator', 'envs'],
  ['secretGenerator', 'env'],
] as const;

const remote =
  /:\/\/|^git@|^git::|^gh:|^(?:www\.)?(?:github\.com|bitbucket\.org|gitlab\.com|dev\.azure\.com)[/:]|^[\w.-]+@[\w.-]+:|[?&]ref=/i;

export interface KustomizationScope {
  readonly snapshot: Snapshot;
  readonly selection: Selection;
  /** Helm charts may be inflated. */
  readonly helm: boolean;
  /** Where the snapshot will lie in the folder of the render. */
  readonly folder: string;
  readonly remotes: RemoteBases;
  readonly signal: AbortSignal;
}

/**
 * Selects what an overlay needs: its directory, and those of its bases, components and files, wherever in the repository they are. What would
 * have to be downloaded, and what leads out of the repository, is refused here: kustomize is given no way to either.
 * @throws UnsupportedSource, SourcePathError, DesiredError
 */
export async function selectKustomization(scope: KustomizationScope, segments: readonly string[]): Promise<void> {
  const todo: (readonly string[])[] = [segments];
  const seen = new Set<string>();
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const id = next.join('/');
    if (seen.has(id)) continue;
    seen.add(id);
    scope.selection.add(next);
    const file = await readKustomization(scope, next);
    if (file === undefined) continue;
    if (scope.helm) requireCharts(scope, next, file);
    const remotes = remoteBasesOf(scope, next, file);
    for (const path of pathsOf(file)) {
      const found = remotes.has(path) ? undefined : selected(scope, next, path);
      if (found !== undefined) todo.push(found);
    }
    for (const text of remotes) await selectRemote(scope, next, text);
  }
}

/** What it names that is not in the repository, but may be in another one. */
function remoteBasesOf(scope: KustomizationScope, base: readonly string[], file: JsonObject): ReadonlySet<string> {
  const texts = baseLists.flatMap((list) => wordsOf(file, list));
  return new Set(
    texts.filter((text) => {
      if (!remote.test(text) || text.includes('\n') || text.startsWith('/')) return false;
      return scope.snapshot.tree.lookup([...base, ...text.split('/')]).kind !== 'found';
    }),
  );
}

async function selectRemote(scope: KustomizationScope, segments: readonly string[], text: string): Promise<void> {
  const found = await scope.remotes.add({ folder: scope.folder, segments }, text, scope.signal);
  if (!found.isNew) return;
  const { snapshot, selection, folder } = found.base;
  await selectKustomization({ ...scope, snapshot, selection, folder }, found.segments);
}

/** The name of the kustomization of a directory: of several, the first that kustomize would take. */
export function kustomizationName(snapshot: Snapshot, segments: readonly string[]): string | undefined {
  for (const name of kustomizations) {
    const found = snapshot.tree.lookup([...segments, name]);
    if (found.kind === 'found' && found.node.kind === 'file') return name;
  }
  return undefined;
}

/** Undefined where there is none, or none that is an object: kustomize says best what is wrong with it. */
async function readKustomization(
  { snapshot, signal }: KustomizationScope,
  segments: readonly string[],
): Promise<JsonObject | undefined> {
  const name = kustomizationName(snapshot, segments);
  const found = name === undefined ? undefined : snapshot.tree.lookup([...segments, name]);
  if (found?.kind !== 'found' || found.node.kind !== 'file') return undefined;
  const { oid } = found.node;
  checkDescription(found.node, [...segments, name ?? '']);
  const text = Buffer.from((await snapshot.read([found.node], signal)).get(oid) ?? []).toString('utf8');
  try {
    const [value] = parseSmallYaml(text);
    return value !== undefined && isObject(value) ? value : undefined;
  } catch (error) {
    throw new DesiredError('DESIRED_RENDER', `${[...segments, name].join('/')} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function pathsOf(file: JsonObject): string[] {
  const values: (Json | undefined)[] = lists.map((name) => own(file, name));
  for (const [list, member] of nested) {
    const entries = own(file, list);
    if (!Array.isArray(entries)) continue;
    for (const entry of entries as readonly Json[]) if (isObject(entry)) values.push(own(entry, member));
  }
  values.push(at(file, 'openapi', 'path'));
  const texts = values.flatMap((value): readonly (Json | undefined)[] =>
    Array.isArray(value) ? (value as readonly Json[]) : [value],
  );
  return (
    texts
      .filter((text): text is string => typeof text === 'string')
      // Generators name keys: "key=file".
      .map((text) => (/^[\w.-]+=/.test(text) && !remote.test(text) ? text.slice(text.indexOf('=') + 1) : text))
  );
}

/** Selects what a text of a kustomization means; the segments of it where that is there. */
function selected(scope: KustomizationScope, base: readonly string[], path: string): readonly string[] | undefined {
  // A patch or a transformer may be written out in place of a file's name.
  if (path === '' || path.includes('\n')) return undefined;
  const where = `the kustomization of ${base.join('/') || '.'}`;
  if (path.startsWith('/')) throw new SourcePathError(`${where}: the path "${path}" is absolute`);
  const segments = [...base, ...path.split('/')];
  const found = scope.snapshot.tree.lookup(segments);
  if (found.kind === 'outside') throw new SourcePathError(`${where}: the path "${path}" leads out of the repository`);
  if (found.kind === 'missing') {
    if (!remote.test(path)) return undefined;
    throw new UnsupportedSource(`${where} has a remote file ("${path.replace(/\/\/[^/@]*@/, '//')}")`);
  }
  scope.selection.add(segments);
  return normal(segments);
}

/** Charts that kustomize inflates must lie in the repository. */
function requireCharts(scope: KustomizationScope, base: readonly string[], file: JsonObject): void {
  const home = at(file, 'helmGlobals', 'chartHome');
  const charts = own(file, 'helmCharts');
  if (!Array.isArray(charts)) return;
  for (const chart of charts as readonly Json[]) {
    if (!isObject(chart)) continue;
    const [name, version] = [textOf(chart, 'name'), textOf(chart, 'version')];
    const folders = [name, `${name}-${version}/${name}`];
    const lies = folders.some((folder) => {
      const segments = [...base, ...(typeof home === 'string' ? home : 'charts').split('/'), ...folder.split('/')];
      scope.selection.add(segments.slice(0, base.length + 1));
      return scope.snapshot.tree.lookup(segments).kind === 'found';
    });
    if (!lies)
      throw new UnsupportedSource(
        `the kustomization of ${base.join('/') || '.'} has a Helm chart that is not in the repository ("${name}")`,
      );
  }
}

/** Segments without "." and "..", as far as there are no links in the way: only to recognise what was seen. */
function normal(segments: readonly string[]): readonly string[] {
  const clean: string[] = [];
  for (const segment of segments) {
    if (segment === '..') clean.pop();
    else if (segment !== '' && segment !== '.') clean.push(segment);
  }
  return clean;
}
