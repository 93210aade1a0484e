import { abortable, defined } from '#base';
import type { Clock, ClockTimer, RandomSource } from '#base';
import { apiResource, createInformer } from '#kube';
import type { Informer, KubeClient } from '#kube';
import { defaultSettings, labelOf, labels } from '#model';
import type {
  ApplicationDestination,
  Cluster,
  ClusterConnection,
  HealthScripts,
  KubeObject,
  Repository,
  Settings,
  SourceDecryption,
} from '#model';
import type { Logger, MetricRegistry } from '#telemetry';
import { decryptionSecretType, parseDecryptionSecret } from './decryption.ts';
import { SettingsAnnouncements } from './announcements.ts';
import type { ClusterFault } from './cluster-index.ts';
import { ClusterSecrets } from './cluster-secrets.ts';
import { parseClusterSecret } from './clusters.ts';
import type { ParsedCluster } from './clusters.ts';
import { registerMetrics } from './metrics.ts';
import { ObservedSettings, textData } from './observed-settings.ts';
import { parseRepositorySecret } from './repositories.ts';
import { RepositorySecrets } from './repository-secrets.ts';
import type { RepositorySecret } from './repository-secrets.ts';
import { nameOfSecret } from './secret-data.ts';
import type { SettingsStore, SettingsWriter, UnresolvedDestination } from './types.ts';
import { isSameValue } from './values.ts';
import type { SettingsProblem } from './values.ts';

export interface SettingsStoreDeps {
  /** The hub cluster, which holds argocd-cm and the Secrets. */
  readonly client: KubeClient;
  /** The controller's namespace. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  /** This process's connection to its own cluster: serves `https://kubernetes.default.svc`. */
  readonly inClusterConnection?: ClusterConnection;
  /**
   * Compiles the health scripts of the settings; a promise if that needs an engine that is not
   * loaded. Without it, kinds with a script are Unknown.
   */
  readonly healthScripts?: (overrides: Settings['overrides']) => HealthScripts | Promise<HealthScripts>;
  /** Keeps the settings in force in a ConfigMap, and writes Events; absent: only reads. */
  readonly writer?: SettingsWriter | undefined;
  /** Annotations to keep with the settings in force. */
  readonly keptAnnotations?: Readonly<Record<string, string>> | undefined;
  readonly metrics?: MetricRegistry;
}

/** Listeners learn of new settings at most this often: each change compares the whole fleet. */
const settingsPauseMs = 1000;

type SettingsChange = Parameters<Parameters<SettingsStore['onChange']>[0]>[0];

/**
 * Watches three things in the controller namespace: ConfigMap argocd-cm (with or without the
 * part-of label, which Argo CD requires), the Secrets of clusters, repositories, credentials and
 * decryption keys, and ConfigMap argocd-gpg-keys-cm. `run` starts it; it is `ready` after the first
 * read of the first two. Only callers that need GPG keys wait for them: a Role that forbids them
 * blocks no other caller.
 */
export function createSettingsStore(deps: SettingsStoreDeps): SettingsStore {
  return new WatchedSettings(watchSettings(deps), deps);
}

/** The parsed content of one Secret. */
type SecretEntry =
  | { readonly kind: 'cluster'; readonly value: ParsedCluster | ClusterFault }
  | { readonly kind: 'decryption'; readonly value: SourceDecryption }
  | RepositorySecret;

function asCluster(entry: SecretEntry | undefined): Extract<SecretEntry, { kind: 'cluster' }> | undefined {
  return entry?.kind === 'cluster' ? entry : undefined;
}

function asRepository(entry: SecretEntry | undefined): RepositorySecret | undefined {
  return entry === undefined || entry.kind === 'cluster' || entry.kind === 'decryption' ? undefined : entry;
}

class WatchedSettings implements SettingsStore {
  readonly name = 'settings';
  readonly #informers: SettingsInformers;
  readonly #deps: SettingsStoreDeps;
  readonly #listeners = new Set<(change: SettingsChange) => void>();
  readonly #entries = new Map<string, SecretEntry>();
  #settings: Settings = defaultSettings;
  /** The settings to use next; the present ones, unless their health scripts are being loaded. */
  #wanted: Settings = defaultSettings;
  #loading: Promise<void> | undefined;
  readonly #observed: ObservedSettings;
  /** When listeners may learn of the next settings. */
  #nextSettingsAt = 0;
  #settingsTimer: ClockTimer | undefined;
  #heldChange: SettingsChange | undefined;
  readonly #clusters: ClusterSecrets;
  readonly #repositories: RepositorySecrets;
  readonly #announcements: SettingsAnnouncements;
  #pending: SettingsChange | undefined;
  #gpgKeys: Readonly<Record<string, string>> = {};

