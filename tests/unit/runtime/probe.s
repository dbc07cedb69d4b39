; probe - a hand-written kernel that follows etrt_abi.h, for testing the runtime without a compiler.
;
;   y[i] = x[i] + 1 + w[0]          for i in 0..N, over all workgroups
;   s[0] += 1                       by workgroup 0, once all workgroups have arrived
;
; Every workgroup (one wave) arrives at e0[1, 1] and waits there for workgroups + B arrivals, so a
; launch with B = 1 waits in vain. F = 1 moves the stores to y a megabyte up, out of the
; tensor. Its marks say that workgroup I is at tile I of task 1.
;
; Kernel arguments: control 0, report 8, events 16, events_next 24, workspace 32, wait_ticks 40,
; workgroups 48, launch 52, trace 56, dies 64, place 68; B 136, F 140, N 144; x 152, w 160, s 168, y 176.
; Its work does not depend on places: a workgroup's rank is its number in the dispatch.

	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl	probe
	.p2align	8
	.type	probe,@function
probe:
	s_load_dwordx16 s[4:19], s[0:1], 0x0
	s_load_dwordx4 s[20:23], s[0:1], 0x88
	s_load_dwordx8 s[24:31], s[0:1], 0x98
	s_waitcnt lgkmcnt(0)
	s_load_dword s40, s[26:27], 0x0
	s_mov_b64 s[36:37], exec

	; where we are
	s_getreg_b32 s33, hwreg(HW_REG_XCC_ID)
	s_getreg_b32 s34, hwreg(HW_REG_HW_ID)
	s_and_b32 s33, s33, 15
	s_lshl_b32 s35, s33, 2
	s_add_u32 s38, s17, 1
	v_mov_b32_e32 v1, s35
	v_mov_b32_e32 v2, 1
	s_mov_b64 exec, 1
	global_atomic_add v1, v2, s[8:9]
	s_lshl_b32 s35, s2, 4
	v_mov_b32_e32 v1, s35
	v_mov_b32_e32 v4, s38
	v_mov_b32_e32 v5, s2
	v_mov_b32_e32 v6, s33
	v_mov_b32_e32 v7, s34
	global_store_dwordx4 v1, v[4:7], s[4:5] offset:128
	s_mov_b64 exec, s[36:37]

	; the work
	s_waitcnt lgkmcnt(0)
	s_mov_b32 m0, 1
	s_nop 0
	s_ttracedata
	s_mov_b32 m0, s2
	s_nop 0
	s_ttracedata
	s_lshl_b32 s35, s2, 6
	v_add_u32_e32 v6, s35, v0
	s_lshl_b32 s41, s16, 6
	s_lshl_b32 s42, s21, 20
.Lnext:
	v_cmp_gt_u32_e32 vcc, s22, v6
	s_and_b64 exec, exec, vcc
	s_cbranch_execz .Ldone
	v_lshlrev_b32_e32 v7, 2, v6
	global_load_dword v8, v7, s[24:25]
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v8, 1.0, v8
	v_add_f32_e32 v8, s40, v8
	v_add_u32_e32 v7, s42, v7
	global_store_dword v7, v8, s[30:31]
	v_add_u32_e32 v6, s41, v6
	s_branch .Lnext
.Ldone:
	s_mov_b64 exec, s[36:37]

	; arrive at word 32 + 4
	s_waitcnt vmcnt(0)
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	s_mov_b64 exec, 1
	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v2, 1
	global_atomic_add v1, v2, s[8:9] offset:144
	s_waitcnt vmcnt(0)

	; wait there
	s_add_u32 s43, s16, s20
	s_memrealtime s[44:45]
	s_waitcnt lgkmcnt(0)
.Lpoll:
	global_load_dword v3, v1, s[8:9] offset:144 sc1
	global_load_dword v9, v1, s[4:5] sc1
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s46, v3
	v_readfirstlane_b32 s47, v9
	s_cmp_ge_u32 s46, s43
	s_cbranch_scc1 .Larrived
	s_cmp_lg_u32 s47, 0
	s_cbranch_scc1 .Lend
	s_memrealtime s[48:49]
	s_waitcnt lgkmcnt(0)
	s_sub_u32 s48, s48, s44
	s_subb_u32 s49, s49, s45
	s_sub_u32 s50, s14, s48
	s_subb_u32 s51, s15, s49
	s_cbranch_scc1 .Ltimeout
	s_sleep 1
	s_branch .Lpoll

	; the first to give up writes the report
.Ltimeout:
	v_mov_b32_e32 v4, 1
	v_mov_b32_e32 v5, 0
	global_atomic_cmpswap v3, v1, v[4:5], s[4:5] sc0
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s52, v3
	s_cmp_lg_u32 s52, 0
	s_cbranch_scc1 .Lend
	v_mov_b32_e32 v4, 1
	v_mov_b32_e32 v5, s17
	v_mov_b32_e32 v6, s2
	v_mov_b32_e32 v7, 1
	global_store_dwordx4 v1, v[4:7], s[6:7]
	v_mov_b32_e32 v4, s2
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 4
	v_mov_b32_e32 v7, s46
	global_store_dwordx4 v1, v[4:7], s[6:7] offset:16
	v_mov_b32_e32 v4, s43
	v_mov_b32_e32 v5, s33
	v_mov_b32_e32 v6, s34
	v_mov_b32_e32 v7, 0
	global_store_dwordx4 v1, v[4:7], s[6:7] offset:32
	s_branch .Lend

.Larrived:
	s_cmp_lg_u32 s2, 0
	s_cbranch_scc1 .Lend
	global_load_dword v3, v1, s[28:29]
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v3, 1.0, v3
	global_store_dword v1, v3, s[28:29]
	s_mov_b64 exec, s[36:37]
	v_lshlrev_b32_e32 v7, 2, v0
	v_mov_b32_e32 v8, 0
	global_store_dword v7, v8, s[10:11]
.Lend:
	s_endpgm
.Lprobe_end:
	.size	probe, .Lprobe_end-probe

	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel probe
		.amdhsa_group_segment_fixed_size 40960
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 184
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 16
		.amdhsa_next_free_sgpr 56
		.amdhsa_accum_offset 16
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: probe
    .symbol: probe.kd
    .kernarg_segment_size: 184
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 40960
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 62
    .vgpr_count: 16
    .agpr_count: 0
    .max_flat_workgroup_size: 64
    .args: []
...
	.end_amdgpu_metadata

	.section	.etcc.manifest,"",@progbits
	.incbin	"probe.manifest"
