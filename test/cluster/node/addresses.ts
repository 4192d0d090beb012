/**
 * Private ranges that neither Docker, Podman, kind nor a cloud gives out by default. One node at a time, so they are
 * fixed.
 */
export const POD_RANGE = '10.218.0.0/16';
export const SERVICE_RANGE = '10.219.0.0/16';
export const DNS_ADDRESS = '10.219.0.10';
/** The host's end of the cable: pods reach a server of the test here. */
export const HOST_ADDRESS = '10.217.0.1';
/** The node's end of it: the host reaches the API server here. */
export const NODE_ADDRESS = '10.217.0.2';
export const API_PORT = 6443;
export const CLUSTER_DOMAIN = 'cluster.local';
