/** Prefix of most environment variables of Argo CD's application controller. */
export const argocdPrefix = 'ARGOCD_APPLICATION_CONTROLLER_';
