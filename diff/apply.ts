import { applyMergePatch, createMergePatch } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';

export interface ApplyPatch {
  readonly type: 'strategic' | 'merge';
  readonly body: JsonObject;
}

export function clientSideApplyPatch(target: KubeObject, live: KubeObject): ApplyPatch | undefined {
  const merged = applyMergePatch(live as never, target as never) as JsonObject;
  const body = createMergePatch(live as never, merged);
  return body === undefined ? undefined : { type: 'merge', body };
}

export function predictApply(target: KubeObject, live: KubeObject): KubeObject {
  const patch = clientSideApplyPatch(target, live);
  return patch === undefined ? live : (applyMergePatch(live as never, patch.body) as unknown as KubeObject);
}
