/* etllm in a process of its own; cluster/ has it in one of several. */
#include "examples/llm/options.h"

int main(int argc, char **argv) {
    return llm_main(argc, argv);
}
