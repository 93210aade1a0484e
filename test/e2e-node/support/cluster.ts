import type { NodeApplication } from './application.ts';
import type { World } from './world.ts';

/** State that the scenarios of one cluster share, in their order. */
export class Cluster {
  #world: World | undefined;
  #app: NodeApplication | undefined;

  get world(): World {
    if (this.#world === undefined) throw new Error('the cluster did not start');
    return this.#world;
  }

  set world(world: World) {
    this.#world = world;
  }

  /** The Application that every later scenario watches. */
  get app(): NodeApplication {
    if (this.#app === undefined) throw new Error('the first scenario did not create its Application');
    return this.#app;
  }

  set app(app: NodeApplication) {
    this.#app = app;
  }

  async close(): Promise<void> {
    await this.#world?.close();
  }
}
