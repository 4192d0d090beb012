/** A workflow as its author wrote it. What has another type than it should is absent here: the schema tells of it. */
export interface WrittenWorkflow {
  readonly name: string | undefined;
  readonly parameters: Fields | undefined;
  readonly steps: readonly WrittenStep[];
  readonly output: Fields | undefined;
  readonly timeoutMs: number | undefined;
}

export interface WrittenStep {
  readonly id: string;
  readonly path: Path;
  readonly type: 'tool' | 'elicitation' | 'forEach';
  readonly fields: Fields;
  readonly dependsOn: readonly string[];
  readonly templates: readonly WrittenTemplate[];
  /** Why its output may be missing although the workflow goes on. */
  readonly mayLack: 'a condition' | 'onError.action continue' | undefined;
}

export interface WrittenTemplate {
  readonly path: Path;
  readonly text: string;
  /** Names at the root of the data beside those that all templates have. */
  readonly names: readonly string[];
}

export type Path = readonly (string | number)[];
export type Fields = Readonly<Record<string, unknown>>;

/** Something wrong, or questionable, in a workflow; `path` is below the workflow. */
export interface WorkflowFinding {
  readonly path: Path;
  readonly reason: string;
  readonly remedy: string;
}

export const fieldsIn = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textsIn = (value: unknown): readonly string[] =>
  listIn(value).filter((each): each is string => typeof each === 'string');

/** Undefined for a name that is not the value's own. */
export const member = (value: unknown, name: string): unknown => {
  const fields = fieldsIn(value);
  return fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;
};

const textIn = (value: unknown, name: string): string | undefined => {
  const text = member(value, name);
  return typeof text === 'string' ? text : undefined;
};

export const writtenWorkflow = (
  value: unknown,
  durationMs: (text: unknown) => number | undefined,
): WrittenWorkflow => ({
  name: textIn(value, 'name'),
  parameters: fieldsIn(member(value, 'parameters')),
  steps: listIn(member(value, 'steps')).flatMap((step, index) => writtenStep(step, index) ?? []),
  output: fieldsIn(member(value, 'output')),
  timeoutMs: durationMs(member(value, 'timeout')),
});

const writtenStep = (value: unknown, index: number): WrittenStep | undefined => {
  const [fields, id] = [fieldsIn(value), textIn(value, 'id')];
  const type = textIn(value, 'type') ?? 'tool';
  if (fields === undefined || id === undefined || (type !== 'tool' && type !== 'elicitation' && type !== 'forEach'))
    return undefined;
  const path = ['steps', index];
  return {
    id,
    path,
    type,
    fields,
    dependsOn: textsIn(fields['dependsOn']),
    templates: templatesOf(fields, type, path),
    mayLack: mayLack(fields),
  };
};

const mayLack = (fields: Fields): WrittenStep['mayLack'] => {
  if (fields['condition'] !== undefined) return 'a condition';
  return member(fields['onError'], 'action') === 'continue' ? 'onError.action continue' : undefined;
};

const templatesOf = (fields: Fields, type: WrittenStep['type'], path: Path): readonly WrittenTemplate[] => [
  ...single(fields, 'condition', path),
  ...templatesByType[type](fields, path),
];

const templatesByType: Readonly<
  Record<WrittenStep['type'], (fields: Fields, path: Path) => readonly WrittenTemplate[]>
> = {
  tool: (fields, path) => argumentsOf(fields, path),
  elicitation: (fields, path) => single(fields, 'message', path),
  forEach: (fields, path) => {
    const inner = fieldsIn(fields['step']) ?? {};
    const names = ['index', textIn(fields, 'itemVar') ?? 'item', 'forEach'];
    const innerPath = [...path, 'step'];
    return [
      ...single(fields, 'collection', path),
      ...[...single(inner, 'condition', innerPath), ...argumentsOf(inner, innerPath)].map((each) => ({
        ...each,
        names,
      })),
    ];
  },
};

const single = (fields: Fields, name: string, path: Path): readonly WrittenTemplate[] => {
  const text = textIn(fields, name);
  return text === undefined ? [] : [{ path: [...path, name], text, names: [] }];
};

/** Of arguments only texts of the first level are templates. */
const argumentsOf = (fields: Fields, path: Path): readonly WrittenTemplate[] =>
  Object.entries(fieldsIn(fields['arguments']) ?? {}).flatMap(([name, text]) =>
    typeof text === 'string' && text.includes('{{') ? [{ path: [...path, 'arguments', name], text, names: [] }] : [],
  );
