/**
 * support: shared helpers of tests: virtual time, fuzzing, the built program as a process, plain
 * HTTP. Production code never imports it.
 */
export { ApiClient } from './api-client.ts';
export type { ApiAccess, ApiAnswer, ApiEvent, ApiRequest } from './api-client.ts';
export { ownReplica, socketPage } from './api-socket.ts';
export type { OwnReplica } from './api-socket.ts';
export { eventually } from './eventually.ts';
export { FakeClock } from './fake-clock.ts';
export { fuzz } from './fuzz.ts';
export type { FuzzReport, FuzzTarget } from './fuzz.ts';
export { hasTitle } from './has-title.ts';
export { headOf, initRepository } from './git-folder.ts';
export { RawApi, serversOf } from './hub.ts';
export { openProject } from './open-project.ts';
export { makePackageUser } from './package-user.ts';
export { driftless, Program } from './program.ts';
export type { ProgramResult } from './program.ts';
export { signalOf } from './signal-of.ts';
export { canMount, SmallDisk } from './small-disk.ts';
export { SocksProxy } from './socks-proxy.ts';
export type { SocksProxyOptions } from './socks-proxy.ts';
export { TestServers } from './test-servers.ts';
export { widgetCrd } from './widget-crd.ts';
