/** The origin at which a server with this listening address is reached from this machine. */
export const listeningOrigin = ({ address, port }: { readonly address: string; readonly port: number }): string => {
  const isEvery = address === '::' || address === '0.0.0.0';
  const literal = address.includes(':') ? `[${address}]` : address;
  return `http://${isEvery ? 'localhost' : literal}:${port}`;
};
