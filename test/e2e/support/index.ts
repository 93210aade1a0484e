/**
 * test/e2e/support: real API servers for tests. Run the tests with `npm run e2e` (`npm run e2e -- install` for one file's name); it finds or makes
 * the binaries. One file = one or two servers of its own, up in about three seconds:
 *
 *   const { servers: { hub, managed }, folder, close } = await startServers({ names: ['hub', 'managed'] });   // in beforeAll
 *   await close();                                                                                            // in afterAll
 *
 * A server (server.ts):
 *   hub.url, hub.ca                     for cluster Secrets (`tlsClientConfig.caData` is base64 of `ca`)
 *   hub.kubeconfig                      file; its one context is the server's name; administrator by client certificate
 *   hub.api                             ApiClient of #support: exchange, get, list, create, replace, patch, delete, watch
 *   clientOf(hub)                       the KubeClient of #kube, as administrator
 *   await hub.as(namespace, account)    access as a ServiceAccount, with a token of the TokenRequest API: for `new ApiClient(access)`,
 *   hub.kubeconfigFor(access)           ... a kubeconfig file, or a cluster Secret's bearerToken
 *   await hub.kubectl(['apply', …], { input }), hub.helm(['install', …])    must succeed, give stdout; hub.try('helm', […]) gives the result
 *   await hub.restart('apiserver' | 'etcd'), hub.stop(part), hub.resume(part)    SIGKILL, same address and data; resolves when ready
 *   await hub.compact()                 drops etcd's history and restarts the API server, which has some of its own
 *   await hub.restore(await hub.snapshot())    the data of then, resourceVersions too; hub.restore(): an empty cluster at the same address
 *   hub.audit()                         AuditEvent[]: who asked what and what was answered; `isBy(event, namespace, account)`, `isWrite`, `isDryRun`
 *
 * A real API server alone makes no pods ready, collects no garbage, gives namespaces no default ServiceAccount and lets none of them go:
 *   const double = await startDouble(managed.access);  await double.stop();
 *
 * Tools: runTool / mustRun(name, args, { input, cwd, env }), toolPath(name), toolsPath() (a PATH with all of them).
 * Everything is on 127.0.0.1, in one temporary folder, and ends with the run, also when that is killed (reaper.mjs).
 */
export { describeRequest, isBy, isDryRun, isWrite } from './audit.ts';
export type { AuditEvent } from './audit.ts';
export { clientOf } from './client.ts';
export { startDouble } from './double/index.ts';
export type { Double } from './double/index.ts';
export { freePort, temporaryFolder } from './processes.ts';
export type { Part, Server } from './server.ts';
export { startServers } from './servers.ts';
export type { Servers } from './servers.ts';
export { mustRun, runTool, toolPath, toolsPath } from './tools.ts';
export type { ToolName, ToolOptions, ToolResult } from './tools.ts';
