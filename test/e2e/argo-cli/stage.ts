import { eventually } from '#support';
import type { ControllerUnderTest, Lockstep } from './lockstep.ts';
import type { ServedRepository } from './repository.ts';
import { normalised, operationOf } from './transcript.ts';
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
      readonly message?: string;
      readonly finishedAt?: string;
      readonly syncResult?: {
        readonly revision?: string;
        readonly resources?: readonly { readonly kind: string; readonly name: string; readonly hookPhase?: string }[];
      };
    };
    readonly conditions?: readonly { readonly type: string; readonly message: string }[];
  };
}

/** The cluster of the controllers, as a destination. */
export const inCluster = 'https://kubernetes.default.svc';

const applications = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications';

/** Exit code and normalised output. */
function printed({ code, text }: CommandOutcome): string {
  return `exit ${code ?? 'by a signal'}\n${normalised(text)}`;
}

/** One run through the commands, and their outputs by step name. */
export class Stage {
  readonly world: ArgoWorld;
  readonly said = new Map<string, string>();
  /** Duration of each act in ms. */
  readonly took = new Map<string, number>();
  readonly #repositories = new Map<string, ServedRepository>();
  readonly #controller: ControllerUnderTest;
  readonly #lockstep: Lockstep;

  constructor(world: ArgoWorld, controller: ControllerUnderTest, lockstep: Lockstep) {
    this.world = world;
    this.#controller = controller;
    this.#lockstep = lockstep;
  }

  /** Waits until the other world begins the act too. */
  begin(act: string): Promise<void> {
    return this.#lockstep.begin(act, this.#controller);
  }

  /** The rest of the act is not played in this world. */
  stop(act: string, error: unknown): void {
    this.#lockstep.stop(this.#controller);
    this.note(`stopped: ${act}`, String(error));
  }

  repository(name: string): ServedRepository {
    const found = this.#repositories.get(name) ?? this.world.repository(name);
    this.#repositories.set(name, found);
    return found;
  }

  /** Runs a command with effects, once, and records its output. */
  async say(step: string, args: readonly string[]): Promise<CommandOutcome> {
    const said = await this.world.argocd(args);
    this.note(step, printed(said));
    return said;
  }

  /** Creates an Application for the repository of the same name. */
  async createApp(name: string): Promise<void> {
    const source = ['--repo', this.world.url(name), '--path', 'app', '--revision', 'main'];
    const to = ['--dest-server', inCluster, '--dest-namespace', name, '--sync-option', 'CreateNamespace=true'];
    await this.say(`app create ${name}`, ['app', 'create', name, '--project', 'team', ...source, ...to]);
  }

  /** Runs a command without effects until both worlds print the same, and records its output. */
  read(step: string, args: readonly string[], text: (outcome: CommandOutcome) => string = printed): Promise<void> {
    return this.observe(step, async () => text(await this.world.argocd(args)));
  }

  /** Looks at this world until both worlds show the same, and records that. */
  async observe(step: string, look: () => Promise<string>): Promise<void> {
    this.note(step, await this.#lockstep.read(step, this.#controller, look));
  }

  /**
   * Runs a command that waits for an operation, and records its exit code and what it prints of the
   * operation. The states of resources at that moment are random, also with Argo CD's own
   * controller: they are read and recorded afterwards. With Argo CD's controller two syncs that
   * start in one second look like one to the CLI, which then never ends: it is run again.
   */
  async conclude(step: string, args: readonly [string, string, string, ...string[]]): Promise<void> {
    const first = await this.world.argocd(args);
    const isStuck = first.code === null && this.#controller === 'Argo CD';
    const said = isStuck ? await this.world.argocd(args) : first;
    this.note(step, printed({ ...said, text: operationOf(said.text) }));
    await this.read(`${step}, then`, ['app', 'get', args[2], '--show-operation']);
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
