import type { Access, Target } from '../../call/index.ts';
import { isObject, memberAt } from '../../json/index.ts';
import type { ListKind } from '../../mcp/index.ts';
import type { EntityValue, RecordValue, Value } from './values.ts';

/** What a decision is about: an action on one entry of the catalog, or on one of several that is not known. */
export interface Subject {
  readonly action: 'call_tool' | 'get_prompt' | 'read_resource';
  readonly entity: EntityValue;
  /** Undefined for the runtime's own tools. */
  readonly backend: string | undefined;
  /** Undefined where the id is not known. */
  readonly attributes: RecordValue | undefined;
  /** Whether the arguments are those of the request; otherwise it is asked whether there are any that are admitted. */
  readonly isCall: boolean;
  readonly hasArguments: boolean;
}

const ACTION = { Tool: 'call_tool', Prompt: 'get_prompt', Resource: 'read_resource' } as const;
type EntityType = keyof typeof ACTION;

const TYPE_OF_LIST = {
  tools: 'Tool',
  prompts: 'Prompt',
  resources: 'Resource',
  resourceTemplates: 'Resource',
} as const satisfies Readonly<Record<ListKind, EntityType>>;

/** An entry of a list: is there a call of it that is admitted? */
export const subjectOfEntry = (name: string, target: Target, kind: ListKind): Subject => {
  const type = TYPE_OF_LIST[kind];
  if (kind === 'resourceTemplates') return unknownOf(type, target, name.slice(0, name.indexOf('{')));
  return { ...subjectNamed(type, name, target), isCall: false };
};

const TYPE_OF_NAME = { tool: 'Tool', prompt: 'Prompt', resource: 'Resource' } as const;

/**
 * docs/policies.md "Actions": reading, completing and watching one entry are decided alike. Of a task the backend is
 * known, not the tool; of one of a workflow the workflow is, and not the arguments that it was begun with.
 */
export const subjectOfAccess = (
  { names, name, method }: Pick<Access, 'names' | 'name' | 'method'>,
  target: Target,
): Subject => {
  if (names === 'task')
    return target.kind === 'workflow'
      ? { ...subjectNamed('Tool', target.workflow, target), isCall: false }
      : unknownOf('Tool', target, '');
  const isTemplate = target.kind === 'backend' && target.template === name;
  if (method !== 'completion/complete') return subjectNamed(TYPE_OF_NAME[names], name, target);
  return isTemplate
    ? subjectOfEntry(name, target, 'resourceTemplates')
    : { ...subjectNamed(TYPE_OF_NAME[names], name, target), isCall: false };
};

const unknownOf = (type: EntityType, target: Target, beginning: string): Subject => ({
  action: ACTION[type],
  entity: { kind: 'entity', type, id: undefined, beginning },
  backend: backendOf(target),
  attributes: undefined,
  isCall: false,
  hasArguments: type !== 'Resource',
});

const subjectNamed = (type: EntityType, name: string, target: Target): Subject => ({
  action: ACTION[type],
  entity: { kind: 'entity', type, id: name },
  backend: backendOf(target),
  attributes: { kind: 'record', members: attributesOf(type, name, target) },
  isCall: true,
  hasArguments: type !== 'Resource',
});

const backendOf = (target: Target): string | undefined => (target.kind === 'backend' ? target.backend : undefined);

const attributesOf = (type: EntityType, name: string, target: Target): ReadonlyMap<string, Value> => {
  if (type === 'Resource') return new Map([['uri', name]]);
  return new Map<string, Value>([['name', name], ...(type === 'Tool' ? hintsOf(target) : [])]);
};

/** Annotations of tools that policies may read (MCP 2026-07-28 "ToolAnnotations"). */
export const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/** The annotations that are advertised: an override replaces what the backend says. */
const hintsOf = (target: Target): readonly (readonly [string, boolean])[] => {
  if (target.kind !== 'backend') return [];
  const { listed, annotations: overriding } = target;
  const own = listed && memberAt(listed.bytes, 0, 'annotations');
  return HINTS.flatMap((hint) => {
    const value = overriding?.[hint] ?? (listed && own && hintIn(listed.bytes, own.start, hint));
    return typeof value === 'boolean' ? [[hint, value] as const] : [];
  });
};

const hintIn = (bytes: Buffer, at: number, hint: string): boolean | undefined => {
  const span = isObject(bytes, at) ? memberAt(bytes, at, hint) : undefined;
  const text = span && bytes.toString('latin1', span.start, span.end);
  if (text === 'true') return true;
  return text === 'false' ? false : undefined;
};
