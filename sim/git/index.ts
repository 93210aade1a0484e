/**
 * sim/git: real bare repositories over smart HTTP, for the demo and tests. Git's own `http-backend`
 * does the work; this module only connects it to HTTP. Loopback only, without authentication.
 */
export { GitServerError, startGitServer } from './server.ts';
export type { GitServer } from './server.ts';
