// The smallest code object with all a loader looks at: a kernel, a variable, relocations. Its bytes
// are what the loader's tests damage.
typedef __attribute__((address_space(1))) unsigned int *pointer;

static __attribute__((address_space(1))) unsigned int cell = 7;
__attribute__((visibility("protected"), address_space(1))) pointer address = &cell;

__attribute__((amdgpu_kernel, visibility("protected"))) void tiny(pointer out) {
    *out = *address;
}
