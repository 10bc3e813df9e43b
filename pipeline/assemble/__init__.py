"""From recipe to rows: planning, pools, fit, packing, cutting."""
