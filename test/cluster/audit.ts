import { open } from 'node:fs/promises';

/** One write request, as the API server itself wrote it down. */
export interface AuditedWrite {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Who wrote: the impersonated user where there is one. */
  readonly user: string;
  readonly userAgent: string;
  readonly code: number;
  /** Nothing of it was stored. */
  readonly isDryRun: boolean;
  readonly at: string;
}

/** A request of any kind, and which rule of RBAC let it through. */
export interface AuditedRequest extends AuditedWrite {
  /** As the API server says it: the binding and the role. Empty when it was refused. */
  readonly allowedBy: string;
}

/** Everything that changes something, and all that an operator asks for; other reads and watches would only bury it. */
export const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
  - level: Metadata
    userGroups: ['system:serviceaccounts:vmcp-system']
  - level: None
`;

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: Partial<Record<'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name', string>>;
  readonly responseStatus?: { readonly code?: number };
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** What the API server has written down so far, oldest first. */
export interface AuditLog {
  /**
   * The API server writes the line before it ends its answer, so a write that was answered is in here. Of one user, or
   * of all.
   */
  readonly writes: (user?: string) => Promise<AuditedWrite[]>;
  /** What an account of `vmcp-system` asked for; a watch is in here once it has ended. */
  readonly requests: (user: string) => Promise<AuditedRequest[]>;
}

/**
 * The log grows to many megabytes, and tests ask all the time: no line is read twice, and only those that name the user
 * are parsed.
 */
export const auditLog = (path: string): AuditLog => {
  let lines: readonly string[] = [];
  let position = 0;
  let reading = Promise.resolve();
  const read = async (): Promise<void> => {
    const added = await wholeLines(path, position);
    if (added.length === 0) return;
    position += added.length;
    lines = lines.concat(added.toString().split('\n').slice(0, -1));
  };
  const known = new Map<string, { seen: number; requests: readonly AuditedRequest[] }>();
  const requestsOf = async (user = ''): Promise<readonly AuditedRequest[]> => {
    await (reading = reading.then(read));
    const { seen, requests } = known.get(user) ?? { seen: 0, requests: [] };
    const added = lines
      .slice(seen)
      .filter((line) => line.includes(user))
      .map((line) => asRequest(JSON.parse(line) as AuditEvent))
      .filter((request) => user === '' || request.user === user);
    const all = requests.concat(added);
    known.set(user, { seen: lines.length, requests: all });
    return all;
  };
  return {
    writes: async (user) => (await requestsOf(user)).filter(({ verb }) => WRITES.has(verb)),
    requests: async (user) => [...(await requestsOf(user))],
  };
};

/** What the file holds from there on, but for a line that has not ended yet; nothing while there is no file. */
const wholeLines = async (path: string, position: number): Promise<Buffer> => {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return Buffer.alloc(0);
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - position), { position });
    return buffer.subarray(0, buffer.subarray(0, bytesRead).lastIndexOf('\n') + 1);
  } finally {
    await file.close();
  }
};

const asRequest = (event: AuditEvent): AuditedRequest => ({
  ...asWrite(event),
  allowedBy: event.annotations?.['authorization.k8s.io/reason'] ?? '',
});

function asWrite(event: AuditEvent): AuditedWrite {
  const { apiGroup = '', resource = '', subresource = '', namespace = '', name = '' } = event.objectRef ?? {};
  return {
    verb: event.verb,
    group: apiGroup,
    resource,
    subresource,
    namespace,
    name,
    user: (event.impersonatedUser ?? event.user).username,
    userAgent: event.userAgent ?? '',
    code: event.responseStatus?.code ?? 0,
    isDryRun: new URL(event.requestURI, 'http://x').searchParams.has('dryRun'),
    at: event.stageTimestamp,
  };
}
