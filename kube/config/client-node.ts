/**
 * What the controller uses of `@kubernetes/client-node`. The whole library takes 0.4 s and 87 MB to
 * load, so the build replaces this module by a bundle of these parts (`scripts/client-node.mjs`).
 */
export { KubeConfig } from '@kubernetes/client-node';
