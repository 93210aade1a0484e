/** Shared by kube's own tests. Imported by tests only. */
export { CacheSink } from './cache-sink.ts';
export { ScriptedServer, Turn } from './scripted-server.ts';
export type { ScriptedServerOptions } from './scripted-server.ts';
export { selfSigned } from './self-signed.ts';
export type { TlsIdentity } from './self-signed.ts';
export { clientFor, collect, configMaps, deployments, noSignal, object } from './fixtures.ts';
export { closedAfterEach, scriptedConnections } from './closed-after-each.ts';
export { testLifetimes } from './lifetimes.ts';
export { ScriptedSource, ScriptedWatch } from './scripted-source.ts';
export { Relay } from './relay.ts';
