/** A backend sent more than one response, or one event, may hold. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}
