import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type OnCall, startBackends } from './backend.ts';
import { openClient } from './client.ts';
import type { Counts, Way } from './ways.ts';

/**
 * The tenth backend and its clients: a process beside that of the nine, so that what the tenth costs by itself is no
 * part of what the nine see. Prints its port. `PUT /clients` says where its clients call it for as long as the gateway is
 * there, `PUT /way` how it goes on, and is answered with what became of the calls since the last one (`Counts`).
 */
const CLIENTS = 100;
/** Between two calls of a client, on average: pauses of one length would keep the clients in step, in bursts. */
const PAUSE_MS = 100;
const HOLD_MS = 60_000;
/** How long a call takes that does not fail. */
const CALL_MS = 20;
/** Calls under way with which it still succeeds where it fails under load. */
const BEARABLE = 8;

let way: Way = 'well';
let underWay = 0;
let calls = 0;
let counts: Counts = { answered: 0, failed: 0, refused: 0 };

/** Whether a call fails now. */
const fails = (): boolean => {
  if (way === 'flaps') return calls % 2 === 0;
  return way === 'fails under load' ? underWay > BEARABLE : way !== 'well';
};

const onCall: OnCall = (response, answer) => {
  calls += 1;
  underWay += 1;
  response.once('close', () => (underWay -= 1));
  if (!fails()) return void setTimeout(answer, CALL_MS);
  if (way === 'hangs') return void setTimeout(() => response.destroy(), HOLD_MS).unref();
  if (way === 'breaks off')
    return void response.writeHead(200, { 'content-length': '99' }).write('{', () => void response.destroy());
  return response.writeHead(503).end();
};

const callOn = async (gateway: string): Promise<void> => {
  const call = await openClient(gateway);
  for (;;) {
    const answer = await call('a');
    const became = answer.includes('"text":"x"') ? 'answered' : answer.includes('circuit_open') ? 'refused' : 'failed';
    counts = { ...counts, [became]: counts[became] + 1 };
    await pause(2 * Math.random() * PAUSE_MS);
  }
};

const onControl = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const body = await text(request);
  if (request.url === '/way') way = body as Way;
  // They end with the gateway.
  else for (let n = 0; n < CLIENTS; n += 1) void callOn(body).catch(() => {});
  response.writeHead(200).end(JSON.stringify(counts));
  counts = { answered: 0, failed: 0, refused: 0 };
};

const origin = await startBackends(onCall, (request, response) => void onControl(request, response));
console.log(new URL(origin).port);
