import { objectIn } from '../json/index.ts';
import { planWorkflows } from './plan.ts';
import type { WorkflowConfig } from './step.ts';
import { isObjectValue } from './values.ts';

/** What is wrong with parameters, a line each, and which there are. */
export type CheckedParameters =
  | { readonly ok: true; readonly params: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Parameters from JSON text, as a call of the workflow takes them: defaults are filled in. */
export const checkedParameters = (config: WorkflowConfig, text: string): CheckedParameters => {
  const params = objectIn(text);
  if (!params) return { ok: false, problems: ['they are no JSON object; write {"name": value}', takenBy(config)] };
  const check = planWorkflows([config]).get(config.name)?.check;
  const issues = check?.(params, Buffer.byteLength(text)) ?? [];
  if (issues.length === 0) return { ok: true, params };
  return {
    ok: false,
    problems: [...issues.map(({ path, message }) => `${fieldAt(path)} ${message}`), takenBy(config)],
  };
};

/** RFC 6901 §4 */
const fieldAt = (path: string): string =>
  path === '' ? 'they' : path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');

/** `issue (integer, required), channel (string, default "triage")` */
const takenBy = ({ name, parameters = {} }: WorkflowConfig): string => {
  const { properties, required } = parameters;
  const taken = Object.entries(isObjectValue(properties) ? properties : {}).map(([field, schema]) => {
    const { type, default: preset } = isObjectValue(schema) ? schema : {};
    const words = [
      ...(typeof type === 'string' ? [type] : []),
      ...(Array.isArray(required) && required.includes(field) ? ['required'] : []),
      ...(preset === undefined ? [] : [`default ${JSON.stringify(preset)}`]),
    ];
    return words.length === 0 ? field : `${field} (${words.join(', ')})`;
  });
  return taken.length === 0 ? `${name} takes no parameters that it names` : `${name} takes ${taken.join(', ')}`;
};
