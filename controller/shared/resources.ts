import { apiResource } from '#kube';

export const applicationResource = apiResource('argoproj.io/v1alpha1', 'Application', 'applications', 'namespaced');
export const projectResource = apiResource('argoproj.io/v1alpha1', 'AppProject', 'appprojects', 'namespaced');
