import { goodCases } from '../corpus/index.ts';
import type { CorpusCase, CorpusSource, SourceFiles } from '../corpus/index.ts';
import { within } from '../corpus/case.ts';
import { directoryFiles, rootFiles } from './directory-options.ts';
import { helmFiles } from './helm-options.ts';
import { kustomizeFiles } from './kustomize-options.ts';
import type { SourceKind } from './option.ts';

/** A layout of the corpus with one source, whose options can change. */
export interface OptionLayout {
  readonly kind: SourceKind;
  readonly layout: CorpusCase;
  readonly source: CorpusSource;
}

/** Options mean the same for many objects: larger layouts would only take longer. */
const maxLayoutBytes = 100_000;

const jsonnet = (name: string, text: string): CorpusCase => ({ name, files: { 'main.jsonnet': text } });

/** Jsonnet whose objects show its arguments and variables. */
const jsonnetLayouts: readonly CorpusCase[] = [
  jsonnet(
    'options-arguments',
    "function(env='none', count=0) [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { env: env, count: std.toString(count) } }]\n",
  ),
  jsonnet(
    'options-variables',
    "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { site: std.toString(std.extVar('site')) } }\n",
  ),
  jsonnet('options-libraries', "local o = import 'option.libsonnet'; [o.map('a', { b: 'c' })]\n"),
];

const filesOf = { kustomize: kustomizeFiles, helm: helmFiles, directory: directoryFiles };

/** The layouts of the corpus that have one source in Git, with the files that options name. */
export function optionLayouts(): readonly OptionLayout[] {
  return [...goodCases, ...jsonnetLayouts].flatMap((one): OptionLayout[] => {
    const { files = {}, source = {} } = one;
    if (one.sources !== undefined || (source.at ?? 'git') !== 'git' || source.chart !== undefined) return [];
    const bytes = Object.values(files).reduce((sum, text) => sum + text.length, 0);
    if (bytes === 0 || bytes > maxLayoutBytes) return [];
    const folder = folderIn(one, source);
    if (folder === undefined) return [];
    const kind = kindOf(files, folder, source);
    const added = folder === '' ? filesOf[kind] : within(folder, filesOf[kind]);
    return [{ kind, layout: { ...one, files: { ...added, ...files } }, source }];
  });
}

/** The shared repository's case for the files at its root. */
export const rootCase: CorpusCase = { name: 'option-files', files: filesUnder('option-files/', rootFiles) };

function filesUnder(prefix: string, files: SourceFiles): SourceFiles {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [path.slice(prefix.length), text]));
}

/** The path of the source below the folder of its layout; undefined if it is elsewhere. */
function folderIn({ name }: CorpusCase, { path = name }: CorpusSource): string | undefined {
  if (path === name) return '';
  return path.startsWith(`${name}/`) ? path.slice(name.length + 1).replace(/^\.$/, '') : undefined;
}

function kindOf(files: SourceFiles, folder: string, source: CorpusSource): SourceKind {
  if (source.directory !== undefined) return 'directory';
  const has = (pattern: RegExp): boolean =>
    Object.keys(files).some((path) => path.startsWith(folder) && pattern.test(path.slice(folder.length)));
  if (has(/^\/?(?:kustomization\.ya?ml|Kustomization)$/)) return 'kustomize';
  return has(/^\/?Chart\.yaml$/) ? 'helm' : 'directory';
}
