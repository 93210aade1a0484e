import { join } from 'node:path';
import { eventually } from '#support';
import { GitFixture } from '../../acceptance/world.ts';
import { repository } from '../rendered-controller.ts';
import type { Server } from '../support/index.ts';
import { asArgoSends, manifestsOf } from './objects.ts';
import type { ManifestObject, MarkMethod } from './objects.ts';
import { statusOf } from './status.ts';

/** An Application that Argo CD managed before the switch. */
export interface LeftApplication {
  readonly name: string;
  /** By default the name. */
  readonly namespace?: string;
  /** Files in Git. */
  readonly files: Readonly<Record<string, string>>;
  /** Files whose live objects differ from Git. */
  readonly live?: Readonly<Record<string, string>>;
  /** Files in Git without live objects, such as finished hooks. */
  readonly absent?: Readonly<Record<string, string>>;
  /** Files that were applied server-side. */
  readonly serverSide?: Readonly<Record<string, string>>;
  /** Files that were created or replaced instead of applied. */
  readonly created?: Readonly<Record<string, string>>;
  /** Tracking method of its objects, if it was changed since. */
  readonly method?: MarkMethod;
  /** Marks objects differently from Argo CD. */
  readonly mark?: (object: ManifestObject) => ManifestObject;
  /** Further fields of `spec.source`, and their form in the status that Argo CD writes. */
  readonly source?: { readonly spec: object; readonly status: object };
  readonly syncPolicy?: { readonly syncOptions?: readonly string[]; readonly managedNamespaceMetadata?: object };
  readonly automated?: object;
  readonly finalizers?: readonly string[];
  readonly outOfSync?: readonly string[];
  readonly failure?: string;
}

interface AppliedObjects {
  readonly objects: readonly ManifestObject[];
  readonly revision: string;
}

const manager = '--field-manager=argocd-controller';
const inCluster = 'https://kubernetes.default.svc';

/**
 * An Argo CD 3.6 installation on the day of the switch, created without Argo CD: kubectl applies
 * the objects (the same code, so annotations and managed fields are the same), statuses are written
 * by this class. Argo CD's own controller is scaled to zero.
 */
export class ArgoInstallation {
  readonly server: Server;
  readonly namespace: string;
  readonly #method: MarkMethod;
  readonly #folder: string;
  readonly #repositories = new Map<string, GitFixture>();

  constructor(
    server: Server,
    folder: string,
    options: { readonly namespace?: string; readonly method?: MarkMethod } = {},
  ) {
    this.server = server;
    this.#folder = folder;
    this.namespace = options.namespace ?? 'argocd';
    this.#method = options.method ?? 'annotation';
  }

  /**
   * Creates everything except Applications: CRDs, settings, default project, controller with zero
   * replicas.
   */
  async prepare(): Promise<void> {
    const { server, namespace } = this;
    await server.kubectl(['apply', '--server-side', '-f', join(repository, 'manifests', 'crds')]);
    for (const name of ['applications', 'appprojects'])
      await eventually(async () => {
        if ((await server.api.get(`/apis/argoproj.io/v1alpha1/${name}`)) === undefined)
          throw new Error(`no ${name} yet`);
      });
    await server.kubectl(['create', 'namespace', namespace]);
    const part = { 'app.kubernetes.io/part-of': 'argocd' };
    const settings = this.#method === 'annotation' ? {} : { 'application.resourceTrackingMethod': this.#method };
    await this.apply([
      { ...configMap('argocd-cm', settings), metadata: { name: 'argocd-cm', namespace, labels: part } },
      { ...configMap('argocd-cmd-params-cm', {}), metadata: { name: 'argocd-cmd-params-cm', namespace, labels: part } },
      project(namespace),
      formerController(namespace),
    ]);
  }

  applications(name = ''): string {
    return `/apis/argoproj.io/v1alpha1/namespaces/${this.namespace}/applications${name === '' ? '' : `/${name}`}`;
  }

  git(name: string): GitFixture {
    const found = this.#repositories.get(name);
    if (found === undefined) throw new Error(`there is no Application ${name} in ${this.namespace}`);
    return found;
  }

