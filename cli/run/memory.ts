import { getHeapStatistics } from 'node:v8';
import type { DesiredLimits } from '#desired';
import type { ByteLimits } from '#kube';
import type { LiveLimits } from '#live';

const maxProgramBytes = 2 * 1024 * 1024 * 1024;
const minProgramBytes = 256 * 1024 * 1024;

/**
 * Memory limit of one helm, kustomize, jsonnet or git process. Four of them beside the heap must
 * not exceed the container's limit `limitBytes`, or the OOM killer ends the container. 0, or a
 * value above any machine's memory, means no limit. A renderer in another container (`--renderer`)
 * limits its programs by its own memory; git always runs here.
 */
export function programMemory(
  limitBytes: number,
  { isRendererRemote }: { readonly isRendererRemote: boolean },
): Pick<DesiredLimits, 'maxToolMemoryBytes' | 'maxGitAllocationBytes'> {
  const share = limitBytes > 0 ? Math.floor(limitBytes / 8) : maxProgramBytes;
  const bytes = Math.min(maxProgramBytes, Math.max(minProgramBytes, share));
  return {
    maxToolMemoryBytes: isRendererRemote ? maxProgramBytes : bytes,
    maxGitAllocationBytes: Math.min(bytes, maxProgramBytes / 2),
  };
}

const mebibyte = 1024 * 1024;

/**
 * Memory for the files that are held for programs and plugins, within the container's limit
 * `limitBytes`: half of the part that the heap leaves free. git needs the other half.
 */
export function inputMemory(inputMb: number, limitBytes: number): Pick<DesiredLimits, 'inputBytes'> {
  if (inputMb > 0) return { inputBytes: inputMb * mebibyte };
  const share = limitBytes > 0 ? Math.floor(limitBytes / 4) : Infinity;
  return { inputBytes: Math.min(1024 * mebibyte, Math.max(64 * mebibyte, share)) };
}

/** Memory of a process that watches nothing, and the minimum for a cluster. */
const baseBytes = 128 * mebibyte;
const minClusterBytes = 16 * mebibyte;

/** V8's young generation: three semi-spaces of 16 MiB by default, at most a third of the heap. */
const youngBytes = 48 * mebibyte;

/** The heap of this process that long-lived objects can take. */
export function heapBytes(): number {
  return oldSpaceBytes(getHeapStatistics().heap_size_limit);
}

/** The part of V8's heap limit that is left to long-lived objects. */
export function oldSpaceBytes(heapLimitBytes: number): number {
  return heapLimitBytes - Math.min(youngBytes, Math.floor(heapLimitBytes / 3));
}

/**
 * Memory for live state within a heap limit of `heapBytes`: by default one cluster gets half of the
 * free heap, all together 60 %.
 */
export function liveLimits(clusterMemoryMb: number, heapBytes: number): LiveLimits {
  const freeBytes = freeBytesOf(heapBytes);
  const clusterBytes = clusterMemoryMb > 0 ? clusterMemoryMb * mebibyte : Math.floor(freeBytes / 2);
  return { clusterBytes, totalBytes: Math.max(clusterBytes, Math.floor(freeBytes * 0.6)) };
}

function freeBytesOf(heapBytes: number): number {
  return Math.max(2 * minClusterBytes, heapBytes - baseBytes);
}

/** Memory for the objects of comparisons that are kept until the next one: a fifth of that. */
export function comparisonMemory(heapBytes: number): number {
  return Math.floor(freeBytesOf(heapBytes) / 5);
}

/** Memory for rendered manifests that are kept beside their copy on disk: an eighth of that. */
export function renderedMemory(heapBytes: number): Pick<DesiredLimits, 'cacheBytes'> {
  return { cacheBytes: Math.min(64 * mebibyte, Math.floor(freeBytesOf(heapBytes) / 8)) };
}

/**
 * Limits for responses of one cluster with objects of up to `objectMb`. A page of a list may be
 * larger: its items are read one by one.
 */
export function answerLimits(objectMb: number, heapBytes: number): ByteLimits {
  const objectBytes = objectMb * mebibyte;
  return {
    objectBytes,
    documentBytes: Math.max(objectBytes, Math.min(4 * objectBytes, Math.floor(heapBytes / 16))),
    responseBytes: 1024 * mebibyte,
    inFlightBytes: Math.max(4 * objectBytes, Math.min(16 * objectBytes, Math.floor(heapBytes / 8))),
  };
}
