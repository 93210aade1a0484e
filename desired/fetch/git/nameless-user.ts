import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';

/** A UID without a name, as OpenShift assigns to containers: ssh refuses to run as such a user. */
export interface NamelessUser {
  readonly uid: number;
  readonly gid: number;
  /** nss_wrapper, which answers lookups of users from a file. */
  readonly library: string;
}

const folders = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];

/** This process's user if it has no name and nss_wrapper is installed. */
export function namelessUser(find: () => { username: string } = userInfo): NamelessUser | undefined {
  try {
    find();
    return undefined;
  } catch {
    const library = folders.map((folder) => `${folder}/libnss_wrapper.so`).find((path) => existsSync(path));
    const [uid, gid] = [process.getuid?.(), process.getgid?.()];
    return library === undefined || uid === undefined || gid === undefined ? undefined : { uid, gid, library };
  }
}

/** The user's line in a passwd file. */
export function passwdLine({ uid, gid }: Pick<NamelessUser, 'uid' | 'gid'>, home: string): string {
  return `driftless:x:${uid}:${gid}:driftless:${home}:/usr/sbin/nologin\n`;
}

/** Environment in which programs find the user in `passwdFile`. */
export function userDatabaseEnv({ library }: NamelessUser, passwdFile: string): Readonly<Record<string, string>> {
  return { LD_PRELOAD: library, NSS_WRAPPER_PASSWD: passwdFile, NSS_WRAPPER_GROUP: '/etc/group' };
}
