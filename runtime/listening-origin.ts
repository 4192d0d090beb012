/** Where a server that listens there is reached from this machine: one that listens on every address tells none. */
export const listeningOrigin = ({ address, port }: { readonly address: string; readonly port: number }): string => {
  const isEvery = address === '::' || address === '0.0.0.0';
  const literal = address.includes(':') ? `[${address}]` : address;
  return `http://${isEvery ? 'localhost' : literal}:${port}`;
};
