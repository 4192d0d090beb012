import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A collector of OTLP over HTTP that reads what comes and keeps nothing. Prints its port. */
const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
});

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
