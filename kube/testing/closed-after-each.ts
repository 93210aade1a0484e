import { afterEach } from '@jest/globals';
import type { KubeClient } from '../index.ts';
import { clientFor } from './fixtures.ts';
import { ScriptedServer } from './scripted-server.ts';
import type { ScriptedServerOptions, Turn } from './scripted-server.ts';

export interface Closable {
  close(): Promise<void> | void;
}

/** A list of servers and clients that are closed after each test, the last first. */
export function closedAfterEach(): Closable[] {
  const open: Closable[] = [];
  afterEach(async () => {
    for (const thing of open.splice(0).reverse()) await thing.close();
  });
  return open;
}

type ClientSetup = NonNullable<Parameters<typeof clientFor>[1]>;

export interface ScriptedConnections {
  /** Closed after each test, as what the two functions below open. */
  readonly open: Closable[];
  readonly serve: (play: (turn: Turn) => void, options?: ScriptedServerOptions) => Promise<ScriptedServer>;
  readonly connect: (server: { readonly url: string }, setup?: ClientSetup) => KubeClient;
}

/** Starts scripted servers, and clients with `defaults`; both are closed after each test. */
export function scriptedConnections(defaults: ClientSetup = {}): ScriptedConnections {
  const open = closedAfterEach();
  return {
    open,
    serve: async (play, options) => {
      const server = await ScriptedServer.start(play, options);
      open.push(server);
      return server;
    },
    connect: (server, setup = {}) => {
      const connection = { ...defaults.connection, ...setup.connection };
      const client = clientFor(server, { ...defaults, ...setup, connection });
      open.push(client);
      return client;
    },
  };
}
