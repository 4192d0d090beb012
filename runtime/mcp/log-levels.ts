/** Severities of MCP log messages (RFC 5424), least first. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type McpLogLevel = (typeof LOG_LEVELS)[number];

export const isLogLevel = (value: unknown): value is McpLogLevel => LOG_LEVELS.some((level) => level === value);

/**
 * Whether a message of this severity is at least as severe as `wanted`; true for unknown severities and without
 * `wanted`.
 */
export const isSevereEnough = (severity: string, wanted: string | undefined): boolean => {
  if (wanted === undefined || !isLogLevel(severity) || !isLogLevel(wanted)) return true;
  return LOG_LEVELS.indexOf(severity) >= LOG_LEVELS.indexOf(wanted);
};
