/**
 * desired: what the sources say. One door for the embedded generator (desired/local) and, later, Argo CD's repo-server: revision in,
 * manifests out, with the commit that they were rendered from inside the answer.
 */
export type { DesiredSource, Manifests, ManifestsRequest } from './types.ts';
