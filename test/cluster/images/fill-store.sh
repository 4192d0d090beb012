#!/bin/sh
# Runs in mount and process namespaces of its own: brings images into the storage of a containerd that then ends.
# The containers of a node never see this containerd; its storage is all that stays.
set -eu
containerd=$1 ctr=$2 settings=$3 address=$4
shift 4

"$containerd" --config "$settings" &
pid=$!
until "$ctr" --address "$address" version > /dev/null 2>&1; do
  kill -0 "$pid"
  sleep 0.1
done
for archive; do
  "$ctr" --address "$address" --namespace k8s.io images import "$archive"
done
kill "$pid"
wait "$pid"
