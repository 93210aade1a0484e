import type { Clock, ClockTimer } from '#base';
import { labels } from '#model';
import type { Repository } from '#model';
import { vacancyMs } from './cluster-secrets.ts';
import { RepositoryIndex } from './repositories.ts';
import type { RepositoryEntry, RepositoryFault, RepositorySecretFault } from './repositories.ts';
import type { SettingsProblem } from './values.ts';

/** Secrets for reading sources, and those for writing hydrated manifests. */
export type RepositoryKind = 'repository' | 'credentials' | 'write-repository' | 'write-credentials';

export interface RepositorySecret {
  readonly kind: RepositoryKind;
  readonly value: RepositoryEntry | RepositorySecretFault;
}

interface VacantSecret {
  readonly secret: RepositorySecret & { readonly value: RepositorySecretFault };
  readonly timer: ClockTimer;
}

export interface RepositorySecretsDeps {
  readonly clock: Clock;
  /** Called when time alone changes the repositories. */
  readonly onChange: () => void;
}

/**
 * The repository and credential Secrets by name. The repository of an unreadable Secret is not
 * fetched, neither without it nor with another one. Nor is that of a deleted Secret which has a
 * proxy or turns LFS on, for {@link vacancyMs}, because it may be created again.
 */
export class RepositorySecrets {
  readonly #deps: RepositorySecretsDeps;
  readonly #secrets = new Map<string, RepositorySecret>();
  readonly #vacant = new Map<string, VacantSecret>();
  #readable: RepositoryIndex | undefined;
  #writable: RepositoryIndex | undefined;

  constructor(deps: RepositorySecretsDeps) {
    this.#deps = deps;
  }

  /** The content of a Secret as it is now; undefined: it is none of a repository (any more). */
  observe(object: string, secret: RepositorySecret | undefined): void {
    const before = this.#secrets.get(object);
    const vacant = this.#vacant.get(object);
    vacant?.timer.cancel();
    this.#vacant.delete(object);
    if (secret === undefined) this.#secrets.delete(object);
    else this.#secrets.set(object, withLastUrl(secret, before ?? vacant?.secret));
    if (secret === undefined && before !== undefined) this.#noteVacant(object, before);
    this.#forget();
  }

  /** Repositories for reading sources. */
  readable(): RepositoryIndex {
    return (this.#readable ??= this.#index('repository', 'credentials'));
  }

  /** Repositories for writing hydrated manifests. */
  writable(): RepositoryIndex {
    return (this.#writable ??= this.#index('write-repository', 'write-credentials'));
  }

  listed(kind: RepositoryKind): readonly Repository[] {
    return this.#entries(kind).map(({ repository }) => repository);
  }

  problems(): readonly SettingsProblem[] {
    return this.#faulty().map(([object, { value }]) => ({ object, message: value.error }));
  }

  close(): void {
    for (const { timer } of this.#vacant.values()) timer.cancel();
    this.#vacant.clear();
  }

  #forget(): void {
    [this.#readable, this.#writable] = [undefined, undefined];
  }

  #index(own: RepositoryKind, lent: RepositoryKind): RepositoryIndex {
    const faults = { repositories: this.#faults(own), credentials: this.#faults(lent) };
    return new RepositoryIndex(this.#entries(own), this.#entries(lent), faults);
  }

  #entries(kind: RepositoryKind): readonly RepositoryEntry[] {
    return [...this.#secrets.values()].flatMap((one) =>
      one.kind === kind && !('error' in one.value) ? one.value : [],
    );
  }

  #faults(kind: RepositoryKind): readonly RepositoryFault[] {
    return this.#faulty().flatMap(([object, one]) => (one.kind === kind ? { ...one.value, object } : []));
  }

  #faulty(): readonly (readonly [string, VacantSecret['secret']])[] {
    const unreadable = [...this.#secrets].flatMap(([object, { kind, value }]) =>
      'error' in value ? [[object, { kind, value }] as const] : [],
    );
    return [...unreadable, ...[...this.#vacant].map(([object, { secret }]) => [object, secret] as const)];
  }

  #noteVacant(object: string, { kind, value }: RepositorySecret): void {
    const fault = 'error' in value ? value : vacancy(value);
    if (fault === undefined) return;
    const timer = this.#deps.clock.timer(vacancyMs, () => {
      this.#vacant.delete(object);
      this.#forget();
      this.#deps.onChange();
    });
    this.#vacant.set(object, { secret: { kind, value: fault }, timer });
  }
}

/** An unreadable URL is the last one that the Secret had. */
function withLastUrl({ kind, value }: RepositorySecret, before: RepositorySecret | undefined): RepositorySecret {
  if (!('error' in value) || value.url !== '' || before === undefined) return { kind, value };
  const url = 'error' in before.value ? before.value.url : before.value.repository.url;
  return { kind, value: { ...value, url } };
}

/** Undefined: without the Secret its files are the same, or are refused to us. */
function vacancy({
  repository: { url, project = '', proxy, lfs },
}: RepositoryEntry): RepositorySecretFault | undefined {
  if (proxy === undefined && lfs !== true) return undefined;
  const error =
    `it was deleted, or lost its label ${labels.secretType}, less than ${vacancyMs / 1000} seconds ago; ` +
    'after that its repository is fetched without it';
  return { error, url, project };
}
