/* Private to op_graph*.c: building a graph unit by unit. */
#ifndef WORKLOADS_OP_GRAPH_BUILD_H
#define WORKLOADS_OP_GRAPH_BUILD_H

#include "workloads/op_graph.h"

OpGraph *op_graph_new(gsize reserved_ops);
void op_graph_begin_unit(OpGraph *graph, const char *name);
void op_graph_push(OpGraph *graph, Op op); /* into the unit begun last */
/* Points the units at their operators, which lie one after another and move no more. */
OpGraph *op_graph_finish(OpGraph *graph);

#endif
