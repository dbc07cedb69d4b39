/* study.h - the parts of etstudy. */
#ifndef BENCH_STUDY_H
#define BENCH_STUDY_H

#include "passes/machine/machine.h"

/* What is played on. */
struct study_machine {
    et_machine m;
    double spread; /* CUs are slower than it says by a share of their own, up to this */
};

/* How a column is played: as scheduled, as a kernel for each task, as the simulator chooses. */
enum study_way { STUDY_SCHEDULED, STUDY_UNFUSED, STUDY_CHOSEN };

/* Print what the simulator says of programs whose times others have published; 0 when it could. */
int study_probe(void);
/* Schedules of a layer of experts written at the level of events; router logits with SKEW times the
 * logarithm of a Zipf distribution. */
int study_experts(double skew, const struct study_machine *);

#endif
