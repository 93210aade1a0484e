import { omit } from '#base';
import type { KubeObject } from '#model';

/** Part of every secret value of this world: no output may contain it, plain or in base64. */
export const canary = 'canary';
const canaryBase64 = Buffer.from(canary).toString('base64').replace(/=+$/, '');

export function hasCanary(text: string): boolean {
  return text.includes(canary) || text.includes(canaryBase64);
}

export const namespace = 'apps';

/** The objects that an Application has in Git at first. */
export function firstObjects(app: string, isOwned: boolean): readonly KubeObject[] {
  return [
    ...(isOwned ? [ownedMap(app)] : []),
    configMap(`${app}-c0`, 'v0', { 'argocd.argoproj.io/sync-wave': '0' }),
    configMap(`${app}-c1`, 'v0', { 'argocd.argoproj.io/sync-wave': '1' }),
    configMap(`${app}-k0`, 'v0', { 'argocd.argoproj.io/sync-options': 'Prune=false' }),
    secret(`${app}-s0`, 'v0'),
    volumeClaim(`${app}-p0`),
    configMap(`${app}-h0`, 'v0', {
      'argocd.argoproj.io/hook': 'PostSync',
      'argocd.argoproj.io/hook-delete-policy': 'HookSucceeded',
    }),
    configMap(`${app}-h1`, 'v0', { 'argocd.argoproj.io/hook': 'PostSync' }),
  ];
}

export function configMap(name: string, value: string, annotations: Readonly<Record<string, string>> = {}): KubeObject {
  const metadata = Object.keys(annotations).length === 0 ? { name } : { name, annotations };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: value } };
}

/** A ConfigMap with a field that an ignore rule leaves to an operator. */
function ownedMap(app: string): KubeObject {
  return { ...configMap(`${app}-i0`, 'v0'), data: { [ownedKey]: 'git', key: 'v0' } };
}

const ownedKey = 'owned';
export const ownedRule = { 'resource.customizations.ignoreDifferences.all': `jsonPointers:\n- /data/${ownedKey}\n` };

/** The field that belongs to an operator; undefined: the object has none. */
export function ownedOf(object: KubeObject | undefined): unknown {
  return (object?.['data'] as Readonly<Record<string, unknown>> | undefined)?.[ownedKey];
}

function ownedMember(object: KubeObject): Readonly<Record<string, string>> {
  const value = ownedOf(object);
  return typeof value === 'string' ? { [ownedKey]: value } : {};
}

/** As an operator writes it. */
export function withOwned(object: KubeObject, value: string): KubeObject {
  return { ...object, data: { ...(object['data'] as object | undefined), [ownedKey]: value } };
}

function secret(name: string, value: string): KubeObject {
  const data = { key: secretValue(name, value) };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type: 'Opaque', data };
}

/** Kept when its Application is deleted. */
function volumeClaim(name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, annotations: { 'argocd.argoproj.io/sync-options': 'Delete=false,Prune=false' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
}

function secretValue(name: string, value: string): string {
  return Buffer.from(`${canary}-${name}-${value}`).toString('base64');
}

/** The object with another value. */
export function withValue(object: KubeObject, value: string): KubeObject {
  if (object.kind === 'ConfigMap') return { ...object, data: { ...ownedMember(object), key: value } };
  if (object.kind === 'Secret') return { ...object, data: { key: secretValue(object.metadata.name ?? '', value) } };
  return object;
}

/** Whether a wave may go on after the object. */
export function isReady({ kind, ...rest }: KubeObject): boolean {
  if (kind !== 'PersistentVolumeClaim') return true;
  return (rest as { readonly status?: { readonly phase?: string } }).status?.phase === 'Bound';
}

export function isHook(object: KubeObject): boolean {
  return object.metadata.annotations?.['argocd.argoproj.io/hook'] !== undefined;
}

/** Whether an object of this name is a hook, of the first objects of an Application. */
export function isHookName(name: string | undefined): boolean {
  return /^a\d+-h\d+$/.test(name ?? '');
}

export function waveOf(object: KubeObject): number {
  return Number(object.metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? '0');
}

export function hasSyncOption(object: KubeObject, option: string): boolean {
  return (object.metadata.annotations?.['argocd.argoproj.io/sync-options'] ?? '').split(',').includes(option);
}

/** The Application that an object belongs to by its name; undefined: it is foreign. */
export function appOfName(name: string | undefined): string | undefined {
  return /^(a\d+)-/.exec(name ?? '')?.[1];
}

export function trackedBy(object: KubeObject): string | undefined {
  return object.metadata.annotations?.['argocd.argoproj.io/tracking-id']?.split(':')[0];
}

/** The values of an object that Git decides, as text. */
export function valuesOf(object: object): string {
  const { data = {} } = object as { readonly data?: Readonly<Record<string, unknown>> };
  return JSON.stringify(omit(data, ownedKey));
}

export const resourceOf: Readonly<Record<string, string>> = {
  ConfigMap: 'configmaps',
  Secret: 'secrets',
  PersistentVolumeClaim: 'persistentvolumeclaims',
};
