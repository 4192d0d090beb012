export const REDIS_PORT = 6379;
export const SENTINEL_PORT = 26379;

/** Parses `host` or `host:port`; an IPv6 address must be in brackets where there is a port, and may be elsewhere. */
export const hostAndPort = (address: string, defaultPort: number): { readonly host: string; readonly port: number } => {
  const { host = address, port } = /^(?<host>\[[^\]]*\]|[^:]+)(?::(?<port>[0-9]+))?$/.exec(address)?.groups ?? {};
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: port === undefined ? defaultPort : Number(port) };
};
