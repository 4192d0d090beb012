import { type SpecOf, specOf } from '../../crds/index.ts';
import { addressViolations } from './address.ts';
import { headerViolations } from './headers.ts';
import { type Validator, type Violation, violation } from './validator.ts';

type OpenTelemetry = NonNullable<SpecOf<'MCPTelemetryConfig'>['openTelemetry']>;

/** docs/resources.md "MCPTelemetryConfig" */
export const telemetryConfig: Validator = {
  kinds: ['MCPTelemetryConfig'],
  validate: (config) => {
    const { openTelemetry } = specOf('MCPTelemetryConfig', config);
    return openTelemetry === undefined ? [] : [...endpoint(openTelemetry), ...headers(openTelemetry)];
  },
};

const AT = 'spec.openTelemetry';

/** Written as an address, or as `host:port` with `insecure` to say whether TLS is used. */
const endpoint = ({ endpoint: text, insecure }: OpenTelemetry): readonly Violation[] => {
  if (text === undefined) return [];
  const path = `${AT}.endpoint`;
  if (text.includes('://')) {
    return insecure === true && text.startsWith('https://')
      ? [violation(path, 'says https:// while insecure says HTTP', 'set insecure to false')]
      : addressViolations(path, text);
  }
  return URL.canParse(`http://${text}`) && !/[@\s]/.test(text)
    ? addressViolations(path, `http://${text}`)
    : [violation(path, 'is no address', 'write host:port, or http:// or https:// and a host')];
};

const headers = ({ headers: plain = {}, sensitiveHeaders = [] }: OpenTelemetry): readonly Violation[] =>
  headerViolations([
    ...Object.entries(plain).map(([name, value]) => ({ path: `${AT}.headers[${JSON.stringify(name)}]`, name, value })),
    ...sensitiveHeaders.map(({ name }, index) => ({ path: `${AT}.sensitiveHeaders[${index}].name`, name })),
  ]);