  /**
   * Creates the objects of an Application, and the Application with the status of its last sync.
   */
  async add(app: LeftApplication): Promise<void> {
    const git = new GitFixture(this.#folder, `${this.namespace}-${app.name}`);
    this.#repositories.set(app.name, git);
    const revision = git.commit({ ...app.files, ...app.serverSide, ...app.created, ...app.absent });
    const applied = { objects: await this.#deploy(app), revision };
    await this.#record(app, applied);
  }

  /** Applies objects client-side like Argo CD, CRDs first. */
  async apply(objects: readonly object[], ...flags: string[]): Promise<void> {
    await this.#kubectl(['apply', manager, ...flags], objects);
  }

  async #deploy(app: LeftApplication): Promise<ManifestObject[]> {
    const place = { instance: app.name, namespace: app.namespace ?? app.name };
    const mark = app.mark ?? ((object: ManifestObject) => asArgoSends(object, place, app.method ?? this.#method));
    const sent = (files: Readonly<Record<string, string>> = {}): ManifestObject[] => manifestsOf(files).map(mark);
    await this.#makeNamespace(app, place.namespace);
    const [applied, serverSide, created] = [app.files, app.serverSide, app.created].map((files = {}) =>
      sent(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, app.live?.[name] ?? text]))),
    ) as [ManifestObject[], ManifestObject[], ManifestObject[]];
    const definitions = applied.filter(({ kind }) => kind === 'CustomResourceDefinition');
    if (definitions.length > 0) {
      await this.apply(definitions);
      const names = definitions.map(({ metadata }) => `crd/${metadata.name}`);
      await this.server.kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...names]);
    }
    await this.apply(applied.filter((object) => !definitions.includes(object)));
    if (serverSide.length > 0) await this.apply(serverSide, '--server-side', '--force-conflicts');
    if (created.length > 0) await this.#kubectl(['create', '--field-manager=argocd-application-controller'], created);
    return [...applied, ...serverSide, ...created];
  }

  /**
   * Creates a namespace as CreateNamespace=true does: untracked, with managedNamespaceMetadata
   * applied server-side.
   */
  async #makeNamespace(app: LeftApplication, name: string): Promise<void> {
    const metadata = app.syncPolicy?.managedNamespaceMetadata as
      { readonly labels?: object; readonly annotations?: object } | undefined;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    if (metadata === undefined) return this.apply([namespace]);
    const annotations = { ...metadata.annotations, 'argocd.argoproj.io/sync-options': 'ServerSideApply=true' };
    const managed = { ...namespace, metadata: { name, labels: metadata.labels, annotations } };
    return this.apply([managed], '--server-side', '--force-conflicts');
  }

  async #record(app: LeftApplication, { objects, revision }: AppliedObjects): Promise<void> {
    const namespace = app.namespace ?? app.name;
    const destination = { server: inCluster, namespace };
    const base = { repoURL: this.git(app.name).url, path: '.', targetRevision: 'main' };
    const automated = app.automated ?? { prune: true, selfHeal: true };
    const syncPolicy = { ...app.syncPolicy, automated };
    const status = statusOf({
      controllerNamespace: this.namespace,
      revision,
      destination,
      syncPolicy,
      objects,
      source: { ...base, ...app.source?.status },
      ...(app.outOfSync === undefined ? {} : { outOfSync: app.outOfSync }),
      ...(app.failure === undefined ? {} : { failure: app.failure }),
    });
    const { finalizers = ['resources-finalizer.argocd.argoproj.io'] } = app;
    await this.server.api.create(this.applications(), {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name: app.name, namespace: this.namespace, finalizers },
      spec: { project: 'default', destination, source: { ...base, ...app.source?.spec }, syncPolicy },
    });
    const path = `${this.applications(app.name)}?fieldManager=argocd-application-controller`;
    await this.server.api.patch(path, { status });
  }

  async #kubectl(args: readonly string[], items: readonly object[]): Promise<void> {
    if (items.length === 0) return;
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await this.server.kubectl([...args, '-f', '-'], { input });
  }
}

function configMap(name: string, data: object): ManifestObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

function project(namespace: string): object {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name: 'default', namespace },
    spec: {
      clusterResourceWhitelist: [{ group: '*', kind: '*' }],
      destinations: [{ namespace: '*', server: '*' }],
      sourceRepos: ['*'],
    },
  };
}

/** Argo CD's own controller, scaled to zero. */
function formerController(namespace: string): object {
  const labels = {
    'app.kubernetes.io/component': 'application-controller',
    'app.kubernetes.io/name': 'argocd-application-controller',
  };
  const containers = [{ name: 'argocd-application-controller', image: 'quay.io/argoproj/argocd:v3.6.0' }];
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'argocd-application-controller', namespace, labels },
    spec: {
      replicas: 0,
      serviceName: 'argocd-application-controller',
      selector: { matchLabels: { 'app.kubernetes.io/name': 'argocd-application-controller' } },
      template: { metadata: { labels }, spec: { containers } },
    },
  };
}
