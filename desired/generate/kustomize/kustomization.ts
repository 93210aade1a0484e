import { formatYaml, isObject, messageOf, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { DesiredError, UnsupportedSource } from '../../errors.ts';
import { decidingText } from '../../fetch/files/snapshot.ts';
import type { Snapshot } from '../../fetch/files/snapshot.ts';
import { checkMetadataSize, parseSmallYaml } from '../small-yaml.ts';
import { textOf } from '../options.ts';
import { inflatedCharts, inflatedChart, oldChartFieldNames } from './inflated-charts.ts';
import { checkConfigFile, checkedConfigs, filePath, inlineDocuments, keyedPath, texts } from './plugin-configs.ts';
import { goNames, withGoNames } from '../go-fields.ts';
import {
  isWebFile,
  localPath,
  overlayName,
  remotePattern,
  stagedFolder,
  webFile,
  webPattern,
} from './overlay-scope.ts';
import type { KustomizationScope, OverlayContext } from './overlay-scope.ts';
import { baseLists } from './remote-bases.ts';
import { kustomizationNames } from '../source-type.ts';

/** Lists whose items are files, or inline content. */
const fileLists = ['crds', 'configurations', 'patchesStrategicMerge'] as const;
/** Lists of plugin configurations: files, directories to build, or inline. */
const configLists = ['generators', 'transformers', 'validators'] as const;
/** Lists of objects with fields that name files. */
const nestedFiles: readonly (readonly [list: string, fields: readonly string[]])[] = [
  ['patches', ['path']],
  ['patchesJson6902', ['path']],
  ['replacements', ['path']],
  ['configMapGenerator', ['envs', 'env']],
  ['secretGenerator', ['envs', 'env']],
];
const fieldNames = goNames([
  ...['apiVersion', 'kind', 'metadata', 'openapi', 'namePrefix', 'nameSuffix', 'namespace', 'commonLabels', 'labels'],
  ...['commonAnnotations', 'patchesStrategicMerge', 'patchesJson6902', 'patches', 'images', 'imageTags'],
  ...['replacements', 'replicas', 'vars', 'sortOptions', 'resources', 'components', 'crds', 'bases'],
  ...['configMapGenerator', 'secretGenerator', 'helmGlobals', 'helmCharts', 'helmChartInflationGenerator'],
  ...['generatorOptions', 'configurations', 'generators', 'transformers', 'validators', 'buildMetadata', 'inventory'],
]);
/**
 * The fields that the kustomization of a configuration directory may have: none that can create new
 * paths.
 */
const plainFields = new Set([
  ...['apiVersion', 'kind', 'metadata', 'resources', 'bases', 'namespace', 'namePrefix', 'nameSuffix'],
  ...['labels', 'commonLabels', 'commonAnnotations'],
]);
const nestedNames = goNames([
  ...['path', 'files', 'envs', 'env', 'name', 'version', 'repo', 'releaseName', 'valuesFile', 'chartHome'],
  ...['additionalValuesFiles', 'configHome', 'chartName', 'chartVersion', 'chartRepoUrl', 'values', 'helmHome'],
  ...['helmBin', 'extraArgs', 'nameTemplate'],
]);

interface OverlayFolder {
  readonly segments: readonly string[];
  /** Its resources are plugin configurations. */
  readonly isConfig: boolean;
}

/**
 * Selects the files of an overlay: its directory, and those of its bases, components and files
 * anywhere in the repository. kustomize gets each kustomization as it was parsed here, so it cannot
 * read it differently. Refuses anything that would have to be downloaded, or that lies outside the
 * repository.
 * @throws UnsupportedSource, SourcePathError, DesiredError
 */
export async function selectKustomization(
  scope: KustomizationScope,
  segments: readonly string[],
  patches: readonly JsonObject[] = [],
  isConfig = false,
): Promise<void> {
  const todo: OverlayFolder[] = [{ segments, isConfig }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const here = scope.selection.realPath(next.segments);
    scope.selection.add(next.segments);
    if (here === undefined || !scope.replaced.isFirstVisit(stagedFolder({ scope, here }), next.isConfig)) continue;
    const read = await readKustomization(scope, here);
    if (read === undefined) continue;
    const file = next.segments === segments ? withPatches(read.file, patches, read.name) : read.file;
    const rewriting = new KustomizationRewriter({ scope, here }, next.isConfig);
    const text = formatYaml(await rewriting.file(file));
    scope.replaced.set(`${stagedFolder({ scope, here })}/${read.name}`, text);
    todo.push(...rewriting.folders);
  }
}

function withPatches(file: JsonObject, patches: readonly JsonObject[], name: string): JsonObject {
  if (patches.length === 0) return file;
  const before: Json = ownMember(file, 'patches') ?? [];
  if (!Array.isArray(before))
    throw new DesiredError('DESIRED_SOURCE', `${name}: its patches are not a list`, { retry: 'never' });
  const added = patches.map((patch) => withGoNames(patch, nestedNames, 'a patch of the source'));
  return { ...file, patches: [...(before as readonly Json[]), ...added] };
}

/** Rewrites one kustomization for the staging folder. */
class KustomizationRewriter {
  readonly folders: OverlayFolder[] = [];
  readonly #place: OverlayContext;
  readonly #isConfig: boolean;

  constructor(place: OverlayContext, isConfig: boolean) {
    this.#place = place;
    this.#isConfig = isConfig;
  }

  async file(file: JsonObject): Promise<JsonObject> {
    const where = overlayName(this.#place.here);
    const unknown = Object.keys(file).find((key) => this.#isConfig && !plainFields.has(key));
    if (unknown !== undefined)
      throw new UnsupportedSource(`${where}, whose resources are configurations, has the field "${unknown}"`);
    const made: Record<string, Json> = {};
    for (const [key, value] of Object.entries(file)) made[key] = value ?? null;
    for (const list of baseLists)
      if (Object.hasOwn(made, list)) made[list] = await this.#each(made[list], (t) => this.#base(t, list));
    for (const list of configLists)
      if (Object.hasOwn(made, list)) made[list] = await this.#each(made[list], (t) => this.#config(t));
    for (const list of fileLists)
      if (Object.hasOwn(made, list)) made[list] = texts(made[list], (text) => this.#fileOrContent(text));
    for (const [list, fields] of nestedFiles) this.#nested(made, list, (entry) => this.#withFiles(entry, fields));
    for (const list of ['configMapGenerator', 'secretGenerator'])
      this.#nested(made, list, (entry) => replacedField(entry, 'files', (text) => keyedPath(this.#place, text)));
    const { openapi } = made;
    if (openapi !== undefined && isObject(openapi))
      made['openapi'] = replacedField(openapi, 'path', (text) => filePath(this.#place, text));
    if (this.#place.scope.helm) this.#charts(made);
    return made;
  }

  #charts(made: Record<string, Json>): void {
    Object.assign(made, inflatedCharts(this.#place, made));
    this.#nested(made, 'helmChartInflationGenerator', (entry) => {
      const written = textOf(entry, 'chartHome') || 'charts';
      const { chart, home } = inflatedChart(this.#place, entry, { names: oldChartFieldNames, home: written });
      return home === written ? chart : { ...chart, chartHome: home };
    });
  }

  #withFiles(entry: JsonObject, fields: readonly string[]): JsonObject {
    return fields.reduce((one, field) => replacedField(one, field, (text) => filePath(this.#place, text)), entry);
  }

  #nested(made: Record<string, Json>, list: string, change: (entry: JsonObject) => JsonObject): void {
    const entries = made[list];
    if (!Array.isArray(entries)) return;
    made[list] = (entries as readonly Json[]).map((entry) => {
      if (isObject(entry)) return change(entry);
      // In its older form, `patches` is a list of files.
      return typeof entry === 'string' && list === 'patches' ? this.#fileOrContent(entry) : entry;
    });
  }

  async #each(value: Json | undefined, change: (text: string) => Promise<string>): Promise<Json> {
    if (!Array.isArray(value)) return value ?? null;
    const made: Json[] = [];
    for (const entry of value as readonly Json[]) made.push(typeof entry === 'string' ? await change(entry) : entry);
    return made;
  }

  async #base(text: string, list: (typeof baseLists)[number]): Promise<string> {
    const { scope, here } = this.#place;
    if (text === '') return text;
    // A configuration would have to be checked before it is used.
    if (list === 'resources' && !this.#isConfig && isWebFile(text)) return webFile(this.#place, text);
    if (isRemoteBase(scope.snapshot, here, text)) return this.#remoteBase(text);
    const path = localPath(this.#place, text);
    if (path.found?.node.kind === 'directory') this.folders.push({ segments: path.found.at, isConfig: this.#isConfig });
    else if (path.found !== undefined && this.#isConfig)
      await checkConfigFile(this.#place, path.found.at, this.#staged(path.text));
    return path.text;
  }

  async #remoteBase(text: string): Promise<string> {
    const { scope, here } = this.#place;
    const { path, base, segments } = await scope.remotes.add(
      { folder: scope.folder, segments: here },
      text,
      scope.signal,
    );
    const { snapshot, selection, folder } = base;
    await selectKustomization({ ...scope, snapshot, selection, folder }, segments, [], this.#isConfig);
    return path;
  }

  /** Returns an inline configuration as it was parsed. */
  async #config(text: string): Promise<string> {
    const documents = inlineDocuments(this.#place, text);
    if (documents !== undefined) return checkedConfigs(this.#place, documents);
    const path = localPath(this.#place, text);
    if (path.found === undefined)
      throw new DesiredError('DESIRED_RENDER', `${overlayName(this.#place.here)}: there is no configuration "${text}"`);
    if (path.found.node.kind === 'directory') this.folders.push({ segments: path.found.at, isConfig: true });
    else await checkConfigFile(this.#place, path.found.at, this.#staged(path.text));
    return path.text;
  }

  #staged(text: string): string {
    const segments: string[] = [];
    for (const segment of `${stagedFolder(this.#place)}/${text}`.split('/'))
      if (segment === '..') segments.pop();
      else if (segment !== '' && segment !== '.') segments.push(segment);
    return segments.join('/');
  }

  #fileOrContent(text: string): string {
    if (!webPattern.test(text) && inlineDocuments(this.#place, text) !== undefined) return text;
    return filePath(this.#place, text);
  }
}

function replacedField(object: JsonObject, field: string, change: (text: string) => string): JsonObject {
  const value = ownMember(object, field);
  return value === undefined ? object : { ...object, [field]: texts(value, change) };
}

/** Whether a base is not in this repository, but may be in another one. */
function isRemoteBase(snapshot: Snapshot, here: readonly string[], text: string): boolean {
  if (webPattern.test(text)) return true;
  if (!remotePattern.test(text) || text.startsWith('/')) return false;
  return snapshot.tree.lookup([...here, ...text.split('/')]).kind !== 'found';
}

/** The name of a directory's kustomization; of several, the one that kustomize would use. */
export function kustomizationName(snapshot: Snapshot, segments: readonly string[]): string | undefined {
  for (const name of kustomizationNames) {
    const found = snapshot.tree.lookup([...segments, name]);
    if (found.kind === 'found' && found.node.kind === 'file') return name;
  }
  return undefined;
}

/** Undefined if it is missing or empty: kustomize reports that best. */
async function readKustomization(
  { snapshot, signal }: KustomizationScope,
  here: readonly string[],
): Promise<{ readonly file: JsonObject; readonly name: string } | undefined> {
  const name = kustomizationName(snapshot, here);
  const found = name === undefined ? undefined : snapshot.tree.lookup([...here, name]);
  if (name === undefined || found?.kind !== 'found' || found.node.kind !== 'file') return undefined;
  const shown = [...here, name].join('/');
  checkMetadataSize(found.node, [...here, name]);
  const text = await decidingText(snapshot, { file: found.node, folder: here }, signal);
  const [value] = documentsOf(text, shown);
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw new DesiredError('DESIRED_RENDER', `${shown} cannot be read: it is not a map`);
  const file = withGoNames(value, fieldNames, overlayName(here));
  const unknown = Object.keys(file).find((key) => ![...fieldNames.values()].includes(key));
  if (unknown !== undefined)
    throw new DesiredError('DESIRED_RENDER', `${shown}: invalid Kustomization: json: unknown field "${unknown}"`);
  return { name, file: withNestedNames(file, here) };
}

function documentsOf(text: string, shown: string): readonly Json[] {
  try {
    return parseSmallYaml(text);
  } catch (error) {
    throw new DesiredError('DESIRED_RENDER', `${shown} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

const objectLists = [...nestedFiles.map(([list]) => list), 'helmCharts', 'helmChartInflationGenerator'];

function withNestedNames(file: JsonObject, here: readonly string[]): JsonObject {
  const made: Record<string, Json | undefined> = { ...file };
  for (const list of objectLists) {
    const entries = ownMember(file, list);
    if (!Array.isArray(entries)) continue;
    made[list] = (entries as readonly Json[]).map((entry) =>
      isObject(entry) ? withGoNames(entry, nestedNames, `an entry of ${list} in ${overlayName(here)}`) : entry,
    );
  }
  const { helmGlobals } = file;
  if (helmGlobals !== undefined && isObject(helmGlobals))
    made['helmGlobals'] = withGoNames(helmGlobals, nestedNames, overlayName(here));
  return made;
}
