/** Somebody who can be asked. */
export interface Terminal {
  readonly show: (line: string) => void;
  /** Undefined: nobody answers any more. */
  readonly ask: (prompt: string) => Promise<string | undefined>;
}

/** Params of `elicitation/create`. */
export interface Question {
  readonly message: string;
  /** A flat object of texts, numbers, booleans and choices. */
  readonly requestedSchema: Readonly<Record<string, unknown>>;
}

export interface StepQuestion {
  readonly step: string;
  readonly question: Question;
}

/** What the user answers to a question (MCP "Elicitation"). */
export type Answer =
  | { readonly action: 'accept'; readonly content: Readonly<Record<string, unknown>> }
  | { readonly action: 'decline' | 'cancel' };

/** Asks for each field of an answer; a field that is not what it should be is asked for again. */
export const asked = async (
  { step, question: { message, requestedSchema } }: StepQuestion,
  terminal: Terminal,
): Promise<Answer | undefined> => {
  terminal.show(`step ${JSON.stringify(step)} asks: ${message}`);
  const action = await actionAt(terminal);
  if (action === undefined || action !== 'accept') return action && { action };
  const content: Record<string, unknown> = {};
  for (const field of fieldsIn(requestedSchema)) {
    const value = await valueAt(field, terminal);
    if (value === undefined) return undefined;
    if (value.isGiven) content[field.name] = value.value;
  }
  return { action, content };
};

const ACTIONS = ['accept', 'decline', 'cancel'] as const;

const actionAt = async (terminal: Terminal): Promise<(typeof ACTIONS)[number] | undefined> => {
  for (;;) {
    const text = await terminal.ask('  accept, decline or cancel? [accept] ');
    if (text === undefined) return undefined;
    const word = text.trim() === '' ? 'accept' : text.trim();
    const action = ACTIONS.find((each) => each.startsWith(word));
    if (action) return action;
  }
};

interface Field {
  readonly name: string;
  readonly type: unknown;
  readonly choices: readonly string[];
  readonly isRequired: boolean;
  readonly preset: unknown;
  readonly description: string;
}

const fieldsIn = ({ properties, required }: Question['requestedSchema']): readonly Field[] =>
  Object.entries(recordOf(properties)).map(([name, schema]) => {
    const { type, default: preset, description, title, ...more } = recordOf(schema);
    return {
      name,
      type,
      preset,
      choices: choicesIn(more),
      isRequired: Array.isArray(required) && required.includes(name),
      description: [title, description].filter((text) => typeof text === 'string').join(': '),
    };
  });

/** `enum`, or `oneOf` with a `const` each. */
const choicesIn = ({ enum: words, oneOf }: Readonly<Record<string, unknown>>): readonly string[] => {
  const choices = Array.isArray(words)
    ? words
    : Array.isArray(oneOf)
      ? oneOf.map((each) => recordOf(each)['const'])
      : [];
  return choices.filter((each) => typeof each === 'string');
};

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

type FieldValue = { readonly isGiven: true; readonly value: unknown } | { readonly isGiven: false };

/** Undefined: nobody answers any more. */
const valueAt = async (field: Field, terminal: Terminal): Promise<FieldValue | undefined> => {
  for (;;) {
    const text = await terminal.ask(promptOf(field));
    if (text === undefined) return undefined;
    if (text.trim() === '' && field.preset !== undefined) return { isGiven: true, value: field.preset };
    if (text.trim() === '' && !field.isRequired) return { isGiven: false };
    const value = text.trim() === '' ? undefined : valueOfText(text, field);
    if (value !== undefined) return { isGiven: true, value };
    terminal.show(`  ${wanted(field)} is wanted`);
  }
};

const promptOf = (field: Field): string => {
  const { name, isRequired, preset, description } = field;
  const words = [wanted(field), ...(isRequired ? ['required'] : []), ...(description === '' ? [] : [description])];
  const before = preset === undefined ? '' : ` [${JSON.stringify(preset)}]`;
  return `  ${name} (${words.join(', ')})${before}: `;
};

const wanted = ({ type, choices }: Field): string =>
  choices.length > 0 ? `one of ${choices.join(', ')}` : (NAMES.get(type) ?? 'a JSON value');

const NAMES: ReadonlyMap<unknown, string> = new Map([
  ['string', 'a text'],
  ['integer', 'a whole number'],
  ['number', 'a number'],
  ['boolean', 'true or false'],
  ['array', 'a JSON list'],
]);

/** Undefined where the text stands for no such value. */
const valueOfText = (text: string, { type, choices }: Field): unknown => {
  if (choices.length > 0) return choices.find((choice) => choice === text.trim());
  if (type === 'string') return text;
  const value = parsed(text);
  return IS_OF_TYPE.get(type)?.(value) === false ? undefined : value;
};

const IS_OF_TYPE: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map([
  ['integer', Number.isInteger],
  ['number', (value: unknown) => typeof value === 'number'],
  ['boolean', (value: unknown) => typeof value === 'boolean'],
  ['array', (value: unknown) => Array.isArray(value)],
]);

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};
