import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { type AuthReplicas, startAuthReplicas } from '../../fixtures/auth-replicas.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { type Chromium, noChromium, startChromium } from '../../fixtures/chromium.ts';
import { personAt } from '../../fixtures/person.ts';
import { freePortPair } from '../../fixtures/ports.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { noRedis } from '../../fixtures/redis.ts';
import { codeIn, registerClient, textIn } from '../../fixtures/signing-in.ts';

const LOGINS = 2;
const LOGIN_MS = 240_000;

/** No request is answered by the replica that answered the one before: that one has been killed, and comes back. */
class DeadlyBalancer {
  readonly #server: Server;
  #replicas: AuthReplicas['replicas'] | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #turn = 0;
  /** Paths that were answered. */
  readonly answered: string[] = [];

  constructor() {
    this.#server = createServer((request, response) => {
      this.#last = this.#last.then(() => this.#forward(request, response)).catch(() => response.destroy());
    });
  }

  async open(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  leadTo(replicas: AuthReplicas['replicas']): void {
    this.#replicas = replicas;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [one, two] = this.#replicas ?? assert.fail('no replicas');
    const [replica, other] = this.#turn % 2 === 0 ? [one, two] : [two, one];
    this.#turn += 1;
    await replica.ready();
    const { method = 'GET', url = '/', rawHeaders } = request;
    const body = Buffer.concat(await request.toArray());
    const headers = new Headers();
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at] ?? '';
      if (!/^(host|connection|content-length|transfer-encoding|keep-alive)$/i.test(name))
        headers.append(name, rawHeaders[at + 1] ?? '');
    }
    const answer = await fetch(`http://127.0.0.1:${replica.port}${url}`, {
      method,
      headers,
      redirect: 'manual',
      ...(body.length > 0 && { body }),
    });
    const content = Buffer.from(await answer.arrayBuffer());
    for (const [name, value] of answer.headers)
      if (!/^(content-encoding|content-length|transfer-encoding|connection|set-cookie)$/.test(name))
        response.setHeader(name, value);
    response.setHeader('set-cookie', answer.headers.getSetCookie());
    // What this replica knows and has not written is lost before anybody sees its answer.
    await replica.kill();
    void replica.ready();
    await other.ready();
    this.answered.push(`${method} ${new URL(url, 'http://x').pathname}`);
    response.writeHead(answer.status).end(content);
  }
}

describe(
  'a login through two identity providers, with every replica killed after each of its answers',
  {
    skip: noRedis || noChromium || noCertificates,
  },
  () => {
    const balancer = new DeadlyBalancer();
    let at: AuthReplicas;
    let chromium: Chromium;
    before(async () => {
      const port = await freePortPair();
      await balancer.open(port);
      at = await startAuthReplicas({ providers: ['corp', 'hub'], port });
      balancer.leadTo(at.replicas);
      chromium = await startChromium();
    });
    after(async () => {
      await chromium.stop();
      await balancer.close();
      await at.stop();
    });

    for (let login = 1; login <= LOGINS; login += 1)
      test(`login ${login} is neither lost nor made twice`, { timeout: LOGIN_MS }, async () => {
        const [corp, hub] = at.providers;
        const before = [corp, hub].map((provider) => [
          provider?.askedFor('/auth').length ?? 0,
          provider?.askedFor('/token').length ?? 0,
        ]);
        const client = await registerClient(at);
        const opened = await chromium.open({ ignoreHTTPSErrors: true });
        // Each answer takes the start of a process, and a busy machine its time.
        opened.page.setDefaultTimeout(LOGIN_MS);
        const person = personAt(opened);
        const code = codeIn(await person.signIn(client.authorizationUrl().href));
        const tokens = await client.redeem(code);
        assert.equal(tokens.status, 200, JSON.stringify(tokens.body));
        assert.deepEqual(
          [corp, hub].map((provider, index) => [
            (provider?.askedFor('/auth').length ?? 0) - (before[index]?.[0] ?? 0),
            (provider?.askedFor('/token').length ?? 0) - (before[index]?.[1] ?? 0),
          ]),
          [
            [1, 1],
            [1, 1],
          ],
          'each provider was asked once, and each of its codes redeemed once',
        );
        assert.equal(person.pages.length, 1);
        const token = { authorization: `Bearer ${textIn(tokens, 'access_token')}` };
        assert.equal((await post(`${at.issuer}/mcp`, INITIALIZE, token)).status, 200);
        const next = await client.refresh(textIn(tokens, 'refresh_token'));
        assert.equal(next.status, 200, JSON.stringify(next.body));
        const again = await client.redeem(code);
        assert.deepEqual([again.status, again.body['error']], [400, 'invalid_grant'], 'the code is good once');
        assert.deepEqual(
          ['GET /oauth/authorize', 'GET /mcp/oauth/callback', 'POST /oauth/consent', 'POST /oauth/token'].filter(
            (step) => !balancer.answered.includes(step),
          ),
          [],
        );
      });
  },
);
