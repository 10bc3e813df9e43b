"""From recipe to rows: plan, pools, fit, packing, cutting."""
