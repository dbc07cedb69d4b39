/* turns.h - launches of several kernels in one process, one after the other: each is made to fill
 * the device, and two that wait for each other's workgroups would wait for ever. */
#ifndef LLM_ENGINE_TURNS_H
#define LLM_ENGINE_TURNS_H

/* Waits until all that came before have had their turn. */
void turns_take(void);
void turns_give(void);

#endif