  constructor(informers: SettingsInformers, deps: SettingsStoreDeps) {
    this.#informers = informers;
    this.#deps = deps;
    this.#observed = new ObservedSettings({
      ...deps,
      writer: deps.writer,
      use: (settings) => this.#useWithScripts(settings),
    });
    this.#clusters = new ClusterSecrets({
      ...deps,
      onChange: () => this.#changed({ settings: false, clusters: true, repositories: false }),
    });
    this.#announcements = new SettingsAnnouncements({ ...deps, writer: undefined });
    this.#repositories = new RepositorySecrets({
      ...deps,
      onChange: () => this.#changed({ settings: false, clusters: false, repositories: true }),
    });
    if (deps.metrics !== undefined) registerMetrics(deps.metrics, this.#observed, () => this.#unreadableSecrets());
    this.#useWithScripts(defaultSettings);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { configMap, secrets, gpgKeys } = this.#informers;
    const stop = [
      configMap.onEvent((event) => this.#observed.observe(event.type === 'deleted' ? undefined : event.object)),
      secrets.onEvent((event) => this.#onSecret(event.type, event.object)),
      gpgKeys.onEvent((event) => this.#onGpgKeys(event.type === 'deleted' ? undefined : event.object)),
    ];
    try {
      await Promise.all([configMap.run(signal), secrets.run(signal), gpgKeys.run(signal), this.#observed.run(signal)]);
    } finally {
      this.#settingsTimer?.cancel();
      this.#clusters.close();
      this.#repositories.close();
      for (const unsubscribe of stop) unsubscribe();
    }
  }

  async ready(signal: AbortSignal): Promise<void> {
    const { configMap, secrets } = this.#informers;
    await abortable(Promise.all([configMap.ready?.(signal), secrets.ready?.(signal)]), signal);
    this.#clusters.listed();
    this.#observed.listed();
    await abortable(this.#observed.decided(), signal);
    await abortable(this.#loading ?? Promise.resolve(), signal);
  }

  settings(): Settings {
    return this.#settings;
  }

  clusters(): readonly Cluster[] {
    return this.#clusters.index(this.#settings.inClusterEnabled).list;
  }

  resolve(destination: ApplicationDestination, project?: string): Cluster | UnresolvedDestination {
    return this.#clusters.resolve(destination, this.#settings.inClusterEnabled, project);
  }

  repository(url: string, project: string): Repository {
    return this.#repositories.readable().find(url, project);
  }

  writeRepository(url: string, project: string): Repository {
    return this.#repositories.writable().find(url, project);
  }

  chartRepositories(): { readonly repositories: readonly Repository[]; readonly credentials: readonly Repository[] } {
    const repositories = this.#repositories.listed('repository');
    return {
      repositories: repositories.filter(({ type, name }) => type === 'oci' || (type === 'helm' && (name ?? '') !== '')),
      credentials: this.#repositories.listed('credentials').filter(({ type }) => type !== 'git'),
    };
  }

  async gpgKeys(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    await abortable(Promise.resolve(this.#informers.gpgKeys.ready?.(signal)), signal);
    return this.#gpgKeys;
  }

  decryptionKeys(secret: string): SourceDecryption {
    const entry = this.#entries.get(nameOfSecret({ metadata: { namespace: this.#deps.namespace, name: secret } }));
    if (entry?.kind === 'decryption') return entry.value;
    return {
      problem: `there is no Secret ${this.#deps.namespace}/${secret} with the label ${labels.secretType}: ${decryptionSecretType}`,
    };
  }

  onChange(listener: (change: SettingsChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  problems(): readonly SettingsProblem[] {
    return [
      ...this.#observed.problems(),
      ...this.#repositories.problems(),
      ...this.#clusters.problems(this.#settings.inClusterEnabled),
    ];
  }

  /** For metrics: `Secret NAMESPACE/NAME` without the first word. */
  #unreadableSecrets(): readonly string[] {
    const ofRepositories = this.#repositories.problems().map(({ object }) => object);
    return [...ofRepositories, ...this.#clusters.unreadable()].map((object) => object.replace(/^Secret /, ''));
  }

  /** The present settings stay in effect until the scripts of the new ones are loaded. */
  #useWithScripts(settings: Settings): void {
    this.#wanted = settings;
    const scripts = this.#deps.healthScripts?.(settings.overrides);
    if (scripts instanceof Promise) this.#loading = this.#useWhenLoaded(settings, scripts);
    else this.#use(settings, scripts);
  }

  async #useWhenLoaded(settings: Settings, loading: Promise<HealthScripts>): Promise<void> {
    let scripts: HealthScripts | undefined;
    try {
      scripts = await loading;
    } catch (error) {
      const consequence = 'the kinds that have one are Unknown until argocd-cm changes or this process restarts';
      this.#deps.logger.error(`The Lua engine of health scripts cannot be loaded: ${consequence}`, { error });
    }
    // A later change of argocd-cm wins.
    if (this.#wanted === settings) this.#use(settings, scripts);
  }

  #use(settings: Settings, healthScripts: HealthScripts | undefined): void {
    const before = this.#settings;
    this.#settings = { ...settings, ...defined({ healthScripts }) };
    if (settings === defaultSettings && before === defaultSettings) return;
    const clusters = settings.inClusterEnabled !== before.inClusterEnabled;
    this.#changed({ settings: true, clusters, repositories: false });
  }

  #onSecret(type: 'added' | 'updated' | 'deleted', secret: KubeObject): void {
    const name = nameOfSecret(secret);
    const before = this.#entries.get(name);
    const entry = type === 'deleted' ? undefined : this.#read(secret);
    if (entry === undefined) this.#entries.delete(name);
    else this.#entries.set(name, entry);
    if (entry !== undefined && 'error' in entry.value)
      this.#announcements.note('A Secret cannot be read', name, entry.value.error);
    if (isSameEntry(before, entry)) return;
    const [oldCluster, cluster] = [asCluster(before), asCluster(entry)];
    const clusters = oldCluster !== undefined || cluster !== undefined;
    if (clusters) this.#clusters.observe(name, cluster?.value);
    const [oldRepository, repository] = [asRepository(before), asRepository(entry)];
    const repositories = oldRepository !== undefined || repository !== undefined;
    if (repositories) this.#repositories.observe(name, repository);
    // Like a repository: sources that failed for lack of a key are rendered again.
    const decryption = before?.kind === 'decryption' || entry?.kind === 'decryption';
    this.#changed({ settings: false, clusters, repositories: repositories || decryption });
  }

  /**
   * Counts as a change of repositories, so that revisions refused for lack of a key are checked
   * again.
   */
  #onGpgKeys(object: KubeObject | undefined): void {
    const keys = textData(object);
    if (isSameValue(keys, this.#gpgKeys)) return;
    this.#gpgKeys = keys;
    this.#changed({ settings: false, clusters: false, repositories: true });
  }

  #read(secret: KubeObject): SecretEntry | undefined {
    switch (labelOf(secret, labels.secretType)) {
      case 'cluster':
        return { kind: 'cluster', value: parseClusterSecret(secret, this.#deps.inClusterConnection) };
      case 'repository':
        return { kind: 'repository', value: parseRepositorySecret(secret) };
      case 'repo-creds':
        return { kind: 'credentials', value: parseRepositorySecret(secret) };
      case 'repository-write':
        return { kind: 'write-repository', value: parseRepositorySecret(secret) };
      case 'repo-write-creds':
        return { kind: 'write-credentials', value: parseRepositorySecret(secret) };
      case decryptionSecretType:
        return { kind: 'decryption', value: parseDecryptionSecret(secret) };
      case undefined:
      default:
        return undefined;
    }
  }

  /** Readers see a change at once; listeners get all changes of one event-loop turn together. */
  #changed(change: SettingsChange): void {
    const waitMs = change.settings ? this.#nextSettingsAt - this.#deps.clock.monotonic() : 0;
    if (waitMs <= 0) {
      this.#announce(change);
      return;
    }
    this.#heldChange = both(this.#heldChange, change);
    this.#settingsTimer ??= this.#deps.clock.timer(waitMs, () => {
      this.#settingsTimer = undefined;
      if (this.#heldChange !== undefined) this.#announce(this.#heldChange);
      this.#heldChange = undefined;
    });
  }

  #announce(change: SettingsChange): void {
    if (change.settings) this.#nextSettingsAt = this.#deps.clock.monotonic() + settingsPauseMs;
    if (this.#pending === undefined) queueMicrotask(() => this.#notify());
    this.#pending = both(this.#pending, change);
  }

  #notify(): void {
    const change = this.#pending;
    this.#pending = undefined;
    if (change === undefined) return;
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#deps.logger.error('A listener of settings failed', { error });
      }
    }
  }
}

function both(a: SettingsChange | undefined, b: SettingsChange): SettingsChange {
  return {
    settings: a?.settings === true || b.settings,
    clusters: a?.clusters === true || b.clusters,
    repositories: a?.repositories === true || b.repositories,
  };
}

function isSameEntry(a: SecretEntry | undefined, b: SecretEntry | undefined): boolean {
  return a?.kind === b?.kind && isSameValue(a?.value, b?.value);
}

const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
const secretResource = apiResource('v1', 'Secret', 'secrets', 'namespaced');

interface SettingsInformers {
  readonly configMap: Informer;
  readonly secrets: Informer;
  readonly gpgKeys: Informer;
}

function watchSettings(deps: SettingsStoreDeps): SettingsInformers {
  const { client, namespace, clock, random, logger } = deps;
  const common = { client, namespace, clock, random, logger };
  return {
    configMap: createInformer({ ...common, resource: configMaps, fieldSelector: 'metadata.name=argocd-cm' }),
    gpgKeys: createInformer({ ...common, resource: configMaps, fieldSelector: 'metadata.name=argocd-gpg-keys-cm' }),
    secrets: createInformer({
      ...common,
      resource: secretResource,
      labelSelector: `${labels.secretType} in (cluster,repo-creds,repository,repo-write-creds,repository-write,${decryptionSecretType})`,
    }),
  };
}
