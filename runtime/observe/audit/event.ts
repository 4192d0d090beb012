import type { Caller, PolicyDecision, Target, UsedCredential } from '../../call/index.ts';
import type { AuditEventType } from '../../config/index.ts';
import type { ErrorCode } from '../../errors.ts';
import { clipped } from '../../text.ts';
import { jsonText } from './json-text.ts';
import type { KeptData } from './kept-data.ts';
import type { Outcome } from './outcome.ts';
import { redactedText } from './redaction.ts';

/** One event before it is written: docs/audit.md "Layout". */
export interface AuditEvent {
  readonly type: AuditEventType;
  readonly outcome: Outcome;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly source?: EventSource;
  readonly caller?: Caller | undefined;
  /** In place of `caller`, of what no token was presented for. */
  readonly about?: EventSubject | undefined;
  readonly target?: EventTarget;
  /** A name that gives no access to the session. */
  readonly session?: string | undefined;
  readonly decision?: PolicyDecision | undefined;
  readonly credential?: UsedCredential | undefined;
  readonly errorCode?: ErrorCode | undefined;
  readonly rpcCode?: number | undefined;
  readonly status?: number | undefined;
  readonly responseBytes?: number | undefined;
  /** Of inner calls. */
  readonly inner?: { readonly depth: number; readonly origin: string };
  readonly request?: KeptData | undefined;
  readonly response?: KeptData | undefined;
  /** Of events of the authorization server, and of `user_revoked`. */
  readonly details?: Details | undefined;
  /** Of events about auditing itself. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** Texts may be from outside; members without a value are left out. */
export type Details = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Whom an event is about. */
export interface EventSubject {
  readonly issuer: string;
  readonly user?: string | undefined;
  readonly clientId?: string | undefined;
}

/** Records an event; resolves when it is written, in the modes that block. */
export type RecordEvent = (event: Omit<AuditEvent, 'receivedAt'> & { readonly receivedAt?: number }) => Promise<void>;

export interface EventSource {
  readonly address: string | undefined;
  readonly userAgent: string | undefined;
  readonly correlationId: string;
}

export interface EventTarget {
  /** Path of the URL. */
  readonly endpoint: string;
  readonly httpMethod: string;
  /** MCP method. */
  readonly method?: string | undefined;
  readonly name?: string | undefined;
  /** tool, prompt, resource or task. */
  readonly type?: string | undefined;
  /** Where the name leads; undefined where that was not found. */
  readonly to?: Target | undefined;
}

/** What all events of a process share, and the place of this one among them. */
export interface EventPlace {
  readonly component: string;
  readonly replica: string;
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly loggedAt: number;
}

/** Longest texts from outside. */
const MAX_NAME = 1_024;
const MAX_METHOD = 128;
const MAX_AGENT = 256;
const MAX_ID = 512;
const MAX_POLICIES = 32;
const MAX_LISTED = 64;

/** The event as a line of JSON in ASCII, without its end. Written by hand, since every call has one. */
export const lineOf = (event: AuditEvent, { component, replica, sequence, loggedAt }: EventPlace): string =>
  `{"time":"${isoTime(event.receivedAt)}","level":"AUDIT","msg":"audit_event","audit_id":"${replica}-${sequence}"` +
  `,"replica":"${replica}","sequence":${sequence},"type":"${event.type}","logged_at":"${isoTime(loggedAt)}"` +
  `,"outcome":"${event.outcome}","component":${jsonText(component)}` +
  (event.source ? sourceOf(event.source) : '') +
  (event.caller ? textOf(knownSubjects, event.caller, subjectsOf) : aboutOf(event.about)) +
  targetOf(event.target) +
  (event.session === undefined ? '' : `,"session":"${event.session}"`) +
  (event.decision ? textOf(knownPolicies, event.decision, policyOf) : '') +
  credentialOf(event.credential) +
  metadataOf(event, loggedAt) +
  dataOf(event) +
  '}';

/** All events of one second share the text of their times up to it, and those of one millisecond all of it. */
let lastSecond = NaN;
let secondText = '';
let lastMs = NaN;
let msText = '';

const isoTime = (ms: number): string => {
  if (ms === lastMs) return msText;
  const second = Math.floor(ms / 1_000);
  if (second !== lastSecond) {
    lastSecond = second;
    secondText = new Date(second * 1_000).toISOString().slice(0, -'000Z'.length);
  }
  lastMs = ms;
  msText = `${secondText}${String(Math.floor(ms) - second * 1_000).padStart(3, '0')}Z`;
  return msText;
};

/** A member with a text from outside: without secrets, cut, in ASCII. */
const text = (key: string, value: string | undefined, most: number): string => {
  if (value === undefined) return '';
  if (value.length > SHORT) return `,"${key}":${written(value, most)}`;
  // Most texts are those of an earlier event: names of tools and backends, users, their agents.
  const known = shortTexts.get(value);
  if (known !== undefined) return `,"${key}":${known}`;
  const now = written(value, SHORT);
  if (shortTexts.size >= MOST_SHORT_TEXTS) shortTexts.clear();
  shortTexts.set(value, now);
  return `,"${key}":${now}`;
};

const SHORT = 128;
const MOST_SHORT_TEXTS = 1_000;
const shortTexts = new Map<string, string>();

const written = (value: string, most: number): string =>
  jsonText(clipped(redactedText(value.slice(0, 2 * most)), most));

const number = (key: string, value: number | undefined): string => (value === undefined ? '' : `,"${key}":${value}`);

/** By address, with the agent that it had last. */
const knownSources = new Map<string | undefined, { readonly agent: string | undefined; readonly text: string }>();
const MOST_SOURCES = 1_000;

const sourceOf = ({ address, userAgent, correlationId }: EventSource): string => {
  const before = knownSources.get(address);
  const source = before && before.agent === userAgent ? before.text : writtenSource(address, userAgent);
  return `${source},"correlation_id":${jsonText(correlationId)}`;
};

const writtenSource = (address: string | undefined, userAgent: string | undefined): string => {
  const value = address === undefined ? '' : `"value":${jsonText(address)},`;
  const written = `,"source":{"type":"network",${value}"extra":{${text('user_agent', userAgent, MAX_AGENT).slice(1)}}}`;
  if (knownSources.size >= MOST_SOURCES) knownSources.clear();
  knownSources.set(address, { agent: userAgent, text: written });
  return written;
};

/** By what an event tells of: a caller is one value as long as its token is cached, and so is a cached decision. */
const knownSubjects = new WeakMap<Caller, string>();
const knownPolicies = new WeakMap<PolicyDecision, string>();

const textOf = <T extends object>(known: WeakMap<T, string>, of: T, written: (of: T) => string): string => {
  const before = known.get(of);
  if (before !== undefined) return before;
  const now = written(of);
  known.set(of, now);
  return now;
};

const subjectsOf = (caller: Caller): string => {
  if (caller.kind !== 'user') return `,"subjects":{"user":"${caller.kind}"}`;
  const { issuer, subject, claims } = caller;
  const client = claims['client_id'] ?? claims['azp'];
  const members =
    text('user', subject, MAX_ID) +
    text('user_id', subject, MAX_ID) +
    text('issuer', issuer, MAX_ID) +
    text('client_id', typeof client === 'string' ? client : undefined, MAX_ID);
  return `,"subjects":{${members.slice(1)}}`;
};

const aboutOf = (about: EventSubject | undefined): string => {
  if (!about) return '';
  const { issuer, user, clientId } = about;
  const members =
    text('user', user, MAX_ID) +
    text('user_id', user, MAX_ID) +
    text('issuer', issuer, MAX_ID) +
    text('client_id', clientId, MAX_ID);
  return `,"subjects":{${members.slice(1)}}`;
};

/** By where a name leads: the target of the last event about it, of which most are alike. */
const knownTargets = new WeakMap<Target, { readonly of: EventTarget; readonly text: string }>();

const targetOf = (target: EventTarget | undefined): string => {
  if (!target) return '';
  const { to } = target;
  if (!to) return writtenTarget(target);
  const before = knownTargets.get(to);
  if (before && isAlike(before.of, target)) return before.text;
  const now = writtenTarget(target);
  knownTargets.set(to, { of: target, text: now });
  return now;
};

const isAlike = (a: EventTarget, b: EventTarget): boolean =>
  a.name === b.name &&
  a.method === b.method &&
  a.endpoint === b.endpoint &&
  a.httpMethod === b.httpMethod &&
  a.type === b.type;

const writtenTarget = ({ endpoint, httpMethod, method, name, type, to }: EventTarget): string => {
  const members =
    text('endpoint', endpoint, MAX_NAME) +
    text('http_method', httpMethod, MAX_METHOD) +
    text('method', method, MAX_METHOD) +
    text('name', name, MAX_NAME) +
    text('type', type, MAX_METHOD) +
    (to ? destinationOf(to) : '');
  return `,"target":{${members.slice(1)}}`;
};

const destinationOf = (to: Target): string => {
  if (to.kind === 'backend') return text('backend', to.backend, MAX_ID) + ownNameOf(to.ownName);
  return to.kind === 'workflow' ? text('workflow_name', to.workflow, MAX_NAME) : '';
};

const ownNameOf = (json: Buffer | undefined): string => text('own_name', json && ownNameIn(json), MAX_NAME);

const ownNameIn = (json: Buffer): string => {
  const inner = json.toString('utf8', 1, json.length - 1);
  return inner.includes('\\') ? (JSON.parse(json.toString()) as string) : inner;
};

const policyOf = ({ isAllowed, policies, failed, dryRun }: PolicyDecision): string =>
  `,"policy":{"allowed":${isAllowed},"ids":${ids(policies)},"failed":${ids(failed)},"dry_run":${ids(dryRun)}}`;

/** Both are words of ours. */
const credentialOf = (used: UsedCredential | undefined): string =>
  used ? `,"credential":{"strategy":"${used.strategy}","outcome":"${used.outcome}"}` : '';

const ids = (policies: readonly string[]): string =>
  `[${policies
    .slice(0, MAX_POLICIES)
    .map((id) => jsonText(clipped(id, MAX_ID)))
    .join(',')}]`;

const metadataOf = (event: AuditEvent, loggedAt: number): string => {
  const { errorCode, inner, details, settings } = event;
  const members =
    number('duration_ms', Math.max(0, loggedAt - event.receivedAt)) +
    number('http_status', event.status) +
    (errorCode === undefined ? '' : `,"error_code":"${errorCode}"`) +
    number('jsonrpc_error_code', event.rpcCode) +
    number('response_size_bytes', event.responseBytes) +
    (inner ? `,"depth":${inner.depth},"origin":"${inner.origin}"` : '') +
    (details ? `,"details":${detailsOf(details)}` : '') +
    (settings ? `,"settings":${jsonTextOf(settings)}` : '');
  return `,"metadata":{"extra":{${members.slice(1)}}}`;
};

const detailsOf = (details: Details): string =>
  `{${Object.entries(details)
    .flatMap(([key, value]) => {
      if (value === undefined) return [];
      if (typeof value === 'number') return [`"${key}":${value}`];
      if (typeof value === 'string') return [`"${key}":${written(value, MAX_ID)}`];
      const texts = value.slice(0, MAX_LISTED).map((each) => written(each, MAX_ID));
      return [`"${key}":[${texts.join(',')}]`];
    })
    .join(',')}}`;

const jsonTextOf = (settings: Readonly<Record<string, unknown>>): string =>
  `{${Object.entries(settings)
    .map(([key, value]) => `"${key}":${typeof value === 'string' ? jsonText(value) : JSON.stringify(value)}`)
    .join(',')}}`;

const dataOf = ({ request, response }: AuditEvent): string => {
  if (!request && !response) return '';
  const members = kept('request', request) + kept('response', response);
  return `,"data":{${members.slice(1)}}`;
};

const kept = (key: string, data: KeptData | undefined): string =>
  data ? `,"${key}":${data.json}${data.isCut ? `,"${key}_truncated":true` : ''}` : '';
