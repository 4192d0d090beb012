import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach } from 'node:test';
import { type ApiClient, apiClient } from '../../../operator/api/client.ts';
import { type Connection, connect } from '../../../operator/api/kubeconfig.ts';
import { resourceTable } from '../../../operator/api/resources.ts';
import { type Transport, type TransportDeps, transport } from '../../../operator/api/transport.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { type ManualClock, manualClock } from '../engine/manual-clock.ts';

export interface Asked {
  readonly method: string | undefined;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Answer = (asked: Asked, response: ServerResponse) => void;

/** Stands in for an API server: keeps what it is asked, and answers what the test says. */
export interface ScriptedServer {
  answer: Answer;
  readonly asked: Asked[];
  readonly client: ApiClient;
  readonly connection: Connection;
  readonly clock: ManualClock;
  transportWith(
    deps?: Partial<Pick<TransportDeps, 'observe' | 'rateLimit' | 'read'>>,
    connection?: Connection,
  ): Transport;
}

/** For the tests of a file: it ends after them, and forgets before each what it was asked. */
export const startScriptedServer = async (): Promise<ScriptedServer> => {
  const asked: Asked[] = [];
  const clock = manualClock();
  const server = createServer((request, response) => {
    void askedBy(request).then((one) => {
      asked.push(one);
      scripted.answer(one, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-client-'));
  const connection = await connect(await kubeconfigIn(folder, (server.address() as AddressInfo).port), {});
  const transportWith: ScriptedServer['transportWith'] = (deps = {}, through = connection) =>
    transport(through, { clock, rateLimit: () => Promise.resolve(), ...deps });
  const scripted: ScriptedServer = {
    answer: (_, response) => response.destroy(),
    asked,
    connection,
    clock,
    transportWith,
    client: apiClient(transportWith(), table),
  };
  beforeEach(() => void asked.splice(0));
  after(async () => {
    await connection.close();
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });
  return scripted;
};

const askedBy = async (request: IncomingMessage): Promise<Asked> => {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
  const { method, headers } = request;
  return { method, path: pathname, query: Object.fromEntries(searchParams), headers, body };
};

const skipVerify = 'insecure-skip-tls-verify';

const kubeconfigIn = async (folder: string, port: number): Promise<string> => {
  const path = join(folder, 'kubeconfig');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    // The library takes plain HTTP only with it.
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}/behind/a/proxy/`, [skipVerify]: true } }],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
    'current-context': 'x',
  };
  await writeFile(path, JSON.stringify(kubeconfig));
  return path;
};

export const table = resourceTable([{ kind: 'Widget', apiVersion: 'test.vmcp.dev/v1', plural: 'widgets' }]);

export const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

export const widget: KubeObject = {
  apiVersion: 'test.vmcp.dev/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'here' },
  spec: { 'a field nobody knows': [1, { two: null }] },
};

export const key = { kind: 'Widget', namespace: 'here', name: 'w' };
