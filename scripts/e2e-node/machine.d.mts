export interface CgroupMount {
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
}

export interface MachineFacts {
  readonly platform: string;
  readonly uid: number;
  /** Effective capabilities, hexadecimal. */
  readonly effective: string;
  readonly cgroups: readonly (CgroupMount & { readonly writable: boolean })[];
  readonly filesystems: readonly string[];
  readonly canMountProc: boolean;
  readonly hasApt: boolean;
}

export function lackingFor(facts: MachineFacts): string[];
export function maySetOomScore(facts: MachineFacts): boolean;
export function readMachine(): MachineFacts;
export function cgroupMounts(mounts: string): CgroupMount[];
