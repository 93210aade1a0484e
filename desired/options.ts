import type { Settings } from '#model';
import type { GeneratorOptions } from './types.ts';

const versionKey = /^kustomize\.(?:path|version)\.(.+)$/;

/** What argocd-cm says about the rendering of sources (Argo CD: util/settings GetKustomizeSettings, GetHelmSettings). */
export function generatorOptions({ raw, enabledSourceTypes }: Settings): GeneratorOptions {
  const versions: Record<string, string> = {};
  for (const [key, path] of Object.entries(raw)) {
    const version = versionKey.exec(key)?.[1];
    if (version !== undefined) versions[version] = path;
  }
  return {
    kustomizeBuildOptions: raw['kustomize.buildOptions'] ?? '',
    kustomizeVersions: versions,
    valuesFileSchemes: list(raw['helm.valuesFileSchemes'] ?? 'https,http'),
    enabledTypes: enabledSourceTypes,
  };
}

/** The key with nothing in it allows nothing. */
function list(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== '');
}
