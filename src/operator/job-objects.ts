/** The Job that an order comes to, from the template that its policy has now. */
import type { LongActsOptions } from '../act/long-acts.ts';
import type { JobOrder } from '../api/steps.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import { jobOf, NODE_LABEL } from '../remedy/job.ts';

export function jobObjectsOf(cluster: ClusterView): LongActsOptions['jobObject'] {
  return (order: JobOrder) => {
    const template = cluster.templateOf(order.template);
    if (template === undefined) return undefined;
    return { object: jobOf(order, template), label: { key: NODE_LABEL, value: order.node.uid } };
  };
}
