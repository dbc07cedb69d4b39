/* guess.h - "did you mean": which of the names there are somebody most likely meant. */
#ifndef ET_GUESS_H
#define ET_GUESS_H

/* Set NAME, offer candidates one by one, then read BEST: NULL where none is near. */
typedef struct {
    const char *name, *best;
    int distance;
} et_guess;
void et_guess_try(et_guess *, const char *candidate);

#endif
