import type { Application, OperationBlocker } from '../application-types.ts';
import { joined } from '../words/explanation.ts';
import { objectText } from '../words/object-text.ts';
import type { ObjectName } from '../types.ts';
import type { VerdictCause } from './causes.ts';

/** An Application as advice names it. */
export interface AdviceSubject extends Pick<
  Application,
  'namespace' | 'name' | 'project' | 'owner' | 'server' | 'clusterName'
> {
  readonly ownership: Pick<Application['ownership'], 'pinnedTo'>;
  readonly waiting?: Application['waiting'];
  readonly lastOperation?: Application['lastOperation'];
}

export interface AdviceTerms {
  /** Where the controller and its settings are. */
  readonly controllerNamespace: string;
  /** Whether `argocd` has a server to talk to. */
  readonly hasArgoServer: boolean;
  /** The object that is to blame. */
  readonly object?: ObjectName | undefined;
}

interface AdviceFacts extends AdviceTerms {
  readonly subject: AdviceSubject;
  /** The object to blame, in words. */
  readonly what: string;
  readonly sync: string;
}

type Advice = string | ((facts: AdviceFacts) => string | undefined);

const renderIt = 'driftless manifests -f APPLICATION.yaml renders it on your machine';
const lookUp = 'Look up the message in docs/troubleshooting.md, "Conditions of an Application"';
const checkRepository = 'Check the URL, the network, and the credentials in the repository Secret of this URL';
const changeWindows: Advice = ({ subject: { project } }) => `Wait, or change spec.syncWindows of AppProject ${project}`;

/** The next step of a person for each cause. Causes that are not listed end by themselves. */
const advices: Readonly<Partial<Record<VerdictCause, Advice>>> = {
  'no-owner': ({ subject }) =>
    subject.ownership.pinnedTo === undefined
      ? 'Start the missing replica; driftless shards shows the shard of each cluster'
      : 'Start the replica of that shard, or change shard in the cluster Secret',
  settings: ({ controllerNamespace }) =>
    `Correct the key that the message names: kubectl -n ${controllerNamespace} edit configmap argocd-cm`,
  cluster: 'Check the address and the credentials in its cluster Secret, and the network to it',
  project: ({ subject: { project } }) =>
    `Create AppProject ${project} and permit the Application's namespace in it, or correct spec.project`,
  'source-denied': ({ subject: { project } }) =>
    `Add the repository to spec.sourceRepos of AppProject ${project}, or correct repoURL`,
  destination:
    'Correct spec.destination, or create a cluster Secret with this name and URL; driftless shards lists the clusters',
  'destination-denied': ({ subject: { project } }) =>
    `Permit the destination in spec.destinations of AppProject ${project}, or correct spec.destination`,
  spec: ({ subject: { namespace, name } }) =>
    `Correct the field that the message names: kubectl -n ${namespace} edit application ${name}`,
  credentials: checkRepository,
  repository: checkRepository,
  revision: 'Correct targetRevision in the source of the Application, or push the branch or tag',
  path: 'Correct path in the source of the Application, or commit the path to targetRevision',
  manifest: `Correct the file that the message names, and push; ${renderIt}`,
  signature: ({ subject: { project } }) => `Sign the commit, or permit its key in AppProject ${project}`,
  rendering: `Correct the source, and push; ${renderIt}`,
  renderer: ({ subject: { owner } }) =>
    `The source is not at fault: see the log of the renderer and of replica ${owner}`,
  kind: 'Read the kind with kubectl get; grant list and watch on it, or repair its webhook or API server',
  comparison: lookUp,
  deletion: 'Remove what the message names; docs/troubleshooting.md, "An Application is not deleted", has each case',
  'kind-missing': ({ what }) =>
    `Install the CustomResourceDefinition of ${what} in the cluster, or correct its apiVersion and kind in Git`,
  'kind-denied': ({ what, subject: { project } }) =>
    `Permit the kind in AppProject ${project} (clusterResourceWhitelist, namespaceResourceWhitelist), or remove ${what} from Git`,
  rights: ({ sync }) => `Grant the right to the account that the message names, then sync: ${sync}`,
  hook: ({ object, sync }) =>
    `${object === undefined ? 'Read the logs of the hook' : logsCommand(object)}; correct the hook and push, then sync: ${sync}`,
  object: ({ what, sync }) => `Correct ${what} in Git and push, or sync again: ${sync}`,
  operation: ({ sync }) => `Correct the cause, then sync: ${sync}`,
  contested: 'Stop the other writer, or add its fields to spec.ignoreDifferences',
  degraded: ({ object }) => (object === undefined ? undefined : describeCommand(object)),
  missing: ({ sync }) => `Sync, which creates it again: ${sync}`,
  error: lookUp,
  queue: ({ subject }) => queueAdvice(subject.owner, subject.waiting?.queue?.name ?? ''),
  'sync-off': ({ sync }) => `Sync: ${sync}; or switch automated sync on: spec.syncPolicy.automated`,
  'sync-held': changeWindows,
  listing: 'Wait for the first list; a big kind takes a while',
  'owner-silent': ({ controllerNamespace, subject: { owner } }) =>
    `kubectl -n ${controllerNamespace} get pod ${owner}; then driftless explain replica ${owner}`,
  stale: ({ subject, ...terms }) =>
    `driftless explain replica ${subject.owner} shows its queues; to compare now: ${refreshCommand(subject, terms)}`,
};

