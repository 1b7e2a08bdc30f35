/** As the keys of quotas (`redis/keys.ts`): the version of the layout, and what sets several stores apart that share a server. */
const LAYOUT = 'tw1:';
const BRACES = /[%{}]/g;

/** Keys of one pool: all have the pool as hash tag. */
export class PoolKeys {
  readonly #start: string;

  constructor(prefix: string, poolId: string) {
    this.#start = `${encoded(prefix)}${LAYOUT}{pool:${encoded(poolId)}}:`;
  }

  /** Who keeps the pool. */
  get claim(): string {
    return `${this.#start}owner`;
  }

  get processors(): string {
    return `${this.#start}procs`;
  }

  /** What the keeper saved. */
  get saved(): string {
    return `${this.#start}state`;
  }

  /** To the keeper. */
  get asks(): string {
    return `${this.#start}asks`;
  }

  /** To a processor. */
  told(processor: string): string {
    return `${this.#start}to:${processor}`;
  }
}

/** A brace would be taken for the tag's. */
function encoded(text: string): string {
  return text.replace(BRACES, (character) => `%${character.charCodeAt(0).toString(16)}`);
}
