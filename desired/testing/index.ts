/**
 * desired/testing: servers on loopback, and archives, for tests of fetching. Only tests may use it,
 * here and in test/.
 */
export { chartArchive, tgz } from './archive.ts';
export { selfSigned } from './identity.ts';
export { chartArtifact, startRegistry, tarLayer } from './registry.ts';
export type { TestRegistry } from './registry.ts';
export { startWebServer } from './web-server.ts';
export type { ServedPage, WebServer } from './web-server.ts';
export { itWithTool } from './with-tool.ts';
export { machineTools, TestRepository, testRenderer } from './repository.ts';
export { renderOne, requestOf } from './request.ts';
export { serveGit } from './git-server.ts';
export { keysOf } from './sops-files.ts';
export { GitFixture, removeTemporaryFolders } from './source-bench.ts';
