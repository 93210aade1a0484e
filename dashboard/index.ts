/**
 * dashboard: one page that shows what the replicas do, for the demo and for whoever looks at a small installation. It reads
 * plain values through the interface that it defines here and changes nothing.
 */
export { startDashboard } from './server.ts';
export type { ApplicationRow, Dashboard, DashboardSource, DashboardState, ReplicaRow } from './server.ts';
