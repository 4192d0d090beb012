export interface ListenAt {
  /** `::` is every address, of IPv4 too; where there is no IPv6 it falls back to `0.0.0.0`. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
}

export interface Listener {
  readonly listen: (at: ListenAt) => Promise<unknown>;
}

/** Throws what the server's own `listen` throws. */
export const listen = async (server: Listener, { host, port }: ListenAt): Promise<void> => {
  try {
    await server.listen({ host, port });
  } catch (error) {
    if (host !== '::' || !isNoIpv6(error)) throw error;
    await server.listen({ host: '0.0.0.0', port });
  }
};

/** A kernel without IPv6 knows no `::`; where it is switched off there is no such address. */
const isNoIpv6 = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EAFNOSUPPORT' || error.code === 'EADDRNOTAVAIL');

/** The origin at which a server with this listening address is reached from this machine. */
export const listeningOrigin = ({ address, port }: { readonly address: string; readonly port: number }): string => {
  const isEvery = address === '::' || address === '0.0.0.0';
  const literal = address.includes(':') ? `[${address}]` : address;
  return `http://${isEvery ? 'localhost' : literal}:${port}`;
};
