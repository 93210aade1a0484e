/**
 * dashboard: the page that shows what the read API answers. It changes nothing.
 *
 * - ui/: the page itself, bundled into dist/dashboard/page at build time (scripts/dashboard). It
 *   knows the wire types of the API and its words, and nothing else of the program.
 * - dashboardFiles: the built files with their headers, for the listener of a replica
 * - startDashboard: the same files on loopback, for the demo
 */
export { dashboardFiles } from './files.ts';
export { startDashboard } from './server.ts';
export type { RunningDashboard } from './server.ts';
