/**
 * The shell scripts that build the wall. All values are passed as arguments, never inserted into a
 * script. Programs see these folders: the system's libraries, the rendering programs, four devices,
 * and the staging folder of their request.
 */

/** The paths of the staging folder and of the programs, behind the wall. */
export const insideFolders = { staging: '/staging', request: '/staging/r', programs: '/programs' } as const;

/**
 * Builds the private root in a mount namespace of its own, and waits until its input is closed.
 * Arguments: the mount point, the folder of the slots, "user" if it has its own user namespace,
 * then pairs of a path and its target. There is no /proc, /sys or /etc. In its own user namespace,
 * the script forbids further ones; a new shell does that, because only a new program gets the
 * rights of the mapping, which is written after this shell has started.
 */
export const rootScript = `
set -e
read -r go
root=$1 slots=$2
if [ "$3" = user ]; then sh -c 'echo 0 > /proc/sys/user/max_user_namespaces' 2> /dev/null || :; fi
shift 3
mount -t tmpfs -o mode=0755,size=1m,nosuid,nodev tmpfs "$root"
cd "$root"
mkdir usr dev staging old programs
for name in bin sbin lib lib32 lib64; do
  if [ -L "/$name" ]; then cp -P "/$name" "$name"
  elif [ -d "/$name" ]; then mkdir "$name"; mount -o bind,ro,nosuid,nodev "/$name" "$name"
  fi
done
mount -o bind,ro,nosuid,nodev /usr usr
for name in null zero urandom random; do : > "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
while [ $# -gt 0 ]; do
  if [ -d "$1" ]; then mkdir -p ".$2"; else mkdir -p ".\${2%/*}"; : > ".$2"; fi
  mount -o bind,ro,nosuid,nodev "$1" ".$2"
  shift 2
done
mount -o bind,nosuid,nodev "$slots" staging
pivot_root . old
cd /
ln -s old/proc proc
umount -l /old
rm proc
rmdir old
mount -o remount,ro,nosuid,nodev /
echo ready
exec cat > /dev/null
`;

/**
 * Hides the folder of all slots behind that of one slot, and waits until its input is closed.
 * Argument: the slot.
 */
export const cellScript = `
set -e
mount --bind "/staging/$1" /staging
echo ready
exec cat > /dev/null
`;

/** Waits until its input is closed. Used when only the network can be isolated. */
export const waitScript = `
read -r go
echo ready
exec cat > /dev/null
`;

/**
 * Runs a program in a folder, if nsenter cannot change to it. Arguments: the folder, then the
 * program's argv.
 */
export const stepScript = 'cd "$1" || exit 126; shift; unset OLDPWD; exec "$@"';
