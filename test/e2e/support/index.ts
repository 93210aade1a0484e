/**
 * test/e2e/support: real API servers for tests. `npm run e2e` runs them and provides the binaries.
 * Each file starts its own servers, which takes about three seconds:
 *
 *   const { servers: { hub, managed }, folder, close } = await startServers({
 *     names: ['hub', 'managed'],
 *   }); // in beforeAll
 *   await close(); // in afterAll
 *
 * A server (server.ts):
 *   hub.url, hub.ca             for cluster Secrets (`tlsClientConfig.caData` is base64 of `ca`)
 *   hub.kubeconfig              file; its context has the name of the server; administrator access
 *   hub.api                     ApiClient of #support, as administrator
 *   clientOf(hub)               KubeClient of #kube, as administrator
 *   hub.as(namespace, account)  access as a ServiceAccount, for `new ApiClient(access)`,
 *                               hub.kubeconfigFor(access) or a bearerToken of a cluster Secret
 *   hub.kubectl([…], { input }), hub.helm([…])  must succeed, return stdout
 *   hub.try('helm', […])        returns the result, with any exit code
 *   hub.restart(part), hub.stop(part), hub.resume(part)
 *                               'apiserver' or 'etcd': SIGKILL; the address and data stay
 *   hub.compact()               compacts etcd and restarts the API server, which has a cache
 *   hub.restore(await hub.snapshot())  restores old data; hub.restore() empties the cluster
 *   hub.audit()                 AuditEvent[]: all requests; see isBy, isWrite, isDryRun
 *
 * A real API server alone makes no pods ready, collects no garbage, creates no default
 * ServiceAccounts and cannot finish the deletion of namespaces. The double does:
 *   const double = await startDouble(managed.access); await double.stop();
 * With the real controllers of deletion, it runs the workloads only:
 *   await managed.startLifecycle(); await startDouble(managed.access, { collects: false });
 *
 * Tools: runTool / mustRun(name, args, { input, cwd, env }), toolPath(name), toolsPath() (a PATH).
 * Everything is on 127.0.0.1 and in one temporary folder. The reaper cleans up after a killed run.
 */
export { describeRequest, isBy, isDryRun, isWrite } from './audit.ts';
export type { AuditEvent } from './audit.ts';
export { clientOf } from './client.ts';
export { startDouble } from './double/index.ts';
export type { ClusterDouble } from './double/index.ts';
export { freePort, temporaryFolder } from './processes.ts';
export type { ServerPart, Server } from './server.ts';
export { startServers } from './servers.ts';
export type { Servers } from './servers.ts';
export { mustRun, runTool, toolPath, toolsPath } from './tools.ts';
export type { ToolName, ToolOptions, ToolResult } from './tools.ts';
