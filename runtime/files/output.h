/* output.h - files that tools write: whole or not at all.
 *
 * What is written goes to a temporary name beside the output and is renamed when it is complete;
 * when a signal ends the program before that, it is removed. A link is followed: what it leads to
 * is replaced. A device, pipe or socket (/dev/null) cannot be replaced by a file, so it is written
 * to; "-" is standard output. */
#ifndef ET_OUTPUT_H
#define ET_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *to;
    const char *path;         /* the caller's, kept until closed */
    char target[PATH_MAX];    /* where PATH leads */
    char temporary[PATH_MAX]; /* empty where PATH itself is open */
    bool unnamed;             /* it has that name only when it is complete */
} et_output;

/* Begins to write PATH. False with errno. */
bool et_output_open(et_output *, const char *path);
/* Ends it: PATH has what was written when OK and no write failed, and is as it was otherwise. False
 * with errno when a write or the renaming failed; when not OK, errno is left as it was. */
bool et_output_close(et_output *, bool ok);

/* A folder of files that is there whole or not at all: its files are made in TEMPORARY, which then
 * takes the name PATH. */
typedef struct {
    char target[PATH_MAX], temporary[PATH_MAX];
} et_output_folder;

/* Begins a folder PATH, which may be there when it is empty. False with errno, ENOTEMPTY where it
 * is not. */
bool et_output_folder_open(et_output_folder *, const char *path);
/* Ends it: PATH has the files when OK, and is as it was otherwise. False with errno when the
 * renaming failed, or when not OK. */
bool et_output_folder_close(et_output_folder *, bool ok);

/* Do both paths name the same file, so that a write to one is seen by readers of the other? Also of
 * files that are not there yet. Devices and "-" are like nothing. */
bool et_same_file(const char *a, const char *b);

/* From now on, a signal that ends the program removes PATH (kept here as a copy), a file or a
 * folder with files and such folders in it. False when there are too many. Threads may call these
 * at once. */
bool et_guard(const char *path);
/* What such a signal does before it ends the program, for other ways of ending at once. May be
 * called anywhere, in a signal handler too. */
void et_remove_guarded(void);
/* PATH may stay, or is gone. */
void et_unguard(const char *path);

/* A new folder for files that do not stay, in the one for temporary files; guarded. NAME is what
 * its name begins with. False with errno. */
bool et_folder_make(const char *name, char path[PATH_MAX]);
/* The folder, the files in it and in folders in it. */
void et_folder_remove(const char *path);

/* What every tool does first: a file that grows past its limit is a failed write, not the end of
 * the program; and what is opened later is none of the three standard streams. */
void et_files_begin(void);

#endif