/** The next step in one line; undefined if there is none, or if the reason names it. */
export function adviceFor(cause: VerdictCause, subject: AdviceSubject, terms: AdviceTerms): string | undefined {
  const advice = advices[cause];
  if (typeof advice !== 'function') return advice;
  const what = terms.object === undefined ? 'the object' : objectText(terms.object);
  return advice({ ...terms, subject, what, sync: syncCommand(subject, terms) });
}

function queueAdvice(owner: string, queue: string): string {
  const flag = queue.includes('operation') ? '--operation-processors' : '--status-processors';
  return `See driftless explain replica ${owner}; if it lasts, raise ${flag} or add replicas`;
}

/** How to go on, or to end the sync, while something blocks it. */
export function blockerAdvice(
  subject: AdviceSubject,
  { type, object, culprit }: OperationBlocker,
  terms: AdviceTerms,
): string | undefined {
  const { retries = 0 } = subject.lastOperation ?? {};
  const end = `${terminateCommand(subject, terms)} ends the sync`;
  if (type === 'window') return `Wait, or change spec.syncWindows of AppProject ${subject.project}; ${end}`;
  if (type === 'retry') return `Correct the cause${retries > 0 ? ' before the retry' : ''}; ${end}`;
  const blamed = culprit ?? object;
  return blamed === undefined ? undefined : `${describeCommand(blamed)}; ${end}`;
}

function describeCommand(object: ObjectName): string {
  const { kind, group, namespace, name } = object;
  if (!isPlain(object)) return `Look at ${objectText(object)}`;
  return `kubectl${inNamespace(namespace)} describe ${kindArgument(kind, group)} ${name}`;
}

function logsCommand(object: ObjectName): string {
  const { kind, namespace, name } = object;
  if ((kind !== 'Job' && kind !== 'Pod') || !isPlain(object)) return describeCommand(object);
  const subject = kind === 'Pod' ? name : `job/${name}`;
  return `kubectl${inNamespace(namespace)} logs ${subject} --all-containers`;
}

/** Manifests that no API server has accepted may have any text: it must not become a command. */
function isPlain({ kind, group, namespace, name }: ObjectName): boolean {
  return [kind, group, namespace, name].every((part) => /^[\w.:-]*$/.test(part) && !part.startsWith('-'));
}

/** `deployment`, or `widget.example.com` where the kind alone may mean another one. */
function kindArgument(kind: string, group: string): string {
  return joined([kind.toLowerCase(), group.includes('.') ? group : undefined], '.');
}

function inNamespace(namespace: string): string {
  return namespace === '' ? '' : ` -n ${namespace}`;
}

type Named = Pick<AdviceSubject, 'namespace' | 'name'>;
type CommandTerms = Pick<AdviceTerms, 'hasArgoServer' | 'controllerNamespace'>;

function syncCommand(app: Named, terms: CommandTerms): string {
  return terms.hasArgoServer ? `argocd app sync ${argoName(app, terms)}` : `driftless sync ${ownName(app, terms)}`;
}

function terminateCommand(app: Named, terms: CommandTerms): string {
  return terms.hasArgoServer
    ? `argocd app terminate-op ${argoName(app, terms)}`
    : `driftless terminate ${ownName(app, terms)}`;
}

function refreshCommand(app: Named, terms: CommandTerms): string {
  return terms.hasArgoServer
    ? `argocd app get ${argoName(app, terms)} --refresh`
    : `driftless refresh ${ownName(app, terms)}`;
}

/** Argo CD's CLI takes names in its own namespace without it. */
function argoName({ namespace, name }: Named, { controllerNamespace }: CommandTerms): string {
  return namespace === controllerNamespace ? name : `${namespace}/${name}`;
}

/** Our commands look into the namespace `argocd` for a name without one. */
function ownName({ namespace, name }: Named, { controllerNamespace }: CommandTerms): string {
  return namespace === controllerNamespace && namespace === 'argocd' ? name : `${namespace}/${name}`;
}
