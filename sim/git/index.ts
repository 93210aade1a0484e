/**
 * sim/git: real bare repositories over smart HTTP, for demo and tests. Git's own `http-backend` does the work; this only carries requests to it
 * and answers back. Loopback only, everybody may read and push.
 */
export { GitServerError, startGitServer } from './server.ts';
export type { GitServer } from './server.ts';
