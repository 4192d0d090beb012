import { fieldsOf } from '../../crds/index.ts';
import { firstIndexes, HEADER_VALUE, headerNameProblem } from '../../runtime/config/index.ts';
import { type Validator, type Violation, violation } from './validator.ts';

/** A header that a resource adds to requests. */
export interface AddedHeader {
  readonly path: string;
  readonly name: string;
  /** Present when the resource itself says it. */
  readonly value?: string;
}

/** What speaks against adding these headers to one request. */
export const headerViolations = (headers: readonly AddedHeader[]): readonly Violation[] => {
  const firsts = firstIndexes(headers.map(({ name }) => name.toLowerCase()));
  return headers.flatMap((header, index) => {
    const earlier = headers[firsts[index] ?? index] ?? header;
    return [...own(header), ...(earlier === header ? [] : [twice(header, earlier)])];
  });
};

const own = ({ path, name, value }: AddedHeader): readonly Violation[] => {
  const key = name.toLowerCase();
  const problem = headerNameProblem(name);
  if (problem !== undefined) return [violation(path, problem.reason, problem.remedy)];
  if (value === undefined) return [];
  if (SECRET.has(key)) {
    return [violation(path, `${name} would put a secret into the resource`, 'take its value from a Secret')];
  }
  return !HEADER_VALUE.test(value)
    ? [violation(path, `the value of ${name} has characters that no header has`, 'remove line breaks and the like')]
    : [];
};

const twice = ({ path, name }: AddedHeader, earlier: AddedHeader): Violation =>
  violation(path, `${name} is set by ${earlier.path} too; the case of letters makes no difference`, 'keep one of them');

/** docs/decisions.md "Literal header values" */
const SECRET: ReadonlySet<string> = new Set(['authorization', 'cookie']);

const FORWARDING = ['MCPServerEntry', 'MCPRemoteProxy'] as const;

/** `headerForward` of docs/resources.md "MCPServerEntry" and docs/resources.md "MCPRemoteProxy" */
export const forwardedHeaders: Validator = {
  kinds: FORWARDING,
  validate: (object) => {
    const { headerForward } = fieldsOf(FORWARDING, object);
    const at = 'spec.headerForward';
    return headerViolations([
      ...Object.entries(headerForward?.addPlaintextHeaders ?? {}).map(([name, value]) => ({
        path: `${at}.addPlaintextHeaders[${JSON.stringify(name)}]`,
        name,
        value,
      })),
      ...(headerForward?.addHeadersFromSecret ?? []).map(({ headerName }, index) => ({
        path: `${at}.addHeadersFromSecret[${index}].headerName`,
        name: headerName,
      })),
    ]);
  },
};
