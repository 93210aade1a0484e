#!/usr/bin/env bash
# Runs a command as the first process of new network, mount and PID namespaces: see run.mjs. bash
# reaps the processes that containerd leaves to it.
set -eu
# Runtimes keep sockets, network namespaces and locks in these folders.
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock
mount -t tmpfs tmpfs /var/log
mount -t tmpfs tmpfs /var/lib/cni
"$@"
