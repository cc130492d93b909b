/* Private to admission: what an order is. Each keeps its own container of opaque requests; ties
 * keep the order of pushing. 'pop' and 'peek' are called only while it holds something. */
#ifndef POLICIES_ADMISSION_ORDER_H
#define POLICIES_ADMISSION_ORDER_H

#include "policies/admission.h"

typedef struct AdmissionOrder {
    gpointer (*create)(void);
    void (*destroy)(gpointer queue); /* not the requests */
    void (*push)(gpointer queue, gpointer request, guint32 prompt_tokens);
    gpointer (*peek)(gconstpointer queue);
    gpointer (*pop)(gpointer queue);
    guint64 (*length)(gconstpointer queue);
} AdmissionOrder;

#define DECLARE_ADMISSION_ORDER(kind, name, order) extern const AdmissionOrder order;
ADMISSION_RULES(DECLARE_ADMISSION_ORDER)

#endif
