/** The stages of the way back into service, which are no list: one mutant for each, which does not wait for it. */
import type { Mutant } from './mutant.ts';
import { edited, endOf, homeOf, matchesIn, sourceOf, textOf } from './source.ts';

const file = 'src/return/return-node.ts';
const least = 4;

export function stageMutants(): Mutant[] {
  const source = sourceOf(file);
  const found = matchesIn(source, /^ {2}if \(/gm).flatMap(({ index, 0: head }) => {
    const afterCondition = endOf(source, index + head.length - 1);
    const rest = source.code.slice(afterCondition);
    const end = rest.startsWith(' {') ? endOf(source, afterCondition + 1) : afterCondition + rest.indexOf(';') + 1;
    const reason = /waiting\([^,]*, '(\w+)'/.exec(textOf(source, { start: index, end }))?.[1];
    if (reason === undefined) return [];
    const changes = { [file]: edited(source, [{ start: index, end, instead: '' }]) };
    return [{ id: `${file} ${homeOf(source, index)} without ${reason}`, kind: 'check' as const, changes }];
  });
  if (found.length < least) throw new Error(`only ${found.length} stages of the way back are found`);
  return found;
}
