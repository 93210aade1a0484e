/**
 * What a setting narrows: every write, or the fields of some kinds that are compared and written.
 * `nothing`: a value that cannot be read has its default, and is reported.
 */
type SettingEffect = 'every write' | 'kinds' | 'nothing';

/**
 * Every key of argocd-cm that the controller reads; a trailing `*` stands for any ending. A key
 * that matches several patterns has the effect of the first.
 */
export const settingKeys: Readonly<Record<SettingEffect, readonly string[]>> = {
  'every write': [
    'application.instanceLabelKey',
    'application.resourceTrackingMethod',
    'application.sync.impersonation.enabled',
    'application.sync.impersonation.enforced',
    'cluster.inClusterEnabled',
    'globalProjects',
    'installationID',
    'resource.exclusions',
    'resource.inclusions',
    'resource.respectRBAC',
  ],
  kinds: [
    'resource.compareoptions',
    'resource.customizations',
    'resource.customizations.ignoreDifferences*',
    'resource.customizations.knownTypeFields*',
  ],
  nothing: [
    'application.allowedNodeLabels',
    'commit.author.email',
    'commit.author.name',
    'helm.enable',
    'helm.valuesFileSchemes',
    'jsonnet.enable',
    'kustomize.buildOptions*',
    'kustomize.enable',
    'kustomize.path.*',
    'kustomize.version.*',
    'resource.customLabels',
    // Last, misspelt names of ignore rules included: the parser decides.
    'resource.customizations.*',
    'resource.excludeEventLabelKeys',
    'resource.ignoreResourceUpdatesEnabled',
    'resource.includeEventLabelKeys',
    'resource.sensitive.mask.annotations',
    'sourceHydrator.commitMessageTemplate',
  ],
};

/** Reports whether the controller reads a key: other programs' keys are neither kept nor shown. */
export function isOwnKey(key: string): boolean {
  return patterns.some((pattern) => (pattern.endsWith('*') ? key.startsWith(pattern.slice(0, -1)) : key === pattern));
}

const patterns = Object.values(settingKeys).flat();
