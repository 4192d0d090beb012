import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An identity provider, as far as tokens need it: discovery and keys. Takes the keys (JWK set); prints its port. */
const jwks = process.argv[2] ?? '';

const server = createServer(({ url }, response) => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const metadata = { issuer, jwks_uri: `${issuer}/jwks` };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(url === '/jwks' ? jwks : JSON.stringify(metadata));
});

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
