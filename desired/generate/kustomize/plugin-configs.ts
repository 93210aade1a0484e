import { formatYaml, isObject, messageOf, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { sopsParts } from '../../decrypt/sops-file.ts';
import { DecryptionFailed, DesiredError } from '../../errors.ts';
import { checkMetadataSize, parseSmallYaml } from '../small-yaml.ts';
import { textOf } from '../options.ts';
import { refuseProgram } from './exec-plugins.ts';
import { chartFieldNames, inflatedChart } from './inflated-charts.ts';
import { goNames, withGoNames } from '../go-fields.ts';
import { localPath, overlayName, webFile, webPattern } from './overlay-scope.ts';
import type { OverlayContext } from './overlay-scope.ts';

/** Fields of generators, transformers and validators that name files. */
const fileFields = ['path', 'paths', 'env', 'envs', 'valuesFile', 'targetFilePath', 'argsFromFile'];
const configNames = goNames([
  ...fileFields,
  ...['files', 'replacements', 'additionalValuesFiles', 'name', 'version', 'repo', 'releaseName'],
  ...['nameTemplate', 'chartHome', 'configHome', 'items', 'kind', 'apiVersion', 'metadata'],
]);
const replacementNames = goNames(['path']);

/** The documents of an inline configuration. Undefined if the text names a file instead. */
export function inlineDocuments(place: OverlayContext, text: string): readonly Json[] | undefined {
  const documents = documentsIn(text, `an entry of ${overlayName(place.here)}`);
  return documents.some((document) => typeof document === 'object' && document !== null) ? documents : undefined;
}

/**
 * The configurations as kustomize reads them, after every file that they name was checked and
 * selected.
 */
export function checkedConfigs(place: OverlayContext, documents: readonly Json[]): string {
  return documents.map((document) => formatYaml(checkedConfig(place, document))).join('---\n');
}

/**
 * Replaces a file of configurations by its checked content.
 * @throws DecryptionFailed if it would be decrypted: its paths were checked before
 */
export async function checkConfigFile(place: OverlayContext, at: readonly string[], used: string): Promise<void> {
  const { snapshot, replaced, folder, signal } = place.scope;
  const found = snapshot.tree.lookup(at);
  if (found.kind !== 'found' || found.node.kind !== 'file') return;
  checkMetadataSize(found.node, at);
  const contents = await snapshot.read([found.node], signal);
  const text = Buffer.from(contents.get(found.node.oid) ?? []).toString('utf8');
  const checked = checkedConfigs(place, documentsIn(text, at.join('/')));
  if (sopsParts(used, Buffer.from(checked)) !== undefined)
    throw new DecryptionFailed(
      `${at.join('/')} is encrypted by SOPS, which is refused for a configuration of kustomize: write it in plain text, and encrypt the files that it names`,
    );
  replaced.set([folder, ...at].join('/'), checked);
  replaced.set(used, checked);
}

function documentsIn(text: string, shown: string): readonly Json[] {
  try {
    return parseSmallYaml(text, 'v3');
  } catch (error) {
    throw new DesiredError('DESIRED_RENDER', `${shown} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

function checkedConfig(place: OverlayContext, document: Json): Json {
  if (!isObject(document)) return document;
  const config = withGoNames(document, configNames, `a configuration of ${overlayName(place.here)}`);
  if (place.scope.withPlugins) refuseProgram(config, overlayName(place.here));
  const items = ownMember(config, 'items');
  if (Array.isArray(items)) return { ...config, items: items.map((item) => checkedConfig(place, item as Json)) };
  const checked: Record<string, Json | undefined> = { ...config };
  for (const field of fileFields)
    if (ownMember(config, field) !== undefined)
      checked[field] = texts(ownMember(config, field), (text) => filePath(place, text));
  if (ownMember(config, 'files') !== undefined)
    checked['files'] = texts(ownMember(config, 'files'), (text) => keyedPath(place, text));
  const replacements = ownMember(config, 'replacements');
  if (Array.isArray(replacements)) checked['replacements'] = replacements.map((one) => replacement(place, one as Json));
  return chartConfig(place, checked);
}

/**
 * Only `kind: HelmChartInflationGenerator` is a chart. Without `apiVersion: builtin` it is another
 * plugin.
 */
function chartConfig(place: OverlayContext, config: JsonObject): JsonObject {
  if (textOf(config, 'kind') !== 'HelmChartInflationGenerator' || !place.scope.helm) return config;
  const written = textOf(config, 'chartHome') || 'charts';
  const { chart, home } = inflatedChart(place, config, { names: chartFieldNames, home: written });
  return { ...chart, chartHome: home };
}

function replacement(place: OverlayContext, value: Json): Json {
  if (!isObject(value)) return value;
  const one = withGoNames(value, replacementNames, `a replacement of ${overlayName(place.here)}`);
  const path = ownMember(one, 'path');
  return typeof path === 'string' ? { ...one, path: filePath(place, path) } : one;
}

/** A file of the repository or of another server, or inline content. */
export function filePath(place: OverlayContext, text: string): string {
  if (text === '' || text.includes('\n')) return text;
  return webPattern.test(text) ? webFile(place, text) : localPath(place, text).text;
}

/** Generators may name a key: "key=file". */
export function keyedPath(place: OverlayContext, text: string): string {
  const at = text.indexOf('=') + 1;
  const path = text.slice(at);
  return text.slice(0, at) + (webPattern.test(path) ? webFile(place, path) : localPath(place, path).text);
}

/** Replaces a text, or each item of a list. */
export function texts(value: Json | undefined, replace: (text: string) => string): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => texts(item, replace));
  return typeof value === 'string' ? replace(value) : (value ?? null);
}
