import { eventually } from '#support';
import type { Repository } from './repository.ts';
import { atRest, conclusion, normalised } from './transcript.ts';
import type { ArgoWorld, Said } from './world.ts';

export interface App {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly object[];
  };
  readonly operation?: object | null;
  readonly status?: {
    readonly sync?: { readonly status: string; readonly revision?: string };
    readonly health?: { readonly status: string };
    readonly reconciledAt?: string;
    readonly operationState?: {
      readonly phase: string;
      readonly finishedAt?: string;
      readonly syncResult?: { readonly resources?: readonly { readonly name: string; readonly hookPhase?: string }[] };
    };
    readonly conditions?: readonly { readonly type: string; readonly message: string }[];
  };
}

const applications = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications';

/** One run through the commands, and what they said, by the name of the step. */
export class Stage {
  readonly world: ArgoWorld;
  readonly said = new Map<string, string>();
  /** Milliseconds of each act. */
  readonly took = new Map<string, number>();
  readonly #repositories = new Map<string, Repository>();

  constructor(world: ArgoWorld) {
    this.world = world;
  }

  repository(name: string): Repository {
    const found = this.#repositories.get(name) ?? this.world.repository(name);
    this.#repositories.set(name, found);
    return found;
  }

  /** Runs a command and keeps all of what it said. */
  async say(step: string, args: readonly string[]): Promise<Said> {
    const said = await this.world.argocd(args);
    this.note(step, `exit ${said.code ?? 'by a signal'}\n${normalised(said.text)}`);
    return said;
  }

  /** Runs one that waits, and keeps its end. Whether pods are ready at that moment is chance; steps that ask afterwards tell. */
  async conclude(step: string, args: readonly string[]): Promise<Said> {
    const said = await this.world.argocd(args);
    this.note(step, `exit ${said.code ?? 'by a signal'}\n${atRest(normalised(conclusion(said.text)))}`);
    return said;
  }

  note(step: string, text: string): void {
    if (this.said.has(step)) throw new Error(`there are two steps "${step}"`);
    this.said.set(step, text);
  }

  /** Waits for a state of an Application. */
  async until(name: string, holds: (app: App) => boolean, withinMs = 90_000): Promise<App> {
    return eventually(async () => {
      const app = await this.world.hub.api.get<App>(`${applications}/${name}`);
      if (app === undefined || !holds(app))
        throw new Error(`${name}: ${JSON.stringify([app?.operation, app?.status])}\n${this.world.tail()}`);
      return app;
    }, withinMs);
  }

  compared(name: string): Promise<App> {
    return this.until(name, ({ status }) => status?.sync?.status !== undefined && status.reconciledAt !== undefined);
  }

  good(name: string): Promise<App> {
    return this.until(
      name,
      ({ status, operation }) =>
        status?.sync?.status === 'Synced' && status.health?.status === 'Healthy' && (operation ?? null) === null,
    );
  }

  /** Waits until it is not there any more. */
  async gone(name: string, withinMs = 90_000): Promise<void> {
    await eventually(async () => {
      const app = await this.world.hub.api.get<App>(`${applications}/${name}`);
      if (app === undefined) return;
      const { deletionTimestamp = null, finalizers = [], ownerReferences = [] } = app.metadata;
      const held = JSON.stringify({
        deletionTimestamp,
        finalizers,
        ownerReferences,
        conditions: app.status?.conditions,
      });
      throw new Error(`${name} is still there: ${held}\n${this.world.tail()}`);
    }, withinMs);
  }
}
