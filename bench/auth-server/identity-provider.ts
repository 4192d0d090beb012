import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The token endpoint of an identity provider: a code is the name of the user who has signed in. What browsers do there
 * costs the gateway nothing, and is left out. Tokens outlive the benchmark. Prints its port.
 */
const server = createServer((request, response) => {
  request.setEncoding('utf8');
  let body = '';
  request.on('data', (piece: string) => (body += piece));
  request.on('end', () => {
    const user = new URLSearchParams(body).get('code') ?? '';
    const tokens = { access_token: `${user}.`.padEnd(850, 'x'), refresh_token: `${user}.`.padEnd(64, 'y') };
    response.writeHead(200, { 'content-type': 'application/json' });
    const who = { id: user, name: `The user ${user}`, email: `${user}@bench.example` };
    response.end(JSON.stringify({ ...tokens, token_type: 'Bearer', expires_in: 86_400, user: who }));
  });
});

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
