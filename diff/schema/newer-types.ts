/**
 * Types of core/v1 that Argo CD's version of Kubernetes (1.37) has beyond the one of
 * schema-data.ts, in the same notation.
 */
export const newerTypes: Readonly<Record<string, string>> = {
  EvictionResponder: 'name:s priority:*i',
  NodeAllocatableMappedResources: 'name:s quantity:*q',
  NodeAllocatableOverheadResources: 'name:s perPod?:*q perContainer?:*q',
  NodePodPreemptionPolicy: 'disableResizePreemption?:[s',
  PodVolumeHealth: 'name:s healthConditions?:[VolumeHealthCondition~status lastTransitionTime?:t',
  VolumeHealthCondition: 'status:s reason:s message?:s',
  VolumeHealthStatus: 'healthConditions?:[VolumeHealthCondition~status lastTransitionTime?:t',
};
