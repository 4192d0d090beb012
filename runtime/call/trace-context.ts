/** A position in a trace, as it travels (W3C Trace Context, "Trace Context HTTP Headers Format"). */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}
