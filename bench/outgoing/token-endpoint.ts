import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A token endpoint (RFC 8693) whose tokens outlive the benchmark and are as long as a JWT. Prints its port. */
let issued = 0;

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    issued += 1;
    const token = { access_token: `${issued}.`.padEnd(850, 'x'), token_type: 'Bearer', expires_in: 86_400 };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(token));
  });
});

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
