"""From recipe to rows: ids, plan, pools, fit, packing, cutting, and the jobs that write them."""
