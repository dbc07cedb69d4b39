// Small kernels for the tests of the emulator's machine, in C for the amdgcn target. Work-item ids
// come from the builtins: no library is linked, and no hidden arguments are used.

typedef unsigned int uint;
typedef unsigned long ulong;

#define kernel __attribute__((amdgpu_kernel, visibility("protected")))
#define global __attribute__((address_space(1)))
#define local static __attribute__((address_space(3), loader_uninitialized))
#define constant static __attribute__((address_space(4))) const

#if defined(__gfx1100__) || defined(__gfx1201__)
#define REALTIME() __builtin_amdgcn_s_sendmsg_rtnl(0x83)
#define HW_ID 23
#else
#define REALTIME() __builtin_amdgcn_s_memrealtime()
#define HW_ID 4
#endif
#if defined(__gfx942__) || defined(__gfx950__)
#define DIE() __builtin_amdgcn_s_getreg(20 | 31 << 11)
#else
#define DIE() 0
#endif

#define LX() __builtin_amdgcn_workitem_id_x()
#define GX() __builtin_amdgcn_workgroup_id_x()

static void group_barrier(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

kernel void vector_add(global const float *a, global const float *b, global float *c, uint n) {
    uint i = GX() * 256 + LX();
    if (i < n) c[i] = a[i] + b[i];
}

static void mark(uint task, uint tile) {
    __asm__ volatile("" ::: "memory");
    __builtin_amdgcn_s_ttracedata((int)task);
    __builtin_amdgcn_s_ttracedata((int)tile);
    __asm__ volatile("" ::: "memory");
}

// Tasks as etcc marks them. 0: five loads, each of which says where the next is. 1: eight loads at
// once. 2: a store that nobody waits for. 3: nothing.
kernel void trips(global const ulong *chain, global const uint *in, global uint *out) {
    uint l = LX();
    mark(0, 0);
    global const ulong *p = chain + l;
    for (int i = 0; i < 5; i++)
        p = (global const ulong *)*p;
    __asm__ volatile("" ::"v"(p) : "memory");
    mark(1, GX());
    uint part[8], sum = 0;
    for (int i = 0; i < 8; i++)
        part[i] = in[i * 256 + l];
    for (int i = 0; i < 8; i++)
        sum += part[i];
    __asm__ volatile("" ::"v"(sum) : "memory");
    mark(2, GX());
    out[GX() * 256 + l] = sum;
    mark(3, 0);
}

// 0: every lane stores, then tells. 1: it looks, then loads what may have been stored.
kernel void tells(global uint *data, global uint *counter) {
    uint at = GX() * 256 + LX();
    mark(0, GX());
    data[at] = at;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __scoped_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    mark(1, GX());
    uint seen = __scoped_atomic_load_n(counter, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    __asm__ volatile("" ::"v"(seen + data[at ^ 1]) : "memory");
}

// Sums 256 values per workgroup in a tree through LDS.
kernel void reduce(global const uint *in, global uint *out) {
    local uint part[256];
    uint l = LX();
    part[l] = in[GX() * 256 + l];
    for (uint step = 128; step; step /= 2) {
        group_barrier();
        if (l < step) part[l] += part[l + step];
    }
    if (l == 0) out[GX()] = part[0];
}

static void wait_for(global uint *counter, uint need) {
    if (LX() == 0)
        while (__scoped_atomic_load_n(counter, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) < need)
            __builtin_amdgcn_s_sleep(2);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    group_barrier();
}

static void notify(global uint *counter) {
    group_barrier();
    if (LX() == 0) __scoped_atomic_fetch_add(counter, 1u, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}

// Persistent: in every round each workgroup adds up what all wrote in the round before.
kernel void rounds(global uint *counters, global uint *values, uint groups, uint rounds) {
    local uint part[256];
    for (uint r = 0; r < rounds; r++) {
        uint sum = 0;
        if (r) wait_for(counters + r - 1, groups);
        for (uint i = LX(); r && i < groups; i += 256)
            sum += values[(r - 1) * groups + i];
        part[LX()] = sum;
        for (uint step = 128; step; step /= 2) {
            group_barrier();
            if (LX() < step) part[LX()] += part[LX() + step];
        }
        group_barrier();
        if (LX() == 0) values[r * groups + GX()] = r ? part[0] % 1009 + GX() : GX() + 1;
        notify(counters + r);
    }
}

// A token passes from the last workgroup to the first, so that those started first wait longest.
kernel void chain(global uint *token, global uint *order, uint groups) {
    uint turn = groups - 1 - GX();
    wait_for(token, turn);
    if (LX() == 0) order[turn] = GX();
    notify(token);
}

// Every workgroup, in the order they get this far.
kernel void arrive(global uint *counter, global uint *order) {
    if (LX() == 0)
        order[__scoped_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)] =
            GX();
}

// Workgroup 0 works and then sets the flag; the others wait for it at most LIMIT clock ticks and
// say 1 when they saw it, 2 when it took too long.
kernel void bounded(global uint *flag, global uint *out, ulong work, ulong limit) {
    if (LX() != 0) return;
    if (GX() == 0) {
        for (ulong i = 0; i < work; i++)
            __asm__ volatile("s_nop 0");
        __scoped_atomic_store_n(flag, work != 0, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
        return;
    }
    ulong start = REALTIME();
    uint said = 0;
    while (!said) {
        if (__scoped_atomic_load_n(flag, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE))
            said = 1;
        else if (REALTIME() - start > limit)
            said = 2;
        __builtin_amdgcn_s_sleep(8);
    }
    out[GX()] = said;
}

// Waits without sleeping, and without end when nobody sets the flag.
kernel void spin(global uint *flag) {
    while (!__scoped_atomic_load_n(flag, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM))
        ;
}

// The same, and counts the workgroups that have come so far.
kernel void spin_counted(global uint *flag, global uint *running) {
    notify(running);
    while (!__scoped_atomic_load_n(flag, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM))
        ;
}

kernel void doze(global uint *flag) {
    wait_for(flag, 1);
}

kernel void store_at(global uint *p, ulong index) {
    if (LX() == 5) p[index] = 1;
}

kernel void load_at(global uint *p, ulong index, global uint *out) {
    if (LX() == 0) *out = p[index];
}

// die, hardware id and workgroup id of every workgroup, once all of them are resident
kernel void where(global uint *counter, global uint *out, uint groups) {
    notify(counter);
    wait_for(counter, groups);
    if (LX() == 0) {
        out[3 * GX()] = DIE();
        out[3 * GX() + 1] = __builtin_amdgcn_s_getreg(HW_ID | 31 << 11);
        out[3 * GX() + 2] = GX();
    }
}

// The sizes of workgroups at the edge of a grid that they do not divide.
kernel void grid3(global uint *out, uint nx, uint ny) {
    uint x = GX() * 5 + LX();
    uint y = __builtin_amdgcn_workgroup_id_y() * 3 + __builtin_amdgcn_workitem_id_y();
    uint z = __builtin_amdgcn_workgroup_id_z() * 2 + __builtin_amdgcn_workitem_id_z();
    __scoped_atomic_fetch_add(&out[(z * ny + y) * nx + x], 1 + x + 100 * y + 10000 * z,
                              __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

// Private memory that cannot be kept in registers.
kernel void private_array(global uint *out, uint n) {
    volatile uint a[64];
    for (uint i = 0; i < 64; i++)
        a[i] = i * (LX() + 1);
    uint sum = 0;
    for (uint i = 0; i < n; i++)
        sum += a[(i * 7 + LX()) % 64];
    out[GX() * 64 + LX()] = sum;
}

typedef __attribute__((address_space(4))) const uint *table;
constant uint squares[4] = {0, 1, 4, 9};
constant uint cubes[4] = {0, 1, 8, 27};
__attribute__((visibility("protected"))) global table tables[2] = {squares, cubes}; // relocated

kernel void lookup(global uint *out) {
    out[LX()] = tables[LX() / 4 % 2][LX() % 4];
}

kernel void write_constant(global uint *out, ulong address) {
    *(global uint *)address = 1;
    *out = 1;
}

// What LDS holds before anything is written to it.
kernel void raw_lds(global uint *out) {
    local uint cell[64];
    out[LX()] = ((volatile __attribute__((address_space(3))) uint *)cell)[LX()];
}

kernel void no_arguments(void) {}

kernel void illegal(global uint *out) {
    if (LX() == 0) *out = 1;
    __asm__ volatile(".long 0xffffffff");
}

// One access of each lane at byte AT of memory, of LDS, that need not be aligned or inside.
kernel void load_byte_address(global const char *p, ulong at, global uint *out) {
    typedef uint __attribute__((aligned(1))) unaligned;
    out[LX()] = *(global const unaligned *)(p + at);
}

kernel void add_byte_address(global char *p, ulong at) {
    uint one = 1;
    global char *to = p + at;
    __asm__ volatile("global_atomic_add %0, %1, off\n s_waitcnt vmcnt(0)" ::"v"(to), "v"(one)
                     : "memory");
}

kernel void lds_byte_address(uint at, uint what, global uint *out) {
    local uint words[64];
    uint to = (uint)(__attribute__((address_space(3))) char *)words + at + 4 * LX(), r = 0, v = 1;
    words[LX()] = LX();
    group_barrier();
    if (what == 0)
        __asm__ volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)"
                         : "=v"(r)
                         : "v"(to)
                         : "memory");
    else if (what == 1)
        __asm__ volatile("ds_write_b32 %0, %1\n s_waitcnt lgkmcnt(0)" ::"v"(to), "v"(v) : "memory");
    else
        __asm__ volatile("ds_add_u32 %0, %1\n s_waitcnt lgkmcnt(0)" ::"v"(to), "v"(v) : "memory");
    out[LX()] = r;
}
