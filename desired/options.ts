import type { Settings } from '#model';
import type { GeneratorOptions } from './types.ts';

const versionOptionsKey = /^kustomize\.buildOptions\.(.+)$/;
const versionKey = /^kustomize\.(?:path|version)\.(.+)$/;

/**
 * The rendering options of argocd-cm (Argo CD: util/settings GetKustomizeSettings,
 * GetHelmSettings).
 */
export function generatorOptions({ raw, enabledSourceTypes }: Settings): GeneratorOptions {
  const versions: Record<string, string> = {};
  const versionOptions: Record<string, string> = {};
  for (const [key, value] of Object.entries(raw)) {
    const version = versionKey.exec(key)?.[1];
    if (version !== undefined) versions[version] = value;
    const optionsOf = versionOptionsKey.exec(key)?.[1];
    if (optionsOf !== undefined) versionOptions[optionsOf] = value;
  }
  return {
    kustomizeBuildOptions: raw['kustomize.buildOptions'] ?? '',
    kustomizeVersions: versions,
    ...(Object.keys(versionOptions).length === 0 ? {} : { kustomizeVersionOptions: versionOptions }),
    valuesFileSchemes: list(raw['helm.valuesFileSchemes'] ?? 'https,http'),
    enabledTypes: enabledSourceTypes,
  };
}

/** An empty key allows nothing. */
function list(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== '');
}
