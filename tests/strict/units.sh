#!/bin/sh
# units.sh <what is installed> <folder> - a systemd of its own that starts the units
# of systemd/, in namespaces: its processes, mounts and users' list are nobody
# else's, and all that it writes lies in memory. Ends when this is killed.
#
# As root. <what is installed> is laid over the file system; the folder gets the
# pid of that systemd, for nsenter.
set -eu
stage=$1
folder=$2

if [ "${3:-}" != inside ]; then
    # The second cgroup hierarchy, where a systemd may sort its processes.
    exec unshare --mount --propagation private sh -ec '
        mkdir "$2/cgroup"
        mount -t cgroup2 cgroup2 "$2/cgroup"
        own=$2/cgroup/aside-units-$$
        mkdir "$own"
        sh -c "echo 0 > $own/cgroup.procs && exec \"\$@\"" sh \
            unshare --pid --uts --ipc --cgroup --mount --fork --kill-child \
            sh "$0" "$1" "$2" inside || :
        find "$own" -depth -type d -exec rmdir {} + || :' "$0" "$stage" "$folder"
fi

mount -t tmpfs tmpfs "$folder/space"
mkdir "$folder/space/above" "$folder/space/work" "$folder/space/root"
root=$folder/space/root
mount -t overlay overlay "$root" -o \
    "lowerdir=/,upperdir=$folder/space/above,workdir=$folder/space/work"
cp -R "$stage/." "$root/"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for place in run tmp dev; do
    mount -t tmpfs tmpfs "$root/$place"
done
(
    cd "$root/dev"
    while read -r name minor; do
        mknod -m 666 "$name" c 1 "$minor"
    done <<END
null 3
zero 5
full 7
random 8
urandom 9
END
    mknod -m 666 tty c 5 0
    ln -s pts/ptmx ptmx
    ln -s /proc/self/fd fd
    mkdir shm
)
# Nothing of the machine's own is started.
rm -rf "$root"/etc/systemd/system/*.wants
echo aside:x:990:990::/nonexistent:/usr/sbin/nologin >> "$root/etc/passwd"
echo aside:x:990:www-data >> "$root/etc/group"
cd "$root"
mkdir old
pivot_root . old
exec chroot . sh -c 'umount -l /old && exec env -i container=aside \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system \
    --unit=aside-units.target' < /dev/null
