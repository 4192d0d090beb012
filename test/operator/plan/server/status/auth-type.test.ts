import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../../../../../operator/plan/plan.ts';
import { covers } from '../../../../requirements.ts';
import { planOf } from '../../plan-with-everything-built.ts';
import { made } from '../../made.ts';
import { entry, group, server, statusOf } from '../../plan-of-demo.ts';

interface Backend {
  readonly authType?: string;
  readonly authConfigRef?: string;
}

const backendsOf = (plan: Plan): readonly Backend[] => statusOf(plan)['discoveredBackends'] as readonly Backend[];

covers('status.discovered.auth-type');
test('a strategy of config.outgoingAuth is shown as it is written there', () => {
  const env = { type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValueEnv: 'KEY' } };
  const exchange = { type: 'token_exchange', tokenExchange: { tokenUrl: 'https://sts.example.com/token' } };
  const members = [entry('a'), entry('b', { externalAuthConfigRef: { name: 'it' } }), entry('constructor')];
  const bearer = { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 's', key: 'k' } } };
  const shown = (more: object): unknown =>
    backendsOf(planOf(server(more), group(), ...members, made('MCPExternalAuthConfig', 'it', bearer))).map((each) =>
      [each.authType, each.authConfigRef].join(' ').trim(),
    );
  const said = (outgoingAuth: object) => ({ config: { outgoingAuth } });
  const none = 'unauthenticated';
  assert.deepEqual(shown(said({ source: 'inline', backends: { a: env } })), [env.type, none, none]);
  assert.deepEqual(shown(said({ source: 'inline', default: exchange, backends: { a: env } })), [
    env.type,
    exchange.type,
    exchange.type,
  ]);
  // What is explicit comes first, then what the backend names itself, then the default.
  assert.deepEqual(shown(said({ source: 'discovered', default: env })), [env.type, 'bearerToken it', env.type]);
  assert.deepEqual(shown(said({ source: 'discovered', backends: { b: exchange } })), [none, exchange.type, none]);
  // spec.outgoingAuth takes precedence as a whole.
  const above = { outgoingAuth: { source: 'discovered' }, ...said({ source: 'inline', default: env }) };
  assert.deepEqual(shown(above), [none, 'bearerToken it', none]);
  const list = [{ name: 'x', url: 'http://x/mcp', transport: 'sse' }];
  const inList = { source: 'inline', backends: { x: exchange } };
  assert.deepEqual(shown({ config: { outgoingAuth: inList, backends: list } }), [exchange.type]);
});
