import { eventually } from '#support';
import type { ServedRepository } from './repository.ts';
import { atRest, conclusion, healthAtRest, normalised } from './transcript.ts';
import type { ArgoWorld, CommandOutcome } from './world.ts';

export interface ListedApplication {
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

/** One run through the commands, and their outputs by step name. */
export class Stage {
  readonly world: ArgoWorld;
  readonly said = new Map<string, string>();
  /** Duration of each act in ms. */
  readonly took = new Map<string, number>();
  readonly #repositories = new Map<string, ServedRepository>();

  constructor(world: ArgoWorld) {
    this.world = world;
  }

  repository(name: string): ServedRepository {
    const found = this.#repositories.get(name) ?? this.world.repository(name);
    this.#repositories.set(name, found);
    return found;
  }

  /** Runs a command and records its output. */
  async say(step: string, args: readonly string[]): Promise<CommandOutcome> {
    const said = await this.world.argocd(args);
    this.note(step, `exit ${said.code ?? 'by a signal'}\n${normalised(said.text)}`);
    return said;
  }

  /**
   * Runs a command that waits for an Application and records the end of its output, without states
   * that are random at that time. A refresh follows, whose complete result is recorded too.
   */
  async conclude(step: string, args: readonly [string, string, string, ...string[]]): Promise<CommandOutcome> {
    const said = await this.world.argocd(args);
    this.note(step, `exit ${said.code ?? 'by a signal'}\n${atRest(normalised(conclusion(said.text)))}`);
    const after = await this.world.argocd(['app', 'get', args[2], '--refresh']);
    this.note(`${step}, refreshed`, healthAtRest(normalised(after.text)));
    return said;
  }

  note(step: string, text: string): void {
    if (this.said.has(step)) throw new Error(`there are two steps "${step}"`);
    this.said.set(step, text);
  }

  /** Waits until a condition holds for an Application. */
  async until(name: string, holds: (app: ListedApplication) => boolean, withinMs = 90_000): Promise<ListedApplication> {
    return eventually(async () => {
      const app = await this.world.hub.api.get<ListedApplication>(`${applications}/${name}`);
      if (app === undefined || !holds(app))
        throw new Error(`${name}: ${JSON.stringify([app?.operation, app?.status])}\n${this.world.tail()}`);
      return app;
    }, withinMs);
  }

  compared(name: string): Promise<ListedApplication> {
    return this.until(name, ({ status }) => status?.sync?.status !== undefined && status.reconciledAt !== undefined);
  }

  good(name: string): Promise<ListedApplication> {
    return this.until(
      name,
      ({ status, operation }) =>
        status?.sync?.status === 'Synced' && status.health?.status === 'Healthy' && (operation ?? null) === null,
    );
  }

  /** Waits until an Application is gone. */
  async gone(name: string, withinMs = 90_000): Promise<void> {
    await eventually(async () => {
      const app = await this.world.hub.api.get<ListedApplication>(`${applications}/${name}`);
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
