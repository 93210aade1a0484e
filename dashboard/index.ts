/**
 * dashboard: one page that shows the state of the replicas, for the demo and for small
 * installations. It reads plain values through the interface that it defines here and changes
 * nothing.
 */
export { startDashboard } from './server.ts';
export type { ApplicationRow, RunningDashboard, DashboardSource, DashboardState, ReplicaRow } from './server.ts';
