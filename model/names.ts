import type { KubeObject } from './object.ts';

declare const appKeyBrand: unique symbol;
/**
 * `<namespace>/<name>` of an Application: queue key and informer key (Argo CD: controller,
 * toAppKey).
 */
export type AppKey = string & { readonly [appKeyBrand]: true };

export function appKey(namespace: string, name: string): AppKey {
  return `${namespace}/${name}` as AppKey;
}

export function appKeyOf(app: Pick<KubeObject, 'metadata'>): AppKey {
  return appKey(app.metadata.namespace ?? '', app.metadata.name ?? '');
}

/** Addresses an Application in requests to the API server. */
export function appNameOf({ metadata }: Pick<KubeObject, 'metadata'>): {
  readonly namespace: string;
  readonly name: string;
} {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

export function splitAppKey(key: AppKey): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/**
 * The name of an Application in tracking ids and Redis keys: `<name>` in the controller's own
 * namespace, `<namespace>_<name>` elsewhere (Argo CD: types.go InstanceName).
 */
export function instanceName(key: AppKey, controllerNamespace: string): string {
  const { namespace, name } = splitAppKey(key);
  return namespace === '' || namespace === controllerNamespace ? name : `${namespace}_${name}`;
}

/** The key of an instance name or a qualified name (Argo CD: toAppKey). */
export function appKeyOfInstance(instance: string, controllerNamespace: string): AppKey {
  if (instance.includes('/')) return instance as AppKey;
  if (instance.includes('_')) return instance.replaceAll('_', '/') as AppKey;
  return appKey(controllerNamespace, instance);
}

const labelName = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/;

/** Whether Kubernetes accepts the text as the key of a label. */
export function isLabelKey(key: string): boolean {
  const [name = '', prefix, ...more] = key.split('/').reverse();
  if (more.length > 0 || !labelName.test(name)) return false;
  if (prefix === undefined) return true;
  return prefix.length <= 253 && prefix.split('.').every((word) => /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(word));
}

/** Whether Kubernetes accepts the value of a label, which may be empty. */
export function isLabelValue(value: unknown): boolean {
  return value === '' || (typeof value === 'string' && labelName.test(value));
}
