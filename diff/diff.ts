import { deepEqual, hashJson } from '#base';
import type { KubeObject, Settings } from '#model';
import { predictApply } from './apply.ts';
import type { DiffResult, DiffRules } from './types.ts';

export function diffObjects(target: KubeObject | null, live: KubeObject | null, _rules: DiffRules): DiffResult {
  void rules;
  if (target === null || live === null)
    return { modified: live === null, normalizedLive: live, predictedLive: target, paths: [] };
  const predictedLive = predictApply(target, live);
  return {
    modified: !deepEqual(predictedLive as never, live as never),
    normalizedLive: live,
    predictedLive,
    paths: [],
  };
}

export function fingerprint(object: KubeObject, settings: Settings): string {
  void settings;
  return hashJson(object as never);
}

export interface MaskedPair {
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
}

export function maskSecrets(
  target: KubeObject | null,
  live: KubeObject | null,
  annotationKeys: readonly string[],
): MaskedPair {
  void annotationKeys;
  return { target, live };
}
