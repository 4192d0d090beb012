import { parseTemplate, type Template } from '../templates/index.ts';
import type { Expand, TemplateData } from './expansion.ts';
import { StepFailure } from './failure.ts';
import type { WorkflowConfig } from './step.ts';
import { coerced, isObjectValue, valueOfText } from './values.ts';

type OutputConfig = NonNullable<WorkflowConfig['output']>;
type PropertyConfig = OutputConfig['properties'][string];

/** What a workflow returns. */
export interface OutputPlan {
  /** JSON Schema of the result. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Throws StepFailure where a required property has no value. */
  readonly make: (expand: Expand, data: TemplateData) => Readonly<Record<string, unknown>>;
}

interface PlannedProperty extends PropertyConfig {
  readonly name: string;
  readonly template: Template | undefined;
  readonly nested: readonly PlannedProperty[] | undefined;
}

export const planOutput = ({ properties, required = [] }: OutputConfig): OutputPlan => {
  const planned = plannedIn(properties);
  return {
    schema: {
      type: 'object',
      properties: schemasOf(properties),
      ...(required.length > 0 && { required: [...required] }),
    },
    make: (expand, data) => {
      const output = valuesOf(planned, expand, data);
      const missing = required.filter((name) => !Object.hasOwn(output, name));
      if (missing.length === 0) return output;
      throw new StepFailure(`there is no value for ${missing.map((name) => JSON.stringify(name)).join(', ')}`);
    },
  };
};

const plannedIn = (properties: OutputConfig['properties']): readonly PlannedProperty[] =>
  Object.entries(properties).map(([name, property]) => ({
    ...property,
    name,
    template: property.value === undefined ? undefined : parseTemplate(property.value),
    nested: property.properties && plannedIn(property.properties),
  }));

const schemasOf = (properties: OutputConfig['properties']): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, { type, description, properties: nested }]) => [
      name,
      {
        ...(type !== undefined && { type }),
        ...(description !== undefined && { description }),
        ...(nested && { properties: schemasOf(nested) }),
      },
    ]),
  );

/** Properties without a value are left out. */
const valuesOf = (
  planned: readonly PlannedProperty[],
  expand: Expand,
  data: TemplateData,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    planned.flatMap((property) => {
      const value = valueOf(property, expand, data);
      return value === undefined ? [] : [[property.name, value]];
    }),
  );

const valueOf = (property: PlannedProperty, expand: Expand, data: TemplateData): unknown => {
  const { type, template, nested } = property;
  const given = template ? textAs(type, () => expand(template, data)) : undefined;
  if (!nested) return given ?? coerced(property.default, type);
  const inner = valuesOf(nested, expand, data);
  const whole = given ?? coerced(property.default, type);
  return isObjectValue(whole) ? { ...whole, ...inner } : inner;
};

/** Undefined where the template cannot be expanded, or its text is of another type. */
const textAs = (type: PropertyConfig['type'], expand: () => string): unknown => {
  try {
    return valueOfText(expand(), type ?? 'string');
  } catch (error) {
    if (error instanceof StepFailure) return undefined;
    throw error;
  }
};
