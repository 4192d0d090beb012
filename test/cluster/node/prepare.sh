#!/bin/sh
# Runs inside the node's fresh namespaces, before any program: gives them mounts and a network of their own.
# Nothing here can reach the host: the mounts are private, the sysctls that belong to the whole machine are covered.
set -eu
folder=$1 address=$2 services=$3 gateway=$4

# Private while mounts are shuffled: otherwise an unmount would travel back to the host.
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/lock
mount --bind "$folder/var" /var

# A /sys that shows this network namespace, with the cgroup hierarchies of the host kept.
mount --rbind /sys/fs/cgroup "$folder/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$folder/cgroup" /sys/fs/cgroup
umount -R "$folder/cgroup"

# The kubelet sets these for the whole machine. It finds files that hold its values already and writes nothing.
cover() {
  printf '%s\n' "$2" > "$folder/sysctl/$(echo "$1" | tr / -)"
  mount --bind "$folder/sysctl/$(echo "$1" | tr / -)" "/proc/sys/$1"
}
cover vm/overcommit_memory 1
cover kernel/panic 10
cover kernel/panic_on_oops 1
cover kernel/keys/root_maxkeys 1000000
cover kernel/keys/root_maxbytes 25000000

# Volumes mounted by the kubelet must show up in containers.
mount --make-rshared /

hostname node1
ip link set lo up
ip address add "$address/30" dev eth0
ip link set eth0 up
# Service addresses are rewritten on the way out: without a route a connection fails before that.
ip route add "$services" via "$gateway"
echo 1 > /proc/sys/net/ipv4/ip_forward
# Pods on the bridge reach Services only when iptables sees bridged packets.
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables
