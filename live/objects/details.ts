import { annotationOf, groupOf } from '#model';
import type { KubeObject, Settings } from '#model';
import { machineFacts } from './machine-facts.ts';
import type { MachineFacts } from './machine-facts.ts';
import { networkingOf } from './networking.ts';
import { podFacts } from './pod-facts.ts';
import type { PodFacts } from './pod-facts.ts';
import type { InfoItem, NetworkingInfo } from '../types.ts';

/** Details of an object that a tree shows, in the stored form. */
export interface ObjectDetails {
  readonly revision?: number;
  /** Custom labels and other items that need no further formatting. */
  readonly items?: readonly InfoItem[];
  readonly pod?: PodFacts;
  readonly machine?: MachineFacts;
  readonly networking?: NetworkingInfo;
}

/**
 * Undefined if there is nothing to show. Never throws for malformed objects. Like Argo CD's
 * controller/cache/info.go and util/resource/revision.go.
 */
export function detailsOf(object: KubeObject, customLabels: readonly string[]): ObjectDetails | undefined {
  const group = groupOf(object.apiVersion);
  const pod = group === '' && object.kind === 'Pod' ? podFacts(object) : undefined;
  const machine = group === '' && object.kind === 'Node' ? machineFacts(object) : undefined;
  const items = [...labelItems(object, customLabels), ...managedBy(object, group)];
  const revision = revisionOf(object);
  const networking = networkingOf(object, group);
  const details = {
    ...(revision === 0 ? {} : { revision }),
    ...(items.length === 0 ? {} : { items }),
    ...(pod === undefined ? {} : { pod }),
    ...(machine === undefined ? {} : { machine }),
    ...(networking === undefined ? {} : { networking }),
  };
  return Object.keys(details).length === 0 ? undefined : details;
}

/** The details as the UI shows them, in Argo CD's order. */
export function infoOf({ revision, items = [], pod }: ObjectDetails): readonly InfoItem[] {
  return [
    ...(revision === undefined ? [] : [item('Revision', `Rev:${revision}`)]),
    ...items,
    ...(pod === undefined ? [] : podItems(pod)),
  ];
}

/** Label names of `resource.customLabels` in argocd-cm. */
export function customLabelsOf(settings: Settings): readonly string[] {
  return (settings.raw['resource.customLabels'] ?? '').split(',').filter((name) => name !== '');
}

function podItems({ reason, node, ready, total, restarts, ended, requests }: PodFacts): InfoItem[] {
  const { cpu, memory } = ended ? {} : requests;
  return [
    ...(reason === '' ? [] : [item('Status Reason', reason)]),
    ...(node === '' ? [] : [item('Node', node)]),
    item('Containers', `${ready}/${total}`),
    ...(restarts > 0 ? [item('Restart Count', String(restarts))] : []),
    ...(cpu === undefined ? [] : [item('cpu', String(cpu))]),
    ...(memory === undefined ? [] : [item('memory', String(memory))]),
  ];
}

function labelItems(object: KubeObject, names: readonly string[]): InfoItem[] {
  const { labels = {} } = object.metadata;
  return names.flatMap((name) => (Object.hasOwn(labels, name) ? [item(name, String(labels[name]))] : []));
}

function managedBy(object: KubeObject, group: string): InfoItem[] {
  if (group !== 'argoproj.io' || object.kind !== 'Application') return [];
  const url = annotationOf(object, 'argocd.argoproj.io/managed-by-url') ?? '';
  return url === '' ? [] : [item('managed-by-url', url)];
}

function revisionOf(object: KubeObject): number {
  const text =
    annotationOf(object, 'deployment.kubernetes.io/revision') ?? annotationOf(object, 'rollout.argoproj.io/revision');
  const own = object['revision'];
  const revision = text === undefined ? own : Number(text);
  return typeof revision === 'number' && Number.isSafeInteger(revision) && revision > 0 ? revision : 0;
}

function item(name: string, value: string): InfoItem {
  return { name, value };
}
