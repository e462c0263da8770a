import { InvalidArgumentError } from 'commander';

/** Commander shows an InvalidArgumentError as a usage error; other errors would be stack traces. */
export function checked<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
    }
  };
}
