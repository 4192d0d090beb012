import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { NEXT_REQUEST } from './body.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * A server whose connections carry one request at a time, which RFC 9112 §9.3.2 leaves to it: one on which a request
 * comes while another has no answer is cut, since requests that wait there would cost their sender nothing. Makes the
 * refusals (400, 417) that Node would make, after this check.
 */
export const oneAtATimeServer = (options: ServerOptions, listener: Listener): Server => {
  const server = createServer(
    { ...options, requireHostHeader: false },
    alone((request, response) => {
      if (request.headers.host === undefined && request.httpVersion === '1.1') refuse(response, 400);
      else listener(request, response);
    }),
  );
  server.on(
    'checkExpectation',
    alone((_request, response) => refuse(response, 417)),
  );
  return server;
};

const alone =
  (listener: Listener): Listener =>
  (request, response) => {
    if (response.socket !== null) return listener(request, response);
    // The answer before it was written early, and has no end yet.
    if (request.socket.emit(NEXT_REQUEST)) response.once('socket', () => listener(request, response));
    else request.socket.destroy();
  };

/** RFC 9112 §3.2 (no Host) and RFC 9110 §10.1.1 (an unknown expectation). */
const refuse = (response: ServerResponse, status: 400 | 417): void => {
  response.writeHead(status, { connection: 'close', 'content-length': 0 }).end();
};
