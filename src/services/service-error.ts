/** An external program could not be found, installed or started. The message is one a user can act on. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
}
