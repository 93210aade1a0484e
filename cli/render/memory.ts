import { readFileSync } from 'node:fs';

const mebibyte = 1024 * 1024;
const withoutLimitBytes = 4096 * mebibyte;
const minProgramBytes = 256 * mebibyte;
const largestProgramBytes = 2048 * mebibyte;

/** Three quarters of the container's memory limit; the renderer itself needs the rest. */
export function containerMemory(): number {
  let limit = NaN;
  try {
    limit = Number(readFileSync('/sys/fs/cgroup/memory.max', 'utf8').trim());
  } catch {
    // No cgroup, or not version 2.
  }
  return Number.isFinite(limit) ? Math.max(64 * mebibyte, Math.floor(limit * 0.75)) : withoutLimitBytes;
}

/**
 * Memory limit of one program, if all programs together may use `memoryBytes`: half of it, so that
 * one source alone does not use up the memory of the others.
 */
export function maxProgramBytes(memoryBytes: number): number {
  return Math.min(largestProgramBytes, Math.max(minProgramBytes, Math.floor(memoryBytes / 2)));
}
