import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import { generatorOptions } from './options.ts';

describe('generatorOptions', () => {
  it('reads the versions of Kustomize with their binaries and build options', () => {
    const raw = {
      'kustomize.buildOptions': '--enable-helm',
      'kustomize.buildOptions.v5.2': '--own',
      'kustomize.path.v5.1': '/k/5.1',
      'kustomize.version.v5.2': '/k/5.2',
    };
    expect(generatorOptions({ ...defaultSettings, raw })).toMatchObject({
      kustomizeBuildOptions: '--enable-helm',
      kustomizeVersions: { 'v5.1': '/k/5.1', 'v5.2': '/k/5.2' },
      kustomizeVersionOptions: { 'v5.2': '--own' },
    });
  });
});
