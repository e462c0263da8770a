/**
 * What a policy under `mode: DryRun` would have done about the trouble of a node, and where it would stand (SAF-12). It has a place
 * of its own in the record, so that nothing which only reads what was done can take a rehearsed step for a real one.
 */
import { z } from 'zod';
import { MAX_REHEARSED, MAX_RELEASED_PODS } from './fence-names.ts';
import { at, text } from './node-fence-parts.ts';
import { asMap } from './rules.ts';

const step = z.object({
  at: at('When it would have been done.'),
  reason: text(64, 'One word for programs; see the list of reasons.'),
  message: text(1024, 'The same in a sentence.'),
});

/** `ladder` and `fence`: as the real ones are kept. */
export function rehearsalOf<Ladder extends z.ZodType, Fence extends z.ZodType>(ladder: Ladder, fence: Fence) {
  return z
    .object({
      incident: text(64, 'The incident that it is about. The next one is rehearsed from the beginning.'),
      steps: z.array(step).max(MAX_REHEARSED).prefault([]).meta({
        description: 'What would have been done, oldest first. When there is no more room the rehearsal ends.',
      }),
      waitsFor: text(1024, 'Why the next step would not have been taken yet.').optional(),
      ladders: asMap(z.array(ladder).max(16), 'threshold')
        .prefault([])
        .meta({ description: 'How far the remedies would have come.' }),
      fence: fence.optional().meta({ description: 'How far the fence would have come, if its devices had obeyed.' }),
      pods: z.array(text(64, 'The UID of a pod.')).max(MAX_RELEASED_PODS).prefault([]).meta({
        description: 'The pods that would have been released.',
      }),
    })
    .meta({
      description:
        'What would have been done under `mode: DryRun`, as if every remedy had succeeded and not helped. Nothing of it was ' +
        'done, and none of it counts when the policy acts: it is dropped then, and the first rung comes first.',
    });
}
