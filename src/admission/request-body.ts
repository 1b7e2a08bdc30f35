/**
 * A request's decoded body while it is decided about. It is passed around in this and not as bytes, so that letting go of it here lets
 * go of it everywhere: thousands of requests may be held at one time, whose bodies Envoy has.
 */
export class RequestBody {
  #bytes: Buffer | null;
  readonly length: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.length = bytes.length;
  }

  /** @throws Error once it was released. */
  get bytes(): Buffer {
    if (this.#bytes === null) throw new Error('the body was released');
    return this.#bytes;
  }

  release(): void {
    this.#bytes = null;
  }
}
