/* study.h - the parts of etstudy. */
#ifndef BENCH_STUDY_H
#define BENCH_STUDY_H

/* Print what the simulator says of programs whose times others have published; 0 when it could. */
int study_probe(void);

#endif
