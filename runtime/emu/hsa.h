/* hsa.h - the HSA headers, with what they declare visible outside the library; and EMU_EXPORT,
 * which makes so what etemu.h declares. */
#ifndef EMU_HSA_H
#define EMU_HSA_H

#pragma GCC visibility push(default)
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
/* hsa.h declares these two without a prototype. */
hsa_status_t HSA_API hsa_init(void);
hsa_status_t HSA_API hsa_shut_down(void);
#pragma GCC visibility pop

#define EMU_EXPORT __attribute__((visibility("default")))

#endif
